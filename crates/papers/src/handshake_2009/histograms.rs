//! Figs. 1 and 2: histograms of the time between duplicate SYNs, and between duplicate SYN/ACKs, in captures generated
//! with the hosts that sections 3.1 to 3.3 describe, at the places of the captures.

use super::columns::{Column, is_standard};
use super::hosts::{GROUPS, hosts};
use crate::captures::analyze;
use crate::chart::{Axis, Chart, Curves};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::proportion::wilson;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, Plan, Repeat, generate};
use gentle_captures::{CLIENT, Loss, Place, SERVER, Side};
use gentle_trace::results::IntervalHistogram;
use gentle_trace::{Options, VantagePoint};
use gentle_units::Nanos;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Upper ends of the bins of tables, milliseconds. The last bin has everything beyond.
const BINS: [(u64, &str); 12] = [
    (300, "0–0.3"),
    (800, "0.3–0.8"),
    (1_300, "0.8–1.3"),
    (1_800, "1.3–1.8"),
    (2_300, "1.8–2.3"),
    (2_700, "2.3–2.7"),
    (3_300, "2.7–3.3"),
    (3_700, "3.3–3.7"),
    (5_400, "3.7–5.4"),
    (6_600, "5.4–6.6"),
    (18_000, "6.6–18"),
    (u64::MAX, "18 and more"),
];

/// Width of the bins of charts, and of the peaks of claims, seconds; and the end of charts.
const WIDTH: f64 = 0.2;
const CHART_END: f64 = 22.0;

/// Interval up to which duplicates form a separate peak: section 3.1.
const SHORT: f64 = 0.3;

/// Tolerance of a standard interval: relative, and seconds.
const TOLERANCE: (f64, f64) = (0.1, 0.2);

/// Intervals below this are near a standard one in the sense of section 3.1 but not at it, seconds.
const NEAR: f64 = 0.5;
const AT: f64 = 0.05;

/// Group of the clients with 3.4 s, and the others by their names in `hosts.toml`.
const WITH_3_4: &str = "client with 3.4 s";
const WITH_200_MS: &str = "few clients with 200 ms";
const PROGRAMS: [&str; 2] = ["client with 0.5 s", "client with 20 s"];

/// A half of a figure.
struct Half {
    /// Prefix of claims and charts.
    id: &'static str,
    title: &'static str,
    /// Column of Table 1 with the losses and the places.
    column: &'static str,
    /// Host that sends the duplicates.
    kind: Side,
    /// Groups of hosts.
    groups: &'static [&'static str],
    /// True if intervals count from the first packet, not from the previous one.
    from_first: bool,
}

const WEBMAIL: &[&str] =
    &["", WITH_3_4, "client with about 3 s", "client with any timer", WITH_200_MS, "few clients behind a switch"];

const WEBMAIL_1: Half = Half {
    id: "a",
    title: "Webmail 1: time between duplicate SYNs, at the server",
    column: "webmail1",
    kind: CLIENT,
    groups: WEBMAIL,
    from_first: false,
};

const WEBMAIL_2: Half =
    Half { id: "b", title: "Webmail 2: time between duplicate SYNs, at the server", column: "webmail2", ..WEBMAIL_1 };

const UNIVERSITY: Half = Half {
    id: "a",
    title: "University proxy: time from the original to the duplicate SYN/ACK, at the client",
    column: "university",
    kind: SERVER,
    groups: &["", "loaded server", "loaded server with 1.5 s", "overloaded server"],
    from_first: true,
};

const LBNL: Half = Half {
    id: "b",
    title: "LBNL/ICSI: time between duplicate SYNs, at clients and servers",
    column: "lbnl",
    kind: CLIENT,
    groups: &["", PROGRAMS[0], PROGRAMS[1]],
    from_first: false,
};

