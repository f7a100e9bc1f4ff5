//! Reproduction of a paper: the stable form of `gentle reproduce --json`.

use crate::chart::Chart;
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::paper::{Paper, Variant, Variants};
use crate::published::{Claim, Data, Heading};
use crate::search::search;
use crate::selection::{ASSUMPTION, SEARCH, Selection};
use crate::sentences::Coverage;
use crate::table::{Cell, Table};
use crate::verdict::Verdict;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Version of the JSON form of [`Reproduction`].
pub const VERSION: u32 = 1;

/// A paper, reproduced.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reproduction {
    /// Version of this form, [`VERSION`].
    pub version: u32,
    /// Version of gentle that made it.
    pub gentle: String,
    /// Short name of the paper.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Authors.
    pub authors: String,
    /// Conference or journal, with the year.
    pub venue: String,
    /// Command that makes it again.
    pub command: String,
    /// True if runs were fewer and shorter (`--quick`).
    pub quick: bool,
    /// True if the call was interrupted: items are missing.
    pub interrupted: bool,
    /// Number of claims by verdict.
    pub verdicts: Verdicts,
    /// Statements of the paper that cannot have an item; `gentle reproduce --coverage` says why each. 0 unless everything is
    /// selected.
    pub not_testable: u32,
    /// Figures and tables, each followed by its claims, then the assumptions.
    pub items: Vec<Item>,
}

/// Maximum number of times that a figure or table repeats its number of seeds to decide its claims.
const MOST_SEEDS: u32 = 4;

/// Number of claims by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// Claims that agree.
    pub agrees: u32,
    /// Claims that agree in order.
    pub agrees_in_order: u32,
    /// Claims on which our interval is too wide for a verdict.
    pub undecided: u32,
    /// Claims that differ.
    pub differs: u32,
    /// Claims about inputs: the published value was put into the set-up.
    pub given: u32,
    /// Claims without a published value.
    pub not_published: u32,
}

/// A figure, a table, or a claim.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Item {
    /// Name: `fig5`, `fig5/codel-rtt`, `assumption/fifo-limits`.
    pub id: String,
    /// Kind.
    pub kind: Kind,
    /// Title of the figure or table, statement of the claim, or the assumption.
    pub title: String,
    /// Section, figure or table of the paper; empty for an assumption.
    pub source: String,
    /// Published contents, if any.
    pub published: Option<Published>,
    /// The number of a claim, in words; empty for others.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quantity: String,
    /// Unit of the published number and ours; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Our number; without a value for a figure or table, whose claims have the numbers.
    pub ours: Estimate,
    /// Verdict; that of a figure or table is the least favourable of its claims.
    pub verdict: Verdict,
    /// Number of seeds that would decide, if the verdict is `undecided`; `None` if 10,000 do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds_to_decide: Option<u32>,
    /// Reason for a difference, if any.
    pub reason: Option<String>,
    /// Assumptions on which our numbers may depend.
    pub assumptions: Vec<Assumed>,
    /// Command that makes the item again.
    pub command: String,
    /// Charts of a figure or table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
    /// Tables of a figure, table or assumption.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
}

/// Kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A figure.
    Figure,
    /// A table; also the sensitivity to an assumption.
    Table,
    /// A claim: one number.
    Claim,
}

/// Published contents about an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// In words: what a figure shows, or the statement of a claim.
    pub text: String,
    /// Value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<[f64; 2]>,
    /// Distance from the value, or beyond a bound, that still agrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

/// An assumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assumed {
    /// Name.
    pub id: String,
    /// The choice, in a sentence.
    pub text: String,
}

impl Verdicts {
    fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Agrees => &mut self.agrees,
            Verdict::AgreesInOrder => &mut self.agrees_in_order,
            Verdict::Undecided => &mut self.undecided,
            Verdict::Differs => &mut self.differs,
            Verdict::Given => &mut self.given,
            Verdict::NotPublished => &mut self.not_published,
        } += 1;
    }
}

