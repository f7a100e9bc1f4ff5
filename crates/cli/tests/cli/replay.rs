//! Command `gentle compare --from`: the connections of a capture under other queues.

use crate::command::{among_captures, stderr, stdout, text};
use crate::tunnel::tunnelled;
use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
use gentle_units::{Instant, Nanos};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

const CAPTURE: &str = "formats/us.pcap";

const SCHEMES: [&str; 5] = ["--scheme=pfifo limit=50", "--scheme=spa", "--seeds=2", "--quiet", "--json"];

fn compare(args: &[&str]) -> Value {
    let mut command = among_captures(&["compare"]);
    serde_json::from_str(&stdout(command.args(SCHEMES).args(args))).expect("JSON")
}

#[test]
fn a_capture_compares_as_its_list_of_flows_does() {
    let folder = TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    stdout(&mut among_captures(&["analyze", CAPTURE, "--flows", text(&flows)]));
    for rate in ["400kbit", "20mbit"] {
        let at_once = compare(&["--from", CAPTURE, "--rate", rate]);
        let in_two_steps = compare(&["--traffic", text(&flows), "--rate", rate, "--up-rate", rate]);
        assert_eq!(at_once["results"], in_two_steps["results"], "{rate}");
        assert_eq!(at_once["results"][0]["completed"], 14);
        for side in ["down", "up"] {
            let (a, b) = (&at_once["scenario"][side], &in_two_steps["scenario"][side]);
            assert_eq!(a, b);
        }
    }
}

#[test]
fn the_link_is_the_one_asked_for() {
    let both = compare(&["--from", CAPTURE, "--rate=20mbit"]);
    assert_eq!(both["scenario"]["down"]["rate_bps"], 20_000_000);
    assert_eq!(both["scenario"]["up"]["rate_bps"], 20_000_000);
    // Buffer of 250 ms of full packets.
    assert_eq!(both["scenario"]["down"]["qdisc"], "pfifo limit=417");
    assert_eq!(both["scenario"]["profile"], "linux-7.2");
    let apart = compare(&["--from", CAPTURE, "--rate=20mbit", "--up-rate=2mbit"]);
    assert_eq!(apart["scenario"]["up"]["rate_bps"], 2_000_000);
    assert_eq!(apart["scenario"]["up"]["qdisc"], "pfifo limit=50");
}

#[test]
fn what_was_inferred_is_said() {
    let json = compare(&["--from", CAPTURE, "--rate=1mbit"]);
    let assumptions = json["scenario"]["choices"].as_array().unwrap();
    let said = "7 of 7 connections can be replayed, with 100 % of the TCP payload.";
    assert_eq!(assumptions[0], said);
    let args = ["compare", "--from", CAPTURE, "--rate=1mbit", "--scheme=pie", "--seeds=1"];
    let table = stdout(&mut among_captures(&args));
    for assumption in assumptions {
        let assumption = assumption.as_str().unwrap();
        assert!(table.contains(&format!("\n- {assumption}\n")), "{assumption}: {table}");
    }
}

#[test]
fn local_addresses_say_what_goes_down() {
    let packets = |more: &[&str]| {
        let mut args = vec!["--from", CAPTURE, "--rate=1mbit"];
        args.extend(more);
        let json = compare(&args);
        let links = &json["results"][0]["links"];
        ["down", "up"].map(|link| links[link]["offered"].as_u64().unwrap())
    };
    // Six of seven clients send more than they receive.
    let [down, up] = packets(&[]);
    let clients = "--local=198.18.1.0/24";
    assert!(packets(&[clients])[1] > packets(&[clients])[0]);
    let [down_to_servers, up_from_servers] = packets(&["--local=198.18.2.0/24", "--local=2001:db8:2::/64"]);
    assert_eq!([down, up], [up_from_servers, down_to_servers]);
}

