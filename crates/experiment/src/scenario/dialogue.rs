//! Keys of dialogues in scenario files.

use super::file::{positive, sizes};
use super::section::{Item, Section};
use crate::application::dialogue::{Dialogue, Script};
use crate::application::{LogNormal, OnOff, Pages, Request, Ssh};
use crate::error::ScenarioError;
use crate::workload::REQUEST_BYTES;
use gentle_units::Nanos;
use std::ops::RangeInclusive;

/// Kind of a dialogue.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Pages,
    Ssh,
    OnOff,
}

/// Range of the length of a request, bytes.
const REQUEST: RangeInclusive<u64> = Request::HEADER as u64..=65_535;

/// Range of the length of an answer, bytes.
const ANSWER: RangeInclusive<u64> = 1..=1 << 40;

/// Parses the keys of a dialogue.
pub(super) fn parse(kind: Kind, section: &mut Section<'_>) -> Result<Dialogue, ScenarioError> {
    let users = match kind {
        Kind::Ssh => ("sessions", "2"),
        Kind::Pages | Kind::OnOff => ("users", "4"),
    };
    let users = section.require(users.0, users.1)?.count(1..=100_000)? as u32;
    let service = match section.take("service") {
        Some(item) => item.time()?,
        None => Nanos::ZERO,
    };
    let script = match kind {
        Kind::Pages => Script::Pages(pages(section)?),
        Kind::Ssh => Script::Ssh(ssh(section)?),
        Kind::OnOff => Script::OnOff(OnOff {
            sizes: sizes(section.require("size", "{ zipf = 1.7, max = 6000 }")?)?,
            off_ns: positive(section.require("off", "\"2s\"")?)?.0,
        }),
    };
    Ok(Dialogue { users, service, script })
}

fn pages(section: &mut Section<'_>) -> Result<Pages, ScenarioError> {
    let mut log_normal = |key, default, range: RangeInclusive<u64>, count| {
        let item = section.take(key);
        item.map_or(Ok(default), |item| varied(item, &range, count))
    };
    let document = log_normal("document", Pages::DOCUMENT, ANSWER, false)?;
    let objects = log_normal("objects", Pages::OBJECTS, 0..=crate::application::MOST_OBJECTS, true)?;
    let object = log_normal("object", Pages::OBJECT, ANSWER, false)?;
    Ok(Pages {
        pages: section.require("pages", "8")?.real(1.0..=1e6)?,
        think_ns: positive(section.require("think", "\"30s\"")?)?.0,
        request: match section.take("request") {
            Some(item) => item.size(REQUEST)? as u32,
            None => REQUEST_BYTES as u32,
        },
        document,
        objects,
        object,
    })
}

fn ssh(section: &mut Section<'_>) -> Result<Ssh, ScenarioError> {
    Ok(Ssh {
        gap_ns: match section.take("gap") {
            Some(item) => positive(item)?.0,
            None => Ssh::GAP.0,
        },
        packet: match section.take("packet") {
            Some(item) => item.size(REQUEST)? as u32,
            None => Ssh::PACKET,
        },
    })
}

/// Parses one number, or `{ median = 70, p90 = 175 }`; `count`: a plain number, without unit.
fn varied(item: Item<'_>, range: &RangeInclusive<u64>, count: bool) -> Result<LogNormal, ScenarioError> {
    let number = |item: &Item<'_>, range: RangeInclusive<u64>| match count {
        true => item.count(range),
        false => item.size(range),
    };
    if !item.is_table() {
        return Ok(LogNormal::constant(number(&item, range.clone())?));
    }
    let mut section = item.section()?;
    let least = *range.start().max(&1);
    let median = number(&section.require("median", "70")?, least..=*range.end())?;
    let p90 = number(&section.require("p90", "175")?, median..=*range.end())?;
    section.finish()?;
    Ok(LogNormal { median, p90 })
}
