//! Text of others in every field that enters the command, and every output looked at: none may act on a terminal, a browser or a
//! spreadsheet.

use crate::command::{brief, capture, gentle, names, text};
use crate::dns::{SERVER, with_answer};
use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A formula, escape sequences of C0 and C1, a bidirectional control, markup, and the end of a script.
const TEXT: &str = "=1+1\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}<img src=x onerror=alert(1)></script>";

/// Hostile text without a slash, for names of files.
const NAME: &str = "=1+1\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}<img src=x onerror=alert(1)>";

/// Marks of TEXT that must not appear anywhere as they are.
fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks what a command prints.
#[track_caller]
fn check(what: &str, output: &Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let printed = String::from_utf8(bytes.clone()).expect("text");
        let active: Vec<&str> = printed.lines().filter(|line| line.contains(acts)).collect();
        assert!(active.is_empty(), "{what}, {stream}: {active:?}");
    }
    // An abort or a panic has another code.
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)), "{what}: {code:?}");
}

/// Checks the files of a folder that a command has written: tables and pages.
#[track_caller]
fn check_files(what: &str, folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html") => {
                let page = fs::read_to_string(&path).unwrap();
                assert!(!page.contains("<img src=x"), "{what}: {path:?}");
            }
            Some("csv") => {
                let mut table = csv::ReaderBuilder::new().has_headers(false).from_path(&path).unwrap();
                for row in table.records() {
                    for cell in row.unwrap().iter() {
                        let formula =
                            cell.len() > 1 && cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
                        assert!(!formula && !cell.contains(acts), "{what}: {cell:?}");
                    }
                }
            }
            _ => {}
        }
    }
}

/// Folder for what a command writes, and its arguments for a table and a page.
fn outputs(folder: &Path) -> [String; 4] {
    let [csv, html] = ["out.csv", "out.html"].map(|name| folder.join(name));
    let _ = (fs::remove_file(&csv), fs::remove_file(&html));
    ["--csv", text(&csv), "--html", text(&html)].map(str::to_owned)
}

fn run(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

/// Option of a pcapng block.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn block(kind: u32, body: &[u8], options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut content = body.to_vec();
    content.resize(content.len().next_multiple_of(4), 0);
    for (code, value) in options {
        content.extend(option(*code, value));
    }
    if !options.is_empty() {
        content.extend([0; 4]);
    }
    let length = (content.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &content, &length].concat()
}

