//! `bfifo`: first in, first out with a limit in bytes (Linux: `net/sched/sch_fifo.c`) and an optional limit in time.

use crate::laws::fifo::{DELAY, Fifo, Limit, NO_DELAY, delay_limit};
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, Qdisc};
use crate::plumbing::scheme::{KernelQdisc, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;

/// FIFO with a limit in bytes.
pub static SCHEME: Scheme = Scheme {
    name: "bfifo",
    summary: "first in, first out; tail drop at a limit in bytes",
    source: "Linux sch_fifo.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Size(1, 1 << 30),
            default: Some("1514000b"),
            help: "bytes the queue holds (Linux: txqueuelen full Ethernet frames, 1000 times 1514)",
        },
        DELAY,
    ],
    drops: &[DropReason::Tail],
    linux: Some(TcSyntax {
        // Without it Linux derives the limit from the device's txqueuelen.
        always: &["limit"],
        refused: &[NO_DELAY],
        ..TcSyntax::plain(&KernelQdisc::of_linux("bfifo"))
    }),
    samples: &["limit=5000", "delay=2ms"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let limit = Limit::Bytes(options.size("limit"));
    Box::new(Fifo::new(limit, delay_limit(options)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Qdisc, Signals};
    use gentle_units::Instant;

    #[test]
    fn a_small_packet_fits_where_a_large_one_does_not() {
        let mut queue = build("bfifo limit=3000");
        let mut drops = Signals::new();
        for bytes in [1500, 1400, 1500, 100, 1] {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, bytes), &mut drops);
        }
        assert_eq!((queue.len(), queue.backlog()), (3, 3000));
        assert_eq!(drops.len(), 2);
    }
}
