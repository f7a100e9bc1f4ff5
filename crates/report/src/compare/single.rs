//! Detailed view of one scheme, for a run of a single scenario.

use super::applications::applications;
use super::conclusions::conclusions;
use super::experiment::measured_anything;
use super::groups::is_shown;
use super::table::{head, headline, sentences};
use crate::format::{NONE, Quantity, Scale, count, percent, plural, rate, sizes, time};
use crate::terminal::Sheet;
use gentle_experiment::results::{
    Comparison, Distribution, GroupResult, LinkResult, LinkSummary, SchemeResult, SizeBin,
};
use std::collections::BTreeMap;

/// Formats every number of every scheme in `comparison`, one below the other; intended for a single scheme.
///
/// Long lines wrap to `width`. With `color`, headings are highlighted.
pub fn single(comparison: &Comparison, width: Option<usize>, color: bool) -> String {
    let conclusions = conclusions(comparison);
    let mut text = headline(&conclusions, width);
    let head = head(comparison, width);
    if !head.is_empty() {
        text += &format!("\n{head}");
    }
    let results = comparison.results.iter().filter(|_| measured_anything(comparison));
    for result in results {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &scheme(comparison, result, width, color);
    }
    let sentences = sentences(&conclusions, width);
    if !text.is_empty() && !sentences.is_empty() {
        text.push('\n');
    }
    text + &sentences
}

fn scheme(comparison: &Comparison, r: &SchemeResult, width: Option<usize>, color: bool) -> String {
    let mut page = Sheet::new(width, color);
    let scenario = &comparison.scenario;

    page.heading(&r.label);
    page.line("scenario", &format!("{} ({})", scenario.title, scenario.source));
    page.line("options", &pairs(&r.options));
    page.line("seeds", &count(r.seeds.into()));
    page.line("connections", &connections(r));

    if r.connections > 0 || r.applications.is_empty() {
        page.heading("Response time");
        distribution(&mut page, "all sizes", &r.response_time_s);
        by_size(&mut page, &r.response_time_by_size);
        distribution(&mut page, "handshake", &r.handshake_s);
        page.line("round-trip time", &mean(r.rtt_s.mean, r.rtt_s.ci95));
    }

    for application in applications(comparison) {
        page.heading(&application.title);
        for metric in &application.metrics {
            let (measured, scale) = metric.of_scheme(r);
            let name = format!("{}, {}", metric.subject, metric.detail);
            let value = scale.show_ci(measured.value, measured.ci95);
            page.line(&name, &[value.as_str(), scale.unit].join(" "));
        }
    }

    for group in r.groups.iter().filter(|group| is_shown(comparison, group)) {
        page.heading(&format!("Group {}", group.group));
        group_lines(&mut page, group);
    }

    if r.connections > 0 || r.applications.is_empty() {
        retransmissions(&mut page, r);
    }

    page.heading("Loss in both queues");
    page.line("all packets", &share(r.loss.all, r.loss_ci95.all));
    page.line("data", &share(r.loss.data, r.loss_ci95.data));
    page.line("SYN", &share(r.loss.syn, r.loss_ci95.syn));
    page.line("SYN/ACK", &share(r.loss.synack, r.loss_ci95.synack));

    link(&mut page, "Link under test", &scenario.down, &r.label, &r.links.down);
    page.line("ECN marks", &count(r.marks));
    long_flows(&mut page, &r.links.down);
    link(&mut page, "Reverse link", &scenario.up, &scenario.up.qdisc, &r.links.up);
    long_flows(&mut page, &r.links.up);
    page.text
}

/// Goodput of the long-lived flows that use a link, if there are any.
fn long_flows(page: &mut Sheet, link: &LinkResult) {
    if let Some(goodput) = link.long_goodput_bps.mean {
        page.line("goodput, long flows", &rate(goodput.round() as u64));
    }
    if let Some(jain) = link.jain_index {
        page.line("Jain's index", &Scale::of(Quantity::Index, std::iter::empty()).show(Some(jain)));
    }
}

