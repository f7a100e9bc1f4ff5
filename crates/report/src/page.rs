//! What every page carries: where it comes from, styles, the libraries that draw, and the data.

use jiff::Timestamp;
use serde::Serialize;

/// Where a page comes from, as its readers are told.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// What made it, as users call it: `gentle compare`.
    pub tool: String,
    /// The command that makes the same results again.
    pub command: Option<String>,
    /// When it was made. Pages of the same results differ in nothing else.
    pub date: Option<Timestamp>,
}

/// [`Origin`] as a template shows it.
pub(crate) struct Provenance<'a> {
    pub(crate) tool: &'a str,
    pub(crate) command: Option<&'a str>,
    pub(crate) version: &'a str,
    date: Option<Timestamp>,
}

impl<'a> Provenance<'a> {
    pub(crate) fn new(origin: &'a Origin, version: &'a str) -> Self {
        Self {
            tool: &origin.tool,
            command: origin.command.as_deref(),
            version,
            date: origin.date,
        }
    }

    /// `2026-01-02 03:04 UTC`.
    pub(crate) fn day(&self) -> Option<String> {
        Some(self.date?.strftime("%Y-%m-%d %H:%M UTC").to_string())
    }
}

/// Styles and scripts of a page, and its data as JSON; `assets/page.html` puts them into place.
pub(crate) struct Shell {
    pub(crate) css: [&'static str; 2],
    pub(crate) d3: &'static str,
    pub(crate) plot: &'static str,
    pub(crate) js: Vec<&'static str>,
    pub(crate) data: String,
    /// The results as CSV, in a JSON text.
    pub(crate) csv: Option<String>,
}

impl Shell {
    /// The shell of a page that draws `results` with `js` and looks as `css` adds to what all pages share.
    pub(crate) fn new(css: &'static str, js: &[&'static str], results: &impl Serialize) -> Self {
        let shared = [
            include_str!("../assets/charts.js"),
            include_str!("../assets/picture.js"),
            include_str!("../assets/tools.js"),
        ];
        Self {
            css: [include_str!("../assets/page.css"), css],
            d3: include_str!("../assets/vendor/d3.min.js"),
            plot: include_str!("../assets/vendor/plot.umd.min.js"),
            js: [&shared, js].concat(),
            data: data(results),
            csv: None,
        }
    }

    /// Readers can save `csv`.
    pub(crate) fn csv(mut self, csv: &str) -> Self {
        self.csv = Some(data(&csv));
        self
    }
}

/// The results as JSON that cannot end the script element it stands in.
fn data(results: &impl Serialize) -> String {
    let json = serde_json::to_string(results).expect("results are plain data with text keys");
    json.replace('<', "\\u003c")
}
