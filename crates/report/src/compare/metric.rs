//! Metrics of a table, one column each, in reading order.

use super::applications::keep_observed;
use crate::format::{Quantity, Scale, percent, sizes, throughput, time};
use gentle_experiment::measure::{self, Measured};
use gentle_experiment::results::{Comparison, HEADLINE, Paired, SchemeResult, SizeBin};

/// Column of a table.
pub(crate) struct Metric {
    /// First line of the head: the subject.
    pub(crate) subject: String,
    /// Second line of the head: the statistic of the subject.
    pub(crate) detail: &'static str,
    /// Explanation of the metric: below tables, in the help and in `docs/reference/columns.md`.
    pub(crate) explanation: &'static str,
    /// Rank of the column: the highest ranks are dropped first if there is little room; rank 0 stays.
    pub(crate) rank: u8,
    /// Name of the scalar result that is tested for differences between schemes; `None` if there is no test.
    name: Option<String>,
    /// Whether the column shows the difference to the reference.
    paired: bool,
    pub(super) quantity: Quantity,
    measure: Box<dyn Fn(&SchemeResult) -> Measured>,
}

impl Metric {
    pub(super) fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    pub(super) fn about(mut self, explanation: &'static str) -> Self {
        self.explanation = explanation;
        self
    }

    /// Column of the number of a scheme called `name`.
    pub(super) fn of_number(subject: &str, detail: &'static str, quantity: Quantity, name: String) -> Metric {
        let path = name.clone();
        let metric = metric(subject, detail, quantity, move |r| r.at(&path).unwrap_or_default());
        Metric { name: Some(name), ..metric }
    }

    /// Column of a number of the list; `None`: tables do not show it.
    fn listed(of: measure::Metric) -> Option<Metric> {
        let measure::Column { subject, statistic, rank, about, share_of } = of.number.column?;
        let column = Metric::of_number(subject, statistic, of.number.quantity, of.name).rank(rank).about(about);
        let Some(whole) = share_of else {
            return Some(column);
        };
        let part = column.measure;
        let measure = move |r: &SchemeResult| {
            let whole = r.at(whole).and_then(|whole| whole.value).filter(|whole| *whole > 0.0);
            let share = |part: Option<f64>| Some(part? / whole?);
            let part = part(r);
            Measured { value: share(part.value), ci95: share(part.ci95), ..part }
        };
        Some(Metric { quantity: Quantity::Share, measure: Box::new(measure), ..column })
    }

    /// Name of the single number in the JSON; empty for other metrics.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Value of each scheme.
    pub(crate) fn measure(&self, results: &[SchemeResult]) -> Vec<Measured> {
        results.iter().map(&self.measure).collect()
    }

    /// Value of one scheme, with unit and digits for it alone.
    pub(crate) fn of_scheme(&self, result: &SchemeResult) -> (Measured, Scale) {
        let measured = (self.measure)(result);
        (measured, self.scale(&[measured]))
    }

    /// Value as it stands in a sentence.
    pub(crate) fn in_words(&self, value: f64) -> String {
        match self.quantity {
            Quantity::Time => time(value),
            Quantity::Share => percent(value),
            Quantity::Rate => throughput(value),
            quantity => Scale::of(quantity, std::iter::once(value)).show(Some(value)),
        }
    }

    /// Unit and digits for `values`.
    pub(crate) fn scale(&self, values: &[Measured]) -> Scale {
        Scale::of(self.quantity, values.iter().filter_map(|m| m.value))
    }

    /// Whether each of `results` is the best; see [`Paired::best`].
    pub(crate) fn best(&self, results: &[SchemeResult]) -> Vec<bool> {
        let best = |r: &SchemeResult| self.of(r).is_some_and(|paired| paired.best);
        results.iter().map(best).collect()
    }

    /// Whether chance may have made each of `results` worse than the best; see [`Paired::undecided`].
    pub(super) fn undecided(&self, results: &[SchemeResult]) -> Vec<bool> {
        let undecided = |r: &SchemeResult| self.of(r).is_some_and(|paired| paired.undecided);
        results.iter().map(undecided).collect()
    }

    /// Whether each scheme can be ranked by the metric; see [`Comparison::ranked`].
    pub(super) fn ranked(&self, comparison: &Comparison) -> Vec<bool> {
        match &self.name {
            Some(name) => comparison.ranked(name),
            None => vec![true; comparison.results.len()],
        }
    }

    pub(super) fn of<'a>(&self, result: &'a SchemeResult) -> Option<&'a Paired> {
        result.paired.get(self.name.as_ref()?)
    }

    /// Text of a cell; `reference` is the label of the reference scheme. If intervals are requested and all seeds gave
    /// the same value, a dash replaces the interval.
    pub(crate) fn show(
        &self,
        scale: &Scale,
        result: &SchemeResult,
        reference: Option<&str>,
        measured: Measured,
        intervals: bool,
    ) -> String {
        let value = match self.paired {
            true => scale.show_signed(measured.value),
            false => scale.show(measured.value),
        };
        if self.paired && reference == Some(&result.label) {
            return "reference".to_owned();
        }
        let several = measured.sampled && measured.value.is_some() && result.seeds > 1;
        let interval = match measured.ci95 {
            _ if !intervals || !several => String::new(),
            ci95 => format!(" ±{}", scale.show(ci95)),
        };
        let mark = match self.of(result).filter(|_| self.paired) {
            Some(paired) if paired.verdict.is_some() => " *",
            _ => "",
        };
        format!("{value}{interval}{mark}")
    }
}