/// Connections and packets of a group.
fn group_lines(page: &mut Sheet, group: &GroupResult) {
    let links = [("", &group.links.down), (" up", &group.links.up)];
    if group.connections > 0 || links.iter().all(|(_, link)| link.is_none()) {
        page.line("connections", &count(group.connections));
        distribution(page, "all sizes", &group.response_time_s);
        by_size(page, &group.response_time_by_size);
        distribution(page, "handshake", &group.handshake_s);
        let (rtx, ci) = (&group.retransmission, &group.retransmission_ci95);
        page.line("with SYN, SYN/ACK rtx.", &share(rtx.connections_with_syn_loss, ci.connections_with_syn_loss));
    }
    for (suffix, link) in links {
        let Some(link) = link else {
            continue;
        };
        let throughput = |bps: f64| rate(bps.round() as u64);
        page.line(&format!("rate{suffix}"), &interval(link.rate_bps.mean, link.rate_bps.ci95, throughput));
        page.line(&format!("share of link{suffix}"), &share(link.share.mean, link.share.ci95));
        page.line(&format!("loss{suffix}"), &share(link.loss.mean, link.loss.ci95));
        distribution(page, &format!("queue delay{suffix}"), &link.queue_delay_s);
    }
}

/// Retransmissions of the connections.
fn retransmissions(page: &mut Sheet, r: &SchemeResult) {
    page.heading("Retransmission");
    let (rtx, ci) = (&r.retransmission, &r.retransmission_ci95);
    page.line("packets", &share(rtx.packet_probability, ci.packet_probability));
    page.line("SYN, SYN/ACK", &share(rtx.syn_probability, ci.syn_probability));
    page.line("share of SYN, SYN/ACK", &share(rtx.syn_share, ci.syn_share));
    page.line("with SYN, SYN/ACK rtx.", &share(rtx.connections_with_syn_loss, ci.connections_with_syn_loss));
    page.line("delay", &mean(rtx.delay_mean_s, ci.delay_mean_s));
    page.line("  of it SYN, SYN/ACK", &mean(rtx.delay_mean_syn_part_s, ci.delay_mean_syn_part_s));
    page.line("  with SYN loss", &mean(rtx.delay_mean_with_syn_loss_s, ci.delay_mean_with_syn_loss_s));
    page.line("  without", &mean(rtx.delay_mean_without_syn_loss_s, ci.delay_mean_without_syn_loss_s));
}

fn by_size(page: &mut Sheet, bins: &[SizeBin]) {
    for bin in bins {
        let n = plural(bin.n, "connection", "connections");
        let mean = mean(bin.mean_s, bin.ci95_s);
        page.line(&format!("{} segments", sizes(bin.min_segments, bin.max_segments)), &format!("{mean}   {n}"));
    }
}

fn distribution(page: &mut Sheet, name: &str, d: &Distribution) {
    let percentile = |p: Option<f64>| p.map_or(NONE.to_owned(), time);
    page.line(
        name,
        &format!(
            "{}   p50 {}, p95 {}, p99 {}",
            mean(d.mean, d.ci95),
            percentile(d.p50),
            percentile(d.p95),
            percentile(d.p99)
        ),
    );
}

fn link(page: &mut Sheet, name: &str, link: &LinkSummary, qdisc: &str, r: &LinkResult) {
    page.heading(name);
    page.line("link", &format!("{}, {} one way, {qdisc}", rate(link.rate_bps), time(link.delay_s)));
    page.line("used", &share(r.utilization, None));
    distribution(page, "queue delay", &r.queue_delay_s);
    page.line("packets", &format!("{} offered, {} sent", count(r.offered), count(r.sent)));
    page.line("drops", &drops(&r.drops));
    let loss = [("all", r.loss.all), ("data", r.loss.data), ("SYN", r.loss.syn), ("SYN/ACK", r.loss.synack)];
    let loss: Vec<String> = loss.iter().map(|(kind, l)| format!("{kind} {}", share(*l, None))).collect();
    page.line("loss", &loss.join(", "));
}
fn connections(r: &SchemeResult) -> String {
    format!(
        "{} started, {} completed, {} unfinished, {} given up",
        count(r.connections),
        count(r.completed),
        count(r.unfinished),
        count(r.failed)
    )
}

fn mean(value: Option<f64>, ci95: Option<f64>) -> String {
    interval(value, ci95, time)
}

fn share(value: Option<f64>, ci95: Option<f64>) -> String {
    interval(value, ci95, percent)
}

fn interval(value: Option<f64>, ci95: Option<f64>, show: impl Fn(f64) -> String) -> String {
    match (value, ci95) {
        (None, _) => NONE.to_owned(),
        (Some(value), None) => show(value),
        (Some(value), Some(ci)) => format!("{} ± {}", show(value), show(ci)),
    }
}

fn pairs(map: &BTreeMap<String, String>) -> String {
    if map.is_empty() {
        return "none".to_owned();
    }
    map.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
}

fn drops(drops: &BTreeMap<&'static str, u64>) -> String {
    let counts: Vec<String> =
        drops.iter().filter(|(_, n)| **n > 0).map(|(reason, n)| format!("{} {reason}", count(*n))).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}
