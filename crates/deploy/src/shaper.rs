//! Shaper that makes an interface the bottleneck, so that the queue builds up where it can be managed.

use crate::command::Command;
use crate::error::PlanError;
use crate::place::QueuePlace;
use gentle_aqm::{Spec, Value};
use gentle_units::{Nanos, Rate};
use std::fmt::Write;
use std::iter;
use std::str::FromStr;

/// Parameters of a shaper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaper {
    /// Qdisc that shapes.
    pub kind: ShaperKind,
    /// Rate to shape to: a little below that of the link, so that packets queue here and not in the modem.
    pub rate: Rate,
    /// Accounting of packet lengths on the link.
    pub framing: Framing,
}

/// Qdisc that shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShaperKind {
    /// Hierarchical token bucket, with one class.
    Htb,
    /// Token bucket filter, which also splits offloaded (GSO) segments.
    Tbf,
    /// Shaper of the scheme itself (`cake`), which accepts no other scheme beneath it.
    Cake,
}

/// Length of a packet on the link relative to its length at the qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes per packet that the qdisc does not count.
    pub overhead: u16,
    /// Minimum packet length, bytes; 0: none.
    pub mpu: u16,
    /// Link layer of the link.
    pub linklayer: LinkLayer,
}

/// Link layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkLayer {
    /// Frames of variable length.
    #[default]
    Ethernet,
    /// Cells of 53 bytes with a payload of 48 bytes (ADSL).
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

/// Minimum rate, bits per second: `tc` and the kernel count in bytes per second and reject zero.
pub(crate) const MIN_RATE: u64 = 8;

/// Depth of the token bucket, as a time at its rate: enough that the timers of a slow machine do not cost throughput,
/// and the maximum that it adds to the delay.
const BUCKET: Nanos = Nanos::from_millis(1);

/// Delay bound of the queue that tbf creates, and that the scheme replaces at once.
const DEFAULT_QUEUE: &str = "50ms";

impl Shaper {
    /// Commands for a shaper, and the class for the queue beneath it.
    pub(crate) fn plan(&self, at: &QueuePlace) -> Result<(Vec<Command>, String), PlanError> {
        let (place, dev, handle) = (at.place(), &at.dev, at.handle);
        let rate = self.rate;
        if rate.bits_per_second() < MIN_RATE {
            return Err(PlanError::TooSlow(rate));
        }
        let burst = self.rate.bytes_in(BUCKET).max(at.link.frame());
        let framing = self.framing.tc_args();
        let class = format!("{handle:x}:1");
        let commands = match self.kind {
            ShaperKind::Htb => vec![
                Command::tc(&format!("qdisc {place} handle {handle:x}: htb default 1")),
                // The quantum divides the rate between classes; there is only one, and without a value tc warns of a
                // large default.
                Command::tc(&format!(
                    "class add dev {dev} parent {handle:x}: classid {class} htb rate {rate} burst {burst} cburst {burst} quantum {}{framing}",
                    at.link.frame()
                )),
            ],
            ShaperKind::Tbf => vec![Command::tc(&format!(
                "qdisc {place} handle {handle:x}: tbf rate {rate} burst {burst} latency {DEFAULT_QUEUE}{framing}"
            ))],
            ShaperKind::Cake => return Err(PlanError::CakeTakesNoChild),
        };
        Ok((commands, class))
    }
}

impl Shaper {
    /// `spec`, which shapes by itself, with the rate and the framing.
    pub(crate) fn within(&self, spec: &Spec) -> Result<Spec, PlanError> {
        if self.rate.bits_per_second() < MIN_RATE {
            return Err(PlanError::TooSlow(self.rate));
        }
        let scheme = spec.scheme().name;
        let rate = ("bandwidth", Value::Rate(self.rate));
        let mut options = iter::once(rate).chain(self.framing.options());
        options.try_fold(spec.clone(), |spec, (option, value)| {
            if spec.given(option).is_some() {
                return Err(PlanError::ShapedTwice { scheme, option });
            }
            Ok(spec.with(option, value)?)
        })
    }
}

impl Framing {
    /// Options for `htb` and `tbf`, with a leading blank.
    pub(crate) fn tc_args(self) -> String {
        let mut args = self.lengths();
        if self.linklayer == LinkLayer::Atm {
            args.push_str(" linklayer atm");
        }
        args
    }

    /// Options of a scheme that shapes by itself.
    pub(crate) fn options(self) -> impl Iterator<Item = (&'static str, Value)> {
        let overhead = Value::Integer(self.overhead.into());
        let mpu = Value::Count(self.mpu.into());
        [
            (self.overhead > 0).then_some(("overhead", overhead)),
            (self.mpu > 0).then_some(("mpu", mpu)),
            (self.linklayer == LinkLayer::Atm).then_some(("atm", Value::Keyword("atm"))),
        ]
        .into_iter()
        .flatten()
    }

    fn lengths(self) -> String {
        let mut args = String::new();
        // Writing to a String is infallible.
        if self.overhead > 0 {
            let _ = write!(args, " overhead {}", self.overhead);
        }
        if self.mpu > 0 {
            let _ = write!(args, " mpu {}", self.mpu);
        }
        args
    }
}
