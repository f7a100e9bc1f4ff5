//! Devices that are renamed, replaced, or belong to another network namespace.

use super::namespace::stdout;

/// `wan` with a setup in both directions, and its peer in a separate network namespace, from which it is pinged.
const SET_UP: &str = r#"
ip link add name x type ifb 2>/dev/null || { echo no ifb; exit 0; }
ip link del x
unshare --net sleep 60 &
beyond=$!
trap 'kill $beyond' EXIT
until [ "$(readlink /proc/$beyond/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link set peer netns $beyond
there() { nsenter --net=/proc/$beyond/ns/net "$@"; }
there ip addr add 192.0.2.2/24 dev peer
there ip link set peer up
ip addr add 192.0.2.1/24 dev wan
reachable() { there ping -c 2 -i 0.2 -W 1 192.0.2.1 >/dev/null; }
rename() { ip link set wan down; ip link set wan name w0; ip link set w0 up; }
nothing_left() { # device
    if ip link show | grep -e ': in-' -e scratch; then exit 1; fi
    if tc qdisc show dev $1 | grep -e ingress -e 5a; then exit 1; fi
    if ls /run/gentle | grep -e json -e journal; then exit 1; fi
    reachable
}
gentle qdisc apply wan pfifo --rate 50mbit >/dev/null
gentle qdisc apply wan pfifo --rate 50mbit --ingress >/dev/null
reachable
"#;

/// Output of a script after [`SET_UP`]; `None` if something is missing here.
fn after(script: &str) -> Option<String> {
    let text = stdout(&format!("{SET_UP}{script}"))?;
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return None;
    }
    Some(text)
}

