//! Connections that the server has answered and the client has not: the client's first packet with a short header may
//! be the first sign that the handshake was completed.

use super::id::Id;
use crate::other::Flow;

/// Largest number of awaited connections.
const MOST: usize = 4096;

/// Smallest capacity.
const LEAST: usize = 16;

/// Connection whose first packet with a short header is awaited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awaited {
    /// Flow from client to server.
    pub(super) flow: Flow,
    /// Connection ID chosen by the server, with which the client's short headers begin.
    pub(super) server: Id,
    /// Connection ID chosen by the client.
    pub(super) client: Id,
}

/// Direct-mapped table: connections that hash to the same place overwrite each other. All packets with short headers
/// are looked up here, so a lookup must not search.
#[derive(Debug)]
pub(super) struct ShortHeaders {
    places: Vec<Option<Awaited>>,
    /// Number of places once allocated; a power of two.
    wanted: usize,
    taken: usize,
}

impl ShortHeaders {
    /// Creates a table of at most `bytes`.
    pub(super) fn new(bytes: usize) -> ShortHeaders {
        let places = (bytes / size_of::<Option<Awaited>>()).clamp(LEAST, MOST);
        ShortHeaders { places: Vec::new(), wanted: 1 << places.ilog2(), taken: 0 }
    }

    #[inline]
    fn place(&self, flow: &Flow) -> usize {
        let ports = u32::from(flow.src.1) << 16 | u32::from(flow.dst.1);
        let [.., a, b, c, d] = flow.src.0.0;
        let mixed = (ports ^ u32::from_be_bytes([a, b, c, d])).wrapping_mul(0x9e37_79b1);
        // The number of places is a power of two; the high bits of a product are mixed best.
        (mixed >> 16) as usize & (self.places.len() - 1)
    }

    /// Adds a connection.
    pub(super) fn insert(&mut self, awaited: Awaited) {
        if self.places.is_empty() {
            self.places.resize(self.wanted, None);
        }
        let place = self.place(&awaited.flow);
        self.taken += usize::from(self.places[place].is_none());
        self.places[place] = Some(awaited);
    }

    /// Connection that a packet with a short header belongs to.
    #[inline]
    pub(super) fn find(&self, flow: &Flow, packet: &[u8]) -> Option<Awaited> {
        if self.taken == 0 {
            return None;
        }
        let awaited = self.places[self.place(flow)].as_ref()?;
        let named = || packet.get(1..).is_some_and(|ids| ids.starts_with(awaited.server.as_slice()));
        (awaited.flow == *flow && named()).then_some(*awaited)
    }

    /// Removes a connection.
    pub(super) fn remove(&mut self, flow: &Flow, client: &Id) {
        if self.taken == 0 {
            return;
        }
        let place = self.place(flow);
        if self.places[place].is_some_and(|w| w.flow == *flow && w.client == *client) {
            self.places[place] = None;
            self.taken -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_wire::Address;

    fn awaited(port: u16, server: &[u8]) -> Awaited {
        Awaited {
            flow: Flow { src: (Address::v4([192, 0, 2, 1]), port), dst: (Address::v4([192, 0, 2, 2]), 443) },
            server: Id::new(server),
            client: Id::new(&[]),
        }
    }

    #[test]
    fn a_short_header_names_the_servers_connection_id() {
        let mut places = ShortHeaders::new(0);
        let one = awaited(50_000, &[7, 8]);
        assert!(places.find(&one.flow, &[0x40, 7, 8]).is_none());
        places.insert(one);
        assert!(places.find(&one.flow, &[0x40, 7, 8, 9]).is_some());
        assert!(places.find(&one.flow, &[0x40, 7]).is_none());
        assert!(places.find(&one.flow, &[0x40, 7, 9]).is_none());
        assert!(places.find(&awaited(50_001, &[7, 8]).flow, &[0x40, 7, 8]).is_none());
        places.remove(&one.flow, &Id::new(&[1]));
        assert!(places.find(&one.flow, &[0x40, 7, 8]).is_some(), "another connection's");
        places.remove(&one.flow, &one.client);
        assert!(places.find(&one.flow, &[0x40, 7, 8]).is_none());
    }

    #[test]
    fn a_flood_takes_no_more_places() {
        let mut places = ShortHeaders::new(1 << 30);
        for port in 0..=u16::MAX {
            places.insert(awaited(port, &[1]));
        }
        assert!(places.taken <= MOST && places.places.len() == MOST);
        assert!(places.taken > MOST / 2, "they are spread");
        assert!(places.find(&awaited(u16::MAX, &[1]).flow, &[0x40, 1]).is_some());
    }
}
