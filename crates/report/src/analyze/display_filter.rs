//! Wireshark display filters for the addresses with the greatest losses.

use std::net::{IpAddr, SocketAddr};

/// Display filter for the retransmitted SYNs and SYN/ACKs from and to `name`: an address, an address with a port, or a
/// prefix. `None` for any other text.
///
/// Fields are those of Wireshark's reference: `ip.addr`, `ipv6.addr` and `tcp.port` match either end, and `==` accepts
/// a prefix.
pub(super) fn repeated_handshakes(name: &str) -> Option<String> {
    let (address, port) = match name.parse::<SocketAddr>() {
        Ok(socket) => (socket.ip(), Some(socket.port())),
        Err(_) => {
            let address = name.split_once('/').map_or(name, |(address, _)| address);
            (address.parse::<IpAddr>().ok()?, None)
        }
    };
    let length = match name.split_once('/') {
        Some((_, length)) => {
            let longest = if address.is_ipv4() { 32 } else { 128 };
            Some(length.parse::<u8>().ok().filter(|&n| n <= longest)?)
        }
        None => None,
    };
    let field = if address.is_ipv4() { "ip" } else { "ipv6" };
    let mut filter = format!("{field}.addr == {address}");
    if let Some(length) = length {
        filter += &format!("/{length}");
    }
    if let Some(port) = port {
        filter += &format!(" && tcp.port == {port}");
    }
    filter += " && tcp.flags.syn == 1 && tcp.analysis.retransmission";
    Some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_name_has_its_filter() {
        let again = "tcp.flags.syn == 1 && tcp.analysis.retransmission";
        for (name, selects) in [
            ("192.0.2.7:443", "ip.addr == 192.0.2.7 && tcp.port == 443"),
            ("[2001:db8::7]:80", "ipv6.addr == 2001:db8::7 && tcp.port == 80"),
            ("198.51.100.3", "ip.addr == 198.51.100.3"),
            ("2001:db8::3", "ipv6.addr == 2001:db8::3"),
            ("203.0.113.0/24", "ip.addr == 203.0.113.0/24"),
            ("2001:db8:1::/48", "ipv6.addr == 2001:db8:1::/48"),
        ] {
            let filter = repeated_handshakes(name);
            assert_eq!(filter, Some(format!("{selects} && {again}")));
        }
    }

    #[test]
    fn what_is_no_address_has_none() {
        for name in ["", "example.net", "192.0.2.0/33", "192.0.2.7:443/24", "1.2.3.4 || tcp", "/24"] {
            assert_eq!(repeated_handshakes(name), None, "{name}");
        }
    }
}
