//! Output of `--json`, validated against `gentle schema`.

use crate::command::{among_captures, brief, gentle, stdout};
use jsonschema::Validator;
use serde_json::Value;

fn schema(of: &str) -> Value {
    serde_json::from_str(&stdout(&mut gentle(&["schema", of]))).expect("JSON")
}

#[track_caller]
fn valid(validator: &Validator, json: &str) {
    let json: Value = serde_json::from_str(json).expect("JSON");
    let errors: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Validator that requires every field, so that missing fields and changed types are detected.
fn validator(of: &str) -> Validator {
    let schema = schema(of);
    let required = schema["required"].as_array().expect("required fields");
    assert!(required.contains(&"version".into()), "{required:?}");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(!validator.is_valid(&serde_json::json!({})));
    validator
}

#[test]
fn comparisons_are_as_the_schema_says() {
    let validator = validator("compare");
    valid(&validator, &stdout(&mut brief(&["--json"])));
    // Without losses and without an interval, fields are null.
    let calm = ["--json", "--seeds=1", "--rate=10gbit", "--up-rate=10gbit"];
    valid(&validator, &stdout(&mut brief(&calm)));
    let sim = ["sim", "10m", "--duration=2s", "--json", "--quiet"];
    valid(&validator, &stdout(&mut gentle(&sim)));
}

#[test]
fn predictions_are_as_the_schema_says() {
    let validator = validator("model");
    valid(&validator, &stdout(&mut gentle(&["model", "--json"])));
    // Without loss, throughput is null.
    let clean = ["model", "--json", "--loss=0"];
    valid(&validator, &stdout(&mut gentle(&clean)));
}

#[test]
fn sweeps_are_as_the_schema_says() {
    let folder = tempfile::TempDir::new().unwrap();
    let grid = "schemes = [\"codel\"]\nseeds = 1\n[axes]\nduration = \"2s\"\n";
    std::fs::write(folder.path().join("grid.toml"), grid).unwrap();
    let mut sweep = gentle(&["sweep", "grid.toml", "--store=x", "--json"]);
    valid(
        &validator("sweep"),
        &stdout(sweep.current_dir(folder.path())),
    );
}

#[test]
fn reproductions_are_as_the_schema_says() {
    let validator = validator("reproduce");
    for part in [&["spa-2018", "fig3"], &["redfavor-2012", "table2"]] {
        let args = [&["reproduce", "--quick", "--quiet", "--json"], &part[..]].concat();
        valid(&validator, &stdout(&mut gentle(&args)));
    }
}

#[test]
fn analyses_are_as_the_schema_says() {
    let validator = validator("analyze");
    let folder = tempfile::TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    let flows = format!("--flows={}", flows.display());
    for args in [
        &["formats/us.pcap"][..],
        &[
            "netns/syn.router.pcap",
            "--local=10.0.0.0/8",
            "--rate=1mbit",
        ],
        &[
            "other/sctp.pcap",
            "other/dccp.pcap",
            "other/quic-plain.pcap",
        ],
        &["netns/syn-synack.client.pcap", flows.as_str()],
        &["netns/synack.span.pcap", "--anonymize=secret"],
    ] {
        let mut command = among_captures(&["analyze", "--json"]);
        valid(&validator, &stdout(command.args(args)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn schemas_of_linux_say_what_is_in_them() {
    for (of, field) in [("testbed-check", "rows"), ("qdisc-show", "qdiscs")] {
        let schema = schema(of);
        assert!(schema["properties"][field].is_object(), "{of}: {schema}");
        jsonschema::validator_for(&schema).expect("a schema");
    }
}
