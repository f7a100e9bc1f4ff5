//! Names of differentiated services codepoints.

/// Codepoints with names: RFC 4594 (service classes), RFC 5865 (VOICE-ADMIT), RFC 8622 (lower effort).
const NAMES: [(&str, u8); 24] = [
    ("df", 0),
    ("le", 1),
    ("cs0", 0),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// Names, and the codepoints that they stand for.
pub(crate) const fn names() -> &'static [(&'static str, u8)] {
    &NAMES
}

/// The name of a codepoint, or else its number.
pub(crate) fn name(codepoint: u8) -> String {
    let named = NAMES.iter().find(|(_, known)| *known == codepoint);
    named.map_or_else(|| codepoint.to_string(), |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_rfcs() {
        for (codepoint, expected) in [(46, "ef"), (1, "le"), (34, "af41"), (0, "df"), (45, "45")] {
            assert_eq!(name(codepoint), expected);
        }
        // AFxy is 8x + 2y (RFC 2597), CSx is 8x (RFC 2474).
        for (name, codepoint) in NAMES {
            let digits: Vec<u8> = name.bytes().filter_map(|b| b.checked_sub(b'0')).filter(|d| *d < 10).collect();
            match (&name[..2], &digits[..]) {
                ("af", [x, y]) => assert_eq!(codepoint, 8 * x + 2 * y),
                ("cs", [x]) => assert_eq!(codepoint, 8 * x),
                _ => {}
            }
        }
    }
}
