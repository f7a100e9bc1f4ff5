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
fn the_engine_of_a_service_is_found_without_being_told_where() {
    let script = "\
gentle rexmit -c -i wan --run-dir /run/gentle-rexmit-wan > /dev/null 2>&1 &
engine=$!
until gentle rexmit status | grep -qx wan; do sleep 0.05; done
gentle rexmit status --run-dir /run/gentle
kill $engine
wait $engine
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout, "nothing runs\n");
}

/// A control group for this script alone, and BPF's file system.
const GROUP: &str = "\
mount -t bpf bpf /sys/fs/bpf
mkdir /run/groups
mount -t cgroup2 none /run/groups
group=/run/groups/gentle-test-rexmit
trap 'echo $$ > /run/groups/cgroup.procs; rmdir $group' EXIT
mkdir -p $group
echo $$ > $group/cgroup.procs
";

/// Installs, connects to where nobody answers, replaces, removes.
const KERNEL: &str = "\
gentle rexmit --engine kernel -c -d 200 --cgroup $group > /dev/null
timeout 0.5 bash -c 'echo > /dev/tcp/192.0.2.2/80' || true
gentle rexmit status --json
echo ==
awk '/^TcpExt:/ { if (!names) names = split($0, name); else for (i in name) if (name[i] == \"TCPSynRetrans\") print $i }' /proc/net/netstat
gentle rexmit --engine kernel -s -d 400 -p 443 --cgroup $group
gentle rexmit --remove --cgroup $group
gentle rexmit status
test -z \"$(ls -d /sys/fs/bpf/gentle* 2> /dev/null)\"
";

#[test]
fn the_kernel_engine_works_on_this_machine_s_kernel_and_leaves_nothing_behind() {
    let before = format!("{BEFORE}{GROUP}");
    let Some(output) = unshare::run(&before, KERNEL) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    if stderr.contains("bpf(") && stderr.contains("Operation not permitted") {
        eprintln!("skipped: {stderr}");
        return;
    }
    assert!(output.status.success(), "{stdout}{stderr}");
    let (status, rest) = stdout.split_once("==\n").expect("all was run");
    let status: Value = serde_json::from_str(status).expect("JSON");
    assert_eq!(status[0]["engine"], "kernel");
    assert_eq!(status[0]["delay_ms"], 200.0);
    assert_eq!(status[0]["counters"]["syns"], 1);
    let (repeated, rest) = rest.split_once('\n').expect("a number");
    // After 0.2 and 0.4 s; a busy machine may have connected late.
    assert!(["1", "2"].contains(&repeated), "{repeated}");
    assert!(rest.contains("400ms  first timeout of SYN/ACKs"), "{rest}");
    assert!(rest.ends_with("nothing runs\n"), "{rest}");
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
            vec!["-c", "-d", "5s"],
            2,
            "--delay 5s is more than --max 3s",
        ),
        (
            vec!["-c", "--initial", "10"],
            2,
            "--min 20ms is more than --initial 10ms",
        ),
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

#[test]
fn an_option_that_would_do_nothing_is_refused() {
    let kernel = "--engine kernel -c";
    for (args, part) in [
        (
            format!("{kernel} --budget 1000"),
            "--budget is the wire engine's",
        ),
        (
            format!("{kernel} --share 25"),
            "--share is the wire engine's",
        ),
        (
            format!("{kernel} --give-up 5"),
            "--give-up is the wire engine's",
        ),
        (
            format!("{kernel} --table 65536"),
            "--table is the wire engine's",
        ),
        (
            format!("{kernel} --stack-rto 1s"),
            "--stack-rto is the wire engine's",
        ),
        (
            format!("{kernel} --age 3600s"),
            "--age is the wire engine's",
        ),
        (
            format!("{kernel} --run-dir /run/gentle"),
            "--run-dir is the wire engine's",
        ),
        (
            format!("{kernel} -i lo"),
            "--interface is the wire engine's",
        ),
        (
            format!("{kernel} --log-json"),
            "--log-json is the wire engine's",
        ),
        (
            format!("{kernel} --metrics a.prom"),
            "--metrics is the wire engine's",
        ),
        (
            format!("{kernel} --with-data"),
            "--with-data is the wire engine's",
        ),
        (
            format!("{kernel} --backoff 2"),
            "--backoff is the wire engine's",
        ),
        (
            format!("{kernel} --jitter 10"),
            "--jitter is the wire engine's",
        ),
        (
            format!("{kernel} --duplicate 5"),
            "--duplicate is the wire engine's",
        ),
        (
            format!("{kernel} --dry-run"),
            "--dry-run is the wire engine's",
        ),
        (format!("{kernel} -r 3"), "takes no --retries"),
        (
            format!("{kernel} -d 200 --learned a"),
            "makes no use of --learned",
        ),
        (
            format!("{kernel} --max 1s"),
            "--max is about learned delays",
        ),
        (format!("{kernel} --edge"), "--edge is about learned delays"),
        (
            format!("{kernel} -d 200 --initial 800"),
            "with --delay it does nothing",
        ),
        (
            "-c --cgroup /sys/fs/cgroup".to_owned(),
            "--cgroup is the kernel engine's",
        ),
        (
            "-c -d 200 --initial 800".to_owned(),
            "with --delay it does nothing",
        ),
        (
            "-c -d 200 --min 20".to_owned(),
            "with --delay it does nothing without --edge",
        ),
        ("--remove -p 80".to_owned(), "--remove takes no --port"),
        (
            "--remove --engine wire".to_owned(),
            "--remove is about the kernel engine",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_gentle"))
            .arg("rexmit")
            .args(args.split(' '))
            .output()
            .expect("it starts");
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {stderr}");
        assert!(stderr.contains(part), "{args}: {stderr}");
    }
}

/// One more than fit.
const PORTS: &str =
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33";
