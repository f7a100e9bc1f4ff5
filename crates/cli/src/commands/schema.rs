//! The command `gentle schema`.

use crate::args::{Output, SchemaArgs};
use crate::output::print;
use gentle_experiment::results::Comparison;
use gentle_trace::changes::Against;
use gentle_trace::results::Analysis;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use std::process::ExitCode;

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<ExitCode> {
    let schema = match args.of {
        Output::Analyze => of::<Analysis>(),
        Output::AnalyzeAgainst => of::<Against>(),
        Output::Compare => of::<Comparison>(),
        Output::Model => of::<gentle_model::Prediction>(),
        Output::Reproduce => of::<gentle_papers::Reproduction>(),
        Output::ReproduceCoverage => of::<gentle_papers::Coverage>(),
        Output::Sweep => of::<gentle_sweep::Summary>(),
        #[cfg(target_os = "linux")]
        Output::Probe => of::<gentle_probe::ProbeLine>(),
        #[cfg(target_os = "linux")]
        Output::QdiscShow => of::<gentle_deploy::DeviceQueues>(),
        #[cfg(target_os = "linux")]
        Output::TestbedCheck => of::<gentle_testbed::check::Agreement>(),
        #[cfg(target_os = "linux")]
        Output::Watch => of::<gentle_watch::WatchLine>(),
    };
    print(&format!("{}\n", serde_json::to_string_pretty(&schema)?))?;
    Ok(ExitCode::SUCCESS)
}

/// JSON Schema (2020-12) of the serialized form of a type.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}
