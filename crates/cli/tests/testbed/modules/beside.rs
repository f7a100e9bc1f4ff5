//! Command `gentle qdisc` on devices that others configure too, and after an interruption.
//!
//! The tests are shell scripts that run within a machine, with `gentle` as the command under test.

use super::laboratory::Laboratory;

/// Setup of a cable from `wan` to `peer`, and functions common to the scripts.
const BEFORE: &str = r#"
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add wan type veth peer name peer
ip link set wan up
ip link set peer up
# Everything that is set up, without what changes while packets pass.
look() {
    # The kernel takes filters apart a moment after they were deleted, and their actions are counted until then.
    sleep 1
    {
        ip -o link show | sed 's/^[0-9]*: //; s/ qlen [0-9]*//'
        # One process for all questions: a process costs more than an answer.
        for dev in /sys/class/net/*; do
            dev=${dev##*/}
            echo "qdisc show dev $dev"
            echo "class show dev $dev"
            for parent in root 'parent 77:' 'parent 77:1' 'parent 5a0:' 'parent 5a1:' ingress egress 'parent ffff:'; do
                echo "filter show dev $dev $parent"
            done
        done | tc -force -batch - 2>/dev/null || :
    } | sed 's/direct_packets_stat [0-9]*//; s/ (rule hit.*//; s/ used [0-9]* sec//; s/ installed [0-9]* sec//; s/ index [0-9]*//; s/ fh [^ ]*//; s/ key ht [^ ]*//; s/ ht [0-9a-f]* / /' | sort
}
refused() { # words, command
    words=$1; shift
    if "$@" >/run/said 2>&1; then cat /run/said; echo "it was accepted: $*"; exit 1; fi
    grep -qe "$words" /run/said || { cat /run/said; echo "it does not say $words"; exit 1; }
}
same() { diff /run/before /run/after || { echo "$* has left something"; exit 1; }; }
"#;

/// Shell functions for trees of other origin.
const FOREIGN: &str = r"
foreign() {
    tc qdisc add dev wan root handle 77: htb default 2
    tc class add dev wan parent 77: classid 77:1 htb rate 10mbit burst 3000 cburst 3000
    tc class add dev wan parent 77:1 classid 77:2 htb rate 5mbit ceil 10mbit burst 3000 cburst 3000
    tc class add dev wan parent 77:1 classid 77:3 htb rate 1mbit ceil 10mbit burst 3000 cburst 3000
    tc qdisc add dev wan parent 77:2 handle 1: pfifo limit 33
    tc qdisc add dev wan parent 77:3 handle 2: fq_codel
    tc filter add dev wan parent 77: protocol ip pref 5 u32 match ip dport 22 0xffff flowid 77:3
}
inner() {
    tc qdisc add dev wan root handle 77: stab overhead 34 linklayer ethernet htb default 3
    tc class add dev wan parent 77: classid 77:1 htb rate 10mbit burst 3000 cburst 3000
    tc class add dev wan parent 77:1 classid 77:2 htb rate 5mbit ceil 10mbit burst 3000 cburst 3000
    tc class add dev wan parent 77:1 classid 77:3 htb rate 1mbit ceil 10mbit burst 3000 cburst 3000
    tc filter add dev wan parent 77: protocol all pref 1 matchall flowid 77:1
    tc filter add dev wan parent 77:1 protocol ip pref 5 flower ip_proto tcp dst_port 22 action skbedit mark 3
    tc filter add dev wan parent 77:1 protocol ip pref 5 flower ip_proto udp flowid 77:2
}
curves() {
    tc qdisc add dev wan root handle 77: hfsc default 2
    tc class add dev wan parent 77: classid 77:1 hfsc sc rate 18mbit ul rate 18mbit
    tc class add dev wan parent 77:1 classid 77:2 hfsc rt m1 4mbit d 10ms m2 1mbit ls rate 1mbit
    tc qdisc add dev wan parent 77:2 handle 1: cake bandwidth 17mbit
    for prio in 9 5; do tc filter add dev wan parent 77: protocol ip pref $prio u32 match ip dport $prio 0xffff flowid 77:2; done
}
";

