//! Packets that a capture has from several points of their path: interfaces of a router, slaves of a bond, devices of a
//! capture of all devices, captures of two hosts read as one trace.
//!
//! Points may see the same packets, different ones, or one direction each. So no point is preferred: each packet counts
//! once, where it was seen first, and what other points saw is left out. With one direction at each of two points, nothing
//! is left out; with a queue between them, the first of a direction is before the queue and has all that was sent.
//!
//! A packet is recognised by its content ([`Segment::content`](crate::segment::Segment::content)). What a host sends again
//! often has the same content, but then the point that saw the first sees both. So the number of transmissions of one
//! content is the largest that any single point saw, whatever the delay between the points, its changes, and the packets
//! lost between them.
//!
//! A host that sends again over another of two points gives the same picture as a packet that passes both, unless the IP
//! identification or the timestamps of TCP distinguish one from the other. Without these, packets are taken to pass two
//! points only if these have shown to see the same packets.
//!
//! Hosts and interfaces put segments together and take them apart (segmentation offload), so that points see the same data
//! in different packets. Data that is new at one of two points, and old at the other, was seen before.

mod numbers;
mod sightings;
mod streams;

pub(crate) use numbers::Points;
pub(crate) use sightings::Sightings;
