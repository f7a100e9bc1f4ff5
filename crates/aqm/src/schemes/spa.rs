//! `spa`: SYN priority active queue management (Braud, Heusse, Duda, "The Virtue of Gentleness", Networking 2018).
//!
//! Two queues, each managed by its own CoDel, SYN and FIN in the one that is served first. As published FIN has
//! priority (`fin=priority`); the default keeps it behind its data, because a FIN that overtakes its data makes
//! current stacks take the data for lost.

use crate::laws::handshake::{self, FIN, HELD, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{KernelQdisc, Scheme, Statistics, TcSyntax, TimeAttribute};
use crate::plumbing::spec::Spec;

/// SPA: CoDel unless `child=` says otherwise.
pub static SCHEME: Scheme = Scheme {
    name: "spa",
    summary: "SYN and SYN/ACK are served first; FIN is served first or protected in its place; CoDel manages both queues",
    source: "Braud, Heusse and Duda 2018 (fin=priority maxlen=0 share=100 as published)",
    options: &[FIN, MAXLEN, HELD, SHARE],
    child: Some("codel"),
    presets: &[handshake::PUBLISHED],
    order: handshake::order,
    linux: Some(TC),
    samples: handshake::SAMPLES,
    ..Scheme::PLAIN
};

/// The module `sch_spa`, of which the other priorities are settings.
pub(super) const TC: TcSyntax = TcSyntax {
    own_child: Some("codel"),
    stock_parts: true,
    ..TcSyntax::plain(&QDISC)
};

/// `TCA_SPA_XSTATS_*` and, of its queues, `TCA_SPA_QUEUE_*` (kernel/include/uapi/pkt_sch_spa.h); the time is
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

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    handshake::build(spec, seed)
}
