//! Setups of others that look like gentle's or are within one of gentle's.

use super::namespace::stdout;

const LOOK: &str = "look() { tc -d qdisc show dev wan | sed 's/direct_packets_stat [0-9]*//'; tc -d class show dev wan; tc -d filter show dev wan ingress; ip link show; }\n";

/// Output of a script; `None` if something is missing here.
fn with_ifb(script: &str) -> Option<String> {
    let text = stdout(&format!(
        "{LOOK}ip link add name x type ifb 2>/dev/null || {{ echo no ifb; exit 0; }}
        ip link del x
        {script}"
    ))?;
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return None;
    }
    Some(text)
}

/// A handle is anybody's to choose.
#[test]
fn a_handle_of_gentles_does_not_make_a_qdisc_its_own() {
    for (kind, tree) in [
        ("tbf", "tc qdisc add dev wan root handle 5a0: tbf rate 7mbit burst 9k limit 9k"),
        ("pfifo", "tc qdisc add dev wan root handle 5a1: pfifo limit 7"),
        (
            "htb",
            "tc qdisc add dev wan root handle 5a0: htb default 1
            tc class add dev wan parent 5a0: classid 5a0:1 htb rate 20mbit
            tc qdisc add dev wan parent 5a0:1 handle 5a1: pfifo limit 50",
        ),
    ] {
        let Some(text) = stdout(&format!(
            "{LOOK}{tree}
            look >/run/before
            if gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit 2>/run/said; then exit 1; fi
            cat /run/said
            for option in '' --discard; do
                if gentle qdisc remove wan $option 2>/run/said; then exit 1; fi
                cat /run/said
            done
            look | diff /run/before -
            gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit --replace
            gentle qdisc apply wan 'pfifo limit=60' --rate 20mbit
            gentle qdisc remove wan
            look | diff /run/before -
            sed -n 's/.*to delete it, run: //p' /run/said >/run/remedy
            sh -e /run/remedy
            gentle qdisc remove wan"
        )) else {
            return;
        };
        assert!(text.contains("has no record of: ") && text.contains("--replace"), "{kind}: {text}");
        assert_eq!(text.matches("so it stays").count(), 2, "{kind}: {text}");
        assert!(text.ends_with("wan: nothing to remove\n"), "{kind}: {text}");
    }
}

#[test]
fn what_replaced_a_setup_under_its_handle_is_not_removed() {
    let Some(text) = stdout(&format!(
        "{LOOK}
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc qdisc del dev wan root
        tc qdisc add dev wan root handle 5a0: htb default 7
        tc class add dev wan parent 5a0: classid 5a0:7 htb rate 4mbit
        look >/run/before
        if gentle qdisc remove wan; then exit 1; fi
        if gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit; then exit 1; fi
        look | diff /run/before -
        tc qdisc del dev wan root
        # Changes within a setup are undone.
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc class add dev wan parent 5a0: classid 5a0:7 htb rate 4mbit
        tc class change dev wan parent 5a0: classid 5a0:1 htb rate 3mbit
        tc qdisc del dev wan parent 5a0:1
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        gentle qdisc remove wan"
    )) else {
        return;
    };
    assert_eq!(text.matches("set up; see").count(), 3, "{text}");
    assert!(text.ends_with("already set up like this\nwan: egress removed\n"), "{text}");
}

/// Somebody may delete a setup; what it replaced is still saved.
#[test]
fn what_a_deleted_setup_replaced_comes_back() {
    for (delete, side) in
        [("tc qdisc del dev wan root", ""), ("tc qdisc del dev wan ingress; ip link del in-wan", "--ingress")]
    {
        for apply in ["", "gentle qdisc apply wan bfifo --rate 30mbit"] {
            let again = match apply {
                "" => String::new(),
                apply => format!("{apply} {side}; {delete}; {apply} {side}"),
            };
            let Some(text) = with_ifb(&format!(
                "tc qdisc add dev wan root handle 7: htb default 9
                tc class add dev wan parent 7: classid 7:9 htb rate 9mbit
                tc qdisc add dev wan ingress
                tc filter add dev wan ingress protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev lo
                look >/run/before
                gentle qdisc apply wan pfifo --rate 20mbit --replace {side}
                {delete}
                {again}
                gentle qdisc remove wan
                look | diff /run/before -
                gentle qdisc remove wan"
            )) else {
                return;
            };
            assert!(text.ends_with(" restored\nwan: nothing to remove\n"), "{text}");
        }
    }
}

