//! Pairs of end points over a scripted wire, and their times against kernels'.

mod accecn;
mod handshake;
mod kernel_times;
mod recovery;
mod senders;
mod trace;
mod transfer;
