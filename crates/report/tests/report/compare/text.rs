//! Terminal table, detailed view and CSV, as their reader sees them.

use super::calls::{harmed, household};
use super::fixture::comparison;
use gentle_experiment::results::{
    Comparison, GroupLinkResult, GroupLinks, GroupResult, HEADLINE, Mean, Paired, Series, Verdict,
};
use gentle_report::Origin;
use gentle_report::compare::{csv, html, noticed_by_users, single, table};

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn table_fits_every_usual_width() {
    for width in [200, 120, 80, 60] {
        let text = table(&comparison(), Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        insta::assert_snapshot!(format!("table_{width}"), text);
    }
}

#[test]
fn table_without_a_width_keeps_every_column_and_wraps_nothing() {
    insta::assert_snapshot!(table(&comparison(), None, false));
}

#[test]
fn table_in_a_hopeless_width_keeps_scheme_and_headline() {
    let text = table(&comparison(), Some(10), false);
    let row = text.lines().find(|line| line.starts_with("fq_codel target=20ms")).unwrap();
    assert!(row.ends_with("0.372 ±0.015"), "{row}");
}

#[test]
fn colour_is_the_caller_s_choice_and_marks_what_may_be_best() {
    let comparison = comparison();
    assert!(!table(&comparison, Some(60), false).contains('\u{1b}'));
    let text = table(&comparison, Some(60), true);
    let coloured = text.lines().filter(|line| line.contains('\u{1b}'));
    let coloured: Vec<&str> = coloured.map(|line| line.split("  ").next().unwrap()).collect();
    let best = |name: &str| -> Vec<&str> {
        let best = comparison.results.iter().filter(|r| r.paired[name].best);
        best.map(|r| r.label.as_str()).collect()
    };
    // Only these columns remain.
    let mut expected = best(HEADLINE);
    expected.extend(best("unfinished"));
    assert!(!expected.is_empty());
    for label in coloured {
        assert!(expected.contains(&label), "{label}: {text}");
    }
}

#[test]
fn a_difference_is_marked_where_chance_does_not_explain_it() {
    let comparison = comparison();
    let text = table(&comparison, None, false);
    for result in &comparison.results {
        let row = text.lines().find(|line| line.starts_with(&format!("{} ", result.label)));
        let marked = result.paired[HEADLINE].verdict.is_some();
        assert_eq!(row.unwrap().contains(" *"), marked, "{text}");
    }
    let reference = text.lines().find(|line| line.starts_with("pfifo "));
    assert!(reference.unwrap().contains("reference"), "{text}");
}

#[test]
fn numbers_that_no_seed_changes_have_a_dash_for_an_interval() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    comparison.scenario.replayed = true;
    for result in &mut comparison.results {
        result.seeds_alike = true;
        result.response_time_s.ci95 = None;
        result.response_time_by_size[0].ci95_s = None;
        let value = result.response_time_by_size[0].mean_s;
        result.by_seed.iter_mut().for_each(|series| series.values = vec![value; 3]);
    }
    comparison.set_reference("pfifo");
    insta::assert_snapshot!("replayed", table(&comparison, None, false));
}

#[test]
fn who_leaves_connections_open_is_named_and_not_best() {
    let mut comparison = comparison();
    comparison.results.truncate(3);
    let hasty = &mut comparison.results[1];
    hasty.unfinished = 700;
    hasty.failed = 3;
    hasty.completed -= 703;
    hasty.response_time_by_size[0].unfinished = 600;
    comparison.results[0].unfinished = 0;
    comparison.set_reference("pfifo");
    let text = table(&comparison, None, false);
    assert!(
        text.contains(
            "bfifo leaves 600 of 28,012 connections of 1–3 segments unfinished; its mean omits them and is not ranked."
        ),
        "{text}"
    );
    assert!(
        text.contains("With red, the best of the 2 of 3 schemes that can be ranked, they take 1.71 s: 1.2"),
        "{text}"
    );
    assert!(text.contains("Compared with pfifo, red is faster (*)."), "{text}");
}

