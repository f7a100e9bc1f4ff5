//! Parsing of a TOML file to a [`Scenario`], with checks of all keys, ranges and units.

use super::dialogue;
use super::link::link;
use super::section::{Item, Section, Source};
use super::{Access, Scenario};
use crate::application::flow::{DatagramTraffic, Kind};
use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::workload::{ConstantRate, Initiator, TcpChanges, Traffic, Workload, dscp, flows, sizes::Sizes};
use gentle_aqm::Spec;
use gentle_tcp::Profile;
use gentle_units::Nanos;
use gentle_units::foreign::check_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

const DAY: Nanos = Nanos::from_secs(86_400);

/// Minimum and default length of a UDP packet: IPv4 and UDP headers; a full packet.
const UDP_PACKET: (u64, u32) = (28, 1500);
/// Minimum and default length of a SYN of a flood: IPv4 and TCP headers without options.
const SYN_PACKET: (u64, u32) = (40, 40);

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

fn workload(
    mut section: Section<'_>,
    link_rtt: Nanos,
    access: Option<Access>,
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Workload, ScenarioError> {
    #[derive(Clone, Copy)]
    enum Name {
        Poisson,
        Web,
        Long,
        Udp,
        SynFlood,
        Replay,
        Datagrams(Kind),
        Dialogue(dialogue::Kind),
    }
    let kind = section.require("kind", "\"poisson\"")?.choice(&[
        ("poisson", Name::Poisson),
        ("web", Name::Web),
        ("long", Name::Long),
        ("udp", Name::Udp),
        ("syn_flood", Name::SynFlood),
        ("replay", Name::Replay),
        ("voice", Name::Datagrams(Kind::Voice)),
        ("game", Name::Datagrams(Kind::Game)),
        ("video_call", Name::Datagrams(Kind::VideoCall)),
        ("dns", Name::Datagrams(Kind::Dns)),
        ("ping", Name::Datagrams(Kind::Ping)),
        ("pages", Name::Dialogue(dialogue::Kind::Pages)),
        ("ssh", Name::Dialogue(dialogue::Kind::Ssh)),
        ("on_off", Name::Dialogue(dialogue::Kind::OnOff)),
    ])?;
    let direction = match section.take("direction") {
        Some(item) => item.choice(&[("down", Direction::Down), ("up", Direction::Up)])?,
        None => Direction::Down,
    };
    let initiator = match section.take("initiator") {
        Some(item) if matches!(kind, Name::Datagrams(_)) => {
            return Err(item.error("datagrams have no connection to open; the client sends first"));
        }
        Some(item) if matches!(kind, Name::Dialogue(_)) => {
            return Err(item.error("a user connects, always; leave it out"));
        }
        None if matches!(kind, Name::Dialogue(_)) => Initiator::Receiver,
        Some(item) => item.choice(&[("sender", Initiator::Sender), ("receiver", Initiator::Receiver)])?,
        None => Initiator::Sender,
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
    let tunnel = match section.take("tunnel") {
        Some(item) if matches!(kind, Name::SynFlood) => {
            return Err(item.error("the SYNs of a flood come from many hosts, and enter no tunnel"));
        }
        Some(item) => item.count(1..=255)? as u8,
        None => 0,
    };
    let connects = !matches!(kind, Name::Udp | Name::SynFlood | Name::Datagrams(_));
    let mut tcp = |key| match section.take(key) {
        Some(item) if !connects => Err(item.error("these packets belong to no connection")),
        item => tcp_changes(item),
    };
    let (tcp, initiator_tcp) = (tcp("tcp")?, tcp("initiator_tcp")?);
    let traffic = match kind {
        Name::Poisson => Traffic::Poisson {
            gap: positive(section.require("gap", "\"120ms\"")?)?,
            sizes: sizes(section.require("size", "{ zipf = 1.7, max = 6000 }")?)?,
        },
        Name::Web => Traffic::Web {
            sessions: section.require("sessions", "135")?.count(1..=1_000_000)? as u32,
            session_gap: positive(section.require("session_gap", "\"500ms\"")?)?,
            pages: section.require("pages", "240")?.real(1.0..=1e6)?,
            page_gap: positive(section.require("page_gap", "\"5s\"")?)?,
            objects: section.require("objects", "3")?.real(1.0..=1e6)?,
            object_gap: positive(section.require("object_gap", "\"100ms\"")?)?,
            sizes: sizes(section.require("size", "{ pareto = 1.2, mean = 12 }")?)?,
        },
        Name::Long => {
            let flows = match section.take("flows") {
                Some(item) => item.count(1..=100_000)? as u32,
                None => 1,
            };
            let start = start(&mut section)?;
            let stop = stop(&mut section, start.1)?;
            Traffic::Long { flows, start, stop }
        }
        Name::Udp => Traffic::Udp(constant_rate(&mut section, access, UDP_PACKET)?),
        Name::SynFlood => Traffic::SynFlood(constant_rate(&mut section, access, SYN_PACKET)?),
        Name::Replay => {
            let item = section.require("file", "\"flows.csv\"")?;
            let path = item.text()?;
            let text = read(path).map_err(|error| item.error(format!("{path}: {error}")))?;
            Traffic::Replay { flows: flows::parse(path, &text, link_rtt)?.into() }
        }
        Name::Datagrams(kind) => {
            let (flows, application) = kind.read(&mut section)?;
            let start = match section.take("start") {
                Some(item) => item.time()?,
                None => Nanos::ZERO,
            };
            Traffic::Datagrams(DatagramTraffic { application, flows, start, stop: stop(&mut section, start)? })
        }
        Name::Dialogue(kind) => Traffic::Dialogue(dialogue::parse(kind, &mut section)?),
    };
    section.finish()?;
    Ok(Workload { traffic, direction, initiator, rtt, tcp, initiator_tcp, group, dscp, host, tunnel })
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

fn constant_rate(
    section: &mut Section<'_>,
    access: Option<Access>,
    (shortest, default): (u64, u32),
) -> Result<ConstantRate, ScenarioError> {
    let item = section.require("rate", "\"1mbit\"")?;
    let rate = item.rate()?;
    if let Some(access) = access
        && rate > access.rate
    {
        // Without congestion control the queue of the host's access link would grow without bound.
        return Err(item.error(format!("expected at most {}, the rate of the access links", access.rate)));
    }
    let bytes = match section.take("packet") {
        Some(item) => item.size(shortest..=65_535)? as u32,
        None => default,
    };
    let start = start(section)?;
    let stop = stop(section, start.1)?;
    let jitter = match section.take("jitter") {
        Some(item) => item.real(0.0..=1.0)?,
        None => ConstantRate::JITTER,
    };
    Ok(ConstantRate { rate, bytes, start, stop, jitter })
}

/// Reads the range of a start time.
fn start(section: &mut Section<'_>) -> Result<(Nanos, Nanos), ScenarioError> {
    match section.take("start") {
        Some(item) => item.time_range(),
        None => Ok((Nanos::ZERO, Nanos::ZERO)),
    }
}

fn stop(section: &mut Section<'_>, start: Nanos) -> Result<Option<Nanos>, ScenarioError> {
    let Some(item) = section.take("stop") else {
        return Ok(None);
    };
    let stop = item.time()?;
    if stop <= start {
        return Err(item.error(format!("expected a time after the start, {start}")));
    }
    Ok(Some(stop))
}

pub(super) fn positive(item: Item<'_>) -> Result<Nanos, ScenarioError> {
    let time = item.time()?;
    if time == Nanos::ZERO {
        return Err(item.error("expected more than 0s"));
    }
    Ok(time)
}

pub(super) fn sizes(item: Item<'_>) -> Result<Sizes, ScenarioError> {
    let mut section = item.section()?;
    let sizes = if let Some(fixed) = section.take("segments") {
        Sizes::Fixed(fixed.count(1..=1_000_000_000)?)
    } else if let Some(exponent) = section.take("zipf") {
        Sizes::zipf(exponent.real(0.01..=20.0)?, section.require("max", "6000")?.count(1..=1_000_000_000)?)
    } else if let Some(shape) = section.take("pareto") {
        let shape = shape.real(1.01..=20.0)?;
        let mean = section.require("mean", "12")?.real(1.0..=1e6)?;
        Sizes::pareto(shape, mean)
    } else {
        return Err(
            section.error("expected { zipf = 1.7, max = 6000 }, { pareto = 1.2, mean = 12 } or { segments = 10 }")
        );
    };
    section.finish()?;
    Ok(sizes)
}
