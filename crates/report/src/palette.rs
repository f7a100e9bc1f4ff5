//! Colours and marks of the charts: one table for all pages and figures, which `gentle lab` can read too.
//!
//! Each queue scheme has one colour and one mark. A colour has the same hue on a light and on a dark ground, and any two
//! differ by at least 0.12 in Oklab as people with normal, protan, deutan and tritan sight see them; schemes that share a
//! colour have different marks.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::LazyLock;

/// The table, `assets/palette.json`.
pub static PALETTE: LazyLock<Palette> =
    LazyLock::new(|| serde_json::from_str(include_str!("../assets/palette.json")).expect("a test reads the palette"));

/// Colours of lines, and the look of each scheme.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Palette {
    /// Colours of series, in the order in which charts without schemes use them; the first is for schemes only, since it
    /// resembles text.
    pub colors: Vec<Color>,
    /// Queue schemes, in the order of the registry.
    pub schemes: Vec<SchemeLook>,
}

/// Colour on both grounds, as `#rrggbb`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Color {
    /// Name, which the CSS variable `--color-NAME` has too.
    pub name: String,
    /// Colour on a light ground.
    pub light: String,
    /// Colour on a dark ground.
    pub dark: String,
}

/// Look of a queue scheme.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeLook {
    /// Name of the scheme in the registry.
    pub name: String,
    /// Name of its colour.
    pub color: String,
    /// Shape of its marks, named as the symbols of d3.
    pub mark: Mark,
}

/// Shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Star,
    Wye,
    Cross,
    Asterisk,
}

impl Palette {
    /// Number of the colour `name`.
    pub fn color(&self, name: &str) -> Option<usize> {
        self.colors.iter().position(|color| color.name == name)
    }

    /// Colours as CSS variables.
    pub(crate) fn css(&self) -> String {
        let mut css = ":root {\n".to_owned();
        for Color { name, light, dark } in &self.colors {
            writeln!(css, "  --color-{name}: light-dark({light}, {dark});").expect("a string takes everything");
        }
        css + "}"
    }

    /// Look of the scheme that a paper's figure calls `name`, such as "FQ-CoDel 20 ms": the longest name of a scheme with
    /// which it begins.
    pub(crate) fn scheme(&self, name: &str) -> Option<&SchemeLook> {
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        let plain = match plain.as_str() {
            "packet_fifo" | "tail_drop" => "pfifo",
            "byte_fifo" => "bfifo",
            plain => plain,
        };
        let begins = |look: &&SchemeLook| {
            plain.strip_prefix(look.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        self.schemes.iter().filter(begins).max_by_key(|look| look.name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_call_schemes_by_other_names() {
        let named = |name| PALETTE.scheme(name).map(|look| look.name.as_str());
        assert_eq!(named("FQ-CoDel 20 ms"), Some("fq_codel"));
        assert_eq!(named("CoDel"), Some("codel"));
        assert_eq!(named("packet FIFO"), Some("pfifo"));
        assert_eq!(named("SYN/FIN Prio"), Some("syn_fin_prio"));
        assert_eq!(named("SPA, SYN only"), Some("spa"));
        assert_eq!(named("REDFavor"), Some("redfavor"));
        assert_eq!(named("spade"), None);
        assert_eq!(named("tail drop"), Some("pfifo"));
    }
}
