//! `pfifo`: first in, first out with a limit in packets (Linux: `net/sched/sch_fifo.c`) and an optional limit in time.

use crate::laws::fifo::{DELAY, Fifo, Limit, NO_DELAY, delay_limit};
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{KernelQdisc, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;

/// FIFO with a limit in packets.
pub static SCHEME: Scheme = Scheme {
    name: "pfifo",
    summary: "first in, first out; tail drop at a limit in packets",
    source: "Linux sch_fifo.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, 1_000_000),
            default: Some("1000"),
            help: "packets the queue holds (Linux: the device's txqueuelen)",
        },
        DELAY,
    ],
    drops: &[DropReason::Tail],
    linux: Some(TcSyntax {
        // Without it Linux takes the device's txqueuelen.
        always: &["limit"],
        refused: &[NO_DELAY],
        ..TcSyntax::plain(&KernelQdisc::of_linux("pfifo"))
    }),
    samples: &["limit=3", "limit=20 delay=5ms"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let limit = Limit::Packets(options.count("limit") as usize);
    Box::new(Fifo::new(limit, delay_limit(options)))
}
