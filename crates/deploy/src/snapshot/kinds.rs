//! Kinds of qdiscs, classifiers and actions whose dump the kernel accepts again, with everything in it that counts.
//!
//! Nothing else is ever replaced: a kind that is not listed here may keep settings that no dump shows. The comments name
//! the functions in net/sched/ that dump each kind; what they dump is what its `init` or `change` reads.

use gentle_aqm::{Origin, registry};

/// Qdiscs of Linux that can be restored from their dump. Absent on purpose, because their tables are not dumped: `red`,
/// `gred` and `choke` (`TCA_*_STAB`); because they hold schedules or offloads that depend on time and hardware:
/// `taprio`, `etf`, `cbs`.
const QDISCS: [&str; 27] = [
    // sch_fifo.c: fifo_dump.
    "bfifo",
    "pfifo",
    "pfifo_head_drop",
    // sch_generic.c: pfifo_fast_dump. `noqueue` and `mq` (sch_mq.c) have no options.
    "pfifo_fast",
    "noqueue",
    "mq",
    // sch_mqprio.c: mqprio_dump.
    "mqprio",
    // sch_multiq.c: multiq_dump.
    "multiq",
    // sch_prio.c: prio_dump.
    "prio",
    // sch_skbprio.c: skbprio_dump.
    "skbprio",
    // sch_htb.c: htb_dump, htb_dump_class.
    "htb",
    // sch_hfsc.c: hfsc_dump_qdisc, hfsc_dump_class.
    "hfsc",
    // sch_drr.c: drr_dump_class. sch_qfq.c: qfq_dump_class.
    "drr",
    "qfq",
    // sch_ets.c: ets_qdisc_dump.
    "ets",
    // sch_tbf.c: tbf_dump, except the burst in bytes, which `accepted` computes.
    "tbf",
    // sch_sfq.c: sfq_dump. sch_sfb.c: sfb_dump. sch_hhf.c: hhf_dump.
    "sfq",
    "sfb",
    "hhf",
    // sch_pie.c: pie_dump. sch_fq_pie.c: fq_pie_dump. sch_dualpi2.c: dualpi2_dump.
    "pie",
    "fq_pie",
    "dualpi2",
    // sch_codel.c: codel_dump. sch_fq_codel.c: fq_codel_dump. sch_fq.c: fq_dump. sch_cake.c: cake_dump.
    "codel",
    "fq_codel",
    "fq",
    "cake",
    // sch_netem.c: netem_dump, except tables of distributions (`complete`).
    "netem",
];

/// Qdiscs for filters alone. sch_ingress.c: ingress_dump, clsact_dump.
const WITHOUT_QUEUE: [&str; 2] = ["ingress", CLSACT];

/// Qdisc whose filters see incoming and outgoing packets.
pub(super) const CLSACT: &str = "clsact";

/// Qdiscs whose classes are created one by one; other qdiscs bring their classes.
pub(super) const WITH_OWN_CLASSES: [&str; 4] = ["htb", "hfsc", "drr", "qfq"];

/// Whether a qdisc of this kind can be restored from its dump.
pub(super) fn is_dumped(qdisc: &str) -> bool {
    let ours = registry::kernel_qdisc(qdisc).is_some_and(|ours| ours.origin == Origin::Gentle && !ours.partial_dump);
    ours || QDISCS.contains(&qdisc) || WITHOUT_QUEUE.contains(&qdisc)
}

/// Classifier: the attributes of its options (`linux/pkt_cls.h`) that need attention.
pub(super) struct Classifier {
    pub(super) kind: &'static str,
    /// Whether a filter can be restored from its dump, apart from its actions.
    pub(super) dumped: bool,
    /// `TCA_*_ACT`: the list of actions.
    pub(super) actions: u16,
    /// `TCA_*_POLICE`: a policer in the form from before there were actions.
    pub(super) police: Option<u16>,
    /// `TCA_*_FLAGS`: the requested offload, to which a dump adds the actual one.
    pub(super) flags: Option<u16>,
    /// Counters, padding, and state of the hardware.
    pub(super) volatile: &'static [u16],
    /// Whether a filter of the same preference is put before those that are there, so that they have to be created in
    /// the reverse order of a dump.
    pub(super) newest_first: bool,
}

impl Classifier {
    const PLAIN: Classifier = Classifier {
        kind: "",
        dumped: true,
        actions: 0,
        police: None,
        flags: None,
        volatile: &[],
        newest_first: false,
    };
}

pub(super) const U32: &str = "u32";
pub(super) const BPF: &str = "bpf";

