//! All schemes in all traffic at all rates, and the table to decide by.

use super::cases::{QUANTITIES, SCHEMES, at_all_rates, by_scheme};
use crate::{Cell, Failure, Lab, Measured, Table};

const TRAFFIC: [&str; 4] = ["real", "real-reverse", "short", "10m"];

pub(super) fn real(lab: &Lab<'_>) -> Result<Measured, Failure> {
    tables(lab, "real")
}

pub(super) fn real_reverse(lab: &Lab<'_>) -> Result<Measured, Failure> {
    tables(lab, "real-reverse")
}

pub(super) fn short(lab: &Lab<'_>) -> Result<Measured, Failure> {
    tables(lab, "short")
}

pub(super) fn ten_m(lab: &Lab<'_>) -> Result<Measured, Failure> {
    tables(lab, "10m")
}

fn tables(lab: &Lab<'_>, name: &str) -> Result<Measured, Failure> {
    let cases = at_all_rates(lab, name)?;
    Ok(Measured::new().tables(by_scheme(&cases)))
}

/// Each scheme relative to the best one, over all traffic and rates.
pub(super) fn decision(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let mut cases = Vec::new();
    for name in TRAFFIC {
        cases.extend(at_all_rates(lab, name)?);
    }
    let [short, all, loss] = &QUANTITIES;
    let value = |quantity: &super::cases::Quantity, case: usize, role: &str| {
        quantity.of(&cases[case].1, role).value.unwrap_or(f64::NAN)
    };
    let relative = |quantity: &super::cases::Quantity, role: &str| -> Vec<f64> {
        (0..cases.len())
            .map(|case| {
                let times = SCHEMES.iter().map(|(role, _)| value(quantity, case, role));
                value(quantity, case, role) / times.fold(f64::INFINITY, f64::min)
            })
            .collect()
    };
    let mut table = Table::new(
        "Over the four kinds of traffic at the four rates: mean response time relative to the best scheme of each case",
        [
            "scheme",
            "1 to 3 segments, geometric mean",
            "1 to 3 segments, worst case",
            "all sizes, geometric mean",
            "all sizes, worst case",
            "highest loss of SYNs and SYN/ACKs, %",
        ],
    );
    for (role, _) in SCHEMES {
        let losses = (0..cases.len()).map(|case| value(loss, case, role));
        let mut cells = vec![Cell::from(role)];
        for quantity in [short, all] {
            let ratios = relative(quantity, role);
            let mean = ratios.iter().map(|ratio| libm::log(*ratio)).sum::<f64>() / ratios.len() as f64;
            cells.push(Cell::number(libm::exp(mean), 2));
            cells.push(Cell::number(ratios.into_iter().fold(0.0, f64::max), 2));
        }
        cells.push(Cell::number(losses.fold(0.0, f64::max), 2));
        table = table.row(cells);
    }
    Ok(Measured::new().table(table))
}