/// Reproduces the selected items of a paper. If the call is interrupted, the result has the items that were complete.
///
/// # Errors
/// The kernel testbed failed.
///
/// # Panics
/// The measurement of a figure lacks a claim of the published values, or has one more; a test excludes it.
pub fn reproduce(paper: &Paper, selection: &Selection, lab: &Lab<'_>) -> Result<Reproduction, Failure> {
    let data = paper.data();
    let quick = if lab.quick() { " --quick" } else { "" };
    let mut reproduction = Reproduction {
        version: VERSION,
        gentle: env!("CARGO_PKG_VERSION").to_owned(),
        paper: paper.name.to_owned(),
        title: data.title.clone(),
        authors: data.authors.clone(),
        venue: data.venue.clone(),
        command: match (selection.all, selection.names().join(" ")) {
            (false, names) => format!("gentle reproduce {} {names}{quick}", paper.name),
            (true, _) => format!("gentle reproduce {}{quick}", paper.name),
        },
        quick: lab.quick(),
        interrupted: false,
        verdicts: Verdicts::default(),
        not_testable: 0,
        items: Vec::new(),
    };
    let context = Context { paper, data: &data, lab: &lab.temporary(), quick };
    match context.items(selection, &mut reproduction.items) {
        Ok(()) => {}
        Err(Failure::Stopped) => reproduction.interrupted = true,
        Err(failure) => return Err(failure),
    }
    if selection.all {
        let coverage = Coverage::of(paper);
        reproduction.not_testable = coverage.map_or(0, |coverage| coverage.without);
    }
    let claims = reproduction.items.iter();
    for item in claims.filter(|item| item.kind == Kind::Claim) {
        reproduction.verdicts.count(item.verdict);
    }
    Ok(reproduction)
}

struct Context<'a> {
    paper: &'a Paper,
    data: &'a Data,
    lab: &'a Lab<'a>,
    quick: &'a str,
}

