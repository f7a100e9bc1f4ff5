//! Tins: the classes of traffic by Differentiated Services codepoint, and their shares of the rate (Linux:
//! `cake_config_*`; RFC 4594, RFC 8622).

/// Maximum number of tins (Linux: `CAKE_MAX_TINS`).
pub(super) const MAX_TINS: usize = 8;

/// Division into tins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diffserv {
    /// One tin.
    BestEffort,
    /// Eight tins, by the upper three bits of the codepoint (RFC 791).
    Precedence,
    /// Three tins: best effort, bulk, voice.
    Diffserv3,
    /// Four tins: best effort, bulk, video, voice.
    Diffserv4,
    /// Eight tins, from background to network control.
    Diffserv8,
}

/// Words of the option, in the order of tc-cake(8).
pub(super) const WORDS: &[&str] = &["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"];

/// Rate and weight of a tin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Rate in bytes per second above which the tin loses its priority; 0: none, as the queue has none.
    pub(super) rate: u64,
    /// Bytes that the tin sends per round while the queue has no rate (Linux: `tin_quantum`).
    pub(super) quantum: i64,
}

/// Codepoints with names (RFC 2474, 2597, 3246, 5865, 8622); `AFx` is the first of three with the same tin. TOS4 is
/// "minimise delay" of RFC 1349, TOS2 "maximise throughput".
mod dscp {
    pub(super) const LE: u8 = 1;
    pub(super) const TOS2: u8 = 2;
    pub(super) const TOS4: u8 = 4;
    pub(super) const CS1: u8 = 8;
    pub(super) const CS2: u8 = 16;
    pub(super) const CS3: u8 = 24;
    pub(super) const CS4: u8 = 32;
    pub(super) const CS5: u8 = 40;
    pub(super) const CS6: u8 = 48;
    pub(super) const CS7: u8 = 56;
    pub(super) const VA: u8 = 44;
    pub(super) const EF: u8 = 46;

    /// The class x of assured forwarding, AFx1 to AFx3; 0 for other codepoints.
    pub(super) fn assured(codepoint: u8) -> u8 {
        match codepoint {
            10 | 12 | 14 => 1,
            18 | 20 | 22 => 2,
            26 | 28 | 30 => 3,
            34 | 36 | 38 => 4,
            _ => 0,
        }
    }
}

impl Diffserv {
    /// The division that one of [`WORDS`] stands for.
    pub(super) fn named(word: &str) -> Diffserv {
        match word {
            "besteffort" => Diffserv::BestEffort,
            "precedence" => Diffserv::Precedence,
            "diffserv4" => Diffserv::Diffserv4,
            "diffserv8" => Diffserv::Diffserv8,
            _ => Diffserv::Diffserv3,
        }
    }

    /// The tin of each codepoint.
    pub(super) fn table(self) -> [u8; 64] {
        std::array::from_fn(|codepoint| self.tin_of(codepoint as u8))
    }

    fn tin_of(self, codepoint: u8) -> u8 {
        use dscp::*;
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Precedence => codepoint >> 3,
            Diffserv::Diffserv3 => match codepoint {
                LE | CS1 => 1,
                TOS4 | VA | EF | CS6 | CS7 => 2,
                _ => 0,
            },
            Diffserv::Diffserv4 => match codepoint {
                LE | CS1 => 1,
                TOS4 | CS2 | CS3 => 2,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                _ if assured(codepoint) >= 2 => 2,
                _ => 0,
            },
            Diffserv::Diffserv8 => match codepoint {
                LE => 0,
                TOS2 | CS1 => 1,
                CS3 => 3,
                TOS4 => 4,
                CS2 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => match assured(codepoint) {
                    1 => 1,
                    2 => 4,
                    3 | 4 => 3,
                    _ => 2,
                },
            },
        }
    }

    /// Shares of the tins, for a queue with this rate in bytes per second; 0: no rate.
    pub(super) fn shares(self, rate: u64) -> Vec<Share> {
        // Each tin gets the rate and this number of bytes, divided by a power of two.
        let fractions = |shifts: &[u32]| {
            let share = |shift: &u32| Share { rate: rate >> shift, quantum: 1024 >> shift };
            shifts.iter().map(share).collect()
        };
        match self {
            Diffserv::BestEffort => vec![Share { rate, quantum: 65_535 }],
            Diffserv::Diffserv3 => fractions(&[0, 4, 2]),
            Diffserv::Diffserv4 => fractions(&[0, 4, 1, 2]),
            Diffserv::Precedence | Diffserv::Diffserv8 => {
                let first = Share { rate, quantum: 256 };
                let lower =
                    |share: &Share| Some(Share { rate: (share.rate * 7) >> 3, quantum: (share.quantum * 7) >> 3 });
                std::iter::successors(Some(first), lower).take(MAX_TINS).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codepoints with a separate tin, as tc-cake(8) and the comments in `sch_cake.c` list them.
    #[test]
    fn codepoints_go_to_the_tins_of_the_manual_page() {
        let of = |word: &str, codepoints: &[u8]| -> Vec<u8> {
            let table = Diffserv::named(word).table();
            codepoints.iter().map(|at| table[*at as usize]).collect()
        };
        // DF, LE, TOS2, TOS4, CS1, AF11, CS2, AF21, CS3, AF31, CS4, AF41, CS5, VA, EF, CS6, CS7.
        let named = [0, 1, 2, 4, 8, 10, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56];
        let expected: [(&str, [u8; 17]); 5] = [
            ("besteffort", [0; 17]),
            ("precedence", [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 7]),
            ("diffserv3", [0, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2]),
            ("diffserv4", [0, 1, 0, 2, 1, 0, 2, 2, 2, 2, 3, 2, 3, 3, 3, 3, 3]),
            ("diffserv8", [2, 0, 1, 4, 1, 1, 5, 4, 3, 3, 6, 3, 6, 6, 6, 7, 7]),
        ];
        for (word, tins) in expected {
            assert_eq!(of(word, &named), tins, "{word}");
            let count = Diffserv::named(word).shares(0).len();
            assert!(of(word, &named).iter().all(|tin| usize::from(*tin) < count));
        }
    }

    #[test]
    fn shares_are_those_of_the_manual_page() {
        let percent = |word: &str| -> Vec<f64> {
            let shares = Diffserv::named(word).shares(1_000_000);
            shares.iter().map(|share| share.rate as f64 / 1e4).collect()
        };
        assert_eq!(percent("besteffort"), [100.0]);
        assert_eq!(percent("diffserv3"), [100.0, 6.25, 25.0]);
        assert_eq!(percent("diffserv4"), [100.0, 6.25, 50.0, 25.0]);
        let eight = percent("diffserv8");
        assert_eq!((eight.len(), eight[1]), (8, 87.5));
        assert_eq!(eight, percent("precedence"));
    }
}
