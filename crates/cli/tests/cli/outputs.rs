//! Destinations of outputs: never an input or another output; `-` is standard output.

use crate::command::{brief, capture, gentle, stderr, stdout};
use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use tempfile::TempDir;

const SCENARIO: &str = r#"
duration = "1s"
[link.down]
rate = "10mbit"
[link.up]
rate = "10mbit"
[[workload]]
kind = "replay"
file = "flows.csv"
"#;

/// Folder with a capture, a list of flows, and a scenario that refers to the list, each under several names.
fn inputs() -> TempDir {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("sub")).unwrap();
    fs::copy(capture("formats/us.pcap"), path("in.pcap")).unwrap();
    fs::write(path("flows.csv"), "start_s,bytes\n0,1000\n").unwrap();
    fs::write(path("in.toml"), SCENARIO).unwrap();
    for name in ["in.pcap", "flows.csv", "in.toml"] {
        fs::hard_link(path(name), path(&format!("hard-{name}"))).unwrap();
    }
    #[cfg(unix)]
    for name in ["in.pcap", "flows.csv", "in.toml"] {
        std::os::unix::fs::symlink(name, path(&format!("soft-{name}"))).unwrap();
        std::os::unix::fs::symlink(format!("../sub/../{name}"), path(&format!("sub/soft-{name}"))).unwrap();
    }
    folder
}

/// Names and contents of the files of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Other names of a file of [`inputs`].
fn names(folder: &Path, file: &str) -> Vec<String> {
    let mut names = vec![
        file.to_owned(),
        format!("./{file}"),
        format!("sub/../{file}"),
        folder.join(file).to_str().unwrap().to_owned(),
        format!("hard-{file}"),
    ];
    if cfg!(unix) {
        names.extend([format!("soft-{file}"), format!("sub/soft-{file}")]);
    }
    names
}

#[test]
fn an_input_is_never_overwritten_by_whatever_name() {
    let folder = inputs();
    let before = contents(folder.path());
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["analyze", "in.pcap"], "in.pcap", &["--html", "--connections", "--flows"]),
        (&["compare", "--traffic=in.toml"], "in.toml", &["--csv", "--html"]),
        (&["compare", "--traffic=in.toml"], "flows.csv", &["--csv", "--html"]),
        (&["compare", "--traffic=in.toml", "--scheme=codel"], "flows.csv", &["--pcap"]),
        (&["compare", "--traffic=flows.csv"], "flows.csv", &["--csv", "--html"]),
        (&["compare", "--from=in.pcap", "--rate=1mbit"], "in.pcap", &["--csv", "--html"]),
        (&["sim", "in.toml"], "in.toml", &["--csv", "--html", "--pcap"]),
        #[cfg(target_os = "linux")]
        (&["testbed", "run", "in.toml", "--native"], "in.toml", &["--csv", "--html"]),
    ];
    for (args, file, options) in cases {
        for option in *options {
            for name in names(folder.path(), file) {
                // These options require names with certain extensions.
                let name = match *option {
                    "--connections" | "--flows" => {
                        let link = format!("{}.csv", option.trim_start_matches('-'));
                        let link = folder.path().join("sub").join(link);
                        let _ = fs::remove_file(&link);
                        let target = fs::canonicalize(folder.path().join(&name)).unwrap();
                        fs::hard_link(target, &link).unwrap();
                        link.to_str().unwrap().to_owned()
                    }
                    _ => name,
                };
                let mut command = gentle(args);
                command.args([option, name.as_str()]);
                let complaint = stderr(command.current_dir(folder.path()), 2);
                let expected = format!("error: {option} would overwrite {name}");
                assert!(complaint.starts_with(&expected), "{args:?}: {complaint}");
                assert_eq!(complaint.lines().count(), 1, "{complaint}");
            }
        }
    }
    assert!(contents(folder.path()) == before, "a file has changed");
}

