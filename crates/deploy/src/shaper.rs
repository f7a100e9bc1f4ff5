//! The shaper that makes an interface the bottleneck: a queue elsewhere cannot be managed here.

use crate::command::Command;
use crate::plan::{PlanError, Under};
use gentle_units::{Nanos, Rate};
use std::fmt::Write;
use std::str::FromStr;

/// How packets are held back to a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaper {
    /// Which qdisc does it.
    pub kind: ShaperKind,
    /// To which rate: a little below that of the link, so that packets queue here and not in the modem.
    pub rate: Rate,
    /// How the link counts the bytes of a packet.
    pub framing: Framing,
}

/// The qdisc that shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShaperKind {
    /// Hierarchical token bucket, with one class.
    Htb,
    /// Token bucket filter, which also cuts segments that are offloaded to the device.
    Tbf,
    /// That of `cake`, which manages its queue itself and takes no other.
    Cake,
}

/// What a packet takes on the link beyond its bytes at the qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes that every packet takes more than the qdisc counts.
    pub overhead: u16,
    /// Bytes that even the shortest packet takes; 0: no such limit.
    pub mpu: u16,
    /// Whether the packets go over ATM.
    pub linklayer: LinkLayer,
}

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkLayer {
    /// Frames as long as the packet.
    #[default]
    Ethernet,
    /// Cells of 53 bytes with 48 of the packet (ADSL).
    Atm,
}

impl FromStr for ShaperKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ShaperKind, String> {
        match text {
            "htb" => Ok(ShaperKind::Htb),
            "tbf" => Ok(ShaperKind::Tbf),
            "cake" => Ok(ShaperKind::Cake),
            _ => Err("expected htb, tbf or cake".to_owned()),
        }
    }
}

impl FromStr for LinkLayer {
    type Err = String;

    fn from_str(text: &str) -> Result<LinkLayer, String> {
        match text {
            "ethernet" => Ok(LinkLayer::Ethernet),
            "atm" => Ok(LinkLayer::Atm),
            _ => Err("expected ethernet or atm".to_owned()),
        }
    }
}

/// `tc` and the kernel count rates in bytes a second, and take none of zero.
pub(crate) const LEAST_RATE: u64 = 8;

/// A token bucket this long keeps the timer of a slow machine from costing throughput, and adds no more to the delay.
const BUCKET: Nanos = Nanos::from_millis(1);

/// The delay of tbf's own queue, which the scheme replaces at once.
const OWN_QUEUE: &str = "50ms";

impl Shaper {
    /// The commands of a shaper with a queue beneath, and the class that the queue belongs to.
    pub(crate) fn plan(&self, at: &Under) -> Result<(Vec<Command>, String), PlanError> {
        let (place, dev, handle) = (at.place(), &at.dev, at.handle);
        let rate = self.rate;
        if rate.bits_per_second() < LEAST_RATE {
            return Err(PlanError::TooSlow(rate));
        }
        let burst = self.rate.bytes_in(BUCKET).max(at.link.frame());
        let framing = self.framing.words();
        let class = format!("{handle:x}:1");
        let commands = match self.kind {
            ShaperKind::Htb => vec![
                Command::tc(&format!("qdisc {place} handle {handle:x}: htb default 1")),
                // The quantum shares between classes; there is one, and without it tc warns of a large one.
                Command::tc(&format!(
                    "class add dev {dev} parent {handle:x}: classid {class} htb rate {rate} burst {burst} cburst {burst} quantum {}{framing}",
                    at.link.frame()
                )),
            ],
            ShaperKind::Tbf => vec![Command::tc(&format!(
                "qdisc {place} handle {handle:x}: tbf rate {rate} burst {burst} latency {OWN_QUEUE}{framing}"
            ))],
            ShaperKind::Cake => return Err(PlanError::CakeTakesNoChild),
        };
        Ok((commands, class))
    }
}

impl Framing {
    /// As `htb` and `tbf` take it, with a blank before it.
    pub(crate) fn words(self) -> String {
        let mut words = self.lengths();
        if self.linklayer == LinkLayer::Atm {
            words.push_str(" linklayer atm");
        }
        words
    }

    /// As `cake` takes it, with a blank before it.
    pub(crate) fn words_for_cake(self) -> String {
        let mut words = self.lengths();
        if self.linklayer == LinkLayer::Atm {
            words.push_str(" atm");
        }
        words
    }

    fn lengths(self) -> String {
        let mut words = String::new();
        // Writing to a String cannot fail.
        if self.overhead > 0 {
            let _ = write!(words, " overhead {}", self.overhead);
        }
        if self.mpu > 0 {
            let _ = write!(words, " mpu {}", self.mpu);
        }
        words
    }
}
