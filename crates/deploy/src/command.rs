//! Commands as lists of arguments, so that running them needs no quoting; quotes are added for display only.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Programs of iproute2 used by plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Program {
    /// `tc(8)`.
    Tc,
    /// `ip(8)`.
    Ip,
}

impl Program {
    /// Name of the program in the search path.
    pub fn name(self) -> &'static str {
        match self {
            Program::Tc => "tc",
            Program::Ip => "ip",
        }
    }
}

/// Command with its arguments. Its [`Display`](fmt::Display) is a line that a POSIX shell parses to the same arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Program to run.
    pub program: Program,
    /// Arguments, without the program's name.
    pub args: Vec<String>,
}

impl Command {
    /// `tc` with blank-separated arguments.
    pub(crate) fn tc(args: &str) -> Command {
        Command::of(Program::Tc, args)
    }

    /// `ip` with blank-separated arguments.
    pub(crate) fn ip(args: &str) -> Command {
        Command::of(Program::Ip, args)
    }

    fn of(program: Program, args: &str) -> Command {
        Command { program, args: args.split_ascii_whitespace().map(str::to_owned).collect() }
    }

    /// Adds one argument, which may contain any characters.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Command {
        self.args.push(arg.into());
        self
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program.name())?;
        for arg in &self.args {
            write!(f, " {}", Quoted(arg))?;
        }
        Ok(())
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:,/+=@%".contains(c);
        if !self.0.is_empty() && self.0.chars().all(plain) {
            return f.write_str(self.0);
        }
        write!(f, "'{}'", self.0.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::Command;

    #[test]
    fn a_shell_reads_back_what_is_shown() {
        let command = Command::ip("link set dev eth0 alias").arg("it's eth0; $x").arg("");
        assert_eq!(command.to_string(), r"ip link set dev eth0 alias 'it'\''s eth0; $x' ''");
    }
}
