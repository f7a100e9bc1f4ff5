//! Claims that are comparisons of quantities, as data of `published.toml`: `of` and `to` are a scheme, or a scheme and a set-up
//! (`RED with initial-rto`), `quantity` is one of [`QUANTITIES`].

use super::flows::{Flows, Request};
use super::{FILE, SIZES, WEB, seeds, setup};
use crate::published::{Compare, Form};
use crate::{Estimate, Failure, Lab, Setup, Watched};
use gentle_experiment::Traffic;
use gentle_units::Nanos;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of sizes that count as short: up to 10 packets.
pub(super) const SHORT: Range<usize> = 0..6;
/// Ranges of sizes that count as long: 71 to 200 packets.
pub(super) const LONG: Range<usize> = 11..SIZES.len();

/// A quantity of a run: one number, or one for each range of sizes. Not a number where nothing was observed.
type Quantity = fn(&Flows) -> Vec<f64>;

const QUANTITIES: &[(&str, Quantity)] = &[
    ("completion time", |flows| vec![mean(&flows.requests)]),
    ("completion time of short", |flows| by_size(&flows.requests)[SHORT].to_vec()),
    ("penalty of a lost SYN", |flows| vec![ratio(&penalty(flows, 0..SIZES.len()))]),
    ("penalty of short / of long", |flows| vec![ratio(&penalty(flows, SHORT)) / ratio(&penalty(flows, LONG))]),
    ("handshake of short", |flows| vec![handshake(flows, SHORT)]),
    ("handshake of short / of long", |flows| vec![handshake(flows, SHORT) / handshake(flows, LONG)]),
    ("requests at 3 s that lost a SYN", |flows| vec![lost_syn_at_peak(flows)]),
    ("needless SYNs", |flows| {
        let all: Vec<&Request> = flows.requests.iter().collect();
        vec![fraction(&all, |request| request.repeated_syn && !request.lost_syn)]
    }),
    ("drop rate of SYNs", |flows| vec![flows.syns.dropped as f64 / flows.syns.offered as f64]),
    ("SYNs dropped despite standard packets", |flows| vec![flows.dropped_syns_despite_data as f64]),
    ("dropped SYNs that found only SYNs", |flows| {
        let others = flows.dropped_syns_at_empty + flows.dropped_syns_despite_data;
        vec![1.0 - others as f64 / flows.syns.dropped as f64]
    }),
    ("bytes of a SYN", |flows| vec![flows.syns.sent_bytes as f64 / flows.syns.sent as f64]),
    ("bytes of SYNs", |flows| {
        let bytes = flows.syns.sent_bytes as f64;
        vec![bytes / (bytes + flows.standard.sent_bytes as f64)]
    }),
    ("wait of SYNs / of standard packets", |flows| vec![flows.syns.wait.seconds() / flows.standard.wait.seconds()]),
    ("wait of standard packets", |flows| vec![flows.standard.wait.seconds()]),
    ("drop rate of standard packets", |flows| vec![flows.standard.dropped as f64 / flows.standard.offered as f64]),
    ("recovery", |flows| vec![flows.recovery.seconds()]),
    ("utilization", |flows| vec![flows.utilization()]),
    ("goodput of long flows", |flows| vec![flows.long_goodput_bps().iter().sum()]),
    ("Jain's index", |flows| {
        let rates = flows.long_goodput_bps();
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        vec![sum * sum / (rates.len() as f64 * squares)]
    }),
    ("datagrams / a long flow", |flows| {
        let rates = flows.long_goodput_bps();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        vec![flows.datagrams_bps() / mean]
    }),
];

