//! `ared`: RED that adapts its drop probability (Linux: `sch_red.c` with `adaptive`).

use crate::laws::red_params as params;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::registry::Scheme;
use crate::plumbing::spec::Spec;
use crate::schemes::red::{self, Red};

/// Adaptive RED: [`red`] with `adaptive` on.
pub static SCHEME: Scheme = Scheme {
    name: "ared",
    summary: "RED that adapts max_p every 500 ms to keep the average half-way between min and max",
    source: "Floyd, Gummadi and Shenker 2001; Linux red.h (red_adaptative_algo)",
    options: &[
        params::LIMIT_BYTES,
        params::MIN_BYTES,
        params::MAX_BYTES,
        params::AVPKT,
        params::BURST,
        params::EWMA,
        params::PROBABILITY,
        params::BANDWIDTH,
        params::ECN,
        params::HARDDROP,
        params::NODROP,
        params::GENTLE,
    ],
    child: None,
    check: red::check,
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Red::new(spec.options(), true, seed))
}
