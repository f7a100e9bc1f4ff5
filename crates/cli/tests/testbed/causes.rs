//! Captures of handshakes with known causes, made on purpose by a kernel (`causes/make`).

use crate::kernel::{exec, kernel};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Every cause that `make` knows.
pub(crate) const CAUSES: [&str; 19] = [
    "clean",
    "random-loss",
    "congestion",
    "policer",
    "syn-limit",
    "listen-queue",
    "deferred-accept",
    "filtered",
    "dropped-options",
    "port-reuse",
    "nat-not-undone",
    "seen-twice",
    "refused",
    "rejected",
    "dead-host",
    "late-answer",
    "dns",
    "one-sided",
    "copies",
];

/// Captures in a temporary directory, and what happened in them.
pub(crate) struct Truth {
    /// Directory of the captures.
    pub(crate) folder: TempDir,
    /// Variants in the order of seeds and causes, as `make` describes them: `cause`, `seed`, `parameters`, `captures`
    /// by point, `affected`, and `handshakes`.
    pub(crate) variants: Vec<Value>,
}

impl Truth {
    /// Capture of a variant at a point: `client`, `router`, `server`.
    pub(crate) fn capture(&self, variant: &Value, point: &str) -> PathBuf {
        self.folder.path().join(variant["captures"][point].as_str().unwrap())
    }
}

/// Makes variants of some causes in a machine for each seed; `None` if there is no kernel or no program that it needs.
pub(crate) fn make(seeds: &[u64], causes: &[&str]) -> Option<Truth> {
    kernel()?;
    for program in ["python3", "ip", "tc", "nft", "tar"] {
        let found = std::env::split_paths(&std::env::var_os("PATH")?)
            .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
            .any(|folder| folder.join(program).exists());
        if !found {
            eprintln!("skipped: no program {program}");
            return None;
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed/causes/make");
    let folder = TempDir::new().unwrap();
    let mut variants = Vec::new();
    for seed in seeds {
        let seed = seed.to_string();
        let mut program = vec!["python3", script.to_str().unwrap(), &seed];
        program.extend(causes);
        let output = exec(&[], &program).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        unpack(&output.stdout, folder.path());
        let truth = std::fs::read(folder.path().join("truth.json")).unwrap();
        variants.extend(serde_json::from_slice::<Vec<Value>>(&truth).unwrap());
    }
    Some(Truth { folder, variants })
}

fn unpack(archive: &[u8], folder: &Path) {
    let mut tar = Command::new("tar").arg("-xC").arg(folder).stdin(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(archive).unwrap();
    assert!(tar.wait().unwrap().success());
}

#[test]
fn every_cause_affects_handshakes() {
    let Some(truth) = make(&[1], &CAUSES) else { return };
    assert_eq!(truth.variants.len(), CAUSES.len());
    for (variant, cause) in truth.variants.iter().zip(CAUSES) {
        let name = format!("{cause}: {} {}", variant["parameters"], variant["results"]);
        assert_eq!(variant["cause"], cause, "{name}");
        let affected: Vec<&Value> =
            variant["handshakes"].as_array().unwrap().iter().filter(|handshake| handshake["cause"] == cause).collect();
        assert_eq!(affected.len() >= 3, cause != "clean", "{name}");
        for handshake in affected {
            assert!(happened(cause, handshake), "{name}: {handshake}");
        }
        for point in ["client", "router", "server"] {
            assert!(truth.capture(variant, point).metadata().unwrap().len() > 1000, "{name}");
        }
    }
}

/// Whether the facts of an affected handshake are those of its cause.
fn happened(cause: &str, handshake: &Value) -> bool {
    let count = |name: &str| handshake[name].as_u64().unwrap();
    let established = handshake["established"].as_bool().unwrap();
    let some = |name: &str| !handshake[name].as_array().unwrap().is_empty();
    match cause {
        "random-loss" | "congestion" | "policer" | "seen-twice" => {
            count("syns_lost") + count("syn_acks_lost") + count("acks_lost") > 0
        }
        "syn-limit" | "filtered" => count("syns_lost") + count("syn_acks_lost") > 0,
        "dropped-options" => count("syns_lost") > 0,
        "listen-queue" => count("syns_lost") + count("syn_acks_lost") == 0,
        "deferred-accept" => count("syn_acks_after_ack") > 0 && established,
        "port-reuse" => count("challenges") + count("old_syn_acks") > 0,
        "nat-not-undone" => some("answered_by") && !established,
        "refused" => count("resets") > 0 && !established,
        "rejected" => some("icmp") && !established,
        "dead-host" => count("syn_acks") == 0 && !established,
        "late-answer" => count("syns") > 1 && count("syns_lost") == 0,
        "dns" => count("dns_queries") > 1 && count("syns") == 1,
        "one-sided" | "copies" => count("syns") == 1 && established,
        _ => false,
    }
}
