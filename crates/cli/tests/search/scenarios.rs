//! Random scenarios, each by itself: what must hold of the results of any run.

use crate::case::{Case, Checked, broken, holds};
use crate::scenario::{self, Rates};
use gentle_aqm::Spec;
use gentle_capture::CaptureReader;
use gentle_testkit::draw::Draw;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// Largest relative error of a mean that is computed from sums.
const ROUNDING: f64 = 1e-9;

/// Resolution of percentiles, three digits.
const THREE_DIGITS: f64 = 1e-3;

/// Runs a random scenario and checks its results.
pub(crate) fn case(draw: &mut Draw, case: &Case) -> Checked {
    let scenario = scenario::any(draw);
    scenario.write(case, "scenario.toml");
    let scheme = scenario::scheme(draw, scenario.rates.down);
    let seed = format!("--first-seed={}", draw.range(1, 1_000_000));
    let scheme_option = format!("--scheme={scheme}");
    let run = |more: &[&str]| {
        let mut args = vec!["sim", "scenario.toml", "--quiet", &scheme_option, &seed];
        args.extend(more);
        case.succeed(&args)
    };
    let one = run(&["--json", "--seeds=2", "--threads=1"])?;
    if draw.chance(30) {
        let two = run(&["--json", "--seeds=2", "--threads=2"])?;
        holds("the same bytes on any number of threads", one.stdout == two.stdout, || two.line)?;
    }
    let json = parse(&one.stdout)?;
    for result in array(&json["results"]) {
        results(result, scenario.rates)?;
    }
    if draw.chance(40) {
        let again = run(&["--json", "--seeds=1", "--pcap=run.pcapng"])?;
        let json = parse(&again.stdout)?;
        packets(case, &json["results"][0], &scheme, scenario.rates)?;
    }
    Ok(())
}

/// JSON of a command.
pub(crate) fn parse(text: &str) -> Result<Value, crate::case::Finding> {
    serde_json::from_str(text).or_else(|error| broken("valid JSON", format!("{error}: {text}")))
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Number at a JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}

fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// `value` at `path` of `what` is at most `limit`.
fn at_most(invariant: &'static str, what: &Value, path: &str, limit: f64) -> Checked {
    match number(what, path) {
        Some(value) => holds(invariant, value <= limit * (1.0 + ROUNDING) && value >= 0.0, || {
            format!("{path} is {value}, limit {limit}")
        }),
        None => Ok(()),
    }
}

/// Fractions of a result.
const FRACTIONS: [&str; 14] = [
    "/utilization",
    "/links/up/utilization",
    "/jain_index",
    "/links/up/jain_index",
    "/loss/all",
    "/loss/data",
    "/loss/syn",
    "/loss/synack",
    "/loss/handshake",
    "/links/down/loss",
    "/links/up/loss",
    "/retransmission/packet_probability",
    "/retransmission/syn_probability",
    "/retransmission/syn_share",
];

/// Longest packet that a scenario of [`scenario::any`] sends: the largest MSS, headers and overhead.
const LONGEST_PACKET_BITS: f64 = 8.0 * 9_300.0;

/// Changes of a link's rate that a scenario has at most.
const CHANGES: f64 = 4.0;

