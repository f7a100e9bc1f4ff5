//! Command `gentle rexmit` as a process: its output, its exit codes, and the files that it leaves.

#![cfg(target_os = "linux")]

use gentle_testkit::unshare;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Command under test.
const GENTLE: &str = env!("CARGO_BIN_EXE_gentle");

/// Setup of a cable towards 192.0.2.2, where nobody answers.
const BEFORE: &str = "\
mount -t tmpfs none /run
mkdir -m 755 /run/files /run/roots
chown nobody /run/files
ip link add wan type veth peer name peer
ip link set wan up
ip link set peer up
ip address add 192.0.2.1/24 dev wan
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev wan
ip route add default via 192.0.2.2
";

/// Waits until the engine answers, opens a connection that remains unanswered, and stops the engine.
const EXCHANGE: &str = "\
engine=$!
until gentle rexmit status | grep -q wan; do sleep 0.05; done
timeout 0.5 bash -c 'echo > /dev/tcp/192.0.2.2/80' || true
gentle rexmit status --json > /run/status
grep -E '^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs|Seccomp)' /proc/$engine/status > /run/process
until cp /run/files/metrics.prom /run/metrics.last 2> /dev/null; do sleep 0.05; done
kill $engine
wait $engine
echo == ended
test \"$(stat -c '%a %u' /run/gentle-rexmit)\" = '700 0'
gentle rexmit status -i wan | grep -qx 'no engine is running'
test ! -e /run/files/metrics.prom
";

