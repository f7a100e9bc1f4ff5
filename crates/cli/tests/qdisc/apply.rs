//! Applying and removing queues.

use super::namespace::{has, run, stdout};

/// Shell function that shows all objects on a device, without counters.
const LOOK: &str = "look() { tc qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//'; tc class show dev wan; for p in root 1: 77: 5a0: 5a1:; do tc filter show dev wan parent $p 2>/dev/null || :; done; }\n";

#[test]
fn applied_once_it_is_there_and_again_nothing_happens() {
    let Some(text) = stdout(
        "before=$(tc qdisc show dev wan)
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc -d qdisc show dev wan; tc -d class show dev wan
        tc qdisc show dev wan > /run/a
        ping -c 1 -W 1 -I wan 192.0.2.1 >/dev/null 2>&1 || :
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc qdisc show dev wan | cmp - /run/a
        gentle qdisc apply wan 'pfifo limit=60' --rate 20mbit
        tc qdisc show dev wan
        gentle qdisc remove wan
        test \"$before\" = \"$(tc qdisc show dev wan)\"
        gentle qdisc remove wan",
    ) else {
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "wan: set up; see gentle qdisc show wan");
    for part in [
        "qdisc htb 5a0: root",
        "qdisc pfifo 5a1: parent 5a0:1 limit 50p",
        "rate 20Mbit ceil 20Mbit",
        "wan: nothing to do, already set up like this",
        "qdisc pfifo 5a1: parent 5a0:1 limit 60p",
        "wan: egress removed",
        "wan: nothing to remove",
    ] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

#[test]
fn a_changed_setup_is_set_up_again() {
    let Some(text) = stdout(
        "gentle qdisc apply wan 'pfifo limit=50'
        tc qdisc replace dev wan root handle 5a1: pfifo limit 7
        gentle qdisc apply wan 'pfifo limit=50'
        tc qdisc show dev wan",
    ) else {
        return;
    };
    assert!(text.trim_end().ends_with("limit 50p"), "{text}");
    assert!(!text.contains("nothing to do"), "{text}");
}

/// Shell commands for an htb tree of other origin.
const FOREIGN: &str = "\
tc qdisc add dev wan root handle 77: htb default 2
tc class add dev wan parent 77: classid 77:1 htb rate 10mbit burst 3000 cburst 3000
tc class add dev wan parent 77:1 classid 77:2 htb rate 5mbit ceil 10mbit burst 3000 cburst 3000
tc class add dev wan parent 77:1 classid 77:3 htb rate 1mbit ceil 10mbit burst 3000 cburst 3000
tc qdisc add dev wan parent 77:2 handle 1: pfifo limit 33
tc qdisc add dev wan parent 77:3 handle 2: bfifo limit 44000
tc filter add dev wan parent 77: protocol ip pref 5 u32 match ip dport 22 0xffff flowid 77:3
";

#[test]
fn what_came_from_elsewhere_is_left_alone_unless_asked_and_comes_back() {
    let refused = format!("{FOREIGN}gentle qdisc apply wan 'pfifo limit=50'");
    let Some(output) = run(&refused) else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("htb 77:") && words.contains("--replace"), "{words}");

    let replaced = stdout(&format!(
        "{LOOK}{FOREIGN}look > /run/before
        gentle qdisc apply wan 'pfifo limit=50' --replace
        tc qdisc show dev wan
        gentle qdisc remove wan
        look > /run/after
        diff /run/before /run/after"
    ));
    let text = replaced.expect("namespaces work, as seen above");
    assert!(text.contains("qdisc pfifo 5a1: root"), "{text}");
    assert!(text.contains("htb 77: restored"), "{text}");
}

#[test]
fn a_command_that_fails_in_the_middle_leaves_all_as_it_was() {
    // A tc that rejects one command: the shaper before it is created and has to be removed again.
    let refusing = r#"
        mkdir /run/refusing
        real=$(command -v tc)
        printf '#!/bin/sh\ncase "$*" in *"pfifo limit 9") echo "Error: not today." >&2; exit 2 ;; esac\nexec %s "$@"\n' "$real" >/run/refusing/tc
        chmod +x /run/refusing/tc
        "#;
    for (name, before) in [
        ("nothing", ""),
        ("of gentle's", "gentle qdisc apply wan 'pfifo limit=50' --rate 5mbit\n"),
        ("of others", FOREIGN),
    ] {
        let Some(output) = run(&format!(
            "{refusing}{LOOK}{before}look > /run/before
            if PATH=/run/refusing:$PATH gentle qdisc apply wan 'pfifo limit=9' --rate 20mbit --replace 2>/run/error; then exit 1; fi
            look > /run/after
            diff /run/before /run/after
            cat /run/error"
        )) else {
            return;
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {text}{words}");
        assert!(
            text.contains("'tc qdisc add dev wan parent 5a0:1 handle 5a1: pfifo limit 9' failed: Error: not today."),
            "{name}: {text}"
        );
        assert!(text.contains("the previous state was restored"), "{name}: {text}");
    }
}

/// If a module is missing, nothing changes, and stock parts do not replace it silently.
#[test]
fn a_module_that_is_missing_is_named() {
    let Some(output) =
        run("if modprobe -q sch_redfavor 2>/dev/null || test -d /sys/module/sch_redfavor; then exit 42; fi
        tc qdisc show dev wan >/run/before
        if gentle qdisc apply wan redfavor --rate 20mbit --backing native 2>/run/error; then exit 1; fi
        tc qdisc show dev wan | diff /run/before -
        cat /run/error
        gentle qdisc plan wan spa --rate 20mbit 2>&1")
    else {
        return;
    };
    if output.status.code() == Some(42) {
        eprintln!("skipped: sch_redfavor is there, so its absence cannot be tried");
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in [
        "this kernel has no sch_redfavor",
        "--backing stock or auto does not need it",
        "spa is set up without gentle's kernel module: this kernel has no sch_spa",
        "5a1: prio bands 2",
    ] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

/// The error for a missing part of Linux names its packages. The kernel that runs this test may have all of them.
#[test]
fn a_queue_that_is_missing_is_named_with_its_package() {
    let Some(output) = run("if tc qdisc add dev wan root prio 2>/dev/null; then exit 42; fi
        gentle qdisc apply wan spa --backing stock --rate 20mbit 2>&1 || :")
    else {
        return;
    };
    if output.status.code() == Some(42) {
        // A unit test covers the message itself.
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("no sch_prio") && text.contains("kmod-sched-prio"), "{text}");
}

#[test]
fn without_the_capability_it_is_said_which() {
    let Some(output) = run("setpriv --bounding-set=-net_admin gentle qdisc apply wan 'pfifo limit=50'") else {
        return;
    };
    let words = String::from_utf8(output.stderr).unwrap();
    if words.contains("setpriv: ") {
        eprintln!("skipped: setpriv cannot be used here: {words}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("CAP_NET_ADMIN"), "{words}");
}

#[test]
fn priority_from_stock_parts_is_accepted_and_recognised() {
    if !has(&["htb", "prio", "codel"]) {
        return;
    }
    let text = stdout(
        "gentle qdisc apply wan spa --backing stock
        gentle qdisc apply wan spa --backing stock
        tc qdisc show dev wan",
    )
    .expect("namespaces work, as seen above");
    assert!(text.contains("nothing to do"), "{text}");
    assert!(text.contains("codel 5a2: parent 5a1:1"), "{text}");
}
