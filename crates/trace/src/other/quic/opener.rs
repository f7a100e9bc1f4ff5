//! Removal of the protection of Initial packets (RFC 9001, 5.3 and 5.4).

use super::keys::Keys;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyIvInit, StreamCipher};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};
use gentle_wire::QuicSealed;

/// Length of the authentication tag, bytes.
const TAG: usize = 16;

/// Length of the packet number that the sample of header protection assumes, bytes (RFC 9001, 5.4.2).
const LONGEST_NUMBER: usize = 4;

/// Reason why a packet could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unopened {
    /// Too few of its bytes were captured.
    Cut,
    /// The keys are not the packet's.
    Foreign,
}

/// Unprotected packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened<'a> {
    /// Packet number.
    pub(super) number: u64,
    /// Captured bytes of the frames.
    pub(super) payload: &'a [u8],
    /// Length of the frames on the wire, bytes.
    pub(super) wire_len: usize,
}

/// Opens packets one after the other in reused buffers.
#[derive(Debug, Default)]
pub(super) struct Opener {
    /// Unprotected header.
    header: Vec<u8>,
    payload: Vec<u8>,
}

impl Opener {
    /// Opens a packet of a sender whose largest packet number so far is `largest`.
    ///
    /// The tag of a completely captured packet is checked. A packet cut by the snap length lacks it: its captured bytes
    /// are still deciphered, and only the reserved bits (zero, RFC 9000, 17.2) can reveal a wrong key.
    pub(super) fn open(
        &mut self,
        keys: &Keys,
        sealed: &QuicSealed<'_>,
        largest: Option<u64>,
    ) -> Result<Opened<'_>, Unopened> {
        let packet = sealed.packet;
        let (header, protected) = packet.split_at_checked(sealed.number_at).ok_or(Unopened::Cut)?;
        let short = match packet.len() == sealed.wire_len {
            true => Unopened::Foreign,
            false => Unopened::Cut,
        };
        let (number, after) = protected.split_first_chunk::<LONGEST_NUMBER>().ok_or(short)?;
        let sample: &[u8; 16] = after.first_chunk().ok_or(short)?;
        let mut mask = (*sample).into();
        Aes128::new(&keys.hp.into()).encrypt_block(&mut mask);

        let &first = packet.first().ok_or(short)?;
        let first = first ^ mask[0] & 0x0f;
        if first & 0x0c != 0 {
            return Err(Unopened::Foreign);
        }
        let number_len = usize::from(first & 0x03) + 1;
        let mut number = *number;
        for (byte, mask) in number.iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
        let truncated = u32::from_be_bytes(number) >> (8 * (LONGEST_NUMBER - number_len));
        let full = full_number(truncated, number_len, largest);

        let mut nonce = keys.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(full.to_be_bytes()) {
            *byte ^= number;
        }
        let sealed_payload = &protected[number_len..];
        let wire_len = (sealed.wire_len - sealed.number_at - number_len).checked_sub(TAG).ok_or(Unopened::Foreign)?;
        self.payload.clear();
        self.payload.extend_from_slice(&sealed_payload[..wire_len.min(sealed_payload.len())]);

        if packet.len() == sealed.wire_len {
            self.header.clear();
            self.header.extend_from_slice(header);
            self.header[0] = first;
            self.header.extend_from_slice(&number[..number_len]);
            let tag: &[u8; TAG] = sealed_payload.last_chunk().ok_or(Unopened::Foreign)?;
            Aes128Gcm::new(&keys.key.into())
                .decrypt_inout_detached(&nonce.into(), &self.header, InOutBuf::from(&mut self.payload[..]), tag.into())
                .map_err(|_| Unopened::Foreign)?;
        } else {
            // GCM is counter mode whose counter begins at 2 (NIST SP 800-38D, 7.1).
            let mut counter = [0; 16];
            counter[..12].copy_from_slice(&nonce);
            counter[15] = 2;
            ctr::Ctr32BE::<Aes128>::new(&keys.key.into(), &counter.into()).apply_keystream(&mut self.payload);
        }
        Ok(Opened { number: full, payload: &self.payload, wire_len })
    }
}

