//! Words of degree ("much", "halves") and the bounds that they stand for: the content of `papers/scale.toml`.

use crate::published::{Claim, Target};
use serde::Deserialize;
use std::sync::LazyLock;

/// Words with one meaning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Degree {
    words: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    /// Least distance of a ratio from 1.
    #[serde(default)]
    beyond: Option<f64>,
    #[serde(default)]
    factor: Option<f64>,
    /// Greatest distance of a ratio from `factor` or its inverse, as a part of it.
    #[serde(default)]
    within: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    degree: Vec<Degree>,
}

/// The scale, read once.
static SCALE: LazyLock<Scale> = LazyLock::new(|| {
    let scale = toml::from_str(include_str!("../data/scale.toml"));
    scale.unwrap_or_else(|error| panic!("built-in scale: {error}"))
});

/// A word in the statement of `claim`, whose published value or bound it does not permit. Concerns ratios only.
pub(crate) fn contradiction(claim: &Claim) -> Option<String> {
    let target = claim.target().filter(|_| claim.unit.is_empty())?;
    SCALE.degree.iter().find_map(|degree| {
        let word = degree.in_text(&claim.text)?;
        (!degree.permits(target, claim.tolerance)).then(|| word.to_owned())
    })
}

impl Degree {
    /// The word that occurs in a text.
    fn in_text(&self, text: &str) -> Option<&str> {
        let mut text = format!(" {} ", text.to_lowercase().replace(['.', ',', ':', '/'], " "));
        for phrase in &self.except {
            text = text.replace(phrase.as_str(), "");
        }
        let mut words = self.words.iter();
        words.find(|word| text.contains(&format!(" {word} "))).map(String::as_str)
    }

    fn permits(&self, target: Target, tolerance: f64) -> bool {
        const ROUNDING: f64 = 1e-9;
        let beyond = self.beyond.is_none_or(|beyond| match target {
            Target::AtMost(bound) => bound + tolerance <= 1.0 - beyond + ROUNDING,
            Target::AtLeast(bound) => bound - tolerance >= 1.0 + beyond - ROUNDING,
            Target::Value(value) => (value - 1.0).abs() >= beyond - ROUNDING,
            Target::Between(low, high) => low >= 1.0 + beyond || high <= 1.0 - beyond,
        });
        let near = |factor: f64, within: f64| match target {
            Target::AtMost(bound) => bound <= factor * (1.0 + within) + ROUNDING,
            Target::AtLeast(bound) => bound >= factor * (1.0 - within) - ROUNDING,
            Target::Value(value) => (value - factor).abs() <= ROUNDING && tolerance <= factor * within + ROUNDING,
            Target::Between(low, high) => {
                low >= factor * (1.0 - within) - ROUNDING && high <= factor * (1.0 + within) + ROUNDING
            }
        };
        let within = match (self.factor, self.within) {
            (Some(factor), Some(within)) => near(factor, within) || near(1.0 / factor, within),
            _ => true,
        };
        beyond && within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str, target: Target) -> Claim {
        let mut claim = Claim { text: text.to_owned(), ..Claim::default() };
        match target {
            Target::AtMost(bound) => claim.at_most = Some(bound),
            Target::AtLeast(bound) => claim.at_least = Some(bound),
            Target::Value(value) => claim.value = Some(value),
            Target::Between(low, high) => claim.between = Some([low, high]),
        }
        claim
    }

    #[test]
    fn a_word_of_degree_asks_for_more_than_an_order() {
        let word = |text, target| contradiction(&claim(text, target));
        let at_most = Target::AtMost;
        assert_eq!(word("A is much better than B.", at_most(0.8)), None);
        assert_eq!(word("A is much better than B.", at_most(1.0)).as_deref(), Some("much"));
        assert_eq!(word("A is better than B.", at_most(1.0)), None);
        assert_eq!(word("A uses as much as B.", Target::AtLeast(0.98)), None);
        assert_eq!(word("A halves it.", Target::Value(0.6)).as_deref(), Some("halves"));
        assert_eq!(word("A halves it.", Target::Value(0.5)), None);
        assert_eq!(word("A and B are alike.", at_most(1.5)).as_deref(), Some("alike"));
        let mut in_percent = claim("Clearly less.", at_most(3.0));
        in_percent.unit = "%".to_owned();
        assert_eq!(contradiction(&in_percent), None);
    }
}
