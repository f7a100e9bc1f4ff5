//! Help, lists, and handling of invalid arguments.

use crate::command::{gentle, stderr, stdout};
use gentle_aqm::registry;
use gentle_tcp::Profile;
use serde_json::Value;

#[test]
fn help() {
    insta::assert_snapshot!("help", stdout(&mut gentle(&["--help"])));
    insta::assert_snapshot!("help_compare", stdout(&mut gentle(&["compare", "--help"])));
    insta::assert_snapshot!("help_analyze", stdout(&mut gentle(&["analyze", "--help"])));
    insta::assert_snapshot!("help_sim", stdout(&mut gentle(&["sim", "-h"])));
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = concat!("gentle ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(stdout(&mut gentle(&["--version"])), expected);
}

#[test]
fn one_scheme_and_one_profile() {
    insta::assert_snapshot!("schemes_codel", stdout(&mut gentle(&["schemes", "codel"])));
    insta::assert_snapshot!("schemes_spa", stdout(&mut gentle(&["schemes", "spa"])));
    let profile = stdout(&mut gentle(&["profiles", "freebsd-9.3"]));
    let rto = profile.lines().find(|line| line.trim_start().starts_with("initial_rto "));
    assert!(rto.is_some_and(|line| line.contains(" 3s ")), "{profile}");
}

#[test]
fn schemes_are_a_list_and_one_has_its_options() {
    let list = stdout(&mut gentle(&["schemes"]));
    assert!(list.ends_with("gentle schemes NAME shows the options of one.\n"));
    let json: Value = serde_json::from_str(&stdout(&mut gentle(&["schemes", "--json"]))).unwrap();
    for (i, scheme) in registry::listed().enumerate() {
        let line = list.lines().nth(i).unwrap().trim();
        let (name, summary) = line.split_once(' ').unwrap();
        assert_eq!((name, summary.trim()), (scheme.name, scheme.summary));
        let one = stdout(&mut gentle(&["schemes", scheme.name]));
        assert!(one.starts_with(&format!("{}: {}\n  source: {}\n", scheme.name, scheme.summary, scheme.source)));
        assert_eq!(json[i]["name"], scheme.name);
        assert_eq!(json[i]["child"].as_str(), scheme.child.map(|child| child.name));
        for (k, option) in scheme.options.iter().enumerate() {
            assert!(one.contains(&format!("{} ({})", option.help, option.kind)), "{}", option.name);
            assert_eq!(json[i]["options"][k]["name"], option.name);
            assert_eq!(json[i]["options"][k]["default"].as_str(), option.default);
        }
        assert_eq!(json[i]["options"].as_array().unwrap().len(), scheme.options.len());
    }
    assert_eq!(json.as_array().unwrap().len(), registry::listed().count());
}

#[test]
fn profiles_are_a_list_and_one_has_its_knobs() {
    let list = stdout(&mut gentle(&["profiles"]));
    let json: Value = serde_json::from_str(&stdout(&mut gentle(&["profiles", "--json"]))).unwrap();
    for (i, name) in Profile::NAMES.iter().enumerate() {
        let summary = Profile::summary(name).unwrap();
        let line = list.lines().nth(i).unwrap().trim();
        let (written, described) = line.split_once(' ').unwrap();
        assert_eq!((written, described.trim()), (*name, summary));
        let one = stdout(&mut gentle(&["profiles", name]));
        assert!(one.starts_with(&format!("{name}: {summary}\n")), "{one}");
        assert_eq!(json[i]["name"], *name);
        assert_eq!(json[i]["summary"], summary);
        let profile = Profile::by_name(name).unwrap();
        for (k, knob) in Profile::knobs().iter().enumerate() {
            assert_eq!(json[i]["knobs"][k]["name"], knob.name);
            assert_eq!(json[i]["knobs"][k]["value"], profile.get(knob.name).unwrap());
        }
    }
}

#[test]
fn wrong_arguments_are_refused_with_what_is_accepted() {
    let compare = |more: &[&str]| {
        let mut args = vec!["compare"];
        args.extend(more);
        stderr(&mut gentle(&args), 2)
    };
    let cases: &[(&[&str], &[&str])] = &[
        (&["--scheme=codle"], &["unknown scheme 'codle' (did you mean 'codel'?)", "pfifo, bfifo, pfifo_fast, red"]),
        (&["--scheme="], &["no scheme given", "pfifo, bfifo, pfifo_fast, red"]),
        (&["--scheme=codel tarmac=3"], &["no option 'tarmac'", "target (time", "interval (time"]),
        (&["--scheme=codel target=5"], &["option 'target'", "5ms"]),
        (&["--scheme=codel target"], &["option 'target' needs a value"]),
        (&["--scheme=pfifo limit=0"], &["option 'limit'", "1 to 1000000"]),
        (&["--scheme=spa fin=sometimes"], &["priority", "none"]),
        (&["--scheme=spa child=syn_prio"], &["itself a wrapper"]),
        (&["--tcp=initial_rto"], &["KNOB=VALUE"]),
        (&["--tcp=rto=3s"], &["unknown TCP knob 'rto'", "initial_rto, rto_fallback"]),
        (&["--tcp=initial-rto=3s"], &["unknown TCP knob 'initial-rto' (did you mean 'initial_rto'?)"]),
        (&["--tcp=initial_rto=3"], &["a time from 1ms to 86400s"]),
        (&["--duration=5"], &["unit"]),
        (&["--duration=0s"], &["more than 0s and at most 86400s"]),
        (&["--duration=1000000s"], &["more than 0s and at most 86400s"]),
        (&["--bins=3,2"], &["ascending order", "3,10,100"]),
        (&["--bins=0,2"], &["ascending order"]),
        (&["--bins=few"], &["ascending order"]),
        (&["--bins="], &["ascending order"]),
        (&["--traffic=rael"], &["real, real-reverse, short, 10m", ".toml", ".csv", "did you mean 'real'?"]),
        (&["--seeds=0"], &["expected a whole number, 1 to 10000"]),
        (&["--seeds=99999999"], &["a whole number, 1 to 10000"]),
        (&["--seeds=many"], &["a whole number, 1 to 10000"]),
        (&["--seeds", "-3"], &["'-3'", "a whole number, 1 to 10000"]),
        (&["--first-seed=x"], &["expected a whole number, 0 to"]),
        (&["--threads=0"], &["a whole number, 1 to 1024"]),
        (&["--threads=5000"], &["a whole number, 1 to 1024"]),
        (&["--rate", "-5mbit"], &["'--rate <RATE>'", "below zero; expected a rate such as"]),
        (&["--duration", "-5s"], &["below zero; expected a time"]),
        (&["--rate=fast"], &["mbit"]),
        (&["--rate=0mbit"], &["--rate"]),
        (&["--profile=windows"], &["linux-7.2, linux-3.16, freebsd-9.3, ns-2"]),
        (&["--jsn"], &["--json"]),
        (&["--from=x.pcap"], &["--rate <RATE>"]),
        (&["--from=x.pcap", "--rate=1mbit", "--traffic=short"], &["cannot be used with '--traffic"]),
        (&["--local=192.0.2.0/24"], &["--local applies to captures only", "add --from CAPTURE"]),
        (&["--inner"], &["--inner applies", "--from CAPTURE"]),
        (&["--strict"], &["--strict applies", "--from CAPTURE"]),
        (&["--from=x.pcap", "--from=x.pcap", "--rate=1mbit"], &["x.pcap is given twice"]),
        (&["--scheme=codel", "--scheme=codel", "--pcap=x.pcapng"], &["--pcap would write x-codel.pcapng twice"]),
    ];
    for (args, expected) in cases {
        let complaint = compare(args);
        assert!(complaint.starts_with("error: "), "{args:?}: {complaint}");
        for part in *expected {
            assert!(complaint.contains(part), "{args:?}: {complaint}");
        }
    }
}

#[test]
fn unknown_names_of_commands_schemes_profiles_and_shells_are_refused() {
    let cases: &[(&[&str], &str)] = &[
        (&["comprae"], "compare"),
        (&["schemes", "nosuch"], "syn_fin_prio"),
        (&["schemes", "fq-codel"], "similar value exists: 'fq_codel'"),
        (&["profiles", "nosuch"], "freebsd-9.3"),
        (&["completions", "tcsh"], "fish"),
        (&["sim"], "<TYPE|FILE>"),
        (&["sim", "rael"], "did you mean 'real'?"),
        (&["analyze"], "<CAPTURE>"),
    ];
    for (args, expected) in cases {
        let complaint = stderr(&mut gentle(args), 2);
        assert!(complaint.contains(expected), "{args:?}: {complaint}");
    }
    // Without a command, the help is printed.
    let complaint = stderr(&mut gentle(&[]), 2);
    assert!(complaint.contains("Usage: gentle <COMMAND>"), "{complaint}");
}

/// Messages of libraries and error numbers of the system, which are meaningless to users.
const FOREIGN: [&str; 7] = [
    "os error",
    "invalid digit",
    "ParseIntError",
    "UTF-8 sequence",
    "stream did not contain",
    "does not do",
    "CSV error",
];

#[test]
fn no_words_of_libraries_are_shown() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("latin1.toml", b"title = \"caf\xe9\"\n");
    write("latin1.csv", b"start_s,bytes\n0,1\n\xe9,1\n");
    write("fields.csv", b"start_s,bytes\n0,1,2\n");
    write("zero.toml", &[0; 100]);
    write("file", b"");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["sim", "latin1.toml"], 1, "latin1.toml: cannot be read: it is not text in UTF-8: see line 1"),
        (&["compare", "--traffic=latin1.csv"], 1, "latin1.csv: cannot be read: it is not text in UTF-8: see line 3"),
        (&["compare", "--traffic=fields.csv"], 1, "fields.csv:2:5: found 3 fields, expected 2"),
        (&["sim", "zero.toml"], 1, "byte 1 is zero"),
        (&["sim", "nosuch.toml"], 1, "nosuch.toml: cannot be read: No such file or directory\n"),
        (&["compare", "--csv=nosuch/x"], 1, "nosuch/x: cannot be written: No such file or directory\n"),
        (&["analyze", "nosuch"], 1, "nosuch: cannot be read: No such file or directory\n"),
        (&["man", "file/x"], 1, "file/x: Not a directory\n"),
        (&["compare", "--seeds=1x"], 2, "a whole number"),
        (&["analyze", "x", "--top=-1"], 2, "a whole number, 0 to"),
        (&["compare", "--first-seed=-1"], 2, "a whole number, 0 to"),
    ];
    for (args, code, expected) in cases {
        let complaint = stderr(gentle(args).current_dir(folder.path()), *code);
        assert!(complaint.contains(expected), "{args:?}: {complaint}");
        for word in FOREIGN {
            assert!(!complaint.contains(word), "{args:?}: {complaint}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["zero.csv", "zero.toml"] {
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(name)).unwrap();
    }
    for args in [["sim", "/dev/zero"], ["sim", "zero.toml"], ["sim", "zero.csv"], ["compare", "--traffic=zero.csv"]] {
        let complaint = stderr(gentle(&args).current_dir(folder.path()), 1);
        assert!(complaint.contains("cannot be read: it is not text in UTF-8: byte 1 is zero"), "{args:?}: {complaint}");
    }
}

