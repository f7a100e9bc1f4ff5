//! One frame for every encapsulation, each with the same TCP segment inside.

use gentle_testkit::frames::{ETHERNET, IPV4_OUTER, SEGMENT, cat};
use gentle_wire::LinkType;

/// A frame with the segment inside.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) link: LinkType,
    pub(crate) frame: Vec<u8>,
    /// The segment is inside a tunnel.
    pub(crate) tunnelled: bool,
    /// The segment is in an IPv6 packet, 2001:db8::7 to 2001:db8::9.
    pub(crate) ipv6: bool,
}

const SNAP_IPV4: &[u8] = &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// The segment as an IPv6 packet with extension headers, of which `next` is the first.
pub(crate) fn ipv6(next: u8, extensions: &[u8]) -> Vec<u8> {
    let segment = &SEGMENT[20..];
    let len = (extensions.len() + segment.len()) as u16;
    let mut addresses = [0; 32];
    for (at, host) in [(0, 7), (16, 9)] {
        addresses[at..at + 4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        addresses[at + 15] = host;
    }
    cat(&[&[0x60, 0, 0, 0], &len.to_be_bytes(), &[next, 64], &addresses, extensions, segment])
}

/// An IPv4 packet, 192.0.2.1 to 192.0.2.2.
fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = IPV4_OUTER;
    header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    header[9] = protocol;
    cat(&[&header, payload])
}

/// A UDP datagram from port 55555 in an IPv4 packet.
fn udp(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    outer(17, &cat(&[&55555u16.to_be_bytes(), &dst_port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload]))
}

/// An Ethernet frame with the segment.
fn ethernet() -> Vec<u8> {
    cat(&[ETHERNET, &[8, 0], SEGMENT])
}

/// A payload in GRE in an IPv4 packet; `fields` are the optional fields that `flags` announce.
fn gre(flags: u16, protocol: u16, fields: &[u8], payload: &[u8]) -> Vec<u8> {
    outer(47, &cat(&[&flags.to_be_bytes(), &protocol.to_be_bytes(), fields, payload]))
}

/// An attribute of the netfilter log, little-endian, padded.
fn nflog_attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut attribute = cat(&[&(4 + value.len() as u16).to_le_bytes(), &kind.to_le_bytes(), value]);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

/// An IEEE 802.11 header: frame control, three addresses, sequence control.
fn ieee80211(control: [u8; 2]) -> Vec<u8> {
    let mut header = vec![control[0], control[1], 0, 0];
    for host in [2, 1, 3] {
        header.extend([2, 0, 0, 0, 0, host]);
    }
    header.extend([0x10, 0]);
    header
}

pub(crate) fn all() -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut add = |name, link, pieces: &[&[u8]]| {
        samples.push(Sample { name, link, frame: cat(pieces), tunnelled: false, ipv6: false });
    };
    over_ethernet(&mut add);
    without_ethernet(&mut add);
    wireless(&mut add);
    tunnels(&mut |name, frame| {
        samples.push(Sample { name, link: LinkType::RAW, frame, tunnelled: true, ipv6: false });
    });
    samples.extend(over_ipv6());
    samples
}