#[test]
fn what_holds_nothing_to_replay_is_refused() {
    let from = |capture: &str| {
        let args = ["compare", "--rate=1mbit", "--from", capture];
        stderr(&mut among_captures(&args), 1)
    };
    assert_eq!(
        from("netns/unanswered.client.pcap"),
        "error: netns/unanswered.client.pcap: nothing to compare. None of 1 connection can be replayed. \
         Left out: 1 without a complete handshake in the capture.\n"
    );
    assert!(from("README.md").contains("not a pcap"));
    assert!(from("nosuch").contains("nosuch: cannot be read"));
}

#[test]
fn tunnels_are_looked_into_where_there_is_nothing_else() {
    let folder = TempDir::new().unwrap();
    let file = tunnelled(CAPTURE, folder.path());
    let args = ["--from", text(&file), "--rate=1mbit"];
    // One of the seven connections is IPv6.
    let said = "6 of 6 connections can be replayed, with 100 % of the TCP payload.";
    for options in [&[][..], &["--inner"]] {
        let inside = compare(&[&args, options].concat());
        assert_eq!(inside["scenario"]["choices"][0], said, "{options:?}");
    }
}

#[test]
fn damage_is_a_warning_unless_it_shall_be_an_error() {
    let damaged = ["--from", "formats/damaged.pcap", "--rate=1mbit"];
    let before_it = compare(&damaged)["scenario"]["choices"][0].clone();
    assert!(before_it.as_str().unwrap().contains("can be replayed"), "{before_it}");
    let mut strictly = among_captures(&["compare", "--strict"]);
    let complaint = stderr(strictly.args(damaged), 1);
    let expected = "error: formats/damaged.pcap: at byte ";
    assert!(complaint.starts_with(expected), "{complaint}");
}

/// Writes the packets of a capture, `change`d, in the order of the list that it returns.
fn rewritten(to: &Path, change: impl Fn(&mut Vec<(Instant, Vec<u8>)>)) {
    let path = crate::command::capture(CAPTURE);
    let mut reader = CaptureReader::open(path.as_ref()).unwrap();
    let mut packets = Vec::new();
    let mut link = None;
    while let Some(packet) = reader.next().unwrap() {
        link = Some(packet.link);
        packets.push((packet.time, packet.data.to_vec()));
    }
    change(&mut packets);
    let file = std::fs::File::create(to).unwrap();
    let link = link.expect("packets");
    let mut writer = PcapWriter::new(file, link, None, Resolution::Nanos).unwrap();
    for (time, data) in &packets {
        let packet = RawPacket { time: *time, interface: 0, link, original_len: data.len() as u32, data };
        writer.packet(&packet).unwrap();
    }
}

/// All that analyze warns of, compare passes on.
#[test]
fn warnings_about_the_capture_are_passed_on() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("changed.pcap");
    let year = Nanos::from_secs(366 * 86_400);
    for kind in ["time-runs-backwards", "times-apart"] {
        rewritten(&file, |packets| match kind {
            "times-apart" => packets[0].0 -= year * 21,
            _ => packets.extend(packets.clone()),
        });
        let mut command = among_captures(&["analyze", "--json", text(&file)]);
        let analysis: Value = serde_json::from_str(&stdout(&mut command)).unwrap();
        let warnings = analysis["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|it| it["kind"] == kind), "{warnings:?}");
        let compared = compare(&["--from", text(&file), "--rate=1mbit", "--scheme=pie"]);
        let choices = compared["scenario"]["choices"].as_array().unwrap();
        for warning in warnings {
            assert!(choices.contains(&warning["sentence"]), "{warning} {choices:?}");
        }
    }
}

#[test]
fn a_capture_of_quic_alone_says_what_it_is() {
    let args = ["compare", "--rate=1mbit", "--from", "other/quic-plain.pcap"];
    let said = stderr(&mut among_captures(&args), 1);
    assert!(said.contains("No TCP in this capture"), "{said}");
    assert!(said.contains("QUIC connection"), "{said}");
    assert!(said.contains("Only TCP connections can be replayed."), "{said}");
}
