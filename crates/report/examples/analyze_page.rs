//! Writes the page of the tests' sample analyses to stdout, to inspect it while working on `assets/`.
//!
//! An argument selects one of them: `rich`, `healthy`, `without-tcp`, `hostile`.

#[path = "../tests/analyze/fixture.rs"]
mod fixture;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        ("rich", fixture::rich()),
        ("healthy", fixture::healthy()),
        ("without-tcp", fixture::without_tcp()),
        ("hostile", fixture::hostile()),
    ];
    let wanted = std::env::args().nth(1);
    let analyses: Vec<_> = all
        .into_iter()
        .filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name))
        .map(|(_, analysis)| analysis)
        .collect();
    if analyses.is_empty() {
        eprintln!("no sample of that name; there are rich, healthy, without-tcp and hostile");
        return ExitCode::FAILURE;
    }
    print!(
        "{}",
        gentle_report::analyze::html(&analyses, &gentle_report::Origin::default())
    );
    ExitCode::SUCCESS
}