/// Captures of a half with one seed.
struct Seed {
    /// Duplicates of the half's kind at its places.
    repeats: Vec<Repeat>,
    /// Names of the groups, by workload.
    groups: Vec<String>,
    /// Clients of the captures.
    clients: usize,
    /// Captures: one per place.
    captures: f64,
    /// Intervals of retransmissions as the analysis finds them.
    found: [f64; BINS.len()],
    copies_found: f64,
    /// Duplicate SYNs and SYN/ACKs at the places.
    duplicates: [f64; 2],
}

fn bin(after: Nanos) -> usize {
    let place = BINS.iter().position(|(end, _)| after.as_millis() < *end);
    place.unwrap_or(BINS.len() - 1)
}

fn histogram(found: &IntervalHistogram, bins: &mut [f64; BINS.len()]) {
    for it in &found.bins {
        bins[bin(Nanos::from_secs_f64(f64::midpoint(it.from_s, it.to_s)))] += it.count as f64;
    }
}

impl Half {
    fn faults(&self) -> Faults {
        let column = Column::of(self.column).map(Column::faults);
        Faults {
            // Copies come from a group.
            copied: 0.0,
            groups: GROUPS,
            ..column.unwrap_or_default()
        }
    }

    fn measure(&self, setup: &Setup, seed: u64) -> Seed {
        let observers = Column::of(self.column).map_or_else(Vec::new, Column::observers);
        // Columns with the same hosts have separate captures.
        let seed = seed + 1_000 * u64::from(self.id == "b");
        let plan = Plan { faults: self.faults(), observers: &observers, ..Plan::new(&setup.scenario, seed) };
        let trace = generate(&plan, None);
        let mut seed = Seed {
            repeats: Vec::new(),
            groups: (setup.scenario.workloads.iter())
                .map(|workload| workload.group.clone().unwrap_or_default())
                .collect(),
            clients: 0,
            captures: observers.len() as f64,
            found: [0.0; BINS.len()],
            copies_found: 0.0,
            duplicates: [0.0; 2],
        };
        let mut clients = BTreeSet::new();
        for (capture, observer) in trace.captures.into_iter().zip(&observers) {
            let (vantage, host) = match observer.place {
                Place::Server => (VantagePoint::Server, SERVER),
                Place::Client | Place::Middle => (VantagePoint::Client, CLIENT),
            };
            let options = Options { vantage: Some(vantage), ..Options::default() };
            let analysis = analyze(capture, &options, &mut |row| {
                clients.insert(row.client);
            });
            let copies = analysis.handshakes.capture_duplicates;
            let (intervals, copies) = match self.kind {
                CLIENT => (&analysis.intervals.syn, copies.syn),
                _ => (&analysis.intervals.synack, copies.synack),
            };
            histogram(intervals, &mut seed.found);
            seed.copies_found += copies as f64;
            for kind in [CLIENT, SERVER] {
                let all = trace.repeats.iter();
                let here = all.filter(|it| it.at == host && it.from == kind);
                seed.duplicates[kind.index()] += here.clone().count() as f64;
                if kind == self.kind {
                    seed.repeats.extend(here);
                }
            }
        }
        seed.clients = clients.len();
        seed
    }

    fn captures(&self, lab: &Lab<'_>) -> Result<Captures<'_>, Failure> {
        let setup = hosts(lab, self.groups);
        let context = (&setup, self.id, self.title);
        let seeds = lab.map(&context, lab.seeds(16, 6), |&seed| Ok(self.measure(&setup, seed)))?;
        Ok(Captures { half: self, seeds })
    }
}

/// Captures of a half with all seeds. Peaks have few duplicates in each, so claims count over all of them.
struct Captures<'a> {
    half: &'a Half,
    seeds: Vec<Arc<Seed>>,
}

type Test<'a> = &'a dyn Fn(&Repeat, &str) -> bool;

