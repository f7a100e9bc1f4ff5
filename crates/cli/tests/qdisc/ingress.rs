//! Queues for incoming packets.

use super::namespace::{run, stdout};

const NO_IFB: &str = "ip link add name x type ifb 2>/dev/null || exit 42; ip link del x\n";

#[test]
fn arriving_packets_pass_the_queue_and_taking_it_off_leaves_nothing() {
    let Some(output) = run(&format!(
        "{NO_IFB}
        ip link show > /run/before
        gentle qdisc apply wan 'bfifo limit=64kb' --ingress --rate 50mbit
        gentle qdisc apply wan 'bfifo limit=64kb' --ingress --rate 50mbit
        ip addr add 192.0.2.1/24 dev peer
        ping -c 1 -W 1 -I peer 192.0.2.2 >/dev/null 2>&1 || :
        gentle qdisc show wan
        gentle qdisc remove wan --ingress
        tc qdisc show dev wan ingress
        ip link show | grep -c in-wan || :"
    )) else {
        return;
    };
    if output.status.code() == Some(42) {
        eprintln!("skipped: this kernel has no ifb");
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{:?}", output.stderr);
    assert!(text.contains("nothing to do"), "{text}");
    let row = text.lines().find(|line| line.starts_with("bfifo 5a1:"));
    let row: Vec<&str> = row.expect("its row").split_whitespace().collect();
    assert_eq!(row[2], "ingress");
    assert!(row[4].parse::<u64>().unwrap() >= 1, "{text}");
    assert!(text.contains("wan: ingress removed\n0\n"), "{text}");
}

#[test]
fn an_ingress_queue_of_somebody_else_is_not_touched() {
    let Some(output) = run("tc qdisc add dev wan handle ffff: ingress
        gentle qdisc apply wan pfifo --ingress --rate 50mbit || code=$?
        tc qdisc show dev wan ingress
        exit $code")
    else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    let (text, words) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("qdisc ingress ffff:"), "{text}");
    assert!(words.contains("tc qdisc del dev wan ingress"), "{words}");
}

#[test]
fn a_device_that_has_the_name_is_not_taken() {
    let Some(text) = stdout(
        "ip link add in-wan type veth peer name other
        gentle qdisc apply wan pfifo --ingress --rate 50mbit 2>&1 || echo $?
        ip link show in-wan",
    ) else {
        return;
    };
    assert!(text.contains("a device in-wan that is not gentle's"), "{text}");
}

#[test]
fn names_that_are_cut_alike_are_not_called_a_rename() {
    let Some(text) = stdout(
        "ip link add name x type ifb 2>/dev/null || { echo no ifb; exit 0; }
        for name in abcdefghijklmn0 zbcdefghijklmn0; do ip link add name $name type veth; done
        gentle qdisc apply abcdefghijklmn0 pfifo --ingress --rate 20mbit
        if gentle qdisc apply zbcdefghijklmn0 pfifo --ingress --rate 20mbit 2>/run/said; then exit 1; fi
        cat /run/said",
    ) else {
        return;
    };
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return;
    }
    assert!(text.contains("in-defghijklmn0, which abcdefghijklmn0 uses, ") && !text.contains("renamed;"), "{text}");
}

#[test]
fn a_refusal_ends_in_a_command_that_makes_way() {
    for qdisc in ["ingress_block 7 clsact", "egress_block 7 clsact", "ingress_block 7 ingress"] {
        let Some(text) = stdout(&format!(
            "ip link add name x type ifb 2>/dev/null || {{ echo missing; exit 0; }}
            tc qdisc add dev wan {qdisc} || {{ echo missing; exit 0; }}
            for option in '' --replace; do
                if gentle qdisc apply wan pfifo --ingress --rate 20mbit $option 2>/run/said; then exit 1; fi
                sed -n 's/.*delete it with: //p' /run/said >/run/remedy
                test -s /run/remedy
            done
            sh -e /run/remedy
            gentle qdisc apply wan pfifo --ingress --rate 20mbit"
        )) else {
            return;
        };
        if text != "missing\n" {
            assert_eq!(text, "wan: set up; see gentle qdisc show wan\n", "{qdisc}");
        }
    }
}
