//! Names that a user mistypes.

/// The name that was probably meant, as a remark for an error message: ` (did you mean 'codel'?)`, or nothing where no
/// name comes close. Upper case and `-` in place of `_` count as no difference.
pub fn suggestion<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let written = plain(written);
    // One slip in three letters; more, and unrelated short names come close.
    let slips = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&written, &plain(name)), name))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map_or_else(String::new, |(_, name)| {
            format!(" (did you mean '{name}'?)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant() {
        let names = ["pfifo", "codel", "fq_codel", "choke", "pie"];
        for (written, meant) in [
            ("codle", "codel"),
            ("fq_codle", "fq_codel"),
            ("FQ-CODEL", "fq_codel"),
            ("pifo", "pfifo"),
            ("pi", "pie"),
        ] {
            let expected = format!(" (did you mean '{meant}'?)");
            assert_eq!(suggestion(written, names), expected, "{written}");
        }
        for written in ["", "tarmac", "x", "hfsc"] {
            assert_eq!(suggestion(written, names), "", "{written}");
        }
    }
}
