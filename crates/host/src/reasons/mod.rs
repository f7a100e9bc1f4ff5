//! Reasons of dropped packets: the tracepoint skb:kfree_skb, counted by reason in the kernel.
//!
//! A private instance of tracefs has a histogram of the tracepoint (Documentation/trace/histogram.rst). It needs no BPF,
//! and no event reaches this process. Reasons that have a counter for the network namespace are left to that counter:
//! `TCP_LISTEN_OVERFLOW`, `IP_RPFILTER`, `QDISC_DROP` and others.

mod format;
mod histogram;
mod instance;
mod table;

use crate::finding::Finding;
use crate::missing::{Missing, Source};
use crate::proc_file::ProcFile;
use instance::Instance;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Mount points of tracefs: since Linux 4.1, and within debugfs.
const MOUNT_POINTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

const EVENT: &str = "events/skb/kfree_skb";

/// Histogram by reason. The kernel rounds the size to a power of two; Linux 6.18 has 127 reasons, and subsystems have more.
const TRIGGER: &str = "hist:keys=reason:size=512";

const WHAT: &str = "reasons of dropped packets";

/// Counts of dropped packets by reason, of all network namespaces.
#[derive(Debug)]
pub(crate) struct Reasons {
    names: BTreeMap<u32, String>,
    // Fields are dropped in this order: the kernel keeps an instance whose files are open.
    histogram: ProcFile,
    _instance: Instance,
    before: Option<BTreeMap<u32, u64>>,
}

impl Reasons {
    pub(crate) fn open() -> Result<Reasons, Missing> {
        Reasons::open_in(&MOUNT_POINTS.map(PathBuf::from))
    }

    fn open_in(mount_points: &[PathBuf]) -> Result<Reasons, Missing> {
        let missing = |reason: String, remedy: &str| Missing {
            source: Source::DropReasons,
            sentence: format!("{WHAT} cannot be read: {reason}"),
            remedy: remedy.to_owned(),
        };
        let mut denied = None;
        let found =
            mount_points.iter().find_map(|root| match std::fs::read_to_string(root.join(EVENT).join("format")) {
                Ok(text) => Some((root, text)),
                Err(error) => {
                    denied = denied.take().or((error.kind() == ErrorKind::PermissionDenied).then_some(root));
                    None
                }
            });
        let (root, text) = match (found, denied) {
            (Some(found), _) => found,
            (None, Some(root)) => {
                return Err(missing(
                    format!("{} is accessible to root only", root.display()),
                    "run the command as root",
                ));
            }
            (None, None) => {
                return Err(missing(
                    format!("tracefs is not mounted at {}", MOUNT_POINTS[0]),
                    "as root, mount it: mount -t tracefs tracefs /sys/kernel/tracing",
                ));
            }
        };
        let names = format::parse(&text);
        if names.is_empty() {
            return Err(missing("this kernel drops packets without a reason".to_owned(), "use Linux 5.17 or later"));
        }
        let (instance, histogram) = start(root).map_err(|error| match error.kind() {
            // The kernel rejects the word "hist" if it does not have it.
            ErrorKind::InvalidInput | ErrorKind::NotFound => missing(
                format!("{error}; this kernel may have no histograms of events"),
                "use a kernel with CONFIG_HIST_TRIGGERS",
            ),
            ErrorKind::PermissionDenied => missing(error.to_string(), "run the command as root"),
            _ => missing(error.to_string(), "make tracefs writable, for example outside a container"),
        })?;
        Ok(Reasons { names, histogram, _instance: instance, before: None })
    }

    pub(crate) fn read(&mut self) -> Vec<Finding> {
        let Ok(text) = self.histogram.read() else { return Vec::new() };
        let now = histogram::parse(&text);
        let before = self.before.replace(now.clone());
        let Some(before) = before else { return Vec::new() };
        let increases = now.iter().filter_map(|(reason, count)| {
            let increase = count.saturating_sub(before.get(reason).copied().unwrap_or(0));
            Some((self.names.get(reason)?.as_str(), increase)).filter(|_| increase > 0)
        });
        table::findings(increases)
    }
}

/// Makes an instance, with a histogram.
fn start(root: &Path) -> io::Result<(Instance, ProcFile)> {
    let explain = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    instance::remove_leftovers(root);
    let instance = Instance::create(root).map_err(|error| explain(&root.join("instances"), error))?;
    let event = instance.path().join(EVENT);
    // No event is written to the buffer, which otherwise has 1.4 MB per CPU. Its size is no condition.
    let _ = std::fs::write(instance.path().join("buffer_size_kb"), "4");
    let trigger = event.join("trigger");
    // A file of tracefs exists; another one must not be created.
    let write = std::fs::OpenOptions::new().write(true).open(&trigger);
    write
        .and_then(|mut file| io::Write::write_all(&mut file, TRIGGER.as_bytes()))
        .map_err(|error| explain(&trigger, error))?;
    let histogram = ProcFile::open(event.join("hist"))?;
    Ok((instance, histogram))
}

#[cfg(test)]
mod tests {
    use super::{EVENT, Reasons};
    use std::fs;
    use std::path::PathBuf;

    fn sentence(mount_points: &[PathBuf]) -> (String, String) {
        let missing = Reasons::open_in(mount_points).expect_err("no tracefs");
        (missing.sentence, missing.remedy)
    }

    #[test]
    fn a_missing_tracefs_is_explained() {
        let (sentence, remedy) = sentence(&[PathBuf::from("/nonexistent")]);
        assert_eq!(
            sentence,
            "reasons of dropped packets cannot be read: tracefs is not mounted at /sys/kernel/tracing"
        );
        assert!(remedy.contains("mount -t tracefs"));
    }

    #[test]
    fn a_kernel_without_reasons_is_explained() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join(EVENT)).expect("directories");
        fs::write(root.path().join(EVENT).join("format"), "name: kfree_skb\nprint fmt: \"skbaddr=%p\"\n")
            .expect("a file");
        let (sentence, remedy) = sentence(&[root.path().to_owned()]);
        assert!(sentence.ends_with("this kernel drops packets without a reason"), "{sentence}");
        assert!(remedy.contains("5.17"));
    }

    #[test]
    fn a_kernel_without_histograms_is_explained_and_left_as_it_was() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join(EVENT)).expect("directories");
        fs::create_dir(root.path().join("instances")).expect("a directory");
        fs::write(root.path().join(EVENT).join("format"), super::format::SAMPLE).expect("a file");
        let (sentence, remedy) = sentence(&[root.path().to_owned()]);
        assert!(sentence.contains("no histograms") && remedy.contains("CONFIG_HIST_TRIGGERS"), "{sentence}");
    }
}
