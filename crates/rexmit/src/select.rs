//! Selection of the handshakes to watch.

use gentle_wire::Address;
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Selection of handshakes by local role, server port and remote address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Watch outgoing SYNs.
    pub client: bool,
    /// Watch outgoing SYN/ACKs.
    pub server: bool,
    /// Server ports; empty: all.
    pub ports: Vec<Ports>,
    /// Remote addresses; empty: all.
    pub only: Vec<IpNet>,
    /// Excluded remote addresses; takes precedence over `only`.
    pub except: Vec<IpNet>,
}

/// Port or range of ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(pub RangeInclusive<u16>);

impl Selection {
    /// Whether a server port is selected.
    pub(crate) fn port(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|ports| ports.0.contains(&port))
    }

    /// Whether a remote address is selected.
    pub(crate) fn peer(&self, address: Address) -> bool {
        if self.only.is_empty() && self.except.is_empty() {
            return true;
        }
        let address = IpAddr::from(address);
        let within = |prefixes: &[IpNet]| prefixes.iter().any(|prefix| prefix.contains(&address));
        (self.only.is_empty() || within(&self.only)) && !within(&self.except)
    }
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Ports, String> {
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Ports(first..=last)),
            _ => Err("expected a port from 1 to 65535, or a range such as 8000-8099".to_owned()),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start(), self.0.end()) {
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_or_refused() {
        for (text, range) in [("80", 80..=80), ("8000-8099", 8000..=8099)] {
            let ports: Ports = text.parse().expect(text);
            assert_eq!((ports.0.clone(), ports.to_string()), (range, text.to_owned()));
        }
        for text in ["", "0", "65536", "http", "90-80", "80-", "-80", "1-2-3"] {
            assert!(text.parse::<Ports>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_exception_beats_a_choice() {
        let selection = Selection {
            only: vec!["192.0.2.0/24".parse().expect("a prefix")],
            except: vec!["192.0.2.128/25".parse().expect("a prefix")],
            ..Selection::default()
        };
        let peer = |address: &str| selection.peer(address.parse::<IpAddr>().expect("an address").into());
        assert!(peer("192.0.2.1"));
        assert!(!peer("192.0.2.129"));
        assert!(!peer("198.51.100.1"));
        assert!(!peer("2001:db8::1"));
    }
}