#[test]
fn filters_of_others_in_the_ingress_qdisc_stay() {
    let Some(text) = with_ifb(
        "gentle qdisc apply wan 'pfifo limit=50' --ingress --rate 20mbit
        for pref in 1 9; do
            tc filter add dev wan ingress protocol all pref $pref u32 match ip tos $pref 0xff action mirred egress mirror dev lo
        done
        others() { tc -d filter show dev wan ingress | grep -c -e 'match 00010000/00ff0000' -e 'match 00090000/00ff0000'; }
        others
        gentle qdisc apply wan 'pfifo limit=50' --ingress --rate 30mbit
        others
        gentle qdisc apply wan 'pfifo limit=50' --ingress --rate 30mbit
        tc filter show dev wan ingress | grep -c 'Redirect to device in-wan'
        gentle qdisc remove wan
        others
        tc filter show dev wan ingress | grep -c in-wan || :
        if ip link show in-wan 2>/dev/null; then exit 1; fi
        ls /run/gentle | grep -c -e json -e journal || :
        look >/run/before
        if gentle qdisc apply wan 'pfifo limit=50' --ingress --rate 30mbit; then exit 1; fi
        gentle qdisc apply wan 'pfifo limit=50' --ingress --rate 30mbit --replace
        gentle qdisc remove wan
        look | diff /run/before -",
    ) else {
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "wan: set up; see gentle qdisc show wan",
        "2",
        "wan: set up; see gentle qdisc show wan",
        "2",
        "wan: nothing to do, already set up like this",
        "1",
        "wan: ingress removed",
        "2",
        "0",
        "0",
        "wan: set up; see gentle qdisc show wan",
        "wan: ingress removed, ingress ffff: restored",
    ];
    assert_eq!(lines, expected, "{text}");
}

/// The saved filters come back next to those that were added meanwhile, also after an interruption.
#[test]
fn filters_of_others_stay_when_the_saved_ones_come_back() {
    let Some(text) = with_ifb(
        r#"tc qdisc add dev wan ingress
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev lo
        gentle qdisc apply wan pfifo --ingress --rate 20mbit --replace
        tc filter add dev wan ingress protocol ip pref 9 u32 match ip tos 9 0xff action mirred egress mirror dev lo
        mkdir /run/axe
        for program in tc ip; do
            printf '#!/bin/sh\nread left </run/left\necho $((left - 1)) >/run/left\ntest $left != 0 || { kill -9 $PPID; exit; }\nexec %s "$@"\n' $(command -v $program) >/run/axe/$program
            chmod +x /run/axe/$program
        done
        n=0
        while echo $n >/run/left; ! PATH=/run/axe:$PATH gentle qdisc apply wan bfifo --ingress --rate 30mbit >/dev/null 2>&1; do
            n=$((n + 1))
            tc filter show dev wan ingress | grep -q 'match 00090000/00ff0000'
            gentle qdisc apply wan pfifo --ingress --rate 20mbit >/run/said 2>&1 || { cat /run/said; echo "after $n"; exit 1; }
        done
        echo killed $n
        # The last call deletes the intermediate device.
        echo 2 >/run/left
        sed -i 's/^test $left != 0 .*/test $left != 1 || { ip "$@"; kill -9 $PPID; exit; }/' /run/axe/ip
        if PATH=/run/axe:$PATH gentle qdisc remove wan >/dev/null 2>&1; then exit 1; fi
        if ip link show in-wan 2>/dev/null; then exit 1; fi
        gentle qdisc remove wan
        tc filter show dev wan ingress | grep -o 'match 000[0-9]0000'"#,
    ) else {
        return;
    };
    let killed = text.lines().find_map(|line| line.strip_prefix("killed "));
    assert!(killed.and_then(|n| n.parse().ok()).is_some_and(|n: u32| n > 6), "{text}");
    assert!(text.ends_with("ingress ffff: restored\nmatch 00030000\nmatch 00090000\n"), "{text}");
}

