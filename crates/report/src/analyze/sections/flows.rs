//! Connections as flows to replay: inferred properties, and connections that could not be used.

use crate::analyze::section::Section;
use gentle_trace::results::Analysis;

pub(super) fn flows(analysis: &Analysis) -> Option<Section> {
    let flows = analysis.flows.as_ref()?;
    Section::new("flows", "Flows to replay").list(&flows.in_words).unless_empty()
}