fn over_ethernet(add: &mut impl FnMut(&'static str, LinkType, &[&[u8]])) {
    let mut ethernet = |name, pieces: &[&[u8]]| {
        add(name, LinkType::ETHERNET, &[ETHERNET, &cat(pieces)]);
    };
    ethernet("plain", &[&[8, 0], SEGMENT]);
    ethernet("padded", &[&[8, 0], SEGMENT, &[0xee; 30]]);
    ethernet("802.1Q", &[&[0x81, 0, 0, 5, 8, 0], SEGMENT]);
    ethernet("802.1ad in 802.1ad", &[&[0x88, 0xa8, 0, 5, 0x88, 0xa8, 0, 6, 0x81, 0, 0, 7, 8, 0], SEGMENT]);
    ethernet("QinQ 0x9100", &[&[0x91, 0, 0, 5, 0x81, 0, 0, 6, 8, 0], SEGMENT]);
    ethernet("802.3 with SNAP", &[&[0, 64], SNAP_IPV4, SEGMENT]);
    ethernet("802.3 with bridge tunnel", &[&[0, 64, 0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0], SEGMENT]);
    ethernet("802.3 with LLC", &[&[0, 59, 6, 6, 3], SEGMENT]);
    ethernet("MPLS", &[&[0x88, 0x47, 0, 1, 0x01, 64], SEGMENT]);
    ethernet(
        "MPLS stack in VLAN",
        &[&[0x81, 0, 0, 5, 0x88, 0x48, 0, 1, 0, 64, 0, 2, 0, 64, 0, 0x30, 0x01, 64], SEGMENT],
    );
    ethernet("pseudowire with control word", &[&[0x88, 0x47, 0, 1, 0x01, 64, 0, 0, 0, 0], ETHERNET, &[8, 0], SEGMENT]);
    ethernet("PPPoE", &[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 58, 0, 0x21], SEGMENT]);
    ethernet(
        "PPPoE in QinQ",
        &[&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x88, 0x64, 0x11, 0, 0, 1, 0, 58, 0, 0x21], SEGMENT],
    );
    ethernet("MPLS over PPPoE", &[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 62, 0x02, 0x81, 0, 1, 0x01, 64], SEGMENT]);
    ethernet("FabricPath", &[&[0x89, 0x03, 0, 0x60], ETHERNET, &[8, 0], SEGMENT]);
    ethernet("VN-Tag", &[&[0x89, 0x26, 0, 1, 0, 2, 8, 0], SEGMENT]);
    ethernet("802.1BR", &[&[0x89, 0x3f, 0, 0, 0, 1, 0, 0, 8, 0], SEGMENT]);
    ethernet("security group tag", &[&[0x89, 0x09, 1, 1, 0, 1, 0, 9, 8, 0], SEGMENT]);
    ethernet("802.1ah", &[&[0x88, 0xa8, 0, 5, 0x88, 0xe7, 0, 0, 0, 9], ETHERNET, &[8, 0], SEGMENT]);
    ethernet("TRILL", &[&[0x22, 0xf3, 0, 5, 0, 1, 0, 2], ETHERNET, &[8, 0], SEGMENT]);
    ethernet("service header", &[&[0x89, 0x4f, 0x0f, 0xc2, 2, 1, 0, 0, 1, 255], SEGMENT]);
    ethernet(
        "service header with Ethernet",
        &[&[0x89, 0x4f, 0x0f, 0xc2, 2, 3, 0, 0, 1, 255], ETHERNET, &[8, 0], SEGMENT],
    );
    ethernet("authentication header", &[&[8, 0], &outer_of_segment_with_ah()]);
    ethernet("IPv4 options", &[&[8, 0], &segment_with_ip_options()]);
    ethernet("TSO", &[&[8, 0], &segment_without_length()]);
}

/// The segment with an authentication header (12 bytes and an integrity check of 12).
fn outer_of_segment_with_ah() -> Vec<u8> {
    let mut ip = SEGMENT[..20].to_vec();
    ip[2..4].copy_from_slice(&80u16.to_be_bytes());
    ip[9] = 51;
    cat(&[&ip, &[6, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], &[0xee; 12], &SEGMENT[20..]])
}

fn segment_with_ip_options() -> Vec<u8> {
    let mut ip = SEGMENT[..20].to_vec();
    ip[0] = 0x46;
    ip[2..4].copy_from_slice(&60u16.to_be_bytes());
    cat(&[&ip, &[0x94, 4, 0, 0], &SEGMENT[20..]])
}

fn segment_without_length() -> Vec<u8> {
    let mut segment = SEGMENT.to_vec();
    segment[2..4].fill(0);
    segment
}

