//! `syn_fin_prio`: priority for SYNs and FINs (Braud, Heusse, Duda 2018, section V: "SYN/FIN Prio").

use crate::laws::handshake::{self, FIN, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::options::OptionSpec;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::{pfifo, spa};

/// SYN/FIN Prio, by default over packet FIFOs.
pub static SCHEME: Scheme = Scheme {
    name: "syn_fin_prio",
    summary: "SYN, SYN/ACK and FIN go to a priority queue",
    source: "Braud, Heusse and Duda 2018 (maxlen=0 share=100 as published)",
    options: &[
        // As published and as the name says; the default of `spa` suits current stacks.
        OptionSpec { default: Some("priority"), ..FIN },
        MAXLEN,
        SHARE,
    ],
    child: Some(&pfifo::SCHEME),
    presets: &[handshake::PUBLISHED],
    drops: &[DropReason::Overlimit],
    order: handshake::order,
    linux: Some(TcSyntax {
        // The default of the module is that of spa.
        always: &["fin"],
        ..spa::TC
    }),
    samples: handshake::SAMPLES,
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    spa::build(spec, seed)
}
