//! Link layers: from the first byte of a frame to the first byte of an IP header.

mod bsd;
mod cooked;
mod ethernet;
mod fddi;
mod frame_relay;
mod hdlc;
mod ieee80211;
mod ipoib;
mod link_type;
mod llc;
mod monitor;
mod mpls;
mod named;
mod nflog;
mod nsh;
mod ppp;
mod switch_tag;

pub use ethernet::{EthernetHeader, VlanTag};
pub(crate) use ethernet::{ethertype, untagged_ip};
pub use link_type::LinkType;
pub(crate) use nsh::next_protocol;

use crate::Skip;
use crate::captured::Captured;

/// Type of the next header in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Frame of this link type, as in a capture.
    Link(LinkType),
    /// Payload of this EtherType.
    EtherType(u16),
    /// IEEE 802.2 header.
    Llc,
    /// IPv4 or IPv6 header.
    Ip,
}

/// Type of the header that follows the one that was removed.
pub(crate) type NextLayer = Result<Layer, Skip>;

/// Removes layers until an IP header is at the start. Every layer removes bytes or leads to one that does, so the loop
/// ends for every frame; it is not a recursion because frames may nest too deep for the stack.
pub(crate) fn strip_layers(mut layer: Layer, at: &mut Captured<'_>) -> Result<(), Skip> {
    while layer != Layer::Ip {
        layer = strip_layer(layer, at)?;
    }
    Ok(())
}

fn strip_layer(layer: Layer, at: &mut Captured<'_>) -> NextLayer {
    match layer {
        Layer::Ip => Ok(Layer::Ip),
        Layer::EtherType(ethertype) => ethernet::payload(ethertype, at),
        Layer::Llc => llc::header(at),
        Layer::Link(link) => match link {
            LinkType::ETHERNET => ethernet::frame(at),
            LinkType::NULL => bsd::null(at),
            LinkType::LOOP => bsd::loopback(at),
            LinkType::ENC => bsd::enc(at),
            LinkType::PFLOG => bsd::pflog(at),
            LinkType::PPP | LinkType::PPP_HDLC => ppp::serial_frame(at),
            LinkType::PPP_ETHER => ppp::pppoe_session(at),
            LinkType::PPP_WITH_DIR => after(1, LinkType::PPP, at),
            LinkType::PPP_PPPD => ppp::pppd_frame(at),
            LinkType::C_HDLC => hdlc::frame(at),
            LinkType::C_HDLC_WITH_DIR => after(1, LinkType::C_HDLC, at),
            LinkType::FRELAY => frame_relay::frame(at),
            LinkType::FRELAY_WITH_DIR => after(1, LinkType::FRELAY, at),
            LinkType::MPLS => mpls::stack(at),
            LinkType::FDDI => fddi::frame(at),
            LinkType::ATM_RFC1483 => Ok(Layer::Llc),
            LinkType::RAW | LinkType::DLT_RAW | LinkType::DLT_RAW_OPENBSD | LinkType::IPV4 | LinkType::IPV6 => {
                Ok(Layer::Ip)
            }
            LinkType::IEEE802_11 => ieee80211::frame(at, ieee80211::Padding::None),
            LinkType::IEEE802_11_RADIOTAP => monitor::radiotap(at),
            LinkType::IEEE802_11_PRISM => monitor::prism(at),
            LinkType::IEEE802_11_AVS => monitor::avs(at),
            LinkType::PPI => named::ppi(at),
            LinkType::PKTAP => named::pktap(at),
            LinkType::IPOIB => ipoib::packet(at),
            LinkType::DSA_TAG_BRCM | LinkType::DSA_TAG_DSA => switch_tag::inserted::<6>(at),
            LinkType::DSA_TAG_EDSA => switch_tag::inserted::<10>(at),
            LinkType::DSA_TAG_BRCM_PREPEND => switch_tag::prepended(at),
            LinkType::NETANALYZER => after(4, LinkType::ETHERNET, at),
            LinkType::LINUX_SLL => cooked::v1(at),
            LinkType::LINUX_SLL2 => cooked::v2(at),
            LinkType::NFLOG => nflog::message(at),
            _ => Err(Skip::UnknownLink),
        },
    }
}

/// Frame of another link type after `len` bytes.
fn after(len: usize, link: LinkType, at: &mut Captured<'_>) -> NextLayer {
    at.skip(len)?;
    Ok(Layer::Link(link))
}