#[test]
fn a_renamed_device_keeps_its_setup() {
    let Some(text) = after(
        "rename
        reachable
        gentle qdisc show w0
        gentle qdisc remove w0
        nothing_left w0",
    ) else {
        return;
    };
    assert!(text.contains("ingress"), "{text}");
    for part in ["w0: ingress removed\n", "w0: egress removed\n"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_renamed_device_gets_another_setup() {
    let Some(text) = after(
        "rename
        gentle qdisc apply w0 'pfifo limit=77' --rate 50mbit --ingress
        gentle qdisc apply w0 'pfifo limit=78' --rate 50mbit
        reachable
        gentle qdisc apply w0 'pfifo limit=78' --rate 50mbit
        gentle qdisc apply w0 'pfifo limit=77' --rate 50mbit --ingress
        ip link show | grep -o 'in-[^:]*:'
        gentle qdisc show w0
        gentle qdisc remove w0
        nothing_left w0",
    ) else {
        return;
    };
    assert_eq!(text.matches("nothing to do").count(), 2, "{text}");
    assert!(text.contains("\nin-w0:\n"), "{text}");
}

#[test]
fn a_setup_is_removed_by_the_old_name() {
    let Some(text) = after(
        "rename
        gentle qdisc remove wan
        nothing_left w0
        gentle qdisc remove wan 2>&1 || :",
    ) else {
        return;
    };
    for part in [
        "wan, which was renamed to w0: ingress removed\n",
        "wan, which was renamed to w0: egress removed\n",
        "there is no network device 'wan'",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}

#[test]
fn a_new_device_of_the_old_name_is_another_one() {
    let Some(text) = after(
        "rename
        ip link add wan type veth peer name other
        ip link set wan up
        gentle qdisc remove wan
        gentle qdisc show wan
        echo '--'
        gentle qdisc apply wan pfifo --rate 50mbit --ingress 2>&1 || :
        gentle qdisc apply wan pfifo --rate 50mbit
        reachable
        gentle qdisc apply w0 pfifo --rate 50mbit --ingress
        gentle qdisc apply wan pfifo --rate 50mbit --ingress
        reachable
        gentle qdisc remove wan
        reachable
        gentle qdisc remove w0
        nothing_left w0
        nothing_left wan",
    ) else {
        return;
    };
    assert!(text.starts_with("wan: nothing to remove\n"), "{text}");
    let (before, after) = text.split_once("--\n").expect("a line");
    assert!(!before.contains("ingress"), "{text}");
    assert!(after.contains("in-wan, which w0 still uses since it was renamed"), "{text}");
}

#[test]
fn a_setup_of_a_device_that_is_gone_is_removed_and_no_other() {
    let Some(text) = after(
        "rename
        ip link del w0
        gentle qdisc remove wan
        if ip link show | grep ': in-'; then exit 1; fi
        if ls /run/gentle | grep -e json -e journal; then exit 1; fi",
    ) else {
        return;
    };
    assert!(text.contains("the device no longer exists"), "{text}");
}

/// A dial-up device is deleted and created with every connection.
#[test]
fn a_device_that_comes_back_gets_its_setup_again() {
    let Some(text) = after(
        "for action in apply remove; do
            ip link del wan
            ip link add wan type veth peer name peer
            ip link set peer netns $beyond
            ip link set wan up
            ip addr add 192.0.2.1/24 dev wan
            there ip addr add 192.0.2.2/24 dev peer
            there ip link set peer up
            reachable
            case $action in
            apply)
                gentle qdisc apply wan pfifo --rate 50mbit --ingress
                gentle qdisc apply wan pfifo --rate 50mbit --ingress
                reachable
                ;;
            remove) gentle qdisc remove wan ;;
            esac
        done
        nothing_left wan",
    ) else {
        return;
    };
    assert!(text.contains("nothing to do"), "{text}");
    assert!(text.contains("wan: ingress removed\n"), "{text}");
}

#[test]
fn a_setup_whose_intermediate_device_was_deleted_is_removed() {
    let Some(text) = after(
        "ip link del in-wan
        if reachable; then exit 1; fi
        gentle qdisc apply wan pfifo --rate 50mbit --ingress
        reachable
        ip link del in-wan
        gentle qdisc remove wan
        nothing_left wan",
    ) else {
        return;
    };
    assert!(text.contains("wan: ingress removed\n"), "{text}");
}

/// Commands run manually name no interface index.
#[test]
fn a_setup_made_from_a_plan_is_recognised() {
    let Some(text) = after(
        "gentle qdisc remove wan >/dev/null
        gentle qdisc plan wan pfifo --rate 50mbit --ingress >/run/plan
        grep -q 'ingress of wan' /run/plan
        sh -e /run/plan
        rename
        gentle qdisc show w0
        reachable
        gentle qdisc remove wan 2>&1 || :
        reachable
        gentle qdisc remove w0
        nothing_left w0",
    ) else {
        return;
    };
    assert!(text.contains(" ingress "), "{text}");
    assert!(text.contains("there is no network device 'wan'"), "{text}");
    assert!(text.contains("w0: ingress removed\n"), "{text}");
}

/// The kernel gives the inode number of a deleted namespace to the next one.
#[test]
fn the_saved_state_of_a_deleted_namespace_is_not_that_of_the_next() {
    let Some(text) = stdout(
        r#"
        mkdir /run/axe
        printf '#!/bin/sh\nkill -9 $PPID\n' >/run/axe/tc
        chmod +x /run/axe/tc
        cat >/run/a <<'END'
        ip link add index 77 name v0 type veth peer name v1
        tc qdisc add dev v0 root handle 7: tbf rate 1mbit burst 5000 limit 10000
        PATH=/run/axe:$PATH gentle qdisc apply v0 pfifo --rate 20mbit --replace || :
        tc qdisc show dev v0 | grep -q 'tbf 7:'
        readlink /proc/self/ns/net
END
        cat >/run/b <<'END'
        ip link add index 77 name v0 type veth peer name v1
        gentle qdisc apply v0 bfifo --rate 20mbit >/run/said 2>&1 || { cat /run/said; exit 1; }
        if grep interrupted /run/said; then exit 1; fi
        tc qdisc show dev v0 | grep -q 'htb 5a0:'
        gentle qdisc remove v0 >/dev/null
        if tc qdisc show dev v0 | grep tbf; then exit 1; fi
        readlink /proc/self/ns/net
END
        first=$(unshare --net sh -e /run/a 2>/dev/null)
        ls /run/gentle | grep journal
        for n in 1 2 3 4 5 6 7 8; do
            next=$(unshare --net sh -e /run/b) || { echo "$next"; exit 1; }
            if [ "$next" = "$first" ]; then echo reused; break; fi
        done
        echo left: $(ls /run/gentle)"#,
    ) else {
        return;
    };
    // The name of the journal has the boot and the cookie, a counter.
    let journal = text.lines().find(|line| line.ends_with("-77-egress.journal"));
    let name: Vec<&str> = journal.expect(&text).split('-').collect();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(Some(name[0]), boot.split('-').next(), "{text}");
    let cookie = name[1].parse::<u64>().is_ok();
    assert!(cookie || name[1].starts_with("inode"), "{text}");
    // The number of the namespace proves that the one of the journal is gone.
    if text.contains("reused") {
        assert!(text.ends_with("left: lock\n"), "{text}");
    }
}

/// A queue that cannot be restored does not keep a device from being set up for ever.
#[test]
fn a_queue_that_cannot_be_restored_can_be_given_up() {
    let Some(text) = stdout(
        r#"
        ip link add gone type veth peer name other
        tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip pref 3 u32 match ip dport 22 0xffff action mirred egress mirror dev gone
        ip link add name x type ifb 2>/dev/null || { echo no ifb; exit 0; }
        gentle qdisc apply wan pfifo --rate 20mbit --ingress --replace
        ip link del gone
        for n in 1 2; do
            if gentle qdisc remove wan 2>/run/said; then exit 1; fi
            cat /run/said
        done
        if gentle qdisc apply wan pfifo --rate 20mbit --ingress 2>/run/said; then exit 1; fi
        cat /run/said
        gentle qdisc remove wan --discard
        tc qdisc show dev wan | grep -c ingress || :
        gentle qdisc apply wan pfifo --rate 20mbit --ingress
        gentle qdisc remove wan"#,
    ) else {
        return;
    };
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return;
    }
    let stays = "ingress ffff: of wan could not be restored";
    assert_eq!(text.matches(stays).count(), 3, "{text}");
    assert!(text.contains("gentle qdisc remove wan --discard"), "{text}");
    assert!(
        text.ends_with("wan: ingress removed\n0\nwan: set up; see gentle qdisc show wan\nwan: ingress removed\n"),
        "{text}"
    );
}

