//! Writes the page of the tests' sample comparison to stdout, to inspect it while working on `assets/`.

#[path = "../tests/compare/fixture.rs"]
mod fixture;

fn main() {
    print!(
        "{}",
        gentle_report::compare::html(&fixture::comparison(), &gentle_report::Origin::default())
    );
}
