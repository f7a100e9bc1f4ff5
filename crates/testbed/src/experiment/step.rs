//! One thing to do to a system.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A command, or a line into a file of the kernel's. Its [`Display`](fmt::Display) is a line for a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Runs a program.
    Run {
        /// The network namespace to run it in; `None`: where the experiment is run.
        namespace: Option<String>,
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Sets a parameter of the kernel.
    Write {
        /// The network namespace whose parameter it is; `None`: of the whole kernel.
        namespace: Option<String>,
        /// The file below `/proc` or `/sys`.
        path: String,
        /// What is written.
        value: String,
        /// Kernels that have no such parameter need none.
        optional: bool,
    },
}

impl Step {
    /// A command whose words are separated by blanks.
    pub(super) fn run(namespace: Option<&str>, words: &str) -> Step {
        Step::Run {
            namespace: namespace.map(str::to_owned),
            argv: words.split_ascii_whitespace().map(str::to_owned).collect(),
        }
    }

    /// A parameter below `/proc/sys/net`.
    pub(super) fn sysctl(namespace: &str, name: &str, value: impl ToString) -> Step {
        Step::Write {
            namespace: Some(namespace.to_owned()),
            path: format!("/proc/sys/net/{name}"),
            value: value.to_string(),
            optional: false,
        }
    }

    /// The same, of a part that a kernel may have been built without.
    pub(super) fn optional_sysctl(namespace: &str, name: &str, value: impl ToString) -> Step {
        let mut step = Step::sysctl(namespace, name, value);
        if let Step::Write { optional, .. } = &mut step {
            *optional = true;
        }
        step
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Step::Run { namespace, .. } | Step::Write { namespace, .. }) = self;
        if let Some(namespace) = namespace {
            write!(f, "ip netns exec {namespace} ")?;
        }
        match self {
            Step::Run { argv, .. } => f.write_str(&argv.join(" ")),
            Step::Write {
                path,
                value,
                optional,
                ..
            } => {
                let unless = if *optional {
                    format!("test ! -e {path} || ")
                } else {
                    String::new()
                };
                write!(f, "sh -c \"{unless}echo '{value}' > {path}\"")
            }
        }
    }
}
