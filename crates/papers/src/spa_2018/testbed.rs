//! Figs. 5 to 10: the testbed of section VI with the paper's hosts.

use super::comparison::{average, comparisons};
use super::figures::{BINS, by_size, numbers, panels, response_times};
use super::quantity::{
    ABOVE_100, FROM_4_TO_10, FROM_11_TO_100, LOSS, Quantity, RESPONSE_TIME, RETRANSMISSION_DELAY,
    RTT, SYN_AGAIN, SYN_LOSS, SYN_PART, SYN_PROBABILITY, UP_TO_3, highest, lowest, mean, middle,
    others, ratio, saving_percent,
};
use super::schemes::{
    BYTE_FIFO, CODEL, FQ_CODEL, FQ_CODEL_20, PACKET_FIFO, PIE, PLAIN_AQMS, PUBLISHED, RED,
    REDFAVOR, SFQ, SPA, SPA_SYN_ONLY, SYN_FIN_PRIO, WITHOUT_PROTECTION,
};
use super::traffic::{REAL, REAL_REVERSE, SHORT, TEN_MEGABIT, Traffic};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::results::Results;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

/// Numbers for claims, by name.
pub(super) type Claims = Vec<(&'static str, Estimate)>;

fn run(lab: &Lab<'_>, traffic: &Traffic) -> Result<Results, Failure> {
    lab.compare_with_bins(traffic.of_the_paper(lab), &lab.seeds(6, 2), &BINS)
}

/// Fig. 5.
pub(super) fn real(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL)?;
    let measured = panels(&results).claims(claims_of_real(&results));
    Ok(measured.claims(comparisons(lab, "fig5", &results, run)?))
}

/// Numbers of the text about `real`, over all sizes.
pub(super) fn claims_of_real(results: &Results) -> Claims {
    let leading = [FQ_CODEL, FQ_CODEL_20, SFQ, REDFAVOR, SPA];
    let slowest = highest(results, &others(PUBLISHED, &[PACKET_FIFO]), RESPONSE_TIME);
    let fastest_aqm = lowest(results, PLAIN_AQMS, RESPONSE_TIME);
    let next_delay = lowest(results, &others(PUBLISHED, &[SPA]), RETRANSMISSION_DELAY);
    vec![
        (
            "all-beat-packet-fifo",
            ratio(results, slowest, PACKET_FIFO, RESPONSE_TIME),
        ),
        ("stand-out", lead(results, &leading, &[], RESPONSE_TIME)),
        (
            "byte-fifo-beats-aqms",
            ratio(results, BYTE_FIFO, fastest_aqm, RESPONSE_TIME),
        ),
        (
            "byte-fifo",
            saving_percent(results, BYTE_FIFO, PACKET_FIFO, RESPONSE_TIME),
        ),
        ("codel-rtt", ratio(results, CODEL, PACKET_FIFO, RTT)),
        ("pie-rtt", ratio(results, PIE, PACKET_FIFO, RTT)),
        (
            "spa-delay",
            ratio(results, SPA, next_delay, RETRANSMISSION_DELAY),
        ),
        ("spa-syn-loss", mean(results, SPA, SYN_LOSS).scaled(100.0)),
        ("syn-part", syn_part_percent(results)),
        (
            "redfavor",
            ratio(results, REDFAVOR, PACKET_FIFO, RESPONSE_TIME),
        ),
    ]
}

