//! Reports of sample comparisons, analyses and reproductions.

#![expect(clippy::disallowed_methods, reason = "what tests compute is no result")]
#![expect(clippy::needless_update, reason = "a new metric needs no line in a fixture")]

mod analyze;
mod compare;
mod html;
mod palette;
mod reproduce;

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
    let reproduction = reproduce::fixture::reproduction();
    let page = gentle_report::reproduce::html(&reproduction, &origin);
    fs::write(folder.join("reproduce.html"), page).unwrap();
    let page = gentle_report::reproduce::index(&[reproduction], &origin);
    fs::write(folder.join("reproduce-index.html"), page).unwrap();
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
