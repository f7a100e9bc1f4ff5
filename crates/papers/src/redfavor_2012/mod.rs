//! `redfavor-2012`: P. Anelli, F. Harivelo, R. Lorion, "TCP SYN Protection: An Evaluation", ICN 2012.

mod assumptions;
mod compared;
mod figures;
mod flows;
mod handshakes;
mod tables;

use crate::lab::{Failure, Lab};
use crate::paper::{Paper, Part};
use crate::results::Results;
use crate::setup::Setup;
use gentle_units::Nanos;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "redfavor-2012",
    published: &[include_str!("../../data/redfavor-2012/published.toml")],
    sentences: Some(include_str!("../../data/redfavor-2012/sentences.toml")),
    parts: &[
        Part { id: "fig2", measure: figures::completion_times },
        Part { id: "fig3", measure: figures::completion_by_size },
        Part { id: "fig4", measure: figures::dropped_positions },
        Part { id: "fig5", measure: figures::long_flows },
        Part { id: "table2", measure: tables::drops },
        Part { id: "table3", measure: tables::bandwidth },
        Part { id: "penalty", measure: handshakes::penalties },
        Part { id: "queue", measure: handshakes::queue },
        Part { id: "other-traffic", measure: handshakes::other_traffic },
    ],
    assumptions: assumptions::ALL,
};

/// The scenario file, and its path in the project.
const WEB: &str = include_str!("../../data/redfavor-2012/web.toml");
const FILE: &str = "papers/redfavor-2012/web.toml";

/// Names of the schemes, in the order of the paper's tables.
const SCHEMES: [&str; 3] = ["CHOKe", "RED", "REDFavor"];

/// Measured time of a run of the paper, seconds.
const MEASURED_S: f64 = 400.0;

/// Upper ends, in packets, of the ranges of sizes of Fig. 3.
const SIZES: [u64; 14] = [2, 3, 4, 6, 8, 10, 15, 20, 30, 45, 70, 100, 140, 200];

/// The web scenario with the three schemes; a quick call measures 60 s of it.
fn setup(lab: &Lab<'_>) -> Setup {
    let mut setup = Setup::from_toml(FILE, WEB);
    // The file has the schemes in the order RED, CHOKe, REDFavor.
    let specs = setup.scenario.schemes.clone();
    setup.schemes = [1, 0, 2].into_iter().zip(SCHEMES).map(|(index, role)| (role, specs[index].clone())).collect();
    if lab.quick() {
        // The last session begins after some 68 s.
        setup.scenario.duration = Nanos::from_secs(130);
        setup.scenario.warmup = Nanos::from_secs(70);
    }
    setup
}

/// Results by the ranges of sizes of Fig. 3, which other items share.
fn results(lab: &Lab<'_>) -> Result<Results, Failure> {
    lab.compare_with_bins(setup(lab), &seeds(lab), &SIZES)
}

fn seeds(lab: &Lab<'_>) -> Vec<u64> {
    lab.seeds(10, if lab.quick() { 1 } else { 3 })
}
