//! Set-ups of other origin, each as the commands of `tc` and `ip` that make it on `wan`.

use Expected::{Refused, Restored};

/// Fate of a set-up under `gentle qdisc apply --replace` and `gentle qdisc remove`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// It is as before.
    Restored,
    /// It is refused with these words, and nothing has changed.
    Refused(&'static str),
}

/// Direction in which gentle sets up a queue over it.
pub(super) const EGRESS: &str = "";
pub(super) const INGRESS: &str = "--ingress";

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) direction: &'static str,
    pub(super) expected: Expected,
    pub(super) commands: &'static str,
}

const fn row(name: &'static str, direction: &'static str, expected: Expected, commands: &'static str) -> Row {
    Row { name, direction, expected, commands }
}

const SIZE_TABLE: Expected = Refused("size table");

/// Shell functions for the commands.
pub(super) const FUNCTIONS: &str = r#"
# Commands of simple.qos of sqm-scripts; the arguments belong to stab and to the classes.
simple_qos() { # stab, linklayer
    tc qdisc add dev wan root handle 1: $1 htb default 12
    tc class add dev wan parent 1: classid 1:1 htb quantum 1500 rate 18000kbit ceil 18000kbit $2
    tc class add dev wan parent 1:1 classid 1:10 htb quantum 1500 rate 18000kbit ceil 18000kbit prio 0 $2
    tc class add dev wan parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil 6000kbit prio 1 $2
    tc class add dev wan parent 1:1 classid 1:12 htb quantum 1500 rate 3000kbit ceil 17984kbit prio 2 $2
    tc class add dev wan parent 1:1 classid 1:13 htb quantum 1500 rate 3000kbit ceil 17984kbit prio 3 $2
    for class in 11 12 13; do
        tc qdisc add dev wan parent 1:$class handle ${class}0: ${3:-fq_codel limit 1001 target 7ms interval 102ms noecn quantum 300 flows 1024}
    done
    tc filter add dev wan parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
    tc filter add dev wan parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
    tc filter add dev wan parent 1:0 protocol ipv6 prio 9 u32 match ip protocol 1 0xff flowid 1:13
}
marks() {
    for prio in 1 2 3; do
        tc filter add dev wan parent 1:0 protocol ip prio $prio handle $prio fw classid 1:1$prio
        tc filter add dev wan parent 1:0 protocol ipv6 prio $((prio + 3)) handle $prio fw classid 1:1$prio
    done
    tc filter add dev wan parent 1:0 protocol arp prio 7 handle 1 fw classid 1:11
}
# Ingress of sqm-scripts, and of wondershaper since 1.4: a redirection to a separate device.
redirect() { # preference
    ip link add name ifb4wan type ifb
    ip link set ifb4wan up
    tc qdisc add dev wan handle ffff: ingress
    tc filter add dev wan parent ffff: protocol all prio $1 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4wan
}
# wondershaper's wshaper.htb; the argument is the queue of each class.
wondershaper() {
    tc qdisc add dev wan root handle 1: htb default 20
    tc class add dev wan parent 1: classid 1:1 htb rate 8000kbit burst 6k
    tc class add dev wan parent 1:1 classid 1:10 htb rate 8000kbit burst 6k prio 1
    tc class add dev wan parent 1:1 classid 1:20 htb rate 7200kbit burst 6k prio 2
    tc class add dev wan parent 1:1 classid 1:30 htb rate 6400kbit burst 6k prio 2
    for class in 10 20 30; do
        tc qdisc add dev wan parent 1:$class handle $class: $1
    done
    tc filter add dev wan parent 1:0 protocol ip prio 10 u32 match ip tos 0x10 0xff flowid 1:10
    tc filter add dev wan parent 1:0 protocol ip prio 10 u32 match ip protocol 1 0xff flowid 1:10
    tc filter add dev wan parent 1: protocol ip prio 10 u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid 1:10
    tc filter add dev wan parent 1: protocol ip prio 14 u32 match ip dst 192.0.2.64/26 flowid 1:30
    tc filter add dev wan parent 1: protocol ip prio 16 u32 match ip dport 25 0xffff flowid 1:30
    tc filter add dev wan parent 1: protocol ip prio 18 u32 match ip dst 0.0.0.0/0 flowid 1:20
}
# A tree with an inner class.
tree() {
    tc qdisc add dev wan root handle 1: htb default 11
    tc class add dev wan parent 1: classid 1:1 htb rate 10mbit
    tc class add dev wan parent 1:1 classid 1:10 htb rate 5mbit ceil 10mbit
    tc class add dev wan parent 1:1 classid 1:11 htb rate 1mbit ceil 10mbit burst 5000 cburst 4000 quantum 2000 prio 3
}
"#;

