//! Single step of setting up a network.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A command, or a write to a kernel file. The [`Display`](fmt::Display) form is a shell command line.
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

    /// Kind of the queue discipline that the step sets up; `None`: the step is no `tc qdisc` command.
    pub fn qdisc_kind(&self) -> Option<&str> {
        let Step::Run { argv, .. } = self else {
            return None;
        };
        let is_qdisc = argv.first()? == "tc" && argv.iter().any(|word| word == "qdisc");
        // The handle, as in `handle 10: codel`, ends the words that say where the qdisc is attached.
        let handle = argv.iter().position(|word| word == "handle")?;
        argv.get(handle + 2).filter(|_| is_qdisc).map(String::as_str)
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
            Step::Run { argv, .. } => {
                let quoted = argv.iter().map(|word| match word.contains(' ') {
                    true => format!("'{word}'"),
                    false => word.clone(),
                });
                f.write_str(&quoted.collect::<Vec<_>>().join(" "))
            }
            Step::Write { path, value, optional, .. } => {
                let unless = if *optional { format!("test ! -e {path} || ") } else { String::new() };
                write!(f, "sh -c \"{unless}echo '{value}' > {path}\"")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_qdisc_follows_its_handle() {
        let kind = |words| Step::run(None, words).qdisc_kind().map(str::to_owned);
        let netem = "tc -n down qdisc add dev d1 root handle 1: netem limit 1000000 delay 42000us";
        assert_eq!(kind(netem).as_deref(), Some("netem"));
        let sized = "tc -n router qdisc add dev rup root stab overhead 24 handle 1: htb default 10";
        assert_eq!(kind(sized).as_deref(), Some("htb"));
        assert_eq!(kind("tc class add dev d1 parent 1: classid 1:10 htb"), None);
        assert_eq!(kind("ip netns add client"), None);
    }
}