impl Context<'_> {
    /// Makes the selected items at the same time and adds them in order. Interrupted, it adds those that are complete.
    fn items(&self, selection: &Selection, items: &mut Vec<Item>) -> Result<(), Failure> {
        let parts: Vec<_> = selection.parts.par_iter().map(|part| self.part(part)).collect();
        // Assumptions come afterwards, since they share runs with the figures and tables.
        let assumptions: &[&str] = match selection.all && self.lab.quick() {
            true => &[],
            false => &selection.assumptions,
        };
        let assumptions = assumptions.par_iter().map(|id| match *id {
            SEARCH => self.search().map(|item| vec![item]),
            id => self.sensitivity(id, selection.all).map(Vec::from_iter),
        });
        let assumptions: Vec<_> = assumptions.collect();
        let mut outcome = Ok(());
        for made in parts.into_iter().chain(assumptions) {
            match made {
                Ok(made) => items.extend(made),
                Err(failure) => outcome = Err(failure),
            }
        }
        outcome
    }

    /// A figure or table with its claims.
    fn part(&self, part: &str) -> Result<Vec<Item>, Failure> {
        let measured = self.measure(part)?;
        let claims = self.claims(part, &measured);
        let heading = self.heading(part, measured, &claims);
        Ok(std::iter::once(heading).chain(claims).collect())
    }

    fn measure(&self, part: &str) -> Result<Measured, Failure> {
        let part = (self.paper.parts.iter()).find(|known| known.id == part);
        let part = part.expect("selections have parts of the paper only");
        self.lab.begin(self.paper.name, part.id);
        let measured = (part.measure)(self.lab)?;
        match self.times_seeds(part.id, &measured) {
            1 => Ok(measured),
            times => (part.measure)(&self.lab.with_more_seeds(times.into())),
        }
    }

    /// How many times as many seeds decide the claims of a figure or table that up to [`MOST_SEEDS`] times as many do decide.
    fn times_seeds(&self, part: &str, measured: &Measured) -> u32 {
        let claims = self.data.claims_of(part);
        let times = claims.filter_map(|claim| {
            let seeds = seeds_to_decide(self.data, measured, claim)?;
            Some(seeds.div_ceil(ours(measured, claim).seeds))
        });
        let times = times.filter(|times| *times <= MOST_SEEDS);
        times.max().unwrap_or(1)
    }

    fn heading(&self, part: &str, measured: Measured, claims: &[Item]) -> Item {
        let found = self.data.heading(part);
        let Heading { id, title, source, published } =
            found.unwrap_or_else(|| panic!("{}: no published values of {part}", self.paper.name));
        let mut assumptions: Vec<Assumed> = Vec::new();
        for assumed in claims.iter().flat_map(|claim| &claim.assumptions) {
            if !assumptions.contains(assumed) {
                assumptions.push(assumed.clone());
            }
        }
        let is_figure = self.data.figures.iter().any(|figure| figure.id == *id);
        Item {
            kind: if is_figure { Kind::Figure } else { Kind::Table },
            title: title.clone(),
            source: source.clone(),
            published: published.clone().map(|text| Published { text, ..Published::default() }),
            quantity: String::new(),
            unit: String::new(),
            ours: Estimate::default(),
            verdict: Verdict::of_part(claims.iter().map(|claim| claim.verdict)),
            seeds_to_decide: None,
            reason: None,
            assumptions,
            command: self.command(id),
            charts: measured.charts,
            tables: measured.tables,
            id: id.clone(),
        }
    }

    fn claims(&self, part: &str, measured: &Measured) -> Vec<Item> {
        for (name, _) in &measured.claims {
            let known = self.data.claims_of(part).any(|claim| claim.name() == name);
            assert!(known, "{part}/{name} has no published values");
        }
        let claims = self.data.claims_of(part);
        let claims = claims.map(|claim| {
            let ours = ours(measured, claim);
            let verdict = verdict(self.data, measured, claim);
            Item {
                id: claim.id.clone(),
                kind: Kind::Claim,
                title: claim.text.clone(),
                source: claim.source.clone().unwrap_or_else(|| {
                    let heading = self.data.heading(part);
                    heading.map_or_else(String::new, |heading| heading.source.clone())
                }),
                published: claim.target().map(|_| Published {
                    text: claim.text.clone(),
                    value: claim.value,
                    at_most: claim.at_most,
                    at_least: claim.at_least,
                    between: claim.between,
                    tolerance: Some(claim.tolerance),
                }),
                quantity: claim.quantity.clone(),
                unit: claim.unit.clone(),
                ours,
                verdict,
                seeds_to_decide: seeds_to_decide(self.data, measured, claim),
                reason: match verdict {
                    Verdict::AgreesInOrder | Verdict::Undecided | Verdict::Differs => claim.reason.clone(),
                    Verdict::Agrees | Verdict::Given | Verdict::NotPublished => None,
                },
                assumptions: self.assumed(&claim.assumptions),
                command: self.command(part),
                charts: Vec::new(),
                tables: Vec::new(),
            }
        });
        claims.collect()
    }

    /// The claims that may depend on an assumption, under each value of it; with `short`, by the runs of a quick call. `None`: no
    /// claim names it.
    fn sensitivity(&self, id: &str, short: bool) -> Result<Option<Item>, Failure> {
        let variants = (self.paper.assumptions.iter()).find(|variants| variants.id == id);
        let Variants { base, values, .. } = variants.expect("selections have assumptions of the paper only");
        let claims: Vec<&Claim> =
            (self.data.claims.iter()).filter(|claim| claim.assumptions.iter().any(|known| known == id)).collect();
        let Some(text) = self.data.assumptions.iter().find(|known| known.id == id) else {
            panic!("{}: no assumption {id} in the published values", self.paper.name);
        };
        if claims.is_empty() {
            return Ok(None);
        }
        // Under the assumed value, then under the others, all with the same seeds: else chance would look like an effect of
        // the assumption.
        let assumed = Variant::new(base, |_| {});
        let cases: Vec<Variant> = std::iter::once(assumed).chain(values.iter().copied()).collect();
        let found = cases.par_iter().map(|variant| {
            let name = format!("{ASSUMPTION}{id} = {}", variant.label);
            self.lab.begin(self.paper.name, &name);
            let lab = self.lab.with_variants(vec![*variant]).with_few_seeds();
            let lab = if short { lab.made_quick() } else { lab };
            measure_parts_of(&claims, self.paper, &lab)
        });
        let found = found.collect::<Result<Vec<ByPart<'_>>, Failure>>()?;
        let labels: Vec<&str> = cases.iter().map(|variant| variant.label).collect();
        let table = sensitivity_table(self.data, &claims, &labels, &found);
        Ok(Some(Item {
            assumptions: self.assumed(&[id.to_owned()]),
            ..self.about_assumptions(id, &text.text, vec![table])
        }))
    }

    fn search(&self) -> Result<Item, Failure> {
        let tables = search(self.paper, self.data, self.lab)?;
        Ok(self.about_assumptions(SEARCH, "All assumptions at once.", tables))
    }

    fn about_assumptions(&self, id: &str, title: &str, tables: Vec<Table>) -> Item {
        Item {
            id: format!("{ASSUMPTION}{id}"),
            kind: Kind::Table,
            title: title.to_owned(),
            source: String::new(),
            published: None,
            quantity: String::new(),
            unit: String::new(),
            ours: Estimate::default(),
            verdict: Verdict::NotPublished,
            seeds_to_decide: None,
            reason: None,
            assumptions: Vec::new(),
            command: self.command(&format!("{ASSUMPTION}{id}")),
            charts: Vec::new(),
            tables,
        }
    }

    fn assumed(&self, ids: &[String]) -> Vec<Assumed> {
        let known = self.data.assumptions.iter();
        let known = known.filter(|assumption| ids.contains(&assumption.id));
        known.map(|assumption| Assumed { id: assumption.id.clone(), text: assumption.text.clone() }).collect()
    }

    fn command(&self, id: &str) -> String {
        format!("gentle reproduce {} {id}{}", self.paper.name, self.quick)
    }
}

