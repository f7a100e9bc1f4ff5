//! Numbers of capture points.

use gentle_capture::RawPacket;
use gentle_wire::LinkType;

/// Maximum number of distinguished points; packets of further points count for the last.
const MOST: usize = 255;

/// Packet type "sent by us" of a Linux cooked capture (`PACKET_OUTGOING` in `include/uapi/linux/if_packet.h`).
const OUTGOING: [u8; 2] = [0, 4];

/// Where a packet was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    file: usize,
    interface: u32,
    /// Device of a Linux cooked capture: its index, or, as version 1 has none, whether the packet was sent.
    device: u32,
}

/// The capture points of a trace, numbered in the order of their first packets.
#[derive(Debug, Default)]
pub(crate) struct Points {
    known: Vec<Point>,
    /// Number of the packet before.
    last: usize,
    several: bool,
}

impl Points {
    /// Number of the point of a packet in file number `file`.
    pub(crate) fn number(&mut self, file: usize, raw: &RawPacket<'_>) -> u8 {
        let device = match (raw.link, raw.data) {
            (LinkType::LINUX_SLL2, &[_, _, _, _, a, b, c, d, ..]) => u32::from_be_bytes([a, b, c, d]),
            (LinkType::LINUX_SLL, &[a, b, ..]) => u32::from([a, b] == OUTGOING),
            _ => 0,
        };
        let point = Point { file, interface: raw.interface, device };
        let before = self.known.get(self.last).copied();
        if before != Some(point) {
            let known = self.known.iter().position(|&it| it == point);
            // Captures that follow each other in time, the parts of one, are one point: none comes again.
            self.several |= known.is_some() || before.is_some_and(|before| before.file == point.file);
            self.last = known.unwrap_or_else(|| {
                if self.known.len() < MOST {
                    self.known.push(point);
                }
                self.known.len() - 1
            });
        }
        self.last as u8
    }

    /// Whether packets of more than one point were seen, even if one came after the other.
    pub(crate) fn is_more_than_one(&self) -> bool {
        self.known.len() > 1
    }

    /// Whether packets of several points alternate, so that the same packet may come from more than one.
    #[inline]
    pub(crate) fn are_several(&self) -> bool {
        self.several
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_units::Instant;

    fn raw(interface: u32, link: LinkType, data: &[u8]) -> RawPacket<'_> {
        RawPacket { time: Instant::ZERO, interface, link, original_len: data.len() as u32, data }
    }

    #[test]
    fn parts_of_a_capture_are_no_points_and_captures_at_the_same_time_are() {
        let mut points = Points::default();
        for file in 0..4 {
            for _ in 0..3 {
                assert_eq!(points.number(file, &raw(0, LinkType::RAW, &[])), file as u8);
            }
        }
        assert!(!points.are_several());
        assert_eq!(points.number(1, &raw(0, LinkType::RAW, &[])), 1);
        assert!(points.are_several());
    }

    #[test]
    fn interfaces_and_devices_are_points() {
        let mut points = Points::default();
        points.number(0, &raw(0, LinkType::RAW, &[]));
        points.number(0, &raw(1, LinkType::RAW, &[]));
        assert!(points.are_several());

        let sll2 = |device| [8, 0, 0, 0, 0, 0, 0, device, 0, 1, 0, 6];
        let mut points = Points::default();
        let numbers = [2, 2, 3, 2].map(|device| {
            let several = points.are_several();
            (points.number(0, &raw(0, LinkType::LINUX_SLL2, &sll2(device))), several)
        });
        assert_eq!(numbers, [(0, false), (0, false), (1, false), (0, true)]);

        let mut points = Points::default();
        let numbers = [0, 4, 0].map(|kind| points.number(0, &raw(0, LinkType::LINUX_SLL, &[0, kind])));
        assert_eq!(numbers, [0, 1, 0]);
    }

    #[test]
    fn the_number_of_points_is_bounded() {
        let mut points = Points::default();
        for interface in 0..1000 {
            points.number(0, &raw(interface, LinkType::RAW, &[]));
        }
        assert_eq!(points.known.len(), MOST);
        assert_eq!(points.number(0, &raw(999, LinkType::RAW, &[])), 254);
    }
}
