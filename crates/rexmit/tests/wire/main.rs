//! Wire engine between real hosts: network namespaces on one machine, joined by a router that drops selected packets.
//! The tests need root, ip and nft; without them each test reports it and is skipped. Times come from the real clock,
//! so their upper bounds are generous.

#![cfg(target_os = "linux")]

mod dry_run;
mod engine;
mod lost;
mod network;
mod quiet;
