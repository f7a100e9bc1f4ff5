//! Setup of a device in one direction, as requested by the user.

use crate::device::{Device, Link};
use crate::shaper::Shaper;
use gentle_aqm::Spec;
use std::fmt;

/// Parts used for schemes that Linux does not implement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Gentle's own kernel modules.
    Native,
    /// Parts available in every Linux.
    Stock,
}

/// Direction of the queued packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Outgoing packets of the device.
    Egress,
    /// Incoming packets of the device: they are redirected to an intermediate device (`ifb`), since they can be queued
    /// only there.
    Ingress,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        })
    }
}

/// Properties of a device, and objects already on it, that a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Present {
    /// Whether there is a `clsact` qdisc, which excludes an `ingress` qdisc: the filter for incoming packets is then
    /// added to it.
    pub clsact: bool,
    /// Whether there is an `ingress` qdisc that stays, because others have added filters to it since gentle made it: the
    /// filter for incoming packets is then added to it.
    pub ingress: bool,
    /// Whether the device is the loopback device.
    pub loopback: bool,
    /// Number of transmit queues with a qdisc each (`mq`), which are replaced by one qdisc for the whole device; 0
    /// without `mq`.
    pub transmit_queues: usize,
}

/// Setup of a device in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Device of the setup.
    pub dev: Device,
    /// Link of the device.
    pub link: Link,
    /// Objects already on the device.
    pub present: Present,
    /// Direction of the packets.
    pub direction: Direction,
    /// Shaper that makes the device the bottleneck; `None` if it already is.
    pub shaper: Option<Shaper>,
    /// Scheme of the queue.
    pub scheme: Spec,
}