/// Packet number with the low `len` bytes `truncated` that is nearest to the expected one (RFC 9000, A.3).
fn full_number(truncated: u32, len: usize, largest: Option<u64>) -> u64 {
    let truncated = u64::from(truncated);
    let Some(largest) = largest else {
        return truncated;
    };
    let expected = largest + 1;
    let window = 1u64 << (8 * len);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate + window < 1 << 62 {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Sender;
    use super::super::vectors::{self, DCID, Vector};
    use super::*;
    use gentle_wire::{QuicKind, Udp};

    fn sealed(packet: &[u8], wire_len: usize) -> QuicSealed<'_> {
        let udp = Udp { src_port: 1, dst_port: 2, payload_len: wire_len as u32, payload: packet };
        match udp.quic_packets().next().unwrap().kind {
            QuicKind::Initial(initial) => initial.sealed.unwrap(),
            kind => panic!("{kind:?}"),
        }
    }

    fn keys(vector: &Vector) -> Keys {
        Keys::new(vector.version, &DCID, vector.sender)
    }

    #[test]
    fn opens_the_packets_of_rfc_9001_and_rfc_9369() {
        for vector in vectors::all() {
            let mut opener = Opener::default();
            let sealed = sealed(&vector.packet, vector.packet.len());
            let opened = opener.open(&keys(&vector), &sealed, None).unwrap();
            assert_eq!(opened.number, vector.number);
            assert_eq!(opened.wire_len, opened.payload.len());
            assert!(opened.payload.starts_with(&vector.frames));
            assert!(opened.payload[vector.frames.len()..].iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn one_changed_bit_or_the_other_keys_open_nothing() {
        for vector in vectors::all() {
            let mut opener = Opener::default();
            for at in [0, 7, 20, vector.packet.len() - 1] {
                let mut packet = vector.packet.clone();
                let whole = sealed(&packet, packet.len());
                let number_at = whole.number_at;
                packet[at] ^= 1;
                let changed = QuicSealed { packet: &packet, number_at, wire_len: packet.len() };
                assert_eq!(opener.open(&keys(&vector), &changed, None), Err(Unopened::Foreign), "byte {at}");
            }
            let other = match vector.sender {
                Sender::Client => Sender::Server,
                Sender::Server => Sender::Client,
            };
            let foreign = Keys::new(vector.version, &DCID, other);
            let sealed = sealed(&vector.packet, vector.packet.len());
            assert_eq!(opener.open(&foreign, &sealed, None), Err(Unopened::Foreign));
        }
    }

    #[test]
    fn a_cut_packet_gives_the_same_bytes_as_far_as_they_go() {
        for vector in vectors::all() {
            let mut opener = Opener::default();
            let len = vector.packet.len();
            let whole = opener.open(&keys(&vector), &sealed(&vector.packet, len), None).unwrap().payload.to_vec();
            for captured in 18..len {
                let cut = sealed(&vector.packet[..captured], len);
                match opener.open(&keys(&vector), &cut, None) {
                    Ok(opened) => {
                        assert_eq!(opened.number, vector.number);
                        assert_eq!(opened.wire_len, whole.len());
                        assert!(whole.starts_with(opened.payload));
                    }
                    Err(why) => {
                        assert_eq!(why, Unopened::Cut);
                        assert!(captured < cut.number_at + 20);
                    }
                }
            }
        }
    }

    #[test]
    fn packet_numbers_are_those_of_rfc_9000_a_3() {
        assert_eq!(full_number(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
        assert_eq!(full_number(0x02, 1, Some(0xff)), 0x102);
        assert_eq!(full_number(0xfe, 1, Some(0x101)), 0xfe);
        assert_eq!(full_number(7, 1, None), 7);
        assert_eq!(full_number(0, 4, Some((1 << 62) - 1)), 1 << 62);
    }
}
