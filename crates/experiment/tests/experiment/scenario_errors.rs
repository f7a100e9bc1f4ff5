//! Errors in scenario files: messages name the file, the place in it, and what was expected.

use gentle_experiment::{Direction, Scenario};

/// A valid scenario, in which each test changes one place.
const GOOD: &str = r#"
title = "A test"
duration = "10s"

[hosts]
profile = "linux-7.2"

[link.down]
rate = "2.4mbit"
delay = "42ms"
qdisc = "codel target=5ms"

[link.up]
rate = "400kbit"
delay = "52ms"

[[workload]]
kind = "poisson"
gap = "120ms"
size = { zipf = 1.7, max = 6000 }
"#;

/// Workload of [`GOOD`].
const POISSON: &str = "kind = \"poisson\"\ngap = \"120ms\"\nsize = { zipf = 1.7, max = 6000 }";

fn read(text: &str) -> Result<Scenario, String> {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Scenario::from_toml("x.toml", text, &none).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(from: &str, to: &str, parts: &[&str]) {
    assert!(GOOD.contains(from), "the test replaces nothing: {from}");
    let error = read(&GOOD.replace(from, to)).expect_err(to);
    for part in parts {
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn the_good_file_reads() {
    let scenario = read(GOOD).unwrap();
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.workloads.len(), 1);
}

#[test]
fn unknown_keys_are_refused_with_the_known_ones() {
    refused("title =", "titel =", &["x.toml:2:1", "unknown key 'titel'", "title, "]);
    refused("delay = \"42ms\"", "dealy = \"42ms\"", &["x.toml:10:1", "unknown key 'dealy' in link.down", "delay"]);
    refused("gap = \"120ms\"", "gap = \"120ms\"\nflows = 3", &["x.toml:20:1", "unknown key 'flows'", "gap, size"]);
    refused("profile = \"linux-7.2\"", "initial_cwnd = 4", &["x.toml:6:", "hosts.initial_cwnd", "initial_cwnd"]);
}

#[test]
fn the_tcp_and_the_group_of_a_workload_are_checked() {
    for (key, parts) in [
        ("tcp = { initial_cwnd = 4 }", ["x.toml:20:", "workload[0].tcp.initial_cwnd", "unknown TCP knob"]),
        ("initiator_tcp = { initial_rto = \"soon\" }", ["x.toml:20:", "initiator_tcp.initial_rto", "cannot be 'soon'"]),
        ("tcp = { profile = \"linux-1.0\" }", ["x.toml:20:", "tcp.profile", "linux-1.0"]),
        ("tcp = 3", ["x.toml:20:", "tcp", "expected a table"]),
        ("group = \" \"", ["x.toml:20:", "group", "1 to 40 characters"]),
    ] {
        let text = format!("gap = \"120ms\"\n{key}");
        refused("gap = \"120ms\"", &text, &parts);
    }
    let udp = "kind = \"udp\"\nrate = \"1mbit\"\ntcp = { initial_rto = \"1s\" }\n#";
    let error = read(&GOOD.replace("kind = \"poisson\"", udp)).unwrap_err();
    assert!(error.contains("these packets belong to no connection"), "{error}");
}

#[test]
fn wrong_units_and_types_are_refused_with_what_was_expected() {
    refused(
        "rate = \"2.4mbit\"",
        "rate = \"2.4ms\"",
        &["x.toml:9:8", "link.down.rate", "unknown unit 'ms'", "2.4mbit, 400kbit"],
    );
    refused("rate = \"2.4mbit\"", "rate = 2.4", &["x.toml:9:8", "a rate in quotes"]);
    refused("delay = \"42ms\"", "delay = \"42\"", &["x.toml:10:9", "no unit", "5ms"]);
    refused("kind = \"poisson\"", "kind = \"fractal\"", &["x.toml:18:8", "\"fractal\"", "\"poisson\", \"web\""]);
    refused(
        "qdisc = \"codel target=5ms\"",
        "qdisc = \"codel targt=5ms\"",
        &["x.toml:11:9", "codel has no option 'targt'", "target"],
    );
    refused("profile = \"linux-7.2\"", "profile = \"beos\"", &["x.toml:6:11", "beos", "freebsd-9.3"]);
}

#[test]
fn impossible_values_are_refused() {
    refused("\"10s\"", "\"0s\"", &["x.toml:3:12", "more than 0s"]);
    refused("gap = \"120ms\"", "gap = \"0\"", &["more than 0s"]);
    refused("max = 6000", "max = 0", &["workload", "1 to"]);
    refused("zipf = 1.7", "zipf = -1", &["x.toml:20:", "0.01 to 20"]);
    refused("gap = \"120ms\"", "gap = \"120ms\"\nrtt = \"50ms\"", &["rtt", "at least 94ms"]);
    refused("title = \"A test\"", "warmup = \"10s\"", &["x.toml:2:10", "less than the duration"]);
    refused("delay = \"52ms\"", "loss = 1.5", &["link.up.loss", "0 to 1"]);
    refused(
        "delay = \"52ms\"",
        "changes = [{ at = \"5s\", rate = \"1mbit\" }, { at = \"5s\", rate = \"2mbit\" }]",
        &["link.up.changes[1].at", "later time"],
    );
    let up = |keys: &str, expected: &[&str]| refused("delay = \"52ms\"", keys, expected);
    up("delay = \"5ms\"\njitter = \"6ms\"", &["link.up.jitter", "at most the delay, 5ms"]);
    up("reorder = 0.1", &["link.up.reorder", "expected delay as well"]);
    up("loss = 0.1\nbursts = { p = 0.1, r = 0.1 }", &["link.up.loss", "not both"]);
    up("bursts = { p = 0.1 }", &["link.up.bursts", "missing", "r"]);
    up("bursts = { p = 0.1, r = 0 }", &["link.up.bursts.r"]);
    up("trace = \"none.up\"", &["link.up.trace", "none.up"]);
}

#[test]
fn lists_are_arrays_with_something_in_them() {
    for (value, expected) in [
        ("\"spa\"", "invalid value \"spa\": expected an array, as in ["),
        ("[]", "schemes: an empty array: expected values, as in ["),
        ("[1]", "invalid value 1: expected a string in quotes"),
    ] {
        let text = format!("title = \"A test\"\nschemes = {value}");
        refused("title = \"A test\"", &text, &["x.toml:3:1", "schemes", expected]);
    }
    let error = read(GOOD.split("[[workload]]").next().unwrap()).unwrap_err();
    assert!(error.contains("missing [[workload]]"), "{error}");
    refused("[[workload]]", "[workload]", &["workload", "expected an array"]);
    let none = format!("workload = []{}", GOOD.split("[[workload]]").next().unwrap());
    let error = read(&none).unwrap_err();
    assert!(error.starts_with("x.toml:1:12: workload: an empty array"), "{error}");
}

#[test]
fn what_was_probably_meant_is_suggested() {
    for (from, to, meant) in [
        ("title =", "titel =", "title"),
        ("\"poisson\"", "\"poison\"", "poisson"),
        ("codel target", "codle target", "codel"),
        ("codel target", "codel traget", "target"),
        ("linux-7.2", "linux-72", "linux-7.2"),
        ("profile = \"linux-7.2\"", "initial-rto = \"1s\"", "initial_rto"),
    ] {
        refused(from, to, &[&format!("did you mean '{meant}'?")]);
    }
}

#[test]
fn packets_that_cannot_be_are_refused() {
    let poisson = "kind = \"poisson\"\ngap = \"120ms\"\nsize = { zipf = 1.7, max = 6000 }";
    for (kind, packet, shortest) in [("udp", 27, "28"), ("syn_flood", 39, "40")] {
        let workload = format!("kind = \"{kind}\"\nrate = \"1mbit\"\npacket = {packet}");
        refused(poisson, &workload, &["x.toml:20:10", shortest]);
    }
    for (keys, expected) in [
        ("jitter = 1.5", "a number, 0 to 1"),
        ("jitter = \"2ms\"", "a number, 0 to 1"),
        ("start = [\"2s\", \"1s\"]", "from not above to"),
        ("start = [\"1s\", \"2s\"]\nstop = \"1.5s\"", "after the start, 2s"),
    ] {
        let workload = format!("kind = \"udp\"\nrate = \"1mbit\"\n{keys}");
        refused(poisson, &workload, &[expected]);
    }
    let flood = "kind = \"syn_flood\"\nrate = \"1mbit\"\ntunnel = 1";
    refused(poisson, flood, &["x.toml:20:10", "cannot use a tunnel"]);
}

#[test]
fn applications_over_datagrams_are_checked() {
    let poisson = "kind = \"poisson\"\ngap = \"120ms\"\nsize = { zipf = 1.7, max = 6000 }";
    for (workload, parts) in [
        ("kind = \"voice\"\ncalls = 0", ["x.toml:19:", "calls", "1 to 1000"]),
        ("kind = \"voice\"\npacket = 59", ["x.toml:19:", "packet", "60 to 1500"]),
        ("kind = \"voice\"\ninterval = \"1us\"", ["x.toml:19:", "interval", "at least 100us"]),
        ("kind = \"voice\"\nplayout = \"1min\"", ["x.toml:19:", "playout", "at most 10s"]),
        ("kind = \"voice\"\nplayers = 2", ["x.toml:19:", "unknown key 'players'", "calls"]),
        ("kind = \"game\"\ninitiator = \"sender\"", ["x.toml:19:", "initiator", "no connection to open"]),
        ("kind = \"game\"\ntcp = { initial_rto = \"1s\" }", ["x.toml:19:", "tcp", "belong to no connection"]),
        ("kind = \"game\"\nstart = \"5s\"\nstop = \"5s\"", ["x.toml:20:", "stop", "after the start, 5s"]),
        (
            "kind = \"video_call\"\nmin_rate = \"1gbit\"\nmax_rate = \"1mbit\"",
            ["x.toml:20:", "max_rate", "at least min_rate"],
        ),
        ("kind = \"video_call\"\nstart_rate = \"2mbit\"", ["x.toml:19:", "start_rate", "min_rate to max_rate"]),
        ("kind = \"video_call\"\nmin_rate = \"9kbit\"", ["x.toml:19:", "min_rate", "10kbit to 1gbit"]),
        ("kind = \"video_call\"\nfps = 0", ["x.toml:19:", "fps", "1 to 240"]),
        ("kind = \"dns\"", ["x.toml:17:", "missing 'gap'", "\"2s\""]),
        ("kind = \"dns\"\ngap = \"1us\"", ["x.toml:19:", "gap", "at least 1ms"]),
        ("kind = \"dns\"\ngap = \"1s\"\ntimeout = \"2min\"", ["x.toml:20:", "timeout", "1ms to 60s"]),
        ("kind = \"ping\"\nrate = \"1mbit\"", ["x.toml:19:", "unknown key 'rate'", "interval"]),
    ] {
        refused(poisson, workload, &parts);
    }
}

#[test]
fn applications_have_defaults_a_name_and_a_load() {
    let poisson = "kind = \"poisson\"\ngap = \"120ms\"\nsize = { zipf = 1.7, max = 6000 }";
    for (workload, name, down, up) in [
        ("kind = \"voice\"\ncalls = 2", "voice", 171_200.0, 171_200.0),
        ("kind = \"game\"\ngroup = \"Ann\"", "Ann", 8.0 * 162.0 / 0.055, 8.0 * 122.0 / 0.040),
        ("kind = \"dns\"\ngap = \"2s\"\ndirection = \"up\"", "dns", 8.0 * 91.0 / 2.0, 8.0 * 155.0 / 2.0),
        ("kind = \"ping\"\nstart = \"5s\"", "ping", 0.5 * 8.0 * 98.0 / 0.2, 0.5 * 8.0 * 98.0 / 0.2),
    ] {
        let scenario = read(&GOOD.replace(poisson, workload)).unwrap();
        let applications = scenario.applications();
        assert_eq!(applications.len(), 1);
        assert_eq!(applications[0].name, name);
        assert!(workload.contains(&format!("kind = \"{}\"", applications[0].kind)));
        assert!(!scenario.replays());
        for (direction, expected) in [(Direction::Down, down), (Direction::Up, up)] {
            let rate = scenario.link(direction).rate.bits_per_second() as f64;
            let load = scenario.load(direction) * rate;
            assert!((load / expected - 1.0).abs() < 1e-9, "{workload}: {load}");
        }
        let first = scenario.datagram_flows(1);
        assert_eq!(first, scenario.datagram_flows(1));
        assert_ne!(first, scenario.datagram_flows(2));
    }
}

#[test]
fn missing_parts_are_named() {
    refused("duration = \"10s\"", "", &["missing 'duration'", "\"100s\""]);
    refused("[link.up]", "[link.sideways]", &["missing [link.up]"]);
    refused("kind = \"poisson\"", "", &["missing 'kind'"]);
    let error = read("duration = \"1s\"").unwrap_err();
    assert!(error.contains("missing [link.down]"), "{error}");
}

#[test]
fn broken_toml_is_located() {
    let error = read("duration = \"1s\"\n[link").unwrap_err();
    assert!(error.starts_with("x.toml:2:"), "{error}");
    assert!(error.contains("not TOML"), "{error}");
}

#[test]
fn a_replayed_list_that_is_not_there_is_named() {
    refused(
        "kind = \"poisson\"\ngap = \"120ms\"\nsize = { zipf = 1.7, max = 6000 }",
        "kind = \"replay\"\nfile = \"flows.csv\"",
        &["x.toml:19:8", "flows.csv"],
    );
}

proptest::proptest! {
    /// A damaged file is either read or rejected, without panic.
    #[test]
    fn damage_anywhere_is_survived(at in 0_usize..400, with in "\\PC{0,3}") {
        let mut text = GOOD.to_owned();
        let at = at.min(text.len());
        if text.is_char_boundary(at) {
            text.insert_str(at, &with);
        }
        let _ = read(&text);
    }
}

#[test]
fn the_keys_of_dialogues_are_checked() {
    const PAGES: &str = "kind = \"pages\"\nusers = 2\nthink = \"3s\"\npages = 4\n";
    read(&GOOD.replace(POISSON, PAGES)).unwrap();
    let with = |keys: &str| format!("{PAGES}{keys}");
    let place = "x.toml:22:";
    for (keys, parts) in [
        (with("users = 1"), ["duplicate key", "x.toml:22"]),
        (with("objects = { median = 9, p90 = 8 }"), [place, "9 to 15000"]),
        (with("objects = { median = 0, p90 = 8 }"), [place, "1 to 15000"]),
        (with("objects = \"many\""), [place, "a whole number, 0 to 15000"]),
        (with("object = 0"), [place, "1 to 1099511627776"]),
        (with("document = { p90 = 8 }"), [place, "missing 'median'"]),
        (with("document = { median = 8, p90 = 9, p99 = 10 }"), [place, "unknown key 'p99'"]),
        (with("request = 19"), [place, "20 to 65535"]),
        (with("service = 3"), [place, "a time in quotes"]),
        (with("initiator = \"sender\""), [place, "users always open the connection"]),
        (with("gap = \"1s\""), [place, "unknown key 'gap'"]),
        (with("dscp = \"gold\""), [place, "\"ef\""]),
        (with("dscp = \"AF11\""), [place, "did you mean 'af11'"]),
        (with("dscp = 64"), [place, "a whole number, 0 to 63"]),
        (with("host = 65536"), [place, "a whole number, 0 to 65535"]),
        (with("host = \"a\""), [place, "a whole number, 0 to 65535"]),
        (with("tunnel = 0"), [place, "a whole number, 1 to 255"]),
        (PAGES.replace("pages = 4", "pages = 0.5"), ["x.toml:21:", "a number, 1 to"]),
        (PAGES.replace("think = \"3s\"", "think = \"0s\""), ["x.toml:20:", "more than 0s"]),
        (PAGES.replace("think = \"3s\"", ""), ["missing 'think'", "30s"]),
        ("kind = \"ssh\"".to_owned(), ["missing 'sessions'", "sessions = 2"]),
        ("kind = \"ssh\"\nsessions = 1\npacket = 8".to_owned(), ["x.toml:20:", "20 to 65535"]),
        ("kind = \"on_off\"\nusers = 1\noff = \"1s\"".to_owned(), ["missing 'size'", "zipf"]),
        ("kind = \"page\"".to_owned(), ["x.toml:18:8", "did you mean 'pages'"]),
    ] {
        refused(POISSON, &keys, &parts);
    }
}

#[test]
fn a_codepoint_is_a_name_or_a_number_of_any_workload() {
    for (text, codepoint) in [("\"ef\"", 46), ("\"le\"", 1), ("0", 0), ("63", 63), ("\"cs6\"", 48)] {
        let set = format!("gap = \"120ms\"\ndscp = {text}");
        let scenario = read(&GOOD.replace("gap = \"120ms\"", &set)).unwrap();
        assert_eq!(scenario.workloads[0].dscp, codepoint);
        // Only a scenario with codepoints is another one.
        let same = read(GOOD).unwrap().fingerprint() == scenario.fingerprint();
        assert_eq!(same, codepoint == 0);
    }
}

#[test]
fn a_workload_has_a_host_where_there_are_so_many() {
    let access = "[access]\nrate = \"10mbit\"\nhosts = 3\n[[workload]]\nhost = ";
    let with = |host| GOOD.replace("[[workload]]", &format!("{access}{host}"));
    let scenario = read(&with(2)).unwrap();
    assert_eq!(scenario.workloads[0].host, Some(2));
    assert!(scenario.workloads[0].to_string().contains("; host 2"));
    assert!(read(&with(3)).unwrap_err().contains("0 to 2"));
    // Only a scenario with hosts is another one.
    let own = GOOD.replace("[[workload]]", "[[workload]]\nhost = 3");
    assert_ne!(read(&own).unwrap().fingerprint(), read(GOOD).unwrap().fingerprint());
}

#[test]
fn users_are_counted_in_the_singular_and_plural() {
    let kinds = [
        ("pages", "users", "think = \"3s\"\npages = 4", "user of web pages", "users of web pages"),
        ("on_off", "users", "off = \"1s\"\nsize = { segments = 3 }", "on/off user", "on/off users"),
        ("ssh", "sessions", "", "typist", "typists"),
    ];
    for (kind, number, keys, one, many) in kinds {
        for (n, noun) in [(1, one), (2, many)] {
            let text = GOOD.replace(POISSON, &format!("kind = \"{kind}\"\n{number} = {n}\n{keys}"));
            let shown = read(&text).unwrap().workloads[0].to_string();
            assert!(shown.contains(&format!("{n} {noun},")), "{shown}");
        }
    }
}

#[test]
fn only_the_reverse_link_can_have_the_queue_of_the_other() {
    refused(
        "qdisc = \"codel target=5ms\"",
        "qdisc = \"as down\"",
        &["x.toml:11:9", "only [link.up] can have the queue"],
    );
    let text = GOOD.replace("[[workload]]", "qdisc = \"as down\"\n[[workload]]");
    assert!(read(&text).unwrap().links[1].as_down);
}

#[test]
fn a_scenario_cannot_exhaust_the_memory() {
    let connections = "expected at most 100,000,000";
    refused("gap = \"120ms\"", "gap = \"1ns\"", &["x.toml", "10,000,000,001 connections", connections]);
    let web = "kind = \"web\"\nsessions = 1000000\npages = 1e6\nobjects = 1e6\nsession_gap = \"1us\"\npage_gap = \"1us\"\nobject_gap = \"1us\"";
    refused("kind = \"poisson\"\ngap = \"120ms\"", web, &["x.toml", connections]);
    // Below that number, but more than the link carries.
    let open = "would be open at a time";
    refused("gap = \"120ms\"", "gap = \"1us\"", &["x.toml", open, "expected at most 1,000,000"]);
    let long = "[[workload]]\nkind = \"long\"\nflows = 100000\n".repeat(11);
    let many = read(&format!("{GOOD}{long}")).unwrap_err();
    assert!(many.contains("1,100,0") && many.contains(open), "{many}");
    read(&GOOD.replace("gap = \"120ms\"", "gap = \"1ms\"")).expect("as much as before");
}

#[test]
fn names_of_groups_are_text_on_one_line_and_no_formulas() {
    let named = |group: &str| format!("kind = \"poisson\"\ngroup = \"{group}\"");
    for (group, part) in [
        ("a\\u001b[31m", "without control characters"),
        ("a\\u009b31m", "without control characters"),
        ("\\u202ea", "without control characters"),
        ("=1+1", "does not begin with =, +, - or @"),
        ("@SUM(A1)", "does not begin with"),
    ] {
        refused("kind = \"poisson\"", &named(group), &["x.toml:19:9", part]);
    }
    read(&GOOD.replace("kind = \"poisson\"", &named("files < 10 kB & more"))).expect("a name");
}
