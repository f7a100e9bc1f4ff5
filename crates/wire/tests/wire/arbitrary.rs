//! Any bytes give a packet or a reason to skip them, and no result reaches beyond the frame.

use crate::samples;
use gentle_wire::{LinkType, Packet, Skip, Transport, Tunnels, dissect, is_handshake};
use proptest::collection::vec;
use proptest::prelude::*;

/// Dissects and reads everything that can be read of the packet.
fn read_all<'a>(link: LinkType, frame: &'a [u8], original_len: u32) -> [Result<Packet<'a>, Skip>; 2] {
    [Tunnels::Outer, Tunnels::Inner].map(|tunnels| {
        let packet = dissect(link, frame, original_len, tunnels)?;
        let captured = match packet.transport {
            Transport::Tcp(tcp) => {
                let blocks = tcp.sack_blocks().count();
                assert!(blocks * 8 <= tcp.options.len());
                assert!(tcp.timestamps().is_none() || tcp.options.len() >= 10);
                assert!(tcp.mss().is_none() || tcp.options.len() >= 4);
                assert!(tcp.window_scale().is_none() || tcp.options.len() >= 3);
                assert!(tcp.payload.len() <= tcp.payload_len as usize);
                tcp.options.len() + tcp.payload.len()
            }
            Transport::Udp(udp) => {
                assert!(udp.payload.len() <= udp.payload_len as usize);
                udp.payload.len()
            }
            Transport::Sctp(sctp) => {
                let values = sctp.chunks_iter().map(|chunk| {
                    assert!(chunk.value.len() + 4 <= usize::from(chunk.length));
                    chunk.value.len() + 4
                });
                assert!(values.sum::<usize>() <= sctp.chunks.len());
                sctp.chunks.len()
            }
            Transport::Fragment(bytes) => bytes.len(),
            Transport::Dccp(_) | Transport::Other => 0,
        };
        assert!(captured < frame.len());
        let is_tcp = matches!(packet.transport, Transport::Tcp(_));
        assert!(!is_handshake(&packet) || is_tcp);
        Ok(packet)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    #[test]
    fn any_bytes_on_any_link(link in 0..=LinkType::ALL.len(), frame in vec(any::<u8>(), 0..200), more in any::<u32>()) {
        let link = LinkType::ALL.get(link).copied().unwrap_or(LinkType(147));
        let read = read_all(link, &frame, more);
        prop_assert_eq!(link.name().is_none(), matches!(read[0], Err(Skip::UnknownLink)) && link.0 == 147);
    }

    /// Samples with some bytes changed reach deeper than bytes at random.
    #[test]
    fn damaged_samples(
        sample in any::<prop::sample::Index>(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        original_len in 0u32..3000,
    ) {
        let samples = SAMPLES.with(Clone::clone);
        let sample = sample.get(&samples);
        let mut frame = sample.frame.clone();
        for (at, byte) in damage {
            *at.get_mut(&mut frame) = byte;
        }
        let whole = frame.len();
        let [outer, inner] = read_all(sample.link, &frame[..=cut.index(whole)], original_len);
        // A tunnel is followed only when the packet around it is sound.
        prop_assert_eq!(outer.is_ok(), inner.is_ok());
    }
}

thread_local! {
    static SAMPLES: std::rc::Rc<Vec<samples::Sample>> = std::rc::Rc::new(samples::all());
}
