//! Watches of real kernels: a client and a server in network namespaces, with packets dropped where they arrive, devices that
//! are removed, and folders that cannot be written to. The tests need root, ip and nft; without them each test reports it and is
//! skipped. No test depends on precise times.

#![cfg(target_os = "linux")]

mod devices;
mod flood;
mod handshakes;
mod network;
mod process;
mod queue;
mod ring;
