//! The papers, and what each consists of.

use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::published::Data;
use crate::setup::Setup;

/// All papers, in the order of reports.
pub const PAPERS: &[Paper] = &[
    crate::spa_2018::PAPER,
    crate::redfavor_2012::PAPER,
    crate::gsp_2015::PAPER,
    crate::handshake_2009::PAPER,
    crate::model::PAPER,
    crate::open::PAPER,
];

/// A paper.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// Short name: `spa-2018`.
    pub name: &'static str,
    /// Published values: texts of TOML files, read as one.
    pub published: &'static [&'static str],
    /// Statements of the paper: text of a TOML file; `None` if it is not a published text.
    pub sentences: Option<&'static str>,
    /// Measurements, one per figure or table, in the order of reports.
    pub parts: &'static [Part],
    /// Other values that assumptions could have.
    pub assumptions: &'static [Variants],
}

/// The measurement of a figure or table.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Name of the figure or table.
    pub id: &'static str,
    /// Function that measures it.
    pub measure: fn(&Lab<'_>) -> Result<Measured, Failure>,
}

/// Other values of an assumption, for the table of sensitivity.
#[derive(Debug, Clone, Copy)]
pub struct Variants {
    /// Name of the assumption.
    pub id: &'static str,
    /// Label of the value that is assumed.
    pub base: &'static str,
    /// The other values.
    pub values: &'static [Variant],
}

/// Another value of an assumption.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Label of the value.
    pub label: &'static str,
    /// Applies the value to a set-up. Set-ups that it does not concern stay as they are.
    pub change: fn(&mut Setup),
}

impl Variant {
    pub(crate) const fn new(label: &'static str, change: fn(&mut Setup)) -> Variant {
        Variant { label, change }
    }
}

impl Paper {
    /// The paper with the short name `name`.
    pub fn by_name(name: &str) -> Option<&'static Paper> {
        PAPERS.iter().find(|paper| paper.name == name)
    }

    /// Published values.
    ///
    /// # Panics
    /// The built-in data are not valid; a test excludes it.
    pub fn data(&self) -> Data {
        let data = Data::from_toml(self.published);
        data.unwrap_or_else(|error| panic!("built-in published values of {}: {error}", self.name))
    }
}