const CLASSIFIERS: [Classifier; 7] = [
    // cls_u32.c: u32_dump; volatile: TCA_U32_PCNT, TCA_U32_PAD.
    Classifier { kind: U32, actions: 7, police: Some(6), flags: Some(11), volatile: &[9, 12], ..Classifier::PLAIN },
    // cls_flower.c: fl_dump; volatile: TCA_FLOWER_IN_HW_COUNT.
    Classifier { kind: "flower", actions: 3, flags: Some(22), volatile: &[86], ..Classifier::PLAIN },
    // cls_matchall.c: mall_dump; volatile: TCA_MATCHALL_PCNT, TCA_MATCHALL_PAD.
    Classifier { kind: "matchall", actions: 2, flags: Some(3), volatile: &[4, 5], ..Classifier::PLAIN },
    // cls_fw.c: fw_dump; fw_change puts a filter first in its bucket.
    Classifier { kind: "fw", actions: 4, police: Some(2), newest_first: true, ..Classifier::PLAIN },
    // cls_basic.c: basic_dump; volatile: TCA_BASIC_PCNT, TCA_BASIC_PAD; basic_change puts a filter first.
    Classifier {
        kind: "basic",
        actions: 3,
        police: Some(4),
        volatile: &[5, 6],
        newest_first: true,
        ..Classifier::PLAIN
    },
    // cls_flow.c: flow_dump.
    Classifier { kind: "flow", actions: 9, police: Some(10), ..Classifier::PLAIN },
    // cls_bpf.c: cls_bpf_dump has no program; TCA_BPF_ID is another after each load of the same program.
    Classifier {
        kind: BPF,
        dumped: false,
        actions: 1,
        police: Some(2),
        flags: Some(9),
        volatile: &[11],
        ..Classifier::PLAIN
    },
];

/// Classifier of this kind, if it is known.
pub(super) fn classifier(kind: &str) -> Option<&'static Classifier> {
    CLASSIFIERS.iter().find(|known| known.kind == kind)
}

/// Action: the attributes of its options (`linux/tc_act/`) that need attention.
pub(super) struct Action {
    pub(super) kind: &'static str,
    /// Whether an action can be restored from its dump.
    pub(super) dumped: bool,
    /// `TCA_*_PARMS`: a structure that begins with the index and has two counts of references.
    pub(super) parameters: &'static [u16],
    /// Bytes of the counts in the structure: after `tc_gen`'s index, capabilities and verdict.
    pub(super) counts: std::ops::Range<usize>,
    /// Times, counters and padding.
    pub(super) volatile: &'static [u16],
}

impl Action {
    const PLAIN: Action = Action { kind: "", dumped: true, parameters: &[2], counts: 12..20, volatile: &[] };
}

pub(super) const MIRRED: &str = "mirred";
pub(super) const POLICE: &str = "police";

const ACTIONS: [Action; 9] = [
    // act_gact.c: tcf_gact_dump.
    Action { kind: "gact", volatile: &[1, 4], ..Action::PLAIN },
    // act_mirred.c: tcf_mirred_dump.
    Action { kind: MIRRED, volatile: &[1, 3], ..Action::PLAIN },
    // act_skbedit.c: tcf_skbedit_dump.
    Action { kind: "skbedit", volatile: &[1, 6], ..Action::PLAIN },
    // act_vlan.c: tcf_vlan_dump.
    Action { kind: "vlan", volatile: &[1, 5], ..Action::PLAIN },
    // act_pedit.c: tcf_pedit_dump; TCA_PEDIT_PARMS and TCA_PEDIT_PARMS_EX.
    Action { kind: "pedit", parameters: &[2, 4], volatile: &[1, 3], ..Action::PLAIN },
    // act_csum.c: tcf_csum_dump.
    Action { kind: "csum", parameters: &[1], volatile: &[2, 3], ..Action::PLAIN },
    // act_connmark.c: tcf_connmark_dump.
    Action { kind: "connmark", parameters: &[1], volatile: &[2, 3], ..Action::PLAIN },
    // act_ctinfo.c: tcf_ctinfo_dump; also counters (TCA_CTINFO_STATS_*).
    Action { kind: "ctinfo", parameters: &[3], volatile: &[1, 2, 8, 9, 10], ..Action::PLAIN },
    // act_police.c: tcf_police_dump lacks the rate table and the estimator; `struct tc_police` has another layout.
    Action { kind: POLICE, dumped: false, parameters: &[1], counts: 44..52, volatile: &[6, 7] },
];

/// Action of this kind, if it is known.
pub(super) fn action(kind: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|known| known.kind == kind)
}
