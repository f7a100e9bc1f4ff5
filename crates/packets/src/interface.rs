//! Interface of the default route.

use crate::error::PacketError;
use std::fs;

/// Name of the interface of the default route: that of IPv4, else of IPv6; the lowest metric of several. The tables in
/// /proc are sufficient for this and are read as text.
///
/// # Errors
/// There is no default route.
pub fn default_route_interface() -> Result<String, PacketError> {
    // proc_pid_net(5): tables of the network namespace of this process.
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    of_table_v4(&read("/proc/self/net/route"))
        .or_else(|| of_table_v6(&read("/proc/self/net/ipv6_route")))
        .ok_or(PacketError::NoDefaultRoute)
}

/// Columns, net/ipv4/fib_trie.c, fib_route_seq_show: Iface, Destination, Gateway, Flags, RefCnt, Use, Metric, Mask, …
fn of_table_v4(table: &str) -> Option<String> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let metric: u64 = fields.get(6)?.parse().ok()?;
        let default = fields.get(1) == Some(&"00000000") && fields.get(7) == Some(&"00000000");
        default.then(|| (metric, fields[0].to_owned()))
    });
    routes.min().map(|(_, interface)| interface)
}

/// Columns, net/ipv6/route.c, rt6_info_route: destination and its prefix length, source and its prefix length, next
/// hop, metric, counts, flags, interface; the unreachable default route is on lo.
fn of_table_v6(table: &str) -> Option<String> {
    let routes = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let metric = u64::from_str_radix(fields.get(5)?, 16).ok()?;
        let interface = *fields.get(9)?;
        let default = fields.get(1) == Some(&"00") && interface != "lo";
        default.then(|| (metric, interface.to_owned()))
    });
    routes.min().map(|(_, interface)| interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
";
    const V6: &str = "\
20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";

    #[test]
    fn the_lowest_metric_counts() {
        assert_eq!(of_table_v4(V4).as_deref(), Some("eth0"));
        assert_eq!(of_table_v6(V6).as_deref(), Some("eth1"));
    }

    #[test]
    fn without_a_default_route_there_is_none() {
        assert_eq!(of_table_v4(""), None);
        assert_eq!(of_table_v4("a\nb c\n"), None);
        assert_eq!(of_table_v6("x\n"), None);
    }
}
