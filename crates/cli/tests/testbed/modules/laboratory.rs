//! Machine with gentle's queue disciplines, controlled from outside.

use crate::kernel::{kernel, machine};
use gentle_testbed::Command;
use gentle_testbed::build::{Cache, modules, plugins};
use gentle_testbed::machine::Machine;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Stop flag of builds and machines, which no test sets.
pub(crate) static NOT_STOPPED: AtomicBool = AtomicBool::new(false);

/// The tests take seconds on an idle computer, but tests may be many and cores few.
const TIME_LIMIT: Duration = Duration::from_secs(3600);

/// Folder `kernel/` of the repository.
pub(crate) fn kernel_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel")
}

/// Machine with the modules loaded and the plug-ins available to `tc`.
pub(super) struct Laboratory {
    machine: Machine,
}

impl Laboratory {
    /// Boots the machine; `None` if no kernel is available.
    pub(super) fn new() -> Option<Laboratory> {
        let kernel = kernel()?;
        let cache = Cache::of_user().unwrap();
        let mut machine = machine(kernel);
        machine.modules = modules(&machine.kernel, &kernel_folder(), &cache, &NOT_STOPPED).unwrap();
        machine.plugins = plugins(&kernel_folder(), &cache, &NOT_STOPPED).unwrap();
        machine.time_limit = TIME_LIMIT;
        Some(Laboratory { machine })
    }

    /// The machine with the modules of another folder of `kernel/`, too.
    pub(super) fn with_modules(mut self, folder: &str) -> Laboratory {
        let sources = kernel_folder().join(folder);
        let cache = Cache::of_user().unwrap();
        let more = modules(&self.machine.kernel, &sources, &cache, &NOT_STOPPED).unwrap();
        self.machine.modules.extend(more);
        self
    }

    /// Runs the ignored test `name` of this program within the machine; returns its output. The test must succeed
    /// without warnings of the kernel.
    pub(super) fn run(&self, name: &str) -> String {
        self.run_with(&[], name)
    }

    /// Runs a test as [`Laboratory::run`] does, with environment variables, each `NAME=VALUE`.
    pub(super) fn run_with(&self, variables: &[&str], name: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let options = ["--ignored", "--exact", "--nocapture", "--test-threads=1"];
        self.succeed(&[&["env"], variables, &[program, name], &options[..]].concat())
    }

    /// Runs a program within the machine, which must succeed without warnings of the kernel.
    pub(super) fn succeed(&self, argv: &[&str]) -> String {
        let mut words = vec!["env".to_owned(), "RUST_BACKTRACE=0".to_owned()];
        words.extend(argv.iter().map(|&word| word.to_owned()));
        let command = Command { argv: words };
        let outcome = self.machine.run(command, &NOT_STOPPED, &|_| {}).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&outcome.answer.stdout), text(&outcome.answer.stderr));
        assert_eq!(outcome.answer.status, 0, "{argv:?}: {stdout}{stderr}");
        let warnings = outcome.warnings();
        assert!(warnings.is_empty(), "{}\n{stdout}", warnings.join("\n"));
        let stayed = |line: &&String| line.contains("cannot be taken out");
        let stayed = outcome.console.lines().iter().find(stayed);
        assert_eq!(stayed, None, "something still uses a module: {stdout}");
        stdout
    }
}

/// Number printed by a test within the machine as `NAME: NUMBER`, possibly after the test's own name.
pub(super) fn number(printed: &str, name: &str) -> u64 {
    printed
        .lines()
        .filter_map(|line| line.rsplit(" ... ").next())
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
        .unwrap_or_else(|| panic!("no number '{name}' in\n{printed}"))
}