/// What there is to show.
pub(super) struct Shown<'a> {
    /// Results of all schemes.
    pub(super) results: &'a [SchemeResult],
    /// Ranges of connection sizes.
    pub(super) bins: &'a [SizeBin],
    /// Whether there are connections in the first range.
    pub(super) leads: bool,
    /// Whether there is a scheme to compare with.
    pub(super) several: bool,
    /// Whether a scheme leaves connections unfinished.
    pub(super) open: bool,
    /// Whether there are long-lived flows on the link under test, and on the reverse link.
    pub(super) long: [bool; 2],
    /// Whether packets are marked.
    pub(super) marks: bool,
    /// Whether connections are given up.
    pub(super) failed: bool,
}

impl Shown<'_> {
    fn of(comparison: &Comparison) -> Shown<'_> {
        let results = &comparison.results;
        let any = |is: fn(&SchemeResult) -> bool| results.iter().any(is);
        Shown {
            results,
            bins: results.first().map_or(&[][..], |r| &r.response_time_by_size),
            leads: any(|r| {
                let first = r.response_time_by_size.first();
                first.is_some_and(|bin| bin.n + bin.unfinished > 0)
            }),
            several: results.len() > 1,
            open: any(|r| r.unfinished > 0),
            long: [
                any(|r| r.links.down.long_goodput_bps.mean.is_some()),
                any(|r| r.links.up.long_goodput_bps.mean.is_some()),
            ],
            marks: any(|r| r.marks > 0),
            failed: any(|r| r.failed > 0),
        }
    }

    /// Whether there is a column of a number of the list.
    fn has(&self, metric: &measure::Metric) -> bool {
        match metric.name.as_str() {
            "failed" => self.failed,
            "marks" => self.marks,
            "long_goodput_bps.mean" | "jain_index" => self.long[0],
            "links.up.long_goodput_bps.mean" | "links.up.jain_index" => self.long[1],
            name => metric.number.listed || self.results.iter().any(|r| r.at(name).is_some_and(|m| m.value.is_some())),
        }
    }
}

/// All columns for `comparison`, in reading order.
pub(crate) fn metrics(comparison: &Comparison) -> Vec<Metric> {
    let mut all = columns(&Shown::of(comparison));
    if comparison.results.iter().all(|r| r.connections == 0) {
        // Without connections only the links are left.
        let of_connections = |name: &str| {
            ["response_time", "retransmission", "unfinished", "failed"].iter().any(|start| name.starts_with(start))
        };
        all.retain(|metric| !metric.name.as_deref().is_some_and(of_connections));
        keep_observed(&mut all, comparison);
        if let Some(first) = all.first_mut() {
            first.rank = 0;
        }
    }
    all
}

/// Columns of what there is to show, in reading order.
pub(super) fn columns(shown: &Shown<'_>) -> Vec<Metric> {
    let &Shown { bins, leads, open, .. } = shown;
    let subject = |bin: &SizeBin| format!("{} seg", sizes(bin.min_segments, bin.max_segments));
    let of_bin = |i: usize, bin: &SizeBin| {
        Metric::of_number(&subject(bin), "mean", Quantity::Time, format!("response_time_by_size.{i}.mean_s"))
            .about("response time of connections of this many segments")
    };
    let listed = SchemeResult::metrics().into_iter().filter(|metric| shown.has(metric));
    let mut numbers: Vec<Metric> = listed.filter_map(Metric::listed).collect();
    let mut take = |name: &str| {
        let place = numbers.iter().position(|metric| metric.is(name));
        place.map(|place| numbers.remove(place))
    };
    let mut unfinished = take("unfinished").map(|metric| if open { metric } else { metric.rank(8) });
    let (failed, marks) = (take("failed"), take("marks"));
    let of_times = |metric: &Metric| metric.name.as_deref().is_some_and(|name| name.starts_with("response_time_s."));
    let (mut times, others): (Vec<Metric>, Vec<Metric>) = numbers.into_iter().partition(of_times);
    if let Some(mean) = times.first_mut().filter(|_| !leads) {
        mean.rank = 0;
    }
    let mut all = Vec::new();
    // The leading column is the response time of the shortest connections, if there are any.
    if let Some(first) = bins.first().filter(|_| leads) {
        all.push(of_bin(0, first).rank(0));
        if shown.several {
            let difference = metric(&subject(first), "difference", Quantity::Time, |r| {
                let paired = r.paired.get(HEADLINE).copied().unwrap_or_default();
                Measured::sampled(paired.difference, paired.ci95)
            })
            .rank(1)
            .about("mean over seeds of the difference to the reference");
            all.push(Metric { name: Some(HEADLINE.to_owned()), paired: true, ..difference });
        }
    }
    if open {
        all.extend(unfinished.take());
    }
    all.extend(times);
    all.extend(bins.iter().enumerate().skip(usize::from(leads)).map(|(i, bin)| {
        let rank = 12 + u8::try_from(i).unwrap_or(u8::MAX - 12);
        of_bin(i, bin).rank(rank)
    }));
    all.extend(others);
    all.extend(marks.into_iter().chain(unfinished).chain(failed));
    all
}

pub(super) fn metric(
    subject: &str,
    detail: &'static str,
    quantity: Quantity,
    measure: impl Fn(&SchemeResult) -> Measured + 'static,
) -> Metric {
    Metric {
        subject: subject.to_owned(),
        detail,
        explanation: "",
        rank: 0,
        name: None,
        paired: false,
        quantity,
        measure: Box::new(measure),
    }
}
