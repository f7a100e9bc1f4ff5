//! Machines that are ended before they finish.

use crate::kernel::{exec, kernel};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Machine that is busy for longer than a test, with its temporary files in `folder`.
fn busy(folder: &TempDir, options: &[&str]) -> Child {
    exec(options, &["sleep", "1000"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Process group of the machine with files in `folder`, once it runs programs.
fn group(folder: &Path) -> u32 {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(120) {
        for (pid, line) in processes("cmdline") {
            // The launcher in the same group has become the kernel once its first process has children.
            if line.contains(folder.to_str().unwrap()) && line.contains("uml_dir=") && members(pid).len() > 1 {
                return pid;
            }
        }
        sleep(Duration::from_millis(50));
    }
    panic!("no machine has started");
}

/// Contents of a file in /proc for every process.
fn processes(file: &str) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read(entry.path().join(file)).ok()?;
            Some((pid, String::from_utf8_lossy(&text).into_owned()))
        })
        .collect()
}

/// Running processes of a group.
fn members(group: u32) -> Vec<u32> {
    let stats = processes("stat").into_iter();
    stats
        .filter(|(_, stat)| {
            // proc(5): the name in parentheses may contain spaces; state, parent and group follow.
            let rest = stat.rsplit(')').next().unwrap();
            let fields: Vec<&str> = rest.split_whitespace().collect();
            fields[0] != "Z" && fields[2] == group.to_string()
        })
        .map(|(pid, _)| pid)
        .collect()
}

fn gone(group: u32) {
    let started = Instant::now();
    while !members(group).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30), "{:?} are left", members(group));
        sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_limit_on_time_is_kept() {
    let Some(_) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    let child = busy(&folder, &["--real-time", "--time-limit=5"]);
    let group = group(folder.path());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("it had not finished after 5s"), "{complaint}");
    gone(group);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn ctrl_c_ends_the_machine() {
    let Some(_) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    let child = busy(&folder, &["--real-time"]);
    let group = group(folder.path());
    signal(&child, "-INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    gone(group);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn no_process_outlives_a_gentle_that_is_killed() {
    let Some(_) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    let mut child = busy(&folder, &["--real-time"]);
    let group = group(folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    gone(group);
}

#[test]
fn a_job_that_dies_is_reported() {
    let Some(_) = kernel() else { return };
    let output = exec(&[], &["sh", "-c", "kill -KILL $PPID; sleep 1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(complaint, "error: in the machine: the job was ended by signal 9\n");
}

#[test]
fn a_program_ended_by_a_signal_is_told_apart() {
    let Some(_) = kernel() else { return };
    let output = exec(&[], &["sh", "-c", "kill -TERM $$"]).output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 15), "{output:?}");
}
