//! The command `gentle analyze`.

mod example;
mod records;

use super::table::Table;
use super::{anonymize, trace};
use crate::args::{AnalyzeArgs, FlowsFile, TableFile, TableFormat};
use crate::files::FileClaims;
use crate::interrupt;
use crate::names;
use crate::origin::origin;
use crate::output::{OutputFile, Terminal, one_line, print, print_error, warn};
use crate::usage::Usage;
use anyhow::Context;
use gentle_capture::CaptureReader;
use gentle_report::Origin;
use gentle_report::analyze::{Detail, against, html, put_into_words, text};
use gentle_trace::changes::{Against, changes};
use gentle_trace::flows::{Flow, Flows};
use gentle_trace::results::{Analysis, SCHEMA};
use gentle_trace::row::Row;
use gentle_trace::{Anonymizer, Options, RowSink, Selection};
use gentle_units::foreign::visible_json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
    let report = &args.report;
    records::check(args)?;
    let claims = claims(args)?;
    let stdout_is_taken = claims.stdout_is_taken();
    // The claims hold files open.
    drop(claims);
    if let Some(path) = &args.write {
        example::write(path)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Outputs are opened first, to fail before the work rather than after it.
    let html = OutputFile::create_if(report.html.as_deref())?;
    let flows = OutputFile::create_if(report.flows.as_ref().map(|file| file.0.as_path()))?;
    let anonymizer = match &report.anonymize {
        Some(passphrase) => Some(anonymize::anonymizer(passphrase.as_deref())?),
        None => None,
    };
    #[cfg(target_os = "linux")]
    trace::allow_many_files();
    let job = Job { args, options: options(args)?, anonymizer, stop: interrupt::flag()? };

    if let Some(directory) = &args.tasks.record {
        return records::run(&job, directory, html, stdout_is_taken);
    }
    if let Some(path) = &args.against {
        return job.against(path);
    }
    let table = report.connections.as_ref().map(Table::create).transpose()?;
    let (analyses, outcome) = if args.per_file {
        job.each()
    } else {
        match job.all(table, flows) {
            Ok((analysis, outcome)) => (vec![analysis], outcome),
            // An interrupted stream may be too short to be a capture; that is not reported.
            Err(_) if job.is_stopped() => (Vec::new(), Ok(())),
            Err(error) => return Err(error),
        }
    };
    if analyses.is_empty() {
        return job.exit_code(&analyses, outcome);
    }
    finish(&job, analyses, outcome, html, stdout_is_taken)
}

/// Shows analyses, even if a file could not be written.
fn finish(
    job: &Job<'_>,
    mut analyses: Vec<Analysis>,
    mut outcome: anyhow::Result<()>,
    html: Option<OutputFile>,
    stdout_is_taken: bool,
) -> anyhow::Result<ExitCode> {
    analyses.iter_mut().for_each(put_into_words);
    let report = &job.args.report;
    let shown = report.json || !stdout_is_taken;
    // The report ends with the warnings, so they are not repeated for readers on the terminal.
    if report.json || !shown || Terminal::of_stdout().width.is_none() {
        let captures = analyses.iter().flat_map(|analysis| &analysis.captures);
        captures.flat_map(|c| &c.warnings).for_each(|w| warn(w));
    }
    if shown {
        outcome = outcome.and(show(report.json, report.full, &analyses));
    }
    let origin = || {
        let mut origin = origin("gentle analyze")?;
        if report.anonymize.is_some() {
            // The command line may contain addresses (--local) and the passphrase.
            origin.command = None;
        }
        Ok(origin)
    };
    outcome = outcome.and(write_html(html, &analyses, origin));
    job.exit_code(&analyses, outcome)
}

fn claims(args: &AnalyzeArgs) -> Result<FileClaims, Usage> {
    let mut claims = FileClaims::default();
    for path in args.captures.iter().chain(&args.against).chain(&args.report.names.files) {
        claims.reads_once(path)?;
    }
    if let Some(path) = &args.write {
        claims.writes_binary("--write", path)?;
    }
    let report = &args.report;
    if report.json {
        claims.prints("--json")?;
    }
    if let Some(path) = &report.html {
        claims.writes("--html", path)?;
    }
    if let Some(TableFile { path, format }) = &report.connections {
        match format {
            TableFormat::Csv => claims.writes("--connections", path)?,
            TableFormat::Parquet => claims.writes_binary("--connections", path)?,
            // The names of its files are digests.
            TableFormat::Parts => {}
        }
    }
    if let Some(FlowsFile(path)) = &report.flows {
        claims.writes("--flows", path)?;
    }
    claims.redirected_stdout()?;
    Ok(claims)
}

fn options(args: &AnalyzeArgs) -> anyhow::Result<Options> {
    Ok(Options {
        idle_timeout: args.idle_timeout,
        memory_limit: args.memory_limit,
        inner: args.reading.inner,
        interfaces: args.reading.interfaces.clone(),
        selection: Selection {
            hosts: args.selection.hosts.clone(),
            ports: args.selection.ports.clone(),
            since: args.selection.since,
            until: args.selection.until,
        },
        direction: args.link.direction,
        local: args.link.local.clone(),
        rate: args.link.rate,
        vantage: args.link.vantage,
        top: args.report.top.into(),
        names: names::read(&args.report.names.files)?,
    })
}

