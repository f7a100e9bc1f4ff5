//! Private instance of tracefs, which is removed at the end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "gentle-host";

/// Process that owns an instance. Its name has all fields: tracefs is one for all containers, and numbers of processes
/// are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    /// Inode of the PID namespace.
    namespace: u64,
    pid: u32,
    /// Start of the process, in ticks since the boot.
    start: u64,
}

impl Owner {
    /// This process.
    fn current() -> Option<Owner> {
        let pid = std::process::id();
        Some(Owner { namespace: pid_namespace()?, pid, start: start_of(pid)? })
    }

    fn name(self, number: u32) -> String {
        format!("{PREFIX}-{}-{}-{}-{number}", self.namespace, self.pid, self.start)
    }

    /// Parses the name of an instance.
    fn parse(name: &str) -> Option<Owner> {
        let mut fields = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
        let owner = Owner {
            namespace: fields.next()?.parse().ok()?,
            pid: fields.next()?.parse().ok()?,
            start: fields.next()?.parse().ok()?,
        };
        let _number: u32 = fields.next()?.parse().ok()?;
        fields.next().is_none().then_some(owner)
    }
}

/// Inode of this process's PID namespace: `pid:[4026531836]`.
fn pid_namespace() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Start of a process; `None` if there is no such process.
fn start_of(pid: u32) -> Option<u64> {
    start(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of /proc/PID/stat. The second field is a name, which can contain spaces and parentheses.
fn start(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// Directory in `instances`; removed when dropped, and its triggers with it (`event_trace_del_tracer`,
/// kernel/trace/trace_events.c).
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
}

impl Instance {
    pub(super) fn create(root: &Path) -> io::Result<Instance> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let owner = Owner::current().ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        let path = root.join("instances").join(owner.name(NUMBER.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&path)?;
        Ok(Instance { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A failure leaves a directory that the next process removes.
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// Removes the instances of processes of this PID namespace that have ended without doing so.
pub(super) fn remove_leftovers(root: &Path) {
    let (Some(namespace), Ok(list)) = (pid_namespace(), std::fs::read_dir(root.join("instances"))) else { return };
    for entry in list.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(Owner::parse) else { continue };
        if owner.namespace == namespace && start_of(owner.pid) != Some(owner.start) {
            // The kernel keeps an instance that somebody uses.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Instance, Owner, pid_namespace, remove_leftovers, start, start_of};
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn an_instance_exists_until_it_is_dropped() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("instances")).expect("a directory");
        let instance = Instance::create(root.path()).expect("an instance");
        let path = instance.path().to_owned();
        assert!(path.is_dir());
        drop(instance);
        assert!(!path.exists());
    }

    #[test]
    fn only_instances_of_processes_that_have_ended_are_leftovers() {
        let root = tempfile::tempdir().expect("a directory");
        let instances = root.path().join("instances");
        fs::create_dir(&instances).expect("a directory");
        let namespace = pid_namespace().expect("a namespace");
        let mine = Instance::create(root.path()).expect("an instance");
        let start = start_of(std::process::id()).expect("a start");
        let owner = |namespace, pid, start| Owner { namespace, pid, start }.name(0);
        let (reused, ended) = (owner(namespace, std::process::id(), start + 1), owner(namespace, 0x3fff_ffff, 1));
        let kept = [owner(namespace + 1, 0x3fff_ffff, 1), "gentle-host-1".to_owned(), "other".to_owned()];
        for name in kept.iter().chain([&reused, &ended]) {
            fs::create_dir(instances.join(name)).expect("a directory");
        }
        remove_leftovers(root.path());
        assert!(mine.path().exists() && kept.iter().all(|name| instances.join(name).exists()));
        assert!(!instances.join(reused).exists() && !instances.join(ended).exists());
    }

    #[test]
    fn the_name_of_a_process_does_not_matter() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(start(&format!("12 (a) b) {fields}")), Some(4711));
    }

    proptest! {
        #[test]
        fn names_are_parsed(namespace: u64, pid: u32, start: u64, number: u32) {
            let owner = Owner { namespace, pid, start };
            prop_assert_eq!(Owner::parse(&owner.name(number)), Some(owner));
        }

        #[test]
        fn any_text_is_parsed(text in r"(gentle-host)?(-|[0-9]|.){0,40}") {
            Owner::parse(&text);
            start(&text);
        }
    }
}