fn without_ethernet(add: &mut impl FnMut(&'static str, LinkType, &[&[u8]])) {
    for (name, link) in [
        ("raw", LinkType::RAW),
        ("raw IPv4", LinkType::IPV4),
        ("raw, DLT 12", LinkType::DLT_RAW),
        ("raw, DLT 14", LinkType::DLT_RAW_OPENBSD),
    ] {
        add(name, link, &[SEGMENT]);
    }
    add("null, little-endian", LinkType::NULL, &[&[2, 0, 0, 0], SEGMENT]);
    add("null, big-endian", LinkType::NULL, &[&[0, 0, 0, 2], SEGMENT]);
    add("loop", LinkType::LOOP, &[&[0, 0, 0, 2], SEGMENT]);
    add("enc", LinkType::ENC, &[&[2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], SEGMENT]);
    let mut pflog = [0; 64];
    (pflog[0], pflog[1]) = (61, 2);
    add("pflog", LinkType::PFLOG, &[&pflog, SEGMENT]);

    add("PPP", LinkType::PPP, &[&[0x00, 0x21], SEGMENT]);
    add("PPP with address", LinkType::PPP, &[&[0xff, 3, 0x00, 0x21], SEGMENT]);
    add("PPP with compressed protocol", LinkType::PPP, &[&[0x21], SEGMENT]);
    add("PPP in HDLC", LinkType::PPP_HDLC, &[&[0xff, 3, 0x00, 0x21], SEGMENT]);
    add("Cisco in HDLC", LinkType::PPP_HDLC, &[&[0x0f, 0, 8, 0], SEGMENT]);
    add("Cisco in PPP", LinkType::PPP, &[&[0x8f, 0, 8, 0], SEGMENT]);
    add("PPPoE alone", LinkType::PPP_ETHER, &[&[0x11, 0, 0, 1, 0, 58, 0, 0x21], SEGMENT]);
    add("pppd", LinkType::PPP_PPPD, &[&[1, 3, 0x00, 0x21], SEGMENT]);
    add("PPP with direction", LinkType::PPP_WITH_DIR, &[&[1, 0xff, 3, 0x00, 0x21], SEGMENT]);
    add("Cisco HDLC", LinkType::C_HDLC, &[&[0x8f, 0, 8, 0], SEGMENT]);
    add("Cisco HDLC with direction", LinkType::C_HDLC_WITH_DIR, &[&[0, 0x0f, 0, 8, 0], SEGMENT]);
    add("Frame Relay", LinkType::FRELAY, &[&[0x18, 0x41, 3, 0xcc], SEGMENT]);
    add("Frame Relay, padded", LinkType::FRELAY, &[&[0x18, 0x41, 3, 0, 0xcc], SEGMENT]);
    add("Frame Relay of Cisco", LinkType::FRELAY, &[&[0x18, 0x41, 8, 0], SEGMENT]);
    add("Frame Relay with SNAP", LinkType::FRELAY, &[&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], SEGMENT]);
    add("Frame Relay with Ethernet", LinkType::FRELAY, &[&[0x18, 0x41, 3, 0, 0x80, 0, 0x80, 0xc2, 0, 7], &ethernet()]);
    add("Frame Relay with direction", LinkType::FRELAY_WITH_DIR, &[&[1, 0x18, 0x41, 3, 0xcc], SEGMENT]);
    add("MPLS alone", LinkType::MPLS, &[&[0, 1, 0x01, 64], SEGMENT]);
    add("FDDI", LinkType::FDDI, &[&[0x50], ETHERNET, SNAP_IPV4, SEGMENT]);
    add("ATM", LinkType::ATM_RFC1483, &[SNAP_IPV4, SEGMENT]);
    add("ATM with Ethernet", LinkType::ATM_RFC1483, &[&[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0], &ethernet()]);

    let sll = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    add("cooked", LinkType::LINUX_SLL, &[&sll, &[8, 0], SEGMENT]);
    add("cooked with VLAN", LinkType::LINUX_SLL, &[&sll, &[0x81, 0, 0, 5, 8, 0], SEGMENT]);
    add("cooked with LLC", LinkType::LINUX_SLL, &[&sll, &[0, 4], SNAP_IPV4, SEGMENT]);
    let sll2 = [0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    add("cooked 2", LinkType::LINUX_SLL2, &[&[8, 0], &sll2, SEGMENT]);
    add("cooked 2 with VLAN", LinkType::LINUX_SLL2, &[&[0x81, 0], &sll2, &[0, 5, 8, 0], SEGMENT]);

    let nflog = [
        nflog_attribute(1, &[8, 0, 1, 0]),
        nflog_attribute(10, b"log\0"),
        nflog_attribute(5, &[0, 0, 0, 2]),
        nflog_attribute(9, SEGMENT),
    ]
    .concat();
    add("netfilter log", LinkType::NFLOG, &[&[2, 0, 0, 0], &nflog]);
    add("netfilter log of a bridge", LinkType::NFLOG, &[&[7, 0, 0, 0], &nflog]);
    let four = [0xc0, 0x08, 0, 5];
    let eight = [0xda, 0xda, 0, 0, 0xc0, 8, 0, 5];
    let (addresses, payload) = (ETHERNET, &[&[8, 0], SEGMENT].concat());
    add("DSA", LinkType::DSA_TAG_DSA, &[addresses, &four, payload]);
    add("EDSA", LinkType::DSA_TAG_EDSA, &[addresses, &eight, payload]);
    add("Broadcom switch", LinkType::DSA_TAG_BRCM, &[addresses, &four, payload]);
    add("Broadcom switch, tag in front", LinkType::DSA_TAG_BRCM_PREPEND, &[&four, addresses, payload]);
    add("InfiniBand", LinkType::IPOIB, &[&[0xee; 40], &[8, 0, 0, 0], SEGMENT]);
    add("netANALYZER", LinkType::NETANALYZER, &[&[0, 4, 78, 0], &ethernet(), &[0xee; 4]]);
    let mut pktap = [0; 108];
    (pktap[0], pktap[4], pktap[8]) = (108, 1, 1);
    add("pktap", LinkType::PKTAP, &[&pktap, &ethernet()]);
}

fn wireless(add: &mut impl FnMut(&'static str, LinkType, &[&[u8]])) {
    let data = ieee80211([0x08, 0x02]);
    let qos = ieee80211([0x88, 0x01]);
    let bare = LinkType::IEEE802_11;
    add("802.11", bare, &[&data, SNAP_IPV4, SEGMENT]);
    add("802.11 with QoS", bare, &[&qos, &[0, 0], SNAP_IPV4, SEGMENT]);
    add("802.11 with HT control", bare, &[&ieee80211([0x88, 0x81]), &[0, 0, 0, 0, 0, 0], SNAP_IPV4, SEGMENT]);
    let four = [2, 0, 0, 0, 0, 4];
    add("802.11 with four addresses", bare, &[&ieee80211([0x08, 0x03]), &four, SNAP_IPV4, SEGMENT]);
    add("802.11 with four addresses and QoS", bare, &[&ieee80211([0x88, 0x03]), &four, &[0, 0], SNAP_IPV4, SEGMENT]);
    add("802.11 aggregate", bare, &[&qos, &[0x80, 0], ETHERNET, &[0, 64], SNAP_IPV4, SEGMENT]);

    let radiotap = LinkType::IEEE802_11_RADIOTAP;
    add("radiotap", radiotap, &[&[0, 0, 9, 0, 2, 0, 0, 0, 0], &data, SNAP_IPV4, SEGMENT]);
    add(
        "radiotap with padding after the header",
        radiotap,
        &[&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &qos, &[0, 0], &[0, 0], SNAP_IPV4, SEGMENT],
    );
    add(
        "radiotap with timer and two bitmaps",
        radiotap,
        &[
            &[0, 0, 25, 0, 3, 0, 0, 0xa0, 0, 0, 0, 0x20, 0, 0, 0, 0],
            &[1, 2, 3, 4, 5, 6, 7, 8, 0x20],
            &qos,
            &[0, 0],
            &[0, 0],
            SNAP_IPV4,
            SEGMENT,
        ],
    );
    let mut prism = [0; 144];
    (prism[0], prism[4]) = (0x44, 144);
    add("Prism", LinkType::IEEE802_11_PRISM, &[&prism, &data, SNAP_IPV4, SEGMENT]);
    let mut avs = [0; 64];
    avs[..8].copy_from_slice(&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64]);
    add("AVS", LinkType::IEEE802_11_AVS, &[&avs, &data, SNAP_IPV4, SEGMENT]);
    add("AVS as Prism", LinkType::IEEE802_11_PRISM, &[&avs, &data, SNAP_IPV4, SEGMENT]);
    add("PPI with 802.11", LinkType::PPI, &[&[0, 0, 8, 0, 105, 0, 0, 0], &data, SNAP_IPV4, SEGMENT]);
    add("PPI with Ethernet", LinkType::PPI, &[&[0, 0, 8, 0, 1, 0, 0, 0], &ethernet()]);
}

fn tunnels(add: &mut impl FnMut(&'static str, Vec<u8>)) {
    add("IPv4 in IPv4", outer(4, SEGMENT));
    add("IPv4 in IPv4 in IPv4", outer(4, &outer(4, SEGMENT)));
    add("GRE", gre(0, 0x0800, &[], SEGMENT));
    add("GRE with checksum, key and sequence number", gre(0xb000, 0x0800, &[0; 12], SEGMENT));
    add("GRE with Ethernet", gre(0x2000, 0x6558, &[0, 0, 0, 1], &ethernet()));
    add("GRE with MPLS", gre(0, 0x8847, &[0, 1, 0x01, 64], SEGMENT));
    add("GRE with WCCP", gre(0, 0x883e, &[0, 0, 0, 0], SEGMENT));
    add("GRE with PPP", gre(0, 0x880b, &[0xff, 3, 0, 0x21], SEGMENT));
    add("PPTP", gre(0x3081, 0x880b, &[0, 60, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21], SEGMENT));
    add("ERSPAN type I", gre(0, 0x88be, &[], &ethernet()));
    add("ERSPAN type II", gre(0x1000, 0x88be, &[0, 0, 0, 1, 0x10, 5, 0, 1, 0, 0, 0, 0], &ethernet()));
    add("ERSPAN type III", gre(0x1000, 0x22eb, &[0, 0, 0, 1, 0x20, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], &ethernet()));
    add(
        "ERSPAN type III with subheader",
        gre(0x1000, 0x22eb, &[0, 0, 0, 1, 0x20, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], &ethernet()),
    );
    add("EtherIP", outer(97, &cat(&[&[0x30, 0], &ethernet()])));
    add("MPLS in IP", outer(137, &cat(&[&[0, 1, 0x01, 64], SEGMENT])));
    let vxlan = cat(&[&[0x08, 0, 0, 0, 0, 0, 1, 0], &ethernet()]);
    add("VXLAN", udp(4789, &vxlan));
    add("VXLAN of Linux", udp(8472, &vxlan));
    add("VXLAN-GPE with IPv4", udp(4790, &cat(&[&[0x0c, 0, 0, 1, 0, 0, 1, 0], SEGMENT])));
    add(
        "VXLAN-GPE with service header",
        udp(4790, &cat(&[&[0x0c, 0, 0, 4, 0, 0, 1, 0, 0x0f, 0xc2, 2, 3, 0, 0, 1, 255], &ethernet()])),
    );
    add("GENEVE", udp(6081, &cat(&[&[0, 0, 0x65, 0x58, 0, 0, 1, 0], &ethernet()])));
    add(
        "GENEVE with options and IPv4",
        udp(6081, &cat(&[&[2, 0, 0x08, 0, 0, 0, 1, 0, 1, 2, 3, 1, 0, 0, 0, 0], SEGMENT])),
    );
    add("GTP-U", udp(2152, &cat(&[&[0x30, 255, 0, 56, 0, 0, 0, 1], SEGMENT])));
    add("GTP-U with sequence number", udp(2152, &cat(&[&[0x32, 255, 0, 60, 0, 0, 0, 1, 0, 1, 0, 0], SEGMENT])));
    add(
        "GTP-U with extension headers",
        udp(
            2152,
            &cat(&[&[0x34, 255, 0, 72, 0, 0, 0, 1, 0, 0, 0, 0x85], &[1, 0, 9, 0xc0, 2, 0, 0, 0, 0, 0, 0, 0], SEGMENT]),
        ),
    );
    add("MPLS in UDP", udp(6635, &cat(&[&[0, 1, 0x01, 64], SEGMENT])));
    add("GRE in VXLAN", {
        let inner = gre(0, 0x0800, &[], SEGMENT);
        udp(4789, &cat(&[&[8, 0, 0, 0, 0, 0, 1, 0], ETHERNET, &[8, 0], &inner]))
    });
}

fn over_ipv6() -> Vec<Sample> {
    let options = [0x00, 0, 1, 4, 0, 0, 0, 0];
    let chain = |kinds: &[u8]| {
        let mut extensions = Vec::new();
        for next in kinds.iter().skip(1).chain([&6]) {
            extensions.extend([*next]);
            extensions.extend(&options[1..]);
        }
        ipv6(kinds[0], &extensions)
    };
    let raw = |name, frame| Sample { name, link: LinkType::RAW, frame, tunnelled: false, ipv6: true };
    let linked = |name, link, before: &[u8]| Sample { link, ..raw(name, cat(&[before, &ipv6(6, &[])])) };
    let tunnelled = |name, frame| Sample { tunnelled: true, ..raw(name, frame) };
    let teredo_indications = [0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee];
    vec![
        raw("IPv6", ipv6(6, &[])),
        raw("IPv6 options", chain(&[0])),
        raw("IPv6 options of both kinds and routing", chain(&[0, 60, 43, 60])),
        raw("IPv6 mobility", chain(&[135])),
        raw("IPv6 HIP", chain(&[139])),
        raw("IPv6 shim6", chain(&[140])),
        raw("IPv6 atomic fragment", ipv6(44, &[6, 0, 0, 0, 0, 0, 0, 1])),
        raw("IPv6 authentication header", ipv6(51, &cat(&[&[6, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], &[0xee; 12]]))),
        linked("IPv6 in Ethernet", LinkType::ETHERNET, &cat(&[ETHERNET, &[0x86, 0xdd]])),
        linked("IPv6 alone", LinkType::IPV6, &[]),
        linked("IPv6, null of BSD", LinkType::NULL, &[24, 0, 0, 0]),
        linked("IPv6, null of FreeBSD", LinkType::NULL, &[28, 0, 0, 0]),
        linked("IPv6, null of Darwin", LinkType::NULL, &[30, 0, 0, 0]),
        linked("IPv6, null of Darwin, big-endian", LinkType::NULL, &[0, 0, 0, 30]),
        linked("IPv6, loop", LinkType::LOOP, &[0, 0, 0, 24]),
        linked("IPv6 in PPP", LinkType::PPP, &[0xff, 3, 0x00, 0x57]),
        linked("IPv6 in Frame Relay", LinkType::FRELAY, &[0x18, 0x41, 3, 0x8e]),
        linked("IPv6 in MPLS", LinkType::MPLS, &[0, 0x20, 0x01, 64]),
        tunnelled("IPv6 in IPv4", outer(41, &ipv6(6, &[]))),
        tunnelled("IPv6 in GRE", gre(0, 0x86dd, &[], &ipv6(6, &[]))),
        tunnelled("IPv6 in GTP-U", udp(2152, &cat(&[&[0x30, 255, 0, 76, 0, 0, 0, 1], &ipv6(6, &[])]))),
        tunnelled("Teredo", udp(3544, &ipv6(6, &[]))),
        tunnelled("Teredo with indications", udp(3544, &cat(&[&teredo_indications, &ipv6(6, &[])]))),
    ]
}
