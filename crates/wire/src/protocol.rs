//! Protocol numbers of IP payloads (IANA, Assigned Internet Protocol Numbers).

/// ICMP (RFC 792).
pub const ICMP: u8 = 1;
/// IPv4 in IP (RFC 2003, RFC 2473).
pub const IPV4: u8 = 4;
/// TCP (RFC 9293).
pub const TCP: u8 = 6;
/// UDP (RFC 768).
pub const UDP: u8 = 17;
/// DCCP (RFC 4340).
pub const DCCP: u8 = 33;
/// IPv6 in IP (RFC 2473, RFC 4213; 6to4, RFC 3056).
pub const IPV6: u8 = 41;
/// GRE (RFC 2784).
pub const GRE: u8 = 47;
/// ICMPv6 (RFC 4443).
pub const ICMPV6: u8 = 58;
/// EtherIP (RFC 3378).
pub const ETHERIP: u8 = 97;
/// SCTP (RFC 9260).
pub const SCTP: u8 = 132;
/// MPLS in IP (RFC 4023).
pub const MPLS: u8 = 137;
