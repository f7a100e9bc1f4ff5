//! Axes: range, ticks, and the numbers at them.

use gentle_papers::{Axis, Scale};

/// Values beyond this cannot be told from an error, and their differences overflow.
const LARGEST: f64 = 1e100;

/// Range of an axis with its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    log: bool,
    low: f64,
    high: f64,
    /// Values with a number.
    pub(super) ticks: Vec<f64>,
    /// Values between with a short tick: those of a logarithmic axis.
    pub(super) between: Vec<f64>,
}

impl Span {
    /// Range of `axis` with about `count` ticks, for `values`. It has room for `intervals` as far as they do not dwarf the
    /// values. With `from_zero`, as bars need it, 0 is on a linear axis, and a logarithmic one starts below all values.
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        intervals: impl Iterator<Item = f64>,
        from_zero: bool,
        count: usize,
    ) -> Span {
        let log = axis.scale == Scale::Log;
        let usable = |value: &f64| value.abs() < LARGEST && (!log || *value > 1.0 / LARGEST);
        let fixed = (axis.range).filter(|(low, high)| usable(low) && usable(high) && low < high);
        let bounds = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = fixed.unwrap_or_else(|| {
            let start = (f64::INFINITY, f64::NEG_INFINITY);
            let (low, high) = values.filter(usable).fold(start, bounds);
            if low > high {
                return (low, high);
            }
            let (least, most) = match log {
                true if from_zero => (low / 2.0, high * 3.0),
                true => (low / 3.0, high * 3.0),
                false => {
                    let (from, to) = if from_zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
                    let room = 0.4 * (to - from);
                    // Quantities that are never negative have no interval below 0.
                    let least = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
                    (least, high + room)
                }
            };
            let low = if log && from_zero { least } else { low };
            intervals.map(|end| end.clamp(least, most)).filter(usable).fold((low, high), bounds)
        });
        let (low, high) = match (low <= high, log) {
            (true, _) => (low, high),
            (false, true) => (1.0, 10.0),
            (false, false) => (0.0, 1.0),
        };
        match log {
            true => Span::logarithmic(low, high, fixed.is_some(), count),
            false => Span::linear(low, high, fixed.is_some(), from_zero, count),
        }
    }

    fn linear(mut low: f64, mut high: f64, fixed: bool, from_zero: bool, count: usize) -> Span {
        if !fixed {
            if from_zero || (low > 0.0 && low < 0.6 * high) {
                low = low.min(0.0);
            }
            if from_zero || (high < 0.0 && high > 0.6 * low) {
                high = high.max(0.0);
            }
            if high - low <= 1e-12 * high.abs().max(low.abs()) {
                let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
                (low, high) = (if low == 0.0 { 0.0 } else { low - room }, high + room);
            }
        }
        let step = nice_step((high - low) / count.max(1) as f64);
        if !fixed {
            (low, high) = ((low / step).floor() * step, (high / step - 1e-9).ceil() * step);
        }
        let first = (low / step - 1e-9).ceil();
        let ticks = (0..=4 * count.max(1)).map(|i| (first + i as f64) * step);
        Span {
            log: false,
            low,
            high,
            ticks: ticks.take_while(|tick| *tick <= high + 1e-9 * step).collect(),
            between: Vec::new(),
        }
    }

    fn logarithmic(low: f64, high: f64, fixed: bool, count: usize) -> Span {
        let (mut first, mut last) = (libm::log10(low).floor() as i32, libm::log10(high).ceil() as i32);
        if first == last {
            (first, last) = (first - 1, last + 1);
        }
        let of = |digits: &[f64]| -> Vec<f64> {
            let decades = (first..=last).map(|decade| libm::exp10(f64::from(decade)));
            decades.flat_map(|decade| digits.iter().map(move |digit| digit * decade)).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        let (low, high) = match fixed {
            true => (low, high),
            false => {
                let mut below = fine.iter().copied().filter(|tick| *tick <= low * (1.0 + 1e-9));
                let above = fine.iter().copied().find(|tick| *tick >= high * (1.0 - 1e-9));
                let low = below.next_back().unwrap_or(libm::exp10(f64::from(first)));
                let high = above.unwrap_or(libm::exp10(f64::from(last)));
                match low < high {
                    true => (low, high),
                    false => (low / 2.0, high * 2.0),
                }
            }
        };
        let within = |ticks: Vec<f64>| -> Vec<f64> {
            let inside = |tick: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(tick);
            ticks.into_iter().filter(inside).collect()
        };
        let (decades, fine) = (within(of(&[1.0])), within(fine));
        let digits = within(of(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
        let (ticks, between) = if fine.len() <= count + 1 && fine.len() >= 2 {
            (fine, digits)
        } else if decades.len() <= count + 1 && decades.len() >= 2 {
            (decades, if digits.len() <= 60 { digits } else { Vec::new() })
        } else if decades.len() >= 2 {
            let every = decades.len().div_ceil(count.max(1));
            (decades.into_iter().step_by(every).collect(), Vec::new())
        } else {
            (Span::linear(low, high, true, false, count).ticks, Vec::new())
        };
        Span { log: true, low, high, ticks, between }
    }

    /// Position of `value`: 0 at the lower end of the axis, 1 at the upper end. `None`: the axis cannot have it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let (low, high, value) = match self.log {
            true if value <= 1.0 / LARGEST => return None,
            true => (libm::log10(self.low), libm::log10(self.high), libm::log10(value)),
            false => (self.low, self.high, value),
        };
        Some((value - low) / (high - low)).filter(|place| place.is_finite() && place.abs() < 1e6)
    }

    /// Position of the value at which bars start: 0, or the end of the axis that is nearest to 0.
    pub(super) fn ground(&self) -> f64 {
        self.place(0.0).unwrap_or(0.0).clamp(0.0, 1.0)
    }

    /// Ticks with their numbers.
    pub(super) fn numbers(&self) -> Vec<(f64, String)> {
        let ticks = self.ticks.iter();
        let decimals = match self.log {
            true => None,
            // The digits of the step.
            false => self.ticks.get(1).map(|tick| decimals(tick - self.ticks[0])),
        };
        ticks.map(|tick| (*tick, number(*tick, decimals))).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not smaller than `step`.
fn nice_step(step: f64) -> f64 {
    let power = libm::exp10(libm::log10(step).floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * (1.0 - 1e-9));
    let nice = factor.unwrap_or(10.0) * power;
    if nice > 0.0 && nice.is_finite() { nice } else { 1.0 }
}

/// Digits after the decimal point that a multiple of `step` has.
fn decimals(step: f64) -> usize {
    (-libm::log10(step.abs() * 1.000_001).floor()).clamp(0.0, 12.0) as usize
}

/// Formats the number at a tick: `0.02`, `2,000`, `5×10⁸`.
fn number(value: f64, places: Option<usize>) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if !(1e-4..1e6).contains(&size) {
        let exponent = libm::log10(size * (1.0 + 1e-9)).floor();
        let mantissa = size / libm::exp10(exponent);
        let power = format!("10{}", superscript(exponent as i32));
        return match (mantissa - 1.0).abs() < 1e-6 {
            true => format!("{sign}{power}"),
            false => {
                let mantissa = format!("{mantissa:.2}");
                let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
                format!("{sign}{mantissa}×{power}")
            }
        };
    }
    let places = places.unwrap_or_else(|| decimals(size));
    format!("{sign}{}", plain(size, places))
}

/// Decimal number with separators between thousands and no zeros at the end of the fraction beyond `places` digits.
fn plain(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction.is_empty() {
        true => grouped,
        false => format!("{grouped}.{fraction}"),
    }
}

fn superscript(exponent: i32) -> String {
    let digits = exponent.to_string();
    let raised = digits.chars().map(|c| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    });
    raised.collect()
}

