//! Interfaces of the captures: which are analysed, and what is known of each.

use crate::control::AnalysisError;
use crate::results;
use gentle_capture::{CaptureReader, Interface, QueueSide};
use serde::{Deserialize, Serialize};

/// Restricts readers to the interfaces that [`Options::interfaces`](crate::Options::interfaces) names.
pub(crate) fn choose(readers: Vec<CaptureReader>, wanted: &[String]) -> Vec<CaptureReader> {
    let restrict = |reader: CaptureReader| {
        let wanted = wanted.to_vec();
        reader.choose(move |number, interface| match &wanted[..] {
            [] => matches!(interface.queue_side(), None | Some(QueueSide::Entry)),
            names => names.iter().any(|name| is_named(name, number, interface)),
        })
    };
    // Packets of a capture in which nothing is chosen take a faster path.
    let has_choice = |reader: &CaptureReader| !wanted.is_empty() || reader.format().has_interfaces();
    let readers = readers.into_iter();
    readers
        .map(|reader| match has_choice(&reader) {
            true => restrict(reader),
            false => reader,
        })
        .collect()
}

fn is_named(name: &str, number: u32, interface: &Interface) -> bool {
    let given = [&interface.name, &interface.description];
    given.into_iter().any(|it| it.as_deref() == Some(name)) || name.parse() == Ok(number)
}

/// Checks that each wanted interface is in one of the captures, which have been read.
///
/// # Errors
/// One is in none.
pub(crate) fn check(readers: &[CaptureReader], wanted: &[String]) -> Result<(), AnalysisError> {
    let numbered =
        |reader: &CaptureReader| -> Vec<(u32, Interface)> { (0..).zip(reader.interfaces().iter().cloned()).collect() };
    let is_missing = |name: &&String| {
        let mut readers = readers.iter();
        !readers.any(|reader| {
            let interfaces = numbered(reader);
            let mut interfaces = interfaces.iter();
            interfaces.any(|(number, interface)| is_named(name, *number, interface))
        })
    };
    let Some(missing) = wanted.iter().find(is_missing) else {
        return Ok(());
    };
    let of_file = |reader: &CaptureReader| {
        let names: Vec<String> = numbered(reader)
            .iter()
            .map(|(number, interface)| match label(interface) {
                Some(name) => format!("{number} ({name})"),
                None => number.to_string(),
            })
            .collect();
        let (shown, more) = names.split_at(names.len().min(SHOWN));
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match shown {
            [] => format!("{} has no interface", reader.name()),
            _ => format!("{} has {}{more}", reader.name(), shown.join(", ")),
        }
    };
    let files: Vec<String> = readers.iter().take(SHOWN).map(of_file).collect();
    Err(AnalysisError::NoInterface { name: missing.clone(), files: files.join("; ") })
}

/// Interfaces that a message names.
const SHOWN: usize = 32;

/// Name of an interface, else its description.
pub(crate) fn label(interface: &Interface) -> Option<&str> {
    interface.name.as_deref().or(interface.description.as_deref())
}

/// Facts about an interface of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterfaceFacts {
    pub(crate) number: u32,
    name: Option<String>,
    description: Option<String>,
    pub(crate) packets: u64,
    pub(crate) analysed: bool,
}

impl InterfaceFacts {
    /// Facts about the interfaces of a capture that has been read; none if there was nothing to choose from.
    pub(crate) fn of(reader: &CaptureReader) -> Vec<InterfaceFacts> {
        let interfaces = (0..).zip(reader.interfaces());
        interfaces
            .filter_map(|(number, interface)| {
                let (analysed, packets) = reader.chosen(number)?;
                Some(InterfaceFacts {
                    number,
                    name: interface.name.clone(),
                    description: interface.description.clone(),
                    packets,
                    analysed,
                })
            })
            .collect()
    }

    pub(crate) fn remove_name(&mut self) {
        (self.name, self.description) = (None, None);
    }

    pub(crate) fn result(&self) -> results::Interface {
        results::Interface {
            number: self.number,
            name: self.name.clone(),
            description: self.description.clone(),
            packets: self.packets,
            analysed: self.analysed,
        }
    }
}