/// The slowest of `leading` relative to the fastest of the other schemes of the paper, less those of `without`.
pub(super) fn lead(
    results: &Results,
    leading: &[&'static str],
    without: &[&'static str],
    quantity: Quantity,
) -> Estimate {
    let rest = others(&others(PUBLISHED, leading), without);
    let last = highest(results, leading, quantity);
    let next = lowest(results, &rest, quantity);
    ratio(results, last, next, quantity)
}

/// Part of the retransmission delay that SYNs and SYN/ACKs have, as the mean over the schemes that lose SYNs.
fn syn_part_percent(results: &Results) -> Estimate {
    results.per_seed(|values| {
        let parts = WITHOUT_PROTECTION.iter().map(|role| {
            let part = SYN_PART.of(results, values, role)?;
            Some(part / RETRANSMISSION_DELAY.of(results, values, role)?)
        });
        let parts: Option<Vec<f64>> = parts.collect();
        parts.map(|parts| 100.0 * parts.iter().sum::<f64>() / parts.len() as f64)
    })
}

/// Schemes shown by size.
pub(super) const SELECTION: [&str; 9] = [
    PACKET_FIFO,
    BYTE_FIFO,
    RED,
    REDFAVOR,
    CODEL,
    FQ_CODEL,
    SFQ,
    SPA,
    SPA_SYN_ONLY,
];

/// Fig. 6.
pub(super) fn real_by_size(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL)?;
    let measured = Measured::new().chart(by_size(&results, &SELECTION));
    let measured = measured.claims(claims_of_real_by_size(&results));
    Ok(measured.claims(comparisons(lab, "fig6", &results, run)?))
}

/// Numbers of the text about `real`, by size.
pub(super) fn claims_of_real_by_size(results: &Results) -> Claims {
    let leading = [FQ_CODEL, FQ_CODEL_20, SFQ, REDFAVOR, SPA];
    vec![
        (
            "spa-4-10",
            saving_percent(results, SPA, FQ_CODEL, FROM_4_TO_10),
        ),
        (
            "spa-11-100",
            saving_percent(results, SPA, FQ_CODEL, FROM_11_TO_100),
        ),
        (
            "spa-above-100",
            saving_percent(results, SPA, FQ_CODEL, ABOVE_100),
        ),
        ("stand-out-1-3", lead(results, &leading, &[], UP_TO_3)),
        (
            "byte-fifo-1-3",
            saving_percent(results, BYTE_FIFO, PACKET_FIFO, UP_TO_3),
        ),
        (
            "redfavor-1-3",
            ratio(results, REDFAVOR, PACKET_FIFO, UP_TO_3),
        ),
        (
            "redfavor-4-10",
            ratio(results, REDFAVOR, PACKET_FIFO, FROM_4_TO_10),
        ),
    ]
}

/// Fig. 7.
pub(super) fn real_reverse(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let real = run(lab, &REAL)?;
    let reverse = run(lab, &REAL_REVERSE)?;
    let measured = panels(&reverse).table(more_losses(&real, &reverse));
    let measured = measured.claims(claims_of_reverse(&real, &reverse));
    Ok(measured.claims(comparisons(lab, "fig7", &reverse, run)?))
}

/// Numbers of the text about `real` with a reverse connection.
pub(super) fn claims_of_reverse(real: &Results, reverse: &Results) -> Claims {
    // For a seed the scenarios without and with the reverse connection have the same other connections.
    let growth = |roles: &[&str], quantity: Quantity, of: fn(f64) -> f64| {
        reverse.per_seed_with(real, |with, without| {
            let before = average(quantity, without, roles)?;
            Some(of(average(quantity, with, roles)? / before))
        })
    };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    vec![
        ("more-losses", growth(PUBLISHED, LOSS, percent)),
        (
            "more-syn-losses",
            growth(WITHOUT_PROTECTION, SYN_PROBABILITY, |ratio| ratio),
        ),
    ]
}

/// Losses of each scheme without and with the reverse connection.
fn more_losses(real: &Results, reverse: &Results) -> Table {
    let columns = [
        "scheme",
        "loss without, %",
        "with, %",
        "SYN loss without, %",
        "with, %",
    ];
    let table = Table::new("Losses without and with the reverse connection", columns);
    reverse.roles().iter().fold(table, |table, role| {
        let cell =
            |results, quantity| Cell::estimate(mean(results, role, quantity).scaled(100.0), 1);
        table.row([
            Cell::text(*role),
            cell(real, LOSS),
            cell(reverse, LOSS),
            cell(real, SYN_LOSS),
            cell(reverse, SYN_LOSS),
        ])
    })
}

/// Fig. 8.
pub(super) fn real_reverse_by_size(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL_REVERSE)?;
    let measured = Measured::new().chart(by_size(&results, &SELECTION));
    let measured = measured.claims(comparisons(lab, "fig8", &results, run)?);
    let mut cut = REAL_REVERSE.of_the_paper(lab);
    cut.scenario.drain = Nanos(0);
    cut.schemes.retain(|(role, _)| *role == PACKET_FIFO);
    let cut = lab.compare(cut, &lab.seeds(2, 1))?;
    Ok(measured.claim("unfinished", cut.mean(PACKET_FIFO, "unfinished")))
}

