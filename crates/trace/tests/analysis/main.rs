//! Analyses compared with other programs, with the ground truth of captures, and with the definitions.

mod bystanders;
mod captures;
mod causes;
mod filters;
mod frames;
mod handshakes;
mod invariants;
mod limits;
mod live;
mod names;
mod netns;
mod outcomes;
mod per_connection;
mod points;
mod programs;
mod repeats;
mod retransmissions;
mod same_flow_key;
mod sequences;
mod talk;
mod tcptrace;
mod trust;
mod tshark;
mod tunnels;
