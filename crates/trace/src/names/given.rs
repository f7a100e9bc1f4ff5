//! Names that the user gives to prefixes and addresses.

use super::kubernetes;
use gentle_units::foreign::check_name;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::net::IpAddr;
use thiserror::Error;

/// Largest number of prefixes with names: about those of all networks in the Internet (CIDR Report, 2025).
const MOST: usize = 1 << 20;
/// Largest length of a name, bytes: of a Kubernetes namespace (63), a slash, and a name (253), rounded up.
const LONGEST: usize = 320;

/// Source of a name. Of several for the same prefix, that of the first variant is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// Line of a file.
    Line,
    /// Kubernetes: node.
    Node,
    /// Kubernetes: address at which a service is reached.
    Service,
    /// Kubernetes: address that serves a service.
    Endpoint,
    /// Kubernetes: pod.
    Pod,
}

/// Names of prefixes and addresses.
#[derive(Debug, Clone, Default)]
pub struct GivenNames {
    names: HashMap<IpNet, (Source, Box<str>)>,
    /// Lengths of the prefixes of IPv4, and of IPv6.
    lengths: [BTreeSet<u8>; 2],
}

/// Error from reading names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NamesError {
    /// A line does not have the form that was expected.
    #[error("line {line}: {problem}; expected PREFIX NAME, such as 192.0.2.0/24 office or 2001:db8::7 www.example")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Description.
        problem: String,
    },
    /// The text is not the JSON of kubectl.
    #[error("{0}; expected the List that kubectl get services,pods,endpointslices -A -o json prints")]
    Kubernetes(String),
    /// There are too many names.
    #[error("more than {MOST} names, the limit of all files together")]
    TooMany,
}

impl GivenNames {
    /// Reads names from a text: lines of a prefix or an address and its name, as in `/etc/hosts`, or a JSON list of Kubernetes objects.
    /// Of several names for a prefix, the first one is used, and of lines and Kubernetes, that of the line.
    ///
    /// # Errors
    /// If the text has another form, or there are too many names. The names before the error are kept.
    pub fn read(&mut self, text: &str) -> Result<(), NamesError> {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match text.trim_start().starts_with('{') {
            true => kubernetes::read(text, |address, source, name| self.insert(IpNet::from(address), source, name)),
            false => self.lines(text),
        }
    }

