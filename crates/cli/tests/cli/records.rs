//! `gentle analyze --record` and `gentle merge` of what it wrote.

use crate::command::{among_captures, capture, gentle, names, stderr, stdout, text};
use assert_cmd::cargo::cargo_bin;
use gentle_captures::random::generate_with;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Writes a generated capture.
fn generated(path: &Path, seed: usize, connections: &str, packets: &str) {
    let seed = seed.to_string();
    let options = ["--seed", &seed, "--span", "20s", "--connections", connections, "--packets", packets];
    generate_with(path, &[&options[..], &["--syn-loss", "0.1", "--unanswered", "0.05"]].concat(), &mut |_| ()).unwrap();
}

/// A folder with captures `0.pcap` to `N.pcap`, and their paths.
fn folder(n: usize, connections: &str, packets: &str) -> (TempDir, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let paths = (0..n).map(|i| {
        let path = folder.path().join(format!("{i:03}.pcap"));
        generated(&path, i + 1, connections, packets);
        text(&path).to_owned()
    });
    let paths = paths.collect();
    (folder, paths)
}

/// A report or JSON without causes and next steps: a task infers the kind of a loss from its own packets alone.
fn without_causes(report: &str) -> String {
    if let Ok(mut analysis) = serde_json::from_str::<serde_json::Value>(report) {
        analysis["causes"].take();
        analysis["next_steps"].take();
        return analysis.to_string();
    }
    let (before, rest) = report.split_once("\nCauses\n").expect("causes");
    let (_, after) = rest.split_once("\n\n").expect("another section");
    let before = before.lines().filter(|line| !line.starts_with("Next:"));
    before.chain(after.lines()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_recorded_and_merged_is_what_one_call_prints() {
    let (folder, paths) = folder(6, "40", "600");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let [all, some, rest] = ["all", "some", "rest"].map(|name| folder.path().join(name));
    let [all, some, rest] = [text(&all), text(&some), text(&rest)];
    let options = ["--rate=10mbit", "--top=3", "--local=10.0.0.0/8"];
    for form in [&[][..], &["--full"], &["--json"]] {
        let call = |more: &[&str]| without_causes(&stdout(gentle(&["analyze"]).args(options).args(form).args(more)));
        let merge = |records: &[&str]| without_causes(&stdout(gentle(&["merge"]).args(records).args(form)));
        let expected = call(&paths);
        assert_eq!(call(&[&["--record", all], &paths[..]].concat()), expected);
        assert_eq!(merge(&[all]), expected);
        // Two calls, one of them with captures as one trace, and one capture in both directories.
        call(&[&["--record", some, "--continue=all"], &paths[..2]].concat());
        call(&[&["--record", rest, "--threads=1"], &paths[2..]].concat());
        for order in [[some, rest, rest], [rest, some, some]] {
            assert_eq!(merge(&order), expected);
        }
    }
    assert_eq!(names(Path::new(all)).len(), 6);
    assert_eq!(names(Path::new(some)).len(), 1);
    let top = stdout(&mut gentle(&["merge", all, "--json", "--top=1", "--rate=1gbit"]));
    let one = ["analyze", "--json", "--top=1", "--rate=1gbit", "--local=10.0.0.0/8"];
    let one = stdout(gentle(&one).args(&paths));
    assert_eq!(without_causes(&top), without_causes(&one));
}

#[test]
fn records_do_not_depend_on_names_and_hide_addresses() {
    let (folder, paths) = folder(1, "40", "600");
    let other = folder.path().join("other.pcap");
    fs::copy(&paths[0], &other).unwrap();
    let at = |name: &str| folder.path().join(name);
    let record = |directory: &str, path: &str, more: &[&str]| {
        let args = ["analyze", "--json", "--record", text(&at(directory)), path].map(str::to_owned);
        stdout(gentle(&args.each_ref().map(String::as_str)).args(more));
        names(&at(directory))
    };
    let named = record("a", &paths[0], &[]);
    assert_eq!(record("b", text(&other), &[]), named);
    let made = fs::metadata(at("a").join(&named[0])).unwrap().modified().unwrap();
    assert_eq!(record("a", text(&other), &[]), named);
    let kept = fs::metadata(at("a").join(&named[0])).unwrap().modified().unwrap();
    assert_eq!(kept, made, "it is not made a second time");
    assert_ne!(record("c", &paths[0], &["--idle-timeout=60s"]), named);

    let hidden = record("d", &paths[0], &["--anonymize=secret", "--local=10.0.0.0/8"]);
    let bytes = fs::read(at("d").join(&hidden[0])).unwrap();
    let merged = stdout(&mut gentle(&["merge", "--json", text(&at("d"))]));
    let whole = ["analyze", "--json", "--anonymize=secret", "--local=10.0.0.0/8", &paths[0]];
    assert_eq!(merged, stdout(&mut gentle(&whole)));
    let plain = stdout(&mut gentle(&["analyze", "--json", "--local=10.0.0.0/8", &paths[0]]));
    let plain: serde_json::Value = serde_json::from_str(&plain).unwrap();
    let record = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
    for client in plain["top"]["clients"].as_array().unwrap() {
        assert!(!record.contains(client["name"].as_str().unwrap()));
    }
    let both = stderr(&mut gentle(&["merge", text(&at("a")), text(&at("d"))]), 1);
    assert!(both.contains("different values of --anonymize"), "{both}");
}

/// Rows of the CSV form of a Parquet file.
fn csv_rows(path: &Path) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| {
        let values = row.get_column_iter().map(|(_, value)| match value {
            Field::Str(text) => text.clone(),
            Field::Bool(flag) => flag.to_string(),
            Field::UShort(port) => port.to_string(),
            Field::Long(count) => count.to_string(),
            Field::Double(seconds) => seconds.to_string(),
            Field::Null => String::new(),
            other => panic!("{other:?}"),
        });
        values.collect()
    })
    .collect()
}

