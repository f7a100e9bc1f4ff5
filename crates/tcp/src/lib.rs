//! TCP end points as pure state machines.
#![doc = include_str!("../README.md")]

mod accecn;
mod ack;
mod ack_policy;
mod compression;
mod congestion;
mod ecn;
mod endpoint;
mod handshake;
mod knobs;
mod pacing;
mod profile;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod seq;
mod stats;
mod timer;
mod undo;
mod waits;
mod wheel;
mod window;

pub use accecn::Marks;
pub use congestion::CongestionControl;
pub use endpoint::Endpoint;
pub use knobs::{Knob, KnobError};
pub use profile::{AckPolicy, Ecn, Growth, LossMarking, Profile, RtoEstimator, Undo, UnknownProfile};
pub use segment::{AccEcnOption, Ect, Flags, MAX_SACK_BLOCKS, Options, Outbox, Segment};
pub use seq::Seq;
pub use stats::Stats;
pub use waits::Waits;
pub use window::linux_receive_buffer;