fn runs(script: &str) {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_gentle")).parent();
    let folder = folder.expect("a folder").display();
    let script = format!("PATH={folder}:$PATH:/usr/sbin:/sbin\n{BEFORE}{FOREIGN}{script}\necho all done");
    let printed = laboratory.succeed(&["sh", "-ec", &script]);
    assert!(printed.trim_end().ends_with("all done"), "{printed}");
}

#[test]
fn arriving_packets_pass_a_clsact_of_somebody_else() {
    runs(
        r#"
        tc qdisc add dev wan clsact
        tc filter add dev wan egress protocol ip pref 7 u32 match ip dport 22 0xffff action ok
        look >/run/before
        gentle qdisc plan wan fq_codel --ingress --rate 20mbit | grep -q 'dev wan ingress'
        gentle qdisc apply wan fq_codel --ingress --rate 20mbit
        gentle qdisc apply wan fq_codel --ingress --rate 20mbit | grep 'nothing to do'
        tc qdisc show dev wan | grep -q clsact
        tc filter show dev wan egress | grep -q 'pref 7'
        ip addr add 192.0.2.1/24 dev peer
        ping -c 2 -i 0.2 -W 1 -I peer 192.0.2.2 >/dev/null 2>&1 || :
        gentle qdisc show wan
        gentle qdisc show wan | awk '/^fq_codel/ { found = $7 > 0 } END { exit !found }'
        # Somebody adds a filter meanwhile: it stays, and comes first.
        tc filter add dev wan ingress protocol ip u32 match ip dport 99 0xffff action ok
        gentle qdisc apply wan 'fq_codel target=7ms' --ingress --rate 20mbit
        tc filter show dev wan ingress | grep -q 0x00000063 || tc filter show dev wan ingress | grep -q 00000063
        gentle qdisc remove wan
        tc filter show dev wan ingress | grep -q 00000063
        tc filter del dev wan ingress
        ip addr del 192.0.2.1/24 dev peer
        look >/run/after
        same remove
        "#,
    );
}

#[test]
fn filters_of_a_clsact_are_put_aside_and_come_back() {
    runs(
        r#"
        tc qdisc add dev wan clsact
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip dport 22 0xffff action ok
        tc filter add dev wan ingress protocol ip pref 4 flower ip_proto tcp dst_port 80 action goto chain 5
        tc filter add dev wan ingress protocol all pref 1 chain 5 matchall action drop
        tc filter add dev wan egress protocol ip pref 7 flower ip_proto tcp dst_port 22 action ok
        look >/run/before
        refused 'tc filter del dev wan ingress' gentle qdisc apply wan fq_codel --ingress --rate 20mbit
        look >/run/after; same 'the refusal'
        gentle qdisc apply wan fq_codel --ingress --rate 20mbit --replace
        tc filter show dev wan ingress | grep -q 'mirred'
        if tc filter show dev wan ingress | grep -q flower; then exit 1; fi
        tc filter show dev wan egress | grep -q 'pref 7'
        gentle qdisc remove wan
        look >/run/after; same remove
        # The remedy that the refusal names.
        gentle qdisc apply wan fq_codel --ingress 2>&1 | sed -n 's/.*delete it with: //p' >/run/remedy
        test -s /run/remedy
        sh -e /run/remedy
        gentle qdisc apply wan fq_codel --ingress --rate 20mbit
        gentle qdisc remove wan
        # Objects that the kernel dumps only in part.
        tc filter add dev wan ingress protocol ip pref 3 bpf bytecode '1,6 0 0 0' action ok
        look >/run/before
        refused 'a BPF program' gentle qdisc apply wan fq_codel --ingress --rate 20mbit --replace
        look >/run/after; same 'the second refusal'
        "#,
    );
}

#[test]
fn filters_of_an_ingress_qdisc_are_put_aside_and_come_back() {
    runs(
        r#"
        tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip pref 3 u32 match ip dport 22 0xffff action drop
        tc filter add dev wan parent ffff: protocol ipv6 pref 4 matchall action ok
        look >/run/before
        refused 'tc qdisc del dev wan ingress' gentle qdisc apply wan fq_codel --ingress --rate 20mbit
        gentle qdisc apply wan fq_codel --ingress --rate 20mbit --replace
        gentle qdisc remove wan
        look >/run/after; same remove
        "#,
    );
}