#[test]
fn connections_are_a_parquet_file_for_each_task() {
    let (folder, paths) = folder(4, "30", "400");
    let [records, rows] = ["records", "rows"].map(|name| folder.path().join(name));
    let table = format!("--connections={}/", text(&rows));
    let args = ["analyze", "--record", text(&records), &table];
    stdout(gentle(&args).args(&paths));
    let mut found: Vec<Vec<Vec<String>>> = names(&rows)
        .iter()
        .map(|task| {
            assert!(task.starts_with("task="), "{task}");
            let record = format!("{}.json.zst", &task["task=".len()..]);
            assert!(records.join(record).exists());
            csv_rows(&rows.join(task).join("connections.parquet"))
        })
        .collect();
    let csv = folder.path().join("x.csv");
    let mut expected = paths
        .iter()
        .map(|path| {
            let table = format!("--connections={}", text(&csv));
            stdout(&mut gentle(&["analyze", path, &table]));
            let lines = fs::read_to_string(&csv).unwrap();
            let lines = lines.lines().skip(1);
            let fields = |line: &str| line.split(',').map(str::to_owned).collect();
            lines.map(fields).collect::<Vec<Vec<String>>>()
        })
        .collect::<Vec<_>>();
    // Times in Parquet are nanoseconds, in CSV decimals in seconds; durations have trailing zeros in neither.
    for row in expected.iter_mut().flatten() {
        for (at, field) in row.iter_mut().enumerate() {
            if at < 2 {
                let (seconds, nanos) = field.split_once('.').unwrap_or((field, ""));
                *field = format!("{seconds}{nanos:0<9}");
            } else if field.contains('.') && field.parse::<std::net::IpAddr>().is_err() {
                *field = field.parse::<f64>().unwrap().to_string();
            }
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // A lost file is made again, although its record is there.
    let lost = rows.join(&names(&rows)[0]).join("connections.parquet");
    fs::remove_file(&lost).unwrap();
    stdout(gentle(&args).args(&paths));
    assert!(lost.exists());
}

/// Concatenates captures that follow one another with `mergecap -a`, as a reference that is not ours.
fn concatenated(paths: &[PathBuf], to: &Path) {
    let run = Command::new("mergecap").args(["-F", "nsecpcap", "-a", "-w"]).arg(to).args(paths).status();
    let run = run.unwrap_or_else(|error| panic!("mergecap: {error}; run scripts/bootstrap test"));
    assert!(run.success());
}

#[test]
fn captures_that_continue_one_another_are_one_trace() {
    let folder = TempDir::new().unwrap();
    let whole = folder.path().join("whole.pcap");
    generated(&whole, 7, "300", "6000");
    let ring = folder.path().join("ring");
    fs::create_dir(&ring).unwrap();
    let split =
        Command::new("editcap").args(["-F", "nsecpcap", "-i", "5"]).arg(&whole).arg(ring.join("x.pcap")).status();
    assert!(split.expect("editcap; run scripts/bootstrap test").success());
    // As editcap names them, dumpcap -b does: x_00000_20260101000000.pcap.
    let parts: Vec<PathBuf> = names(&ring).iter().map(|name| ring.join(name)).collect();
    assert!(parts.len() > 4, "{parts:?}");
    let joined = folder.path().join("joined.pcap");
    concatenated(&parts, &joined);

    let counts = |args: &[&str]| -> BTreeMap<String, serde_json::Value> {
        // Commands that read a single capture name it.
        let all = stdout(gentle(&["analyze", "--json"]).args(args)).replace(text(&joined), "CAPTURE");
        let all: serde_json::Value = serde_json::from_str(&all).unwrap();
        let mut counts = all.as_object().unwrap().clone();
        // All but the list of the files and sentences that name them.
        counts.retain(|name, _| !["captures", "warnings"].contains(&name.as_str()));
        counts.into_iter().collect()
    };
    let expected = counts(&[text(&joined)]);
    let parts: Vec<&str> = parts.iter().map(|path| text(path)).collect();
    let at = |name: &str| folder.path().join(name);
    let by_name = counts(&[&["--record", text(&at("a"))], &parts[..]].concat());
    assert_eq!(by_name, expected);
    assert_eq!(names(&at("a")).len(), 1);
    let said =
        gentle(&["analyze", "--record", text(&at("a"))]).args(&parts).assert().success().get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(
        said.starts_with(&format!("note: by their names, {} captures are parts of 1 longer one", parts.len())),
        "{said}"
    );
    let apart = counts(&[&["--record", text(&at("b")), "--continue=none"], &parts[..]].concat());
    // Captures without packets are equal, and count once.
    assert!(names(&at("b")).len() > 4);
    // Read separately, a connection that continues counts in several captures.
    assert_ne!(apart["closes"], expected["closes"]);
}

fn spawn(args: &[&str], paths: &[String]) -> std::process::Child {
    Command::new(cargo_bin("gentle"))
        .args(args)
        .args(paths)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_job_that_was_stopped_goes_on_and_two_at_once_lose_nothing() {
    let (folder, paths) = folder(60, "400", "8000");
    let records = folder.path().join("records");
    let args = ["analyze", "--json", "--record", text(&records), "--threads=1"];
    let job = spawn(&args, &paths);
    let started = Instant::now();
    while !records.exists() || names(&records).iter().filter(|name| !name.starts_with('.')).count() < 3 {
        assert!(started.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_millis(2));
    }
    let kill = Command::new("kill").args(["-INT", &job.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let stopped = job.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130));
    let partial: serde_json::Value = serde_json::from_slice(&stopped.stdout).unwrap();
    assert_eq!(partial["interrupted"], true);
    let before = names(&records);
    assert!((3..60).contains(&before.len()), "{before:?}");
    assert!(before.iter().all(|name| name.ends_with(".json.zst")), "{before:?}");
    assert_eq!(partial["captures"].as_array().unwrap().len(), before.len());
    let said = String::from_utf8(stopped.stderr).unwrap();
    assert!(said.contains(&format!("interrupted: {} of 60 tasks are in", before.len())), "{said}");

    let mut reversed = paths.clone();
    reversed.reverse();
    let jobs = [spawn(&args, &paths), spawn(&args, &reversed)];
    let apart = folder.path().join("apart");
    let undisturbed = ["analyze", "--json", "--record", text(&apart)];
    let expected = stdout(gentle(&undisturbed).args(&paths));
    for job in jobs {
        let output = job.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
    assert_eq!(names(&records).len(), 60);
    assert_eq!(stdout(&mut gentle(&["merge", "--json", text(&records)])), expected);
}

#[test]
fn a_capture_that_cannot_be_read_is_told_and_the_others_are_recorded() {
    let folder = TempDir::new().unwrap();
    let records = folder.path().join("records");
    let bad = folder.path().join("bad.pcap");
    fs::write(&bad, "no capture").unwrap();
    let good = capture("formats/us.pcap");
    let args = ["analyze", "--record", text(&records), text(&bad), text(&good), "missing.pcap"];
    let output = gentle(&args).assert().code(1).get_output().clone();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("bad.pcap") && errors.contains("missing.pcap"), "{errors}");
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("lost a SYN or SYN/ACK"), "{report}");
    assert_eq!(names(&records).len(), 1);
}

#[test]
fn the_same_traffic_in_two_captures_is_told() {
    let folder = TempDir::new().unwrap();
    let records = folder.path().join("records");
    let [client, server] = ["client", "server"].map(|at| capture(&format!("netns/syn.{at}.pcap")));
    for args in [&["analyze", text(&client), text(&server), "--record", text(&records)][..], &["merge", text(&records)]]
    {
        let output = gentle(args).assert().success().get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("have connections in common"), "{said}");
    }
}

#[test]
fn what_does_not_fit_gets_a_sentence() {
    let folder = TempDir::new().unwrap();
    let records = folder.path().join("records");
    let records = text(&records);
    const CAPTURE: &str = "formats/us.pcap";
    stdout(&mut among_captures(&["analyze", CAPTURE, "--record", records]));
    for (args, expected) in [
        (&["analyze", CAPTURE, "--record", records, "--connections=x.csv"][..], "name a directory, with / at the end"),
        (&["analyze", CAPTURE, "--connections=x/"], "give --record"),
        (&["analyze", CAPTURE, "--continue=all"], "--record"),
        (&["analyze", CAPTURE, "--record", records, "--flows=x.csv"], "cannot be used with"),
        (&["analyze", "-", "--record", records], "read twice"),
    ] {
        let error = stderr(&mut among_captures(args), 2);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    let record = Path::new(records).join(&names(Path::new(records))[0]);
    let bytes = fs::read(&record).unwrap();
    fs::write(&record, &bytes[..bytes.len() / 2]).unwrap();
    let error = stderr(&mut gentle(&["merge", records]), 1);
    assert!(error.contains("expected a file that gentle analyze --record wrote"), "{error}");
    assert!(error.contains(text(&record)), "{error}");
    let empty = TempDir::new().unwrap();
    let error = stderr(&mut gentle(&["merge", text(empty.path())]), 1);
    assert!(error.contains("no records in this directory"), "{error}");
}
