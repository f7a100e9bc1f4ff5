//! Teredo: IPv6 over UDP through address translation (RFC 4380).

use crate::Skip;
use crate::captured::Captured;
use crate::link::{Layer, NextLayer};

pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    // Authentication comes before the origin indication if both are present (RFC 4380, 5.1.1).
    if let [0, 1, id_len, value_len, ..] = *at.bytes {
        const NONCE_AND_CONFIRMATION: usize = 9;
        at.skip(4 + usize::from(id_len) + usize::from(value_len) + NONCE_AND_CONFIRMATION)?;
    }
    if let [0, 0, ..] = at.bytes {
        at.skip(8)?;
    }
    let first = at.peek::<1>()?;
    match first[0] >> 4 {
        6 => Ok(Layer::Ip),
        _ => Err(Skip::NotIp),
    }
}
