//! Kernel shared by all tests: the plain one, or with GENTLE_TESTBED_KERNEL=debug the one that checks memory and locks.

use assert_cmd::cargo::cargo_bin;
use gentle_testbed::build::{Cache, Flavour, Kernel, Request, build};
use gentle_testbed::machine::{GuestProgram, Machine};
use std::num::NonZero;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Kernel of the tests, or `None` and a message on standard error with the reason.
pub(crate) fn kernel() -> Option<Kernel> {
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    KERNEL.get_or_init(find).clone()
}

fn flavour() -> Flavour {
    match std::env::var("GENTLE_TESTBED_KERNEL").as_deref() {
        Ok("debug") => Flavour::Debug,
        Ok("plain") | Err(_) => Flavour::Plain,
        Ok(other) => panic!("GENTLE_TESTBED_KERNEL={other}: expected plain or debug"),
    }
}

fn find() -> Option<Kernel> {
    let request = Request {
        flavour: flavour(),
        source: None,
        force: false,
        jobs: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
    };
    let kernel = Cache::of_user().and_then(|cache| build(&request, &cache, &(), &AtomicBool::new(false)));
    match kernel {
        Ok(kernel) => Some(kernel),
        Err(error) if std::env::var_os("GENTLE_TESTBED").is_some_and(|value| value == "required") => {
            panic!("{error}")
        }
        Err(error) => {
            eprintln!("skipped: no kernel to test with: {error}");
            None
        }
    }
}

/// Freed memory stays in KASAN's quarantine for a while.
fn memory_mib() -> u32 {
    match flavour() {
        Flavour::Plain => 256,
        Flavour::Debug => 1024,
    }
}

/// Seed of the kernels' random numbers, so that what passes once passes again.
const SEED: u64 = 1;

/// Machine made in the same way as by a user of the library.
pub(crate) fn machine(kernel: Kernel) -> Machine {
    let program = GuestProgram { path: cargo_bin("gentle"), arguments: vec!["testbed".to_owned(), "guest".to_owned()] };
    let mut machine = Machine::new(kernel, program);
    machine.memory_mib = memory_mib();
    machine.seed = Some(SEED);
    if flavour() == Flavour::Debug {
        machine.time_limit = Duration::from_secs(3600);
    }
    machine
}

/// Command `gentle testbed exec` with options before the `--` and a program after it.
pub(crate) fn exec(options: &[&str], program: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("gentle"));
    command
        .args(["testbed", "exec"])
        .arg(format!("--memory={}", memory_mib()))
        .args((flavour() == Flavour::Debug).then_some("--debug"))
        .arg(format!("--seed={SEED}"))
        .args(options)
        .arg("--")
        .args(program);
    command
}
