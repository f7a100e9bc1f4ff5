//! Schemes that Linux does not have, as gentle's own kernel modules: what they do to real connections.

use crate::kernel::kernel;
use crate::run::{gentle, number};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// The modules of this tree, wherever the program was built.
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

fn choices(results: &Value) -> String {
    results["scenario"]["choices"].to_string()
}

#[test]
fn modules_are_used_where_they_are_and_stock_parts_where_not() {
    if kernel().is_none() {
        return;
    }
    let run = |more: &[&str]| {
        let schemes = ["--scheme=spa", "--scheme=gsp", "--scheme=redfavor"];
        let arguments = ["--duration=10s", "--seeds=1"];
        compare(&[&arguments[..], &schemes, more].concat())
    };
    let native = run(&[]);
    for scheme in ["spa", "gsp", "redfavor"] {
        let result = result(&native, scheme);
        assert!(number(result, "/completed") > 50.0, "{scheme}");
        assert_eq!(result["completed"], result["connections"], "{scheme}");
    }
    let said = choices(&native);
    assert!(
        said.contains("own kernel modules: gsp, redfavor, spa"),
        "{said}"
    );
    // Of the reasons for which it drops packets, gsp has one that no other scheme here has.
    let drops = result(&native, "gsp").pointer("/drops").unwrap();
    assert!(number(drops, "/early") > 0.0, "{drops}");
    let stock = run(&["--backing=stock"]);
    assert_eq!(stock["results"].as_array().unwrap().len(), 1);
    let said = choices(&stock);
    assert!(said.contains("from stock parts of Linux"), "{said}");
    assert!(said.contains("Not run: gsp"), "{said}");
}