/// The packets of a pcap file as pcapng from two interfaces, with TEXT in every field for text.
fn hostile_capture(pcap: &Path) -> Vec<u8> {
    let bytes = fs::read(pcap).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(number(0), 0xa1b2_3c4d, "nanoseconds, little endian");
    let evil = TEXT.as_bytes();
    let version = [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    // Comment, hardware, operating system, application.
    let section = [(1, evil), (2, evil), (3, evil), (4, evil)];
    let mut out = block(0x0a0d_0d0a, &version, &section);
    for interface in 0..2_u8 {
        let link = [number(20).to_le_bytes(), 0_u32.to_le_bytes()].concat();
        let name = [evil, &[b'0' + interface]].concat();
        // Name, description, filter, operating system, hardware; time in nanoseconds.
        let facts = [(2, &name[..]), (3, evil), (9, &[9][..]), (11, evil), (12, evil), (15, evil), (1, evil)];
        out.extend(block(1, &link, &facts));
    }
    let mut name = [&[10, 0, 0, 1][..], evil, &[0]].concat();
    let record = [&1_u16.to_le_bytes()[..], &(name.len() as u16).to_le_bytes()].concat();
    name.resize(name.len().next_multiple_of(4), 0);
    out.extend(block(4, &[&record[..], &name, &[0; 4]].concat(), &[]));
    let mut at = 24;
    let mut interface = 0_u32;
    while at < bytes.len() {
        let [seconds, nanos, captured, length] = [0, 4, 8, 12].map(|offset| number(at + offset));
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        let head = [interface, (time >> 32) as u32, time as u32, captured, length];
        let head: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        let data = &bytes[at + 16..at + 16 + captured as usize];
        out.extend(block(6, &[&head[..], data].concat(), &[(1, evil)]));
        at += 16 + captured as usize;
        interface ^= 1;
    }
    // Statistics of an interface, with a comment.
    out.extend(block(5, &[0; 12], &[(1, evil)]));
    out
}

#[test]
fn captures() {
    let folder = TempDir::new().unwrap();
    let whole = folder.path().join(format!("{NAME}.pcapng"));
    let bytes = hostile_capture(&capture("netns/synack.span.pcap"));
    fs::write(&whole, &bytes).unwrap();
    let cut = folder.path().join(format!("cut {NAME}.pcapng"));
    fs::write(&cut, &bytes[..bytes.len() - 50]).unwrap();
    let missing = folder.path().join(format!("{NAME} missing"));
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let [html, connections, flows] =
        ["out.html", "connections.csv", "flows.csv"].map(|name| text(&out.join(name)).to_owned());
    let files = ["--html", &html, "--connections", &connections, "--flows", &flows];
    for more in [
        &[][..],
        &["--full"],
        &["--json"],
        &["--direction=interface", "--full"],
        &["--direction=interface", "--json"],
        &["--interface=none"],
        &["--strict"],
        &["--anonymize"],
        &[TEXT],
        &["--direction", TEXT],
        &["--rate", TEXT],
    ] {
        let output = run(gentle(&["analyze", text(&whole), text(&cut)]).args(files).args(more));
        check(&format!("analyze {more:?}"), &output);
        check_files(&format!("analyze {more:?}"), &out);
    }
    check("analyze", &run(&mut gentle(&["analyze", text(&missing)])));
    let per_file = gentle(&["analyze", "--per-file", text(&whole), text(&cut)]).output().unwrap();
    check("analyze --per-file", &per_file);
    let from = run(gentle(&["compare", "--from", text(&whole), "--rate=20mbit", "--quiet"]).args(outputs(&out)));
    check("compare --from", &from);
    check_files("compare --from", &out);
    let records = folder.path().join("records");
    let recorded = run(&mut gentle(&["analyze", "--record", text(&records), text(&whole), text(&cut)]));
    check("analyze --record", &recorded);
    for more in [&[][..], &["--json"], &["--html", &html]] {
        check("merge", &run(gentle(&["merge", text(&records)]).args(more)));
        check_files("merge", &out);
    }
}

/// Names in DNS answers are anybody's, and names in files may be.
#[test]
fn names_of_hosts() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("names.pcap");
    fs::write(&path, with_answer(&capture("formats/us.pcap"), &[TEXT.as_bytes()])).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let html = out.join("out.html");
    for more in [&[][..], &["--full"], &["--json"]] {
        let output = run(gentle(&["analyze", text(&path), "--html", text(&html)]).args(more));
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("owned"), "{output:?}");
        check(&format!("analyze {more:?}"), &output);
        check_files("analyze", &out);
    }
    let file = folder.path().join(NAME);
    let json = |name: &str| {
        let service =
            serde_json::json!({"kind": "Service", "metadata": {"name": name}, "spec": {"clusterIPs": [SERVER]}});
        serde_json::json!({ "items": [service] }).to_string()
    };
    for names in
        [format!("{SERVER} {NAME}\n"), format!("{TEXT}\n"), format!("{SERVER}/33 a\n"), json(TEXT), json(TEXT) + TEXT]
    {
        fs::write(&file, names).unwrap();
        for more in [&["--full"][..], &["--json"]] {
            let output =
                run(gentle(&["analyze", text(&path), "--names", text(&file), "--html", text(&html)]).args(more));
            check("analyze --names", &output);
            check_files("analyze --names", &out);
        }
    }
}

