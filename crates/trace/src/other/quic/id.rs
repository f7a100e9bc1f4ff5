//! QUIC connection IDs.

/// Connection ID of at most 20 bytes (RFC 9000, 17.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Id {
    len: u8,
    bytes: [u8; 20],
}

impl Id {
    /// Creates an ID from at most the first 20 bytes; headers with longer IDs are not read.
    pub(super) fn new(id: &[u8]) -> Id {
        let mut bytes = [0; 20];
        let len = id.len().min(bytes.len());
        bytes[..len].copy_from_slice(&id[..len]);
        Id { len: len as u8, bytes }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
