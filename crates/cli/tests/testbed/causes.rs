//! Captures of handshakes with known causes, made on purpose by a kernel (`causes/make`).

use crate::kernel::{exec, kernel};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Every cause that `make` knows.
const CAUSES: [&str; 19] = [
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
    folder: TempDir,
    /// Variants in the order of seeds and causes, as `make` describes them: `cause`, `seed`, `parameters`, `captures`
    /// by point, `affected`, `handshakes`, and `lookups` by point.
    pub(crate) variants: Vec<Value>,
}

/// Points at which captures are made.
pub(crate) const POINTS: [&str; 3] = ["client", "router", "server"];

impl Truth {
    /// Capture of a variant at a point: `client`, `router`, `server`.
    fn capture(&self, variant: &Value, point: &str) -> PathBuf {
        self.folder.path().join(variant["captures"][point].as_str().unwrap())
    }

    /// Analysis of the capture of a variant at a point.
    pub(crate) fn analysis(&self, variant: &Value, point: &str) -> Value {
        let mut gentle = assert_cmd::Command::cargo_bin("gentle").unwrap();
        let output = gentle.args(["analyze", "--json"]).arg(self.capture(variant, point)).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    }
}

/// Makes variants of some causes in a machine for each seed; `None` where no kernel can be built.
pub(crate) fn make(seeds: &[u64], causes: &[&str]) -> Option<Truth> {
    kernel()?;
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
fn causes_are_made_and_found() {
    let Some(truth) = make(&[101, 102], &CAUSES) else { return };
    every_cause_affects_handshakes(&truth);
    let judged = judge(&truth);
    let wrong: u64 = judged.values().map(|judged| judged.wrong).sum();
    let all: u64 = judged.values().map(Judged::all).sum();
    assert!(all > 1_000 && wrong * 20 < all, "{wrong} of {all}\n{}", table(&judged));
    for cause in ["clean", "one-sided", "copies"] {
        assert_eq!(judged[cause].all(), 0, "{cause}\n{}", table(&judged));
    }
}

/// The table in `docs/concepts/accuracy.md`, from 30 seeds that served for nothing else.
#[test]
#[ignore = "make test-all"]
fn full_size_causes_are_those_of_the_documentation() {
    let seeds: Vec<u64> = (201..=230).collect();
    let Some(truth) = make(&seeds, &CAUSES) else { return };
    let judged = judge(&truth);
    let wrong: u64 = judged.values().map(|judged| judged.wrong).sum();
    let all: u64 = judged.values().map(Judged::all).sum();
    let table = table(&judged);
    assert!(wrong * 50 < all, "{wrong} of {all}\n{table}");
    document("causes", &table);
}

/// Compares a table with the one of this name in `docs/concepts/accuracy.md`, or writes it there.
pub(crate) fn document(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/accuracy.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let marker = format!("<!-- table: {name} -->\n");
    let (before, rest) = page.split_once(&marker).expect("a marker");
    let (known, after) = rest.split_once("<!-- end -->").expect("a marker");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{marker}{table}<!-- end -->{after}")).unwrap();
    } else {
        assert_eq!(known, table, "UPDATE_DOCS=1 writes the table");
    }
}

/// Asserts that less than 2 % of these `things` are wrong.
pub(crate) fn assert_few_wrong(things: &str, judged: &BTreeMap<String, Judged>) {
    let wrong: u64 = judged.values().map(|judged| judged.wrong).sum();
    let all: u64 = judged.values().map(Judged::all).sum();
    assert!(all > 20 && wrong * 50 < all, "{wrong} of {all}\n{}", table_of(things, judged));
}

/// Slow and failed attempts of the captures of one cause by the cause that `gentle analyze` names.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) right: u64,
    /// Of a cause that does not decide between several.
    pub(crate) uncertain: u64,
    pub(crate) wrong: u64,
    pub(crate) kinds: BTreeMap<String, u64>,
}

impl Judged {
    pub(crate) fn all(&self) -> u64 {
        self.right + self.uncertain + self.wrong
    }
}

