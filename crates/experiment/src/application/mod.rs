//! Applications: state machines without I/O and clock, which the simulator and the testbed run alike.

pub mod dialogue;
mod log_normal;
mod on_off;
mod pages;
mod server;
mod ssh;

pub use log_normal::LogNormal;
pub use on_off::OnOff;
pub use pages::{MOST_OBJECTS, Pages};
pub use server::{Decoder, Request, Server};
pub use ssh::Ssh;
