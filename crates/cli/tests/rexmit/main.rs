//! `gentle rexmit` as a command: what it prints, how it ends, what it leaves behind.

#![cfg(target_os = "linux")]

#[path = "../unshare/mod.rs"]
mod unshare;

use serde_json::Value;
use std::process::{Command, Output};

/// A cable whose other end answers nothing, towards 192.0.2.2.
const BEFORE: &str = "\
mount -t tmpfs none /run
ip link add wan type veth peer name peer
ip link set wan up
ip link set peer up
ip address add 192.0.2.1/24 dev wan
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev wan
ip route add default via 192.0.2.2
";

/// Waits until the engine answers; opens a connection that nobody answers; ends the engine.
const EXCHANGE: &str = "\
engine=$!
until gentle rexmit status | grep -q wan; do sleep 0.05; done
timeout 0.5 bash -c 'echo > /dev/tcp/192.0.2.2/80' || true
gentle rexmit status --json > /run/status
cp /run/metrics.prom /run/metrics.last
kill $engine
wait $engine
echo == ended
ls /run/gentle
test ! -e /run/metrics.prom
";

/// Runs a script in a new namespace; `None` if nobody here may make one.
fn run(script: &str) -> Option<Output> {
    unshare::run(BEFORE, script)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_papers_call_logs_what_it_does_and_leaves_nothing_behind() {
    let script = format!(
        "gentle rexmit -d 100 -r 3 -c -p 80 --log-json --metrics /run/metrics.prom &\n{EXCHANGE}cat /run/status"
    );
    let Some(output) = run(&script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr.lines().next(), Some("gentle rexmit: watching wan"));
    let (log, rest) = stdout.split_once("== ended\n").expect("it has ended");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (number, line) in (1..).zip(&lines) {
        assert_eq!(line["event"], "copy");
        assert_eq!(line["packet"], "syn");
        assert_eq!(line["dst"], "192.0.2.2:80");
        assert_eq!(
            (&line["copy"], &line["sent"]),
            (&number.into(), &true.into())
        );
        let after = line["after_ms"].as_f64().expect("a number");
        let due = 100.0 * f64::from(number);
        assert!((due..due + 150.0).contains(&after), "{line}");
    }
    // The directory is empty, so the status follows.
    let status: Value = serde_json::from_str(rest).expect("JSON");
    assert_eq!(status[0]["interface"], "wan");
    assert_eq!(status[0]["counters"]["syns"], 1);
    assert_eq!(status[0]["counters"]["copies"], 3);
}

#[test]
fn without_a_log_there_is_a_summary() {
    let script = format!(
        "gentle rexmit -c --initial 100 --dry-run --learned /run/learned --metrics /run/metrics.prom -i wan &\n{EXCHANGE}cat /run/learned; head -3 /run/metrics.last"
    );
    let Some(output) = run(&script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stderr.contains("sending nothing"), "{stderr}");
    for line in [
        "  handshakes  1      SYNs and SYN/ACKs that were watched",
        "{\"version\":1,\"paths\":[]}",
        "# TYPE gentle_rexmit_frames_total counter",
    ] {
        assert!(
            stdout.lines().any(|found| found == line),
            "{line}\n{stdout}"
        );
    }
    assert!(
        stdout.contains("copies that would have been sent"),
        "{stdout}"
    );
}

#[test]
fn mistakes_are_said() {
    for (args, code, part) in [
        (vec!["-d", "200"], 2, "--client"),
        (vec!["-c", "-d", "0"], 2, "expected 1ms to 60s"),
        (
            vec!["-c", "-p", "http"],
            2,
            "expected a port from 1 to 65535",
        ),
        (
            vec!["-c", "--min", "2s", "--max", "1s"],
            2,
            "is more than --max",
        ),
        (vec!["-c", "-p", PORTS], 2, "at most 32 ports"),
        (
            vec!["-c", "-i", "nothing0"],
            1,
            "there is no network device 'nothing0'",
        ),
        (
            vec!["-c", "-i", "lo", "--learned", "/dev/null"],
            1,
            "/dev/null: expected what gentle rexmit --learned has written: EOF",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_gentle"))
            .arg("rexmit")
            .args(&args)
            .output()
            .expect("it starts");
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?}: {stderr}");
    }
}

/// One more than fit.
const PORTS: &str =
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33";
