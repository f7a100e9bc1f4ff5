//! TCP headers of simulated segments, as they are on the wire.

use gentle_tcp::{Flags, Options, Segment};
use gentle_wire::{Tcp, TcpFlags, TcpOption, TcpOptions};

/// Options of a segment, in the order and with the padding that Linux uses (`tcp_options_write`). A SYN announces
/// `window_scale`.
pub fn tcp_options(segment: &Segment, window_scale: u8) -> TcpOptions {
    use TcpOption::{AccEcn1, Mss, NoOperation, Sack, SackPermitted, Timestamps, WindowScale};
    let mut options = TcpOptions::NONE;
    let mut push = |list: &[TcpOption<'_>]| {
        for option in list {
            options.push(*option).expect("at most 40 bytes of options");
        }
    };
    let timestamps = segment.options.contains(Options::TIMESTAMPS);
    let stamp = Timestamps(segment.ts_val, segment.ts_ecr);
    let accecn = segment.accecn_option();
    let counters = accecn.as_ref().map(|option| &option.counters[..option.fields.into()]);
    if segment.flags.contains(Flags::SYN) {
        push(&[Mss(segment.mss)]);
        let sack = segment.options.contains(Options::SACK_PERMITTED);
        match (sack, timestamps) {
            (true, true) => push(&[SackPermitted, stamp]),
            (false, true) => push(&[NoOperation, NoOperation, stamp]),
            (true, false) | (false, false) => {}
        }
        // With all three counters, the option and a byte of padding fill three words.
        if let Some(counters) = counters {
            push(&[AccEcn1(counters), NoOperation]);
        }
        if sack && !timestamps {
            push(&[NoOperation, NoOperation, SackPermitted]);
        }
        push(&[NoOperation, WindowScale(window_scale)]);
        return options;
    }
    if timestamps {
        push(&[NoOperation, NoOperation, stamp]);
    }
    let blocks = segment.sack_blocks();
    // Bytes of padding before the SACK blocks, and the padding after the option without them.
    let mut before = 2;
    if let Some(counters) = counters {
        push(&[AccEcn1(counters)]);
        match counters.len() {
            3 => push(&[NoOperation]),
            2 => {}
            1 if blocks.is_empty() => push(&[NoOperation; 3]),
            1 => before = 1,
            _ if blocks.is_empty() => push(&[NoOperation; 2]),
            _ => before = 0,
        }
    }
    if !blocks.is_empty() {
        let mut edges = [(0, 0); 4];
        for (edges, (left, right)) in edges.iter_mut().zip(blocks) {
            *edges = (left.0, right.0);
        }
        push(&[NoOperation; 2][..before]);
        push(&[Sack(&edges[..blocks.len()])]);
    }
    options
}

/// Header of a segment whose `options` come from [`tcp_options`] with the same `window_scale`. The window is scaled,
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
        flags: TcpFlags(segment.flags.bits()),
        window: (segment.window >> scale).min(u32::from(u16::MAX)) as u16,
        payload_len: segment.len,
        options: options.as_bytes(),
        payload: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_tcp::{AccEcnOption, Seq};

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
                    check_length(&segment);
                    for fields in 0..=3 {
                        // A SYN/ACK has all counters, which limits the SACK blocks next to them.
                        if flags.contains(Flags::SYN) && fields < 3 {
                            continue;
                        }
                        let mut segment = segment;
                        segment.set_accecn_option(AccEcnOption { fields, counters: [1, 2, 3] });
                        check_length(&segment);
                        let options = tcp_options(&segment, 8);
                        let header = tcp_header(&segment, 1, 2, 8, &options);
                        let read: Vec<u32> = header.accecn1().unwrap().collect();
                        assert_eq!(read, [1, 2, 3][..usize::from(fields)]);
                        assert_eq!(header.sack_blocks().count(), segment.sack_blocks().len());
                    }
                }
            }
        }
    }

    fn check_length(segment: &Segment) {
        let options = tcp_options(segment, 8);
        assert_eq!(tcp_header(segment, 1, 2, 8, &options).header_len() as u32, segment.header_bytes(), "{segment:?}");
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
            (Flags::AE, TcpFlags::AE),
        ] {
            let segment = Segment::new(Seq(1), flag);
            let options = tcp_options(&segment, 0);
            assert_eq!(tcp_header(&segment, 1, 2, 0, &options).flags, bit);
        }
    }
}
