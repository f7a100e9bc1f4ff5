//! Infrastructure below the schemes: packets, the [`Qdisc`](crate::Qdisc) trait, options, specifications, containers.

pub(crate) mod arena;
pub(crate) mod error;
pub(crate) mod flow_hash;
pub(crate) mod linux;
pub(crate) mod options;
pub(crate) mod packet;
pub(crate) mod packet_queue;
pub(crate) mod qdisc;
pub(crate) mod scheme;
pub(crate) mod spec;
pub(crate) mod timer;