    fn lines(&mut self, text: &str) -> Result<(), NamesError> {
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split_once('#').map_or(content, |(before, _)| before);
            if let Some((prefix, name)) = parse(content).map_err(|problem| NamesError::Line { line, problem })? {
                self.insert(prefix, Source::Line, name)?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, prefix: IpNet, source: Source, name: &str) -> Result<(), NamesError> {
        let is_full = self.names.len() >= MOST;
        match self.names.entry(prefix) {
            Entry::Vacant(_) if is_full => return Err(NamesError::TooMany),
            Entry::Vacant(place) => {
                place.insert((source, name.into()));
                self.lengths[usize::from(prefix.addr().is_ipv6())].insert(prefix.prefix_len());
            }
            Entry::Occupied(mut place) if source < place.get().0 => {
                place.insert((source, name.into()));
            }
            Entry::Occupied(_) => {}
        }
        Ok(())
    }

    /// Name of the longest prefix that contains an address.
    pub fn of(&self, address: IpAddr) -> Option<&str> {
        self.of_prefix(IpNet::from(address))
    }

    /// Name of the longest prefix that contains all addresses of `prefix`.
    pub fn of_prefix(&self, prefix: IpNet) -> Option<&str> {
        let lengths = &self.lengths[usize::from(prefix.addr().is_ipv6())];
        let mut longest_first = lengths.range(..=prefix.prefix_len()).rev();
        longest_first.find_map(|&length| {
            let outer = IpNet::new(prefix.addr(), length).ok()?.trunc();
            self.names.get(&outer).map(|(_, name)| &**name)
        })
    }
}

/// Prefix and name of a line without its comment; `None` for an empty one.
fn parse(line: &str) -> Result<Option<(IpNet, &str)>, String> {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return Ok(None) };
    // Addresses of one link have a zone in some hosts files: fe80::1%lo0.
    let address = first.split_once('%').map_or(first, |(address, _)| address);
    let prefix = match address.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address.to_canonical()),
        Err(_) => first.parse::<IpNet>().map_err(|_| format!("{first:?} is neither a prefix nor an address"))?.trunc(),
    };
    let Some(name) = words.next() else { return Err(format!("no name follows {first}")) };
    // Further words after an address are aliases, as in hosts files.
    if let (Some(more), true) = (words.next(), first.contains('/')) {
        return Err(format!("{more:?} follows the name {name:?}, which is one word"));
    }
    if name.len() > LONGEST {
        return Err(format!("a name of {} bytes, and the limit is {LONGEST}", name.len()));
    }
    check_name(name).map_err(|expected| format!("the name {name:?}: {expected}"))?;
    Ok(Some((prefix, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<GivenNames, String> {
        let mut names = GivenNames::default();
        names.read(text).map(|()| names).map_err(|error| error.to_string())
    }

    fn of<'a>(names: &'a GivenNames, address: &str) -> Option<&'a str> {
        names.of(address.parse().expect("an address"))
    }

    #[test]
    fn the_longest_prefix_counts_and_of_two_lines_the_first() {
        let names = read(
            "# sites\n10.0.0.0/8\tberlin\n10.1.2.3/16 paris # not 10.1.2.3\r\n10.1.0.9 gate\n10.1.0.9 door\n\n2001:db8::/32 lab\n::/0 any\n",
        );
        let names = names.expect("all lines are right");
        for (address, name) in [
            ("10.200.0.1", Some("berlin")),
            ("10.1.0.1", Some("paris")),
            ("10.1.0.9", Some("gate")),
            ("11.0.0.1", None),
            ("2001:db8::1", Some("lab")),
            ("2001:db9::1", Some("any")),
        ] {
            assert_eq!(of(&names, address), name, "{address}");
        }
        for (prefix, name) in [("10.1.0.0/24", Some("paris")), ("10.0.0.0/9", Some("berlin")), ("0.0.0.0/0", None)] {
            assert_eq!(names.of_prefix(prefix.parse().expect("a prefix")), name, "{prefix}");
        }
    }

    #[test]
    fn hosts_files_are_read() {
        let names = read(
            "\u{feff}127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\nfe80::1%lo0 localhost\n\n \
             192.0.2.7  db.example db # primary\n::ffff:192.0.2.8 web\n",
        );
        let names = names.expect("a hosts file");
        for (address, name) in
            [("192.0.2.7", "db.example"), ("192.0.2.8", "web"), ("fe80::1", "localhost"), ("::1", "localhost")]
        {
            assert_eq!(of(&names, address), Some(name), "{address}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        const EXPECTED: &str = "; expected PREFIX NAME, such as 192.0.2.0/24 office or 2001:db8::7 www.example";
        for (line, problem) in [
            ("192.0.2.0/33 a", "\"192.0.2.0/33\" is neither a prefix nor an address"),
            ("www.example 192.0.2.1", "\"www.example\" is neither a prefix nor an address"),
            ("192.0.2.0/24", "no name follows 192.0.2.0/24"),
            ("192.0.2.0/24 # office", "no name follows 192.0.2.0/24"),
            ("192.0.2.0/24 the office", "\"office\" follows the name \"the\", which is one word"),
            (
                "192.0.2.1 a\u{1b}[31m",
                "the name \"a\\u{1b}[31m\": expected text on one line without control characters",
            ),
        ] {
            let error = read(&format!("192.0.2.9 first\n{line}\n")).expect_err("a wrong line");
            assert_eq!(error, format!("line 2: {problem}{EXPECTED}"));
        }
        let long = "a".repeat(LONGEST + 1);
        assert!(
            read(&format!("192.0.2.1 {long}")).expect_err("a long name").starts_with("line 1: a name of 321 bytes")
        );
    }

    #[test]
    fn the_number_of_names_is_limited() {
        let mut names = GivenNames::default();
        let mut insert = |number: u32| {
            let prefix = IpNet::from(IpAddr::from(number.to_be_bytes()));
            names.insert(prefix, Source::Line, "a")
        };
        (0..MOST as u32).for_each(|number| insert(number).expect("room"));
        assert_eq!(insert(0), Ok(()));
        assert_eq!(insert(MOST as u32), Err(NamesError::TooMany));
    }

    /// Prefixes and addresses that share many bits.
    fn prefix() -> impl Strategy<Value = IpNet> {
        let bits = prop::collection::vec(0_usize..4, 4);
        (bits, 0_u8..=128, any::<bool>()).prop_map(|(bits, length, v6)| {
            let bytes: Vec<u8> = bits.into_iter().map(|which| [0, 1, 128, 255][which]).collect();
            let address = match v6 {
                true => IpAddr::from(<[u8; 16]>::try_from(bytes.repeat(4)).expect("16 bytes")),
                false => IpAddr::from(<[u8; 4]>::try_from(bytes).expect("4 bytes")),
            };
            IpNet::new_assert(address, if v6 { length } else { length % 33 })
        })
    }

    proptest! {
        #[test]
        fn lookups_are_those_of_a_search(lines in prop::collection::vec(prefix(), 0..30), wanted in prefix()) {
            let text: String = lines.iter().enumerate().map(|(number, prefix)| format!("{prefix} n{number}\n")).collect();
            let names = read(&text).expect("all lines are right");
            let search = |wanted: IpNet| {
                let around = lines.iter().enumerate().filter(|(_, prefix)| prefix.trunc().contains(&wanted.trunc()));
                // Of equal prefixes, the first; `max_by_key` returns the last of equal lengths.
                let longest = around.rev().max_by_key(|(_, prefix)| prefix.prefix_len());
                longest.map(|(number, _)| format!("n{number}"))
            };
            prop_assert_eq!(names.of_prefix(wanted).map(str::to_owned), search(wanted));
            let address = wanted.addr();
            prop_assert_eq!(names.of(address).map(str::to_owned), search(IpNet::from(address)));
        }

        #[test]
        fn no_text_does_harm(text in "[0-9a-f:./%# \\t\\r\\n{}\\[\\]\",]{0,80}|.{0,40}|\\{\"items\":\\[.{0,40}\\]\\}") {
            if let Ok(names) = read(&text) {
                names.of(IpAddr::from([0, 0, 0, 0]));
            }
        }
    }
}
