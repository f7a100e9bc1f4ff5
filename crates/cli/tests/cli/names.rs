//! Names of hosts: from DNS answers in captures, and of `--names`.

use crate::command::{capture, gentle, names, stderr, stdout, text};
use crate::dns::{SERVER, with_answer};
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with a capture in which a DNS answer names the server.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcap");
    fs::write(&path, with_answer(&capture("formats/us.pcap"), &[b"Shop", b"example"])).unwrap();
    (folder, path)
}

fn analyze(path: &Path, more: &[&str]) -> Command {
    let mut command = gentle(&["analyze", "--quiet", text(path)]);
    command.args(more);
    command
}

fn json(command: &mut Command) -> Value {
    serde_json::from_str(&stdout(command.arg("--json"))).expect("JSON")
}

#[test]
fn reports_have_names_with_the_addresses() {
    let (folder, path) = folder();
    let file = folder.path().join("sites.txt");
    fs::write(&file, "2001:db8:2::/48 lab\n198.18.0.0/16 sites # all\n198.18.1.2 laptop pc\n").unwrap();
    let page = folder.path().join("page.html");
    let report = stdout(&mut analyze(&path, &["--html", text(&page)]));
    for shown in [&report, &fs::read_to_string(&page).unwrap()] {
        assert!(shown.contains("shop.example (198.18.2.2:5004)") && !shown.contains("Shop"), "{shown}");
    }
    let report = stdout(&mut analyze(&path, &["--full", "--names", text(&file)]));
    let shown = report.split("\n\n").filter(|section| section.contains("sites") || section.contains("lab"));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n\n"));
    let found = json(&mut analyze(&path, &["--names", text(&file)]));
    let expected = serde_json::json!({
        "198.18.1.2": "laptop", "198.18.2.2": "sites", "198.18.2.0/24": "sites",
        "2001:db8:2::2": "lab", "2001:db8:2::/48": "lab",
    });
    assert_eq!(found["names"], expected);
    let after = folder.path().join("after.pcap");
    fs::copy(&path, &after).unwrap();
    let both = json(&mut analyze(&path, &["--against", text(&after)]));
    assert_eq!([&both["before"]["names"], &both["after"]["names"]], [&serde_json::json!({SERVER: "shop.example"}); 2]);
}

#[test]
fn kubernetes_names_come_from_a_file_or_standard_input() {
    let (folder, path) = folder();
    let service = |name: &str| {
        let service = serde_json::json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"clusterIPs": [SERVER, "2001:db8:2::2"]}, "status": {"loadBalancer": {}},
        });
        serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [service], "metadata": {}}).to_string()
    };
    let file = folder.path().join("cluster.json");
    fs::write(&file, service("cart")).unwrap();
    let of =
        |found: &Value| [SERVER, "2001:db8:2::2"].map(|address| found["names"][address].as_str().map(str::to_owned));
    let cart = Some("shop/cart".to_owned());
    let names = ["--names", text(&file)];
    assert_eq!(of(&json(&mut analyze(&path, &names))), [cart.clone(), cart.clone()]);
    let mut command = analyze(&path, &["--names", "-"]);
    assert_eq!(of(&json(command.write_stdin(service("cart")))), [cart.clone(), cart.clone()]);
    // A line precedes, whatever the order.
    let lines = format!("{SERVER} mine\n");
    assert_eq!(
        of(&json(analyze(&path, &names).args(["--names", "-"]).write_stdin(lines))),
        [Some("mine".to_owned()), cart]
    );
}

#[test]
fn a_wrong_file_is_named_with_its_line() {
    let (folder, path) = folder();
    let file = folder.path().join("names.txt");
    let error = |content: &str| {
        fs::write(&file, content).unwrap();
        stderr(&mut analyze(&path, &["--names", text(&file)]), 1).replace(text(&file), "FILE")
    };
    assert_eq!(
        error("192.0.2.1 a\nwww.example 192.0.2.2\n"),
        "error: FILE: line 2: \"www.example\" is neither a prefix nor an address; expected PREFIX NAME, such as \
         192.0.2.0/24 office or 2001:db8::7 www.example\n"
    );
    let yaml = error("apiVersion: v1\nitems:\n");
    assert!(yaml.contains("FILE: line 1: \"apiVersion:\" is neither"), "{yaml}");
    let wrong = error("{\"kind\": \"List\"}");
    assert!(
        wrong.contains("FILE: missing field `items` at line 1") && wrong.contains("kubectl get services"),
        "{wrong}"
    );
    let binary = error("\0");
    assert!(binary.contains("it is not text in UTF-8"), "{binary}");
    let missing = stderr(&mut analyze(&path, &["--names", "none.txt"]), 1);
    assert!(missing.starts_with("error: none.txt: cannot be read"), "{missing}");
    for (more, problem) in [
        (&["--names", "-", "--names", "-"][..], "- is given twice"),
        (&["--names", text(&path)], "is given twice"),
        (&["--names", "none.txt", "--anonymize"], "cannot be used with"),
    ] {
        let error = stderr(&mut analyze(&path, more), 2);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn records_have_names_unless_addresses_are_replaced() {
    let (folder, path) = folder();
    let [named, anonymous] = ["named", "anonymous"].map(|name| folder.path().join(name));
    let recorded = json(&mut analyze(&path, &["--record", text(&named)]));
    let of_merge = |more: &[&str]| json(gentle(&["merge", text(&named)]).args(more));
    let shop = serde_json::json!({SERVER: "shop.example"});
    assert_eq!((&recorded["names"], &of_merge(&[])["names"]), (&shop, &shop));
    let file = folder.path().join("names.txt");
    fs::write(&file, format!("{SERVER} mine\n")).unwrap();
    assert_eq!(of_merge(&["--names", text(&file)])["names"][SERVER], "mine");
    assert_eq!(json(&mut analyze(&path, &["--record", text(&named), "--names", text(&file)]))["names"][SERVER], "mine");

    let replaced = stdout(&mut analyze(&path, &["--record", text(&anonymous), "--anonymize=a", "--json"]));
    let [record] = names(&anonymous).try_into().expect("one record");
    let record = zstd::decode_all(&fs::read(anonymous.join(record)).unwrap()[..]).unwrap();
    for shown in [replaced, String::from_utf8(record).unwrap(), stdout(&mut analyze(&path, &["--anonymize", "--full"]))]
    {
        assert!(!shown.contains("shop") && !shown.contains(SERVER), "{shown}");
    }
}
