//! Capture of a tunnel.

use crate::command::capture;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a test capture of `gentle-trace` into `folder`, with each of its IPv4 packets encapsulated in another (RFC
/// 2003).
pub(crate) fn tunnelled(name: &str, folder: &Path) -> PathBuf {
    let file = folder.join("tunnel.pcap");
    fs::write(&file, wrapped(&fs::read(capture(name)).unwrap())).unwrap();
    file
}

/// Encapsulates the packets of a pcap file (draft-ietf-opsawg-pcap).
fn wrapped(capture: &[u8]) -> Vec<u8> {
    const ETHERNET: usize = 14;
    let mut out = capture[..24].to_vec();
    let mut rest = &capture[24..];
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    while let Some((head, after)) = rest.split_at_checked(16) {
        let frame = &after[..number(&head[8..12]) as usize];
        rest = &after[frame.len()..];
        if frame[12..ETHERNET] != [0x08, 0x00] {
            continue;
        }
        let inner = &frame[ETHERNET..];
        let mut outer = [0; 20];
        outer[0] = 0x45;
        outer[2..4].copy_from_slice(&(inner.len() as u16 + 20).to_be_bytes());
        (outer[8], outer[9]) = (64, 4);
        outer[12..20].copy_from_slice(&[203, 0, 113, 1, 203, 0, 113, 2]);
        out.extend_from_slice(&head[..8]);
        out.extend_from_slice(&(number(&head[8..12]) + 20).to_le_bytes());
        out.extend_from_slice(&(number(&head[12..16]) + 20).to_le_bytes());
        out.extend_from_slice(&frame[..ETHERNET]);
        out.extend_from_slice(&outer);
        out.extend_from_slice(inner);
    }
    out
}
