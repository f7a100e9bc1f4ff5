//! Search for the first decision in which two queues differ.

use super::outcome::{Outcome, Sent};
use super::schedule::{Call, Schedule};
use gentle_aqm::Ecn;
use std::fmt;

/// Number of steps that a difference shows before the one that differs.
const BEFORE: usize = 8;

/// Counts of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls compared.
    pub steps: usize,
    /// Packets sent.
    pub sent: usize,
    /// Packets that left with a CE mark and arrived without.
    pub marked: usize,
    /// Packets dropped.
    pub dropped: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.steps += other.steps;
        self.sent += other.sent;
        self.marked += other.marked;
        self.dropped += other.dropped;
    }
}

/// A decision in which two queues differ, with the decisions before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Index of the step.
    pub step: usize,
    text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Difference {}

/// Compares the outcomes of every step.
///
/// # Errors
/// The first difference.
pub(super) fn compare(schedule: &Schedule, kernel: &[Outcome], model: &[Outcome]) -> Result<Tally, Box<Difference>> {
    let mut tally = Tally::default();
    let offered: Vec<Ecn> = schedule.offers().map(|offer| offer.ecn).collect();
    for (step, (kernel_outcome, outcome)) in kernel.iter().zip(model).enumerate() {
        if kernel_outcome != outcome {
            return Err(Box::new(Difference { step, text: describe(schedule, kernel, outcome, step) }));
        }
        tally.steps += 1;
        tally.dropped += outcome.dropped.len();
        if let Some(Sent { number, ecn, .. }) = outcome.sent {
            tally.sent += 1;
            let came_marked = offered.get(number as usize) == Some(&Ecn::Ce);
            tally.marked += usize::from(ecn == Ecn::Ce && !came_marked);
        }
    }
    Ok(tally)
}

/// Text of a difference: the outcomes of the kernel up to `step`, and the model's outcome.
fn describe(schedule: &Schedule, kernel: &[Outcome], model: &Outcome, step: usize) -> String {
    let first = step.saturating_sub(BEFORE);
    let mut number = schedule.steps[..first].iter().filter(|step| matches!(step.call, Call::Enqueue(_))).count();
    let mut text = format!("decisions differ at step {step}; context:\n");
    for (at, outcome) in kernel.iter().enumerate().take(step + 1).skip(first) {
        let call = match schedule.steps[at].call {
            Call::Enqueue(offer) => {
                number += 1;
                format!(
                    "enqueue {} (flow {}, {} bytes, {:?}, {:?}, codepoint {}, hosts {:?}, {:?})",
                    number - 1,
                    offer.flow,
                    offer.bytes,
                    offer.headers,
                    offer.ecn,
                    offer.dscp,
                    offer.hosts,
                    offer.acknowledgment
                )
            }
            Call::Dequeue => "dequeue".to_owned(),
            Call::PeekDequeue => "peek, dequeue".to_owned(),
        };
        text += &format!("  {at} at {}: {call}: {outcome}\n", schedule.steps[at].at);
    }
    text += &format!("  gentle-aqm instead: {model}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::schedule::Step;
    use gentle_units::Instant;

    #[test]
    fn the_first_difference_is_shown_with_what_led_to_it() {
        let schedule =
            Schedule { steps: (1..=20).map(|ms| Step { at: Instant::from_millis(ms), call: Call::Dequeue }).collect() };
        let kernel: Vec<Outcome> =
            schedule.steps.iter().map(|_| Outcome { sent: None, dropped: Vec::new(), len: 0, backlog: 0 }).collect();
        assert_eq!(compare(&schedule, &kernel, &kernel).unwrap().steps, 20);
        let mut model = kernel.clone();
        model[12].dropped.push(3);
        model[15].len = 1;
        let difference = compare(&schedule, &kernel, &model).unwrap_err();
        assert_eq!(difference.step, 12);
        let text = difference.to_string();
        assert_eq!(text.lines().count(), 1 + BEFORE + 1 + 1, "{text}");
        assert!(text.ends_with("gentle-aqm instead: dropped [3], holds 0 packets, 0 bytes\n"));
    }
}
