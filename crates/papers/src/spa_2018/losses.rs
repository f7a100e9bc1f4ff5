//! Costs of losses, and the connections that they hit: statements of sections I, III, V and VI that need every packet of a run.

use super::repairs::{Kind, Repair, Repairs};
use super::schemes::{CODEL, FQ_CODEL, PACKET_FIFO, RED, SFQ, SPA};
use super::traffic::{REAL, SHORT};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab, Watched};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_experiment::GilbertElliott;
use gentle_units::Nanos;

/// Initial RTO of the paper's hosts, s.
const INITIAL_RTO_S: f64 = 3.0;

const LONG_FIFO: &str = "packet FIFO, 1,000 packets";
/// RED with an average that forgets as slowly as in the paper's simulator, a weight of 1/512.
const SLOW_RED: &str = "RED, weight 1/512";

const OF_REAL: &[(&str, &str)] = &[
    (PACKET_FIFO, "pfifo limit=50"),
    (LONG_FIFO, "pfifo limit=1000"),
    (CODEL, "codel"),
    (SFQ, "sfq"),
    (FQ_CODEL, "fq_codel"),
    (SPA, super::schemes::PUBLISHED_SPA),
];

const OF_SHORT: &[(&str, &str)] =
    &[(PACKET_FIFO, "pfifo limit=50"), (RED, "red limit=75000"), (SLOW_RED, "red limit=75000 ewma=9")];

/// Runs of one type of traffic, by role and then seed.
struct Runs(Vec<Watched<Repairs>>);

impl Runs {
    fn of(&self, role: &str) -> impl Iterator<Item = &Repairs> {
        let found = self.0.iter().filter(move |run| run.role == role);
        found.map(|run| &*run.seen)
    }

    /// Mean of a number over seeds.
    fn mean(&self, role: &str, number: impl Fn(&Repairs) -> Option<f64>) -> Estimate {
        Estimate::over(self.of(role).map(number))
    }

    /// Mean over seeds of a number with one scheme divided by that with another.
    fn ratio(&self, of: &str, to: &str, number: impl Fn(&Repairs) -> Option<f64>) -> Estimate {
        self.ratio_to(of, self, to, number)
    }

    /// Mean over seeds of a number with one scheme divided by that with a scheme of other runs with the same seeds.
    fn ratio_to(&self, of: &str, others: &Runs, to: &str, number: impl Fn(&Repairs) -> Option<f64>) -> Estimate {
        let pairs = self.of(of).zip(others.of(to));
        Estimate::over(pairs.map(|(of, to)| Some(number(of)? / number(to)?)))
    }
}

fn part(of: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| of / all)
}

/// Share of the lost segments of a kind that a timer repairs.
fn by_timer(run: &Repairs, kinds: &[Kind]) -> Option<f64> {
    let lost = |repair: &Repair| repair.lost && kinds.contains(&repair.kind);
    part(run.count(|repair| lost(repair) && repair.timer), run.count(lost))
}

fn timeouts(run: &Repairs, kinds: &[Kind]) -> f64 {
    run.count(|repair| repair.timer && kinds.contains(&repair.kind))
}

const ALL: &[Kind] = &[Kind::Syn, Kind::Fin, Kind::Tail, Kind::Middle];
const AFTER_HANDSHAKE: &[Kind] = &[Kind::Fin, Kind::Tail, Kind::Middle];
const DATA: &[Kind] = &[Kind::Tail, Kind::Middle];

/// The statements about losses.
pub(super) fn losses(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(4, 2);
    let watch = |setup: Setup| lab.watch(&setup, &seeds).map(Runs);
    let of_paper = |traffic: &super::traffic::Traffic, schemes| {
        let mut setup = traffic.of_the_paper(lab);
        setup.schemes.clear();
        setup.schemes(schemes)
    };
    let real = watch(of_paper(&REAL, OF_REAL))?;
    let short = watch(of_paper(&SHORT, OF_SHORT))?;
    let mut sooner = of_paper(&SHORT, &OF_SHORT[..1]);
    sooner.set_knob("initial_rto", "200ms");
    let sooner = watch(sooner)?;
    let long = watch(super::buffers::long().schemes(&OF_SHORT[..1]))?;
    let back = watch(
        Setup::from_toml("papers/spa-2018/return-loss.toml", include_str!("../../data/spa-2018/return-loss.toml"))
            .schemes(&[(PACKET_FIFO, "pfifo limit=10000")]),
    )?;
    let mut wireless = of_paper(&REAL, &OF_REAL[OF_REAL.len() - 1..]);
    for link in &mut wireless.scenario.links {
        link.jitter = Nanos::from_millis(20);
        link.bursts = Some(GilbertElliott { p: 0.001, r: 0.1, bad: 0.5, good: 0.0 });
    }
    let wireless = watch(wireless)?;
    let measured = of_real(&real, &wireless, Measured::new());
    let measured = of_short(&short, &sooner, measured);
    Ok(of_others(&long, &back, measured).table(table(&real)))
}