#[test]
fn a_scheme_without_observations_shows_dashes() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    let empty = &mut comparison.results[1];
    empty.response_time_s = Default::default();
    empty.links.down.loss = Default::default();
    empty.links.down.loss_ci95 = Default::default();
    empty.response_time_by_size.iter_mut().for_each(|bin| bin.mean_s = None);
    empty.by_seed.clear();
    comparison.set_reference("pfifo");
    let text = table(&comparison, Some(120), false);
    let row = text.lines().find(|line| line.starts_with("bfifo")).unwrap();
    // Shortest connections, mean and 95th percentile of all, both losses; no scheme has a difference.
    assert_eq!(row.matches('–').count(), 5, "{text}");
}

#[test]
fn one_seed_and_an_early_stop_are_said() {
    let mut comparison = comparison();
    comparison.interrupted = true;
    comparison.results.truncate(3);
    comparison.left_out = vec!["codel".to_owned()];
    comparison.seeds = vec![1];
    for result in &mut comparison.results {
        result.seeds = 1;
        result.response_time_s.ci95 = None;
        result.response_time_by_size[0].ci95_s = None;
        result.by_seed.iter_mut().for_each(|series| series.values.truncate(1));
    }
    comparison.set_reference("pfifo");
    insta::assert_snapshot!(table(&comparison, Some(100), false));
}

#[test]
fn a_long_label_wraps_in_its_cell() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    comparison.results[1].label =
        "red limit=1500000b min=150000b max=450000b avpkt=1500b ewma=9 bandwidth=100mbit".to_owned();
    comparison.set_reference("pfifo");
    for width in [80, 90, 120] {
        let text = table(&comparison, Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        let text = single(&comparison, Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
    }
    insta::assert_snapshot!(table(&comparison, Some(90), false));
}

#[test]
fn without_connections_that_is_all_that_is_said() {
    let mut comparison = comparison();
    comparison.results.truncate(1);
    let only = &mut comparison.results[0];
    only.connections = 0;
    only.response_time_s = Default::default();
    only.response_time_by_size.clear();
    only.loss = Default::default();
    only.links = Default::default();
    only.retransmission = Default::default();
    only.unfinished = 0;
    only.failed = 0;
    let text = single(&comparison, Some(100), false);
    assert!(text.contains("No connection starts within 1,000 s, so there is nothing to measure"), "{text}");
    assert!(!text.contains("\n\n\n") && !text.ends_with("\n\n"), "{text}");
}

#[test]
fn equal_means_are_said_to_be_equal() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    comparison.results[1] = gentle_experiment::results::SchemeResult {
        label: "red".to_owned(),
        scheme: "red".to_owned(),
        ..comparison.results[0].clone()
    };
    comparison.set_reference("pfifo");
    let text = table(&comparison, None, false);
    assert!(text.contains("None of 2 schemes has a lower mean; 3 seeds cannot tell which scheme is best."), "{text}");
    assert!(text.contains("is 4.12 s (pfifo)."), "{text}");
}

#[test]
fn groups_have_a_table_of_their_own() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    comparison.set_reference("pfifo");
    assert!(!table(&comparison, None, false).contains("group"));
    for result in &mut comparison.results {
        result.groups = [("one in ten", 4_163), ("the rest", 37_467)]
            .map(|(name, connections)| GroupResult {
                group: name.to_owned(),
                connections,
                completed: connections,
                response_time_s: result.response_time_s,
                response_time_by_size: result.response_time_by_size.clone(),
                rtt_s: result.rtt_s,
                handshake_s: result.handshake_s,
                retransmission: result.retransmission,
                retransmission_ci95: result.retransmission_ci95,
                ..GroupResult::default()
            })
            .into();
    }
    insta::assert_snapshot!("groups", table(&comparison, None, false));
    let narrow = table(&comparison, Some(70), false);
    assert!(narrow.contains("one in ten") && widest(&narrow) <= 70, "{narrow}");
    assert!(single(&comparison, Some(80), false).contains("Group the rest"));
    let page = html(&comparison, &Origin::default());
    assert_eq!(page.matches("<td>one in ten</td>").count(), 2);
}

