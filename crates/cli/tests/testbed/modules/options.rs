//! Every option of every module: set, shown, changed, replaced, rejected, deleted.

use super::guest::{attempt, dummy, only_here, qdisc, refused, run};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use super::table::{MODULES, Module};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_option_is_set_shown_changed_and_refused() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::options::within");
    let settings = |module: &Module| module.settings.len() + module.fixed.len();
    let settings: usize = MODULES.iter().map(settings).sum();
    let refused: usize = MODULES.iter().map(|module| module.refused.len()).sum();
    assert_eq!(number(&printed, "settings"), settings as u64);
    assert_eq!(number(&printed, "refused"), refused as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    dummy("d0");
    let (mut settings, mut refusals) = (0, 0);
    for module in &MODULES {
        settings += every_setting(module);
        refusals += every_refusal(module);
        replaced_and_deleted(module);
        statistics(module);
    }
    println!("settings: {settings}");
    println!("refused: {refusals}");
}

/// Options without those that the kernel changes over time: the adaptive redfavor changes its drop probability every
/// half second, which may pass while a machine in real time runs `tc`.
fn steady(mut options: Value) -> Value {
    if options["adaptive"] == true
        && let Some(options) = options.as_object_mut()
    {
        options.remove("probability");
    }
    options
}

/// Steady options of the qdisc of this kind.
fn options(dev: &str, kind: &str) -> Value {
    steady(super::guest::options(dev, kind))
}

/// Tests every setting of a module; returns their number.
fn every_setting(module: &Module) -> usize {
    let kind = module.kind;
    let shown = || options("d0", kind);
    for setting in module.settings {
        let words = setting.words;
        run(&format!("tc qdisc add dev d0 root handle 1: {kind} {words}"));
        assert_eq!(shown(), steady(module.added(setting)), "add {kind} {words}");
        run(&format!("tc qdisc replace dev d0 root handle 2: {kind}"));
        run(&format!("tc qdisc change dev d0 root {kind} {words}"));
        assert_eq!(shown(), steady(module.changed(setting)), "change {kind} {words}");
        run("tc qdisc del dev d0 root");
    }
    for setting in module.fixed {
        let words = setting.words;
        run(&format!("tc qdisc add dev d0 root handle 1: {kind}"));
        refused(&format!("tc qdisc change dev d0 root {kind} {words}"), "");
        assert_eq!(shown(), module.with_defaults(), "change {kind} {words}");
        run(&format!("tc qdisc replace dev d0 root handle 2: {kind} {words}"));
        assert_eq!(shown(), module.added(setting), "replace {kind} {words}");
        run("tc qdisc del dev d0 root");
    }
    module.settings.len() + module.fixed.len()
}

/// Replaces a qdisc under its own and another handle, and deletes it.
fn replaced_and_deleted(module: &Module) {
    let kind = module.kind;
    let setting = module.settings.last().expect("settings");
    let words = setting.words;
    run(&format!("tc qdisc add dev d0 root handle 1: {kind} {words}"));
    run(&format!("tc qdisc change dev d0 root {kind}"));
    assert_eq!(options("d0", kind), steady(module.added(setting)), "nothing changed");
    refused(&format!("tc qdisc add dev d0 root {kind}"), "");
    // A new handle creates a new qdisc.
    run(&format!("tc qdisc replace dev d0 root handle 2: {kind}"));
    assert_eq!(options("d0", kind), module.with_defaults(), "a new {kind}");
    // With the present handle, replacing is changing.
    run(&format!("tc qdisc replace dev d0 root handle 2: {kind} {words}"));
    let shown = qdisc("d0", kind).expect("it is there");
    assert_eq!(steady(shown["options"].clone()), steady(module.changed(setting)));
    assert_eq!(shown["handle"], "2:");
    run("tc qdisc del dev d0 root");
    assert_eq!(qdisc("d0", kind), None, "{kind}: deleted");
}

/// Tests that every rejected command leaves the qdisc unchanged; returns their number.
fn every_refusal(module: &Module) -> usize {
    let kind = module.kind;
    for (words, said) in module.refused {
        refused(&format!("tc qdisc add dev d0 root {kind} {words}"), said);
    }
    assert_eq!(qdisc("d0", kind), None, "{kind}: none was added");
    run(&format!("tc qdisc add dev d0 root handle 1: {kind}"));
    for (words, said) in module.refused {
        refused(&format!("tc qdisc change dev d0 root {kind} {words}"), said);
    }
    assert_eq!(options("d0", kind), module.with_defaults(), "{kind}: changed");
    run("tc qdisc del dev d0 root");
    let help = attempt(&format!("tc qdisc add dev d0 root {kind} help"));
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    assert!(help.contains(&format!("Usage: ... {kind} ")), "{help}");
    module.refused.len()
}

fn statistics(module: &Module) {
    let kind = module.kind;
    run("tc qdisc add dev d0 root handle 10: tbf rate 100kbit burst 2000 limit 10000000");
    run(&format!("tc qdisc add dev d0 parent 10:1 handle 1: {kind}"));
    let mut sender = Sender::new("d0");
    for packet in [packets::syn(), packets::data(1400), packets::fin()] {
        for _ in 0..50 {
            sender.send(&packet);
        }
    }
    let shown = qdisc("d0", kind).expect("it is there");
    let mut names = BTreeSet::new();
    collect("", &shown, &mut names);
    for every in COMMON {
        assert!(names.remove(every), "{kind}: no {every} in {shown}");
    }
    let expected: BTreeSet<String> = module.statistics.iter().map(|&name| name.into()).collect();
    assert_eq!(names, expected, "{kind}");
    let count = |name: &str| shown[name].as_u64().expect("a number");
    let away = count("packets") + count("drops") + count("qlen");
    // A packet peeked at by the parent counts as sent, as in Linux's own qdiscs.
    assert!((150..=151).contains(&away), "{kind}: {shown}");
    assert!(count("backlog") > 0);
    assert!(run("tc -s qdisc show dev d0").contains(kind));
    run("tc qdisc del dev d0 root");
}

/// Fields that `tc` shows of every qdisc.
const COMMON: [&str; 9] = ["kind", "handle", "parent", "bytes", "packets", "drops", "overlimits", "backlog", "qlen"];

/// Collects the names of all values except the options.
fn collect(prefix: &str, value: &Value, names: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().expect("an object") {
        match value {
            Value::Object(_) if prefix.is_empty() && name == "options" => {}
            Value::Object(_) => collect(&format!("{prefix}{name}."), value, names),
            // Fields that depend on the state of CoDel, or are common to all qdiscs but not shown by every tc.
            _ if name == "drop_next" || name == "requeues" => {}
            _ => {
                names.insert(format!("{prefix}{name}"));
            }
        }
    }
}
