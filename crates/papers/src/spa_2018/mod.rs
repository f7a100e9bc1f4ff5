//! `spa-2018`: T. Braud, M. Heusse, A. Duda, "The Virtue of Gentleness: Improving Connection Response Times with SYN
//! Priority Active Queue Management", IFIP Networking 2018.

mod assumptions;
mod buffers;
mod comparison;
mod current_hosts;
mod figures;
mod losses;
mod mawi;
mod model;
mod quantity;
mod repairs;
mod schemes;
mod testbed;
mod traces;
mod traffic;

use crate::paper::{Paper, Part};

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "spa-2018",
    published: &[include_str!("../../data/spa-2018/published.toml"), include_str!("../../data/spa-2018/traces.toml")],
    sentences: Some(include_str!("../../data/spa-2018/sentences.toml")),
    parts: &[
        Part { id: "fig1", measure: traces::fig1 },
        Part { id: "fig2", measure: traces::fig2 },
        Part { id: "mawi", measure: mawi::mawi },
        Part { id: "fig3", measure: model::response_times },
        Part { id: "table3", measure: traffic::facts },
        Part { id: "fig5", measure: testbed::real },
        Part { id: "fig6", measure: testbed::real_by_size },
        Part { id: "fig7", measure: testbed::real_reverse },
        Part { id: "fig8", measure: testbed::real_reverse_by_size },
        Part { id: "fig9", measure: testbed::short },
        Part { id: "fig10", measure: testbed::ten_megabit },
        Part { id: "losses", measure: losses::losses },
        Part { id: "buffers", measure: buffers::buffers },
        Part { id: "floods", measure: buffers::floods },
        Part { id: "linux-real", measure: current_hosts::real },
        Part { id: "linux-real-reverse", measure: current_hosts::real_reverse },
        Part { id: "linux-short", measure: current_hosts::short },
        Part { id: "linux-10m", measure: current_hosts::ten_megabit },
        Part { id: "linux-fin", measure: current_hosts::overtaking_fin },
    ],
    assumptions: assumptions::ALL,
};
