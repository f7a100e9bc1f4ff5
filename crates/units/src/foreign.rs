//! Text that comes from outside, made harmless where it is shown: from captures, scenarios, tables, records, names of files, and
//! other processes.

/// Whether a character could move the cursor, change colours or end a line (control characters, C0 and C1, and line separators), or
/// disguise a name (bidirectional controls, Unicode Standard Annex 9).
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text sanitized for a terminal: characters that could act on it or disguise a name become spaces.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_active(c) { ' ' } else { c }).collect()
}

/// Text of a message sanitized for a terminal: characters that could act on it or disguise a name, except ends of lines and tabs, become
/// their escapes (`\u{1b}`), so that a file can be found by its name.
pub fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match is_active(c) && !['\n', '\t'].contains(&c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// JSON with characters that could act on a terminal or disguise a name replaced by escapes (`\u009b`): within strings,
/// JSON leaves all but the first 32 as they are, and outside of strings there are none.
pub fn visible_json(json: &str) -> String {
    let mut out = String::new();
    for c in json.chars() {
        match is_active(c) && c != '\n' {
            // All are in the basic multilingual plane.
            true => out += &format!("\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

/// Text as a field of CSV that a spreadsheet does not take for a formula: one that begins like a formula gets an apostrophe
/// before it. Characters that could act on a terminal become spaces.
pub fn inert(text: &str) -> String {
    let mark = if is_formula(text) { "'" } else { "" };
    format!("{mark}{}", plain(text))
}

/// Whether a text can be the name of something new, such as a group of connections. If not, returns what was expected.
///
/// # Errors
/// The text is not one that [`plain`] and [`inert`] leave as it is.
pub fn check_name(text: &str) -> Result<(), &'static str> {
    match text {
        _ if text.contains(is_active) => Err("expected text on one line without control characters"),
        _ if is_formula(text) => {
            Err("expected text that does not begin with =, +, - or @, as formulas of spreadsheets do")
        }
        _ => Ok(()),
    }
}

/// Whether a spreadsheet would take a field for a formula (OWASP, "CSV Injection"): it begins like one, continues, and
/// is not a number.
fn is_formula(text: &str) -> bool {
    text.len() > 1 && text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_text_cannot_control_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a [31mb c");
        assert_eq!(plain("\u{202e}gepj.exe"), " gepj.exe");
        assert_eq!(plain("a\u{9b}31m\u{61c}\u{2028}b"), "a 31m  b");
    }

    #[test]
    fn messages_show_what_would_act_on_a_terminal() {
        assert_eq!(visible("a\u{1b}]0;x\u{7}\nb\u{202e}"), "a\\u{1b}]0;x\\u{7}\nb\\u{202e}");
        assert_eq!(visible("ä € 日本"), "ä € 日本");
        let json = visible_json("{\n\"a\": \"\u{9b}x\u{202e}ä\u{7f}\"}\n");
        assert_eq!(json, "{\n\"a\": \"\\u009bx\\u202eä\\u007f\"}\n");
    }

    #[test]
    fn a_spreadsheet_finds_no_formula() {
        for formula in ["=1+1", "+g", "-x", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(inert(formula).starts_with('\''), "{formula}");
        }
        for harmless in ["-1.5", "+20", "a=b", "codel target=20ms", "'=1", "-"] {
            assert_eq!(inert(harmless), harmless);
        }
        assert_eq!(inert("a\u{1b}[31m"), "a [31m");
    }

    #[test]
    fn names_that_would_have_to_be_changed_are_refused() {
        for name in ["=1+1", "+g", "-x", "@a", "\t=1", "a\nb", "a\u{9b}", "\u{202e}a"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        for name in ["files up", "94 % load", "-1.5", "a=b", "Übertragung"] {
            assert_eq!(check_name(name), Ok(()));
            assert_eq!((plain(name), inert(name)), (name.to_owned(), name.to_owned()));
        }
    }
}
