//! Search over all assumptions of a paper at once: the values with which most of its claims agree, and the claims that agree
//! with no values.
//!
//! Settings are drawn by a Latin hypercube (McKay, Beckman and Conover 1979): each value of an assumption occurs equally often. The
//! best of them is then improved one value at a time. It is chosen by one half of the claims, so that the other half shows what it
//! explains and what it was merely fitted to.

use crate::lab::{Failure, Lab};
use crate::paper::{Paper, Variant};
use crate::published::{Claim, Data};
use crate::reproduction::{ByPart, measure_parts_of, ours, significant, verdict, verdict_of_number};
use crate::selection::{ASSUMPTION, SEARCH};
use crate::table::{Cell, Table};
use crate::verdict::Verdict;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Settings of a full and of a quick search.
const SETTINGS: (usize, usize) = (48, 4);

/// Index of the value of each assumption of the paper; 0 is the assumed one.
type Setting = Vec<usize>;

/// A setting that was measured with few seeds.
struct Tried<'a> {
    setting: Setting,
    found: ByPart<'a>,
    /// Claims of the first half that agree, then those that agree in order.
    score: (usize, usize),
}

/// Searches the assumptions of `paper`.
///
/// # Errors
/// The call was interrupted.
pub(crate) fn search(paper: &Paper, data: &Data, lab: &Lab<'_>) -> Result<Vec<Table>, Failure> {
    let search = Search::new(paper, data, lab);
    let mut tried = search.attempt(search.settings())?;
    search.ascend(&mut tried)?;
    let full = [search.measure(&tried[0].setting, false)?, search.measure(&search.best(&tried).setting, false)?];
    Ok(vec![search.values(&search.best(&tried).setting), search.counts(&full), search.claims(&tried, &full)])
}

struct Search<'a> {
    paper: &'a Paper,
    data: &'a Data,
    lab: &'a Lab<'a>,
    /// Claims of the figures and tables that depend on an assumption.
    claims: Vec<&'a Claim>,
}

