#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod bpf;
mod call;
mod clock;
mod error;
#[cfg(any(test, feature = "testing"))]
mod host;
mod interface;
#[cfg(any(test, feature = "testing"))]
pub mod interpreter;
#[cfg(any(test, feature = "testing"))]
mod pair;
mod socket;

pub use call::tcp_info;
pub use clock::{Clock, Comparison, Lead};
pub use error::PacketError;
#[cfg(any(test, feature = "testing"))]
pub use host::Host;
pub use interface::default_route_interface;
#[cfg(any(test, feature = "testing"))]
pub use pair::Pair;
pub use socket::{BATCH, Device, Layer, PacketSocket, Received};
