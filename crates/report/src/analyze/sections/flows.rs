//! The connections as flows to replay: what was inferred, and what could not be used.

use crate::analyze::section::Section;
use gentle_trace::results::Analysis;

pub(super) fn flows(analysis: &Analysis) -> Option<Section> {
    let words = &analysis.flows.as_ref()?.in_words;
    let section = Section::new("flows", "Flows to replay");
    words
        .iter()
        .fold(section, |section, sentence| section.prose(sentence))
        .unless_empty()
}
