//! `spa`: SYN priority active queue management (Braud, Heusse, Duda, "The Virtue of Gentleness", Networking 2018).
//!
//! Two queues, each under its own CoDel; the queue of SYNs and FINs is served first. As published, FINs have priority
//! (`fin=priority`). By default they are data, because current stacks take data that a FIN has overtaken for lost.

use crate::laws::handshake::{self, FIN, HandshakePriority, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{KernelQdisc, Scheme, Statistics, StockParts, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::codel;

/// SPA, by default over CoDel.
pub static SCHEME: Scheme = Scheme {
    name: "spa",
    summary: "packets that open a connection (SYN, SYN/ACK) go first, optionally FIN too; the rest waits in a CoDel queue",
    source: "Braud, Heusse and Duda 2018 (fin=priority maxlen=0 share=100 as published)",
    options: &[FIN, MAXLEN, SHARE],
    child: Some(&codel::SCHEME),
    presets: &[handshake::PUBLISHED],
    drops: &[DropReason::Overlimit],
    order: handshake::order,
    linux: Some(TC),
    samples: handshake::SAMPLES,
    ..Scheme::PLAIN
};

/// Syntax of the module `sch_spa`, which also implements `syn_prio` and `syn_fin_prio`.
pub(super) const TC: TcSyntax = TcSyntax { stock: Some(StockParts::HandshakeFilters), ..TcSyntax::plain(&QDISC) };

/// Statistics: `TCA_SPA_XSTATS_*` (`kernel/include/uapi/pkt_sch_spa.h`).
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Whole(&[(2, "syn"), (3, "fin_first"), (4, "toolong"), (5, "overshare"), (6, "flood_drop")]),
    drops: &[("/flood_drop", DropReason::Overlimit)],
    ..KernelQdisc::of_gentle("spa")
};

/// Builds the queue of `spa`, `syn_prio` or `syn_fin_prio`.
pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let child = spec.child().expect("a wrapper has a child");
    let (high, low) = (super::build::<P>(child, !seed), super::build(child, seed));
    Box::new(HandshakePriority::new(spec.options(), high, low))
}