#[test]
fn two_outputs_are_two_files() {
    let folder = inputs();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("old"), "old").unwrap();
    fs::hard_link(path("old"), path("hard-old")).unwrap();
    let mut pairs = vec![("new", "new"), ("new", "./new"), ("new", "sub/../new"), ("old", "hard-old")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("new", path("dangling")).unwrap();
        std::os::unix::fs::symlink(".", path("here")).unwrap();
        pairs.extend([("new", "dangling"), ("dangling", "new"), ("new", "here/new")]);
    }
    let before = contents(folder.path());
    for (csv, html) in pairs {
        let mut command = brief(&["--csv", csv, "--html", html]);
        let complaint = stderr(command.current_dir(folder.path()), 2);
        let expected = format!("error: --csv and --html would both write {html}");
        assert!(complaint.starts_with(&expected), "{csv} {html}: {complaint}");
    }
    let mut command = gentle(&["analyze", "in.pcap", "--flows=x.csv", "--connections=./x.csv"]);
    let complaint = stderr(command.current_dir(folder.path()), 2);
    assert!(complaint.contains("--connections and --flows would both write x.csv, the same file as"), "{complaint}");
    assert!(contents(folder.path()) == before, "a file has changed");
    // Two outputs may share /dev/null.
    stdout(&mut brief(&["--csv=/dev/null", "--html=/dev/null"]));
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_yet_is_followed() {
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::symlink("new.csv", folder.path().join("link.csv")).unwrap();
    stdout(brief(&["--csv=link.csv"]).current_dir(folder.path()));
    assert!(folder.path().join("link.csv").is_symlink());
    let csv = fs::read_to_string(folder.path().join("new.csv")).unwrap();
    assert!(csv.starts_with("scheme,"), "{csv}");
}

/// Output without `part`, if it is text.
fn plain(written: &[u8], part: &str) -> Vec<u8> {
    match std::str::from_utf8(written) {
        Ok(text) => text.replace(part, "").into_bytes(),
        Err(_) => written.to_owned(),
    }
}

/// Output of a command with `option` to a file, and with `option -`.
fn written_and_printed(args: &[&str], option: &str, file: &str) -> [Vec<u8>; 2] {
    let folder = inputs();
    let run = |value: &str| -> Vec<u8> {
        let mut command = gentle(args);
        let command = command.args([option, value]).current_dir(folder.path());
        let printed = command.assert().success().get_output().stdout.clone();
        // A page contains the command that made it.
        plain(&printed, &format!("{option} {value}"))
    };
    let printed = run("-");
    assert!(!folder.path().join("-").exists(), "{option}");
    run(file);
    let written = fs::read(folder.path().join(file)).unwrap();
    if cfg!(unix) {
        assert!(run("/dev/stdout") == printed, "{option}");
    }
    [plain(&written, &format!("{option} {file}")), printed]
}

#[test]
fn a_dash_is_standard_output_and_nothing_else_is_printed_there() {
    let one_scheme = ["compare", "--traffic=short", "--duration=3s", "--seeds=1", "--scheme=codel", "--quiet"];
    let cases: &[(&[&str], &str, &str)] = &[
        (&one_scheme, "--csv", "out.csv"),
        (&one_scheme, "--html", "out.html"),
        (&one_scheme, "--pcap", "out.pcapng"),
        (&["sim", "in.toml", "--quiet"], "--csv", "out.csv"),
        (&["sim", "in.toml", "--quiet"], "--pcap", "out.pcapng"),
        (&["analyze", "in.pcap"], "--html", "out.html"),
        (&["analyze", "in.pcap"], "--connections", "out.csv"),
        (&["analyze", "in.pcap"], "--flows", "out.csv"),
    ];
    for (args, option, file) in cases {
        let [written, printed] = written_and_printed(args, option, file);
        assert!(!written.is_empty());
        assert!(written == printed, "{args:?} {option}");
    }
}

