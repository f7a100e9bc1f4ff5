//! Description of the experiment in sentences.

use crate::format::{count, list, percent, plural, rate, time};
use gentle_experiment::results::{Comparison, LinkSummary};

/// Whether there was any connection or long-lived flow to measure.
pub(super) fn measured_anything(comparison: &Comparison) -> bool {
    let results = &comparison.results;
    results.iter().any(|r| r.connections > 0 || r.links.down.offered + r.links.up.offered > 0)
}

/// Explanation of an empty result.
pub(super) fn nothing_started(comparison: &Comparison) -> String {
    let scenario = &comparison.scenario;
    let (from, duration) = (scenario.warmup_s, time(scenario.duration_s));
    let within = match from {
        0.0 => format!("within {duration}"),
        from => format!("between {}, when the warm-up ends, and {duration}", time(from)),
    };
    format!("No connection starts {within}, so there is nothing to measure; use a longer --duration.")
}

/// Description of the experiment in one line: links with load, connections, seeds, hosts.
pub(super) fn experiment(comparison: &Comparison) -> String {
    let s = &comparison.scenario;
    let load = |link: &LinkSummary| {
        let long = match link.long_flows {
            0 => String::new(),
            n => format!(" and {}", plural(n, "long-lived flow", "long-lived flows")),
        };
        match link.load {
            0.0 if long.is_empty() => String::new(),
            0.0 => long.replacen(" and", " with", 1),
            load => format!(" at {} load{long}", percent(load)),
        }
    };
    let rtt = match s.down.delay_s + s.up.delay_s {
        0.0 => String::new(),
        rtt => format!(", RTT {}", time(rtt)),
    };
    let seeds = comparison.seeds.len() as u64;
    let first = comparison.results.first();
    let connections = first.map_or(0, |r| r.connections);
    let runs = match seeds {
        1 => format!("1 seed of {}", time(s.duration_s)),
        _ => format!("{} seeds of {}", count(seeds), time(s.duration_s)),
    };
    let applications: Vec<String> = first.map_or(Vec::new(), |r| {
        let names = r.applications.iter().map(|a| a.application.clone());
        names.collect()
    });
    let traffic = if connections == 0 && !applications.is_empty() {
        format!("{} in {runs}", list(&applications))
    } else if s.replayed {
        let each = plural(connections / seeds.max(1), "connection", "connections");
        format!("{each}, the same in {runs}")
    } else {
        let mut parts = vec![plural(connections, "connection", "connections")];
        parts.extend(applications);
        format!("{} in {runs}", list(&parts))
    };
    let knobs: Vec<String> = s.tcp.iter().map(|(knob, value)| format!("{knob}={value}")).collect();
    let knobs = match knobs.is_empty() {
        true => String::new(),
        false => format!(" ({})", knobs.join(" ")),
    };
    format!(
        "{}: {} down{}, {} up{} ({}){rtt}; {traffic}; hosts {}{knobs}",
        s.name,
        rate(s.down.rate_bps),
        load(&s.down),
        rate(s.up.rate_bps),
        load(&s.up),
        s.up.qdisc,
        s.profile,
    )
}
