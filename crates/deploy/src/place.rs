//! Places of queues, and the handles and names by which gentle recognizes its own setups.

use crate::device::{Device, Link};
use gentle_units::Rate;

/// Place of a queue: device, parent and handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePlace {
    /// Device of the queue.
    pub dev: Device,
    /// Parent of the queue.
    pub parent: Parent,
    /// Major number of the queue's handle, 1 to 0x7ffd; the next two numbers may be used for its children, and for a
    /// shaper one more.
    pub handle: u16,
    /// Link of the device.
    pub link: Link,
    /// Rate at which packets leave, if known: a share of the link is then enforced with stock parts too.
    pub rate: Option<Rate>,
    /// Link rate for RED and its variants (their option `bandwidth`) if the scheme does not specify one; `None`: the
    /// default of `tc`, 10 Mb/s.
    pub link_rate: Option<Rate>,
}

/// Parent of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// Root of the device.
    Root,
    /// Class in the notation of `tc`: `1:10`.
    Class(String),
}

/// Major numbers of gentle's qdiscs, the shaper first; they are below 8000:, from which Linux assigns numbers.
pub(crate) const SHAPER: u16 = 0x5a0;
pub(crate) const SCHEME: u16 = 0x5a1;

/// Preference of gentle's filter in a `clsact` that others may use as well: the last possible, so that filters added
/// later see packets before they are queued. The kernel assigns 49152 and less.
pub(crate) const CLSACT_PREFERENCE: u16 = 0xffff;
/// Preference of gentle's filter in an `ingress` qdisc: the first.
pub(crate) const INGRESS_PREFERENCE: u16 = 1;
/// Largest major number for a queue and its children.
pub(crate) const MAX_HANDLE: u16 = 0x7ffd;

impl QueuePlace {
    /// Command that adds a queue to a class, or replaces the root qdisc, which always exists.
    pub(crate) fn place(&self) -> String {
        match &self.parent {
            Parent::Root => format!("replace dev {} root", self.dev),
            Parent::Class(class) => format!("add dev {} parent {class}", self.dev),
        }
    }
}
