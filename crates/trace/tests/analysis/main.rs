//! What an analysis finds, held against what other programs, the makers of captures, and the definitions say.

mod captures;
mod filters;
mod frames;
mod handshakes;
mod invariants;
mod limits;
mod netns;
mod per_connection;
mod programs;
mod retransmissions;
mod sequences;
#[path = "../../../wire/tests/shared_captures/mod.rs"]
mod shared_captures;
mod tcptrace;
mod tshark;
mod tunnels;