/// Causes in results that are right for a cause of `make`. A capture cannot distinguish a radio link from a policer if both
/// lose packets in bursts, a full listen queue from other limits on new connections if it does not show that SYNs arrived, a
/// dead host from the router that reports it, or a client that resets a SYN/ACK from an untranslated address.
fn is_right(made: &str, kind: &str) -> bool {
    let kinds: &[&str] = match made {
        "random-loss" | "seen-twice" => &["random-loss", "burst-loss"],
        "congestion" => &["congestion"],
        "policer" => &["burst-loss"],
        "syn-limit" => &["new-connections-dropped", "dropped-in-part"],
        "listen-queue" => &["listen-queue", "new-connections-dropped", "dropped-in-part"],
        "deferred-accept" => &["deferred-accept", "listen-queue", "new-connections-dropped"],
        "filtered" => &["filtered", "dropped-in-part", "new-connections-dropped", "dead-host"],
        "dropped-options" => &["dropped-options"],
        "port-reuse" => &["port-reuse"],
        "nat-not-undone" => &["nat-not-undone", "reset-by-client"],
        "refused" => &["refused"],
        "rejected" => &["rejected"],
        "dead-host" => &["dead-host", "rejected"],
        "late-answer" => &["late-answer"],
        _ => &[],
    };
    kinds.contains(&kind)
}

/// Whether a cause does not decide. A lossy path loses some attempts altogether, and delays others.
fn is_uncertain(made: &str, kind: &str) -> bool {
    let is_lossy = matches!(made, "random-loss" | "seen-twice" | "congestion" | "policer");
    matches!(kind, "loss" | "loss-without-queue" | "deferred")
        || is_lossy && matches!(kind, "dropped-in-part" | "late-answer")
}

fn judge(truth: &Truth) -> BTreeMap<String, Judged> {
    let mut judged: BTreeMap<String, Judged> = BTreeMap::new();
    for variant in &truth.variants {
        let made = variant["cause"].as_str().unwrap();
        let of_cause = judged.entry(made.to_owned()).or_default();
        for point in POINTS {
            let analysis = truth.analysis(variant, point);
            for cause in analysis["causes"].as_array().unwrap() {
                let kind = cause["kind"].as_str().unwrap();
                let attempts = cause["group"]["attempts"].as_u64().unwrap();
                *of_cause.kinds.entry(kind.to_owned()).or_default() += attempts;
                *match (is_right(made, kind), is_uncertain(made, kind)) {
                    (true, _) => &mut of_cause.right,
                    (false, true) => &mut of_cause.uncertain,
                    (false, false) => &mut of_cause.wrong,
                } += attempts;
            }
        }
    }
    judged
}

fn table(judged: &BTreeMap<String, Judged>) -> String {
    table_of("attempts", judged)
}

/// Table of attempts or other things by the way in which they were made.
pub(crate) fn table_of(things: &str, judged: &BTreeMap<String, Judged>) -> String {
    let mut text =
        format!("| made | {things} | right | uncertain | wrong | named |\n| --- | --: | --: | --: | --: | --- |\n");
    let mut line = |name: &str, judged: &Judged| {
        let all = judged.all();
        let per_cent = |n: u64| match all {
            0 => "–".to_owned(),
            all => format!("{:.1} %", 100.0 * n as f64 / all as f64),
        };
        let mut kinds: Vec<_> = judged.kinds.iter().map(|(kind, n)| (std::cmp::Reverse(*n), kind)).collect();
        kinds.sort_unstable();
        let named: Vec<String> = kinds.iter().map(|(n, kind)| format!("{kind} {}", n.0)).collect();
        let shares = [judged.right, judged.uncertain, judged.wrong].map(per_cent).join(" | ");
        text += &format!("| {name} | {all} | {shares} | {} |\n", named.join(", "));
    };
    let mut sum = Judged::default();
    for (made, of_cause) in judged {
        line(made, of_cause);
        sum.right += of_cause.right;
        sum.uncertain += of_cause.uncertain;
        sum.wrong += of_cause.wrong;
    }
    line("all", &sum);
    text
}

fn every_cause_affects_handshakes(truth: &Truth) {
    assert_eq!(truth.variants.len() % CAUSES.len(), 0);
    for (variant, cause) in truth.variants.iter().zip(CAUSES.iter().copied().cycle()) {
        let name = format!("{cause}: {} {}", variant["parameters"], variant["results"]);
        assert_eq!(variant["cause"], cause, "{name}");
        let affected: Vec<&Value> =
            variant["handshakes"].as_array().unwrap().iter().filter(|handshake| handshake["cause"] == cause).collect();
        assert_eq!(affected.len() >= 3, cause != "clean", "{name}");
        for handshake in affected {
            assert!(happened(cause, handshake), "{name}: {handshake}");
        }
        for point in POINTS {
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