impl<'a> Search<'a> {
    fn new(paper: &'a Paper, data: &'a Data, lab: &'a Lab<'a>) -> Search<'a> {
        let varied = |id: &String| paper.assumptions.iter().any(|known| known.id == id);
        let depends = |part: &str| {
            let mut claims = data.claims_of(part);
            claims.any(|claim| claim.target().is_some() && claim.assumptions.iter().any(varied))
        };
        let tested = |claim: &&Claim| claim.target().is_some() && !claim.given;
        let claims = data.claims.iter().filter(tested);
        let claims = claims.filter(|claim| depends(claim.part()));
        Search { paper, data, lab, claims: claims.collect() }
    }

    /// The assumed setting, and those that are drawn.
    fn settings(&self) -> Vec<Setting> {
        let number = match self.lab.quick() {
            false => SETTINGS.0,
            true => SETTINGS.1,
        };
        let values = (self.paper.assumptions.iter()).map(|variants| variants.values.len() + 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut settings = hypercube(&values.collect::<Vec<_>>(), number, &mut rng);
        settings.insert(0, vec![0; self.paper.assumptions.len()]);
        settings
    }

    /// Measures settings at the same time, but those whose values exclude each other.
    fn attempt(&self, settings: Vec<Setting>) -> Result<Vec<Tried<'a>>, Failure> {
        let tried = settings.into_par_iter().filter_map(|setting| match self.measure(&setting, true) {
            Ok(found) => Some(Ok(Tried { score: self.score(&found), setting, found })),
            Err(Failure::Conflict(_)) => None,
            Err(failure) => Some(Err(failure)),
        });
        tried.collect()
    }

    /// The setting with the best score, the first of several.
    fn best<'t>(&self, tried: &'t [Tried<'a>]) -> &'t Tried<'a> {
        let best = tried.iter().rev().max_by_key(|tried| tried.score);
        best.expect("the assumed setting is possible")
    }

    /// Tries the other values of each assumption in turn, each with the best setting so far.
    fn ascend(&self, tried: &mut Vec<Tried<'a>>) -> Result<(), Failure> {
        for (assumption, variants) in self.paper.assumptions.iter().enumerate() {
            let others = (0..=variants.values.len()).map(|value| {
                let mut setting = self.best(tried).setting.clone();
                setting[assumption] = value;
                setting
            });
            let others = others.filter(|setting| tried.iter().all(|tried| tried.setting != *setting));
            tried.extend(self.attempt(others.collect())?);
        }
        Ok(())
    }

    fn measure(&self, setting: &Setting, few: bool) -> Result<ByPart<'a>, Failure> {
        let chosen = self.paper.assumptions.iter().zip(setting);
        let variants: Vec<Variant> =
            chosen.filter_map(|(variants, index)| Some(variants.values[index.checked_sub(1)?])).collect();
        let mut lab = self.lab.with_variants(variants);
        if few {
            lab = lab.with_few_seeds();
        }
        let name = format!("{ASSUMPTION}{SEARCH}");
        self.lab.begin(self.paper.name, &name);
        measure_parts_of(&self.claims, self.paper, &lab)
    }

    fn verdict(&self, found: &ByPart<'_>, claim: &Claim) -> Verdict {
        verdict_of_number(self.data, &found[claim.part()], claim)
    }

    /// Claims by which the best setting is chosen, and the others.
    fn half(&self, chosen: bool) -> impl Iterator<Item = &'a Claim> {
        let claims = self.claims.iter().enumerate();
        claims.filter_map(move |(index, claim)| ((index % 2 == 0) == chosen).then_some(*claim))
    }

    /// Claims of the first half that agree, then those that agree in order.
    fn score(&self, found: &ByPart<'_>) -> (usize, usize) {
        let verdicts: Vec<Verdict> = (self.half(true)).map(|claim| self.verdict(found, claim)).collect();
        let number = |of| verdicts.iter().filter(|verdict| **verdict == of).count();
        (number(Verdict::Agrees), number(Verdict::AgreesInOrder))
    }

    fn values(&self, best: &Setting) -> Table {
        let table = Table::new("The best setting", ["assumption", "assumed", "best"]);
        let chosen = self.paper.assumptions.iter().zip(best);
        chosen.fold(table, |table, (variants, index)| {
            let best = index.checked_sub(1);
            let best = best.map_or("the same", |index| variants.values[index].label);
            table.row([Cell::text(variants.id), Cell::text(variants.base), Cell::text(best)])
        })
    }

    fn counts(&self, [assumed, best]: &[ByPart<'_>; 2]) -> Table {
        const VERDICTS: [Verdict; 4] = [Verdict::Agrees, Verdict::AgreesInOrder, Verdict::Undecided, Verdict::Differs];
        let heads = ["claims", "setting"].into_iter();
        let heads = heads.chain(VERDICTS.map(Verdict::name));
        let table = Table::new("Claims by verdict, with all seeds", heads);
        let rows = [
            ("by which it was chosen", "assumed", assumed, true),
            ("by which it was chosen", "best", best, true),
            ("others", "assumed", assumed, false),
            ("others", "best", best, false),
        ];
        rows.into_iter().fold(table, |table, (half, setting, found, chosen)| {
            let verdicts: Vec<Verdict> =
                (self.half(chosen)).map(|claim| verdict(self.data, &found[claim.part()], claim)).collect();
            let number = |of| verdicts.iter().filter(|verdict| **verdict == of).count();
            let cells = VERDICTS.map(|of| Cell::text(number(of).to_string()));
            table.row([Cell::text(half), Cell::text(setting)].into_iter().chain(cells))
        })
    }

    /// Claims that do not agree with the assumed setting, or in some other.
    fn claims(&self, tried: &[Tried<'_>], [assumed, best]: &[ByPart<'_>; 2]) -> Table {
        let heads = ["claim", "assumed", "best setting", "smallest", "largest", "settings in which it agrees"];
        let title = "Claims that do not agree in every setting: our number with all seeds, and over all settings";
        self.claims.iter().fold(Table::new(title, heads), |table, claim| {
            let agrees = (tried.iter()).filter(|tried| self.verdict(&tried.found, claim) == Verdict::Agrees).count();
            if agrees == tried.len() {
                return table;
            }
            let values = (tried.iter()).filter_map(|tried| ours(&tried.found[claim.part()], claim).value);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (f64::min(low, value), f64::max(high, value))
            });
            let number = |value: f64| Cell::text(significant(Some(value).filter(|it| it.is_finite())));
            let full = |found: &ByPart<'_>| {
                let measured = &found[claim.part()];
                let value = significant(ours(measured, claim).value);
                Cell::text(format!("{value} ({})", verdict(self.data, measured, claim)))
            };
            table.row([
                Cell::text(&claim.id),
                full(assumed),
                full(best),
                number(low),
                number(high),
                Cell::text(format!("{agrees} of {}", tried.len())),
            ])
        })
    }
}

