//! Parsing of a TOML file to a [`Scenario`], with checks of all keys, ranges and units.

use super::link::link;
use super::{Access, Scenario};
use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::initiator::Initiator;
use crate::section::{Item, Section, Source};
use crate::traffic::{Around, Facts, KINDS};
use crate::workload::{TcpChanges, Workload, dscp};
use gentle_aqm::Spec;
use gentle_tcp::Profile;
use gentle_units::Nanos;
use gentle_units::foreign::check_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

const DAY: Nanos = Nanos::from_secs(86_400);

/// Maximum number of hosts on each side.
const HOSTS: u32 = 65_536;

/// Maximum number of groups.
const GROUPS: usize = 255;

/// Name of `Profile::default()`.
const DEFAULT_PROFILE: &str = "linux-7.2";

/// TCP of the end hosts.
struct Hosts {
    profile: Profile,
    name: String,
    knobs: BTreeMap<String, String>,
}

pub(super) fn parse(
    file: &str,
    text: &str,
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Scenario, ScenarioError> {
    let warnings = RefCell::default();
    let source = Source { file, text, warnings: &warnings };
    let mut root = source.root()?;
    let name = stem(file);
    let title = match root.take("title") {
        Some(item) => item.text()?.to_owned(),
        None => name.clone(),
    };
    let source = match root.take("source") {
        Some(item) => item.text()?.to_owned(),
        None => file.to_owned(),
    };
    let duration_item = root.require("duration", "\"100s\"")?;
    let duration = duration_item.time()?;
    if duration == Nanos::ZERO || duration > DAY {
        return Err(duration_item.error("expected more than 0s and at most 86400s"));
    }
    let warmup = time_below(root.take("warmup"), Nanos::ZERO, duration, "the duration")?;
    let drain = time_below(root.take("drain"), Nanos::from_secs(300), DAY + Nanos(1), "a day")?;
    let hosts = hosts(root.section("hosts")?)?;
    let mut links = root.section("link")?.ok_or_else(|| root.error("missing [link.down] and [link.up]"))?;
    let down = link(&mut links, Direction::Down, read)?;
    let up = link(&mut links, Direction::Up, read)?;
    links.finish()?;
    let access = access(root.section("access")?)?;
    let link_rtt = down.delay + up.delay;
    let items = root
        .take("workload")
        .ok_or_else(|| root.error("missing [[workload]]: expected one or more such tables"))?
        .array("[[workload]]")?;
    let workloads = items
        .into_iter()
        .map(|item| workload(item.section()?, link_rtt, access, read))
        .collect::<Result<Vec<_>, _>>()?;
    let schemes = strings(root.take("schemes"), "[\"pfifo limit=50\", \"spa\"]")?
        .into_iter()
        .map(|item| spec(&item))
        .collect::<Result<Vec<_>, _>>()?;
    let assumptions = strings(root.take("choices"), "[\"The paper is silent on X; this is Y.\"]")?
        .into_iter()
        .map(|item| item.text().map(str::to_owned))
        .collect::<Result<Vec<_>, _>>()?;
    let scenario = Scenario {
        name,
        title,
        source,
        duration,
        warmup,
        drain,
        profile: Arc::new(hosts.profile),
        profile_name: hosts.name,
        knobs: hosts.knobs,
        links: [down, up],
        access,
        workloads,
        schemes,
        assumptions,
        warnings: Vec::new(),
    };
    let groups = scenario.groups().len();
    if groups > GROUPS {
        return Err(root.error(format!("{groups} groups; expected at most {GROUPS}")));
    }
    scenario.check_extent().map_err(|problem| root.error(problem))?;
    root.finish()?;
    Ok(Scenario { warnings: warnings.into_inner(), ..scenario })
}

/// File name without folders and extension.
pub(super) fn stem(file: &str) -> String {
    std::path::Path::new(file).file_stem().map_or_else(|| file.to_owned(), |s| s.to_string_lossy().into_owned())
}

fn time_below(item: Option<Item<'_>>, default: Nanos, limit: Nanos, what: &str) -> Result<Nanos, ScenarioError> {
    let Some(item) = item else {
        return Ok(default);
    };
    let time = item.time()?;
    if time >= limit {
        return Err(item.error(format!("{time} is too long; expected less than {what}")));
    }
    Ok(time)
}

fn strings<'a>(item: Option<Item<'a>>, example: &str) -> Result<Vec<Item<'a>>, ScenarioError> {
    let Some(item) = item else {
        return Ok(Vec::new());
    };
    let items = item.array(example)?;
    for item in &items {
        item.text()?;
    }
    Ok(items)
}

pub(super) fn spec(item: &Item<'_>) -> Result<Spec, ScenarioError> {
    item.text()?.parse().map_err(|error| item.error(error))
}

