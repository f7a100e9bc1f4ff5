//! Single step of setting up a system.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A command, or a write to a kernel file. Its [`Display`](fmt::Display) is a shell command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Runs a program.
    Run {
        /// Network namespace to run it in; `None`: the caller's.
        namespace: Option<String>,
        /// Program and its arguments.
        argv: Vec<String>,
    },
    /// Sets a kernel parameter.
    Write {
        /// Network namespace of the parameter; `None`: a parameter of the whole kernel.
        namespace: Option<String>,
        /// File below `/proc` or `/sys`.
        path: String,
        /// Value to write.
        value: String,
        /// Whether the step is skipped on kernels without this parameter.
        optional: bool,
    },
}

impl Step {
    /// Step that runs a command given as words separated by blanks.
    pub(super) fn run(namespace: Option<&str>, words: &str) -> Step {
        Step::Run {
            namespace: namespace.map(str::to_owned),
            argv: words.split_ascii_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Step that sets a parameter below `/proc/sys/net`.
    pub(super) fn sysctl(namespace: &str, name: &str, value: impl ToString) -> Step {
        Step::Write {
            namespace: Some(namespace.to_owned()),
            path: format!("/proc/sys/net/{name}"),
            value: value.to_string(),
            optional: false,
        }
    }

    /// Step that sets a parameter below `/proc/sys/net`, skipped on kernels built without it.
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
