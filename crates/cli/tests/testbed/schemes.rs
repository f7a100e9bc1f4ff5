//! Schemes that Linux lacks, with gentle's own kernel modules: their effects on real connections.

use crate::kernel::kernel;
use crate::run::{gentle, number};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Option for the modules of this source tree, wherever the program was built.
fn modules() -> String {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    format!("--modules={}", kernel.display())
}

fn compare(arguments: &[&str]) -> Value {
    let modules = modules();
    let common = ["testbed", "compare", "--quiet", "--threads=2", &modules];
    gentle(&[&common, arguments].concat())
}

fn result<'a>(results: &'a Value, label: &str) -> &'a Value {
    let results = results["results"].as_array().unwrap();
    let found = results.iter().find(|result| result["label"] == label);
    found.unwrap_or_else(|| panic!("no {label} among {}", results.len()))
}

fn assumptions(results: &Value) -> String {
    results["scenario"]["choices"].to_string()
}

#[test]
fn modules_are_used_where_they_are_and_stock_parts_where_not() {
    if kernel().is_none() {
        return;
    }
    let run = |more: &[&str]| {
        let schemes = ["--scheme=spa", "--scheme=gsp", "--scheme=gentle", "--scheme=redfavor"];
        let arguments = ["--duration=10s", "--seeds=1"];
        compare(&[&arguments[..], &schemes, more].concat())
    };
    let native = run(&[]);
    for scheme in ["spa", "gsp", "gentle", "redfavor"] {
        let result = result(&native, scheme);
        assert!(number(result, "/completed") > 50.0, "{scheme}");
        assert_eq!(result["completed"], result["connections"], "{scheme}");
    }
    let said = assumptions(&native);
    assert!(said.contains("own kernel modules: gentle, gsp, redfavor, spa"), "{said}");
    // Only gsp among these schemes drops packets for this reason.
    let drops = result(&native, "gsp").pointer("/drops").unwrap();
    assert!(number(drops, "/early") > 0.0, "{drops}");
    let stock = run(&["--backing=stock"]);
    assert_eq!(stock["results"].as_array().unwrap().len(), 2);
    let drops = result(&stock, "gentle").pointer("/drops").unwrap();
    assert!(number(drops, "/aqm") > 0.0, "{drops}");
    let said = assumptions(&stock);
    assert!(said.contains("from stock parts of Linux"), "{said}");
    assert!(said.contains("is set up as 'fq_codel'"), "{said}");
    assert!(said.contains("Not run: gsp"), "{said}");
}

/// More long flows than FQ-CoDel finds queues for without collisions.
const MANY: &str = r#"
duration = "12s"
warmup = "4s"
drain = "1s"
[link.down]
rate = "50mbit"
delay = "10ms"
[link.up]
rate = "50mbit"
delay = "10ms"
[[workload]]
kind = "long"
flows = 250
start = ["0s", "1s"]
"#;

#[test]
fn many_long_flows_share_the_link_under_gentle_as_under_fq_codel() {
    if kernel().is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("many.toml");
    std::fs::write(&file, MANY).unwrap();
    let traffic = format!("--traffic={}", file.display());
    let kernel = compare(&[&traffic, "--seeds=3", "--scheme=gentle", "--scheme=fq_codel"]);
    // Which flows share a queue is chance; a flow that starves others leaves 0.2.
    let jain = |label: &str| number(result(&kernel, label), "/jain_index");
    let (gentle, fq_codel) = (jain("gentle"), jain("fq_codel"));
    assert!(gentle >= 0.92 * fq_codel, "{gentle} and {fq_codel}");
}

/// Four established connections, and a flood of SYNs that fills the link by itself.
const FLOOD: &str = r#"
duration = "12s"
warmup = "4s"
drain = "5s"
[link.down]
rate = "2.4mbit"
delay = "42ms"
[link.up]
rate = "400kbit"
delay = "52ms"
[[workload]]
kind = "long"
flows = 4
start = ["0s", "500ms"]
[[workload]]
kind = "syn_flood"
rate = "2mbit"
start = "3s"
"#;

#[test]
fn a_flood_of_syns_cannot_starve_data_while_priority_has_a_bound() {
    if kernel().is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("flood.toml");
    std::fs::write(&file, FLOOD).unwrap();
    let traffic = format!("--traffic={}", file.display());
    let arguments = [&traffic, "--seeds=1", "--scheme=spa", "--scheme=spa share=100"];
    let kernel = compare(&arguments);
    let simulator = gentle(&[&["compare", "--quiet"], &arguments[..]].concat());
    let goodput = |results: &Value, label: &str| number(result(results, label), "/long_goodput_bps/mean") / 2.4e6;
    for results in [&kernel, &simulator] {
        let bounded = goodput(results, "spa");
        let unbounded = goodput(results, "spa share=100");
        assert!(bounded > 0.2 && unbounded < 0.1, "{bounded} {unbounded}");
    }
    let off = goodput(&simulator, "spa") - goodput(&kernel, "spa");
    assert!(off.abs() < 0.05, "{off}");
    // The offered packets are the same, whatever their fate.
    let offered = |results| number(result(results, "spa share=100"), "/links/down/offered");
    let off = offered(&kernel) / offered(&simulator) - 1.0;
    assert!(off.abs() < 0.01, "{off}");
}

/// If a FIN overtakes its own data, the data is taken for lost (docs/research/papers/spa-2018.md).
#[test]
#[ignore = "make test-all"]
fn full_size_a_fin_that_overtakes_its_data_has_it_sent_again() {
    if kernel().is_none() {
        return;
    }
    let schemes = ["spa", "spa fin=priority"];
    let schemes = schemes.map(|scheme| format!("--scheme={scheme}"));
    let mut arguments = vec!["--traffic=short", "--duration=30s", "--seeds=1"];
    arguments.extend(schemes.iter().map(String::as_str));
    let results = compare(&arguments);
    let again = |label: &str| number(result(&results, label), "/retransmission/packet_probability");
    let (none, priority) = (again("spa"), again("spa fin=priority"));
    assert!(priority > 1.5 * none, "{priority} {none}");
    let response = |label: &str| number(result(&results, label), "/response_time_s/mean");
    assert!(response("spa fin=priority") > 1.5 * response("spa"));
}