fn hosts(section: Option<Section<'_>>) -> Result<Hosts, ScenarioError> {
    let mut hosts = Hosts { profile: Profile::default(), name: DEFAULT_PROFILE.to_owned(), knobs: BTreeMap::new() };
    let Some(mut section) = section else {
        return Ok(hosts);
    };
    if let Some(item) = section.take("profile") {
        let name = item.text()?;
        hosts.profile = Profile::by_name(name).map_err(|error| item.error(error))?;
        hosts.name = name.to_owned();
    }
    for (knob, item) in section.rest() {
        let text = item.scalar()?;
        let set = hosts.profile.set(&knob, &text);
        set.map_err(|error| item.error(error))?;
        hosts.knobs.insert(knob, text);
    }
    Ok(hosts)
}

fn access(section: Option<Section<'_>>) -> Result<Option<Access>, ScenarioError> {
    let Some(mut section) = section else {
        return Ok(None);
    };
    let rate = section.require("rate", "\"100mbit\"")?.rate()?;
    let hosts = match section.take("hosts") {
        Some(item) => item.count(1..=HOSTS.into())? as u32,
        None => 1,
    };
    section.finish()?;
    Ok(Some(Access { rate, hosts }))
}

fn workload<'a>(
    mut section: Section<'a>,
    link_rtt: Nanos,
    access: Option<Access>,
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Workload, ScenarioError> {
    let (kind, facts) = kind(&section.require("kind", "\"poisson\"")?)?;
    let take = |section: &mut Section<'a>, key| unless_refused(section, key, facts);
    let direction = match section.take("direction") {
        Some(item) => item.choice(&[("down", Direction::Down), ("up", Direction::Up)])?,
        None => Direction::Down,
    };
    let initiator = match take(&mut section, "initiator")? {
        Some(item) => item.choice(&[("sender", Initiator::Sender), ("receiver", Initiator::Receiver)])?,
        None => facts.initiator,
    };
    let rtt = match section.take("rtt") {
        None => None,
        Some(item) => {
            let too_short = item.error(format!("expected at least {link_rtt}, the two links' delays together"));
            let (from, to) = item.time_range()?;
            if from < link_rtt {
                return Err(too_short);
            }
            Some((from, to))
        }
    };
    let group = match section.take("group") {
        Some(item) => Some(label(&item)?),
        None => None,
    };
    let dscp = match section.take("dscp") {
        Some(item) if item.is_text() => item.choice(dscp::names())?,
        Some(item) => item.count(0..=63)? as u8,
        None => 0,
    };
    let host = match section.take("host") {
        Some(item) => {
            let hosts = access.map_or(HOSTS, |access| access.hosts);
            Some(item.count(0..=u64::from(hosts - 1))? as u32)
        }
        None => None,
    };
    let tunnel = match take(&mut section, "tunnel")? {
        Some(item) => item.count(1..=255)? as u8,
        None => 0,
    };
    let tcp = tcp_changes(take(&mut section, "tcp")?)?;
    let initiator_tcp = tcp_changes(take(&mut section, "initiator_tcp")?)?;
    let around = Around { link_rtt, fastest: access.map(|access| access.rate), read };
    let traffic = (facts.read)(kind, &mut section, &around)?;
    section.finish()?;
    Ok(Workload { traffic, direction, initiator, rtt, tcp, initiator_tcp, group, dscp, host, tunnel })
}

/// Removes `key` and returns its value, unless the kind of traffic refuses it.
fn unless_refused<'a>(
    section: &mut Section<'a>,
    key: &'static str,
    facts: &Facts,
) -> Result<Option<Item<'a>>, ScenarioError> {
    let refused = facts.refused.iter().find(|(refused, _)| *refused == key);
    match (section.take(key), refused) {
        (Some(item), Some((_, reason))) => Err(item.error(reason)),
        (item, _) => Ok(item),
    }
}

/// Parses the name of a kind of traffic.
fn kind(item: &Item<'_>) -> Result<(&'static str, &'static Facts), ScenarioError> {
    let names = || KINDS.iter().flat_map(|facts| facts.names.iter().map(move |name| (*name, *facts)));
    let listed = || names().filter(|(_, facts)| facts.listed).map(|(name, _)| name);
    names().find(|(name, _)| item.is(name)).ok_or_else(|| item.none_of(&listed().collect::<Vec<_>>()))
}

/// Parses a label for reports: 1 to 40 characters on one line.
fn label(item: &Item<'_>) -> Result<String, ScenarioError> {
    let text = item.text()?.trim();
    if text.is_empty() || text.chars().count() > 40 {
        return Err(item.error("expected 1 to 40 characters on one line"));
    }
    check_name(text).map_err(|expected| item.error(expected))?;
    Ok(text.to_owned())
}

/// Parses a table such as `{ profile = "freebsd-9.3", initial_rto = "200ms" }`.
fn tcp_changes(item: Option<Item<'_>>) -> Result<TcpChanges, ScenarioError> {
    let mut changes = TcpChanges::default();
    let Some(item) = item else {
        return Ok(changes);
    };
    let mut section = item.section()?;
    if let Some(item) = section.take("profile") {
        let set = changes.set_profile(item.text()?);
        set.map_err(|error| item.error(error))?;
    }
    for (knob, item) in section.rest() {
        let set = changes.set_knob(&knob, &item.scalar()?);
        set.map_err(|error| item.error(error))?;
    }
    Ok(changes)
}
