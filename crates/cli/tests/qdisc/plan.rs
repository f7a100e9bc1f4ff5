//! Commands that need no device.

use assert_cmd::Command;

fn gentle(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("gentle").expect("cargo builds the command for this test");
    let output = command.args(args).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
}

#[test]
fn a_plan_is_printed_for_a_device_that_is_not_there() {
    let (code, stdout, stderr) =
        gentle(&["qdisc", "plan", "no-such-dev", "codel target=20ms", "--rate", "20mbit", "--shaper", "tbf"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(
        stdout,
        "tc qdisc replace dev no-such-dev root handle 5a0: tbf rate 20mbit burst 2500 latency 50ms\n\
         tc qdisc add dev no-such-dev parent 5a0:1 handle 5a1: codel target 20ms\n"
    );
    assert!(stderr.contains("assumes Ethernet"), "{stderr}");
}

#[test]
fn dry_run_is_plan_and_cake_is_its_own_shaper() {
    let (code, stdout, _) = gentle(&["qdisc", "plan", "x0", "cake nat", "--rate", "20mbit"]);
    assert_eq!((code, stdout.as_str()), (0, "tc qdisc replace dev x0 root handle 5a1: cake bandwidth 20mbit nat\n"));
    let (code, _, stderr) = gentle(&["qdisc", "plan", "x0", "spa", "--rate", "20mbit", "--shaper", "cake"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("accepts no other"), "{stderr}");
}

#[test]
fn mistakes_of_usage_end_with_2_and_a_missing_device_with_1() {
    for (args, part) in [
        (&["qdisc", "plan", "a/b", "codel"][..], "not the name of a network device"),
        (&["qdisc", "plan", "x0", "coddle"], "unknown scheme"),
        (&["qdisc", "plan", "x0", "codel", "--overhead", "8"], "--rate"),
        (&["qdisc", "plan", "x0", "cake fast"], "no option 'fast'"),
    ] {
        let (code, _, stderr) = gentle(args);
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?}: {stderr}");
    }
    for verb in ["show", "remove"] {
        let (code, _, stderr) = gentle(&["qdisc", verb, "x0"]);
        assert_eq!(code, 1);
        assert!(stderr.contains("there is no network device 'x0'"), "{stderr}");
    }
}

#[test]
fn schemes_without_stock_parts_say_what_to_do() {
    let (code, _, stderr) = gentle(&["qdisc", "plan", "x0", "gsp", "--backing", "stock"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("sch_gsp"), "{stderr}");
}
