//! Selection of figures, tables and assumptions of a paper.

use crate::paper::Paper;
use gentle_units::suggestion;
use thiserror::Error;

/// Prefix of the names of items about assumptions.
pub(crate) const ASSUMPTION: &str = "assumption/";

/// Name, behind [`ASSUMPTION`], of the search over all assumptions at once.
pub(crate) const SEARCH: &str = "search";

/// The items of a paper to reproduce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Names of figures and tables, in the paper's order.
    pub(crate) parts: Vec<&'static str>,
    /// Names of assumptions, in the paper's order; [`SEARCH`] last.
    pub(crate) assumptions: Vec<&'static str>,
    /// True if everything is selected, which is without the search.
    pub(crate) all: bool,
}

/// A name that no item of the paper has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{paper} has no item '{name}'{hint}; expected one that gentle reproduce lists")]
pub struct UnknownItem {
    paper: &'static str,
    name: String,
    hint: String,
}

impl Selection {
    /// Everything of a paper but the search, which takes longer than everything else.
    pub fn all(paper: &Paper) -> Selection {
        Selection {
            parts: paper.parts.iter().map(|part| part.id).collect(),
            assumptions: paper.assumptions.iter().map(|variants| variants.id).collect(),
            all: true,
        }
    }

    /// Items by name: `fig5`, `fig5/codel-rtt` (a claim, which selects its figure), `assumption/fifo-limits`,
    /// `assumption/search`. Without names, everything.
    ///
    /// # Errors
    /// A name that no item has.
    pub fn named(paper: &'static Paper, names: &[String]) -> Result<Selection, UnknownItem> {
        let mut all = Selection::all(paper);
        if names.is_empty() {
            return Ok(all);
        }
        if !all.assumptions.is_empty() {
            all.assumptions.push(SEARCH);
        }
        let data = paper.data();
        let selects = |name: &str, part: &str| name == part || data.claims_of(part).any(|claim| claim.id == name);
        let is_assumption = |name: &str, id: &str| name.strip_prefix(ASSUMPTION) == Some(id);
        for name in names {
            let known = all.parts.iter().any(|part| selects(name, part))
                || all.assumptions.iter().any(|id| is_assumption(name, id));
            if !known {
                let claims = data.claims.iter().map(|claim| claim.id.clone());
                let parts = all.parts.iter().map(|part| (*part).to_owned());
                let assumptions = all.assumptions.iter().map(|id| format!("{ASSUMPTION}{id}"));
                let ids: Vec<String> = parts.chain(assumptions).chain(claims).collect();
                return Err(UnknownItem {
                    paper: paper.name,
                    name: name.clone(),
                    hint: suggestion(name, ids.iter().map(String::as_str)),
                });
            }
        }
        all.parts.retain(|part| names.iter().any(|name| selects(name, part)));
        all.assumptions.retain(|id| names.iter().any(|name| is_assumption(name, id)));
        all.all = false;
        Ok(all)
    }
}
