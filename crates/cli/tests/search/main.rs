//! A search for inputs on which the command breaks its promises.
//!
//! Each kind of case has a module. A case draws its input at random ([`gentle_testkit::draw`]), runs the command on it within limits of
//! time and memory ([`case`]) and checks invariants. `make test` tries fixed seeds, `make test-all` more of them, and
//! `make search` fresh ones for the given time; findings are made smaller and written to a folder ([`driver`]).

#![expect(clippy::disallowed_methods, reason = "what tests compute is no result")]
#![cfg(target_os = "linux")]

mod case;
mod damage;
mod driver;
mod loops;
mod qdiscs;
mod relations;
mod scenario;
mod scenarios;

use driver::Kind;

/// All kinds. The numbers are seeds in `make test` and in `make test-all`.
const KINDS: &[Kind] = &[
    Kind::new("scenarios", scenarios::case, 40, 2_000),
    Kind::new("relations", relations::case, 20, 1_000),
    Kind::new("loops", loops::case, 12, 600),
    Kind::new("damage", damage::case, 60, 3_000),
    Kind::new("qdiscs", qdiscs::case, 8, 500),
];

#[test]
fn scenarios_of_fixed_seeds_keep_their_invariants() {
    driver::try_fixed("scenarios");
}

#[test]
fn relations_between_scenarios_of_fixed_seeds_hold() {
    driver::try_fixed("relations");
}

#[test]
fn captures_of_fixed_seeds_give_the_numbers_of_their_simulations() {
    driver::try_fixed("loops");
}

#[test]
fn damaged_files_of_fixed_seeds_are_refused_or_read() {
    driver::try_fixed("damage");
}

#[test]
fn qdiscs_of_fixed_seeds_are_restored_or_refused() {
    driver::try_fixed("qdiscs");
}

#[test]
#[ignore = "make test-all"]
fn full_size_fixed_seeds_of_all_kinds() {
    driver::try_full_size();
}

#[test]
#[ignore = "make search"]
fn fresh_seeds() {
    driver::search();
}
