//! Captured connections as traffic of a scenario.

use gentle_trace::results::Analysis;

/// Assumptions of a scenario that replays the flows of an analysis: warnings about the captures, and what was inferred of the
/// connections; without flows, why there are none. The analysis has been [put into words](super::put_into_words).
pub fn assumptions(analysis: &Analysis) -> Vec<String> {
    let flows = analysis.flows.as_ref();
    let has_tcp = analysis.captures.iter().any(|capture| capture.tcp_segments > 0);
    if !has_tcp && flows.is_none_or(|flows| flows.flows == 0) {
        return without_tcp(analysis);
    }
    let warned = |spoils: bool| {
        let warnings = analysis.warnings.iter();
        let chosen = warnings.filter(move |warning| warning.kind.spoils_figures() == spoils);
        chosen.map(|warning| &warning.sentence)
    };
    let inferred = flows.into_iter().flat_map(|flows| &flows.in_words);
    warned(true).chain(inferred).chain(warned(false)).cloned().collect()
}

/// Contents of captures without TCP.
fn without_tcp(analysis: &Analysis) -> Vec<String> {
    let others = &analysis.other_protocols;
    let attempts: Vec<String> = [(&others.quic, "QUIC"), (&others.sctp, "SCTP"), (&others.dccp, "DCCP")]
        .into_iter()
        .filter_map(|(found, name)| {
            Some(match found.as_ref()?.attempts {
                1 => format!("1 {name} connection"),
                attempts => format!("{attempts} {name} connections"),
            })
        })
        .collect();
    let mut sentences = analysis.verdict.clone();
    if !attempts.is_empty() {
        sentences.push(format!("It has {}.", attempts.join(", ")));
    }
    sentences.push("Only TCP connections can be replayed.".to_owned());
    sentences
}
