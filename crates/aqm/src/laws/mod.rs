//! Control laws and scheduling rules, apart from where packets are kept: each is shared by several schemes.

pub mod codel;
pub(crate) mod drr;
pub mod fifo;
pub(crate) mod flow_queues;
pub mod handshake;
pub mod pie;
pub(crate) mod red;
pub(crate) mod red_params;
pub(crate) mod share;