/// Replacements of `tc` and `ip` that kill the calling program before or after their command.
const AXE: &str = r#"
mkdir -p /run/axe
for program in tc ip; do
    real=$(command -v $program)
    cat >/run/axe/$program <<END
#!/bin/sh
read left </run/left
echo \$((left - 1)) >/run/left
case \$left in
0) kill -9 \$PPID; exit ;;
1) $real "\$@"; kill -9 \$PPID; exit ;;
esac
exec $real "\$@"
END
    chmod +x /run/axe/$program
done
# cut_short N COMMAND...: whether it came to its end nevertheless.
cut_short() {
    echo $1 >/run/left; shift
    PATH=/run/axe:$PATH "$@" >/run/said 2>&1
}
"#;

#[test]
fn a_process_that_is_killed_loses_nothing() {
    killed_at_every_call("foreign-remove", "spa --backing stock", 20);
}

#[test]
fn a_process_that_is_killed_loses_no_inner_filter_and_no_curve() {
    killed_at_every_call("inner-remove curves-apply", "pfifo", 18);
}

#[test]
#[ignore = "make test-all"]
fn full_size_a_process_that_is_killed_loses_nothing() {
    killed_at_every_call("foreign-apply bare-apply own-remove", "spa --backing stock", 80);
}

/// Kills `gentle qdisc` before each of its calls of `tc`. Pairs name the qdisc of the device before, and the command that
/// follows; `scheme` is what is applied, and `least` is the minimum number of kills in all.
fn killed_at_every_call(pairs: &str, scheme: &str, least: u32) {
    runs(&format!(
        "pairs='{pairs}' scheme='{scheme}' least={least}\n{AXE}{}",
        r#"
        rounds=0
        for pair in $pairs; do
            before=${pair%-*} next=${pair#*-}
            case $before in
            foreign | inner | curves) $before ;;
            bare) ;;
            own) gentle qdisc apply wan 'pfifo limit=77' --rate 9mbit ;;
            esac
            look >/run/before
            n=0
            until cut_short $n gentle qdisc apply wan $scheme --rate 20mbit --replace; do
                rounds=$((rounds + 1))
                n=$((n + 1))
                if [ $next = apply ]; then
                    gentle qdisc apply wan fq_codel --rate 5mbit --replace
                fi
                gentle qdisc remove wan
                if [ $before = own ]; then gentle qdisc apply wan 'pfifo limit=77' --rate 9mbit; fi
                look >/run/after; same "$before, $n calls, then $next"
            done
            # The same for taking it off.
            n=0
            until cut_short $n gentle qdisc remove wan; do
                rounds=$((rounds + 1))
                n=$((n + 1))
                gentle qdisc remove wan
                if [ $before = own ]; then gentle qdisc apply wan 'pfifo limit=77' --rate 9mbit; fi
                look >/run/after; same "$before, removed after $n calls"
                gentle qdisc apply wan $scheme --rate 20mbit --replace
            done
            if [ $before = own ]; then gentle qdisc apply wan 'pfifo limit=77' --rate 9mbit; fi
            look >/run/after; same "$before, to the end"
            case $before in bare | own) ;; *) tc qdisc del dev wan root ;; esac
        done
        test $rounds -ge $least
        echo "killed $rounds times"
        "#
    ));
}

#[test]
fn arriving_packets_find_their_way_after_a_kill() {
    runs(&format!(
        "{AXE}{}",
        r#"
        tc qdisc add dev wan clsact
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip dport 22 0xffff action ok
        look >/run/before
        n=0
        until cut_short $n gentle qdisc apply wan spa --backing stock --ingress --rate 20mbit --replace; do
            n=$((n + 1))
            gentle qdisc remove wan
            look >/run/after; same "clsact, $n calls"
        done
        test $n -gt 10
        gentle qdisc remove wan
        look >/run/after; same 'to the end'
        "#
    ));
}

#[test]
fn what_somebody_set_up_after_a_kill_stays() {
    runs(&format!(
        "{AXE}{}",
        r#"
        foreign
        if cut_short 3 gentle qdisc apply wan fq_codel --rate 20mbit --replace; then exit 1; fi
        tc qdisc replace dev wan root handle 9: pfifo limit 9
        look >/run/before
        refused 'pfifo 9:' gentle qdisc apply wan fq_codel --rate 20mbit
        gentle qdisc remove wan | grep 'nothing to remove'
        look >/run/after; same recovery
        "#
    ));
}

