//! The command `gentle reproduce`.

use super::runs::{self, threads};
use crate::args::{ALL_PAPERS, ReproduceArgs};
use crate::command_line::command;
use crate::files::FileClaims;
use crate::interrupt;
use crate::origin::origin;
use crate::output::{OutputFile, Terminal, print, print_error};
use crate::progress::Parts;
use crate::usage::Usage;
use anyhow::Context;
use gentle_papers::{Coverage, Lab, PAPERS, Paper, Reproduction, Selection, reproduce};
use gentle_report::figure::{self, Width};
use gentle_report::reproduce as report;
use gentle_runs::{Records, records_in};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of the command in pages.
const TOOL: &str = "gentle reproduce";

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.paper else {
        return list();
    };
    let papers = selected(name, &args.items)?;
    if args.coverage {
        return coverage(args, &papers);
    }
    let mut claims = FileClaims::default();
    if args.json {
        claims.prints("--json")?;
    }
    claims.redirected_stdout()?;
    drop(claims);
    for directory in [&args.html, &args.figures].into_iter().flatten() {
        std::fs::create_dir_all(directory).with_context(|| format!("{}: cannot be created", directory.display()))?;
    }
    let stop = interrupt::flag()?;
    let threads = threads(args.threads)?;
    let progress = Parts::new(args.quiet);
    let store = args.store.as_deref().map(records_in).transpose()?;
    let records = store.as_ref().map(|store| Records::new(store));
    let mut lab = Lab::new(args.quick, &progress, &stop);
    if let Some(records) = &records {
        lab = lab.with_records(records);
    }
    #[cfg(target_os = "linux")]
    let testbed = kernel(args, &stop)?;
    #[cfg(target_os = "linux")]
    if let Some(testbed) = &testbed {
        lab = lab.with_kernel(testbed);
    }
    let mut reproductions = Vec::new();
    for (paper, selection) in &papers {
        let mut reproduction = threads.install(|| reproduce(paper, selection, &lab))?;
        reproduction.command = command();
        progress.suspend(|| show(args, &reproduction))?;
        write(args, &reproduction)?;
        reproductions.push(reproduction);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    progress.clear();
    if let Some(directory) = args.html.as_deref().filter(|_| papers.len() > 1) {
        let index = report::index(&reproductions, &origin(TOOL)?);
        write_file(directory, "index.html", index.as_bytes())?;
    }
    drop(lab);
    if let Some(records) = records {
        runs::tell(&records.finish()?);
    }
    if stop.load(Ordering::Relaxed) {
        print_error("interrupted; only complete items are shown");
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// Papers with the requested items of each.
fn selected(name: &str, items: &[String]) -> Result<Vec<(&'static Paper, Selection)>, Usage> {
    if name == ALL_PAPERS {
        if let Some(item) = items.first() {
            return Err(Usage(format!("'{item}': items belong to one paper; expected gentle reproduce PAPER {item}")));
        }
        let papers = PAPERS.iter();
        return Ok(papers.map(|paper| (paper, Selection::all(paper))).collect());
    }
    let paper = Paper::by_name(name).expect("the argument parser accepts only names of papers");
    let selection = Selection::named(paper, items).map_err(|error| Usage(error.to_string()))?;
    Ok(vec![(paper, selection)])
}

/// Papers with their figures, tables and assumptions.
fn list() -> anyhow::Result<ExitCode> {
    let terminal = Terminal::of_stdout();
    print(&report::list(PAPERS, terminal.width, terminal.color))?;
    Ok(ExitCode::SUCCESS)
}

/// Sentences of the papers with the items that cover them.
fn coverage(args: &ReproduceArgs, papers: &[(&Paper, Selection)]) -> anyhow::Result<ExitCode> {
    let found: Vec<Coverage> = papers.iter().filter_map(|(paper, _)| Coverage::of(paper)).collect();
    if found.is_empty() {
        return Err(Usage(format!("'{}' is not a published text; expected a paper", papers[0].0.name)).into());
    }
    let terminal = Terminal::of_stdout();
    for coverage in &found {
        match args.json {
            true => print(&(serde_json::to_string(coverage)? + "\n"))?,
            false => print(&report::coverage(coverage, terminal.width, terminal.color))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ReproduceArgs, reproduction: &Reproduction) -> anyhow::Result<()> {
    if args.json {
        return print(&(serde_json::to_string(reproduction)? + "\n"));
    }
    let terminal = Terminal::of_stdout();
    print(&report::table(reproduction, terminal.width, terminal.color))
}

/// Writes the page of a paper and its figures.
fn write(args: &ReproduceArgs, reproduction: &Reproduction) -> anyhow::Result<()> {
    if let Some(directory) = &args.html {
        let page = report::html(reproduction, &origin(TOOL)?);
        write_file(directory, &format!("{}.html", reproduction.paper), page.as_bytes())?;
    }
    if let Some(directory) = &args.figures {
        for item in &reproduction.items {
            for chart in &item.charts {
                let name = format!("{}-{}-{}", reproduction.paper, item.id, chart.id());
                for (width, suffix) in [(Width::Column, ""), (Width::Text, "-wide")] {
                    let svg = figure::svg(chart, width);
                    write_file(directory, &format!("{name}{suffix}.svg"), svg.as_bytes())?;
                }
            }
        }
    }
    Ok(())
}

fn write_file(directory: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = OutputFile::create(&directory.join(name))?;
    file.write(bytes)?;
    file.commit()
}

/// Testbed with gentle's modules, if requested.
#[cfg(target_os = "linux")]
fn kernel(args: &ReproduceArgs, stop: &AtomicBool) -> anyhow::Result<Option<gentle_testbed::runs::Testbed>> {
    match args.kernel {
        true => super::testbed::for_any_scheme(stop).map(Some),
        false => Ok(None),
    }
}
