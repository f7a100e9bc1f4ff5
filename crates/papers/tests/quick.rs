//! Every paper, reproduced quickly: each figure, table and claim has an item, and every difference a reason.

use gentle_papers::{Kind, Lab, PAPERS, Paper, Reproduction, Selection, Verdict, reproduce};
use std::sync::atomic::AtomicBool;

fn quick(name: &str) -> (&'static Paper, Reproduction) {
    let paper = Paper::by_name(name).unwrap();
    let stop = AtomicBool::new(false);
    let lab = Lab::new(true, &(), &stop);
    let reproduction = reproduce(paper, &Selection::all(paper), &lab).unwrap();
    (paper, reproduction)
}

/// Checks what holds for every paper.
fn check(name: &str) {
    let (paper, reproduction) = quick(name);
    let data = paper.data();
    assert!(!reproduction.interrupted);
    let ids: Vec<&str> = reproduction
        .items
        .iter()
        .map(|item| item.id.as_str())
        .collect();
    let headings = data
        .figures
        .iter()
        .chain(&data.tables)
        .map(|heading| &heading.id);
    let claims = data.claims.iter().map(|claim| &claim.id);
    for id in headings.chain(claims) {
        let times = ids.iter().filter(|known| *known == id).count();
        assert_eq!(times, 1, "{name}: items named {id}");
    }
    let varied: Vec<&str> = paper
        .assumptions
        .iter()
        .map(|variants| variants.id)
        .collect();
    for assumption in &data.assumptions {
        let named = data
            .claims
            .iter()
            .any(|claim| claim.assumptions.contains(&assumption.id));
        let has_item = ids.contains(&format!("assumption/{}", assumption.id).as_str());
        let is_varied = varied.contains(&assumption.id.as_str());
        assert_eq!(has_item, named && is_varied, "{name}: {}", assumption.id);
    }
    for item in &reproduction.items {
        let id = &item.id;
        match item.kind {
            Kind::Claim => assert!(
                item.ours.value.is_some() || item.verdict == Verdict::Differs,
                "{name}: {id} has no number"
            ),
            Kind::Figure => assert!(!item.charts.is_empty(), "{name}: {id} shows nothing"),
            Kind::Table => assert!(!item.tables.is_empty(), "{name}: {id} shows nothing"),
        }
    }
    let counted = reproduction.verdicts;
    let sum = counted.agrees + counted.agrees_in_order + counted.differs + counted.not_published;
    assert_eq!(sum as usize, data.claims.len());
    flips(name, &reproduction);
}

/// Each published value, disturbed beyond its tolerance, changes the verdict; moved to our number, it agrees.
fn flips(name: &str, reproduction: &Reproduction) {
    let data = Paper::by_name(name).unwrap().data();
    for claim in &data.claims {
        let item = reproduction
            .items
            .iter()
            .find(|item| item.id == claim.id)
            .unwrap();
        let (Some(_), Some(ours)) = (claim.target(), item.ours.value) else {
            continue;
        };
        let away = 1.01 * claim.tolerance + 1e-6 * ours.abs().max(1.0);
        let verdict = |change: &dyn Fn(f64) -> f64| {
            let mut changed = claim.clone();
            changed.neutral = None;
            changed.value = claim.value.map(|_| change(ours));
            changed.at_most = claim.at_most.map(|_| change(ours));
            changed.at_least = claim.at_least.map(|_| change(ours));
            changed.between = claim.between.map(|_| [change(ours), change(ours) + 1e-9]);
            Verdict::of_claim(&changed, Some(ours), &[])
        };
        assert_eq!(
            verdict(&|ours| ours),
            Verdict::Agrees,
            "{name}: {}",
            claim.id
        );
        if claim.at_most.is_none() {
            assert_eq!(
                verdict(&|ours| ours + away),
                Verdict::Differs,
                "{name}: {}",
                claim.id
            );
        }
        if claim.at_least.is_none() {
            assert_eq!(
                verdict(&|ours| ours - away),
                Verdict::Differs,
                "{name}: {}",
                claim.id
            );
        }
    }
}

#[test]
fn spa_2018() {
    check("spa-2018");
}

#[test]
fn redfavor_2012() {
    check("redfavor-2012");
}

#[test]
fn gsp_2015() {
    check("gsp-2015");
}

#[test]
fn handshake_2009() {
    check("handshake-2009");
}

#[test]
fn model() {
    check("model");
}

#[test]
fn open() {
    check("open");
}

#[test]
fn every_paper_is_checked_here() {
    assert_eq!(PAPERS.len(), 6);
}
