//! Help, lists, and what happens to wrong arguments.

use crate::command::{gentle, stderr, stdout};
use gentle_aqm::registry::SCHEMES;
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
    let rto = profile
        .lines()
        .find(|line| line.trim_start().starts_with("initial_rto "));
    assert!(rto.is_some_and(|line| line.contains(" 3s ")), "{profile}");
}

#[test]
fn every_scheme_with_every_option_is_listed() {
    let list = stdout(&mut gentle(&["schemes"]));
    let json: Value = serde_json::from_str(&stdout(&mut gentle(&["schemes", "--json"]))).unwrap();
    for (i, scheme) in SCHEMES.iter().enumerate() {
        assert!(list.contains(&format!(
            "{}: {}\n  source: {}",
            scheme.name, scheme.summary, scheme.source
        )));
        assert_eq!(json[i]["name"], scheme.name);
        assert_eq!(json[i]["child"].as_str(), scheme.child);
        for (k, option) in scheme.options.iter().enumerate() {
            assert!(
                list.contains(&format!("{} ({})", option.help, option.kind)),
                "{}",
                option.name
            );
            assert_eq!(json[i]["options"][k]["name"], option.name);
            assert_eq!(json[i]["options"][k]["default"].as_str(), option.default);
        }
        assert_eq!(
            json[i]["options"].as_array().unwrap().len(),
            scheme.options.len()
        );
    }
    assert_eq!(json.as_array().unwrap().len(), SCHEMES.len());
}

#[test]
fn every_profile_with_every_knob_is_listed() {
    let list = stdout(&mut gentle(&["profiles"]));
    let json: Value = serde_json::from_str(&stdout(&mut gentle(&["profiles", "--json"]))).unwrap();
    for (i, name) in Profile::NAMES.iter().enumerate() {
        assert!(list.lines().any(|line| line == *name));
        assert_eq!(json[i]["name"], *name);
        let profile = Profile::by_name(name).unwrap();
        for (k, knob) in Profile::knobs().iter().enumerate() {
            assert_eq!(json[i]["knobs"][k]["name"], knob.name);
            assert_eq!(
                json[i]["knobs"][k]["value"],
                profile.get(knob.name).unwrap()
            );
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
        (
            &["--scheme=codle"],
            &["unknown scheme 'codle'", "pfifo, bfifo, red"],
        ),
        (&["--scheme="], &["no scheme given", "pfifo, bfifo, red"]),
        (
            &["--scheme=codel tarmac=3"],
            &["no option 'tarmac'", "target (time", "interval (time"],
        ),
        (&["--scheme=codel target=5"], &["option 'target'", "5ms"]),
        (
            &["--scheme=codel target"],
            &["option 'target' needs a value"],
        ),
        (
            &["--scheme=pfifo limit=0"],
            &["option 'limit'", "1 to 1000000"],
        ),
        (
            &["--scheme=spa fin=sometimes"],
            &["priority", "inorder", "none"],
        ),
        (&["--scheme=spa child=syn_prio"], &["itself a wrapper"]),
        (&["--tcp=initial_rto"], &["KNOB=VALUE"]),
        (
            &["--tcp=rto=3s"],
            &["unknown TCP knob 'rto'", "initial_rto, rto_fallback"],
        ),
        (&["--tcp=initial_rto=3"], &["a time from 1ms to 86400s"]),
        (&["--duration=5"], &["unit"]),
        (&["--duration=0s"], &["more than 0s and at most 86400s"]),
        (
            &["--duration=1000000s"],
            &["more than 0s and at most 86400s"],
        ),
        (&["--bins=3,2"], &["ascending order", "3,10,100"]),
        (&["--bins=0,2"], &["ascending order"]),
        (&["--bins=few"], &["ascending order"]),
        (&["--bins="], &["ascending order"]),
        (
            &["--traffic=rael"],
            &["real, real-reverse, short, 10m", ".toml", ".csv"],
        ),
        (&["--seeds=0"], &["1..=10000"]),
        (&["--seeds=99999999"], &["1..=10000"]),
        (&["--threads=0"], &["1..=1024"]),
        (&["--threads=5000"], &["1..=1024"]),
        (&["--rate=fast"], &["mbit"]),
        (&["--rate=0mbit"], &["--rate"]),
        (
            &["--profile=windows"],
            &["linux-7.2, linux-3.16, freebsd-9.3, ns-2"],
        ),
        (&["--jsn"], &["--json"]),
        (&["--csv=same", "--html=same"], &["same is named twice"]),
        (&["--from=x.pcap"], &["--rate <RATE>"]),
        (
            &["--from=x.pcap", "--rate=1mbit", "--traffic=short"],
            &["cannot be used with '--traffic"],
        ),
        (&["--local=192.0.2.0/24"], &["--from <CAPTURE>"]),
        (&["--inner"], &["--from <CAPTURE>"]),
        (&["--strict"], &["--from <CAPTURE>"]),
        (
            &["--from=x.pcap", "--from=x.pcap", "--rate=1mbit"],
            &["x.pcap is named twice"],
        ),
        (
            &["--from=x.csv", "--rate=1mbit", "--csv=x.csv"],
            &["x.csv is named twice"],
        ),
        (
            &["--scheme=codel", "--scheme=codel", "--pcap=x.pcapng"],
            &["x-codel.pcapng is named twice"],
        ),
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
        (&["profiles", "nosuch"], "freebsd-9.3"),
        (&["completions", "tcsh"], "fish"),
        (&["sim"], "FILE.toml"),
        (&["analyze"], "<CAPTURE>"),
    ];
    for (args, expected) in cases {
        let complaint = stderr(&mut gentle(args), 2);
        assert!(complaint.contains(expected), "{args:?}: {complaint}");
    }
    // Without a command the help is what one needs.
    let complaint = stderr(&mut gentle(&[]), 2);
    assert!(complaint.contains("Usage: gentle <COMMAND>"), "{complaint}");
}
