//! Link layers: from the first byte of a frame to the first byte of an IP header.

mod ethernet;
mod link_type;

pub use link_type::LinkType;

use crate::Skip;
use crate::captured::Captured;

/// What the next bytes of a frame are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A frame as a capture with this link type has it.
    Link(LinkType),
    /// What an EtherType says.
    EtherType(u16),
    /// An IPv4 or IPv6 header.
    Ip,
}

/// Peels layers until an IP header is at the front. Every layer takes bytes away or leads to one that does, so it ends
/// for every frame; it is a loop because a frame may nest deeper than a stack.
#[inline]
pub(crate) fn peel(mut layer: Layer, mut at: Captured<'_>) -> Result<Captured<'_>, Skip> {
    loop {
        (layer, at) = match layer {
            Layer::Ip => return Ok(at),
            Layer::Link(LinkType::ETHERNET) => ethernet::frame(at)?,
            Layer::EtherType(ethertype) => ethernet::ethertype(ethertype, at)?,
            Layer::Link(link) => link_frame(link, at)?,
        };
    }
}

fn link_frame(link: LinkType, at: Captured<'_>) -> Result<(Layer, Captured<'_>), Skip> {
    match link {
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Ok((Layer::Ip, at)),
        _ => Err(Skip::UnknownLink),
    }
}
