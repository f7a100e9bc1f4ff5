//! What every page carries: styles, the libraries that draw, and the data.

use serde::Serialize;

/// Styles and scripts of a page, and its data as JSON; `assets/page.html` puts them into place.
pub(crate) struct Shell {
    pub(crate) css: [&'static str; 2],
    pub(crate) d3: &'static str,
    pub(crate) plot: &'static str,
    pub(crate) js: [&'static str; 2],
    pub(crate) data: String,
}

impl Shell {
    /// The shell of a page that draws `results` with `js` and looks as `css` adds to what all pages share.
    pub(crate) fn new(css: &'static str, js: &'static str, results: &impl Serialize) -> Self {
        Self {
            css: [include_str!("../assets/page.css"), css],
            d3: include_str!("../assets/vendor/d3.min.js"),
            plot: include_str!("../assets/vendor/plot.umd.min.js"),
            js: [include_str!("../assets/charts.js"), js],
            data: data(results),
        }
    }
}

/// The results as JSON that cannot end the script element it stands in.
fn data(results: &impl Serialize) -> String {
    let json = serde_json::to_string(results).expect("results are plain data with text keys");
    json.replace('<', "\\u003c")
}
