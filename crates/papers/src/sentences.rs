//! Statements of a paper, and the items that cover each: the content of `papers/<short name>/sentences.toml`.
//!
//! A reproduction that leaves out statements is a selection. So every sentence that states a result, a setting or a
//! mechanism is listed, with the items that cover it or the reason why none does.

use crate::paper::Paper;
use crate::published::Data;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Version of the JSON form of [`Coverage`].
pub const COVERAGE_VERSION: u32 = 1;

/// Statement of a paper, in our words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sentence {
    /// Place in the paper's own numbering: `VI.B, paragraph 2`.
    pub place: String,
    /// Kind of statement.
    pub kind: SentenceKind,
    /// The statement.
    pub says: String,
    /// Claims, figures, tables and assumptions that cover it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Reason why it cannot have an item; for a mechanism the file that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// Measurement that would cover it, and that does not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SentenceKind {
    /// Something measured, computed or concluded.
    Result,
    /// Part of a set-up.
    Setting,
    /// How something works.
    Mechanism,
    /// Work of other authors.
    Prior,
    /// Work that the authors announce.
    Future,
}

/// All sentences of a paper with what covers them: the stable form of `gentle reproduce --coverage --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Coverage {
    /// Version of this form, [`COVERAGE_VERSION`].
    pub version: u32,
    /// Short name of the paper.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Number of sentences that items cover.
    pub covered: u32,
    /// Number of sentences that cannot have an item.
    pub without: u32,
    /// Number of sentences that could have an item and have none yet.
    pub missing: u32,
    /// The sentences, in the order of the paper.
    pub sentences: Vec<Sentence>,
}

impl Coverage {
    /// Sentences of a paper; `None` if it is not a published text.
    ///
    /// # Panics
    /// The built-in list is not valid; a test excludes it.
    pub fn of(paper: &Paper) -> Option<Coverage> {
        let text = paper.sentences?;
        let sentences =
            parse(text, &paper.data()).unwrap_or_else(|error| panic!("built-in sentences of {}: {error}", paper.name));
        let number = |is: fn(&Sentence) -> bool| {
            let found = sentences.iter().filter(|sentence| is(sentence)).count();
            u32::try_from(found).unwrap_or(u32::MAX)
        };
        Some(Coverage {
            version: COVERAGE_VERSION,
            paper: paper.name.to_owned(),
            title: paper.data().title,
            covered: number(|sentence| !sentence.items.is_empty()),
            without: number(|sentence| sentence.without.is_some()),
            missing: number(|sentence| sentence.missing.is_some()),
            sentences,
        })
    }
}

/// Reads a list and compares it with the items of its paper.
fn parse(text: &str, data: &Data) -> Result<Vec<Sentence>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct List {
        #[serde(rename = "sentence")]
        sentences: Vec<Sentence>,
    }
    let List { sentences } = toml::from_str(text).map_err(|error| error.to_string())?;
    let known = data.ids();
    for sentence in &sentences {
        let Sentence { says, items, .. } = sentence;
        let given = [!items.is_empty(), sentence.without.is_some(), sentence.missing.is_some()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(format!("'{says}': expected one of items, without and missing"));
        }
        if let Some(id) = items.iter().find(|id| !known.contains(id.as_str())) {
            return Err(format!("'{says}': the paper has no item {id}"));
        }
    }
    let named: BTreeSet<&str> = sentences.iter().flat_map(|sentence| &sentence.items).map(String::as_str).collect();
    let overlooked = data.claims.iter().find(|claim| claim.target().is_some() && !named.contains(claim.id.as_str()));
    match overlooked {
        Some(claim) => Err(format!("{} has a published value, which no sentence states", claim.id)),
        None => Ok(sentences),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAPERS;

    const ITEMS: &str = "[[figure]]\nid = 'f'\ntitle = 't'\nsource = 's'\n\
        [[claim]]\nid = 'f/x'\ntext = 't'\nquantity = 'q'\nvalue = 1\n";

    fn error(sentences: &str) -> String {
        let data = Data::from_toml(&[ITEMS]).unwrap();
        parse(sentences, &data).unwrap_err()
    }

    const SENTENCE: &str = "[[sentence]]\nplace = 'I'\nkind = 'result'\nsays = 'it is 1'\n";

    #[test]
    fn a_list_that_does_not_fit_its_paper_is_refused() {
        assert!(error(SENTENCE).contains("one of items"));
        assert!(error(&format!("{SENTENCE}items = ['f/x']\nmissing = 'm'")).contains("one of"));
        assert!(error(&format!("{SENTENCE}items = ['f/y']")).contains("no item f/y"));
        assert!(error(&format!("{SENTENCE}without = 'r'")).contains("f/x has a published value"));
    }

    #[test]
    fn the_lists_of_all_papers_fit_their_items() {
        let found: Vec<Coverage> = PAPERS.iter().filter_map(Coverage::of).collect();
        assert_eq!(found.len(), 4);
        for coverage in found {
            let sum = coverage.covered + coverage.without + coverage.missing;
            assert_eq!(sum as usize, coverage.sentences.len(), "{}", coverage.paper);
        }
    }
}