fn of_real(real: &Runs, wireless: &Runs, measured: Measured) -> Measured {
    let lost = |kinds: &'static [Kind]| move |repair: &Repair| repair.lost && kinds.contains(&repair.kind);
    let wait = |run: &Repairs| run.mean_wait(|repair| lost(DATA)(repair) && repair.timer);
    let starving = |run: &Repairs| {
        let gaps: Vec<f64> = run.gaps.iter().map(|gap| gap.as_secs_f64()).collect();
        part(gaps.iter().sum(), gaps.len() as f64)
    };
    let each = |run: &Repairs| part(timeouts(run, ALL), run.ended as f64);
    measured
        .claim("timer-wait", real.mean(PACKET_FIFO, |run| Some(wait(run)? / INITIAL_RTO_S)))
        .claim(
            "syn-wait",
            real.mean(PACKET_FIFO, |run| Some(run.mean_wait(lost(&[Kind::Syn]))? / run.mean_wait(lost(DATA))?)),
        )
        .claim("later-syns", real.mean(PACKET_FIFO, |run| Some(run.later_syns.loss()? / run.first_syns.loss()?)))
        .claim("head", real.mean(CODEL, |run| Some(by_timer(run, &[Kind::Syn])? / by_timer(run, AFTER_HANDSHAKE)?)))
        .claim("tail", real.mean(CODEL, |run| by_timer(run, &[Kind::Tail])).scaled(100.0))
        .claim(
            "tail-wait",
            real.mean(CODEL, |run| {
                let tail = |repair: &Repair| lost(&[Kind::Tail])(repair) && repair.timer;
                let by_ack = |repair: &Repair| lost(DATA)(repair) && !repair.timer;
                Some(run.mean_wait(tail)? / run.mean_wait(by_ack)?)
            }),
        )
        .claim(
            "kinds",
            real.mean(PACKET_FIFO, |run| {
                let three = timeouts(run, &[Kind::Syn, Kind::Fin, Kind::Tail]);
                part(100.0 * three, timeouts(run, ALL))
            }),
        )
        .claim("spa-timeouts", real.ratio(SPA, CODEL, each))
        .claim("wireless", wireless.ratio_to(SPA, real, SPA, each))
        .claim("long-buffer", real.ratio(LONG_FIFO, PACKET_FIFO, each))
        .claim("sfq-timeouts", real.mean(SFQ, |run| by_timer(run, DATA)).scaled(100.0))
        .claim(
            "sfq-several",
            real.mean(SFQ, |run| {
                let timer = |repair: &Repair| repair.timer && DATA.contains(&repair.kind);
                let again = run.count(|repair| timer(repair) && repair.after_timer);
                part(100.0 * again, run.count(timer))
            }),
        )
        .claim("starving-sfq", real.ratio(SFQ, PACKET_FIFO, starving))
        .claim("starving-fq-codel", real.ratio(FQ_CODEL, PACKET_FIFO, starving))
}

fn of_short(short: &Runs, sooner: &Runs, measured: Measured) -> Measured {
    let offered = |run: &Repairs| (run.data.offered + run.without_data) as f64;
    let against = |number: &dyn Fn(&Repairs) -> Option<f64>| sooner.ratio_to(PACKET_FIFO, short, PACKET_FIFO, number);
    let lost_syn = |repair: &Repair| repair.lost && repair.kind == Kind::Syn;
    measured
        .claim("sooner", against(&|run| Some(offered(run))))
        .claim("sooner-wait", against(&|run| run.mean_wait(lost_syn)))
        .claim("sooner-loss", against(&|run| run.syn_loss()))
        .claim("small-packets", short.mean(PACKET_FIFO, |run| part(run.without_data as f64, run.data.offered as f64)))
        .claim("red-below", short.mean(RED, |run| part(100.0 * run.lost_below as f64, run.lost as f64)))
        .claim("red-below-syns", short.mean(RED, |run| part(100.0 * run.syns_lost_below as f64, run.lost_below as f64)))
        .claim("red-average", short.ratio(RED, SLOW_RED, |run| run.first_syns.loss()))
        .claim("syn-rate", short.mean(PACKET_FIFO, |run| Some(run.syn_rate_bps() / 2.4e6)))
}

fn of_others(long: &Runs, back: &Runs, measured: Measured) -> Measured {
    measured
        .claim("one-per-event", long.mean(PACKET_FIFO, |run| part(run.data.lost as f64, run.events as f64)))
        .claim("after-a-loss", long.mean(PACKET_FIFO, |run| Some(run.data_after.loss()? / run.data.loss()?)))
        .claim(
            "syn-ack",
            back.mean(PACKET_FIFO, |run| {
                let lost = |repair: &Repair| repair.kind == Kind::Syn && repair.lost;
                let long = |repair: &Repair| repair.wait.as_secs_f64() > 0.9 * INITIAL_RTO_S;
                let waited = run.count(|repair| lost(repair) && long(repair));
                part(100.0 * waited, run.count(lost))
            }),
        )
        .claim(
            "ack-losses",
            back.mean(PACKET_FIFO, |run| {
                let again = run.count(|repair| AFTER_HANDSHAKE.contains(&repair.kind));
                part(100.0 * again, run.data.offered as f64)
            }),
        )
}

/// How each kind of loss is repaired.
fn table(real: &Runs) -> Table {
    let columns = [
        "scheme",
        "SYN and SYN/ACK: timeouts per 1,000 connections",
        "FIN",
        "last 3 segments",
        "others",
        "mean wait for lost data, s",
    ];
    let mut table = Table::new("Timeouts with real, by what was lost or late", columns);
    for (role, _) in OF_REAL {
        let each = |kind: Kind| {
            let number = move |run: &Repairs| part(1e3 * timeouts(run, &[kind]), run.ended as f64);
            Cell::estimate(real.mean(role, number), 1)
        };
        let wait = |run: &Repairs| run.mean_wait(|repair| repair.lost && DATA.contains(&repair.kind));
        table = table.row([
            Cell::text(*role),
            each(Kind::Syn),
            each(Kind::Fin),
            each(Kind::Tail),
            each(Kind::Middle),
            Cell::estimate(real.mean(role, wait), 2),
        ]);
    }
    table
}
