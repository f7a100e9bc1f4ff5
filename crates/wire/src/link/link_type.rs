//! Link types of capture files.

use std::fmt;

/// Link type of an interface in a capture file, as registered at <https://www.tcpdump.org/linktypes.html>.
///
/// Any number is a valid value; [`dissect`](crate::dissect) returns [`Skip::UnknownLink`](crate::Skip::UnknownLink) for
/// a number that is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

macro_rules! link_types {
    ($($(#[$doc:meta])* $constant:ident = $value:literal, $name:literal;)*) => {
        impl LinkType {
            $($(#[$doc])* pub const $constant: LinkType = LinkType($value);)*

            /// All supported link types.
            pub const ALL: &[LinkType] = &[$(LinkType::$constant),*];

            /// Name in the registry without the prefix `LINKTYPE_`; `None` if the link type is not supported.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(LinkType::$constant => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

link_types! {
    /// BSD loopback: address family in the byte order of the capturing machine.
    NULL = 0, "NULL";
    /// Ethernet.
    ETHERNET = 1, "ETHERNET";
    /// PPP, with or without HDLC address and control bytes (RFC 1661, RFC 1662), or Cisco HDLC.
    PPP = 9, "PPP";
    /// FDDI.
    FDDI = 10, "FDDI";
    /// Raw IP as `DLT_RAW` of most systems, found in files of programs that do not map it to [`LinkType::RAW`].
    DLT_RAW = 12, "RAW (DLT 12)";
    /// Raw IP as `DLT_RAW` of OpenBSD.
    DLT_RAW_OPENBSD = 14, "RAW (DLT 14)";
    /// PPP in HDLC-like framing (RFC 1662), or Cisco HDLC.
    PPP_HDLC = 50, "PPP_HDLC";
    /// PPPoE session (RFC 2516) without Ethernet header.
    PPP_ETHER = 51, "PPP_ETHER";
    /// LLC/SNAP on ATM (RFC 2684).
    ATM_RFC1483 = 100, "ATM_RFC1483";
    /// Raw IP.
    RAW = 101, "RAW";
    /// Cisco HDLC.
    C_HDLC = 104, "C_HDLC";
    /// IEEE 802.11.
    IEEE802_11 = 105, "IEEE802_11";
    /// Frame Relay (RFC 2427).
    FRELAY = 107, "FRELAY";
    /// OpenBSD loopback: address family in network byte order.
    LOOP = 108, "LOOP";
    /// IPsec traffic of a BSD `enc` interface.
    ENC = 109, "ENC";
    /// Linux cooked capture.
    LINUX_SLL = 113, "LINUX_SLL";
    /// Log of the BSD packet filter.
    PFLOG = 117, "PFLOG";
    /// IEEE 802.11 after a Prism monitor header.
    IEEE802_11_PRISM = 119, "IEEE802_11_PRISM";
    /// IEEE 802.11 after a radiotap header.
    IEEE802_11_RADIOTAP = 127, "IEEE802_11_RADIOTAP";
    /// IEEE 802.11 after an AVS header.
    IEEE802_11_AVS = 163, "IEEE802_11_AVS";
    /// PPP with the direction in the HDLC address byte, as written by `pppd`.
    PPP_PPPD = 166, "PPP_PPPD";
    /// Per-packet information, which names another link type.
    PPI = 192, "PPI";
    /// PPP after a direction byte.
    PPP_WITH_DIR = 204, "PPP_WITH_DIR";
    /// Cisco HDLC after a direction byte.
    C_HDLC_WITH_DIR = 205, "C_HDLC_WITH_DIR";
    /// Frame Relay after a direction byte.
    FRELAY_WITH_DIR = 206, "FRELAY_WITH_DIR";
    /// MPLS label stack (RFC 3032).
    MPLS = 219, "MPLS";
    /// Raw IPv4.
    IPV4 = 228, "IPV4";
    /// Raw IPv6.
    IPV6 = 229, "IPV6";
    /// Linux netfilter log.
    NFLOG = 239, "NFLOG";
    /// Ethernet after the header of a Hilscher netANALYZER, with frame check sequence.
    NETANALYZER = 240, "NETANALYZER";
    /// IP over InfiniBand (RFC 4391).
    IPOIB = 242, "IPOIB";
    /// Darwin `pktap`, which names another link type.
    PKTAP = 258, "PKTAP";
    /// Linux cooked capture, version 2.
    LINUX_SLL2 = 276, "LINUX_SLL2";
    /// Ethernet with a switch tag of Broadcom after the addresses.
    DSA_TAG_BRCM = 281, "DSA_TAG_BRCM";
    /// Ethernet with a switch tag of Broadcom before the addresses.
    DSA_TAG_BRCM_PREPEND = 282, "DSA_TAG_BRCM_PREPEND";
    /// Ethernet with a switch tag of Marvell.
    DSA_TAG_DSA = 284, "DSA_TAG_DSA";
    /// Ethernet with a switch tag of Marvell that has an EtherType.
    DSA_TAG_EDSA = 285, "DSA_TAG_EDSA";
}

/// Names of the most common unsupported link types, for messages.
const NOT_UNDERSTOOD: &[(u16, &str)] = &[
    (3, "AX25"),
    (6, "IEEE802_5 (token ring)"),
    (7, "ARCNET_BSD"),
    (8, "SLIP"),
    (122, "IP_OVER_FC"),
    (123, "SUNATM"),
    (129, "ARCNET_LINUX"),
    (130, "JUNIPER_MLPPP"),
    (131, "JUNIPER_MLFR"),
    (132, "JUNIPER_ES"),
    (133, "JUNIPER_GGSN"),
    (134, "JUNIPER_MFR"),
    (135, "JUNIPER_ATM2"),
    (136, "JUNIPER_SERVICES"),
    (137, "JUNIPER_ATM1"),
    (138, "APPLE_IP_OVER_IEEE1394"),
    (143, "DOCSIS"),
    (144, "LINUX_IRDA"),
    (147, "USER0 (private use)"),
    (148, "USER1 (private use)"),
    (149, "USER2 (private use)"),
    (150, "USER3 (private use)"),
    (164, "JUNIPER_MONITOR"),
    (177, "LINUX_LAPD"),
    (178, "JUNIPER_ETHER"),
    (179, "JUNIPER_PPP"),
    (180, "JUNIPER_FRELAY"),
    (181, "JUNIPER_CHDLC"),
    (182, "MFR (multilink Frame Relay)"),
    (187, "BLUETOOTH_HCI_H4"),
    (189, "USB_LINUX"),
    (190, "CAN20B"),
    (195, "IEEE802_15_4_WITHFCS (Zigbee)"),
    (197, "ERF"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (215, "IEEE802_15_4_NONASK_PHY"),
    (220, "USB_LINUX_MMAPPED"),
    (224, "FC_2 (Fibre Channel)"),
    (225, "FC_2_WITH_FRAME_DELIMS (Fibre Channel)"),
    (226, "IPNET (Solaris)"),
    (227, "CAN_SOCKETCAN"),
    (230, "IEEE802_15_4_NOFCS (Zigbee)"),
    (231, "DBUS"),
    (243, "MPEG_2_TS"),
    (247, "INFINIBAND"),
    (248, "SCTP"),
    (249, "USBPCAP"),
    (251, "BLUETOOTH_LE_LL"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (254, "BLUETOOTH_LINUX_MONITOR"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"),
    (259, "EPON"),
    (264, "ISO_14443 (RFID)"),
    (265, "RDS (radio data)"),
    (271, "VSOCK"),
    (272, "NORDIC_BLE"),
    (283, "IEEE802_15_4_TAP (Zigbee)"),
    (290, "ETW (Windows events)"),
];

impl LinkType {
    /// Name in the registry without the prefix `LINKTYPE_`, of supported and common unsupported link types; `None` for
    /// others.
    pub fn registered_name(self) -> Option<&'static str> {
        let of_others = |&&(number, _): &&(u16, &str)| number == self.0;
        self.name().or_else(|| NOT_UNDERSTOOD.iter().find(of_others).map(|(_, name)| *name))
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_type_has_a_name_of_its_own() {
        let mut names: Vec<_> = LinkType::ALL.iter().map(|link| link.to_string()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), LinkType::ALL.len());
        assert_eq!(LinkType::LINUX_SLL2.name(), Some("LINUX_SLL2"));
        assert_eq!(LinkType(65_000).name(), None);
        assert_eq!(LinkType(65_000).to_string(), "link type 65000");
        assert_eq!(LinkType(65_000).registered_name(), None);
        assert_eq!(LinkType(189).registered_name(), Some("USB_LINUX"));
        assert_eq!(LinkType::RAW.registered_name(), Some("RAW"));
        let understood = |(number, _): &&(u16, &str)| LinkType(*number).name().is_some();
        assert_eq!(NOT_UNDERSTOOD.iter().find(understood), None);
    }
}
