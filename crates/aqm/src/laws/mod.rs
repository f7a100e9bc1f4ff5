//! Control laws and schedulers that several schemes share.

pub(crate) mod cobalt;
pub mod codel;
pub(crate) mod drr;
pub mod fifo;
pub(crate) mod flow_ages;
pub(crate) mod flow_places;
pub(crate) mod flow_queues;
pub(crate) mod flow_sizes;
pub mod handshake;
pub(crate) mod host_turns;
pub(crate) mod pi2;
pub mod pie;
pub(crate) mod red;
pub(crate) mod red_params;
pub(crate) mod share;
pub(crate) mod token_bucket;
pub(crate) mod young_first;