/// Groups of flows that do not end have no response times, but a rate, a share of the link, losses and delays.
#[test]
fn groups_without_connections_show_their_packets() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    comparison.set_reference("pfifo");
    for result in &mut comparison.results {
        result.groups = [("host 1", 0.0415), ("host 2", 0.958)]
            .map(|(name, share)| GroupResult {
                group: name.to_owned(),
                response_time_by_size: result.response_time_by_size.clone(),
                rtt_s: result.rtt_s,
                links: GroupLinks {
                    down: Some(GroupLinkResult {
                        rate_bps: mean(2.4e6 * share, 4e4),
                        share: mean(share, 0.016),
                        loss: mean(0.03, 0.002),
                        queue_delay_s: result.queue_delay_s,
                        ..GroupLinkResult::default()
                    }),
                    up: None,
                },
                ..GroupResult::default()
            })
            .into();
        for (value, group) in [(0.0415, 0), (0.958, 1)] {
            result.by_seed.push(Series {
                name: format!("groups.{group}.links.down.share.mean"),
                better: None,
                values: vec![Some(value); 3],
            });
        }
        result.links.up.long_goodput_bps = mean(0.9e6, 2e4);
        result.links.up.capacity_bps = Some(1e6);
        result.links.up.jain_index = Some(0.875);
    }
    insta::assert_snapshot!("groups_of_packets", table(&comparison, None, false));
    let narrow = table(&comparison, Some(70), false);
    assert!(narrow.contains("host 2") && widest(&narrow) <= 70, "{narrow}");
    let single = single(&comparison, Some(80), false);
    assert!(single.contains("share of link"), "{single}");
    let page = html(&comparison, &Origin::default());
    assert!(page.contains("share of link") && !page.contains("share of link up"));
    let mut text = Vec::new();
    csv(&comparison, &mut text).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let heads = reader.headers().unwrap().clone();
    let place = |head: &str| heads.iter().position(|found| found == head);
    let columns = ["mean", "ci95"].map(|of| place(&format!("groups.0.links.down.share.{of}")));
    let [Some(mean), Some(ci95)] = columns else {
        panic!("{heads:?}");
    };
    let all = reader.records().map(Result::unwrap).find(|row| &row[2] == "all");
    let all = all.unwrap();
    assert_eq!((&all[mean], &all[ci95]), ("0.0415", "0.016"));
}

fn mean(mean: f64, ci95: f64) -> Mean {
    Mean { mean: Some(mean), ci95: Some(ci95) }
}

#[test]
fn nothing_finished_is_a_sentence() {
    let mut comparison = comparison();
    comparison.results.clear();
    assert_eq!(table(&comparison, Some(80), true), "No run has finished, so there are no results.\n");
    assert_eq!(single(&comparison, Some(80), true), "No run has finished, so there are no results.\n");
}

#[test]
fn labels_cannot_control_the_terminal() {
    let mut comparison = comparison();
    comparison.results[0].label = "\u{1b}[2Jpfifo\r\n".to_owned();
    comparison.scenario.title = "\u{1b}]0;title\u{7}".to_owned();
    for text in [table(&comparison, Some(120), false), single(&comparison, Some(120), false)] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn single_shows_every_number_of_a_scheme() {
    let mut comparison = comparison();
    comparison.results.truncate(1);
    insta::assert_snapshot!(single(&comparison, Some(100), false));
}

#[test]
fn csv_has_a_row_a_seed_and_one_over_all() {
    let mut comparison = comparison();
    comparison.results.truncate(2);
    let mut bytes = Vec::new();
    csv(&comparison, &mut bytes).unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
}

#[test]
fn csv_reports_a_full_disk() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert!(csv(&comparison(), Full).is_err());
}

