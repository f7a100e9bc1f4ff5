//! One direction of the bottleneck: rate, delay, queue, and what the link does to packets behind the queue.

use super::file::spec;
use super::trace::{OPPORTUNITY, RateTrace};
use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::section::{Item, Section};
use gentle_aqm::Spec;
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;
use std::sync::Arc;

/// Length of an Ethernet header, which Linux includes in the length of a packet (`skb->len` at the qdisc).
const ETHERNET_HEADER: u64 = 14;

/// Value of the key `qdisc` of a link that has the scheme under test as well.
const AS_DOWN: &str = "as down";

/// One direction of the bottleneck.
#[derive(Debug, Clone, Serialize)]
pub struct LinkConfig {
    /// Rate at the start; with a [trace](LinkConfig::trace), its mean.
    pub rate: Rate,
    /// One-way propagation delay, after the queue.
    pub delay: Nanos,
    /// Queue. In a comparison each scheme in turn replaces that of [`Direction::Down`].
    #[serde(skip)]
    pub qdisc: Spec,
    /// True if the scheme under test replaces the queue of this link, too: see [`Scenario::under`](super::Scenario::under).
    #[serde(skip)]
    pub as_down: bool,
    /// Probability of random loss on the link, after the queue, 0 to 1.
    pub loss: f64,
    /// Losses in bursts, instead of [`loss`](LinkConfig::loss).
    pub bursts: Option<GilbertElliott>,
    /// Half-width of the uniform distribution of the delay around [`delay`](LinkConfig::delay), at most that. Packets do
    /// not overtake one another for it (Linux: `netem` with a `rate`).
    pub jitter: Nanos,
    /// Probability that a packet skips the delay and overtakes those under way, 0 to 1 (Linux: `netem reorder`).
    pub reorder: f64,
    /// Link-layer overhead per IP packet, bytes; included in the packet length that the queue sees, as in Linux.
    pub overhead: u32,
    /// Rate changes as times and new rates, in order of time.
    pub changes: Vec<(Nanos, Rate)>,
    /// Opportunities to deliver packets instead of a rate.
    pub trace: Option<Arc<RateTrace>>,
}

impl LinkConfig {
    /// The later rates, with the points in time of a run from which they hold.
    pub fn rate_changes(&self) -> impl DoubleEndedIterator<Item = (Instant, Rate)> {
        (self.changes.iter()).map(|(at, rate)| (Instant::ZERO + *at, *rate))
    }

    /// Bytes that the link can transmit from `from` to `to`.
    pub fn capacity_bytes(&self, from: Instant, to: Instant) -> u64 {
        if let Some(trace) = &self.trace {
            let opportunities = trace.first_from(to).saturating_sub(trace.first_from(from));
            return opportunities.saturating_mul(u64::from(OPPORTUNITY));
        }
        let starts = std::iter::once((Instant::ZERO, self.rate)).chain(self.rate_changes());
        let phases = starts.zip(self.rate_changes().map(|(at, _)| at).chain([Instant::NEVER]));
        // Bits times nanoseconds.
        let bits = phases.map(|((start, rate), end)| {
            let span = end.min(to).saturating_since(start.max(from));
            u128::from(rate.bits_per_second()) * u128::from(span.0)
        });
        (bits.sum::<u128>() / 8_000_000_000) as u64
    }
}

/// Losses of a link with a good and a bad state (Gilbert 1960, Elliott 1963; Linux: `netem loss gemodel`). Each packet may
/// change the state; probabilities are 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GilbertElliott {
    /// Probability of the change from good to bad.
    pub p: f64,
    /// Probability of the change from bad to good.
    pub r: f64,
    /// Probability of loss in the bad state, `1-h`.
    pub bad: f64,
    /// Probability of loss in the good state, `1-k`.
    pub good: f64,
}

impl GilbertElliott {
    /// Mean loss, 0 to 1.
    pub fn mean(&self) -> f64 {
        let bad = self.p / (self.p + self.r);
        bad * self.bad + (1.0 - bad) * self.good
    }
}

