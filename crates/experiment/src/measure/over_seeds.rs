//! Results of a scheme's runs: over all seeds, and of each seed.

use super::sample::{Pooled, Sample};
use super::{Judged, Measured, Metric};
use crate::direction::Direction;
use crate::metrics::class::LOSS;
use crate::metrics::record::RunRecord;
use crate::results::{
    ApplicationResult, Better, Curves, GroupLinkResult, GroupLinks, GroupResult, SchemeResult, Series, SizeBin,
};
use crate::scenario::Application;
use gentle_aqm::Spec;

/// Parts of the traffic that are also measured separately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Groups of the scenario's workloads.
    pub(crate) groups: &'a [String],
    /// Applications among them.
    pub(crate) applications: &'a [Application],
}

/// Result of the scheme `spec` over `runs`, which are in order of seeds; `parts` are the scenario's.
pub(crate) fn scheme_result(spec: &Spec, parts: Parts<'_>, runs: &[RunRecord]) -> SchemeResult {
    let unlisted = !spec.scheme().listed;
    let seen = seen(runs, parts.groups.len());
    let of_seeds: Vec<SchemeResult> = runs
        .iter()
        .map(|run| numbers(Sample::of(std::slice::from_ref(run), false, unlisted), &seen, parts.applications.len()))
        .collect();
    let by_seed = by_seed(&of_seeds, unlisted);
    let alike =
        runs.len() > 1 && (by_seed.iter()).all(|series| series.values.windows(2).all(|pair| pair[0] == pair[1]));
    let sample = || Sample::of(runs, alike, unlisted);
    let mut result = numbers(sample(), &seen, parts.applications.len());
    for (group, name) in result.groups.iter_mut().zip(parts.groups) {
        group.group.clone_from(name);
    }
    for (application, described) in result.applications.iter_mut().zip(parts.applications) {
        application.application.clone_from(&described.name);
        application.kind.clone_from(&described.kind);
    }
    SchemeResult {
        scheme: spec.scheme().name.to_owned(),
        label: spec.to_string(),
        options: spec.settings().into_iter().collect(),
        seeds: runs.len() as u32,
        seeds_alike: alike,
        curves: Curves {
            response_time_cdf: sample().all_times(|run| &run.all.response).cdf(),
            queue_delay_cdf: sample().all_times(|run| &super::links::down(run).queue_delay).cdf(),
            response_time_by_size: without_empty_end(Pooled::pooled(sample().part(|run| &run.all.by_size_fine)).0),
            queue_over_time: runs.first().map_or_else(Vec::new, |run| run.timeline.points()),
        },
        by_seed,
        ..result
    }
}

/// Numbers of a scheme, its links, groups and applications over the runs in `sample`; `seen` are the links that packets of each
/// group used.
fn numbers(sample: Sample<'_, RunRecord>, seen: &[[bool; 2]], applications: usize) -> SchemeResult {
    let groups = seen.iter().enumerate().map(|(index, seen)| {
        let [down, up] = Direction::BOTH.map(|direction| {
            let link = || sample.on(direction, |run| &run.group_links[index][direction.index()]);
            seen[direction.index()].then(|| GroupLinkResult::pooled(link()).0)
        });
        GroupResult { links: GroupLinks { down, up }, ..Pooled::pooled(sample.part(|run| &run.groups[index])).0 }
    });
    let groups = groups.collect();
    let applications = (0..applications).map(|index| Pooled::pooled(sample.part(|run| &run.applications[index])).0);
    let applications = applications.collect();
    let mut result = SchemeResult { groups, applications, ..Pooled::pooled(sample).0 };
    result.drops.clone_from(&result.links.down.drops);
    result.drops.remove(LOSS);
    result
}

/// For each group and link, whether all runs have counted packets by group, and a packet with payload of the group was offered to the
/// queue in any of them.
fn seen(runs: &[RunRecord], groups: usize) -> Vec<[bool; 2]> {
    let of = |index: usize, direction: Direction| {
        let links = |run: &RunRecord| Some(run.group_links.get(index)?[direction.index()].offered > 0);
        let seen: Option<Vec<bool>> = runs.iter().map(links).collect();
        seen.is_some_and(|seen| seen.contains(&true))
    };
    (0..groups).map(|index| Direction::BOTH.map(|direction| of(index, direction))).collect()
}

