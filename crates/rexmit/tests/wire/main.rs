//! The wire engine between real hosts: network namespaces on one machine, joined by a router that loses what it is told
//! to. They need root, ip and nft; without them each test says so and is skipped. Times are of the real clock, so their
//! upper bounds are generous.

#![cfg(target_os = "linux")]

mod engine;
mod host;
mod lost;
mod network;
mod quiet;
