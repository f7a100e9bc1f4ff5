//! Published values: the content of `papers/<short name>/published.toml`.

use crate::scale;
use serde::Deserialize;
use std::collections::BTreeSet;
use thiserror::Error;

/// Published contents of a paper.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Title of the paper.
    #[serde(default)]
    pub title: String,
    /// Authors.
    #[serde(default)]
    pub authors: String,
    /// Conference or journal, with the year.
    #[serde(default)]
    pub venue: String,
    /// Figures.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Heading>,
    /// Tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<Heading>,
    /// Claims, each a part of a figure or table.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Assumptions where the paper is silent.
    #[serde(default, rename = "assumption")]
    pub assumptions: Vec<Assumption>,
}

/// A figure or table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    /// Name: `fig5`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Section, figure or table of the paper.
    pub source: String,
    /// Its result in the paper, in words.
    #[serde(default)]
    pub published: Option<String>,
}

/// A statement of the paper about one number.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name: the name of the figure or table, a slash, and a name within it.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Section, figure or table of the paper; `None`: as for the figure or table.
    #[serde(default)]
    pub source: Option<String>,
    /// The number, in words.
    pub quantity: String,
    /// Unit of the number; empty: none.
    #[serde(default)]
    pub unit: String,
    /// Published value.
    #[serde(default)]
    pub value: Option<f64>,
    /// Published upper bound.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Published lower bound.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Published range.
    #[serde(default)]
    pub between: Option<[f64; 2]>,
    /// Distance from the value, or beyond a bound, that still agrees; in the unit of the number.
    #[serde(default)]
    pub tolerance: f64,
    /// True if the number was put into our set-up, so that agreement tests the set-up and not the paper.
    #[serde(default)]
    pub given: bool,
    /// Value that means "no effect", such as 1 for a ratio.
    #[serde(default)]
    pub neutral: Option<f64>,
    /// Claims of one part with the same row are compared in order.
    #[serde(default)]
    pub row: Option<String>,
    /// Comparison of schemes that gives our number; `None`: the measurement of the figure or table gives it.
    #[serde(default)]
    pub compare: Option<Compare>,
    /// Reason for a difference, as far as it was investigated.
    #[serde(default)]
    pub reason: Option<String>,
    /// Assumptions on which the number may depend.
    #[serde(default)]
    pub assumptions: Vec<String>,
}

/// Comparison of schemes, in the words of the module that measures it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The scheme.
    pub of: String,
    /// The scheme with which it is compared; empty: none, the number is that of `of`.
    #[serde(default)]
    pub to: String,
    /// Type of traffic of `to`; `None`: the same.
    #[serde(default)]
    pub to_traffic: Option<String>,
    /// Name of the quantity, such as `RTT`, or a ratio of two: `SYN loss / loss`.
    pub quantity: String,
    /// Quantity of `to`; `None`: the same.
    #[serde(default)]
    pub to_quantity: Option<String>,
    /// Form of the number.
    #[serde(default)]
    pub form: Form,
}

/// Form of the number of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Value of `of` divided by that of `to`.
    #[default]
    Ratio,
    /// Percentage by which `of` is below `to`; without `to` the value in percent.
    Percent,
    /// Percentage by which `of` is above `to`.
    Above,
    /// Spearman's rank correlation over the schemes `of`: how alike two quantities, or two types of traffic, order them.
    Rank,
}

/// An assumption where the paper is silent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Name.
    pub id: String,
    /// The choice, in a sentence.
    pub text: String,
}

/// A published value or bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Value.
    Value(f64),
    /// Upper bound.
    AtMost(f64),
    /// Lower bound.
    AtLeast(f64),
    /// Range.
    Between(f64, f64),
}

impl Target {
    /// True if `ours` is within `tolerance` of the value or bound.
    pub fn admits(self, ours: f64, tolerance: f64) -> bool {
        match self {
            Target::Value(value) => (ours - value).abs() <= tolerance,
            Target::AtMost(bound) => ours <= bound + tolerance,
            Target::AtLeast(bound) => ours >= bound - tolerance,
            Target::Between(low, high) => (low - tolerance..=high + tolerance).contains(&ours),
        }
    }

    /// True if `tolerance` of the value or bound admits a number between `low` and `high`.
    pub fn reaches(self, low: f64, high: f64, tolerance: f64) -> bool {
        match self {
            Target::Value(value) => self.admits(value.clamp(low, high), tolerance),
            Target::AtMost(_) => self.admits(low, tolerance),
            Target::AtLeast(_) => self.admits(high, tolerance),
            Target::Between(least, most) => low <= most + tolerance && high >= least - tolerance,
        }
    }

    /// Size of the value or bound; of a range, that of its middle.
    pub fn size(self) -> f64 {
        match self {
            Target::Value(value) | Target::AtMost(value) | Target::AtLeast(value) => value.abs(),
            Target::Between(low, high) => f64::midpoint(low, high).abs(),
        }
    }

    /// True if `ours` lies on the same side of `neutral` as the published value does.
    pub fn is_on_side_of(self, ours: f64, neutral: f64) -> bool {
        let published = match self {
            Target::Value(value) | Target::AtMost(value) | Target::AtLeast(value) => value,
            Target::Between(low, high) => f64::midpoint(low, high),
        };
        (ours < neutral && published < neutral) || (ours > neutral && published > neutral)
    }
}

