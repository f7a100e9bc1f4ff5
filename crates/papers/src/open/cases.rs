//! Schemes and set-ups: built-in traffic between current hosts, at several rates with a load of 90 %.

use crate::{Cell, Estimate, Failure, Lab, Results, Setup, Table};
use gentle_experiment::{Direction, LinkChange, Scenario};
use gentle_units::{Nanos, Rate};

/// Role and scheme. Limits are for 2.4 Mb/s and grow with the rate.
pub(super) const SCHEMES: [(&str, &str); 9] = [
    ("pFIFO", "pfifo limit=50"),
    ("CoDel", "codel"),
    ("FQ-CoDel", "fq_codel"),
    ("GSP", "gsp"),
    ("SPA over CoDel", "spa"),
    ("SPA over PIE", "spa child=pie"),
    ("SPA over GSP", "spa child=gsp"),
    ("SYN Prio over GSP", "syn_prio child=gsp"),
    ("REDFavor", "redfavor limit=75000"),
];

/// Rates of the link under test, with their labels.
pub(super) const RATES: [(&str, u64); 4] =
    [("2.4 Mb/s", 2_400_000), ("10 Mb/s", 10_000_000), ("100 Mb/s", 100_000_000), ("1 Gb/s", 1_000_000_000)];

/// Index in [`RATES`] of the rate at which single factors are changed.
pub(super) const BASE_RATE: usize = 1;

/// Offered load of the link under test.
const LOAD: f64 = 0.9;

/// Bits that the link under test can carry in a run: some 400,000 packets in a full call, 60,000 in a quick one.
const BITS: [u64; 2] = [5_000_000_000, 700_000_000];
/// Shortest and longest run, seconds.
const SECONDS: [(u64, u64); 2] = [(8, 1_000), (1, 150)];

/// The built-in traffic `name` at one of [`RATES`] under `schemes`.
pub(super) fn setup(lab: &Lab<'_>, name: &str, rate: usize, schemes: &[(&'static str, &str)]) -> Setup {
    let mut scenario = Scenario::builtin(name).expect("the traffic is built in");
    scenario.set_profile("linux-7.2").expect("the profile is built in");
    let from = scenario.link(Direction::Down).rate;
    scenario.schemes = schemes.iter().map(|(_, spec)| spec.parse().expect("the scheme is valid")).collect();
    // Limits of packets and bytes are for 2.4 Mb/s, even if the traffic has another rate.
    let least = Rate::from_bits_per_second(RATES[0].1).expect("rates are above zero");
    scenario.set_rate(Direction::Down, least);
    scenario.set_rate(Direction::Up, up(&scenario, from, least));
    let bits = RATES[rate].1;
    let change = LinkChange { down: Rate::from_bits_per_second(bits), up: None, load: Some(LOAD) };
    scenario.change_links(&change).expect("the traffic starts at random");
    let quick = usize::from(lab.quick());
    let (shortest, longest) = SECONDS[quick];
    scenario.set_duration(Nanos::from_secs((BITS[quick] / bits).clamp(shortest, longest)));
    // Warm-up: a tenth. Connections that have begun may end.
    scenario.warmup = Nanos(scenario.duration.0 / 10);
    scenario.drain = Nanos::from_secs(60);
    let specs = scenario.schemes.clone();
    let roles = schemes.iter().map(|(role, _)| *role);
    Setup { scenario, schemes: roles.zip(specs).collect(), conflict: None }
}

/// The rate of the reverse link when the link under test changes from `from` to `to`.
fn up(scenario: &Scenario, from: Rate, to: Rate) -> Rate {
    let up = scenario.link(Direction::Up).rate.bits_per_second();
    let bits = up * to.bits_per_second() / from.bits_per_second();
    Rate::from_bits_per_second(bits.max(1)).expect("it is above zero")
}

pub(super) fn seeds(lab: &Lab<'_>) -> Vec<u64> {
    lab.seeds(3, 1)
}

/// A number of each scheme, in the order of [`SCHEMES`], for tables with a row per scheme.
pub(super) struct Quantity {
    title: &'static str,
    metric: &'static str,
    factor: f64,
    decimals: u8,
}

/// The quantities of the tables.
pub(super) const QUANTITIES: [Quantity; 3] = [
    Quantity {
        title: "Mean response time of connections of 1 to 3 segments, ms",
        metric: "response_time_by_size.0.mean_s",
        factor: 1e3,
        decimals: 0,
    },
    Quantity {
        title: "Mean response time of all connections, ms",
        metric: "response_time_s.mean",
        factor: 1e3,
        decimals: 0,
    },
    Quantity { title: "Loss of SYNs and SYN/ACKs, %", metric: "loss.handshake", factor: 100.0, decimals: 2 },
];

impl Quantity {
    pub(super) fn of(&self, results: &Results, role: &str) -> Estimate {
        results.mean(role, self.metric).scaled(self.factor)
    }

    /// A table with a row per scheme and a column per case.
    fn table(&self, cases: &[(String, Results)]) -> Table {
        let heads = cases.iter().map(|(label, _)| label.clone());
        let table = Table::new(self.title, std::iter::once("scheme".to_owned()).chain(heads));
        SCHEMES.iter().fold(table, |table, (role, _)| {
            let cells = cases.iter().map(|(_, results)| match results.has(role) {
                true => Cell::estimate(self.of(results, role), self.decimals),
                false => "–".into(),
            });
            table.row(std::iter::once(Cell::from(*role)).chain(cells))
        })
    }
}

/// A table of each quantity.
pub(super) fn by_scheme(cases: &[(String, Results)]) -> impl Iterator<Item = Table> {
    QUANTITIES.iter().map(|quantity| quantity.table(cases))
}

/// One traffic at all rates.
pub(super) fn at_all_rates(lab: &Lab<'_>, name: &str) -> Result<Vec<(String, Results)>, Failure> {
    let cases = RATES.iter().enumerate().map(|(rate, (label, _))| {
        let setup = setup(lab, name, rate, &SCHEMES);
        Ok(((*label).to_owned(), lab.compare(setup, &seeds(lab))?))
    });
    cases.collect()
}
