//! The command `gentle model`.

use super::results::claim_results;
use crate::args::{FormName, ModelArgs};
use crate::command_line::command;
use crate::files::FileClaims;
use crate::origin::origin;
use crate::output::{OutputFile, Terminal, print};
use crate::usage::Usage;
use anyhow::Context;
use gentle_model::{DEFAULT_SIZES, Form, Path, Prediction, predict_by};
use gentle_report::model;
use std::process::ExitCode;

pub(crate) fn run(args: &ModelArgs) -> anyhow::Result<ExitCode> {
    let mut claims = FileClaims::default();
    claim_results(&mut claims, args.json, args.csv.as_deref(), args.html.as_deref())?;
    claims.redirected_stdout()?;
    let shown = args.json || !claims.stdout_is_taken();
    let prediction = prediction(args)?;
    // Outputs are opened before anything is printed, to fail early.
    let csv = OutputFile::create_if(args.csv.as_deref())?;
    let html = OutputFile::create_if(args.html.as_deref())?;
    if args.json {
        print(&(serde_json::to_string(&prediction)? + "\n"))?;
    } else if shown {
        let terminal = Terminal::of_stdout();
        print(&model::table(&prediction, terminal.width, terminal.color))?;
    }
    if let Some(mut file) = csv {
        model::csv(&prediction, &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if let Some(mut file) = html {
        file.write(model::html(&prediction, &origin("gentle model")?).as_bytes())?;
        file.commit()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn prediction(args: &ModelArgs) -> anyhow::Result<Prediction> {
    let path = Path {
        rtt_s: args.rtt.as_secs_f64(),
        loss: args.loss,
        handshake_loss: args.syn_loss.unwrap_or_else(|| Path::like_other_packets(args.loss)),
        backoff: args.backoff.backoff(),
        initial_window: args.initial_window.into(),
        segments_per_ack: args.segments_per_ack.into(),
        ..Path::default()
    };
    let rtos: Vec<f64> = args.rto.iter().map(|rto| rto.as_secs_f64()).collect();
    let sizes = match args.segments.as_slice() {
        [] => &DEFAULT_SIZES,
        sizes => sizes,
    };
    let form = match args.form {
        FormName::Published => Form::Published,
        FormName::FirstLoss => Form::first_loss(path.rtt_s),
    };
    let mut prediction = predict_by(form, &path, &rtos, sizes).map_err(|error| Usage(error.to_string()))?;
    prediction.command = Some(command());
    Ok(prediction)
}
