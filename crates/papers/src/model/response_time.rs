//! Response time against size, by both forms of the model and in the simulator.

use super::transfers::{STACKS, Stack, Transfer, transfers};
use crate::chart::{Axis, Chart, Curves, Draw, Point};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_model::{Form, Path};

/// Sizes in segments, with the number of transfers in a run, and in a quick one.
const SIZES: [(u64, [u32; 2]); 14] = [
    (1, [4_000, 1_500]),
    (2, [4_000, 1_500]),
    (3, [4_000, 1_500]),
    (5, [4_000, 1_500]),
    (10, [2_000, 800]),
    (20, [1_000, 400]),
    (30, [1_000, 300]),
    (50, [600, 200]),
    (100, [300, 100]),
    (200, [150, 50]),
    (500, [60, 20]),
    (1_000, [40, 12]),
    (2_000, [20, 6]),
    (10_000, [10, 3]),
];

/// Probabilities of loss.
const LOSSES: [f64; 4] = [0.001, 0.01, 0.02, 0.05];

/// Losses over which the claims average.
const CLAIMED: std::ops::RangeInclusive<f64> = 0.01..=0.05;

/// Ranges of sizes of the claims.
const RANGES: [(&str, u64, u64); 3] = [("short", 1, 10), ("medium", 20, 500), ("long", 1_000, 10_000)];

/// Simulated transfers of one stack at one loss.
struct Simulated {
    loss: f64,
    /// Transfers of each seed.
    runs: Vec<Vec<Transfer>>,
}

impl Simulated {
    /// Mean response time of the transfers of `segments` segments that `counts`, for each seed.
    fn of_seeds(&self, segments: u64, counts: impl Fn(&Transfer) -> bool) -> Vec<Option<f64>> {
        let of_run = |run: &Vec<Transfer>| {
            let times = run
                .iter()
                .filter(|transfer| transfer.segments == segments && counts(transfer))
                .map(|transfer| transfer.response.as_secs_f64());
            let (n, sum) = times.fold((0_u32, 0.0), |(n, sum), time| (n + 1, sum + time));
            (n > 0).then(|| sum / f64::from(n))
        };
        self.runs.iter().map(of_run).collect()
    }

    /// Mean response times of connections without a lost SYN.
    fn without_lost_syn(&self, segments: u64) -> Vec<Option<f64>> {
        self.of_seeds(segments, |transfer| transfer.syns_lost == 0)
    }
}

fn percent(loss: f64) -> String {
    format!("{} %", (loss * 1000.0).round() / 10.0)
}

/// Mean response time by the model.
fn predicted(path: &Path, form: Form, segments: u64) -> f64 {
    path.response_time_by(form, segments as f64).total_s()
}

/// Path of connections without a lost SYN.
fn without_lost_syn(stack: &Stack, loss: f64) -> Path {
    Path { handshake_loss: 0.0, ..stack.path(loss) }
}

/// Chart of both forms and the simulator, for each loss.
fn chart(
    id: &str,
    title: &str,
    simulated: &[Simulated],
    path: impl Fn(f64) -> Path,
    counts: impl Fn(&Transfer) -> bool,
) -> Curves {
    let axes = [Axis::log("size", "segments"), Axis::log("mean response time", "s")];
    let [x, y] = axes;
    simulated.iter().fold(Chart::curves(id, title, x, y), |chart, simulated| {
        let path = path(simulated.loss);
        let loss = percent(simulated.loss);
        let model = |form| SIZES.map(|(segments, _)| (segments as f64, predicted(&path, form, segments)));
        let found = SIZES.map(|(segments, _)| {
            let estimate = Estimate::over(simulated.of_seeds(segments, &counts));
            Point { x: segments as f64, y: estimate.value.unwrap_or(f64::NAN), ci95: estimate.ci95 }
        });
        chart
            .line(&format!("loss {loss}: as published"), model(Form::Published))
            .line(&format!("loss {loss}: until the first loss"), model(Form::first_loss(path.rtt_s)))
            .draw(&format!("loss {loss}: simulator"), Draw::Points, found)
    })
}