pub(super) const TABLE: &[Row] = &[
    // sqm-scripts.
    row("simple.qos", EGRESS, Restored, "simple_qos; marks"),
    row("simple.qos, bfifo", EGRESS, Restored, "simple_qos '' '' 'bfifo limit 30000'"),
    row(
        "simple.qos, stab for ATM",
        EGRESS,
        SIZE_TABLE,
        "simple_qos 'stab mtu 2047 tsize 512 mpu 0 overhead 40 linklayer atm' '' pfifo",
    ),
    row(
        "simple.qos, stab with a minimum",
        EGRESS,
        SIZE_TABLE,
        "simple_qos 'stab mtu 2047 tsize 512 mpu 64 overhead 18 linklayer ethernet' '' pfifo",
    ),
    row(
        "simple.qos, stab without a table",
        EGRESS,
        Restored,
        "simple_qos 'stab mtu 2047 tsize 512 mpu 0 overhead 34 linklayer ethernet' '' pfifo",
    ),
    row(
        "simple.qos, htb_private",
        EGRESS,
        Restored,
        "simple_qos '' 'mpu 0 linklayer atm overhead 40 mtu 2047' pfifo",
    ),
    row("simple.qos, ingress", INGRESS, Restored, "redirect 10"),
    row(
        "piece_of_cake.qos",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root cake bandwidth 18000kbit atm overhead 40 besteffort",
    ),
    row(
        "piece_of_cake.qos, stab",
        EGRESS,
        SIZE_TABLE,
        "tc qdisc add dev wan root stab mtu 2047 tsize 512 mpu 0 overhead 40 linklayer atm cake bandwidth 18000kbit besteffort",
    ),
    row(
        "simplest_tbf.qos",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: tbf rate 18000kbit burst 3000 latency 300ms mtu 2047 linklayer atm overhead 40 mpu 0
        tc qdisc add dev wan parent 1: handle 110: fq_codel limit 1001 target 5ms ecn",
    ),
    // wondershaper.
    row("wondershaper", EGRESS, Restored, "wondershaper 'sfq perturb 10'"),
    row("wondershaper, pfifo", EGRESS, Restored, "wondershaper 'pfifo limit 20'"),
    row("wondershaper 1.4, ingress", INGRESS, Restored, "redirect 49152"),
    row(
        "wondershaper, the policer",
        INGRESS,
        Refused("policer"),
        "tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 police rate 2000kbit burst 10k drop flowid :1",
    ),
    // Filters.
    row(
        "u32 at an inner class",
        EGRESS,
        Restored,
        "tree
        tc filter add dev wan parent 1:1 protocol ip prio 5 u32 match ip dport 22 0xffff flowid 1:10
        tc filter add dev wan parent 1:1 protocol ip prio 5 u32 match ip dport 80 0xffff flowid 1:11",
    ),
    row(
        "u32 at the qdisc and at an inner class",
        EGRESS,
        Refused("numbered together"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff flowid 1:1
        tc filter add dev wan parent 1:1 protocol ip prio 1 u32 match ip dport 22 0xffff flowid 1:10",
    ),
    row(
        "flower at an inner class",
        EGRESS,
        Restored,
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 matchall flowid 1:1
        tc filter add dev wan parent 1:1 protocol ip prio 1 flower ip_proto tcp dst_port 22 flowid 1:10
        tc filter add dev wan parent 1:1 protocol ip prio 1 flower ip_proto udp src_ip 10.0.0.0/8 action skbedit priority 1:11 mark 7/0xff
        tc filter add dev wan parent 1:1 protocol ipv6 prio 2 flower ip_proto tcp src_ip 2001:db8::/32 flowid 1:11",
    ),
    row(
        "fw and matchall at an inner class",
        EGRESS,
        Restored,
        "tree
        for mark in 1 2 257 513; do tc filter add dev wan parent 1:1 protocol ip prio 1 handle $mark fw classid 1:10; done
        tc filter add dev wan parent 1:1 protocol all prio 2 matchall classid 1:11",
    ),
    row(
        "fw without marks",
        EGRESS,
        Refused("has no filters"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 fw",
    ),
    row(
        "u32 tables",
        EGRESS,
        Restored,
        "tree
        tc filter add dev wan parent 1: protocol ip prio 5 u32
        tc filter add dev wan parent 1: protocol ip prio 5 handle 2: u32 divisor 256
        tc filter add dev wan parent 1: protocol ip prio 5 handle 3: u32 divisor 1
        tc filter add dev wan parent 1: protocol ip prio 5 u32 ht 3: match ip dport 22 0xffff flowid 1:11
        tc filter add dev wan parent 1: protocol ip prio 5 u32 ht 2:7b: match ip src 10.0.0.123 flowid 1:10
        tc filter add dev wan parent 1: protocol ip prio 5 u32 ht 2:7c: match ip src 10.0.0.124 link 3: offset at 0 mask 0f00 shift 6
        tc filter add dev wan parent 1: protocol ip prio 5 u32 ht 800:: match ip src 10.0.0.0/8 hashkey mask 0x000000ff at 12 link 2:",
    ),
    row(
        "u32 tables with a gap in their numbers",
        EGRESS,
        Refused("would differ"),
        "tree
        for prio in 1 2 3; do tc filter add dev wan parent 1: protocol ip prio $prio u32 match ip dport $prio 0xffff flowid 1:10; done
        tc filter del dev wan parent 1: prio 2",
    ),
    row(
        "u32 of lower preference later",
        EGRESS,
        Restored,
        "tree
        for prio in 9 1 5; do tc filter add dev wan parent 1: protocol ip prio $prio u32 match ip dport $prio 0xffff flowid 1:10; done",
    ),
    row(
        "basic, the newest first",
        EGRESS,
        Restored,
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 basic match 'u32(u16 0x1000 0xf000 at 0)' classid 1:10
        tc filter add dev wan parent 1: protocol ip prio 1 basic match 'u32(u8 6 0xff at 9) and not cmp(u16 at 2 layer 1 gt 100)' classid 1:11",
    ),
    row(
        "flow",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: drr
        for class in 1 2 3 4; do tc class add dev wan parent 1: classid 1:$class drr quantum $((1000 * class)); done
        tc filter add dev wan parent 1: protocol ip prio 1 handle 1 flow map key dst and 0xff divisor 4 baseclass 1:1
        tc filter add dev wan parent 1: protocol all prio 2 handle 2 flow hash keys src,dst,proto divisor 4 baseclass 1:1",
    ),
    row(
        "prio with chains",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 3
        tc qdisc add dev wan parent 1:2 handle 2: pfifo limit 33
        tc filter add dev wan parent 1: protocol ip prio 1 flower ip_proto tcp action goto chain 7
        tc filter add dev wan parent 1: protocol ip prio 1 chain 7 flower ip_proto tcp dst_port 22 classid 1:1
        tc filter add dev wan parent 1: protocol ip prio 2 chain 7 u32 match ip tos 0x10 0xff flowid 1:1
        tc filter add dev wan parent 1: protocol ip prio 3 u32 match ip protocol 17 0xff flowid 1:3",
    ),
    row(
        "a BPF program",
        EGRESS,
        Refused("a BPF program"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 3 bpf bytecode '1,6 0 0 0' flowid 1:10",
    ),
    row(
        "a policer as an action",
        EGRESS,
        Refused("policer"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 3 flower ip_proto tcp action police rate 1mbit burst 10k conform-exceed drop/pass flowid 1:10",
    ),
    row(
        "a policer of basic, in the old form",
        EGRESS,
        Refused("policer"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 3 basic match 'u32(u8 6 0xff at 9)' police rate 1mbit burst 10k drop flowid 1:10",
    ),
    row(
        "actions",
        EGRESS,
        Restored,
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 flower ip_proto tcp action pedit ex munge ip ttl set 64 pipe action csum ip pipe action mirred egress mirror dev peer
        tc filter add dev wan parent 1: protocol ip prio 2 flower ip_proto udp action vlan push id 7 priority 2 pipe action skbedit mark 3 queue_mapping 0
        tc filter add dev wan parent 1: protocol ip prio 3 matchall action gact pass random netrand drop 5",
    ),
    row(
        "a mirror",
        INGRESS,
        Restored,
        "tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: matchall action mirred egress mirror dev lo
        tc filter add dev wan parent ffff: protocol ip prio 7 u32 match ip protocol 17 0xff action mirred ingress redirect dev lo",
    ),
    row(
        "marks of connections",
        INGRESS,
        Restored,
        "tc qdisc add dev wan handle ffff: ingress
        tc filter add dev wan parent ffff: protocol ip prio 1 matchall action connmark zone 3 pipe
        tc filter add dev wan parent ffff: protocol all prio 2 matchall action ctinfo dscp 0xfc000000 0x01000000 cpmark 0xff",
    ),
    row(
        "an action of two filters",
        EGRESS,
        Refused("also used elsewhere"),
        "tree
        tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip dport 1 0xffff action drop index 77
        tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip dport 2 0xffff action drop index 77",
    ),
    row(
        "clsact with filters on both sides",
        INGRESS,
        Restored,
        "tc qdisc add dev wan clsact
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip dport 22 0xffff action ok
        tc filter add dev wan ingress protocol ip pref 4 flower ip_proto tcp dst_port 80 action goto chain 5
        tc filter add dev wan ingress protocol all pref 1 chain 5 matchall action drop
        tc filter add dev wan egress protocol ip pref 7 matchall action ok",
    ),
    row(
        "clsact with u32 on both sides",
        INGRESS,
        Refused("numbered together"),
        "tc qdisc add dev wan clsact
        tc filter add dev wan ingress protocol ip pref 3 u32 match ip dport 22 0xffff action ok
        tc filter add dev wan egress protocol ip pref 7 u32 match ip dport 22 0xffff action ok",
    ),
    row(
        "a block of filters",
        INGRESS,
        Refused("(a block)"),
        "tc qdisc add dev wan ingress_block 22 ingress
        tc filter add block 22 protocol ip pref 3 u32 match ip dport 22 0xffff action ok",
    ),
    row(
        "a clsact with blocks",
        INGRESS,
        Refused("(a block)"),
        "tc qdisc add dev wan ingress_block 22 egress_block 23 clsact",
    ),
    row(
        "an empty chain",
        INGRESS,
        Refused("chain 11"),
        "tc qdisc add dev wan handle ffff: ingress
        tc chain add dev wan ingress chain 11",
    ),
    row(
        "a template",
        INGRESS,
        Refused("template"),
        "tc qdisc add dev wan handle ffff: ingress
        tc chain add dev wan ingress proto ip chain 3 flower dst_ip 0.0.0.0/16
        tc filter add dev wan ingress proto ip chain 3 pref 1 flower dst_ip 192.0.0.0/16 action drop",
    ),
    // Qdiscs.
    row(
        "hfsc",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: hfsc default 12
        tc class add dev wan parent 1: classid 1:1 hfsc sc rate 18mbit ul rate 18mbit
        tc class add dev wan parent 1:1 classid 1:11 hfsc rt m1 4mbit d 10ms m2 1mbit ls rate 1mbit
        tc class add dev wan parent 1:1 classid 1:12 hfsc ls m1 3mbit d 1ms m2 5mbit ul rate 17mbit
        tc qdisc add dev wan parent 1:11 handle 110: sfq
        tc filter add dev wan parent 1: protocol ip prio 5 u32 match ip tos 0x10 0xff flowid 1:11
        tc filter add dev wan parent 1:1 protocol ip prio 6 matchall flowid 1:12",
    ),
    row(
        "qfq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: qfq
        tc class add dev wan parent 1: classid 1:1 qfq weight 10 maxpkt 2048
        tc class add dev wan parent 1: classid 1:2 qfq weight 37
        tc filter add dev wan parent 1: protocol ip prio 5 u32 match ip tos 0x10 0xff flowid 1:1",
    ),
    row(
        "ets",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: ets bands 5 strict 2 quanta 4500 3000 priomap 4 3 2 1 0
        tc qdisc add dev wan parent 1:3 handle 3: pfifo limit 30",
    ),
    row("ets, strict", EGRESS, Restored, "tc qdisc add dev wan root handle 1: ets strict 4"),
    row(
        "multiq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: multiq
        tc qdisc add dev wan parent 1:3 handle 3: pfifo limit 30",
    ),
    row(
        "mq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: mq
        tc qdisc add dev wan parent 1:2 handle 12: pfifo limit 30",
    ),
    row(
        "mqprio",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: mqprio num_tc 2 map 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 queues 2@0 2@2 hw 0",
    ),
    row(
        "taprio",
        EGRESS,
        Refused("taprio 1: is of a kind"),
        "tc qdisc add dev wan root handle 1: taprio num_tc 2 map 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 queues 2@0 2@2 base-time 0 sched-entry S 01 300000 sched-entry S 02 300000 clockid CLOCK_TAI; sleep 1",
    ),
    row(
        "htb in htb beside sfb",
        EGRESS,
        Restored,
        "tree
        tc qdisc add dev wan parent 1:10 handle 10: sfb
        tc qdisc add dev wan parent 1:11 handle 11: htb default 1
        for class in 1 2 3; do tc class add dev wan parent 11: classid 11:$class htb rate ${class}mbit; done
        tc filter add dev wan parent 11: protocol ip prio 1 flower ip_proto tcp flowid 11:2",
    ),
    row(
        "prio over tbf, netem and sfq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: prio
        tc qdisc add dev wan parent 1:1 handle 10: sfq
        tc qdisc add dev wan parent 1:2 handle 20: tbf rate 20kbit buffer 1600 limit 3000
        tc qdisc add dev wan parent 1:3 handle 30: netem delay 100ms
        tc qdisc add dev wan parent 30:1 handle 31: tbf rate 256kbit buffer 1600 limit 3000
        tc qdisc add dev wan parent 31:1 handle 32: sfq perturb 10
        tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip tos 0x10 0xff flowid 1:1
        tc filter add dev wan parent 1: protocol all prio 2 basic match 'meta(priority eq 6)' flowid 1:2",
    ),
    row("pfifo", EGRESS, Restored, "tc qdisc add dev wan root handle 1: pfifo limit 77"),
    row("pfifo_head_drop", EGRESS, Restored, "tc qdisc add dev wan root pfifo_head_drop limit 77"),
    row("pfifo_fast", EGRESS, Restored, "tc qdisc add dev wan root handle 1: pfifo_fast"),
    row("tbf", EGRESS, Restored, "tc qdisc add dev wan root handle 1: tbf rate 1mbit burst 5kb latency 70ms"),
    row(
        "tbf with a burst of a frame",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: tbf rate 950mbit burst 1514 limit 30000",
    ),
    row(
        "tbf with a peak rate and a queue",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: tbf rate 1mbit burst 10kb latency 70ms peakrate 2mbit minburst 1540 overhead 8
        tc qdisc add dev wan parent 1:1 handle 10: pfifo limit 40",
    ),
    row(
        "sfq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: sfq perturb 10 quantum 1600 depth 64 divisor 512 limit 120",
    ),
    row(
        "sfq with red",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: sfq limit 3000 headdrop flows 512 divisor 16384 redflowlimit 100000 min 8000 max 60000 probability 0.20 ecn",
    ),
    row("sfb", EGRESS, Restored, "tc qdisc add dev wan root handle 1: sfb limit 500"),
    row("codel", EGRESS, Restored, "tc qdisc add dev wan root handle 1: codel target 7ms interval 140ms ecn ce_threshold 3ms"),
    row(
        "fq_codel",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: fq_codel limit 1234 flows 333 target 4999us quantum 700 memory_limit 3000000 drop_batch 32 ce_threshold 2ms",
    ),
    row("pie", EGRESS, Restored, "tc qdisc add dev wan root handle 1: pie limit 333 target 13ms tupdate 17ms alpha 3 beta 21 ecn"),
    row("fq_pie", EGRESS, Restored, "tc qdisc add dev wan root handle 1: fq_pie flows 512 target 13ms tupdate 17ms"),
    row(
        "fq",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: fq limit 5000 flow_limit 77 maxrate 50mbit buckets 512 quantum 2000 initial_quantum 9000 refill_delay 33ms low_rate_threshold 400kbit ce_threshold 3ms horizon 4s horizon_cap",
    ),
    row("hhf", EGRESS, Restored, "tc qdisc add dev wan root handle 1: hhf limit 800 hh_limit 1000 reset_timeout 30ms"),
    row(
        "cake",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 1: cake bandwidth 12345kbit diffserv8 dual-srchost nat wash ingress ack-filter-aggressive rtt 77ms ptm overhead -3 mpu 66 memlimit 3mb fwmark 0xf0 no-split-gso",
    ),
    row("cake, unlimited", EGRESS, Restored, "tc qdisc add dev wan root cake"),
    row("skbprio", EGRESS, Restored, "tc qdisc add dev wan root handle 1: skbprio limit 40"),
    row("netem", EGRESS, Restored, "tc qdisc add dev wan root handle 1: netem delay 20ms loss 1% duplicate 2% 25% limit 500 rate 10mbit"),
    row(
        "netem with jitter",
        EGRESS,
        Refused("distribution"),
        "tc qdisc add dev wan root handle 1: netem delay 20ms 3ms",
    ),
    row("red", EGRESS, Refused("red 1:"), "tc qdisc add dev wan root handle 1: red limit 60000 avpkt 1000"),
    row("choke", EGRESS, Refused("choke 1:"), "tc qdisc add dev wan root handle 1: choke limit 100 bandwidth 10mbit"),
    row("gred", EGRESS, Refused("gred 1:"), "tc qdisc add dev wan root handle 1: gred setup DPs 3 default 2"),
    row(
        "an estimator of a qdisc",
        EGRESS,
        Refused("rate estimator"),
        "tc qdisc add dev wan root handle 1: estimator 1s 8s pfifo",
    ),
    row(
        "an estimator of a class",
        EGRESS,
        Refused("rate estimator"),
        "tree
        tc class add dev wan parent 1:1 classid 1:12 estimator 1s 8s htb rate 1mbit",
    ),
    // gentle's modules, set up by somebody else.
    row("spa", EGRESS, Restored, "tc qdisc add dev wan root handle 9: spa share 77"),
    row(
        "spa with children",
        EGRESS,
        Restored,
        "tc qdisc add dev wan root handle 9: spa fin priority
        tc qdisc add dev wan parent 9:1 handle 91: codel
        tc qdisc add dev wan parent 9:2 handle 92: fq_codel flows 64",
    ),
    row("gsp", EGRESS, Restored, "tc qdisc add dev wan root handle 9: gsp limit 77"),
    row("gentle", EGRESS, Restored, "tc qdisc add dev wan root handle 9: gentle flows 64 target 3ms hosts src"),
    row("redfavor", EGRESS, Refused("redfavor 9:"), "tc qdisc add dev wan root handle 9: redfavor limit 75000"),
];
