//! QUIC version 1 Initial packets, protected with keys derived from the connection ID (RFC 9001, 5).

use aes::Aes128;
use aes::cipher::BlockCipherEncrypt;
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;

const VERSION: [u8; 4] = [0, 0, 0, 1];
const SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];

/// Connection ID that the client chose for its server; the keys are derived from it.
const CHOSEN: [u8; 8] = *b"original";
const CLIENT: [u8; 4] = *b"clnt";
const SERVER: [u8; 4] = *b"srvr";

/// Protects the Initial packets of one side of a connection.
pub struct Sealer {
    from_server: bool,
    key: [u8; 16],
    iv: [u8; 12],
    hp: [u8; 16],
}

impl Sealer {
    /// Creates the sealer of one side.
    pub fn new(from_server: bool) -> Sealer {
        let initial = Hkdf::<Sha256>::new(Some(&SALT), &CHOSEN);
        let side: &[u8] = if from_server { b"server in" } else { b"client in" };
        let secret: [u8; 32] = expand(&initial, side);
        let secret = Hkdf::from_prk(&secret).expect("a secret as long as the hash");
        Sealer {
            from_server,
            key: expand(&secret, b"quic key"),
            iv: expand(&secret, b"quic iv"),
            hp: expand(&secret, b"quic hp"),
        }
    }

    /// Builds an Initial packet with these frames. `answered`: the client has received the server's connection ID and
    /// uses it.
    pub fn initial(&self, number: u8, frames: &[u8], answered: bool) -> Vec<u8> {
        let (destination, source): (&[u8], _) = match (self.from_server, answered) {
            (true, _) => (&CLIENT, SERVER),
            (false, true) => (&SERVER, CLIENT),
            (false, false) => (&CHOSEN, CLIENT),
        };
        let mut payload = frames.to_vec();
        // The sample for header protection starts four bytes after the start of the packet number.
        payload.resize(payload.len().max(3), 0);

        let mut packet = vec![0xc0];
        packet.extend(VERSION);
        packet.push(destination.len() as u8);
        packet.extend(destination);
        packet.push(source.len() as u8);
        packet.extend(source);
        packet.push(0);
        let length = 1 + payload.len() + 16;
        packet.extend((0x4000 | length as u16).to_be_bytes());
        let number_at = packet.len();
        packet.push(number);

        let mut nonce = self.iv;
        nonce[11] ^= number;
        let tag = Aes128Gcm::new(&self.key.into())
            .encrypt_inout_detached(&nonce.into(), &packet, InOutBuf::from(&mut payload[..]))
            .expect("a packet shorter than 2^36 bytes");
        packet.extend(payload);
        packet.extend(tag);

        let sample = packet[number_at + 4..].first_chunk::<16>();
        let mut mask = (*sample.expect("a sample")).into();
        Aes128::new(&self.hp.into()).encrypt_block(&mut mask);
        packet[0] ^= mask[0] & 0x0f;
        packet[number_at] ^= mask[1];
        packet
    }
}

/// HKDF-Expand-Label without context (RFC 8446, 7.1).
fn expand<const N: usize>(secret: &Hkdf<Sha256>, label: &[u8]) -> [u8; N] {
    let mut info = vec![0, N as u8, 6 + label.len() as u8];
    info.extend(b"tls13 ");
    info.extend(label);
    info.push(0);
    let mut out = [0; N];
    secret.expand(&info, &mut out).expect("a key as long as the hash at most");
    out
}
