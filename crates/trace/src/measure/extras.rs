//! Attempts whose lost SYNs carried something that no answered SYN of the capture has.

use crate::connections::Classification;
use crate::results::DroppedFor;
use crate::segment::SynExtras;
use crate::sum::sum;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Fewest attempts from which a middlebox is inferred. Hosts leave out what a SYN carried when they send it again, so one
/// SYN lost by chance looks alike.
const FEWEST: u64 = 3;

/// Attempts whose lost SYNs had a part that their answered SYN had not.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suspects {
    attempts: u64,
    waited: Nanos,
}

/// Counts of completed attempts by [`SynExtras`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtrasCounts {
    suspects: [Suspects; SynExtras::COUNT],
    /// Attempts whose answered SYN had the part.
    answered: [u64; SynExtras::COUNT],
    with_loss: u64,
}

sum! {
    Suspects { attempts, waited }
    ExtrasCounts { suspects, answered, with_loss }
}

impl ExtrasCounts {
    /// Records a completed attempt.
    pub(super) fn record(&mut self, class: &Classification) {
        self.with_loss += u64::from(class.has_loss());
        if class.dropped_for.is_empty() && class.answered_extras.is_empty() {
            return;
        }
        for (at, suspects) in self.suspects.iter_mut().enumerate() {
            self.answered[at] += u64::from(class.answered_extras.has(at));
            if class.dropped_for.has(at) {
                suspects.attempts += 1;
                suspects.waited += class.waited_for_loss;
            }
        }
    }

    /// Parts for which SYNs are dropped.
    pub(super) fn result(&self) -> Vec<DroppedFor> {
        let parts = SynExtras::NAMES.into_iter().zip(&self.suspects);
        parts
            .zip(self.answered)
            .filter(|((_, suspects), answered)| suspects.attempts >= FEWEST && *answered == 0)
            .map(|((name, suspects), _)| DroppedFor {
                name,
                attempts: suspects.attempts,
                waited_s: suspects.waited.as_secs_f64(),
            })
            .collect()
    }

    /// Whether that explains half of the attempts with a loss, so that a model of independent losses does not hold.
    pub(super) fn explain_losses(&self) -> bool {
        let most = self.result().into_iter().map(|it| it.attempts).max();
        most.is_some_and(|most| most * 2 >= self.with_loss)
    }
}
