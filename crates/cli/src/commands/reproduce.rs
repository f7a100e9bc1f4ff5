//! The command `gentle reproduce`.

use super::runs::threads;
use crate::args::{ALL_PAPERS, ReproduceArgs};
use crate::command_line::command;
use crate::files::FileClaims;
use crate::interrupt;
use crate::output::{OutputFile, print, print_error, warn};
use crate::progress::Parts;
use crate::usage::Usage;
use anyhow::Context;
use gentle_papers::{Lab, PAPERS, Paper, Reproduction, Selection, Store, reproduce};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// File name extension of records.
const RECORD: &str = "json";

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.paper else {
        return list(args);
    };
    let papers = selected(name, &args.items)?;
    let mut claims = FileClaims::default();
    if args.json {
        claims.prints("--json")?;
    }
    claims.redirected_stdout()?;
    drop(claims);
    for directory in [&args.html, &args.figures, &args.record]
        .into_iter()
        .flatten()
    {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot be created", directory.display()))?;
    }
    let stop = interrupt::flag()?;
    let threads = threads(args.threads)?;
    let progress = Parts::new(args.quiet);
    let records = args.record.as_deref().map(Records::new);
    let mut lab = Lab::new(args.quick, &progress, &stop);
    if let Some(records) = &records {
        lab = lab.with_store(records);
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
    if let Some(failed) = records.and_then(Records::failure) {
        return Err(failed);
    }
    if stop.load(Ordering::Relaxed) {
        print_error("stopped; what was complete by then is shown");
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// Papers with what is asked of each.
fn selected(name: &str, items: &[String]) -> Result<Vec<(&'static Paper, Selection)>, Usage> {
    if name == ALL_PAPERS {
        if let Some(item) = items.first() {
            return Err(Usage(format!(
                "'{item}': items belong to one paper; expected gentle reproduce PAPER {item}"
            )));
        }
        let papers = PAPERS.iter();
        return Ok(papers.map(|paper| (paper, Selection::all(paper))).collect());
    }
    let paper = Paper::by_name(name).expect("the parser of arguments takes names of papers only");
    let selection = Selection::named(paper, items).map_err(|error| Usage(error.to_string()))?;
    Ok(vec![(paper, selection)])
}

/// Papers with their figures, tables and assumptions.
fn list(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    let _ = args;
    let mut text = String::new();
    for paper in PAPERS {
        let data = paper.data();
        text += &format!("{}  {}, {}\n", paper.name, data.title, data.venue);
        for part in paper.parts {
            let title = data.heading(part.id).map_or("", |heading| &heading.title);
            text += &format!("    {:<14}{title}\n", part.id);
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ReproduceArgs, reproduction: &Reproduction) -> anyhow::Result<()> {
    if args.json {
        return print(&(serde_json::to_string(reproduction)? + "\n"));
    }
    let mut text = format!("{}: {}\n", reproduction.paper, reproduction.title);
    for item in &reproduction.items {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.4}"));
        let (value, ci95) = (number(item.ours.value), number(item.ours.ci95));
        text += &format!(
            "{:<34} {:<16} {value} ± {ci95}  {}\n",
            item.id, item.verdict, item.title
        );
    }
    print(&text)
}

fn write(args: &ReproduceArgs, reproduction: &Reproduction) -> anyhow::Result<()> {
    let _ = (args, reproduction);
    Ok(())
}

/// Testbed with gentle's modules, if the user asked for it.
#[cfg(target_os = "linux")]
fn kernel(
    args: &ReproduceArgs,
    stop: &AtomicBool,
) -> anyhow::Result<Option<gentle_testbed::runs::Testbed>> {
    match args.kernel {
        true => super::testbed::for_any_scheme(stop).map(Some),
        false => Ok(None),
    }
}

/// Records of runs in a directory.
struct Records<'a> {
    directory: &'a Path,
    /// First error with a file.
    failed: Mutex<Option<anyhow::Error>>,
}

impl<'a> Records<'a> {
    fn new(directory: &'a Path) -> Records<'a> {
        Records {
            directory,
            failed: Mutex::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.{RECORD}"))
    }

    fn failure(self) -> Option<anyhow::Error> {
        let failed = self.failed.into_inner();
        failed.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Records<'_> {
    fn load(&self, name: &str) -> Option<String> {
        let path = self.path(name);
        match std::fs::read_to_string(&path) {
            Ok(json) => Some(json),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                warn(&format!(
                    "{}: {error}; the run is made again",
                    path.display()
                ));
                None
            }
        }
    }

    fn save(&self, name: &str, json: &str) {
        let written = OutputFile::create(&self.path(name)).and_then(|mut file| {
            file.write(json.as_bytes())?;
            file.commit()
        });
        if let Err(error) = written {
            // The other runs continue, so that their results are not lost.
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    }
}