#[test]
fn a_rate_in_bytes_is_remarked_on() {
    let remark = "20Mbps is 160mbit (20 megabytes/s), as tc has it; did you mean 20mbit?";
    let warned = |command: &mut assert_cmd::Command| {
        let output = command.assert().success().get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    };
    let mut brief = crate::command::brief(&["--rate=20Mbps"]);
    assert_eq!(warned(&mut brief), format!("warning: {remark}\n"));
    let folder = tempfile::TempDir::new().unwrap();
    let scenario = "duration = \"1s\"\n[link.down]\nrate = \"20Mbps\"\n[link.up]\nrate = \"20mbit\"\n\
                    [[workload]]\nkind = \"long\"\n";
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let mut sim = gentle(&["sim", "x.toml", "--quiet"]);
    assert_eq!(warned(sim.current_dir(folder.path())), format!("warning: x.toml:3:8: link.down.rate: {remark}\n"));
}

#[test]
fn a_built_in_scenario_runs_alone_as_it_is_compared() {
    let more = ["--duration=3s", "--seeds=1", "--quiet", "--json"];
    let results = |args: &[&str]| -> Value {
        let json: Value = serde_json::from_str(&stdout(gentle(args).args(more))).unwrap();
        json["results"].clone()
    };
    assert_eq!(
        results(&["sim", "short", "--scheme=codel"]),
        results(&["compare", "--traffic=short", "--scheme=codel"])
    );
}

