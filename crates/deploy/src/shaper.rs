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
    /// Rate to shape to: a little below the link's, so that packets queue here and not in the modem.
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
    /// Bytes per packet that the qdisc does not count, -64 to 256 (tc-cake(8)); less than 0 if it counts more than is sent.
    pub overhead: i16,
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

/// Maximum of a size in `tc` and in the options of qdiscs (32 bits), bytes.
const MAX_SIZE: u64 = u32::MAX as u64;

/// Nanoseconds of the kernel's unit for the time that a burst takes (`PSCHED_SHIFT` in include/net/pkt_sched.h), of which
/// it stores 32 bits.
const TICK_NS: u64 = 64;

/// Maximum rates of the shapers: a bucket of htb, and a queue of tbf, is at most [`MAX_SIZE`] long.
const MAX_HTB: Rate = Rate::from_bits_per_second(34_000_000_000_000).expect("above zero");
const MAX_TBF: Rate = Rate::from_bits_per_second(650_000_000_000).expect("above zero");

/// Minimum rate, bits per second: `tc` and the kernel count in bytes per second and reject zero.
pub(crate) const MIN_RATE: u64 = 8;

/// Depth of the token bucket, as a time at its rate: enough that the timers of a slow machine do not cost throughput,
/// and the maximum that it adds to the delay.
const BUCKET: Nanos = Nanos::from_millis(1);

/// Delay bound of the queue that tbf creates, and that the scheme replaces at once.
const DEFAULT_QUEUE: Nanos = Nanos::from_millis(50);

/// Lowest rate, bits per second, at which the kernel can store the time that a burst of `bytes` takes.
pub(crate) fn least_rate(bytes: u64) -> u64 {
    let most = u128::from(MAX_SIZE * TICK_NS);
    let least = (u128::from(bytes) * 8_000_000_000).div_ceil(most);
    u64::try_from(least).unwrap_or(u64::MAX).max(MIN_RATE)
}

/// Checks that `tc` and the kernel can hold a token bucket of `burst` bytes at `rate`; `tbf` also has a queue.
pub(crate) fn check_bucket(has_queue: bool, rate: Rate, burst: u64) -> Result<(), PlanError> {
    let (most, queue) = match has_queue {
        true => (MAX_TBF, rate.bytes_in(DEFAULT_QUEUE)),
        false => (MAX_HTB, 0),
    };
    if rate > most || queue.saturating_add(burst) > MAX_SIZE {
        return Err(PlanError::TooFast { rate, most });
    }
    let least = least_rate(burst);
    match (rate.bits_per_second() < least, Rate::from_bits_per_second(least)) {
        (true, Some(least)) => Err(PlanError::TooSlow { rate, least }),
        _ => Ok(()),
    }
}

impl Shaper {
    /// Commands for a shaper, and the class for the queue beneath it.
    pub(crate) fn plan(&self, at: &QueuePlace) -> Result<(Vec<Command>, String), PlanError> {
        let (place, dev, handle) = (at.place(), &at.dev, at.handle);
        let rate = self.rate;
        let burst = self.rate.bytes_in(BUCKET).max(at.link.frame());
        check_bucket(self.kind == ShaperKind::Tbf, rate, burst)?;
        let stab = self.framing.stab();
        let framing = self.framing.tc_args();
        let class = format!("{handle:x}:1");
        let commands = match self.kind {
            ShaperKind::Htb => vec![
                Command::tc(&format!("qdisc {place} handle {handle:x}:{stab} htb default 1")),
                // The quantum divides the rate between classes; there is only one, and without a value tc warns of a
                // large default.
                Command::tc(&format!(
                    "class add dev {dev} parent {handle:x}: classid {class} htb rate {rate} burst {burst} cburst {burst} quantum {}{framing}",
                    at.link.frame()
                )),
            ],
            ShaperKind::Tbf => vec![Command::tc(&format!(
                "qdisc {place} handle {handle:x}:{stab} tbf rate {rate} burst {burst} latency {DEFAULT_QUEUE}{framing}"
            ))],
            ShaperKind::Cake => return Err(PlanError::CakeTakesNoChild),
        };
        Ok((commands, class))
    }
}

impl Shaper {
    /// `spec`, which shapes without a shaper, with the rate and the framing.
    pub(crate) fn within(&self, spec: &Spec) -> Result<Spec, PlanError> {
        if self.rate.bits_per_second() < MIN_RATE {
            let rate = self.rate;
            let least = Rate::from_bits_per_second(MIN_RATE).unwrap_or(rate);
            return Err(PlanError::TooSlow { rate, least });
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
    /// Size table of a shaper, with a leading blank, for framing that the options of `htb` and `tbf` cannot express:
    /// their overhead is not below 0.
    fn stab(self) -> String {
        match self.overhead < 0 {
            true => format!(" stab{}", self.text()),
            false => String::new(),
        }
    }

    /// Options for `htb` and `tbf`, with a leading blank.
    fn tc_args(self) -> String {
        match self.overhead < 0 {
            true => String::new(),
            false => self.text(),
        }
    }

    /// Options of a scheme that shapes without a shaper.
    pub(crate) fn options(self) -> impl Iterator<Item = (&'static str, Value)> {
        let overhead = Value::Integer(self.overhead.into());
        let mpu = Value::Count(self.mpu.into());
        [
            (self.overhead != 0).then_some(("overhead", overhead)),
            (self.mpu > 0).then_some(("mpu", mpu)),
            (self.linklayer == LinkLayer::Atm).then_some(("atm", Value::Keyword("atm"))),
        ]
        .into_iter()
        .flatten()
    }

    fn text(self) -> String {
        let mut args = String::new();
        // Writing to a String is infallible.
        if self.overhead != 0 {
            let _ = write!(args, " overhead {}", self.overhead);
        }
        if self.mpu > 0 {
            let _ = write!(args, " mpu {}", self.mpu);
        }
        if self.linklayer == LinkLayer::Atm {
            args.push_str(" linklayer atm");
        }
        args
    }
}