/// A direction that cannot be restored holds up no other, and only what cannot be restored is given up.
#[test]
fn each_direction_is_removed_by_itself() {
    let Some(text) = stdout(
        r#"
        ip link add gone type veth peer name other
        tc qdisc add dev wan root handle 1: htb default 9
        tc class add dev wan parent 1: classid 1:9 htb rate 9mbit
        tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip pref 3 u32 match ip dport 22 0xffff action mirred egress mirror dev gone
        ip link add name x type ifb 2>/dev/null || { echo no ifb; exit 0; }
        gentle qdisc apply wan pfifo --rate 20mbit --replace
        gentle qdisc apply wan pfifo --rate 20mbit --ingress --replace
        ip link del gone
        if gentle qdisc remove wan 2>/run/said; then exit 1; fi
        cat /run/said
        tc class show dev wan | grep -c 'class htb 1:9 '
        gentle qdisc apply wan pfifo --rate 20mbit --replace
        gentle qdisc remove wan --discard
        tc class show dev wan | grep -c 'class htb 1:9 '
        tc qdisc show dev wan | grep -c ingress || :"#,
    ) else {
        return;
    };
    if text == "no ifb\n" {
        eprintln!("skipped: this kernel has no ifb");
        return;
    }
    let stays = "ingress ffff: of wan could not be restored";
    assert_eq!(text.matches(stays).count(), 1, "{text}");
    let restored = "wan: egress removed, htb 1: restored\n";
    assert_eq!(text.matches(restored).count(), 2, "{text}");
    assert!(text.contains("wan: ingress removed\n"), "{text}");
    assert!(text.ends_with("\n1\n0\n"), "{text}");
}

/// A qdisc that could not be restored stays saved, even if somebody changes the part that was restored.
#[test]
fn a_saved_queue_survives_changes_of_its_remainder() {
    let Some(text) = stdout(
        r#"
        ip link add gone type veth peer name other
        tc qdisc add dev wan root handle 1: htb default 9
        tc class add dev wan parent 1: classid 1:9 htb rate 9mbit
        tc filter add dev wan parent 1: protocol ip pref 3 u32 match ip dport 22 0xffff action mirred egress mirror dev gone
        tc filter add dev wan parent 1: protocol ip pref 5 u32 match ip dport 23 0xffff flowid 1:9
        gentle qdisc apply wan pfifo --rate 20mbit --replace
        ip link del gone
        if gentle qdisc remove wan 2>/run/said; then exit 1; fi
        cat /run/said
        tc filter add dev wan parent 1: protocol ip pref 7 u32 match ip dport 24 0xffff flowid 1:9
        for n in 1 2; do
            if gentle qdisc remove wan 2>/run/said; then exit 1; fi
            cat /run/said
        done
        tc filter show dev wan parent 1: | grep -c 'match 00000018'
        gentle qdisc remove wan --discard
        gentle qdisc remove wan"#,
    ) else {
        return;
    };
    assert_eq!(text.matches("it stays saved").count(), 3, "{text}");
    assert_eq!(text.matches("it has been changed since").count(), 2, "{text}");
    assert!(text.contains("\n1\n"), "{text}");
    assert!(text.ends_with("wan: nothing to remove\n"), "{text}");
}