#[test]
fn applications_have_a_table_each() {
    for width in [100, 60] {
        let text = table(&household(), Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        insta::assert_snapshot!(format!("applications_{width}"), text);
    }
}

#[test]
fn two_schemes_are_said_side_by_side() {
    let mut comparison = household();
    comparison.results.retain(|result| ["pfifo", "cake"].contains(&result.scheme.as_str()));
    let both = [
        "With a plain queue (pfifo), 95 % of web pages load within 4.16 s, voice calls drop out 4.10 times a minute and 99 % of lookups are answered within 901 ms.",
        "With cake: 1.33 s, 0.10 times a minute and 43.0 ms.",
    ];
    assert_eq!(noticed_by_users(&comparison), both);
    // The lowest numbers are no longer those of the other scheme.
    comparison.results[0].applications[0].stalls_per_minute.mean = Some(0.05);
    comparison.results[1].applications[1].transaction_s.p95 = None;
    let both = noticed_by_users(&comparison);
    assert!(both[0].contains("voice calls drop out 0.05 times a minute"), "{both:?}");
    assert_eq!(both[1], "With cake: nothing was measured of Web pages (browsing), 0.10 times a minute and 43.0 ms.");
    comparison.results.clear();
    assert!(noticed_by_users(&comparison).is_empty());
}

/// The scheme recommended for applications is worse in none of their numbers, and nowhere far from the best.
#[test]
fn the_next_step_names_a_scheme_that_people_notice_no_harm_of() {
    let mut comparison = household();
    let advice = |comparison: &Comparison| {
        let text = table(comparison, None, false);
        text.lines().find(|line| line.starts_with("Next: ")).map(str::to_owned)
    };
    comparison.results.iter_mut().for_each(|result| result.paired.clear());
    assert_eq!(advice(&comparison), None);
    let [voice, pages, lookups] = ["0.stalls_per_minute.mean", "1.transaction_s.p95", "2.transaction_s.p99"]
        .map(|end| format!("applications.{end}"));
    let mut decide = |scheme: &str, number: &str, verdict| {
        let result = comparison.results.iter_mut().find(|result| result.scheme == scheme).unwrap();
        result.paired.insert(number.to_owned(), Paired { verdict: Some(verdict), ..Paired::default() });
    };
    decide("spa", &pages, Verdict::Better);
    decide("spa", &voice, Verdict::Worse);
    decide("fq_codel", &pages, Verdict::Better);
    decide("cake", &pages, Verdict::Better);
    decide("cake", &lookups, Verdict::Better);
    let text = advice(&comparison).unwrap();
    assert!(
        text.starts_with("Next: cake is better than pfifo in 2 of the 3 numbers that people notice, beyond chance, and worse in none. gentle qdisc plan DEVICE cake --rate RATE prints"),
        "{text}"
    );
}

#[test]
fn applications_beside_connections_follow_them() {
    let mut comparison = household();
    comparison.results[0].connections = 12;
    let text = table(&comparison, None, false);
    assert!(text.contains("12 connections, voice, browsing and dns in 3 seeds"), "{text}");
    assert!(text.contains("response"), "{text}");
}

#[test]
fn the_best_of_an_application_is_marked() {
    let text = table(&household(), None, true);
    let voice = text.split("Voice calls").nth(1).unwrap();
    let line = |scheme: &str| voice.lines().find(|line| line.contains(scheme)).unwrap();
    assert!(line("cake").contains('\u{1b}'), "{text}");
    assert!(!line("pfifo").contains('\u{1b}'), "{text}");
}

#[test]
fn harm_has_a_table_and_alone_has_none() {
    assert!(!table(&household(), None, false).contains("Harm"));
    insta::assert_snapshot!("harm", table(&harmed(), Some(80), false));
}

#[test]
fn single_shows_every_application() {
    let mut comparison = harmed();
    comparison.results.truncate(1);
    comparison.set_reference("pfifo");
    insta::assert_snapshot!("single_with_applications", single(&comparison, Some(80), false));
}

#[test]
fn columns_of_applications_are_named_by_them() {
    let mut text = Vec::new();
    csv(&household(), &mut text).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|known| known == name).unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    // Three seeds and the row over all of them.
    assert_eq!(rows.len(), 4 * 4);
    let all = rows.iter().find(|row| &row[0] == "fq_codel" && &row[2] == "all").unwrap();
    assert_eq!(&all[column("voice.delay_s.p99")], "0.031");
    assert_eq!(&all[column("browsing.transaction_s.ci95")], (0.03 * 0.5 * 1.22).to_string());
    assert!(rows.iter().all(|row| &row[2] == "all" || row[column("voice.useless.mean")].parse::<f64>().is_ok()));
}
