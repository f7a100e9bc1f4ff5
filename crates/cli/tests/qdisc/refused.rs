//! Set-ups of other origin that could not be restored exactly, with what most kernels have. More are in
//! `tests/testbed/modules/foreign`.

use super::namespace::run;

#[test]
fn what_could_not_be_restored_is_refused_before_anything_has_changed() {
    let tree = "tc qdisc add dev wan root handle 1: htb default 10
        tc class add dev wan parent 1: classid 1:1 htb rate 10mbit
        tc class add dev wan parent 1:1 classid 1:10 htb rate 5mbit\n";
    for (why, commands) in [
        (
            "size table",
            "tc qdisc add dev wan root handle 1: stab overhead 40 linklayer atm htb default 10",
        ),
        (
            "numbered together",
            "tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff flowid 1:1
            tc filter add dev wan parent 1:1 protocol ip prio 1 u32 match ip dport 22 0xffff flowid 1:10",
        ),
        (
            "rate estimator",
            "tc class add dev wan parent 1:1 classid 1:11 estimator 1s 8s htb rate 1mbit",
        ),
        (
            "would differ",
            "for prio in 1 2 3; do tc filter add dev wan parent 1: protocol ip prio $prio u32 match ip dport $prio 0xffff flowid 1:10; done
            tc filter del dev wan parent 1: prio 2",
        ),
    ] {
        let tree = if commands.contains("qdisc") { "" } else { tree };
        let Some(output) = run(&format!(
            "{tree}{commands}
            look() {{ tc -d qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//'; tc -d class show dev wan; tc -d filter show dev wan parent 1:; ip link show; }}
            look >/run/before
            if gentle qdisc apply wan pfifo --rate 20mbit --replace; then exit 1; fi
            look | diff /run/before -"
        )) else {
            return;
        };
        let words = String::from_utf8(output.stderr).unwrap();
        let differs = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{why}: {words}{differs}");
        assert!(
            words.contains(why) && words.contains("nothing was changed"),
            "{why}: {words}"
        );
    }
}

/// Filters of inner classes are part of a set-up.
#[test]
fn filters_of_an_inner_class_come_back() {
    let Some(output) = run(
        "tc qdisc add dev wan root handle 1: stab overhead 30 htb default 10
        tc class add dev wan parent 1: classid 1:1 htb rate 10mbit
        tc class add dev wan parent 1:1 classid 1:10 htb rate 5mbit
        for prio in 9 1 5; do tc filter add dev wan parent 1:1 protocol ip prio $prio u32 match ip dport $prio 0xffff flowid 1:10; done
        look() { tc -d qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//'; tc -d class show dev wan; tc -d filter show dev wan parent 1:1; ip link show; }
        look >/run/before
        gentle qdisc apply wan pfifo --rate 20mbit --replace
        gentle qdisc remove wan
        look | diff /run/before -",
    ) else {
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{words}");
}