/// Another set-up than the figures': its name, and the change.
type Changed = (&'static str, fn(&mut Setup, quick: bool));

const SETUPS: &[Changed] = &[
    ("red-check", |setup, _| {
        keep(setup, &["REDFavor"]);
        setup.set_option("REDFavor", "exempt", "off");
    }),
    ("initial-rto", |setup, _| {
        keep(setup, &["RED"]);
        setup.set_knob("initial_rto", "1s");
    }),
    ("drop-tail", |setup, _| {
        setup.schemes.clear();
        *setup = setup.clone().scheme("pfifo", "pfifo limit=50");
    }),
    ("web-only", |setup, _| {
        keep(setup, &["RED"]);
        only_web(setup);
    }),
    ("no-congestion", |setup, _| {
        keep(setup, &["RED", "REDFavor"]);
        few_sessions(setup);
    }),
    ("short-rto", |setup, _| {
        keep(setup, &["RED"]);
        few_sessions(setup);
        for workload in &mut setup.scenario.workloads {
            workload.rtt = Some((Nanos::from_millis(300), Nanos::from_millis(300)));
        }
        setup.set_knob("initial_rto", "200ms");
    }),
    ("datagrams", |setup, quick| {
        keep(setup, &["CHOKe", "RED"]);
        let source = "kind = \"udp\"\nrate = \"5mbit\"\npacket = 1040";
        without_web(setup, source, quick);
    }),
    ("flood", |setup, quick| {
        keep(setup, &["RED", "REDFavor"]);
        let source = "kind = \"syn_flood\"\nrate = \"12mbit\"";
        without_web(setup, source, quick);
    }),
];

fn keep(setup: &mut Setup, roles: &[&str]) {
    setup.schemes.retain(|(role, _)| roles.contains(role));
}

fn only_web(setup: &mut Setup) {
    let is_web = |traffic: &Traffic| matches!(traffic, Traffic::Web(_));
    let workloads = &mut setup.scenario.workloads;
    workloads.retain(|workload| is_web(&workload.traffic));
}

fn few_sessions(setup: &mut Setup) {
    only_web(setup);
    super::assumptions::sessions(setup, 10);
}

/// The nine long-lived flows and the reverse flow with the source `source` instead of the web, for 100 s.
fn without_web(setup: &mut Setup, source: &str, quick: bool) {
    let (head, _) = WEB.split_once("# The nine servers' sessions").unwrap_or((WEB, ""));
    let text = format!("{head}\n[[workload]]\n{source}\n");
    setup.scenario.workloads = Setup::from_toml(FILE, &text).scenario.workloads;
    setup.scenario.warmup = Nanos::from_secs(if quick { 10 } else { 30 });
    setup.scenario.duration = Nanos::from_secs(if quick { 40 } else { 130 });
}

/// Our numbers for all claims of `part` that have a comparison.
pub(super) fn claims(lab: &Lab<'_>, part: &str) -> Result<Vec<(String, Estimate)>, Failure> {
    let data = super::PAPER.data();
    let compared = (data.claims_of(part)).filter_map(|claim| Some((claim.name().to_owned(), claim.compare.as_ref()?)));
    compared.map(|(name, compare)| Ok((name, number(lab, compare)?))).collect()
}

fn number(lab: &Lab<'_>, compare: &Compare) -> Result<Estimate, Failure> {
    let quantity = quantity(&compare.quantity);
    let of = runs(lab, &compare.of)?;
    let percent = |numbers: Vec<f64>, to: &[f64]| match compare.form {
        Form::Ratio | Form::Rank => ratio(&pairs(&numbers, to)),
        Form::Percent => 100.0 * ratio(&pairs(&numbers, to)),
        Form::Above => 100.0 * (ratio(&pairs(&numbers, to)) - 1.0),
    };
    if compare.to.is_empty() {
        // The number itself: a ratio to 1.
        let numbers = of.iter().map(|flows| {
            let numbers = quantity(flows);
            let ones = vec![1.0; numbers.len()];
            Some(percent(numbers, &ones))
        });
        return Ok(Estimate::over(numbers));
    }
    // Seed by seed.
    let to = runs(lab, &compare.to)?;
    let both = of.iter().zip(&to);
    Ok(Estimate::over(both.map(|(of, to)| Some(percent(quantity(of), &quantity(to))))))
}

fn quantity(name: &str) -> Quantity {
    let found = QUANTITIES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no quantity '{name}'")).1
}

/// The runs that `words` name, by seed.
pub(super) fn runs(lab: &Lab<'_>, words: &str) -> Result<Vec<Arc<Flows>>, Failure> {
    let (role, name) = words.split_once(" with ").unwrap_or((words, ""));
    let watched = match name {
        "" => lab.watch(&setup(lab), &seeds(lab))?,
        name => {
            let found = SETUPS.iter().find(|(known, _)| *known == name);
            let (_, change) = found.unwrap_or_else(|| panic!("no set-up '{name}'"));
            let mut setup = setup(lab);
            change(&mut setup, lab.quick());
            lab.watch(&setup, &seeds(lab))?
        }
    };
    let runs = watched.into_iter().filter(|run: &Watched<Flows>| run.role == role);
    Ok(runs.map(|run| run.seen).collect())
}

/// Numbers of two runs, or of two groups of requests, range by range.
fn pairs(of: &[f64], to: &[f64]) -> Vec<(f64, f64)> {
    of.iter().copied().zip(to.iter().copied()).collect()
}

/// Mean of the ratios of pairs, those left out in which nothing was observed.
pub(super) fn ratio(pairs: &[(f64, f64)]) -> f64 {
    let ratios = pairs.iter().map(|(of, to)| of / to);
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
    ratios.iter().sum::<f64>() / ratios.len() as f64
}

fn mean<'a>(requests: impl IntoIterator<Item = &'a Request>) -> f64 {
    let times: Vec<f64> = requests.into_iter().map(|request| request.time).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

fn fraction(requests: &[&Request], is: impl Fn(&Request) -> bool) -> f64 {
    let those = requests.iter().filter(|request| is(request));
    those.count() as f64 / requests.len() as f64
}

/// Fraction of the requests that completed within 3.0 to 3.5 s that lost a SYN or SYN/ACK.
pub(super) fn lost_syn_at_peak(flows: &Flows) -> f64 {
    let at_peak = |request: &&Request| (3.0..3.5).contains(&request.time);
    let peak: Vec<&Request> = flows.requests.iter().filter(at_peak).collect();
    fraction(&peak, |request| request.lost_syn)
}

/// Mean completion time in each range of [`SIZES`], in seconds.
pub(super) fn by_size<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Vec<f64> {
    let mut sums = [(0.0, 0_u64); SIZES.len()];
    for request in requests {
        // Larger requests are in no range.
        if let Some((sum, number)) = sums.get_mut(range_of(request)) {
            *sum += request.time;
            *number += 1;
        }
    }
    let means = sums.iter().map(|(sum, number)| sum / *number as f64);
    means.collect()
}

fn range_of(request: &Request) -> usize {
    SIZES.partition_point(|last| *last < request.packets)
}

/// Mean completion times of the requests that lost a SYN and of those that did not, by range of sizes.
pub(super) fn penalty(flows: &Flows, ranges: Range<usize>) -> Vec<(f64, f64)> {
    let of = |lost: bool| by_size(flows.requests.iter().filter(move |r| r.lost_syn == lost));
    pairs(&of(true)[ranges.clone()], &of(false)[ranges])
}

/// Part of the completion time that the handshake takes, of requests that lost no SYN: mean over requests.
fn handshake(flows: &Flows, ranges: Range<usize>) -> f64 {
    let kept = flows.requests.iter();
    let kept = kept.filter(|request| !request.lost_syn && ranges.contains(&range_of(request)));
    let parts: Vec<f64> = kept.map(|request| request.handshake / request.time).collect();
    parts.iter().sum::<f64>() / parts.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(packets: u64, time: f64) -> Request {
        Request { packets, time, handshake: 0.1, lost_syn: false, repeated_syn: false }
    }

    #[test]
    fn requests_are_in_the_range_of_their_size() {
        let requests = [(1, 1.0), (2, 3.0), (3, 5.0), (200, 7.0), (201, 9.0)];
        let requests = requests.map(|(packets, time)| request(packets, time));
        let means = by_size(&requests);
        assert_eq!(means.len(), SIZES.len());
        assert_eq!(means[..2], [2.0, 5.0]);
        assert!(means[2].is_nan());
        assert_eq!(means.last(), Some(&7.0));
    }

    #[test]
    fn a_range_without_requests_is_in_no_ratio() {
        let found = ratio(&[(2.0, 1.0), (f64::NAN, 1.0), (1.0, f64::NAN), (4.0, 1.0)]);
        assert_eq!(found, 3.0);
        assert!(ratio(&[]).is_nan());
    }

    #[test]
    fn every_comparison_of_the_paper_names_a_quantity_and_runs() {
        let data = crate::redfavor_2012::PAPER.data();
        let compared: Vec<&Compare> = data.claims.iter().filter_map(|claim| claim.compare.as_ref()).collect();
        assert!(!compared.is_empty());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let lab = Lab::new(true, &(), &stop);
        for compare in &compared {
            quantity(&compare.quantity);
            for words in [&compare.of, &compare.to] {
                let (role, name) = words.split_once(" with ").unwrap_or((words, ""));
                let mut found = setup(&lab);
                if let Some((_, change)) = SETUPS.iter().find(|(known, _)| *known == name) {
                    change(&mut found, true);
                } else {
                    assert!(name.is_empty(), "{words}");
                }
                let has = found.schemes.iter().any(|(known, _)| *known == role);
                assert!(role.is_empty() || has, "{words}");
            }
        }
        // No quantity and no set-up is left without a claim.
        for (name, _) in QUANTITIES {
            assert!(compared.iter().any(|compare| compare.quantity == *name), "{name}");
        }
        for (name, _) in SETUPS {
            let uses = |compare: &&Compare| compare.of.ends_with(name) || compare.to.ends_with(name);
            assert!(compared.iter().any(uses), "{name}");
        }
    }
}
