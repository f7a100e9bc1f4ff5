//! Targets: a host and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Host and port to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Name, or address without brackets.
    host: String,
    port: u16,
}

/// Address families to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Families {
    /// The first address of each family. A family without a route is left out if the name has an address of the other.
    #[default]
    Both,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Families {
    /// Whether an address belongs to these families.
    pub(crate) fn contain(self, address: IpAddr) -> bool {
        match self {
            Families::Both => true,
            Families::V4 => address.is_ipv4(),
            Families::V6 => address.is_ipv6(),
        }
    }
}

/// Text that is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST:PORT or [IPV6]:PORT with a port from 1 to 65535, such as example.com:443")]
pub struct ParseTargetError;

impl Target {
    /// Name, or address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port, 1 to 65535.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Address, if the host is not a name.
    pub fn literal(&self) -> Option<SocketAddr> {
        self.host.parse().ok().map(|address: IpAddr| SocketAddr::new(address, self.port))
    }
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Target, ParseTargetError> {
        let (host, port) = text.rsplit_once(':').ok_or(ParseTargetError)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port > 0).ok_or(ParseTargetError)?;
        let host = match host.strip_prefix('[') {
            Some(inside) => {
                let address = inside.strip_suffix(']').ok_or(ParseTargetError)?;
                address.parse::<Ipv6Addr>().map_err(|_| ParseTargetError)?;
                address
            }
            // A colon belongs to an IPv6 address, whose last group could be taken for the port.
            None => host,
        };
        let is_name = |c: char| !c.is_whitespace() && !c.is_control() && !"[]/@:".contains(c);
        let is_address = host.parse::<IpAddr>().is_ok() && text.starts_with('[') == host.contains(':');
        if host.is_empty() || !(is_address || host.chars().all(is_name)) {
            return Err(ParseTargetError);
        }
        Ok(Target { host: host.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_have_ports() {
        for text in ["example.com:443", "192.0.2.1:1", "[2001:db8::1]:65535", "localhost:80"] {
            let target: Target = text.parse().expect(text);
            assert_eq!(target.to_string(), text);
            assert_eq!(target.literal().is_none(), text.contains("com") || text.contains("local"), "{text}");
        }
        for text in ["", ":80", "a", "a:", "a:0", "a:65536", "a:+1", "::1", "::1:80", "[::1]", "[a]:1", "[::1:80"] {
            assert_eq!(text.parse::<Target>(), Err(ParseTargetError), "{text}");
        }
        for text in ["http://a:80", "a b:80", "[192.0.2.1]:80", "user@a:22", "a\u{1b}:80"] {
            assert_eq!(text.parse::<Target>(), Err(ParseTargetError), "{text}");
        }
    }

    /// Names, addresses of both families, and parts of them in a wrong order.
    fn text() -> impl Strategy<Value = String> {
        let host = prop_oneof![
            "[a-z0-9_-]{1,8}(\\.[a-z0-9]{1,6}){0,3}\\.?",
            any::<[u8; 4]>().prop_map(|bytes| IpAddr::from(bytes).to_string()),
            any::<[u8; 16]>().prop_map(|bytes| IpAddr::from(bytes).to_string()),
            "[\\[\\]:.%@0-9a-f]{0,12}",
        ];
        let brackets = prop_oneof![Just(("", "")), Just(("[", "]")), Just(("[", ""))];
        let port = prop_oneof![any::<u16>().prop_map(|port| port.to_string()), "[-+0-9: ]{0,7}"];
        (brackets, host, port).prop_map(|((open, close), host, port)| format!("{open}{host}{close}:{port}"))
    }

    proptest! {
        /// Valid targets, by the grammar; all others are rejected without a panic.
        #[test]
        fn a_target_is_valid_if_its_parts_are(text in text()) {
            let parts = text.rsplit_once(':').expect("a colon");
            let port = parts.1.parse::<u16>().ok().filter(|port| *port > 0 && !parts.1.starts_with('+'));
            let in_brackets = parts.0.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
            let is_host = match in_brackets {
                Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
                None => !parts.0.is_empty() && !parts.0.contains(['[', ']', ':', '@']),
            };
            match text.parse::<Target>() {
                Ok(target) => {
                    prop_assert!(is_host, "{text}");
                    prop_assert_eq!((target.host(), Some(target.port())), (in_brackets.unwrap_or(parts.0), port));
                    prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
                }
                Err(_) => prop_assert!(!is_host || port.is_none(), "{text}"),
            }
        }

        #[test]
        fn any_target_is_printed_as_it_is_read(text in "\\PC{0,24}") {
            if let Ok(target) = text.parse::<Target>() {
                let printed = target.to_string();
                prop_assert_eq!(printed.parse::<Target>(), Ok(target));
            }
        }
    }
}
