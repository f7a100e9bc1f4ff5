//! A host: a thread in a network namespace of its own.

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

pub(crate) struct Host {
    jobs: Sender<Job>,
    thread: Pid,
}

impl Host {
    /// `None`: this system lets nobody here make one.
    pub(crate) fn new() -> Option<Host> {
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

    /// Does something there.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        let job = Box::new(move || {
            // Nobody waits any more when the test has failed.
            let _ = done.send(job());
        });
        self.jobs.send(job).expect("the host is there");
        result.recv().expect("the job has not failed")
    }

    /// Starts something there that takes its time: it has a thread of its own in the same namespace.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        // A thread is in the namespace of the one that starts it.
        self.run(|| thread::spawn(job))
    }

    /// A line of a shell's, which must succeed.
    pub(crate) fn sh(&self, line: &str) {
        let line = line.to_owned();
        self.run(move || {
            let output = Command::new("sh")
                .args(["-ec", &line])
                .output()
                .expect("a shell");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line}: {error}");
        });
    }

    /// The thread by which ip knows its namespace.
    pub(crate) fn thread(&self) -> Pid {
        self.thread
    }
}
