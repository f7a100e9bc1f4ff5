//! `syn_fin_prio`: strict priority for SYN and FIN (Braud, Heusse, Duda 2018, section V: "SYN/FIN Prio").

use crate::laws::handshake::{self, FIN, HELD, MAXLEN};
use crate::laws::share::SHARE;
use crate::plumbing::options::OptionSpec;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::scheme::{Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::spa;

/// SYN/FIN Prio: packet FIFOs unless `child=` says otherwise.
pub static SCHEME: Scheme = Scheme {
    name: "syn_fin_prio",
    summary: "SYN, SYN/ACK and FIN are served first",
    source: "Braud, Heusse and Duda 2018 (maxlen=0 share=100 as published)",
    options: &[
        // The name promises it; `spa` has the default that current stacks get along with.
        OptionSpec {
            default: Some("priority"),
            ..FIN
        },
        MAXLEN,
        HELD,
        SHARE,
    ],
    child: Some("pfifo"),
    presets: &[handshake::PUBLISHED],
    order: handshake::order,
    linux: Some(TcSyntax {
        // The module has the default of spa.
        always: &["fin"],
        ..spa::TC
    }),
    samples: handshake::SAMPLES,
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    handshake::build(spec, seed)
}
