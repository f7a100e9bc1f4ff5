//! Comparison of a household: applications only, four schemes, three seeds.

use super::fixture::comparison;
use gentle_experiment::results::{
    ApplicationResult, Better, Comparison, Distribution, Harm, Loss, Mean, Retransmission, Series,
};

/// Label; one-way delay of calls, seconds; fraction of speech lost; dropouts a minute; page load and lookup, seconds;
/// lookups failed.
type Line = (&'static str, f64, f64, f64, f64, f64, u64);

const SCHEMES: [Line; 4] = [
    ("pfifo", 0.412, 0.0312, 4.1, 3.71, 0.901, 7),
    ("fq_codel", 0.031, 0.0011, 0.2, 1.22, 0.044, 0),
    ("cake", 0.029, 0.0009, 0.1, 1.19, 0.043, 0),
    ("spa", 0.048, 0.0102, 1.3, 1.31, 0.046, 0),
];

/// Sample comparison.
pub(crate) fn household() -> Comparison {
    let mut comparison = comparison();
    "home-evening".clone_into(&mut comparison.scenario.name);
    comparison.command = Some("gentle compare --traffic home-evening --seeds 3".to_owned());
    comparison.results.retain(|result| SCHEMES.iter().any(|line| line.0 == result.scheme));
    comparison.results.dedup_by_key(|result| result.scheme.clone());
    // The fixture has neither cake nor a plain spa.
    let spare = comparison.results[0].clone();
    comparison.results.resize(SCHEMES.len(), spare);
    for (index, line) in SCHEMES.iter().enumerate() {
        let result = &mut comparison.results[index];
        line.0.clone_into(&mut result.scheme);
        line.0.clone_into(&mut result.label);
        result.connections = 0;
        (result.completed, result.unfinished) = (0, 0);
        result.response_time_s = Distribution::default();
        result.response_time_by_size.clear();
        result.rtt_s = Mean::default();
        result.handshake_s = Distribution::default();
        result.retransmission = Retransmission::default();
        result.retransmission_ci95 = Retransmission::default();
        for loss in [&mut result.links.down.loss, &mut result.links.down.loss_ci95] {
            *loss = Loss { all: loss.all, ..Loss::default() };
        }
        result.by_seed.clear();
        let &(_, delay, lost, dropouts, load, lookup, failed) = line;
        let voice = ApplicationResult {
            datagrams: 89_400,
            delay_s: times(0.6 * delay, delay),
            jitter_s: times(0.03 * delay, 0.2 * delay),
            loss: mean(0.4 * lost),
            useless: mean(lost),
            stalls_per_minute: mean(dropouts),
            stalled: mean(0.004 * dropouts),
            goodput_bps: mean(137_600.0),
            ..application("voice", "voice")
        };
        let pages = ApplicationResult {
            connect_s: times(0.1 * load, 0.4 * load),
            transaction_s: times(0.5 * load, 1.4 * load),
            transactions: 811,
            unfinished: 2,
            goodput_bps: mean(3_100_000.0),
            ..application("browsing", "pages")
        };
        let dns = ApplicationResult {
            transaction_s: times(0.3 * lookup, lookup),
            transactions: 1_391,
            failed,
            ..application("dns", "dns")
        };
        for (name, value) in [
            ("applications.0.delay_s.p99", Some(delay)),
            ("applications.0.useless.mean", Some(lost)),
            ("applications.0.stalls_per_minute.mean", Some(dropouts)),
            ("applications.1.transaction_s.p95", Some(load)),
            ("applications.2.transaction_s.p99", Some(lookup)),
        ] {
            let around = |seed: u32| {
                let own = 0.01 * (index as f64 * 2.4 + f64::from(seed) * 1.9).sin();
                value.map(|value| value * (1.0 + 0.02 * f64::from(seed) + own))
            };
            result.by_seed.push(Series {
                name: name.to_owned(),
                better: Some(Better::Lower),
                values: (0..3).map(around).collect(),
            });
        }
        result.applications = vec![voice, pages, dns];
    }
    comparison.set_reference("pfifo");
    comparison
}

/// The household with the harm to its applications.
pub(crate) fn harmed() -> Comparison {
    let mut comparison = household();
    for (result, line) in comparison.results.iter_mut().zip(SCHEMES) {
        let harm = |part: &str, number: &str, together: f64| {
            let alone = 0.026;
            let harm = (together - alone) / together;
            Harm {
                part: part.to_owned(),
                kind: Some(part.to_owned()),
                number: number.to_owned(),
                alone: mean(alone),
                together: mean(together),
                harm: mean(harm),
                values: vec![Some(harm); 3],
            }
        };
        result.harm = vec![harm("voice", "delay_s.p99", line.1), harm("dns", "transaction_s.p99", line.5)];
    }
    comparison
}

fn application(name: &str, kind: &str) -> ApplicationResult {
    ApplicationResult { application: name.to_owned(), kind: kind.to_owned(), ..ApplicationResult::default() }
}

fn mean(value: f64) -> Mean {
    Mean { mean: Some(value), ci95: Some(0.04 * value) }
}

fn times(p50: f64, p99: f64) -> Distribution {
    Distribution { mean: Some(1.1 * p50), ci95: Some(0.03 * p50), p50: Some(p50), p95: Some(0.8 * p99), p99: Some(p99) }
}
