//! `ared`: RED that adapts its drop probability (Linux: `net/sched/sch_red.c` with `adaptive`).

use crate::laws::red_params as params;
use crate::plumbing::options::joined;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, MarkReason, Qdisc};
use crate::plumbing::scheme::{Conformance, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::red::{self, Red};

/// Adaptive RED: [`red`] with `adaptive` on.
pub static SCHEME: Scheme = Scheme {
    name: "ared",
    summary: "RED that adapts max_p every 500 ms to keep the average half-way between min and max",
    source: "Floyd, Gummadi and Shenker 2001; Linux red.h (red_adaptative_algo)",
    options: &joined::<{ red::COMMON.len() + 1 }>(&[red::COMMON, &[params::GENTLE]]),
    check: red::check,
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TcSyntax { fixed: "adaptive", ..red::TC }),
    conformance: Conformance {
        // See the same field in `red`: the kernel does not adapt.
        runs_as: Some(&red::SCHEME),
        ..Conformance::EXACT
    },
    samples: &["limit=10000 avpkt=100 ecn"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Red::new(spec.options(), true, seed))
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    #[test]
    fn the_kernel_is_left_with_plain_red() {
        let in_kernel = |text: &str| {
            let spec: Spec = text.parse().unwrap();
            spec.in_kernel().to_string()
        };
        assert_eq!(in_kernel("ared probability=0.1"), "red probability=0.1");
        assert_eq!(in_kernel("red adaptive limit=30000"), "red limit=30000b");
        assert_eq!(in_kernel("choke"), "choke");
    }
}
