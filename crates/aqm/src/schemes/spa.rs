//! `spa`: SYN priority active queue management (Braud, Heusse, Duda, "The Virtue of Gentleness", Networking 2018).
//!
//! Two queues, each managed by its own CoDel, SYN and FIN in the one that is served first. As published FIN has
//! priority (`fin=priority`); the default keeps it behind its data, because a FIN that overtakes its data makes
//! current stacks take the data for lost.

use crate::laws::handshake::{self, FIN, FinRule, HELD, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::registry::{Scheme, any_options};
use crate::plumbing::spec::Spec;

/// SPA: CoDel unless `child=` says otherwise.
pub static SCHEME: Scheme = Scheme {
    name: "spa",
    summary: "SYN and SYN/ACK are served first; FIN is served first or protected in its place; CoDel manages both queues",
    source: "Braud, Heusse and Duda 2018 (fin=priority maxlen=0 share=100 as published)",
    options: &[FIN, MAXLEN, HELD, SHARE],
    child: Some("codel"),
    check: any_options,
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    handshake::build(spec, FinRule::of(spec.options()), seed)
}
