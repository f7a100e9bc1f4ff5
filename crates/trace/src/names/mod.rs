//! Names of servers, clients and prefixes: given by the user, or from the DNS answers among the packets.

mod dns;
mod given;
mod kubernetes;
mod places;

pub(crate) use dns::{DnsNames, PORT as DNS_PORT};
pub use given::{GivenNames, NamesError};
pub use places::PlaceNames;
pub(crate) use places::{of_analysis, of_window};

use gentle_wire::Address;
use ipnet::IpNet;
use std::net::IpAddr;

/// All names that are known. A given name precedes one from a DNS answer.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) given: &'a GivenNames,
    pub(crate) dns: &'a DnsNames,
}

impl<'a> Names<'a> {
    /// Name of an address.
    pub(crate) fn of(self, address: IpAddr) -> Option<&'a str> {
        self.given.of(address).or_else(|| self.dns.of(Address::from(address)))
    }

    /// Name of all addresses of a prefix.
    fn of_prefix(self, prefix: IpNet) -> Option<&'a str> {
        self.given.of_prefix(prefix)
    }
}
