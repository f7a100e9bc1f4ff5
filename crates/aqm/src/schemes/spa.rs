//! `spa`: SYN priority active queue management (Braud, Heusse, Duda, "The Virtue of Gentleness", Networking 2018).
//!
//! Two queues, each under its own CoDel; the queue of SYNs and FINs is served first. As published, FINs have priority
//! (`fin=priority`). By default they stay behind their data, because current stacks take data that a FIN has overtaken
//! for lost.

use crate::laws::handshake::{self, FIN, HELD, HandshakePriority, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{
    KernelQdisc, Scheme, Statistics, StockParts, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use crate::schemes::codel;

/// SPA, by default over CoDel.
pub static SCHEME: Scheme = Scheme {
    name: "spa",
    summary: "SYN and SYN/ACK go to a priority queue; FIN too, or it is protected in its place; both queues are under CoDel",
    source: "Braud, Heusse and Duda 2018 (fin=priority maxlen=0 share=100 as published)",
    options: &[FIN, MAXLEN, HELD, SHARE],
    child: Some(&codel::SCHEME),
    presets: &[handshake::PUBLISHED],
    order: handshake::order,
    linux: Some(TC),
    samples: handshake::SAMPLES,
    ..Scheme::PLAIN
};

/// Syntax of the module `sch_spa`, which also implements `syn_prio` and `syn_fin_prio`.
pub(super) const TC: TcSyntax = TcSyntax {
    builtin_child: Some("codel"),
    stock: Some(StockParts::HandshakeFilters),
    ..TcSyntax::plain(&QDISC)
};

/// Statistics: `TCA_SPA_XSTATS_*` and, for each queue, `TCA_SPA_QUEUE_*` (`kernel/include/uapi/pkt_sch_spa.h`). Time:
/// `TCA_SPA_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Attributes {
        whole: &[
            (4, "syn"),
            (5, "fin_first"),
            (6, "fin_kept"),
            (7, "fin_overlimit"),
            (8, "drop_for_fin"),
            (9, "mark_for_fin"),
            (10, "toolong"),
            (11, "held_back"),
            (13, "held"),
            (14, "held_bytes"),
        ],
        queues: [2, 3],
        each: &[
            (2, "handshakes_enqueued", "data_enqueued"),
            (3, "handshakes_sent", "data_sent"),
            (4, "handshakes_bytes", "data_bytes"),
            (5, "handshakes_drop_limit", "data_drop_limit"),
            (6, "handshakes_drop_memory", "data_drop_memory"),
            (7, "handshakes_drop_child", "data_drop_child"),
            (8, "handshakes_drop_change", "data_drop_change"),
            (9, "handshakes_drop_codel", "data_drop_codel"),
            (10, "handshakes_qlen", "data_qlen"),
            (11, "handshakes_backlog_bytes", "data_backlog_bytes"),
            (12, "handshakes_memory_bytes", "data_memory_bytes"),
            (13, "handshakes_maxpacket_bytes", "data_maxpacket_bytes"),
            (16, "handshakes_ldelay_us", "data_ldelay_us"),
            (18, "handshakes_ecn_mark", "data_ecn_mark"),
            (19, "handshakes_ce_mark", "data_ce_mark"),
        ],
    },
    drops: &[
        ("/priority/drops/limit", DropReason::Tail),
        ("/data/drops/limit", DropReason::Tail),
    ],
    marks: &["/priority/ecn_mark", "/data/ecn_mark"],
    target: Some(TimeAttribute::Micros(1)),
    ..KernelQdisc::of_gentle("spa")
};

/// Builds the queue of `spa`, `syn_prio` or `syn_fin_prio`.
pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let child = spec.child().expect("a wrapper has a child");
    let (high, low) = (super::build::<P>(child, !seed), super::build(child, seed));
    Box::new(HandshakePriority::from_options(spec.options(), high, low))
}