/// `clsact` excludes an `ingress` qdisc.
#[test]
fn a_saved_ingress_qdisc_waits_until_a_clsact_is_gone() {
    let Some(text) = with_ifb(
        "tc qdisc add dev wan ingress
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev lo
        look >/run/before
        gentle qdisc apply wan pfifo --ingress --rate 20mbit --replace
        tc qdisc del dev wan ingress
        tc qdisc add dev wan clsact
        for n in 1 2; do
            if gentle qdisc remove wan 2>/run/said; then exit 1; fi
            cat /run/said
        done
        tc qdisc del dev wan clsact
        gentle qdisc remove wan
        look | diff /run/before -",
    ) else {
        return;
    };
    assert_eq!(text.matches("delete it first: tc qdisc del dev wan clsact").count(), 2, "{text}");
    assert!(text.ends_with("ingress ffff: restored\n"), "{text}");
}

#[test]
fn a_setup_whose_intermediate_device_is_down_is_set_up_again() {
    let Some(text) = with_ifb(
        "gentle qdisc apply wan pfifo --ingress --rate 20mbit
        ip link set in-wan down
        gentle qdisc apply wan pfifo --ingress --rate 20mbit
        ip link show in-wan | grep -c '[<,]UP[,>]'
        gentle qdisc apply wan pfifo --ingress --rate 20mbit",
    ) else {
        return;
    };
    assert!(
        text.ends_with("wan: set up; see gentle qdisc show wan\n1\nwan: nothing to do, already set up like this\n"),
        "{text}"
    );
}

#[test]
fn an_intermediate_device_that_others_use_is_not_deleted() {
    for filter in [
        "tc qdisc add dev user ingress; tc filter add dev user ingress protocol all u32 match u32 0 0 action mirred egress redirect dev in-wan",
        "tc qdisc add dev user clsact; tc filter add dev user egress protocol all u32 match u32 0 0 action mirred egress mirror dev in-wan",
        "tc qdisc add dev user ingress_block 7 ingress; tc filter add block 7 protocol all u32 match u32 0 0 action mirred egress redirect dev in-wan",
        "tc filter add dev wan ingress pref 9 protocol ip u32 match u32 0 0 action mirred egress redirect dev in-wan; tc qdisc add dev user ingress; tc filter add dev user ingress protocol all u32 match u32 0 0 action mirred egress mirror dev in-wan",
    ] {
        let Some(text) = with_ifb(&format!(
            "ip link add user type veth peer name far
            gentle qdisc apply wan pfifo --ingress --rate 20mbit
            {filter}
            look >/run/before
            for command in 'remove wan' 'remove wan --discard' 'apply wan pfifo --ingress --rate 30mbit'; do
                if gentle qdisc $command 2>/run/said; then exit 1; fi
                cat /run/said
            done
            look | diff /run/before -
            ip link del wan
            ip link add name wan type veth peer name other
            if gentle qdisc apply wan pfifo --ingress --rate 30mbit 2>/run/said; then exit 1; fi
            grep -q 'not gentle' /run/said
            ip link show in-wan >/dev/null"
        )) else {
            return;
        };
        assert_eq!(text.matches("a filter of others on ").count(), 3, "{text}");
    }
}

#[test]
fn a_device_of_others_with_the_name_of_the_scratch_device_stays() {
    let Some(text) = stdout(
        "ip link add gentle-scratch type veth peer name other
        tc qdisc add dev wan root handle 7: pfifo limit 7
        if gentle qdisc apply wan pfifo --rate 20mbit --replace 2>/run/said; then exit 1; fi
        cat /run/said
        gentle qdisc remove wan
        ip link show gentle-scratch >/dev/null
        ip link del gentle-scratch
        # One that an interrupted process has left.
        ip link add gentle-scratch address 02:67:65:6e:74:6c type veth peer name other
        gentle qdisc apply wan pfifo --rate 20mbit --replace
        if ip link show gentle-scratch 2>/dev/null; then exit 1; fi",
    ) else {
        return;
    };
    assert!(text.contains("no device on which to rehearse"), "{text}");
}

