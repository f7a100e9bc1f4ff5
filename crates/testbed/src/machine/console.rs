//! Console output of a machine's kernel.

use std::io::{BufRead, BufReader, Read};

/// Maximum number of lines kept; beyond it the beginning and the end are kept. A broken kernel may print without end.
const MOST_LINES: usize = 20_000;
/// Maximum length of a line, bytes; a longer line is split.
const LONGEST_LINE: u64 = 4096;
/// Number of lines that an error message shows.
const TAIL: usize = 12;
/// Maximum number of lines of one warning: a call trace with registers.
const LINES: usize = 60;

/// Prefixes of kernel warnings: lib/bug.c, mm/kasan/report.c, lib/ubsan.c, kernel/locking/lockdep.c, kernel/rcu,
/// lib/debugobjects.c, kernel/panic.c.
const BEGINNINGS: [&str; 12] = [
    "WARNING:",
    "BUG:",
    "BUG ",
    "UBSAN:",
    "INFO: possible",
    "INFO: suspicious",
    "INFO: rcu",
    "INFO: task",
    "INFO: trying to register non-static key",
    "ODEBUG:",
    "Kernel panic",
    "general protection fault",
];

/// Console output of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Console {
    lines: Vec<String>,
}

impl Console {
    /// Reads until end of file.
    pub(super) fn read(from: impl Read) -> Console {
        let mut lines = Vec::new();
        let mut reader = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => lines.push(String::from_utf8_lossy(&line).trim_end().to_owned()),
            }
            if lines.len() > MOST_LINES {
                lines.drain(MOST_LINES / 2..MOST_LINES / 2 + MOST_LINES / 4);
            }
        }
        Console { lines }
    }

    /// Lines without line terminators.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Last lines, for error messages.
    pub fn tail(&self) -> String {
        let first = self.lines.len().saturating_sub(TAIL);
        self.lines[first..].join("\n")
    }

    /// Whether user-mode Linux exited because the host permits neither ptrace nor seccomp, which it needs to run guest
    /// programs.
    pub(super) fn tracing_refused(&self) -> bool {
        // arch/um/os-Linux/start_up.c
        let checks = ["check_ptrace", "check_sysemu", "start_ptraced_child", "stop_ptraced_child"];
        let mut lines = self.lines.iter();
        lines.any(|line| checks.iter().any(|check| line.starts_with(check)))
    }

    /// All warnings of the kernel, each with the lines that follow it, at most 60 lines.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<Vec<&str>> = Vec::new();
        for line in &self.lines {
            let text = without_time(line);
            if begins(text) {
                warnings.push(vec![text]);
            } else if let Some(warning) = warnings.last_mut()
                && warning.len() < LINES
            {
                warning.push(text);
            }
        }
        warnings.iter().map(|lines| lines.join("\n")).collect()
    }
}

/// Strips the timestamp of a kernel message, as in `[   12.345678] `.
fn without_time(line: &str) -> &str {
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((time, text)) if time.trim().parse::<f64>().is_ok() => text,
        _ => line,
    }
}

fn begins(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_from_chatter() {
        let text = "\
[    0.000000] Linux version 7.2.12
[    3.100000] WARNING: net/sched/sch_spa.c:10 at spa_dequeue+0x1/0x2, CPU#0: tc/12
[    3.100000] Call Trace:
[    4.000000] UBSAN: shift-out-of-bounds in net/sched/sch_gsp.c:20:3
";
        let console = Console::read(text.as_bytes());
        let warnings = console.warnings();
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].starts_with("WARNING: net/sched/sch_spa.c:10"));
        assert!(warnings[0].ends_with("Call Trace:"));
        assert!(warnings[1].starts_with("UBSAN:"));
    }

    #[test]
    fn a_host_that_forbids_tracing_is_recognised() {
        let text = "Checking that seccomp filters can be installed...error\n\
            check_ptrace: PTRACE_SETOPTIONS failed: x\n";
        assert!(Console::read(text.as_bytes()).tracing_refused());
        assert!(!Console::read("Linux version 7.2.12\n".as_bytes()).tracing_refused());
    }

    #[test]
    fn a_flood_of_lines_keeps_beginning_and_end() {
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let console = Console::read(text.as_bytes());
        assert!(console.lines().len() <= MOST_LINES);
        assert_eq!(console.lines()[0], "line 0");
        assert_eq!(console.lines().last().unwrap(), "line 99999");
        assert!(console.tail().starts_with("line 99988\n"));
    }
}
