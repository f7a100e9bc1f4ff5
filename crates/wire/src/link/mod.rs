//! Link layers: from the first byte of a frame to the first byte of an IP header.

mod bsd;
mod cooked;
mod ethernet;
mod fddi;
mod frame_relay;
mod hdlc;
mod ieee80211;
mod link_type;
mod llc;
mod monitor;
mod mpls;
mod named;
mod nflog;
mod nsh;
mod ppp;

pub(crate) use ethernet::{ethertype, untagged_ip};
pub use link_type::LinkType;
pub(crate) use nsh::next_protocol;

use crate::Skip;
use crate::captured::Captured;

/// What the next bytes of a frame are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A frame as a capture of this link type has it.
    Link(LinkType),
    /// What an EtherType says.
    EtherType(u16),
    /// An IEEE 802.2 header.
    Llc,
    /// An IPv4 or IPv6 header.
    Ip,
}

/// What is left of a frame when a layer has been taken off, and what that is.
pub(crate) type Peeled<'a> = Result<(Layer, Captured<'a>), Skip>;

/// Peels layers until an IP header is at the front. Every layer takes bytes away or leads to one that does, so it ends
/// for every frame; it is a loop because a frame may nest deeper than a stack.
pub(crate) fn peel(mut layer: Layer, mut at: Captured<'_>) -> Result<Captured<'_>, Skip> {
    while layer != Layer::Ip {
        (layer, at) = peel_one(layer, at)?;
    }
    Ok(at)
}

fn peel_one(layer: Layer, at: Captured<'_>) -> Peeled<'_> {
    match layer {
        Layer::Ip => Ok((Layer::Ip, at)),
        Layer::EtherType(ethertype) => ethernet::payload(ethertype, at),
        Layer::Llc => llc::header(at),
        Layer::Link(link) => match link {
            LinkType::ETHERNET => ethernet::frame(at),
            LinkType::NULL => bsd::null(at),
            LinkType::LOOP => bsd::loopback(at),
            LinkType::ENC => bsd::enc(at),
            LinkType::PFLOG => bsd::pflog(at),
            LinkType::PPP => ppp::frame(at),
            LinkType::PPP_HDLC => ppp::hdlc_frame(at),
            LinkType::PPP_ETHER => ppp::pppoe_session(at),
            LinkType::PPP_WITH_DIR => Ok((Layer::Link(LinkType::PPP), at.skip(1)?)),
            LinkType::PPP_PPPD => ppp::pppd_frame(at),
            LinkType::C_HDLC => hdlc::frame(at),
            LinkType::C_HDLC_WITH_DIR => Ok((Layer::Link(LinkType::C_HDLC), at.skip(1)?)),
            LinkType::FRELAY => frame_relay::frame(at),
            LinkType::FRELAY_WITH_DIR => Ok((Layer::Link(LinkType::FRELAY), at.skip(1)?)),
            LinkType::MPLS => mpls::stack(at),
            LinkType::FDDI => fddi::frame(at),
            LinkType::ATM_RFC1483 => Ok((Layer::Llc, at)),
            LinkType::RAW
            | LinkType::DLT_RAW
            | LinkType::DLT_RAW_OPENBSD
            | LinkType::IPV4
            | LinkType::IPV6 => Ok((Layer::Ip, at)),
            LinkType::IEEE802_11 => ieee80211::frame(at, ieee80211::Padding::None),
            LinkType::IEEE802_11_RADIOTAP => monitor::radiotap(at),
            LinkType::IEEE802_11_PRISM => monitor::prism(at),
            LinkType::IEEE802_11_AVS => monitor::avs(at),
            LinkType::PPI => named::ppi(at),
            LinkType::PKTAP => named::pktap(at),
            LinkType::NETANALYZER => Ok((Layer::Link(LinkType::ETHERNET), at.skip(4)?)),
            LinkType::LINUX_SLL => cooked::v1(at),
            LinkType::LINUX_SLL2 => cooked::v2(at),
            LinkType::NFLOG => nflog::message(at),
            _ => Err(Skip::UnknownLink),
        },
    }
}
