//! Several commands at once.

use super::namespace::stdout;

/// Shell function that runs its commands at once and requires each to succeed.
const AT_ONCE: &str = r#"
at_once() { # command...
    pids=
    n=0
    for command; do
        n=$((n + 1))
        sh -c "$command" >/run/said-$n 2>&1 &
        pids="$pids $!"
    done
    n=0
    for pid in $pids; do
        n=$((n + 1))
        wait $pid || { echo "failed: "; cat /run/said-$n; exit 1; }
        grep -qe 'set up' -e 'nothing to do' -e 'removed' -e 'nothing to remove' /run/said-$n || { cat /run/said-$n; exit 1; }
    done
}
"#;

#[test]
fn commands_at_once_take_turns_and_lose_nothing() {
    let Some(text) = stdout(&format!(
        r#"{AT_ONCE}
        tc qdisc add dev wan root handle 7: tbf rate 1mbit burst 5000 limit 10000
        tc -d qdisc show dev wan >/run/before
        for round in 1 2 3 4 5 6 7 8 9 10; do
            at_once "gentle qdisc apply wan 'pfifo limit=50' --rate 10mbit --replace" \
                "gentle qdisc apply wan 'bfifo limit=9kb' --rate 20mbit --replace" \
                "gentle qdisc remove wan" \
                "gentle qdisc apply wan 'pfifo limit=60' --replace" \
                "gentle qdisc remove wan"
            gentle qdisc remove wan >/dev/null
            tc -d qdisc show dev wan | diff /run/before -
        done
        echo all done"#
    )) else {
        return;
    };
    assert!(text.ends_with("all done\n"), "{text}");
}

#[test]
fn both_directions_at_once_take_turns() {
    let Some(text) = stdout(&format!(
        r#"{AT_ONCE}
        ip link add name x type ifb 2>/dev/null || {{ echo no ifb; exit 0; }}
        ip link del x
        tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip pref 3 u32 match ip dport 22 0xffff action mirred egress mirror dev lo
        # A tree for outgoing packets is no part of what passes the ingress qdisc.
        tc qdisc add dev wan root handle 7: htb default 1
        tc class add dev wan parent 7: classid 7:1 htb rate 5mbit
        look() {{ tc -d qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//'; tc -d class show dev wan; tc -d filter show dev wan parent ffff:; }}
        look >/run/before
        for round in 1 2 3 4 5; do
            at_once "gentle qdisc apply wan pfifo --rate 10mbit --ingress --replace" \
                "gentle qdisc apply wan bfifo --rate 20mbit --ingress --replace" \
                "gentle qdisc apply wan pfifo --rate 10mbit --replace" \
                "gentle qdisc remove wan --ingress" \
                "gentle qdisc remove wan"
            gentle qdisc remove wan >/dev/null
            look | diff /run/before -
        done
        echo all done"#
    )) else {
        return;
    };
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return;
    }
    assert!(text.ends_with("all done\n"), "{text}");
}

/// A process may be killed at any moment, also while it rehearses and restores over netlink.
#[test]
fn a_process_killed_at_any_moment_loses_nothing() {
    let Some(text) = stdout(
        r#"
        tc qdisc add dev wan root handle 1: htb default 11
        tc class add dev wan parent 1: classid 1:1 htb rate 10mbit
        for class in 10 11 12 13; do
            tc class add dev wan parent 1:1 classid 1:$class htb rate 1mbit ceil 10mbit
            tc qdisc add dev wan parent 1:$class handle $class: pfifo limit 1$class
        done
        tc filter add dev wan parent 1:1 protocol ip pref 5 u32 match ip dport 22 0xffff flowid 1:10
        look() { tc -d qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//' | sort; tc -d class show dev wan | sort; tc -d filter show dev wan parent 1:1; }
        look >/run/before
        killed=0
        for ms in 002 004 006 008 010 012 014 016 018 020 024 028 032 036 040 050 060 070 080 100; do
            for before in nothing gentle; do
                set -- gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit --replace
                if [ $before = gentle ]; then
                    "$@" >/dev/null
                    set -- gentle qdisc remove wan
                fi
                # The programs that it has started continue.
                { timeout --foreground --signal=KILL 0.$ms "$@" || killed=$((killed + 1)); } >/dev/null 2>&1
                gentle qdisc remove wan >/dev/null
                look | diff /run/before - || { echo "$before, killed after $ms ms"; exit 1; }
                if ip link show gentle-scratch 2>/dev/null; then exit 1; fi
            done
        done
        echo killed: $killed"#,
    ) else {
        return;
    };
    let killed = text.trim_end().strip_prefix("killed: ");
    let killed: u32 = killed.and_then(|n| n.parse().ok()).expect(&text);
    assert!(killed >= 5, "{text}");
}
