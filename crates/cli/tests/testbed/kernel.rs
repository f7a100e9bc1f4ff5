//! The kernel that all tests share.

use assert_cmd::cargo::cargo_bin;
use gentle_testbed::build::{Cache, Flavour, Kernel, Request, build};
use gentle_testbed::machine::{GuestProgram, Machine};
use std::num::NonZero;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// The kernel, or `None` and a word on standard error about why.
pub(crate) fn kernel() -> Option<Kernel> {
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    KERNEL.get_or_init(find).clone()
}

fn find() -> Option<Kernel> {
    let request = Request {
        flavour: Flavour::Plain,
        source: None,
        force: false,
        jobs: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
    };
    let kernel =
        Cache::of_user().and_then(|cache| build(&request, &cache, &(), &AtomicBool::new(false)));
    match kernel {
        Ok(kernel) => Some(kernel),
        Err(error)
            if std::env::var_os("GENTLE_TESTBED").is_some_and(|value| value == "required") =>
        {
            panic!("{error}")
        }
        Err(error) => {
            eprintln!("skipped: no kernel to test with: {error}");
            None
        }
    }
}

/// A machine as a user of the library makes one.
pub(crate) fn machine(kernel: Kernel) -> Machine {
    let program = GuestProgram {
        path: cargo_bin("gentle"),
        arguments: vec!["testbed".to_owned(), "guest".to_owned()],
    };
    let mut machine = Machine::new(kernel, program);
    machine.memory_mib = 256;
    machine
}

/// `gentle testbed exec` with options before the `--` and a program after it.
pub(crate) fn exec(options: &[&str], program: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("gentle"));
    command
        .args(["testbed", "exec", "--memory=256"])
        .args(options)
        .arg("--")
        .args(program);
    command
}
