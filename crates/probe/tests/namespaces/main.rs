//! Probes of real kernels: a client and a server in network namespaces, with packets dropped where they arrive. The tests
//! need root, ip and nft; without them each test reports it and is skipped. No test depends on precise times.

#![cfg(target_os = "linux")]

mod late;
mod loss;
mod network;
mod outcomes;
mod pace;
