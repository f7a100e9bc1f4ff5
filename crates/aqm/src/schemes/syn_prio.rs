//! `syn_prio`: priority for SYNs (Braud, Heusse, Duda 2018, section V: "SYN Prio").

use crate::laws::handshake::{self, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{Preset, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::{pfifo, spa};

/// SYN Prio, by default over packet FIFOs.
pub static SCHEME: Scheme = Scheme {
    name: "syn_prio",
    summary: "SYN and SYN/ACK go to a priority queue",
    source: "Braud, Heusse and Duda 2018",
    options: &[MAXLEN, SHARE],
    child: Some(&pfifo::SCHEME),
    presets: &[Preset { name: "published", options: "maxlen=0 share=100" }],
    drops: &[DropReason::Overlimit],
    order: handshake::order,
    linux: Some(TcSyntax { fixed: "fin none", ..spa::TC }),
    samples: &["share=100"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    spa::build(spec, seed)
}