/// Draws `number` settings of assumptions with these numbers of values. Each value of an assumption occurs equally often, give or
/// take one.
fn hypercube(values: &[usize], number: usize, rng: &mut impl Rng) -> Vec<Setting> {
    let mut settings = vec![Setting::new(); number];
    for values in values {
        let mut column: Vec<usize> = (0..number).map(|index| index % values).collect();
        column.shuffle(rng);
        for (setting, value) in settings.iter_mut().zip(column) {
            setting.push(value);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::measured::Measured;
    use crate::paper::{Part, Variants};
    use crate::setup::Setup;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    /// A paper whose numbers are the bytes that links add to a packet and the limit of a FIFO.
    const PAPER: Paper = Paper {
        name: "p",
        published: &["
        [[figure]]
        id = 'f'
        title = 't'
        source = 's'
        [[claim]]
        id = 'f/bytes'
        text = 't'
        quantity = 'q'
        value = 38
        assumptions = ['overhead']
        [[claim]]
        id = 'f/bytes-again'
        text = 't'
        quantity = 'q'
        value = 38
        [[claim]]
        id = 'f/limit'
        text = 't'
        quantity = 'q'
        at_most = 10
        [[claim]]
        id = 'f/never'
        text = 't'
        quantity = 'q'
        value = 8
        [[assumption]]
        id = 'overhead'
        text = 't'
        [[assumption]]
        id = 'limit'
        text = 't'
        "],
        sentences: None,
        parts: &[Part { id: "f", measure }],
        assumptions: &[
            Variants {
                id: "overhead",
                base: "14",
                values: &[
                    Variant::new("0", |setup| setup.set_overhead(0)),
                    Variant::new("38", |setup| setup.set_overhead(38)),
                ],
            },
            Variants {
                id: "limit",
                base: "50",
                values: &[
                    Variant::new("7", |setup| setup.set_option("FIFO", "limit", "7")),
                    Variant::new("none", |setup| setup.set_option("FIFO", "limit", "0")),
                ],
            },
        ],
    };

    fn measure(lab: &Lab<'_>) -> Result<Measured, Failure> {
        let text = include_str!("../data/spa-2018/real.toml");
        let setup = Setup::from_toml("real.toml", text).scheme("FIFO", "pfifo limit=50");
        let setup = lab.varied(setup);
        if let Some(conflict) = setup.conflict {
            return Err(Failure::Conflict(conflict));
        }
        let bytes = Estimate::exact(f64::from(setup.scenario.links[0].overhead));
        let limit = setup.schemes[0].1.to_string();
        let limit = limit.rsplit_once('=').expect("an option").1.parse();
        let limit = Estimate::exact(limit.expect("a number"));
        let claims = [("bytes", bytes), ("bytes-again", bytes), ("limit", limit), ("never", limit)];
        Ok(Measured::new().claims(claims))
    }

    #[test]
    fn the_best_setting_is_found_and_what_none_explains_is_listed() {
        let stop = AtomicBool::new(false);
        let lab = Lab::new(true, &(), &stop);
        let tables = search(&PAPER, &PAPER.data(), &lab).unwrap();
        let text = |table: &Table| -> Vec<Vec<String>> {
            let rows = table.rows.iter();
            rows.map(|row| row.iter().map(|cell| format!("{cell:?}")).collect()).collect()
        };
        let [values, counts, claims] = [0, 1, 2].map(|index| text(&tables[index]));
        let says = |cell: &String, what: &str| assert!(cell.contains(what), "{cell}: {what}");
        says(&values[0][2], "38");
        says(&values[1][2], "\"7\"");
        // Of two claims by which it was chosen both agree, none before.
        says(&counts[0][2], "\"0\"");
        says(&counts[1][2], "\"2\"");
        says(&counts[3][2], "\"1\"");
        let never = claims.iter().find(|row| row[0].contains("never")).unwrap();
        says(never.last().unwrap(), "\"0 of");
    }

    proptest! {
        #[test]
        fn each_value_is_drawn_equally_often(
            values in proptest::collection::vec(1_usize..7, 1..14),
            number in 1_usize..60,
            seed: u64,
        ) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let settings = hypercube(&values, number, &mut rng);
            prop_assert_eq!(settings.len(), number);
            for (assumption, values) in values.iter().enumerate() {
                for value in 0..*values {
                    let drawn = settings.iter().filter(|setting| setting[assumption] == value);
                    let drawn = drawn.count();
                    prop_assert!((number / values..=number.div_ceil(*values)).contains(&drawn));
                }
            }
        }
    }
}
