//! Sentences of an analysis, made of its findings.

mod causes;
mod checks;
mod cost;
mod filters;
mod flows;
mod names;
mod replay;
mod steps;
mod trust;
mod vantage;
mod verdict;

pub use causes::{cause_name, describe_causes};
pub use checks::Known;
pub use names::named;
pub use replay::assumptions;

use gentle_trace::results::Analysis;

/// Fills the fields of an analysis that are text, from the others. Reports and JSON show them, so it comes before these.
pub fn put_into_words(analysis: &mut Analysis) {
    for warning in &mut analysis.warnings {
        warning.sentence = trust::sentence(warning, &analysis.captures);
    }
    analysis.verdict = analysis.findings.iter().map(|finding| verdict::sentence(finding, analysis)).collect();
    // The values are of other fields.
    let (mut causes, mut lookups) = (std::mem::take(&mut analysis.causes), analysis.lookups.take());
    let known = Known::of(analysis);
    describe_causes(&mut causes, &analysis.outcomes.dropped_for, &known);
    if let Some(lookups) = &mut lookups {
        describe_causes(&mut lookups.causes, &[], &known);
    }
    (analysis.causes, analysis.lookups) = (causes, lookups);
    analysis.next_steps = steps::steps(analysis);
    if let Some(cost) = &mut analysis.expected_cost {
        cost.not_computed = cost.gaps.iter().map(|&gap| cost::gap(gap).to_owned()).collect();
    }
    vantage::put_into_words(&mut analysis.vantage, &analysis.handshakes.rtt_s);
    for filter in &mut analysis.filters {
        filter.description = filters::description(filter.name).to_owned();
    }
    if let Some(flows) = &mut analysis.flows {
        flows.in_words = flows::sentences(flows);
    }
}
