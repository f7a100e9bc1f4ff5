//! Results of runs: claimed files, the table or JSON on standard output, CSV and HTML files.

use super::job::DrawTable;
use crate::files::FileClaims;
use crate::output::{OutputFile, Terminal, print};
use crate::usage::Usage;
use anyhow::Context;
use gentle_experiment::results::Comparison;
use gentle_report::Origin;
use gentle_units::foreign::visible_json;
use std::path::Path;

/// Claims the files and the stream that results are written to.
pub(crate) fn claim_results(
    claims: &mut FileClaims,
    json: bool,
    csv: Option<&Path>,
    html: Option<&Path>,
) -> Result<(), Usage> {
    if json {
        claims.prints("--json")?;
    }
    if let Some(path) = csv {
        claims.writes("--csv", path)?;
    }
    if let Some(path) = html {
        claims.writes("--html", path)?;
    }
    Ok(())
}

/// Prints results as JSON, or as a table made by `table`.
pub(crate) fn show(json: bool, table: DrawTable, comparison: &Comparison) -> anyhow::Result<()> {
    if json {
        return print(&(visible_json(&serde_json::to_string(comparison)?) + "\n"));
    }
    let terminal = Terminal::of_stdout();
    print(&table(comparison, terminal.width, terminal.color))
}

/// Writes the CSV file of `--csv`: one row per scheme and seed.
pub(crate) fn write_csv(file: Option<OutputFile>, comparison: &Comparison) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    gentle_report::compare::csv(comparison, &mut file).with_context(|| file.name())?;
    file.commit()
}

/// Writes the page of `--html`, with its provenance.
pub(crate) fn write_html(
    file: Option<OutputFile>,
    comparison: &Comparison,
    origin: impl FnOnce() -> Result<Origin, Usage>,
) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    file.write(gentle_report::compare::html(comparison, &origin()?).as_bytes())?;
    file.commit()
}
