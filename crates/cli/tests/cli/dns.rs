//! A DNS answer in a capture.

use std::fs;
use std::path::Path;

/// Server of the IPv4 connections in `formats/us.pcap`.
pub(crate) const SERVER: &str = "198.18.2.2";

/// Checksum of an IPv4 header (RFC 791, 3.1).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// A pcap file of Ethernet with times in microseconds, before whose packets an answer says that [`SERVER`] has this name, of labels of
/// at most 63 bytes.
pub(crate) fn with_answer(pcap: &Path, labels: &[&[u8]]) -> Vec<u8> {
    let address: Vec<u8> = SERVER.split('.').map(|byte| byte.parse().unwrap()).collect();
    let mut message = vec![0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    for label in labels {
        message.push(label.len() as u8);
        message.extend(*label);
    }
    // The record has the name at offset 12, type A, class IN, and 60 s to live.
    message.extend([0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    message.extend(&address);
    let length = |header: usize| ((header + message.len()) as u16).to_be_bytes();
    let (ip, udp) = (length(28), length(8));
    let mut header = vec![0x45, 0, ip[0], ip[1], 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 53, 198, 18, 1, 2];
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    let ports = [0, 53, 0x9c, 0x40, udp[0], udp[1], 0, 0];
    let frame = [&[2; 12][..], &[8, 0], &header, &ports, &message].concat();
    let bytes = fs::read(pcap).unwrap();
    let (file, packets) = bytes.split_at(24);
    let captured = (frame.len() as u32).to_le_bytes();
    [file, &packets[..8], &captured, &captured, &frame, packets].concat()
}
