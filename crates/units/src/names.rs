//! Suggestions for mistyped names.

/// Suggests the name that was probably meant by `written`, as the end of an error message: ` (did you mean 'codel'?)`.
/// Empty if no name is close. Case, and `-` in place of `_`, make no difference.
pub fn suggestion<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let written = plain(written);
    // At most one edit per three letters; with more, unrelated short names match.
    let max_edits = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&written, &plain(name)), name))
        .filter(|(distance, _)| *distance <= max_edits)
        .min_by_key(|(distance, _)| *distance)
        .map_or_else(String::new, |(_, name)| format!(" (did you mean '{name}'?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant() {
        let names = ["pfifo", "codel", "fq_codel", "choke", "pie"];
        for (written, meant) in
            [("codle", "codel"), ("fq_codle", "fq_codel"), ("FQ-CODEL", "fq_codel"), ("pifo", "pfifo"), ("pi", "pie")]
        {
            let expected = format!(" (did you mean '{meant}'?)");
            assert_eq!(suggestion(written, names), expected, "{written}");
        }
        for written in ["", "tarmac", "x", "hfsc"] {
            assert_eq!(suggestion(written, names), "", "{written}");
        }
    }
}