/// Reads `[link.down]` or `[link.up]`; `read` returns the text of a file.
pub(super) fn link(
    links: &mut Section<'_>,
    direction: Direction,
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<LinkConfig, ScenarioError> {
    let name = direction.name();
    let mut section = links.section(name)?.ok_or_else(|| links.error(format!("missing [link.{name}]")))?;
    let trace = match section.take("trace") {
        Some(item) => Some(trace(&item, read)?),
        None => None,
    };
    let changes_item = section.take("changes");
    let rate = match &trace {
        None => section.require("rate", "\"10mbit\"")?.rate()?,
        Some(trace) => {
            if let Some(item) = section.take("rate").as_ref().or(changes_item.as_ref()) {
                return Err(item.error("a trace sets the rate; expected trace or rate, not both"));
            }
            trace.mean_rate()
        }
    };
    let delay = match section.take("delay") {
        Some(item) => {
            let delay = item.time()?;
            if delay > Nanos::from_secs(60) {
                return Err(item.error("expected at most 60s"));
            }
            delay
        }
        None => Nanos::ZERO,
    };
    let jitter = match section.take("jitter") {
        Some(item) => {
            let jitter = item.time()?;
            if jitter > delay {
                return Err(item.error(format!("expected at most the delay, {delay}")));
            }
            jitter
        }
        None => Nanos::ZERO,
    };
    let item = section.take("qdisc");
    let is_as_down = |item: &Item<'_>| item.text().is_ok_and(|text| text == AS_DOWN);
    let as_down = item.as_ref().is_some_and(is_as_down);
    let qdisc = match item {
        Some(item) if as_down && direction == Direction::Down => {
            return Err(item.error("only [link.up] can have the queue 'as down'; expected a scheme"));
        }
        Some(item) if !as_down => spec(&item)?,
        _ => "pfifo limit=50".parse().expect("a valid spec"),
    };
    let bursts = match section.section("bursts")? {
        Some(section) => Some(bursts(section)?),
        None => None,
    };
    let loss = match section.take("loss") {
        Some(item) if bursts.is_some() => {
            return Err(item.error("expected loss or bursts, not both; bursts.good is the loss between bursts"));
        }
        Some(item) => item.real(0.0..=1.0)?,
        None => 0.0,
    };
    let reorder = match section.take("reorder") {
        Some(item) if delay == Nanos::ZERO => {
            return Err(item.error("packets can overtake others only on a link with a delay; expected delay as well"));
        }
        Some(item) => item.real(0.0..=1.0)?,
        None => 0.0,
    };
    let overhead = match section.take("overhead") {
        Some(item) => item.size(0..=256)?,
        None => ETHERNET_HEADER,
    };
    let changes = changes(changes_item)?;
    section.finish()?;
    Ok(LinkConfig {
        rate,
        delay,
        qdisc,
        as_down,
        loss,
        bursts,
        jitter,
        reorder,
        overhead: overhead as u32,
        changes,
        trace,
    })
}

fn probability(section: &mut Section<'_>, key: &'static str) -> Result<Option<f64>, ScenarioError> {
    section.take(key).map(|item| item.real(0.0..=1.0)).transpose()
}

fn bursts(mut section: Section<'_>) -> Result<GilbertElliott, ScenarioError> {
    let p = section.require("p", "0.01")?.real(0.0..=1.0)?;
    let r = section.require("r", "0.3")?.real(f64::MIN_POSITIVE..=1.0)?;
    let bad = probability(&mut section, "bad")?.unwrap_or(1.0);
    let good = probability(&mut section, "good")?.unwrap_or(0.0);
    section.finish()?;
    Ok(GilbertElliott { p, r, bad, good })
}

fn trace(item: &Item<'_>, read: &dyn Fn(&str) -> std::io::Result<String>) -> Result<Arc<RateTrace>, ScenarioError> {
    let path = item.text()?;
    let text = read(path).map_err(|error| item.error(format!("{path}: {error}")))?;
    let trace = RateTrace::parse(&text);
    trace.map(Arc::new).map_err(|error| item.error(format!("{path}: {error}")))
}

fn changes(item: Option<Item<'_>>) -> Result<Vec<(Nanos, Rate)>, ScenarioError> {
    let mut list: Vec<(Nanos, Rate)> = Vec::new();
    let Some(item) = item else {
        return Ok(list);
    };
    for item in item.array("[{ at = \"30s\", rate = \"5mbit\" }]")? {
        let mut section = item.section()?;
        let at_item = section.require("at", "\"30s\"")?;
        let at = at_item.time()?;
        if list.last().is_some_and(|(last, _)| *last >= at) {
            return Err(at_item.error("expected a later time than the previous change"));
        }
        let rate = section.require("rate", "\"10mbit\"")?.rate()?;
        section.finish()?;
        list.push((at, rate));
    }
    Ok(list)
}
