//! `gentle analyze --example`: the capture that the program contains.

use crate::command::{gentle, stderr, stdout, text};
use gentle_capture::CaptureReader;
use gentle_captures::random::generate_with;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// How the capture was made: by `gentle-captures` (`cargo run -p gentle-trace --example generate -- ARGUMENTS`),
/// and `gzip -n9`.
const ARGUMENTS: &str = "--connections 300 --packets 3600 --span 30s --clients 40 --servers 30 --vantage client --snaplen 80 \
    --syn-loss 0.04 --synack-loss 0.03 --data-loss 0.01 --unanswered 0.004 --refused 0.004 --aborted 0 --reorder 0";

fn json(args: &[&str]) -> Value {
    let mut command = gentle(&["analyze", "--json", "--quiet"]);
    serde_json::from_str(&stdout(command.args(args))).expect("JSON")
}

fn packets(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        packets.push((packet.time.0, packet.data.to_vec()));
    }
    packets
}

#[test]
fn the_example_is_what_the_generator_makes_and_its_losses_are_known() {
    let folder = TempDir::new().unwrap();
    let (made, written) = (folder.path().join("made"), folder.path().join("written.pcap"));
    let arguments: Vec<&str> = ARGUMENTS.split_whitespace().collect();
    let truth = generate_with(&made, &arguments, &mut |_| ()).unwrap();
    stdout(&mut gentle(&["analyze", "--example", "-w", text(&written)]));
    assert!(packets(&made) == packets(&written), "the example is another capture");

    let size = include_bytes!("../../example.pcap.gz").len();
    assert!(size < 100_000, "{size} bytes");
    let found = json(&["--example"]);
    let handshakes = &found["handshakes"];
    for (name, expected) in [
        ("attempts", truth.attempts),
        ("successes", truth.successes),
        ("duplicate_syn", truth.duplicate_syn),
        ("duplicate_synack", truth.duplicate_synack),
        ("attempts_with_duplicate_syn", truth.attempts_with_duplicate_syn),
    ] {
        assert_eq!(handshakes[name], expected, "{name}");
    }
    // It shows what this program is about: some connections wait a second, the others do not.
    let loss = found["outcomes"]["with_loss"].as_f64().unwrap();
    let answered = found["outcomes"]["answered"].as_f64().unwrap();
    assert!((0.03..0.15).contains(&(loss / answered)), "{loss} of {answered}");
    let mean = found["waiting"]["loss_mean_s"].as_f64().unwrap();
    assert!((0.9..2.0).contains(&mean), "{mean} s");
}

#[test]
fn the_example_takes_the_options_of_a_capture() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (page, flows, rows) = (path("page.html"), path("flows.csv"), path("rows.csv"));
    let mut command = gentle(&["analyze", "--example", "--full", "--html"]);
    let report = stdout(command.arg(&page).arg("--flows").arg(&flows).arg("--connections").arg(&rows));
    assert!(report.contains("lost a SYN or SYN/ACK"), "{report}");
    for file in [&page, &flows, &rows] {
        assert!(std::fs::metadata(file).unwrap().len() > 10_000, "{}", file.display());
    }
    // Saved to a file, it is the same capture, and can be replayed.
    let written = path("example.pcap");
    stdout(&mut gentle(&["analyze", "--example", "-w", text(&written)]));
    let without_captures = |mut analysis: Value| {
        analysis.as_object_mut().unwrap().remove("captures");
        analysis.to_string()
    };
    // Commands that read the capture name it.
    let of_file = without_captures(json(&[text(&written)]));
    let command = format!("gentle compare --from {} --rate RATE", text(&written));
    assert!(of_file.contains(&command), "{of_file}");
    assert_eq!(of_file.replace(text(&written), "CAPTURE"), without_captures(json(&["--example"])));
    let mut command = gentle(&["compare", "--quiet", "--seeds=1", "--scheme=spa", "--rate=2mbit"]);
    assert!(stdout(command.args(["--from", text(&written)])).contains("can be replayed"));
    for arguments in [&["--example", text(&written)][..], &["-w", "x.pcap", text(&written)], &[]] {
        stderr(gentle(&["analyze"]).args(arguments), 2);
    }
}