#[test]
fn one_notation_serves_all_options() {
    // Each value is parsed and then rejected for another reason.
    for (args, expected) in [
        (&["compare", "--duration=2d"][..], "at most 86400s"),
        (&["analyze", "x", "--idle-timeout=2h"], "1s to 3600s"),
        (&["rexmit", "-c", "--delay=2min"], "expected 1ms to 60s"),
        (&["rexmit", "-c", "--delay=70000"], "expected 1ms to 60s"),
        (&["qdisc", "show", "lo", "--watch=2h"], "1s to 3600s"),
        (&["qdisc", "show", "lo", "--watch=3601"], "1s to 3600s"),
        (&["testbed", "exec", "--time-limit=8d", "--", "true"], "1s to 604800s"),
        (&["testbed", "exec", "--time-limit=0", "--", "true"], "1s to 604800s"),
        (&["testbed", "exec", "--memory=1mb", "--", "true"], "64mb to 64gb"),
        (&["testbed", "exec", "--memory=63", "--", "true"], "64mb to 64gb"),
    ] {
        let complaint = stderr(&mut gentle(args), 2);
        assert!(complaint.contains(expected), "{args:?}: {complaint}");
    }
}

#[test]
fn harm_keeps_no_runs() {
    let asked = ["testbed", "compare", "--traffic=calls", "--harm", "--keep=kept"];
    let complaint = stderr(&mut gentle(&asked), 2);
    assert!(complaint.contains("--keep cannot be used with --harm"), "{complaint}");
}