/// Checks the results of a scheme.
fn results(result: &Value, rates: Rates) -> Checked {
    for path in FRACTIONS {
        at_most("a fraction is 0 to 1", result, path, 1.0)?;
    }
    connections(result)?;
    let mut by_group = 0;
    for group in array(&result["groups"]) {
        connections(group)?;
        by_group += count(group, "/connections");
    }
    holds("no connection is counted twice", by_group <= count(result, "/connections"), || {
        format!("{by_group} in groups, {} in all", result["connections"])
    })?;
    for link in ["down", "up"] {
        let summary = &result["links"][link];
        let capacity = number(summary, "/capacity_bps").unwrap_or_default();
        // At each change of the rate, one packet leaves at the rate before, which the capacity does not know.
        let seconds = rates.duration_us as f64 / 2e6;
        let beyond = if rates.changes { CHANGES * LONGEST_PACKET_BITS / seconds } else { 0.0 };
        let most = if capacity > 0.0 { 1.0 + beyond / capacity } else { 1.0 };
        // Goodput is data in order: a gap that is filled after the warm-up releases data that crossed the link before.
        if rates.warmup_us == 0 || rates.constant {
            let window = (rates.duration_us - rates.warmup_us) as f64;
            at_most(
                "goodput is at most the link's rate",
                summary,
                "/long_goodput_bps/mean",
                capacity * most * rates.duration_us as f64 / window,
            )?;
        }
        let groups = || array(&result["groups"]).iter().map(|group| &group["links"][link]);
        let share: f64 = groups().filter_map(|it| number(it, "/share/mean")).sum();
        holds("groups share at most the link", share <= most + ROUNDING, || format!("{link}: {share}"))?;
        for group in groups() {
            at_most("a fraction is 0 to 1", group, "/loss/mean", 1.0)?;
            percentiles(&group["queue_delay_s"])?;
        }
        percentiles(&summary["queue_delay_s"])?;
        let dropped: u64 = summary["drops"].as_object().into_iter().flatten().filter_map(|it| it.1.as_u64()).sum();
        let (offered, sent) = (count(summary, "/offered"), count(summary, "/sent"));
        holds("no packet is sent or dropped twice", sent + dropped <= offered, || {
            format!("{link}: {offered} offered, {sent} sent, {dropped} dropped")
        })?;
    }
    for application in array(&result["applications"]) {
        for path in ["/loss/mean", "/useless/mean", "/late_frames/mean", "/stalled/mean"] {
            at_most("a fraction is 0 to 1", application, path, 1.0)?;
        }
        for path in ["delay_s", "jitter_s", "connect_s", "transaction_s"] {
            percentiles(&application[path])?;
        }
    }
    Ok(())
}

/// Checks the connections of a result or of a group.
fn connections(result: &Value) -> Checked {
    let [all, completed, unfinished, failed] =
        ["connections", "completed", "unfinished", "failed"].map(|name| result[name].as_u64().unwrap_or_default());
    holds("no connection is lost", all == completed + unfinished + failed, || {
        format!("{all} connections, {completed} completed, {unfinished} unfinished, {failed} failed")
    })?;
    let sizes = array(&result["response_time_by_size"]);
    let of = |name: &str| sizes.iter().filter_map(|it| it[name].as_u64()).sum::<u64>();
    holds(
        "every connection is in one class of sizes",
        of("n") == completed && of("unfinished") == unfinished + failed,
        || {
            format!(
                "{completed} completed, {} in classes, {} of {} open in classes",
                of("n"),
                of("unfinished"),
                unfinished + failed
            )
        },
    )?;
    for name in ["response_time_s", "handshake_s"] {
        percentiles(&result[name])?;
    }
    let retransmission = &result["retransmission"];
    let delay = number(retransmission, "/delay_mean_s");
    if let Some(delay) = delay {
        at_most("a part is at most the whole", retransmission, "/delay_mean_syn_part_s", delay)?;
    }
    // The means are of different connections if some have not completed.
    if completed == all
        && let Some(response) = number(result, "/response_time_s/mean")
    {
        at_most("waiting is at most the response time", result, "/retransmission/delay_mean_s", response)?;
        at_most("a handshake is at most the response time", result, "/handshake_s/mean", response)?;
    }
    Ok(())
}

/// Checks the order of percentiles, which have three digits.
fn percentiles(times: &Value) -> Checked {
    let values: Vec<f64> = ["/p50", "/p95", "/p99"].iter().filter_map(|path| number(times, path)).collect();
    holds("percentiles ascend", values.is_sorted(), || times.to_string())?;
    // The mean is the mean of the seeds' means; percentiles are over all seeds.
    let of_one_seed = times["ci95"].is_null();
    match (number(times, "/mean"), values.first()) {
        (Some(mean), Some(median)) if of_one_seed => {
            holds("half of the times are at most twice the mean", *median <= 2.0 * mean * (1.0 + THREE_DIGITS), || {
                times.to_string()
            })
        }
        _ => Ok(()),
    }
}

