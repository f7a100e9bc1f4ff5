//! Reports of sample comparisons and analyses.

mod analyze;
mod compare;
mod html;

use gentle_report::Origin;
use std::fs;
use std::path::Path;

/// Writes the pages of the samples to `target/tmp`, where they can be viewed while working on `assets/`.
#[test]
fn pages_to_view() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let origin = Origin::default();
    let page = gentle_report::compare::html(&compare::fixture::comparison(), &origin);
    fs::write(folder.join("compare.html"), page).unwrap();
    for (name, analysis) in [
        ("rich", analyze::fixture::rich()),
        ("healthy", analyze::fixture::healthy()),
        ("without-tcp", analyze::fixture::without_tcp()),
        ("hostile", analyze::fixture::hostile()),
    ] {
        let page = gentle_report::analyze::html(&[analysis], &origin);
        fs::write(folder.join(format!("analyze-{name}.html")), page).unwrap();
    }
}