/// Fig. 9.
pub(super) fn short(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &SHORT)?;
    let measured = panels(&results).claims(claims_of_short(&results));
    Ok(measured.claims(comparisons(lab, "fig9", &results, run)?))
}

/// Numbers of the text about `short`.
pub(super) fn claims_of_short(results: &Results) -> Claims {
    let leading = [FQ_CODEL, FQ_CODEL_20, SFQ, SYN_FIN_PRIO, SPA];
    let rest = others(PUBLISHED, &leading);
    let next = lowest(results, &rest, UP_TO_3);
    let fastest_aqm = lowest(results, PLAIN_AQMS, RESPONSE_TIME);
    let median = middle(
        results,
        &others(PUBLISHED, &[FQ_CODEL, FQ_CODEL_20]),
        RESPONSE_TIME,
    );
    vec![
        ("spa-best", ratio(results, SPA, next, UP_TO_3)),
        (
            "syn-fin-prio-best",
            ratio(results, SYN_FIN_PRIO, next, UP_TO_3),
        ),
        ("sfq-best", ratio(results, SFQ, next, UP_TO_3)),
        ("fq-codel-best", ratio(results, FQ_CODEL_20, next, UP_TO_3)),
        (
            "fq-codel-5ms",
            ratio(results, FQ_CODEL, median, RESPONSE_TIME),
        ),
        (
            "fq-codel-20ms",
            ratio(results, FQ_CODEL_20, median, RESPONSE_TIME),
        ),
        (
            "byte-fifo-beats-aqms",
            ratio(results, BYTE_FIFO, fastest_aqm, RESPONSE_TIME),
        ),
        ("pie", mean(results, PIE, SYN_AGAIN).scaled(100.0)),
    ]
}

/// Fig. 10.
pub(super) fn ten_megabit(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &TEN_MEGABIT)?;
    let measured = Measured::new()
        .chart(by_size(&results, &SELECTION))
        .chart(response_times(&results))
        .table(numbers(&results));
    let measured = measured.claims(claims_of_ten_megabit(&results));
    Ok(measured.claims(comparisons(lab, "fig10", &results, run)?))
}

/// Numbers of the text about `10m`.
pub(super) fn claims_of_ten_megabit(results: &Results) -> Claims {
    let leading = [FQ_CODEL, FQ_CODEL_20, SFQ, SPA];
    let fastest_aqm = lowest(results, PLAIN_AQMS, RESPONSE_TIME);
    vec![
        ("far-ahead", lead(results, &leading, &[], RESPONSE_TIME)),
        (
            "byte-fifo",
            saving_percent(results, BYTE_FIFO, PACKET_FIFO, RESPONSE_TIME),
        ),
        (
            "byte-fifo-1-3",
            saving_percent(results, BYTE_FIFO, PACKET_FIFO, UP_TO_3),
        ),
        (
            "redfavor",
            ratio(results, REDFAVOR, fastest_aqm, RESPONSE_TIME),
        ),
    ]
}