/// Table of the simulated response times and the errors of both forms.
fn table(stack: &Stack, simulated: &[Simulated]) -> Table {
    let columns = simulated.iter().flat_map(|simulated| {
        let loss = percent(simulated.loss);
        [format!("loss {loss}: simulated, s"), "as published, %".to_owned(), "first loss, %".to_owned()]
    });
    let title = format!("{}: connections without a lost SYN, and by how much the model is off", stack.label);
    let table = Table::new(&title, std::iter::once("segments".to_owned()).chain(columns));
    SIZES.iter().fold(table, |table, &(segments, _)| {
        let cells = simulated.iter().flat_map(|simulated| {
            let found = Estimate::over(simulated.without_lost_syn(segments));
            let path = without_lost_syn(stack, simulated.loss);
            let off = |form| {
                let predicted = predicted(&path, form, segments);
                let off = found.value.map(|found| 100.0 * (predicted / found - 1.0));
                Cell::estimate(Estimate { value: off, ..Estimate::default() }, 0)
            };
            [Cell::estimate(found, 3), off(Form::Published), off(Form::first_loss(path.rtt_s))]
        });
        table.row(std::iter::once(Cell::number(segments as f64, 0)).chain(cells))
    })
}

/// Error of the model in percent of the simulated response time, without its sign: mean over the sizes of a range and
/// the losses of the claims. The confidence interval comes from the jackknife over seeds, since the error is not a mean
/// of the seeds' errors.
fn error(stack: &Stack, simulated: &[Simulated], form: Form, (from, to): (u64, u64)) -> Estimate {
    // Predicted response time, and the simulated one of each seed.
    let cells: Vec<(f64, Vec<f64>)> = simulated
        .iter()
        .filter(|simulated| CLAIMED.contains(&simulated.loss))
        .flat_map(|simulated| {
            let path = without_lost_syn(stack, simulated.loss);
            let sizes = SIZES.iter().map(|(segments, _)| *segments);
            sizes
                .filter(|segments| (from..=to).contains(segments))
                .map(move |segments| {
                    let found = simulated.without_lost_syn(segments);
                    let predicted = predicted(&path, form, segments);
                    (predicted, found.into_iter().flatten().collect())
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let error = |without: Option<usize>| {
        let errors = cells.iter().filter_map(|(predicted, found)| {
            let kept = found.iter().enumerate();
            let kept = kept.filter(|(seed, _)| Some(*seed) != without);
            let (n, sum) = kept.fold((0_u32, 0.0), |(n, sum), (_, time)| (n + 1, sum + time));
            (n > 0).then(|| 100.0 * (predicted * f64::from(n) / sum - 1.0).abs())
        });
        let errors: Vec<f64> = errors.collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    };
    let seeds = simulated.first().map_or(0, |simulated| simulated.runs.len());
    let all = error(None);
    let pseudo_values = (0..seeds).map(|seed| {
        let n = seeds as f64;
        Some(n * all? - (n - 1.0) * error(Some(seed))?)
    });
    Estimate { value: all, ..Estimate::over(pseudo_values) }
}

/// Response time against size for all stacks.
pub(super) fn response_time(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(8, 2);
    let sizes = SIZES.map(|(segments, [full, quick])| (segments, if lab.quick() { quick } else { full }));
    let mut measured = Measured::new();
    for stack in &STACKS {
        let simulated = LOSSES
            .iter()
            .map(|&loss| {
                let runs = transfers(lab, stack, loss, &sizes, &seeds)?;
                Ok(Simulated { loss, runs })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        measured = measured
            .chart(chart(
                &format!("{}-without-lost-syn", stack.name),
                &format!("{}: connections without a lost SYN", stack.label),
                &simulated,
                |loss| without_lost_syn(stack, loss),
                |transfer| transfer.syns_lost == 0,
            ))
            .chart(chart(
                &format!("{}-all", stack.name),
                &format!("{}: all connections", stack.label),
                &simulated,
                |loss| stack.path(loss),
                |_| true,
            ))
            .table(table(stack, &simulated));
        for (range, from, to) in RANGES {
            let first_loss = Form::first_loss(stack.path(0.0).rtt_s);
            let published = error(stack, &simulated, Form::Published, (from, to));
            let first_loss = error(stack, &simulated, first_loss, (from, to));
            measured = measured
                .claim(format!("{}-{range}-published", stack.name), published)
                .claim(format!("{}-{range}-first-loss", stack.name), first_loss);
        }
    }
    Ok(measured)
}
