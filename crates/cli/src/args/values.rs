//! Parsers of option values.

use crate::output::warn;
use gentle_units::{Nanos, Rate};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
#[cfg(target_os = "linux")]
use std::time::Duration;

/// Reads a whole number in `range`.
pub(super) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = range.clone().into_inner();
            format!("expected a whole number, {least} to {most}")
        })
    }
}

/// Reads a rate; warns if its unit is bytes per second.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let rate = text.parse().map_err(|error| format!("{error}"))?;
    if let Some(remark) = Rate::remark(text) {
        warn(&remark);
    }
    Ok(rate)
}

/// Reads a time in `range`.
pub(super) fn time(text: &str, range: RangeInclusive<Nanos>) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if !range.contains(&time) {
        return Err(match range.into_inner() {
            (Nanos(1), most) => format!("expected more than 0s and at most {most}"),
            (least, most) => format!("expected {least} to {most}"),
        });
    }
    Ok(time)
}

/// Reads a time in `range` of seconds; a number without a unit is in seconds.
#[cfg(target_os = "linux")]
pub(super) fn seconds(text: &str, range: RangeInclusive<u64>) -> Result<Duration, String> {
    let (least, most) = range.into_inner();
    let range = Nanos::from_secs(least)..=Nanos::from_secs(most);
    let time = match text.parse::<u32>() {
        Ok(seconds) => time(&format!("{seconds}s"), range),
        Err(_) => time(text, range),
    }?;
    Ok(Duration::from_nanos(time.0))
}
