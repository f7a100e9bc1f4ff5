//! Hosts for tests.

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// Thread in a separate network namespace.
pub struct Host {
    jobs: Sender<Job>,
    thread: Pid,
}

impl Host {
    /// Creates a host; `None` if this system does not permit it.
    pub fn new() -> Option<Host> {
        let (jobs, queue) = channel::<Job>();
        let (told, made) = channel();
        thread::spawn(move || {
            let outcome = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid());
            let failed = outcome.is_err();
            told.send(outcome).expect("somebody waits for it");
            if failed {
                return;
            }
            for job in queue {
                job();
            }
        });
        match made.recv().expect("the thread has started") {
            Ok(thread) => Some(Host { jobs, thread }),
            Err(error) => {
                eprintln!("skipped: a network namespace: {error}");
                None
            }
        }
    }

    /// Runs a closure on the host and returns its result.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        let job = Box::new(move || {
            // The receiver is gone if the test has failed.
            let _ = done.send(job());
        });
        self.jobs.send(job).expect("the host is there");
        result.recv().expect("the job has not failed")
    }

    /// Starts a closure on a separate thread in the host's namespace.
    pub fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
        // A new thread inherits the namespace of its parent.
        self.run(|| thread::spawn(job))
    }

    /// Runs a shell command, which must succeed.
    pub fn sh(&self, line: &str) {
        let line = line.to_owned();
        self.run(move || {
            let output = Command::new("sh").args(["-ec", &line]).output().expect("a shell");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line}: {error}");
        });
    }

    /// Starts a server on a port of IPv4 and IPv6, which accepts connections and closes each when its client does.
    pub fn serve(&self, port: u16) {
        let listener = self.run(move || TcpListener::bind(("::", port)).expect("a port"));
        drop(self.start(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
            }
        }));
    }

    /// Value of a counter of TCP, by its name in `/proc/net/snmp` or `/proc/net/netstat`.
    pub fn counter(&self, name: &str) -> u64 {
        let name = name.to_owned();
        self.run(move || {
            let read = |file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).expect("counters");
            let text = ["snmp", "netstat"].map(read).concat();
            let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
            let value = lines.chunks(2).find_map(|pair| match pair {
                [names, values] if names[0].starts_with("Tcp") => {
                    let at = names.iter().position(|column| *column == name)?;
                    values[at].parse().ok()
                }
                _ => None,
            });
            value.expect(&name)
        })
    }

    /// Thread identifier by which ip finds the namespace.
    pub fn thread(&self) -> Pid {
        self.thread
    }
}