/// Title of an axis: quantity and unit.
pub(super) fn title(axis: &Axis) -> String {
    match axis.unit.is_empty() {
        true => axis.label.clone(),
        false => format!("{} ({})", axis.label, axis.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(values: &[f64], count: usize) -> Vec<String> {
        let span = Span::new(&Axis::linear("", ""), values.iter().copied(), std::iter::empty(), false, count);
        span.numbers().into_iter().map(|(_, number)| number).collect()
    }

    fn log(values: &[f64], count: usize) -> Vec<String> {
        let span = Span::new(&Axis::log("", ""), values.iter().copied(), std::iter::empty(), false, count);
        span.numbers().into_iter().map(|(_, number)| number).collect()
    }

    #[test]
    fn ticks_of_linear_axes_are_round() {
        assert_eq!(linear(&[0.0, 1.0], 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|t| t.replace("0.0", "0")));
        assert_eq!(linear(&[30.0, 87.0], 5), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(linear(&[80.0, 99.0], 4), ["80", "85", "90", "95", "100"]);
        assert_eq!(linear(&[-3.0, 4.0], 4), ["−4", "−2", "0", "2", "4"]);
        assert_eq!(linear(&[2e6, 8e6], 4), ["0", "2×10⁶", "4×10⁶", "6×10⁶", "8×10⁶"]);
    }

    #[test]
    fn ticks_of_logarithmic_axes_are_decades_or_finer() {
        assert_eq!(log(&[1.0, 10_000.0], 5), ["1", "10", "100", "1,000", "10,000"]);
        assert_eq!(log(&[0.15, 2.0], 5), ["0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(log(&[1e-9, 1e9], 5).len(), 5);
    }

    #[test]
    fn intervals_do_not_dwarf_the_values() {
        let span = |axis: Axis, from_zero| {
            Span::new(&axis, [2.0, 10.0].into_iter(), [-500.0, 900.0].into_iter(), from_zero, 5)
        };
        assert_eq!(span(Axis::linear("", ""), true).high, 15.0);
        assert_eq!(span(Axis::linear("", ""), false).low, 0.0);
        assert_eq!(span(Axis::log("", ""), false).high, 50.0);
        assert_eq!(span(Axis::log("", ""), true).low, 1.0);
    }

    #[test]
    fn odd_values_leave_an_axis() {
        for values in [vec![], vec![0.0], vec![5.0], vec![-1e300, 1e300], vec![f64::NAN], vec![1e-300, 1e99]] {
            for axis in [Axis::linear("", ""), Axis::log("", "")] {
                let span = Span::new(&axis, values.iter().copied(), values.iter().copied(), true, 5);
                assert!(span.low < span.high, "{values:?}");
                assert!((1..40).contains(&span.ticks.len()), "{values:?} {span:?}");
            }
        }
    }
}