fn without_empty_end(mut bins: Vec<SizeBin>) -> Vec<SizeBin> {
    let used = bins.iter().rposition(|bin| bin.n + bin.unfinished > 0).map_or(0, |last| last + 1);
    bins.truncate(used);
    bins
}

/// Values of all scalar results by seed, given the results of each seed: response times of the ranges of sizes, numbers of the scheme,
/// of groups and of applications.
fn by_seed(of_seeds: &[SchemeResult], unlisted: bool) -> Vec<Series> {
    let Some(first) = of_seeds.first() else {
        return Vec::new();
    };
    let below = |place: String, metrics: Vec<Metric>| {
        scalars(metrics, unlisted).map(move |metric| Metric { name: format!("{place}.{}", metric.name), ..metric })
    };
    let groups = first.groups.iter().enumerate().flat_map(|(index, group)| {
        let links = [("down", &group.links.down), ("up", &group.links.up)];
        let seen = links.into_iter().filter(|(_, link)| link.is_some());
        let links =
            seen.flat_map(move |(link, _)| below(format!("groups.{index}.links.{link}"), GroupLinkResult::metrics()));
        below(format!("groups.{index}"), GroupResult::metrics()).chain(links)
    });
    let applications = (0..first.applications.len())
        .flat_map(|index| below(format!("applications.{index}"), ApplicationResult::metrics()));
    let numbers = scalars(of_scheme(), unlisted).chain(groups).chain(applications);
    let ranges = (0..first.response_time_by_size.len()).map(|range| (name_of_range(range), Some(Better::Lower)));
    let names = ranges.chain(numbers.map(|metric| (metric.name, metric.number.judged.better())));
    let series = names.map(|(name, better)| {
        let values = of_seeds.iter().map(|result| result.at(&name)?.value);
        Series { values: values.collect(), name, better }
    });
    series.collect()
}

/// The numbers among `metrics` that have values by seed.
fn scalars(metrics: Vec<Metric>, unlisted: bool) -> impl Iterator<Item = Metric> {
    let has_values = move |metric: &Metric| metric.number.judged != Judged::Shown && (unlisted || metric.number.listed);
    metrics.into_iter().filter(has_values)
}

/// Numbers of a scheme in the order of results by seed and of the columns of stores and files, where the handshake has always stood
/// before the round-trip time.
fn of_scheme() -> Vec<Metric> {
    let mut all = SchemeResult::metrics();
    let place = |name: &str| all.iter().position(|metric| metric.name == name);
    if let (Some(rtt), Some(handshake)) = (place("rtt_s.mean"), place("handshake_s.mean")) {
        all.swap(rtt, handshake);
    }
    all
}

fn name_of_range(range: usize) -> String {
    format!("response_time_by_size.{range}.mean_s")
}

impl RunRecord {
    /// Names of the scalar results of a run with `ranges` ranges of connection sizes, without applications: paths in
    /// the JSON of a scheme's result, in a fixed order.
    pub fn metric_names(ranges: usize) -> impl Iterator<Item = String> {
        (0..ranges).map(name_of_range).chain(scalars(of_scheme(), false).map(|metric| metric.name))
    }

    /// Names of the scalar results of an application: paths in the JSON of its result, in a fixed order.
    pub fn application_metric_names() -> impl Iterator<Item = &'static str> {
        scalars(ApplicationResult::metrics(), false).map(|metric| metric.number.path)
    }

    /// Scalar results of the run, in the order of [`Scenario::metric_names`](crate::Scenario::metric_names); `None`: no
    /// observation.
    pub fn metrics(&self) -> impl Iterator<Item = Option<f64>> {
        let result = numbers(Sample::of(std::slice::from_ref(self), false, false), &[], self.applications.len());
        let of_scheme = RunRecord::metric_names(result.response_time_by_size.len()).map(|name| result.at(&name));
        let mut values: Vec<Option<Measured>> = of_scheme.collect();
        for application in &result.applications {
            values.extend(RunRecord::application_metric_names().map(|name| application.at(name)));
        }
        values.into_iter().map(|found| found?.value)
    }
}
