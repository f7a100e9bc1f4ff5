//! Common parts of all pages: provenance, styles, drawing libraries, and data.

use crate::palette::PALETTE;
use crate::terms::{TERMS, Term};
use gentle_units::foreign::visible_json;
use jiff::Timestamp;
use serde::Serialize;

/// Provenance of a page, as shown to its readers.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Command that made the page, as users call it: `gentle compare`.
    pub tool: String,
    /// Command line that reproduces the results.
    pub command: Option<String>,
    /// Creation time; the only part in which pages of equal results differ.
    pub date: Option<Timestamp>,
}

/// [`Origin`] in the form used by templates.
pub(crate) struct Provenance<'a> {
    pub(crate) tool: &'a str,
    pub(crate) command: Option<&'a str>,
    pub(crate) version: &'a str,
    date: Option<Timestamp>,
}

impl<'a> Provenance<'a> {
    pub(crate) fn new(origin: &'a Origin, version: &'a str) -> Self {
        Self { tool: &origin.tool, command: origin.command.as_deref(), version, date: origin.date }
    }

    /// Formatted date, `2026-01-02 03:04 UTC`.
    pub(crate) fn day(&self) -> Option<String> {
        Some(self.date?.strftime("%Y-%m-%d %H:%M UTC").to_string())
    }
}

/// Styles, scripts and JSON data of a page; `assets/page.html` inserts them.
pub(crate) struct Shell {
    pub(crate) css: [String; 2],
    /// Colours of the palette as CSS variables.
    pub(crate) palette: String,
    pub(crate) d3: &'static str,
    pub(crate) plot: &'static str,
    /// Permission notices, which have to appear in all copies.
    pub(crate) d3_licence: &'static str,
    pub(crate) plot_licence: &'static str,
    pub(crate) js: Vec<String>,
    pub(crate) data: String,
    /// Looks of all schemes as JSON.
    pub(crate) schemes: Option<String>,
    /// Results as CSV, encoded as a JSON string.
    pub(crate) csv: Option<String>,
    /// Terms with their explanations.
    pub(crate) terms: &'static [Term],
}

impl Shell {
    /// Shell of a page that draws `results` with `js`; `css` is added to the common styles.
    pub(crate) fn new(css: &'static str, js: &[&'static str], results: &impl Serialize) -> Self {
        let shared = [
            include_str!("../assets/charts.js"),
            include_str!("../assets/picture.js"),
            include_str!("../assets/tools.js"),
        ];
        Self {
            css: [include_str!("../assets/page.css"), css].map(compact),
            palette: PALETTE.css(),
            d3: include_str!("../assets/vendor/d3.min.js"),
            plot: include_str!("../assets/vendor/plot.umd.min.js"),
            d3_licence: include_str!("../assets/vendor/LICENSE-d3"),
            plot_licence: include_str!("../assets/vendor/LICENSE-plot"),
            js: shared.iter().chain(js).map(|script| compact(script)).collect(),
            data: data(results),
            schemes: None,
            csv: None,
            terms: TERMS,
        }
    }

    /// Adds the looks of all schemes.
    pub(crate) fn schemes(mut self) -> Self {
        self.schemes = Some(data(&PALETTE.schemes));
        self
    }

    /// Adds `csv` for readers to save.
    pub(crate) fn csv(mut self, csv: &str) -> Self {
        self.csv = Some(data(&csv));
        self
    }
}

/// Script or style sheet without indentation, empty lines and lines of comment.
fn compact(text: &str) -> String {
    let mut in_comment = false;
    let mut compact = String::new();
    for line in text.lines().map(str::trim) {
        in_comment |= line.starts_with("/*");
        if !line.is_empty() && !in_comment && !line.starts_with("//") {
            compact.push_str(line);
            compact.push('\n');
        }
        in_comment &= !line.ends_with("*/");
    }
    compact
}

/// Results as JSON that cannot end the script element around it, nor act on a terminal that shows the page's source.
fn data(results: &impl Serialize) -> String {
    let json = serde_json::to_string(results).expect("results are plain data with text keys");
    visible_json(&json).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_styles_lose_indentation_and_comments_only() {
        let script = "// One\n/** Two */\nconst a = 1; // three\n\n/**\n * Four\n */\n  const b = a * 2;\n";
        assert_eq!(compact(script), "const a = 1; // three\nconst b = a * 2;\n");
        assert_eq!(
            compact("/* One,\n   two. */\na { b: c; } /* three */\nd { e: f; }"),
            "a { b: c; } /* three */\nd { e: f; }\n"
        );
    }
}