impl Selection {
    fn names(&self) -> Vec<String> {
        let parts = self.parts.iter().map(|part| (*part).to_owned());
        let assumptions = self.assumptions.iter().map(|id| format!("{ASSUMPTION}{id}"));
        parts.chain(assumptions).collect()
    }
}

pub(crate) fn ours(measured: &Measured, claim: &Claim) -> Estimate {
    let found = measured.claims.iter().find(|(name, _)| name == claim.name());
    found.unwrap_or_else(|| panic!("{} is not measured", claim.id)).1
}

pub(crate) fn verdict(data: &Data, measured: &Measured, claim: &Claim) -> Verdict {
    Verdict::of_estimate(claim, ours(measured, claim), &row(data, measured, claim))
}

/// Verdict by our number alone, for comparisons with few seeds.
pub(crate) fn verdict_of_number(data: &Data, measured: &Measured, claim: &Claim) -> Verdict {
    let ours = ours(measured, claim).value;
    Verdict::of_claim(claim, ours, &row(data, measured, claim))
}

fn seeds_to_decide(data: &Data, measured: &Measured, claim: &Claim) -> Option<u32> {
    Verdict::seeds_to_decide(claim, ours(measured, claim), &row(data, measured, claim))
}

/// The other claims of the row of `claim` with our numbers.
fn row<'a>(data: &'a Data, measured: &Measured, claim: &'a Claim) -> Vec<(&'a Claim, Option<f64>)> {
    let others = data
        .claims_of(claim.part())
        .filter(|other| other.row.is_some() && other.row == claim.row && other.id != claim.id);
    others.map(|other| (other, ours(measured, other).value)).collect()
}

