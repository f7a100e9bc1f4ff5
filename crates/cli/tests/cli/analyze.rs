//! Command `gentle analyze` on small captures: options, files, error messages.

use crate::command::{among_captures, capture, gentle, stderr, stdout, text};
use crate::tunnel::tunnelled;
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Capture of seven connections, five of which lost a handshake packet.
const CAPTURE: &str = "formats/us.pcap";
/// Compressed form of the same capture.
const COMPRESSED: &str = "formats/ns.pcap.zst";
/// Form of the same capture with a damaged record in the middle.
const DAMAGED: &str = "formats/damaged.pcap";

fn analyze(args: &[&str]) -> Command {
    let mut command = among_captures(&["analyze"]);
    command.args(args);
    command
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(analyze(&["--json"]).args(args))).expect("JSON")
}

#[test]
fn the_headline_comes_first_and_full_adds_every_table() {
    let report = stdout(&mut analyze(&[CAPTURE]));
    let full = stdout(&mut analyze(&[CAPTURE, "--full"]));
    let found = json(&[CAPTURE]);
    let verdict = found["verdict"].as_array().unwrap();
    let verdict: Vec<&str> = verdict.iter().filter_map(Value::as_str).collect();
    for report in [&report, &full] {
        let headline = report.lines().next().unwrap();
        assert!(headline.starts_with(verdict[0]) && verdict.join(" ").starts_with(headline), "{report}");
        let verdict = verdict.join(" ");
        let rest = verdict[headline.len()..].trim_start();
        assert!(report.trim_end().lines().last().unwrap().ends_with(rest), "{report}");
        let steps = report.lines().filter_map(|line| line.strip_prefix("Next: "));
        assert_eq!(
            steps.collect::<Vec<&str>>(),
            found["next_steps"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>()
        );
    }
    assert!(verdict[0].contains("lost a SYN or SYN/ACK"), "{verdict:?}");
    assert!(report.lines().count() <= 38, "{report}");
    assert!(full.contains("\nTCP handshakes\n"), "{full}");
    assert!(!report.contains("\nTCP handshakes\n"), "{report}");
    assert!(!report.contains('\x1b'), "{report}");
    assert_eq!(found["version"], 4);
    assert_eq!(found["handshakes"]["attempts"], 7);
    assert_eq!(found["handshakes"]["attempts_with_retransmission"], 5);
    assert_eq!(found["outcomes"]["with_loss"], 5);
    assert_eq!(found["captures"][0]["path"], CAPTURE);
    assert!(found.get("flows").is_none(), "only with --flows");
}

/// Wireshark's interpretation of the filters: each shows retransmitted SYNs and SYN/ACKs, and none of another's.
#[test]
fn display_filters_show_what_was_sent_again() {
    let report = stdout(analyze(&["--full", CAPTURE]).env_remove("COLUMNS"));
    let servers = report.split("\n  client ").next().unwrap();
    let filters: Vec<&str> = servers
        .lines()
        .filter_map(|line| {
            let at = line.find("ip.addr ==").or_else(|| line.find("ipv6.addr =="))?;
            Some(line[at..].trim())
        })
        .collect();
    assert!(filters.len() >= 4, "{report}");
    let mut shown = 0;
    for filter in filters {
        let output = std::process::Command::new("tshark")
            .arg("-r")
            .arg(capture(CAPTURE))
            .args(["-Y", filter, "-T", "fields", "-e", "tcp.flags.syn"])
            .output()
            .expect("tshark runs; scripts/bootstrap test installs it");
        let frames = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{filter}");
        assert!(frames.lines().all(|syn| syn == "1" || syn == "True"));
        assert!(frames.lines().count() > 0, "{filter} shows nothing");
        shown += frames.lines().count();
    }
    let found = json(&[CAPTURE]);
    let again = ["duplicate_syn", "duplicate_synack"];
    let again = again.map(|kind| found["handshakes"][kind].as_u64().unwrap() as usize);
    assert!(shown <= again.iter().sum(), "{shown} of {again:?}");
}

#[test]
fn options_reach_the_analysis() {
    let found = json(&[
        CAPTURE,
        "--local=198.18.1.2",
        "--local=2001:db8:1::/64",
        "--rate=10mbit",
        "--vantage=server",
        "--idle-timeout=60s",
        "--memory-limit=4mb",
        "--top=1",
    ]);
    assert_eq!(found["direction_by"], "local");
    let names: Vec<&str> =
        found["directions"].as_array().unwrap().iter().filter_map(|direction| direction["name"].as_str()).collect();
    assert_eq!(names[..2], ["out", "in"]);
    for direction in found["directions"].as_array().unwrap() {
        assert_eq!(direction["capacity_given"], true);
        assert_eq!(direction["capacity_bps"], 1e7);
    }
    assert_eq!(found["vantage"]["side"], "server");
    assert_eq!(found["vantage"]["given"], true);
    assert_eq!(found["limits"]["idle_timeout_s"], 60.0);
    assert_eq!(found["limits"]["memory_limit_bytes"], 4 << 20);
    assert_eq!(found["top"]["servers"].as_array().unwrap().len(), 1);

    let by_default = json(&[CAPTURE]);
    assert_eq!(by_default["directions"][0]["utilization"], Value::Null);
    assert_eq!(by_default["direction_by"], "initiator");
    assert_eq!(by_default["limits"]["idle_timeout_s"], 900.0);
    assert_eq!(by_default["vantage"]["given"], false);
    let by_interface = json(&["formats/two-interfaces.pcapng", "--direction=interface"]);
    assert_eq!(by_interface["direction_by"], "interface");
    let by_initiator = json(&[CAPTURE, "--local=10.0.0.0/8", "--direction=initiator"]);
    assert_eq!(by_initiator["direction_by"], "initiator");
}

#[test]
fn tunnels_are_looked_into_where_there_is_nothing_else() {
    let folder = TempDir::new().unwrap();
    let file = tunnelled(CAPTURE, folder.path());
    // One of the seven connections is IPv6.
    for options in [&[][..], &["--inner"]] {
        let found = json(&[&[text(&file)], options].concat());
        assert_eq!(found["handshakes"]["attempts"], 6, "{options:?}");
    }
    // A stream cannot be read twice.
    let mut piped = analyze(&["--json", "-"]);
    piped.write_stdin(fs::read(&file).unwrap());
    let found: Value = serde_json::from_str(&stdout(&mut piped)).unwrap();
    assert_eq!(found["handshakes"]["attempts"], 0);
}

#[test]
fn standard_input_is_read_as_a_stream() {
    for name in [CAPTURE, COMPRESSED] {
        let mut piped = analyze(&["--json", "-"]);
        piped.write_stdin(fs::read(capture(name)).unwrap());
        let found: Value = serde_json::from_str(&stdout(&mut piped)).unwrap();
        assert_eq!(found["captures"][0]["path"], "-");
        assert_eq!(found["handshakes"], json(&[name])["handshakes"]);
    }
    let complaint = stderr(analyze(&["-"]).write_stdin("no capture"), 1);
    assert!(complaint.starts_with("error: -: not a pcap"), "{complaint}");
}

#[test]
fn several_captures_are_one_trace_or_each_its_own() {
    // One connection on both sides of a router: as one trace, each segment appears twice.
    let sides = ["netns/data.client.pcap", "netns/data.server.pcap"];
    let each = stdout(analyze(&["--json", "--per-file"]).args(sides));
    let each: Vec<Value> = each.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let one = json(&sides);
    assert_eq!(each.len(), 2);
    for (side, found) in sides.iter().zip(&each) {
        assert_eq!(found["captures"].as_array().unwrap().len(), 1);
        assert_eq!(*found, json(&[side]));
    }
    assert_eq!(one["captures"].as_array().unwrap().len(), 2);
    assert_eq!(one["handshakes"]["attempts"], 1);
    assert_eq!(one["handshakes"]["duplicate_syn"], 1);

    let report = stdout(analyze(&["--per-file"]).args(sides));
    for side in sides {
        assert!(report.lines().any(|line| line == side), "{report}");
    }
}

#[test]
fn of_several_captures_those_that_can_be_read_are_analysed() {
    let output = analyze(&["--per-file", "--json", "README.md", CAPTURE, "nosuch", DAMAGED])
        .assert()
        .code(1)
        .get_output()
        .clone();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let complaints = String::from_utf8(output.stderr).unwrap();
    for part in ["error: README.md: not a pcap", "error: nosuch: cannot be read"] {
        assert!(complaints.contains(part), "{complaints}");
    }
    // As one trace, an unreadable capture fails the whole analysis.
    stderr(&mut analyze(&["--json", CAPTURE, "nosuch"]), 1);
}

#[test]
fn damage_is_a_warning_unless_it_shall_be_an_error() {
    let output = analyze(&["--json", DAMAGED]).assert().success().get_output().clone();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warning = found["captures"][0]["warnings"][0].as_str().unwrap();
    let expected = format!("{DAMAGED}: at byte ");
    assert!(warning.starts_with(&expected), "{warning}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("warning: {warning}\n"));
    let packets = found["captures"][0]["packets"].as_u64().unwrap();
    let whole = json(&[CAPTURE])["captures"][0]["packets"].as_u64().unwrap();
    assert!(0 < packets && packets < whole, "{packets} of {whole}");

    let report = stdout(&mut analyze(&[DAMAGED]));
    assert_eq!(report.matches(&expected).count(), 1, "{report}");

    let complaint = stderr(&mut analyze(&["--strict", DAMAGED]), 1);
    assert_eq!(complaint, format!("error: {warning}\n"));
    stdout(&mut analyze(&["--strict", CAPTURE]));
}

#[test]
fn what_cannot_be_analysed_is_said_in_a_sentence() {
    let complaints: Vec<String> =
        ["nosuch.pcap", "formats", "README.md", "formats/truth.json", "formats/modified.pcap"]
            .iter()
            .map(|name| stderr(&mut analyze(&[name]), 1))
            .collect();
    insta::assert_snapshot!("analyze_unreadable", complaints.concat());
}

#[test]
fn wrong_arguments_are_refused_with_what_is_accepted() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--idle-timeout=0s"], &["1s to 3600s"]),
        (&["--idle-timeout=3601s"], &["1s to 3600s"]),
        (&["--idle-timeout=60"], &["a time such as"]),
        (&["--memory-limit=1000kb"], &["at least 1mb"]),
        (&["--memory-limit=much"], &["a size such as"]),
        (&["--rate=fast"], &["mbit"]),
        (&["--direction=up"], &["initiator, interface, local"]),
        (&["--direction=local"], &["--local <PREFIX>"]),
        (&["--local=here"], &["192.0.2.0/24", "2001:db8::/32"]),
        (&["--local=192.0.2.0/33"], &["192.0.2.0/24"]),
        (&["--vantage=north"], &["client, server, middle"]),
        (&["--top=-1"], &["expected a whole number, 0 to 10000"]),
        (&["--anonymize="], &["--anonymize"]),
        (&["--connections=x.xlsx"], &[".csv or .parquet"]),
        (&["--connections=csv"], &[".csv or .parquet"]),
        (&["--flows=x.parquet"], &["ends in .csv"]),
        (&["--per-file", "--flows=x.csv"], &["cannot be used with"]),
        (&["--per-file", "--connections=x.csv"], &["cannot be used with"]),
        (&["--flows=x.csv", "--connections=x.csv"], &["--connections and --flows would both write x.csv"]),
        (&["--html=formats/us.pcap"], &["--html would overwrite formats/us.pcap, which is an input"]),
        (&[CAPTURE], &["formats/us.pcap is given twice"]),
    ];
    for (args, expected) in cases {
        let complaint = stderr(analyze(&[CAPTURE]).args(*args), 2);
        assert!(complaint.starts_with("error: "), "{args:?}: {complaint}");
        for part in *expected {
            assert!(complaint.contains(part), "{args:?}: {complaint}");
        }
    }
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_work() {
    for option in ["--html=no/out.html", "--connections=no/out.csv", "--flows=no/out.csv"] {
        let complaint = stderr(&mut analyze(&["nosuch.pcap", option]), 1);
        assert!(complaint.contains("cannot be written"), "{option}: {complaint}");
    }
}

#[test]
fn connections_flows_and_page_are_written_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let capture = capture(CAPTURE);
    let args = ["analyze", text(&capture), "--html=out.html", "--connections=out.csv", "--flows=flows.csv"];
    let report = stdout(gentle(&args).current_dir(folder.path()));
    let args = ["analyze", text(&capture), "--connections=out.parquet"];
    stdout(gentle(&args).current_dir(folder.path()));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let lines = |name: &str| String::from_utf8(read(name)).unwrap();

    assert!(lines("out.html").starts_with("<!doctype html>"));
    let rows = lines("out.csv");
    assert!(rows.starts_with("start_s,end_s,client,"), "{rows}");
    assert_eq!(rows.lines().count(), 8, "a head and seven connections");
    let parquet = read("out.parquet");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));

    let flows = lines("flows.csv");
    let flows: Vec<&str> = flows.lines().collect();
    assert_eq!(flows[0], "start_s,bytes,rtt_s,direction,initiator");
    assert_eq!(flows.len(), 8);
    assert!(flows[1].starts_with("0,1400,0.02"), "{flows:?}");
    assert!(report.contains("\nFlows to replay\n"), "{report}");
    assert!(report.contains("7 of 7 connections can be replayed"), "{report}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn what_was_inferred_for_the_flows_is_in_the_json_too() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("flows.csv");
    let found = json(&[CAPTURE, "--flows", text(&file)]);
    let flows = &found["flows"];
    assert_eq!((&flows["connections"], &flows["flows"]), (&7.into(), &7.into()));
    let sources = ["rtt_own", "rtt_of_server", "rtt_of_trace", "rtt_unknown"];
    let of = |source: &str| flows[source].as_u64().unwrap();
    assert_eq!(sources.map(of), [2, 4, 1, 0]);
    let words = flows["in_words"].as_array().unwrap();
    assert!(words.len() >= 4, "{words:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_finished_costs_neither_the_report_nor_the_other_files() {
    let folder = TempDir::new().unwrap();
    let (csv, full) = (folder.path().join("out.csv"), folder.path().join("full.csv"));
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let flows = format!("--flows={}", text(&csv));
    let table = format!("--connections={}", text(&full));
    let output = analyze(&[CAPTURE, &flows, &table]).assert().code(1).get_output().clone();
    assert!(String::from_utf8(output.stdout).unwrap().contains("Connection attempts"));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("full.csv: No space left"), "{complaint}");
    assert!(csv.exists());
}

