//! Contents of a SYN beyond the options of every handshake, for which middleboxes may drop it (Honda et al., "Is it
//! still possible to extend TCP?", IMC 2011; RFC 8684, 3.7; RFC 7413, 7.1; RFC 3168, 6.1.1.1).

use gentle_wire::{Tcp, TcpFlags};

/// Option kinds (IANA, TCP Option Kind Numbers): RFC 8684, RFC 7413.
const MPTCP: u8 = 30;
const FAST_OPEN: u8 = 34;

/// Set of such parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SynExtras(u8);

impl SynExtras {
    /// Number of distinguished parts.
    pub(crate) const COUNT: usize = 4;
    /// Their names in results, by bit.
    pub(crate) const NAMES: [&'static str; SynExtras::COUNT] = ["mptcp", "fast-open", "data", "ecn"];
    /// Number of the name of data (RFC 9293, 3.4; RFC 7413).
    pub(crate) const DATA: usize = 2;
    /// The set of all.
    pub(crate) const ALL: SynExtras = SynExtras((1 << SynExtras::COUNT) - 1);

    /// Parts of a SYN.
    #[inline(never)]
    pub(crate) fn of(tcp: &Tcp<'_>) -> SynExtras {
        let ecn = tcp.flags.any(TcpFlags::ECE) && tcp.flags.any(TcpFlags::CWR);
        let parts = [tcp.has_option(MPTCP), tcp.has_option(FAST_OPEN), tcp.payload_len > 0, ecn];
        let bit = |(at, is_there): (usize, bool)| u8::from(is_there) << at;
        SynExtras(parts.into_iter().enumerate().map(bit).sum())
    }

    /// The set with these bits; others are ignored.
    pub(crate) fn from_bits(bits: u32) -> SynExtras {
        SynExtras(bits as u8 & SynExtras::ALL.0)
    }

    /// The set as bits.
    pub(crate) fn bits(self) -> u32 {
        self.0.into()
    }

    /// Parts in both sets.
    pub(crate) fn and(self, other: SynExtras) -> SynExtras {
        SynExtras(self.0 & other.0)
    }

    /// Parts that are not in `other`.
    pub(crate) fn without(self, other: SynExtras) -> SynExtras {
        SynExtras(self.0 & !other.0)
    }

    /// Whether the part with the name number `at` is in the set.
    pub(crate) fn has(self, at: usize) -> bool {
        self.0 >> at & 1 != 0
    }
}
