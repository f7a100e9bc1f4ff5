//! Infrastructure shared by all schemes: packets, the [`Qdisc`](crate::Qdisc) trait, options, specifications, the registry.

pub(crate) mod arena;
pub(crate) mod error;
pub(crate) mod flow_hash;
pub(crate) mod linux;
pub(crate) mod options;
pub(crate) mod packet;
pub(crate) mod periodic;
pub(crate) mod qdisc;
pub mod registry;
pub(crate) mod scheme;
pub(crate) mod spec;
pub(crate) mod store;
#[cfg(test)]
pub(crate) mod testing;
