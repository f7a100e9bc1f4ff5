//! Commands that verify causes, with the values that are known in place of their placeholders.

use crate::format::plain;
use gentle_trace::results::{Analysis, Cause};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

/// Values for the placeholders of checks. Those that are unknown stay as they are, so that users fill them in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// File with all packets of the causes: `CAPTURE`.
    pub capture: Option<&'a str>,
    /// Network device that the packets passed: `DEVICE`.
    pub device: Option<&'a str>,
    /// Whether servers have their real addresses: `HOST`, `PORT` and `SERVER` are then of the one with most attempts.
    pub servers: bool,
}

impl<'a> Known<'a> {
    /// Values known from an analysis.
    pub(super) fn of(analysis: &'a Analysis) -> Known<'a> {
        let capture = match &*analysis.captures {
            // Standard input, and the capture that the program contains.
            [capture] if !capture.path.starts_with('-') => Some(&*capture.path),
            _ => None,
        };
        Known { capture, device: None, servers: !analysis.anonymized }
    }

    /// Check of a cause, from one with placeholders.
    pub(super) fn check(&self, check: &str, cause: &Cause) -> String {
        let (mut host, mut port) = (None, None);
        if let Some(most) = cause.group.most.first().filter(|_| self.servers) {
            host = most.name.parse::<IpAddr>().ok();
            if let Ok(address) = most.name.parse::<SocketAddr>() {
                (host, port) = (Some(address.ip()), Some(address.port()));
            }
        }
        let word = |word: &str| match word {
            "CAPTURE" => quoted(self.capture?),
            "DEVICE" => quoted(self.device?),
            "HOST" => Some(host?.to_string().into()),
            "PORT" => Some(port?.to_string().into()),
            "@SERVER" => Some(format!("@{}", host?).into()),
            _ => None,
        };
        let filled = check.split_inclusive([' ', ';']).map(|part| {
            let name = part.trim_end_matches([' ', ';']);
            word(name).map_or(part.into(), |value| Cow::from(format!("{value}{}", &part[name.len()..])))
        });
        filled.collect()
    }
}

/// Name as an argument of a shell; `None` if it could not be shown as it is.
fn quoted(name: &str) -> Option<Cow<'_, str>> {
    shlex::try_quote(name).ok().filter(|_| plain(name) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_trace::results::{AttemptGroup, CauseKind, NamedParty};
    use std::collections::BTreeMap;

    /// Check of a cause whose server with most attempts has this name.
    fn check(known: Known<'_>, server: &str, check: &str) -> String {
        let most = vec![NamedParty { name: server.to_owned(), attempts: 1 }];
        let cause = Cause {
            kind: CauseKind::Loss,
            group: AttemptGroup { attempts: 1, waited_s: 1.0, parties: 1, most },
            share: 1.0,
            direction: None,
            evidence: BTreeMap::new(),
            sentence: String::new(),
            remedy: String::new(),
            check: String::new(),
        };
        known.check(check, &cause)
    }

    #[test]
    fn known_values_take_the_place_of_whole_words() {
        let known = Known { capture: Some("a b.pcap"), device: Some("eth0"), servers: true };
        let server = "192.0.2.1:443";
        assert_eq!(check(known, server, "tshark -r CAPTURE -Y 'tcp'"), "tshark -r 'a b.pcap' -Y 'tcp'");
        assert_eq!(check(known, server, "gentle analyze LONGER-CAPTURE"), "gentle analyze LONGER-CAPTURE");
        assert_eq!(check(known, server, "ip -s link; ethtool -S DEVICE"), "ip -s link; ethtool -S eth0");
        assert_eq!(check(known, server, "ping HOST; ip neigh"), "ping 192.0.2.1; ip neigh");
        assert_eq!(check(known, server, "nc -vz HOST PORT"), "nc -vz 192.0.2.1 443");
        assert_eq!(check(known, "[2001:db8::1]:53", "dig @SERVER NAME A"), "dig @2001:db8::1 NAME A");
        assert_eq!(check(known, "192.0.2.1", "nc -vz HOST PORT"), "nc -vz 192.0.2.1 PORT");
    }

    #[test]
    fn what_is_unknown_or_cannot_be_shown_stays() {
        let commands = "tshark -r CAPTURE; ethtool -S DEVICE; nc -vz HOST PORT; dig @SERVER";
        assert_eq!(check(Known::default(), "192.0.2.1:443", commands), commands);
        let active = Known { capture: Some("a\u{1b}[2J"), device: Some("\0"), servers: true };
        assert_eq!(check(active, "not an address", commands), commands);
    }
}