/// Common parts of the analyses of a run.
struct Job<'a> {
    args: &'a AnalyzeArgs,
    options: Options,
    anonymizer: Option<Anonymizer>,
    stop: Arc<AtomicBool>,
}

impl Job<'_> {
    fn open(&self, path: &Path) -> anyhow::Result<CaptureReader> {
        trace::open(path, self.args.reading.strict, &self.stop)
    }

    fn analyze(&self, readers: Vec<CaptureReader>, rows: Option<&mut RowSink<'_>>) -> anyhow::Result<Analysis> {
        trace::analyze(readers, &self.options, self.anonymizer.as_ref(), rows, self.args.report.quiet, &self.stop)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Analyses each capture separately. Captures that cannot be read are reported, and the others are analysed.
    fn each(&self) -> (Vec<Analysis>, anyhow::Result<()>) {
        let mut analyses = Vec::new();
        let mut outcome = Ok(());
        for path in &self.args.captures {
            if self.is_stopped() {
                break;
            }
            let analysis = self.open(path).and_then(|reader| self.analyze(vec![reader], None));
            match analysis {
                Ok(analysis) => analyses.push(analysis),
                Err(_) if self.is_stopped() => break,
                Err(error) => {
                    if let Err(earlier) = std::mem::replace(&mut outcome, Err(error)) {
                        print_error(&one_line(&earlier));
                    }
                }
            }
        }
        (analyses, outcome)
    }

    /// Analyses all captures as one trace. Errors of output files are returned along with the analysis.
    fn all(
        &self,
        mut table: Option<Table>,
        flows: Option<OutputFile>,
    ) -> anyhow::Result<(Analysis, anyhow::Result<()>)> {
        let readers = self.args.captures.iter().map(|path| self.open(path));
        let mut readers = readers.collect::<anyhow::Result<Vec<_>>>()?;
        if self.args.example {
            readers.push(example::open()?);
        }
        let mut rows = table.as_mut().map(Table::rows);
        let mut collected = flows.is_some().then(|| Flows::new(&self.options.local, self.anonymizer.as_ref()));
        let wanted = rows.is_some() || collected.is_some();
        let mut sink = |row: &Row| {
            if let Some(rows) = &mut rows {
                rows.write(row);
            }
            if let Some(flows) = &mut collected {
                flows.add(row);
            }
            Ok(())
        };
        let sink: Option<&mut RowSink<'_>> = if wanted { Some(&mut sink) } else { None };
        let mut analysis = self.analyze(readers, sink)?;

        let mut outcome = rows.map_or(Ok(()), |rows| rows.finish());
        if let (Ok(()), Some(table)) = (&outcome, table) {
            outcome = table.commit();
        }
        if let (Some(collected), Some(file)) = (collected, flows) {
            let list = collected.finish(&mut analysis);
            outcome = outcome.and(write_flows(file, &list));
        }
        Ok((analysis, outcome))
    }

    /// Compares the captures with one made later.
    fn against(&self, path: &Path) -> anyhow::Result<ExitCode> {
        let both = self.all(None, None).and_then(|(before, _)| {
            let after = self.analyze(vec![self.open(path)?], None)?;
            Ok([before, after])
        });
        let [mut before, mut after] = match both {
            _ if self.is_stopped() => {
                print_error("interrupted before both captures were read");
                return Ok(interrupt::exit_code());
            }
            both => both?,
        };
        for analysis in [&mut before, &mut after] {
            put_into_words(analysis);
            analysis.captures.iter().flat_map(|capture| &capture.warnings).for_each(|it| warn(it));
        }
        let changes = changes(&before, &after);
        let found = Against { version: SCHEMA, before, after, changes };
        let terminal = Terminal::of_stdout();
        print(&match self.args.report.json {
            true => visible_json(&serde_json::to_string(&found)?) + "\n",
            false => against(&found, terminal.width, terminal.color),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn exit_code(&self, analyses: &[Analysis], outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
        let stopped = self.is_stopped();
        if stopped && analyses.is_empty() {
            print_error("interrupted before anything was read; no files were written");
        }
        outcome.map(|()| if stopped { interrupt::exit_code() } else { ExitCode::SUCCESS })
    }
}

/// Prints analyses as JSON, or as a report.
pub(super) fn show(json: bool, full: bool, analyses: &[Analysis]) -> anyhow::Result<()> {
    let terminal = Terminal::of_stdout();
    if !json {
        let detail = if full { Detail::Full } else { Detail::Brief };
        let text = text(analyses, detail, terminal.width, terminal.color);
        return print(&text);
    }
    let mut lines = String::new();
    for analysis in analyses {
        lines += &visible_json(&serde_json::to_string(analysis)?);
        lines.push('\n');
    }
    print(&lines)
}

/// Writes the page of `--html`, with its provenance.
pub(super) fn write_html(
    file: Option<OutputFile>,
    analyses: &[Analysis],
    origin: impl FnOnce() -> Result<Origin, Usage>,
) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    file.write(html(analyses, &origin()?).as_bytes())?;
    file.commit()
}

fn write_flows(mut file: OutputFile, flows: &[Flow]) -> anyhow::Result<()> {
    let name = file.name();
    let write = |file: &mut OutputFile| {
        let mut writer = gentle_report::flows::Writer::new(file)?;
        for flow in flows {
            writer.write(&gentle_replay::flow(flow))?;
        }
        writer.finish()
    };
    write(&mut file).with_context(|| name)?;
    file.commit()
}