#[test]
fn a_saved_redirect_does_not_go_to_another_device() {
    let Some(text) = with_ifb(
        "ip link add name target type ifb
        index=$(cat /sys/class/net/target/ifindex)
        tc qdisc add dev wan ingress
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev target
        tc qdisc add dev wan root handle 7: htb
        tc filter add dev wan parent 7: protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev target
        look >/run/before
        both() { for side in '' --ingress; do gentle qdisc apply wan pfifo --rate 20mbit --replace $side >/dev/null; done; }
        both
        ip link set target name renamed
        gentle qdisc remove wan
        ip link set renamed name target
        look | diff /run/before -
        both
        ip link del target
        ip link add name foreign index $index type ifb
        if gentle qdisc remove wan 2>/run/said; then exit 1; fi
        cat /run/said
        tc filter show dev wan ingress | grep -c foreign || :
        tc filter show dev wan parent 7: | grep -c foreign || :
        ip link set foreign name target
        gentle qdisc remove wan
        look | sed 's/ state .*//; /link.ether/d' >/run/after
        sed 's/ state .*//; /link.ether/d' /run/before | diff - /run/after",
    ) else {
        return;
    };
    let gone = "a filter redirects packets to target (interface";
    assert_eq!(text.matches(gone).count(), 2, "{text}");
    assert!(text.contains("\n0\n0\n"), "{text}");
    assert!(
        text.ends_with("wan: ingress removed, ingress ffff: restored\nwan: egress removed, htb 7: restored\n"),
        "{text}"
    );
}

/// State of a deleted device: `ip link add index` gives its number to another.
#[test]
fn the_saved_state_of_a_deleted_device_is_not_that_of_the_next() {
    for (name, interrupted) in [("wan", false), ("foo", false), ("wan", true), ("foo", true)] {
        let path = match interrupted {
            true => "PATH=/run/axe:$PATH",
            false => "",
        };
        let Some(text) = with_ifb(&format!(
            r#"mkdir /run/axe
            printf '#!/bin/sh\ncase "$*" in "filter add"*) kill -9 $PPID; exit ;; esac\nexec %s "$@"\n' $(command -v tc) >/run/axe/tc
            chmod +x /run/axe/tc
            index=$(cat /sys/class/net/wan/ifindex)
            tc qdisc add dev wan ingress
            tc filter add dev wan ingress protocol ip pref 3 u32 match ip tos 3 0xff action mirred egress mirror dev lo
            tc qdisc add dev wan root handle 7: pfifo limit 7
            {path} gentle qdisc apply wan pfifo --rate 20mbit --ingress --replace >/dev/null 2>&1 || :
            gentle qdisc apply wan pfifo --rate 20mbit --replace >/dev/null
            ip link del wan
            ip link add name {name} index $index type veth peer name peer
            gentle qdisc remove {name}
            if tc qdisc show dev {name} | grep -e ingress -e pfifo; then exit 1; fi
            gentle qdisc apply {name} pfifo --rate 20mbit --ingress
            gentle qdisc apply {name} pfifo --rate 20mbit
            gentle qdisc remove {name}
            if tc qdisc show dev {name} | grep -e ingress -e pfifo; then exit 1; fi
            gentle qdisc remove wan 2>&1 || :
            if ip link show | grep in-; then exit 1; fi
            ls /run/gentle | grep -e json -e journal || :"#
        )) else {
            return;
        };
        assert!(!text.contains("interrupted") && !text.contains("restored"), "{name}: {text}");
        assert!(!text.contains("renamed"), "{name}: {text}");
        assert!(text.contains(&format!("{name}: ingress removed\n{name}: egress removed\n")), "{name}: {text}");
        assert!(!text.contains(".json") && !text.contains(".journal"), "{name}: {text}");
    }
}