#[test]
fn the_same_captures_give_the_same_bytes() {
    let captures = [CAPTURE, "netns/data.client.pcap", "netns/data.server.pcap"];
    let run = || stdout(analyze(&["--json"]).args(captures));
    let first = run();
    for _ in 0..3 {
        assert_eq!(first, run());
    }
    assert!(first.ends_with("}\n") && first.lines().count() == 1);
}

#[test]
fn anonymous_reports_have_none_of_the_addresses() {
    let folder = TempDir::new().unwrap();
    let capture = capture(CAPTURE);
    let run = |more: &[&str]| {
        let mut args = vec!["analyze", text(&capture), "--json"];
        args.extend(["--html=out.html", "--connections=out.csv", "--flows=flows.csv"]);
        args.extend(more);
        let json = stdout(gentle(&args).current_dir(folder.path()));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        [json, read("out.html"), read("out.csv"), read("flows.csv")]
    };
    let open = run(&[]);
    let addresses: Vec<&str> =
        open[2].lines().skip(1).flat_map(|line| line.split(',').skip(2).step_by(2).take(2)).collect();
    assert!(addresses.contains(&"198.18.2.2") && addresses.contains(&"2001:db8:1::2"));
    for address in &addresses {
        assert!(open[1].contains(address), "{address}");
    }

    let hidden = run(&["--anonymize=a passphrase", "--local=198.18.1.0/24"]);
    for (text, name) in hidden.iter().zip(["JSON", "page", "connections", "flows"]) {
        for address in addresses.iter().chain(&["198.18.2.0", "198.18.1."]) {
            assert!(!text.contains(address), "{address} is in the {name}: {text}");
        }
    }
    assert_eq!(hidden, run(&["--anonymize=a passphrase", "--local=198.18.1.0/24"]));
    // The direction of flows is determined by the original addresses.
    assert_eq!(hidden[3], run(&["--local=198.18.1.0/24"])[3]);
    assert_ne!(hidden[2], run(&["--anonymize=another"])[2]);
    assert_ne!(run(&["--anonymize"])[2], run(&["--anonymize"])[2]);
    let found: Value = serde_json::from_str(&hidden[0]).unwrap();
    assert_eq!(found["anonymized"], true);
    assert_eq!(found["captures"][0]["path"], "capture 1");
}