/// With `--anonymize`, nothing shows where a capture is from, nor which it is.
#[test]
fn anonymous_reports_have_no_names_and_no_checksums() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("home-of-alice");
    fs::create_dir(&place).unwrap();
    let path = place.join("office.pcapng");
    let bytes = hostile_capture(&capture("netns/synack.span.pcap"));
    fs::write(&path, &bytes).unwrap();
    let cut = place.join("office-cut.pcapng");
    fs::write(&cut, &bytes[..bytes.len() - 50]).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let record = |name: &str, more: &[&str]| {
        let records = folder.path().join(name);
        run(gentle(&["analyze", "--record", text(&records), text(&path), text(&cut)]).args(more));
        let made = names(&records);
        assert_eq!(made.len(), 2);
        let read = |name: &String| {
            let bytes = fs::read(records.join(name)).unwrap();
            String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap()
        };
        let texts: Vec<String> = made.iter().map(read).collect();
        (made, texts)
    };
    let secret = ["--anonymize=secret", "--direction=interface"];
    let (open_names, open) = record("open", &["--direction=interface"]);
    let (made, texts) = record("secret", &secret);
    assert_eq!(record("again", &secret).0, made);
    let (other, others) = record("other", &["--anonymize=other", "--direction=interface"]);
    // Digests of the open records, in hexadecimal, must be in none of the others.
    let digests: Vec<String> = open
        .iter()
        .flat_map(|text| text.split('"').map(str::to_owned))
        .filter(|word| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .collect();
    assert!(!digests.is_empty());
    let known = |text: &str| digests.iter().any(|digest| text.contains(&digest[..16]));
    for name in open_names.iter().chain(&other) {
        assert!(!made.contains(name), "{name} does not depend on the key");
    }
    let html = text(&out.join("out.html")).to_owned();
    let analyze = |more: &[&str]| {
        let args = ["analyze", "--html", &html, text(&path), text(&cut)];
        let output = run(gentle(&args).args(secret).args(more));
        let page = fs::read_to_string(&html).unwrap();
        [output.stdout, output.stderr, page.into_bytes()].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let shown = [analyze(&["--full"]), analyze(&["--json"])].concat();
    for text in texts.iter().chain(&others).chain(&shown) {
        for part in ["home-of", "office", "1+1", "owned", "img src", "secret"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        assert!(!known(text), "{text}");
    }
    assert!(shown[0].contains("capture 1") && shown[0].contains("capture 2"), "{}", shown[0]);
    let records = folder.path().join("secret");
    let merged = run(&mut gentle(&["merge", text(&records), "--json"]));
    let merged: Value = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!(merged["captures"][1]["path"], "capture 2");
}

const SCENARIO: &str = r#"
title = "A"
source = "B"
choices = ["C"]
duration = "3s"
schemes = ["pfifo limit=20"]
[hosts]
profile = "linux-7.2"
[link.down]
rate = "2mbit"
delay = "40ms"
[link.up]
rate = "2mbit"
delay = "40ms"
qdisc = "pfifo limit=50"
[[workload]]
kind = "poisson"
gap = "300ms"
size = { zipf = 1.7, max = 600 }
group = "D"
"#;

/// TEXT as a string of TOML.
fn quoted() -> String {
    let mut out = String::from("\"");
    for c in TEXT.chars() {
        match acts(c) {
            true => out += &format!("\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out + "\""
}

#[test]
fn scenarios() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let path = folder.path().join(format!("{NAME}.toml"));
    let mut accepted = 0;
    let mut cases = vec![("every text", SCENARIO.to_owned())];
    for (number, part) in SCENARIO.split('"').enumerate().filter(|(number, _)| number % 2 == 1) {
        let mut parts: Vec<String> = SCENARIO.split('"').map(str::to_owned).collect();
        parts[number] = quoted().trim_matches('"').to_owned();
        cases.push((part, parts.join("\"")));
    }
    for key in ["title", "profile", "rate", "kind", "zipf"] {
        cases.push((key, SCENARIO.replacen(key, &quoted(), 1)));
    }
    cases.push(("raw", SCENARIO.replacen("\"A\"", &format!("\"{TEXT}\""), 1)));
    cases.push(("raw key", format!("{TEXT} = 1\n{SCENARIO}")));
    for (what, scenario) in cases {
        fs::write(&path, scenario).unwrap();
        for more in [&[][..], &["--json"]] {
            let args = ["compare", "--traffic", text(&path), "--seeds=1", "--quiet", "--scheme=codel"];
            let output = run(gentle(&args).args(outputs(&out)).args(more));
            check(what, &output);
            check_files(what, &out);
            accepted += u32::from(output.status.success());
        }
    }
    // With the original: title, source and choices are free text.
    assert!(accepted >= 8, "{accepted}");
    for arguments in [["--scheme", TEXT], ["--traffic", TEXT], ["--rate", TEXT], ["--tcp", TEXT]] {
        check("arguments", &run(brief(&[]).args(arguments)));
    }
}

#[test]
fn flow_lists() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let path = folder.path().join(format!("{NAME}.csv"));
    for table in [
        format!("start_s,bytes,\"{TEXT}\"\n1,2,3\n"),
        format!("\"{TEXT}\"\n1\n"),
        format!("start_s,bytes\n1,\"{TEXT}\"\n"),
        format!("start_s,bytes,direction\n1,2,\"{TEXT}\"\n"),
        "start_s,bytes\n1,2000\n".to_owned(),
    ] {
        fs::write(&path, &table).unwrap();
        let args = ["compare", "--traffic", text(&path), "--rate=2mbit", "--seeds=1", "--scheme=codel", "--quiet"];
        check(&table, &run(gentle(&args).args(outputs(&out))));
        check_files(&table, &out);
    }
}

#[test]
fn grids() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(format!("{NAME}.toml"));
    let evil = quoted();
    for grid in [
        format!("traffic = \"short\"\nschemes = [\"codel\"]\nseeds = 1\n[[point]]\nlabels = {{ {evil} = \"a\" }}\n"),
        format!("traffic = \"short\"\nschemes = [\"codel\"]\nseeds = 1\n[[point]]\nlabels = {{ a = {evil} }}\n"),
        format!("traffic = \"short\"\nschemes = [\"codel\"]\nseeds = 1\n[axes]\n{evil} = [\"a\"]\n"),
        format!("traffic = \"short\"\nschemes = [\"codel\"]\nseeds = 1\n[axes]\nrate = [{evil}]\n"),
        format!("traffic = {evil}\nschemes = [\"codel\"]\n"),
        format!("traffic = \"short\"\nschemes = [{evil}]\n"),
        format!("{evil} = 1\n"),
        "traffic = \"short\"\nschemes = [\"codel\"]\nseeds = 1\n[[point]]\nlabels = { a = \"<b>\" }\nset = { duration = \"3s\" }\n".to_owned(),
    ] {
        fs::write(&path, &grid).unwrap();
        let csv = folder.path().join("out.csv");
        for more in [&["--csv", text(&csv)][..], &["--json"]] {
            let store = folder.path().join("store");
            let _ = fs::remove_dir_all(&store);
            check(&grid, &run(gentle(&["sweep", text(&path), "--quiet", "--store", text(&store)]).args(more)));
            check_files(&grid, folder.path());
        }
    }
}

/// Every text of a JSON value, each place of an object once, however many elements a list has.
fn places(value: &Value, path: String, found: &mut BTreeSet<(String, String)>, pointer: String) {
    match value {
        Value::String(_) if !found.iter().any(|(known, _)| *known == path) => {
            found.insert((path, pointer));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, format!("{path}[]"), found, format!("{pointer}/{index}"));
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                places(member, format!("{path}.{key}"), found, format!("{pointer}/{escaped}"));
            }
        }
        _ => {}
    }
}

