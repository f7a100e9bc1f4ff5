//! Findings of real kernels: hosts in network namespaces, whose handshakes are dropped in a known place. The tests need root,
//! ip, nft and tc; without them each test reports it and is skipped. No test depends on precise times.

#![cfg(target_os = "linux")]

mod conntrack;
mod drop_reasons;
mod listen_queue;
mod network;
mod path;
mod qdiscs;
mod syn_queue;
