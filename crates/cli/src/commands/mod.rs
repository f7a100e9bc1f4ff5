//! Commands, one file each.

pub(crate) mod analyze;
pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod lab;
pub(crate) mod merge;
pub(crate) mod model;
#[cfg(target_os = "linux")]
pub(crate) mod probe;
pub(crate) mod profiles;
#[cfg(target_os = "linux")]
pub(crate) mod qdisc;
pub(crate) mod reproduce;
#[cfg(target_os = "linux")]
pub(crate) mod rexmit;
pub(crate) mod schema;
pub(crate) mod schemes;
pub(crate) mod sim;
pub(crate) mod sweep;
#[cfg(target_os = "linux")]
pub(crate) mod testbed;
#[cfg(target_os = "linux")]
pub(crate) mod watch;

mod anonymize;
mod captures;
mod job;
#[cfg(target_os = "linux")]
mod metrics_endpoint;
mod results;
mod runs;
mod scenario;
mod table;
mod trace;