#[test]
fn a_device_that_has_gone_leaves_nothing_behind() {
    runs(
        r#"
        gentle qdisc apply wan fq_codel --rate 20mbit
        gentle qdisc apply wan fq_codel --rate 20mbit --ingress
        ip link del wan
        ip link show in-wan >/dev/null
        gentle qdisc remove wan
        if ip link show in-wan >/dev/null 2>&1; then exit 1; fi
        if ls /run/gentle | grep -e json -e journal; then exit 1; fi
        refused "no network device 'wan'" gentle qdisc remove wan
        "#,
    );
}

#[test]
fn many_transmit_queues_do_not_become_one_without_a_word() {
    runs(
        r#"
        ip link add many numtxqueues 4 type veth peer name other numrxqueues 4
        ip link set many up
        tc qdisc add dev many root handle 66: mq
        look >/run/before
        gentle qdisc plan many spa --rate 20mbit 2>&1 | grep 'many has 4 transmit queues'
        gentle qdisc apply many spa --rate 20mbit --replace 2>&1 | grep 'many has 4 transmit queues'
        gentle qdisc remove many | grep 'mq 66: restored'
        look >/run/after; same remove
        "#,
    );
}

#[test]
fn what_cannot_be_written_down_is_not_put_aside() {
    runs(
        r#"
        # The machine itself has something in that folder.
        read_only() { unshare --mount sh -ec 'mount -t tmpfs -o ro,mode=700 none /run/gentle; exec "$@"' sh "$@"; }
        read_only gentle qdisc apply wan 'pfifo limit=50' 2>&1 | grep 'could not be recorded'
        refused 'so it stays' gentle qdisc remove wan
        tc qdisc del dev wan root
        foreign
        look >/run/before
        refused /run/gentle read_only gentle qdisc apply wan 'pfifo limit=50' --replace
        look >/run/after; same 'the refusal'
        "#,
    );
}

/// Earlier versions set `gentle` up with a classifier in BPF, whose file is needed as long as a record names it.
#[test]
fn a_setup_of_an_earlier_version_is_replaced_and_removed() {
    runs(
        r#"
        former() {
            foreign
            look >/run/before
            gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit --replace
            tc qdisc del dev wan parent 5a0:1
            tc qdisc add dev wan parent 5a0:1 handle 5a1: prio bands 3
            for band in 1 2 3; do tc qdisc add dev wan parent 5a1:$band handle 5a$((band + 1)): codel; done
            tc filter add dev wan parent 5a1: protocol all pref 1 bpf bytecode '1,6 0 0 1'
            touch /run/gentle/ages-00000001.o
            command='{"program":"Tc","args":["filter","add","dev","wan","bpf","object-file","/run/gentle/ages-00000001.o"]}'
            sed -i "s|\"commands\":\[|&$command,|" /run/gentle/*.json
            grep -q ages- /run/gentle/*.json
            gentle qdisc show wan | grep -q prio
        }
        gone() {
            test -z "$(ls /run/gentle | grep ages-)"
            test -z "$(tc qdisc show dev wan | grep prio)"
        }
        former
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit | grep 'set up'
        gone
        gentle qdisc remove wan
        look >/run/after; same 'an upgrade'
        tc qdisc del dev wan root
        former
        gentle qdisc remove wan
        gone
        look >/run/after; same 'the removal'
        "#,
    );
}

/// A service with `ProtectKernelModules` cannot see /lib/modules, where modprobe looks for modules.
#[test]
fn the_kernel_is_asked_for_modules_and_not_files() {
    runs(
        r#"
        mount -t tmpfs none /sys/module
        mkdir /run/no-modprobe
        printf '#!/bin/sh\nexit 1\n' >/run/no-modprobe/modprobe
        chmod +x /run/no-modprobe/modprobe
        PATH=/run/no-modprobe:$PATH
        gentle qdisc plan wan spa --rate 20mbit | grep -q ': spa$'
        gentle qdisc apply wan spa --rate 20mbit 2>/run/words
        if grep module /run/words; then exit 1; fi
        tc qdisc show dev wan | grep -q 'qdisc spa 5a1:'
        gentle qdisc remove wan
        "#,
    );
}