#[test]
fn standard_output_takes_one() {
    let folder = inputs();
    for (args, first, second) in [
        (&["--json", "--csv=-"][..], "--json", "--csv"),
        (&["--csv=-", "--html=/dev/stdout"], "--csv", "--html"),
        (&["--json", "--html=-"], "--json", "--html"),
    ] {
        let complaint = stderr(brief(args).current_dir(folder.path()), 2);
        let expected = format!("error: {first} and {second} would both print to standard output");
        assert!(complaint.starts_with(&expected), "{complaint}");
    }
    for args in [&["analyze", "in.pcap", "--json", "--flows=-"], &["analyze", "in.pcap", "--connections=-", "--html=-"]]
    {
        let complaint = stderr(gentle(args).current_dir(folder.path()), 2);
        assert!(complaint.contains("would both print"), "{complaint}");
    }
    let complaint = stderr(brief(&["--pcap=-"]).current_dir(folder.path()), 2);
    assert!(complaint.contains("one capture per scheme, and standard output cannot hold 2"), "{complaint}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = inputs();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("gentle"))
        .args(["analyze", "in.pcap", "--html=-"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// Command `gentle` as a `std::process::Command`, whose standard streams can be any file.
fn with_files(folder: &TempDir, args: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("gentle"));
    command.args(args).current_dir(folder.path());
    command
}

#[test]
fn files_behind_standard_streams_are_files_too() {
    let folder = inputs();
    let before = contents(folder.path());
    let append = |name: &str| {
        let mut options = File::options();
        options.append(true).open(folder.path().join(name)).unwrap()
    };
    // Equivalent to: gentle analyze in.pcap >> in.pcap
    let mut command = with_files(&folder, &["analyze", "in.pcap"]);
    let output = command.stdout(append("in.pcap")).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("standard output would overwrite in.pcap"), "{complaint}");
    // Equivalent to: gentle compare --csv flows.csv >> flows.csv
    let mut command = with_files(&folder, &["compare", "--csv=flows.csv"]);
    let output = command.stdout(append("flows.csv")).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("--csv and standard output would both write flows.csv"), "{complaint}");
    // Equivalent to: gentle analyze - --html in.pcap < in.pcap
    let input = File::open(folder.path().join("in.pcap")).unwrap();
    let mut command = with_files(&folder, &["analyze", "-", "--html=in.pcap"]);
    let output = command.stdin(input).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("--html would overwrite in.pcap"), "{complaint}");
    assert!(contents(folder.path()) == before, "a file has changed");
}

#[test]
fn a_capture_is_read_once_by_whatever_name() {
    let folder = inputs();
    let cases: &[(&[&str], &str)] = &[
        (&["analyze", "in.pcap", "in.pcap"], "in.pcap is given twice"),
        (&["analyze", "in.pcap", "hard-in.pcap"], "hard-in.pcap is the same file as in.pcap"),
        (&["analyze", "-", "-"], "- is given twice"),
    ];
    for (args, expected) in cases {
        let complaint = stderr(gentle(args).current_dir(folder.path()), 2);
        assert!(complaint.contains(expected), "{args:?}: {complaint}");
    }
}

/// Both ends of a terminal: the one for the program, and the one that reads its output.
#[cfg(target_os = "linux")]
fn terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let shown = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shown).unwrap();
    unlockpt(&shown).unwrap();
    let name = ptsname(&shown, Vec::new()).unwrap();
    let ours = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (ours, File::from(shown))
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_bytes_that_are_no_text() {
    let folder = inputs();
    let (terminal, _shown) = terminal();
    let mut command = with_files(&folder, &["sim", "in.toml", "--pcap=-"]);
    let output = command.stdout(terminal).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("--pcap writes binary data, and standard output is a terminal"), "{complaint}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_an_engine_writes_again_and_again_is_a_file_of_its_own() {
    let folder = inputs();
    let run = |args: &[&str]| -> String {
        let mut command: Command = gentle(&["rexmit", "--client", "--interface=lo"]);
        stderr(command.args(args).current_dir(folder.path()), 2)
    };
    for option in ["--learned", "--metrics"] {
        let complaint = run(&[option, "-"]);
        assert!(complaint.contains("name a file"), "{complaint}");
    }
    let complaint = run(&["--learned=flows.csv", "--metrics=hard-flows.csv"]);
    assert!(complaint.contains("--learned and --metrics would both write"), "{complaint}");
}