/// Runs a script in a new namespace; `None` if that is not permitted.
fn run(script: &str) -> Option<Output> {
    unshare::run(Path::new(GENTLE), BEFORE, script)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_papers_call_logs_what_it_does_and_leaves_nothing_behind() {
    let script = format!(
        "gentle rexmit -d 100 -r 3 -c -p 80 --log-json --metrics /run/files/metrics.prom &\n{EXCHANGE}cat /run/status"
    );
    let Some(output) = run(&script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr.lines().next(), Some("gentle rexmit: watching wan"));
    let (log, rest) = stdout.split_once("== ended\n").expect("it has ended");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (number, line) in (1..).zip(&lines) {
        assert_eq!(line["event"], "copy");
        assert_eq!(line["packet"], "syn");
        assert_eq!(line["dst"], "192.0.2.2:80");
        assert_eq!((&line["copy"], &line["sent"]), (&number.into(), &true.into()));
        let after = line["after_ms"].as_f64().expect("a number");
        let due = 100.0 * f64::from(number);
        assert!((due..due + 150.0).contains(&after), "{line}");
    }
    let status: Value = serde_json::from_str(rest).expect("JSON");
    assert_eq!(status[0]["interface"], "wan");
    assert_eq!(status[0]["counters"]["syns"], 1);
    assert_eq!(status[0]["counters"]["copies"], 3);
}

#[test]
fn without_a_log_there_is_a_summary() {
    let script = format!(
        "gentle rexmit -c --initial 100 --dry-run --learned /run/files/learned --metrics /run/files/metrics.prom -i wan &\n{EXCHANGE}cat /run/files/learned; cat /run/metrics.last /run/process"
    );
    let Some(output) = run(&script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stderr.contains("sending nothing"), "{stderr}");
    for line in [
        "  handshakes  1      SYNs and SYN/ACKs watched",
        "{\"version\":1,\"paths\":[]}",
        "# TYPE gentle_rexmit_frames_total counter",
        "gentle_rexmit_handshakes_total{interface=\"wan\",packet=\"syn\"} 0",
        // User nobody: the engine was started by root.
        "Uid:\t65534\t65534\t65534\t65534",
        "Gid:\t65534\t65534\t65534\t65534",
        "Groups:\t ",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(stdout.lines().any(|found| found == line), "{line}\n{stdout}");
    }
    assert!(stdout.contains("retransmissions that would have been sent"), "{stdout}");
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
    assert_eq!(stdout, "no engine is running\n");
}

#[test]
fn what_was_learned_is_kept_when_an_error_ends_it() {
    let script = "\
echo '{\"version\":1,\"paths\":[]}' > /run/files/learned
gentle rexmit -c -i wan --learned /run/files/learned &
engine=$!
until gentle rexmit status | grep -qx wan; do sleep 0.05; done
rm /run/files/learned
ip link delete wan
wait $engine || echo ended with $?
cat /run/files/learned
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(stderr.contains("wan: the network device is gone"), "{stderr}");
    assert_eq!(stdout, "ended with 1\n{\"version\":1,\"paths\":[]}\n");
}

#[test]
fn files_that_cannot_be_written_are_named_at_once() {
    let script = "\
for file in --learned=/run/nowhere/learned --metrics=/run/nowhere/metrics.prom --learned=/run/roots/learned; do
  timeout 10 gentle rexmit -c -i wan $file || echo ended with $?
done
timeout 0.5 gentle rexmit -c -i wan --learned /run/roots/learned --user root --log-json || echo ended with $?
gentle rexmit -c -i wan --user no-such-user || echo ended with $?
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    // timeout exits with 124 when it has ended a program that was still running.
    assert_eq!(stdout, "ended with 1\nended with 1\nended with 1\nended with 124\nended with 1\n", "{stderr}");
    for part in [
        "/run/nowhere/learned: cannot be written: No such file or directory",
        "/run/nowhere/metrics.prom: cannot be written: No such file or directory",
        "the engine runs as user nobody (--user), who must be able to write here: /run/roots/learned: cannot be written: Permission denied",
        "there is no user 'no-such-user' here; expected the name of an existing user (--user)",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
}

/// The socket of an engine that root has started remains, since the engine is another user by then.
#[test]
fn the_next_engine_replaces_the_socket_of_the_last_one() {
    let script = "\
for run in 1 2; do
  gentle rexmit -c -i wan > /dev/null 2>&1 &
  engine=$!
  until gentle rexmit status -i wan | grep -qx wan; do sleep 0.05; done
  gentle rexmit status -i wan --json | grep -E 'confined'
  kill -KILL $engine
  wait $engine || true
done
gentle rexmit status -i wan
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout.matches("\"calls_confined\": true").count(), 2, "{stdout}");
    assert!(stdout.ends_with("no engine is running\n"), "{stdout}");
}

/// Another process of user nobody may put anything into its directories.
#[test]
fn nothing_of_another_user_is_trusted() {
    let script = "\
mkdir /run/evil
chown nobody /run/evil
timeout 10 gentle rexmit -c -i wan --run-dir /run/evil || echo ended with $?
chown root /run/evil
chmod 777 /run/evil
timeout 10 gentle rexmit -c -i wan --run-dir /run/evil || echo ended with $?
ln -s /dev/zero /run/files/link
mkfifo /run/files/pipe
yes '[' | head -c 9000000 > /run/files/long
for file in link pipe long; do
  timeout 10 gentle rexmit -c -i wan --learned /run/files/$file || echo ended with $?
  timeout 10 gentle rexmit kernel install -c --learned /run/files/$file || echo ended with $?
done
timeout 10 gentle rexmit -c -i wan --metrics /run/files/link || echo ended with $?
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    let one = "ended with 1\n";
    let two = "ended with 2\n";
    assert_eq!(stdout, [one, one, two, one, one, one, one, one, two].concat(), "{stderr}");
    for part in [
        "the directory belongs to user 65534; delete it, or name another one (--run-dir)",
        "others than its owner can write to the directory",
        "--learned: /run/files/link is a symbolic link",
        "--metrics: /run/files/link is a symbolic link",
        "/run/files/link: it is a symbolic link, which is not followed",
        "/run/files/pipe: it is not a regular file",
        "/run/files/long: it is longer than",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
}

#[test]
fn the_answer_of_an_engine_cannot_control_the_terminal() {
    let folder = tempfile::TempDir::new().expect("a directory");
    let name = "v0\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let status = gentle_rexmit::Status {
        version: 2,
        engine: name.to_owned(),
        interface: name.to_owned(),
        pid: 1,
        started_s: 1,
        dry_run: false,
        files_confined: true,
        calls_confined: true,
        pending: 0,
        missed: 0,
        counters: gentle_rexmit::Counters::default(),
        paths: Vec::new(),
    };
    let answer = serde_json::to_string(&status).expect("JSON");
    let socket = folder.path().join("rexmit-v0.sock");
    let listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            std::io::Write::write_all(&mut client.expect("a client"), answer.as_bytes()).expect("it reads");
        }
    });
    for (more, shown) in
        [(None, "v0 ]0;owned  31m "), (Some("--json"), "\"v0\\u001b]0;owned\\u0007\\u009b31m\\u202e\"")]
    {
        let output = Command::new(GENTLE)
            .args(["rexmit", "status", "-i", "v0", "--run-dir"])
            .arg(folder.path())
            .args(more)
            .output()
            .expect("it starts");
        let (stdout, stderr) = texts(&output);
        assert!(output.status.success(), "{stderr}");
        assert!(stdout.contains(shown), "{stdout:?}");
        assert!(!stdout.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{stdout:?}");
    }
}