impl Claim {
    /// The published value or bound; `None`: not published.
    pub fn target(&self) -> Option<Target> {
        let value = self.value.map(Target::Value);
        let at_most = self.at_most.map(Target::AtMost);
        let at_least = self.at_least.map(Target::AtLeast);
        let between = self.between.map(|[low, high]| Target::Between(low, high));
        value.or(at_most).or(at_least).or(between)
    }

    /// Name of the figure or table to which the claim belongs.
    pub fn part(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(part, _)| part)
    }

    /// Name within the figure or table.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or("", |(_, name)| name)
    }
}

/// Error in published values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DataError {
    /// The text is not TOML of the expected form.
    #[error("{0}")]
    Syntax(String),
    /// An entry contradicts another, or itself.
    #[error("{id}: {problem}")]
    Inconsistent {
        /// Name of the entry.
        id: String,
        /// The problem and what was expected.
        problem: &'static str,
    },
    /// A word of degree stands for more than the published value or bound.
    #[error("{id}: its value or bound is not what papers/scale.toml has for '{word}'")]
    Degree {
        /// Name of the claim.
        id: String,
        /// The word.
        word: String,
    },
}

impl Data {
    /// Parses published values from several texts, which are read as one.
    ///
    /// # Errors
    /// A text is not TOML of this form, or the values contradict each other.
    pub fn from_toml(texts: &[&str]) -> Result<Data, DataError> {
        let mut data = Data::default();
        for text in texts {
            let more: Data = toml::from_str(text).map_err(|error| DataError::Syntax(error.to_string()))?;
            for (to, from) in
                [(&mut data.title, more.title), (&mut data.authors, more.authors), (&mut data.venue, more.venue)]
            {
                if to.is_empty() {
                    *to = from;
                }
            }
            data.figures.extend(more.figures);
            data.tables.extend(more.tables);
            data.claims.extend(more.claims);
            data.assumptions.extend(more.assumptions);
        }
        data.check()?;
        Ok(data)
    }

    /// The figure or table `id`.
    pub fn heading(&self, id: &str) -> Option<&Heading> {
        let mut headings = self.figures.iter().chain(&self.tables);
        headings.find(|heading| heading.id == id)
    }

    /// The claims of a figure or table, in order.
    pub fn claims_of<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a Claim> {
        self.claims.iter().filter(move |claim| claim.part() == part)
    }

    /// Names of all figures, tables, claims and assumptions.
    pub fn ids(&self) -> BTreeSet<&str> {
        let headings = self.figures.iter().chain(&self.tables);
        let ids = headings.map(|heading| &heading.id);
        let ids = ids.chain(self.assumptions.iter().map(|assumption| &assumption.id));
        let ids = ids.chain(self.claims.iter().map(|claim| &claim.id));
        ids.map(String::as_str).collect()
    }

    fn check(&self) -> Result<(), DataError> {
        let fail = |id: &str, problem| Err(DataError::Inconsistent { id: id.to_owned(), problem });
        let mut seen = BTreeSet::new();
        let headings = self.figures.iter().chain(&self.tables);
        let ids = headings.map(|heading| &heading.id);
        let ids = ids.chain(self.assumptions.iter().map(|assumption| &assumption.id));
        for id in ids.chain(self.claims.iter().map(|claim| &claim.id)) {
            if !seen.insert(id) {
                return fail(id, "the name is used twice; expected a unique name");
            }
        }
        for claim in &self.claims {
            let targets =
                [claim.value.is_some(), claim.at_most.is_some(), claim.at_least.is_some(), claim.between.is_some()];
            let problem = if self.heading(claim.part()).is_none() || claim.name().is_empty() {
                "expected the name of a figure or table, a slash, and a name"
            } else if targets.into_iter().filter(|given| *given).count() > 1 {
                "expected one of value, at_most, at_least and between"
            } else if !(claim.tolerance >= 0.0 && claim.tolerance.is_finite()) {
                "expected a tolerance of 0 or more"
            } else if claim.between.is_some_and(|[low, high]| low >= high) {
                "expected the lower end of the range first"
            } else if (claim.assumptions.iter()).any(|id| self.assumptions.iter().all(|known| known.id != *id)) {
                "expected assumptions of this paper"
            } else if let Some(word) = scale::contradiction(claim) {
                return Err(DataError::Degree { id: claim.id.clone(), word });
            } else {
                continue;
            };
            return fail(&claim.id, problem);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: &str = "[[figure]]\nid = 'f'\ntitle = 't'\nsource = 's'\n";

    fn error(claim: &str) -> String {
        let text = format!("[[claim]]\ntext = 't'\nquantity = 'q'\n{claim}");
        Data::from_toml(&[FIGURE, &text]).unwrap_err().to_string()
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("id = 'g/x'").contains("figure or table"));
        assert!(error("id = 'f/'").contains("figure or table"));
        assert!(error("id = 'f/x'\nvalue = 1\nat_most = 2").contains("one of value"));
        assert!(error("id = 'f/x'\ntolerance = -1").contains("tolerance"));
        assert!(error("id = 'f/x'\nbetween = [2, 1]").contains("lower end"));
        assert!(error("id = 'f/x'\nassumptions = ['a']").contains("assumptions"));
        assert!(error("id = 'f/x'\nworth = 2").contains("worth"));
        let twice = Data::from_toml(&[FIGURE, FIGURE]).unwrap_err();
        assert!(twice.to_string().contains("twice"));
    }
}
