//! What an analysis finds, held against what other programs, the makers of captures, and the definitions say.

mod captures;
mod filters;
mod frames;
mod handshakes;
mod invariants;
mod limits;
mod netns;
mod programs;
mod retransmissions;
mod sequences;
mod tshark;