/// Packets are retransmitted even if the reader of the log does not read.
#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let script = "\
mkfifo /run/log
sleep 60 < /run/log &
reader=$!
printf 'budget = 1000000\nshare = 1000\ngive-up = 0\n' > /run/settings
gentle rexmit -d 1 -r 10 -c -i wan --log-json --settings /run/settings > /run/log &
engine=$!
until gentle rexmit status | grep -qx wan; do sleep 0.05; done
# One after the other: what the share allows at once is bounded.
bash -c 'for port in {1..120}; do (echo > /dev/tcp/192.0.2.2/$port) 2> /dev/null & sleep 0.02; done; sleep 1; kill $(jobs -p)'
gentle rexmit status --json
kill $engine
wait $engine || true
kill $reader
";
    let Some(output) = run(script) else {
        return;
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    let status: Value = serde_json::from_str(&stdout).expect("JSON");
    let counters = &status[0]["counters"];
    // At 150 bytes per line, the pipe of 64 kB has filled up long before.
    let copies = counters["copies"].as_u64().expect("a number");
    assert!(copies > 600, "{counters}");
    assert!(stderr.contains("the log is incomplete"), "{stderr}");
}

/// Setup of a control group for this script alone, and of the BPF file system.
const GROUP: &str = "\
mount -t bpf bpf /sys/fs/bpf
mkdir /run/groups
mount -t cgroup2 none /run/groups
group=/run/groups/gentle-test-rexmit
trap 'echo $$ > /run/groups/cgroup.procs; rmdir $group' EXIT
mkdir -p $group
echo $$ > $group/cgroup.procs
";

/// Installs the program, connects to an address that does not answer, replaces the program with the privileges of the unit,
/// and removes it.
const KERNEL: &str = "\
gentle rexmit kernel install -c -d 200 --cgroup $group > /dev/null
timeout 0.5 bash -c 'echo > /dev/tcp/192.0.2.2/80' || true
gentle rexmit status --json
echo ==
awk '/^TcpExt:/ { if (!names) names = split($0, name); else for (i in name) if (name[i] == \"TCPSynRetrans\") print $i }' /proc/net/netstat
setpriv --bounding-set=-all,+bpf,+net_admin --inh-caps=-all gentle rexmit kernel install -s -d 400 -p 443 --cgroup $group
gentle rexmit kernel status
gentle rexmit kernel remove --cgroup $group
gentle rexmit kernel status
gentle rexmit status
test -z \"$(ls -d /sys/fs/bpf/gentle* 2> /dev/null)\"
";