impl Captures<'_> {
    /// Number of duplicates that pass a test, which sees the name of their group.
    fn count(&self, test: Test<'_>) -> f64 {
        let seeds = self.seeds.iter();
        let counts = seeds.map(|seed| {
            let repeats = seed.repeats.iter();
            let passed = repeats.filter(|it| {
                let group = seed.groups.get(it.workload).map_or("", String::as_str);
                test(it, group)
            });
            passed.count() as f64
        });
        counts.sum()
    }

    /// Duplicates that pass a test, of those that pass `among`, in percent, with the interval of a proportion.
    fn share(&self, test: Test<'_>, among: Test<'_>) -> Estimate {
        let part = self.count(&|it, group| among(it, group) && test(it, group));
        let whole = self.count(among);
        if whole == 0.0 {
            return Estimate::default();
        }
        let value = part / whole;
        let (low, high) = wilson(part as u64, whole as u64);
        Estimate {
            value: Some(100.0 * value),
            ci95: Some(100.0 * f64::max(value - low, high - value)),
            seeds: u32::try_from(self.seeds.len()).unwrap_or(u32::MAX),
        }
    }

    fn seconds(&self, repeat: &Repeat) -> f64 {
        let time = match self.half.from_first {
            true => repeat.since_first,
            false => repeat.after,
        };
        time.as_secs_f64()
    }

    /// Duplicates within half a bin of `at` seconds, of those in that bin and the next two, in percent. Without a peak
    /// it is about a third.
    fn peak(&self, at: f64) -> Estimate {
        let within = |width: f64| move |seconds: f64| (seconds - at).abs() <= width / 2.0;
        let (bin, three) = (within(WIDTH), within(3.0 * WIDTH));
        self.share(&|it, _| bin(self.seconds(it)), &|it, _| three(self.seconds(it)))
    }

    /// Number of the `standard` intervals whose bin is among the same number of highest bins.
    fn among_highest(&self, standard: &[f64]) -> Estimate {
        let mut bins: Vec<(f64, f64)> = self.bins();
        bins.sort_by(|a, b| b.1.total_cmp(&a.1));
        bins.truncate(standard.len());
        let found = standard.iter().filter(|standard| {
            (bins.iter()).any(|(middle, count)| *count > 0.0 && (middle - **standard).abs() <= WIDTH / 2.0)
        });
        Estimate::exact(found.count() as f64)
    }

    /// Middle of each bin of the chart, seconds, and duplicates per capture. Bins have multiples of their width in the
    /// middle.
    fn bins(&self) -> Vec<(f64, f64)> {
        let captures: f64 = self.seeds.iter().map(|seed| seed.captures).sum();
        let number = (CHART_END / WIDTH) as usize;
        let mut bins = vec![0.0; number + 1];
        for repeat in self.seeds.iter().flat_map(|seed| &seed.repeats) {
            let place = (self.seconds(repeat) / WIDTH).round() as usize;
            if let Some(count) = bins.get_mut(place) {
                *count += 1.0;
            }
        }
        let middle = |place: usize| place as f64 * WIDTH;
        let each = bins.into_iter().enumerate();
        each.map(|(place, count)| (middle(place), count / captures)).collect()
    }

    fn chart(&self) -> Curves {
        let time = Axis::linear("interval", "s").range(0.0, CHART_END);
        let duplicates = Axis::linear("duplicates per capture and 0.2 s", "");
        Chart::curves(self.half.id, self.half.title, time, duplicates)
            .line("generated, as the paper counts them", self.bins())
    }

    fn table(&self) -> Table {
        let columns =
            ["interval", "all, as the paper counts them", "retransmissions in truth", "retransmissions found"];
        let over = |of: &dyn Fn(&Seed) -> f64| {
            let each = self.seeds.iter();
            Estimate::over(each.map(|seed| Some(of(seed) / seed.captures)))
        };
        let rows = BINS.iter().enumerate().map(|(number, (_, name))| {
            let count = |copies: bool| {
                over(&|seed| {
                    let repeats = seed.repeats.iter().filter(|it| copies || !it.copy);
                    repeats.filter(|it| bin(it.after) == number).count() as f64
                })
            };
            [
                Cell::Text(format!("{name} s")),
                Cell::estimate(count(true), 1),
                Cell::estimate(count(false), 1),
                Cell::estimate(over(&|seed| seed.found[number]), 1),
            ]
        });
        let title = format!("{}; duplicates per capture by the time since the previous one", self.half.title);
        rows.fold(Table::new(&title, columns), Table::row)
    }

    /// Copies made by the capture that the analysis finds, of all; and the difference of its histogram from the true
    /// one, of all duplicates; in percent.
    fn recognition(&self) -> [(&'static str, Estimate); 2] {
        let copies = self.seeds.iter().map(|seed| {
            let copies = seed.repeats.iter().filter(|it| it.copy).count();
            Some(seed.copies_found / copies as f64)
        });
        let wrong = self.seeds.iter().map(|seed| {
            let mut bins = seed.found;
            for repeat in seed.repeats.iter().filter(|it| !it.copy) {
                bins[bin(repeat.after)] -= 1.0;
            }
            let wrong: f64 = bins.iter().map(|it| it.abs()).sum();
            Some(wrong / seed.repeats.len() as f64)
        });
        [("copies", Estimate::over(copies).scaled(100.0)), ("wrong", Estimate::over(wrong).scaled(100.0))]
    }

    fn all(_: &Repeat, _: &str) -> bool {
        true
    }

    fn is_outside(repeat: &Repeat) -> bool {
        !is_standard(repeat.after, TOLERANCE)
    }

    fn is_short(repeat: &Repeat) -> bool {
        repeat.after.as_secs_f64() < SHORT
    }

    /// Peaks of claims with the names `{half}-peak-{seconds}`.
    fn peaks(&self, at: &[&'static str]) -> Vec<(String, Estimate)> {
        let one = |at: &&str| {
            let seconds = at.parse().unwrap_or(f64::NAN);
            (format!("{}-peak-{at}", self.half.id), self.peak(seconds))
        };
        at.iter().map(one).collect()
    }
}

/// Fig. 1: the webmail servers.
pub(super) fn fig1(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let (a, b) = (WEBMAIL_1.captures(lab)?, WEBMAIL_2.captures(lab)?);
    let all: Test<'_> = &Captures::all;
    let near = |it: &Repeat, at: f64| (it.after.as_secs_f64() - at).abs() <= WIDTH / 2.0;
    let distance = |it: &Repeat| {
        let seconds = it.after.as_secs_f64();
        let standard = [3.0, 6.0, 12.0, 24.0].into_iter();
        standard.map(|at: f64| (seconds - at).abs()).fold(f64::INFINITY, f64::min)
    };
    let sources: Vec<f64> = (a.seeds.iter())
        .map(|seed| {
            let short = seed.repeats.iter().filter(|it| Captures::is_short(it));
            let sources: BTreeSet<IpAddr> = short.map(|it| it.client).collect();
            100.0 * sources.len() as f64 / seed.clients as f64
        })
        .collect();
    Ok(Measured::new()
        .chart(a.chart())
        .chart(b.chart())
        .table(a.table())
        .table(b.table())
        .claims(a.peaks(&["3", "6", "3.4", "6.8", "13.6"]))
        .claim("a-peak-0", a.share(&|it, _| Captures::is_short(it), &|it, _| it.after.as_secs_f64() < 3.0 * SHORT))
        .claim("peak", a.share(&|it, _| Captures::is_short(it), all))
        .claims(a.recognition())
        .claim("a-at-3", a.share(&|it, _| near(it, 3.0), all))
        .claim("a-at-6", a.share(&|it, _| near(it, 6.0), all))
        .claim("a-first-intervals", a.share(&|_, group| group.is_empty(), &|it, _| near(it, 3.0) || near(it, 6.0)))
        .claim("a-near", a.share(&|it, _| (AT..NEAR).contains(&distance(it)), all))
        .claim("a-timer", a.share(&|it, _| !it.copy, &|it, _| !Captures::is_outside(it)))
        .claim("a-other", a.share(&|_, group| !group.is_empty(), &|it, _| Captures::is_outside(it)))
        .claim(
            "a-series",
            a.share(&|_, group| group == WITH_3_4, &|it, _| [3.4, 6.8, 13.6].into_iter().any(|at| near(it, at))),
        )
        .claim("a-small-rto", a.share(&|_, group| group == WITH_200_MS, &|it, _| Captures::is_short(it) && !it.copy))
        .claim("a-sources", Estimate::over(sources.into_iter().map(Some)))
        .claim("b-highest", b.among_highest(&[3.0, 6.0]))
        .claims(b.peaks(&["3", "6", "3.4", "6.8"]))
        .claim("b-below-6", b.share(&|it, _| it.after.as_secs_f64() < 6.0, &|it, _| Captures::is_outside(it)))
        .claim(
            "b-to-18",
            b.share(&|it, _| (6.0..18.0).contains(&it.after.as_secs_f64()), &|it, _| Captures::is_outside(it)),
        ))
}

/// Loss of SYNs, SYN/ACKs and ACKs in captures for the meaning of duplicates at the client.
const LOSS: f64 = 0.01;

/// Lost SYN/ACKs in a client's capture of one seed.
struct AtClient {
    /// Duplicate SYN/ACKs per duplicate SYN at the client.
    synacks_per_syn: f64,
    /// Duplicate SYN/ACKs at the client, of those that servers sent.
    seen: f64,
    /// Attempts with one SYN/ACK in the capture, of those that lost a SYN/ACK and no ACK.
    one: f64,
    /// SYNs in the capture, of those sent.
    syns: f64,
}

fn at_client(setup: &Setup, seed: u64) -> AtClient {
    let lost = Loss { ack: LOSS, ..Loss::new(LOSS, 0.0) };
    let observers = Column::of("university").map_or_else(Vec::new, Column::observers);
    let plan = Plan {
        faults: Faults { loss: [lost; 2], groups: GROUPS, ..Faults::default() },
        observers: &observers,
        ..Plan::new(&setup.scenario, seed)
    };
    let mut trace = generate(&plan, None);
    let capture = trace.captures.pop().unwrap_or_default();
    let found = analyze(capture, &Options::default(), &mut |_| ()).handshakes;
    let (duplicate_syn, duplicate_synack) = (found.duplicate_syn as f64, found.duplicate_synack as f64);
    let attempts = trace.attempts.iter();
    let sent: [f64; 2] =
        [CLIENT, SERVER].map(|host| attempts.clone().map(|it| f64::from(it.opening.sent[host.index()])).sum());
    let openings = attempts.map(|it| it.opening);
    let answered = openings.clone().filter(|it| it.sent[1] > 0).count() as f64;
    let lost = openings.filter(|it| it.lost[1] > 0 && it.ack_lost != Some(true));
    let one = lost.clone().filter(|it| it.synacks_received == 1).count() as f64;
    AtClient {
        synacks_per_syn: duplicate_synack / duplicate_syn,
        seen: duplicate_synack / (sent[1] - answered),
        one: one / lost.count() as f64,
        syns: (found.attempts as f64 + duplicate_syn) / sent[0],
    }
}

/// Fig. 2: the university proxy and LBNL/ICSI.
pub(super) fn fig2(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let (a, b) = (UNIVERSITY.captures(lab)?, LBNL.captures(lab)?);
    let setup = hosts(lab, &["", "loaded server"]);
    let seeds = lab.map(&(&setup, "at the client"), lab.seeds(8, 4), |&seed| Ok(at_client(&setup, seed)))?;
    let over = |of: &dyn Fn(&AtClient) -> f64| Estimate::over(seeds.iter().map(|it| Some(of(it))));
    let all: Test<'_> = &Captures::all;
    let late = |_: &Repeat, group: &str| !group.is_empty();
    let standard = |seconds: f64| is_standard(Nanos::from_secs_f64(seconds), TOLERANCE);
    // Times of the second, third and fourth packet with an initial RTO of 3 s, since the first one.
    let times = [3.0, 9.0, 21.0];
    let explained = [1.5, 9.0, 16.5]
        .into_iter()
        .filter(|peak: &f64| standard(*peak) || times.iter().any(|time| (time - peak).abs() <= TOLERANCE.1));
    let explained = explained.count() as f64;
    let per_place = |captures: &Captures<'_>, kind: Side| {
        let seeds = captures.seeds.iter();
        seeds.map(|seed| seed.duplicates[kind.index()]).sum::<f64>()
    };
    Ok(Measured::new()
        .chart(a.chart())
        .chart(b.chart())
        .table(a.table())
        .table(b.table())
        .claims(a.peaks(&["1.5", "9", "16.5"]))
        .claim("a-standard", Estimate::exact(explained))
        .claim("a-within-4", a.share(&|it, _| a.seconds(it) < 4.0, all))
        .claim("a-late", a.share(&late, all))
        .claim("a-synacks-per-syn", Estimate::exact(per_place(&a, SERVER) / per_place(&a, CLIENT)))
        .claim("synacks-per-syn", over(&|it| it.synacks_per_syn))
        .claim("seen-at-client", over(&|it| it.seen))
        .claim("one-synack", over(&|it| it.one).scaled(100.0))
        .claim("every-syn", over(&|it| it.syns))
        .claims(b.peaks(&["3", "6", "0.5", "20"]))
        .claim(
            "b-programs",
            b.share(&|_, group| PROGRAMS.contains(&group), &|it, _| {
                let seconds = it.after.as_secs_f64();
                [0.5, 20.0].into_iter().any(|at| (seconds - at).abs() <= WIDTH / 2.0)
            }),
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_half_has_a_column_and_all_its_groups() {
        let stop = AtomicBool::new(false);
        let lab = Lab::new(true, &(), &stop);
        for half in [WEBMAIL_1, WEBMAIL_2, UNIVERSITY, LBNL] {
            assert!(Column::of(half.column).is_some(), "{}", half.title);
            let workloads = hosts(&lab, half.groups).scenario.workloads;
            assert_eq!(workloads.len(), half.groups.len(), "{}", half.title);
        }
    }

    /// Duplicates at these times, seconds, in a capture of Fig. 2(a).
    fn captures(times: &[f64]) -> Captures<'static> {
        let repeat = |time: &f64| Repeat {
            at: CLIENT,
            from: SERVER,
            client: IpAddr::from([127, 0, 0, 1]),
            workload: 0,
            after: Nanos::from_secs(1),
            since_first: Nanos::from_secs_f64(*time),
            copy: false,
        };
        let seed = Seed {
            repeats: times.iter().map(repeat).collect(),
            groups: vec![String::new()],
            clients: 1,
            captures: 1.0,
            found: [0.0; BINS.len()],
            copies_found: 0.0,
            duplicates: [0.0; 2],
        };
        Captures { half: &UNIVERSITY, seeds: vec![Arc::new(seed)] }
    }

    #[test]
    fn a_peak_has_more_duplicates_than_its_neighbours() {
        let captures = captures(&[8.8, 8.95, 9.0, 9.05, 9.21, 12.0, 12.2, 11.8]);
        assert_eq!(captures.peak(9.0).value, Some(60.0));
        // Five duplicates show little.
        assert!(captures.peak(9.0).ci95.is_some_and(|half| half > 30.0));
        assert_eq!(captures.peak(12.0).value.map(f64::round), Some(33.0));
        assert_eq!(captures.peak(3.0).value, None);
        assert_eq!(captures.among_highest(&[9.0]).value, Some(1.0));
        assert_eq!(captures.among_highest(&[3.0]).value, Some(0.0));
    }
}
