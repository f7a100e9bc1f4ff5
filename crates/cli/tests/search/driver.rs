//! Runs cases of all kinds, makes findings smaller, and writes them to a folder.

use crate::KINDS;
use crate::case::{Case, Checked, Finding};
use gentle_testkit::draw::{Draw, simplest};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A kind of cases.
pub(crate) struct Kind {
    name: &'static str,
    case: fn(&mut Draw, &Case) -> Checked,
    /// Number of seeds, from 1 on, in `make test`.
    few: u64,
    /// Number of seeds in `make test-all`.
    many: u64,
}

impl Kind {
    pub(crate) const fn new(name: &'static str, case: fn(&mut Draw, &Case) -> Checked, few: u64, many: u64) -> Kind {
        Kind { name, case, few, many }
    }
}

/// Longest time for making a finding smaller.
const SHRINKING: Duration = Duration::from_secs(120);

/// Number of findings of one invariant that are made smaller. A search may find thousands of one cause.
const SHRUNK: usize = 3;

/// Program to test: GENTLE_SEARCH_PROGRAM, or the one that cargo built for this test.
fn program() -> PathBuf {
    let given = std::env::var_os("GENTLE_SEARCH_PROGRAM");
    let path = given.map_or_else(|| env!("CARGO_BIN_EXE_gentle").into(), PathBuf::from);
    std::path::absolute(path).expect("a path")
}

/// Folder for findings and for the files of cases.
fn folder() -> PathBuf {
    let given = std::env::var_os("GENTLE_SEARCH_FOLDER");
    let folder = given.map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("search"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    folder.canonicalize().expect("a folder for findings")
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a number")))
}

/// A search, of which several threads try cases.
struct Search {
    program: PathBuf,
    folder: PathBuf,
    findings: Mutex<BTreeMap<(&'static str, &'static str), Vec<String>>>,
    tried: AtomicU64,
    refused: AtomicU64,
}

impl Search {
    fn new() -> Search {
        Search {
            program: program(),
            folder: folder(),
            findings: Mutex::default(),
            tried: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Tries a seed; writes and prints what it finds.
    fn attempt(&self, kind: &Kind, seed: u64) {
        let name = format!("{}-{seed}", kind.name);
        let work = self.folder.join(format!("work-{name}"));
        let run = |draw: &mut Draw| {
            let case = Case::new(&work, &self.program);
            let checked = (kind.case)(draw, &case);
            (case, checked)
        };
        let mut draw = Draw::of_seed(seed);
        let (case, checked) = run(&mut draw);
        self.tried.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(case.was_refused().into(), Ordering::Relaxed);
        if let Err(finding) = checked {
            let text = format!("{name}: {}: {}", finding.invariant, finding.details);
            let found = self.folder.join(&name);
            keep(&work, &found, &case, &text);
            println!("{}\n  files: {}", first_lines(&text), found.display());
            let same = {
                let mut all = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
                let same = all.entry((kind.name, finding.invariant)).or_default();
                same.push(text);
                same.len()
            };
            if same <= SHRUNK {
                self.shrink(kind, &name, &finding, draw.made());
            }
        }
        let _ = std::fs::remove_dir_all(&work);
    }

    /// Replaces the files of a finding by the files of a simpler case.
    fn shrink(&self, kind: &Kind, name: &str, finding: &Finding, choices: &[u64]) {
        let work = self.folder.join(format!("work-{name}"));
        let deadline = Instant::now() + SHRINKING;
        simplest(choices.to_vec(), deadline, |draw| {
            let case = Case::new(&work, &self.program);
            match (kind.case)(draw, &case) {
                Err(simpler) if simpler.invariant == finding.invariant => {
                    // A choice that is left out takes another way through the case, so the last one is not always the
                    // simplest; it is never more complex than the first.
                    let text = format!("{name}, smaller: {}: {}", simpler.invariant, simpler.details);
                    if draw.made().len() <= choices.len() {
                        keep(&work, &self.folder.join(name), &case, &text);
                    }
                    true
                }
                _ => false,
            }
        });
    }

    fn all(&self) -> Vec<String> {
        let all = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().flatten().cloned().collect()
    }
}

/// Copies the files of a case to a finding: all or none, as a search may be interrupted.
fn keep(work: &Path, found: &Path, case: &Case, text: &str) {
    case.write("commands.sh", case.script());
    case.write("finding.txt", text);
    let _ = std::fs::remove_dir_all(found);
    std::fs::rename(work, found).expect("a folder for the finding");
}

fn first_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(12).collect();
    lines.join("\n").chars().take(1500).collect()
}

/// Tries the fixed seeds of a kind.
pub(crate) fn try_fixed(name: &str) {
    let kind = KINDS.iter().find(|kind| kind.name == name).expect("a kind");
    let search = Search::new();
    let seeds = match number("GENTLE_SEARCH_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..kind.few + 1,
    };
    for seed in seeds {
        search.attempt(kind, seed);
    }
    let findings = search.all();
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
}

/// Tries more fixed seeds of all kinds.
pub(crate) fn try_full_size() {
    let search = Search::new();
    let longest = KINDS.iter().map(|kind| kind.many).max().unwrap_or_default();
    let seeds = AtomicU64::new(1);
    in_parallel(|| {
        loop {
            let seed = seeds.fetch_add(1, Ordering::Relaxed);
            if seed > longest {
                return;
            }
            for kind in KINDS.iter().filter(|kind| seed <= kind.many) {
                search.attempt(kind, seed);
            }
        }
    });
    let findings = search.all();
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
}

/// Tries fresh seeds for GENTLE_SEARCH_SECONDS, of all kinds in turn or of the kind GENTLE_SEARCH_KIND.
pub(crate) fn search() {
    let seconds = number("GENTLE_SEARCH_SECONDS").expect("GENTLE_SEARCH_SECONDS, as make search sets it");
    let wanted = std::env::var("GENTLE_SEARCH_KIND").unwrap_or_default();
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| wanted.is_empty() || kind.name == wanted).collect();
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert!(!kinds.is_empty(), "KIND={wanted}: expected one of {}", names.join(", "));
    let search = Search::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = now.expect("a time after 1970").as_millis() as u64;
    println!("Findings: {}\nSeeds: from {first} on", search.folder.display());
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let turn = AtomicU64::new(0);
    in_parallel(|| {
        while Instant::now() < deadline {
            let turn = turn.fetch_add(1, Ordering::Relaxed);
            let kind = kinds[(turn % kinds.len() as u64) as usize];
            search.attempt(kind, first + turn / kinds.len() as u64);
        }
    });
    let (tried, refused) = (search.tried.into_inner(), search.refused.into_inner());
    let findings = search.findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{tried} cases, {refused} with a refusal. Findings:");
    for ((kind, invariant), found) in &findings {
        println!("  {kind}: {invariant}: {}", found.len());
    }
    assert!(findings.is_empty(), "see {}", search.folder.display());
}

/// Does the same on as many threads as there are processors.
fn in_parallel(work: impl Fn() + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}
