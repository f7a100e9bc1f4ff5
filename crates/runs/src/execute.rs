//! Execution of plans.

use crate::plan::Plan;
use crate::record::Records;
use crate::stored::Stored;
use gentle_experiment::results::Comparison;
use gentle_experiment::{Backend, Observer, Part, compare};
use std::sync::atomic::AtomicBool;

/// Results of a plan.
#[derive(Debug, Clone)]
pub struct Executed {
    /// Results.
    pub comparison: Comparison,
    /// True if the plan measures harm and was interrupted before all solo runs finished.
    pub parts_are_missing: bool,
}

/// Makes the runs of a plan on `backend` and the threads of the current rayon pool; runs in `records` are reused.
/// `observer` is called before the runs of the whole traffic (`None`) and of each part alone. If `stop` becomes true,
/// the comparison is marked `interrupted` and has the seeds that every scheme had finished.
///
/// # Errors
/// The backend failed.
pub fn execute<B: Backend, O: Observer>(
    plan: &Plan,
    backend: &B,
    records: Option<&Records<'_>>,
    observer: impl Fn(Option<&Part>) -> O,
    stop: &AtomicBool,
) -> Result<Executed, B::Error> {
    let backend = Stored::new(backend, records);
    let Plan { scenario, schemes, settings, .. } = plan;
    let mut comparison = compare(&backend, scenario, schemes, settings, &observer(None), stop)?;
    let mut parts_are_missing = false;
    if !comparison.results.is_empty() {
        for part in &plan.parts() {
            let alone = compare(&backend, &scenario.alone(part), schemes, settings, &observer(Some(part)), stop)?;
            if alone.interrupted {
                parts_are_missing = true;
                break;
            }
            comparison.add_harm(part, &alone);
        }
    }
    if let Some(reference) = &plan.reference {
        // A scheme without a finished run cannot be the reference; the first scheme then remains the reference.
        comparison.set_reference(reference);
    }
    Ok(Executed { comparison, parts_are_missing })
}
