//! TCP headers of simulated segments, as they are on the wire.

use gentle_tcp::{Flags, Options, Segment};
use gentle_wire::{Tcp, TcpFlags, TcpOption, TcpOptions};

/// Options of a segment, in the order and with the padding that Linux uses (`tcp_options_write`). A SYN announces
/// `window_scale`.
pub fn tcp_options(segment: &Segment, window_scale: u8) -> TcpOptions {
    use TcpOption::{Mss, NoOperation, Sack, SackPermitted, Timestamps, WindowScale};
    let mut options = TcpOptions::NONE;
    let mut push = |list: &[TcpOption<'_>]| {
        for option in list {
            options.push(*option).expect("at most 40 bytes of options");
        }
    };
    let timestamps = segment.options.contains(Options::TIMESTAMPS);
    let stamp = Timestamps(segment.ts_val, segment.ts_ecr);
    if segment.flags.contains(Flags::SYN) {
        push(&[Mss(segment.mss)]);
        let sack = segment.options.contains(Options::SACK_PERMITTED);
        match (sack, timestamps) {
            (true, true) => push(&[SackPermitted, stamp]),
            (true, false) => push(&[NoOperation, NoOperation, SackPermitted]),
            (false, true) => push(&[NoOperation, NoOperation, stamp]),
            (false, false) => {}
        }
        push(&[NoOperation, WindowScale(window_scale)]);
        return options;
    }
    if timestamps {
        push(&[NoOperation, NoOperation, stamp]);
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        let mut edges = [(0, 0); 4];
        for (edges, (left, right)) in edges.iter_mut().zip(blocks) {
            *edges = (left.0, right.0);
        }
        push(&[NoOperation, NoOperation, Sack(&edges[..blocks.len()])]);
    }
    options
}

/// Header of a segment whose `options` are those of [`tcp_options`] with the same `window_scale`. The window is scaled,
/// except on a SYN (RFC 7323, section 2.2), and at most 65,535; the payload is not at hand.
pub fn tcp_header<'a>(
    segment: &Segment,
    src_port: u16,
    dst_port: u16,
    window_scale: u8,
    options: &'a TcpOptions,
) -> Tcp<'a> {
    let has = |flag| segment.flags.contains(flag);
    let scale = if has(Flags::SYN) { 0 } else { window_scale };
    Tcp {
        src_port,
        dst_port,
        seq: segment.seq.0,
        ack: if has(Flags::ACK) { segment.ack.0 } else { 0 },
        flags: TcpFlags(segment.flags.bits().into()),
        window: (segment.window >> scale).min(u32::from(u16::MAX)) as u16,
        payload_len: segment.len,
        options: options.as_bytes(),
        payload: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_tcp::Seq;

    /// [`Segment::header_bytes`], which the simulator charges to the link, is the length of the header written.
    #[test]
    fn headers_are_as_long_as_the_simulator_says() {
        for flags in [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK] {
            for options in 0..4 {
                for blocks in 0..=3 {
                    let mut segment = Segment::new(Seq(1), flags);
                    if options & 1 != 0 {
                        segment.options |= Options::TIMESTAMPS;
                    }
                    if options & 2 != 0 && flags.contains(Flags::SYN) {
                        segment.options |= Options::SACK_PERMITTED;
                    }
                    if !flags.contains(Flags::SYN) {
                        segment.sack_count = blocks;
                    }
                    let options = tcp_options(&segment, 8);
                    assert_eq!(
                        tcp_header(&segment, 1, 2, 8, &options).header_len() as u32,
                        segment.header_bytes(),
                        "{segment:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn control_bits_have_one_meaning_in_both_crates() {
        for (flag, bit) in [
            (Flags::FIN, TcpFlags::FIN),
            (Flags::SYN, TcpFlags::SYN),
            (Flags::RST, TcpFlags::RST),
            (Flags::PSH, TcpFlags::PSH),
            (Flags::ACK, TcpFlags::ACK),
            (Flags::ECE, TcpFlags::ECE),
            (Flags::CWR, TcpFlags::CWR),
        ] {
            let segment = Segment::new(Seq(1), flag);
            let options = tcp_options(&segment, 0);
            assert_eq!(tcp_header(&segment, 1, 2, 0, &options).flags, bit);
        }
    }
}