/// Sides of the queue in a capture: three interfaces for each direction.
const ENTRY: u32 = 0;
const EXIT: u32 = 1;
const DROP: u32 = 2;
const SIDES: u32 = 3;

/// Offsets in an Ethernet frame with IPv4 and without options.
const DS_FIELD: usize = 15;
const IP_CHECKSUM: std::ops::Range<usize> = 24..26;
const PROTOCOL: usize = 23;
const ADDRESSES_AND_PORTS: std::ops::Range<usize> = 26..38;
const TCP_FLAGS: usize = 47;
const TCP: u8 = 6;
const SYN_OR_FIN: u8 = 3;

/// Checks the packets of a capture against the rate of the link, the promise of order and the counts.
fn packets(case: &Case, result: &Value, scheme: &str, rates: Rates) -> Checked {
    let spec: Spec = scheme.parse().expect("a scheme that ran");
    let order = (spec.scheme().order)(spec.options());
    let mut waiting: BTreeMap<Vec<u8>, VecDeque<Vec<u8>>> = BTreeMap::new();
    let mut counts = [0_u64; 6];
    let mut sent: [Vec<(u64, u64)>; 2] = Default::default();
    let mut reader = CaptureReader::open(&case.path("run.pcapng")).expect("a capture");
    while let Some(packet) = reader.next().expect("a whole capture") {
        counts[packet.interface as usize] += 1;
        let (link, side) = (packet.interface / SIDES, packet.interface % SIDES);
        if side == EXIT {
            sent[link as usize].push((packet.time.0, u64::from(packet.original_len) - 14));
        }
        let mut frame = packet.data.to_vec();
        let is_ordered = order.fifo
            && spec.child().is_none()
            && frame[PROTOCOL] == TCP
            && link == 0
            && (order.priority.is_none() || frame[TCP_FLAGS] & SYN_OR_FIN == 0);
        if !is_ordered || side == DROP {
            continue;
        }
        // Fields of a packet that a queue may change.
        frame[DS_FIELD] = 0;
        frame[IP_CHECKSUM].fill(0);
        let flow = waiting.entry(frame[ADDRESSES_AND_PORTS].to_vec()).or_default();
        if side == ENTRY {
            flow.push_back(frame);
        } else {
            let passed = flow.iter().position(|it| *it == frame);
            let details = || {
                format!(
                    "{scheme}: a packet at {} ns leaves before an earlier one of its connection: {frame:02x?}",
                    packet.time.0
                )
            };
            match passed {
                Some(place) => drop(flow.drain(..=place)),
                None => return broken("packets of a flow leave in order", details()),
            }
        }
    }
    for (link, name) in ["down", "up"].into_iter().enumerate() {
        let [entered, left, dropped] = [0, 1, 2].map(|side| counts[link * 3 + side]);
        holds(
            "a queue sends or drops what it was offered",
            left + dropped <= entered + count(&result["links"][name], "/drops/loss"),
            || format!("{name}: {entered} entered, {left} left, {dropped} dropped"),
        )?;
    }
    if rates.constant {
        for (sent, rate) in sent.iter().zip([rates.down, rates.up]) {
            at_the_rate(sent, rate)?;
        }
    }
    Ok(())
}

/// Between the departures of two packets, a link sends at most what its rate allows; times are rounded to nanoseconds.
fn at_the_rate(sent: &[(u64, u64)], rate: u64) -> Checked {
    // Bytes sent beyond the rate since the time at which the link was last idle.
    let mut excess = 0.0_f64;
    for pair in sent.windows(2) {
        let allowed = (pair[1].0 - pair[0].0 + 1) as f64 * rate as f64 / 8e9;
        excess = (excess + pair[1].1 as f64 - allowed).max(0.0);
        holds("a link sends at most at its rate", excess < 1.0 + pair[1].1 as f64 * 1e-6, || {
            format!("{excess} bytes too many at {} ns, {rate} b/s", pair[1].0)
        })?;
    }
    Ok(())
}