#[test]
fn packets_are_selected_by_host_port_and_time() {
    let attempts = |args: &[&str]| json(&[&[CAPTURE], args].concat())["handshakes"]["attempts"].as_u64().unwrap();
    let all = attempts(&[]);
    let found = json(&[CAPTURE]);
    let worst = found["top"]["servers"][0]["name"].as_str().unwrap();
    let (host, port) = worst.rsplit_once(':').unwrap();
    let of_server = attempts(&["--host", host, "--port", port]);
    assert!((1..all).contains(&of_server), "{of_server} of {all}");
    assert_eq!(attempts(&["--port", "9"]), 0);
    assert_eq!(attempts(&["--host", "0.0.0.0/0", "--host", "::/0"]), all);
    // Both parts of the time together have all packets.
    let packets = |args: &[&str]| json(&[&[CAPTURE], args].concat())["captures"][0]["packets"].as_u64().unwrap();
    let half = format!("{}s", found["duration_s"].as_f64().unwrap() / 2.0);
    let parts = [packets(&["--until", &half]), packets(&["--since", &half])];
    assert!(parts[0] > 0 && parts[1] > 0 && parts[0] + parts[1] == packets(&[]), "{parts:?}");
    assert_eq!(attempts(&["--since", "1970-01-01T00:00:00Z"]), all);
    assert_eq!(attempts(&["--since", "2500-01-01T00:00:00Z"]), 0);
    let wrong = analyze(&[CAPTURE, "--since", "noon"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