/// Figures and tables by name.
pub(crate) type ByPart<'a> = BTreeMap<&'a str, Measured>;

/// Measures the figures and tables to which `claims` belong.
pub(crate) fn measure_parts_of<'a>(claims: &[&'a Claim], paper: &Paper, lab: &Lab<'_>) -> Result<ByPart<'a>, Failure> {
    let parts: BTreeSet<&str> = claims.iter().map(|claim| claim.part()).collect();
    let measured = parts.into_par_iter().map(|part| {
        let known = paper.parts.iter().find(|known| known.id == part);
        let known = known.expect("claims belong to parts of the paper");
        Ok((part, (known.measure)(lab)?))
    });
    measured.collect()
}

/// A row per claim: our number and its verdict under each value of an assumption, and what follows from them.
fn sensitivity_table(data: &Data, claims: &[&Claim], labels: &[&str], cases: &[ByPart<'_>]) -> Table {
    let heads = labels.iter().enumerate().map(|(i, label)| match i {
        0 => format!("{label} (assumed)"),
        _ => (*label).to_owned(),
    });
    let heads = std::iter::once("claim".to_owned()).chain(heads);
    let heads = heads.chain(["the verdict depends on it".to_owned(), "agrees with".to_owned()]);
    let table = Table::new("Our number and its verdict under each value, with few seeds and without intervals", heads);
    claims.iter().fold(table, |table, claim| {
        let verdicts: Vec<Verdict> =
            (cases.iter()).map(|case| verdict_of_number(data, &case[claim.part()], claim)).collect();
        let cells = cases.iter().zip(&verdicts).map(|(case, verdict)| {
            let value = ours(&case[claim.part()], claim).value;
            let number = significant(value);
            match verdict {
                Verdict::NotPublished => Cell::text(number),
                _ => Cell::text(format!("{number} ({verdict})")),
            }
        });
        let depends = verdicts.windows(2).any(|pair| pair[0] != pair[1]);
        let agreeing = (labels.iter().zip(&verdicts)).filter(|(_, verdict)| **verdict == Verdict::Agrees);
        let agreeing: Vec<&str> = agreeing.map(|(label, _)| *label).collect();
        let agreeing = match agreeing.len() {
            0 => "none of them".to_owned(),
            n if n == labels.len() => "all of them".to_owned(),
            _ => agreeing.join(", "),
        };
        let agreeing = match claim.target() {
            Some(_) => agreeing,
            None => "–".to_owned(),
        };
        let last = [Cell::text(if depends { "yes" } else { "no" }), Cell::text(agreeing)];
        table.row(std::iter::once(Cell::text(&claim.id)).chain(cells).chain(last))
    })
}

/// A number with three digits; `none` without an observation.
pub(crate) fn significant(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| gentle_units::text::significant(value, 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{PAPERS, Part};
    use std::sync::atomic::AtomicBool;

    /// The calls are stopped before their first run, when the set-up has been changed.
    #[test]
    fn every_value_of_an_assumption_fits_what_depends_on_it() {
        let stop = AtomicBool::new(true);
        let lab = Lab::new(true, &(), &stop);
        let mut tried = 0;
        for paper in PAPERS {
            let data = paper.data();
            for variants in paper.assumptions {
                let named = |claim: &Claim| claim.assumptions.iter().any(|id| id == variants.id);
                let depends = |part: &&Part| data.claims_of(part.id).any(named);
                assert!(paper.parts.iter().any(|part| depends(&part)), "{}: {}", paper.name, variants.id);
                for value in variants.values {
                    for part in paper.parts.iter().filter(depends) {
                        let lab = lab.with_variants(vec![*value]);
                        match (part.measure)(&lab) {
                            Ok(_) | Err(Failure::Stopped) => tried += 1,
                            Err(failure) => panic!("{} {} {}: {failure}", paper.name, part.id, value.label),
                        }
                    }
                }
            }
        }
        assert!(tried > 200, "{tried}");
    }
}