/// Replaces each text of a record by TEXT and merges the record.
fn merged(folder: &Path, record: &Path, read: fn(&[u8]) -> Vec<u8>, written: fn(&[u8]) -> Vec<u8>) {
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    let json: Value = serde_json::from_slice(&read(&fs::read(record).unwrap())).unwrap();
    let mut found = BTreeSet::new();
    places(&json, String::new(), &mut found, String::new());
    assert!(found.len() > 5, "{found:?}");
    let mut accepted = 0;
    for (place, pointer) in &found {
        let mut changed = json.clone();
        *changed.pointer_mut(pointer).unwrap() = Value::from(TEXT);
        let path = folder.join(format!("{NAME}{}", ending(record)));
        fs::write(&path, written(changed.to_string().as_bytes())).unwrap();
        for more in [&["--json"][..], &["--html", text(&out.join("out.html"))]] {
            let output = run(gentle(&["merge", text(&path)]).args(more));
            check(place, &output);
            accepted += u32::from(output.status.success());
        }
        check_files(place, &out);
        fs::remove_file(path).unwrap();
    }
    assert!(accepted > 0, "no text of a record is free: {found:?}");
}

/// Ending of a record's name, from the first dot.
fn ending(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap();
    name[name.find('.').unwrap()..].to_owned()
}

#[test]
fn records() {
    let folder = TempDir::new().unwrap();
    let only = |directory: &Path| -> PathBuf { directory.join(&names(directory)[0]) };
    let analyses = folder.path().join("analyses");
    let path = capture("netns/synack.span.pcap");
    run(&mut gentle(&["analyze", "--record", text(&analyses), text(&path)]));
    let read = |bytes: &[u8]| zstd::decode_all(bytes).unwrap();
    let written = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    merged(folder.path(), &only(&analyses), read, written);
}