#[test]
fn the_kernel_engine_works_on_this_machine_s_kernel_and_leaves_nothing_behind() {
    let before = format!("{BEFORE}{GROUP}");
    let Some(output) = unshare::run(Path::new(GENTLE), &before, KERNEL) else {
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
    // At 0.2 and 0.4 s; on a busy machine, the connection may start late.
    assert!(["1", "2"].contains(&repeated), "{repeated}");
    assert!(rest.contains("400ms  initial RTO of SYN/ACKs"), "{rest}");
    assert_eq!(rest.matches("kernel, ").count(), 2, "{rest}");
    assert!(rest.ends_with("no program is installed\nno engine is running\n"), "{rest}");
}

#[test]
fn mistakes_are_said() {
    for (args, code, part) in [
        (vec!["-d", "200"], 2, "--client"),
        (vec!["-c", "-d", "0"], 2, "expected 1ms to 60s"),
        (vec!["-c", "-p", "http"], 2, "expected a port from 1 to 65535"),
        (vec!["-c", "--min", "2s", "--max", "1s"], 2, "is more than --max"),
        (vec!["-c", "-p", PORTS], 2, "at most 32 ports"),
        // The kernel engine takes more of them.
        (vec!["kernel", "install", "-c", "-p", PORTS, "--cgroup", "/nowhere"], 1, "/nowhere"),
        (vec!["-c", "-d", "5s"], 2, "--delay 5s is more than --max 3s"),
        (vec!["-c", "--initial", "10"], 2, "--min 20ms is more than --initial 10ms"),
        (vec!["-c", "--settings", "/nowhere.toml"], 1, "/nowhere.toml: No such file"),
        (vec!["-c", "-i", "nothing0"], 1, "there is no network device 'nothing0'"),
        (vec!["kernel", "install", "-c", "--learned", "/dev/null"], 1, "/dev/null: it is not a regular file"),
    ] {
        let output = Command::new(GENTLE).arg("rexmit").args(&args).output().expect("it starts");
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?}: {stderr}");
    }
}

#[test]
fn an_option_that_would_do_nothing_is_refused() {
    let kernel = "kernel install -c";
    let wires = [
        "--settings /etc/gentle/rexmit.toml",
        "--budget 1000",
        "--share 25",
        "--give-up 5",
        "--table 65536",
        "--stack-rto 1s",
        "--age 3600s",
        "--run-dir /run/gentle",
        "-i lo",
        "--log-json",
        "--metrics a.prom",
        "--with-data",
        "--backoff 2",
        "--jitter 10",
        "--duplicate 5",
        "--dry-run",
        "-r 3",
    ]
    .map(|option| (format!("{kernel} {option}"), "unexpected argument"));
    let others = [
        ("-d 200 --learned a", "--learned one for each"),
        ("--max 1s", "--max bounds learned delays"),
        ("--edge", "--edge bounds learned delays"),
        ("-d 200 --initial 800", "cannot be used with"),
    ]
    .map(|(options, part)| (format!("{kernel} {options}"), part));
    let rest = [
        ("-c --cgroup /sys/fs/cgroup", "unexpected argument"),
        ("-c -d 200 --initial 800", "cannot be used with"),
        ("wire -c -d 200 --min 20", "with --delay it has an effect only together with --edge"),
        ("kernel remove -p 80", "unexpected argument"),
        ("-c kernel status", "cannot be used with"),
        ("-c --budget 1000", "now the key budget of the --settings file"),
        ("wire -c --stack-rto 1s", "now the key stack-rto of the --settings file"),
    ]
    .map(|(args, part)| (args.to_owned(), part));
    for (args, part) in wires.into_iter().chain(others).chain(rest) {
        let output = Command::new(GENTLE).arg("rexmit").args(args.split(' ')).output().expect("it starts");
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {stderr}");
        assert!(stderr.contains(part), "{args}: {stderr}");
    }
}

/// One port more than the maximum.
const PORTS: &str = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33";
