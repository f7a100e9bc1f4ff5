//! Closed loops: what `gentle` writes about a simulation gives the simulation's numbers when `gentle` reads it.

use crate::case::{Case, Checked, Finding, broken, holds};
use crate::scenario;
use crate::scenarios::{number, parse};
use gentle_capture::CaptureReader;
use gentle_testkit::draw::Draw;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn case(draw: &mut Draw, case: &Case) -> Checked {
    match draw.chance(30) {
        true => replayed(draw, case),
        false => analysed(draw, case),
    }
}

fn run(case: &Case, args: &[&str]) -> Result<Value, Finding> {
    parse(&case.succeed(&[args, &["--quiet", "--json"]].concat())?.stdout)
}

/// Handshakes in the capture of a run.
#[derive(Debug, Default)]
struct Truth {
    /// Addresses and ports of connections whose SYN was sent, of those whose SYN/ACK was, and of those that lost one of
    /// either in a queue or on a link before the client's ACK.
    begun: BTreeSet<Vec<u8>>,
    accepted: BTreeSet<Vec<u8>>,
    lost: BTreeSet<Vec<u8>>,
    /// SYNs and SYN/ACKs sent, and dropped; without floods.
    sent: [u64; 2],
    dropped: [u64; 2],
    handshakes: BTreeMap<Vec<u8>, Handshake>,
    /// Times at which SYNs and SYN/ACKs entered a queue that they have not left, and the longest stay in one, nanoseconds.
    waiting: BTreeMap<(usize, Vec<u8>), u64>,
    longest_stay: u64,
}

/// Handshake of a connection as the client's end sends and the server's end answers.
#[derive(Debug)]
struct Handshake {
    /// Time of the first SYN, and of the client's first segment with an ACK, nanoseconds.
    first_syn: u64,
    first_ack: Option<u64>,
    /// A segment of the client after its SYNs was dropped, such as the ACK of the SYN/ACK.
    lost_later: bool,
    /// The server sent a SYN/ACK after the client's first segment with an ACK.
    accepted_again: bool,
    /// Time from the client's first segment with an ACK until one has left the queue, nanoseconds.
    ack_waited: Option<u64>,
}

impl Truth {
    /// Mean time in seconds from the first SYN to the ACK of the SYN/ACK, and the number of connections that have it.
    fn mean_handshake(&self) -> Option<(f64, u64)> {
        let times = self.handshakes.values().filter_map(|it| Some(it.first_ack?.saturating_sub(it.first_syn)));
        let times: Vec<u64> = times.collect();
        let sum: u64 = times.iter().sum();
        let count = times.len() as u64;
        (count > 0).then(|| (sum as f64 / 1e9 / count as f64, count))
    }
}

/// Offsets in an Ethernet frame with IPv4 and without options.
const PROTOCOL: usize = 23;
const ADDRESSES: std::ops::Range<usize> = 26..34;
const PORTS: std::ops::Range<usize> = 34..38;
const TCP_FLAGS: usize = 47;
const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const SYN_ACK: u8 = SYN | ACK;
/// Sides of the queue in a capture: three interfaces for each direction.
const ENTRY: u32 = 0;
const DROP: u32 = 2;
const SIDES: u32 = 3;
/// Wait in a queue from which on several causes of a repetition look alike, nanoseconds.
const LONGEST_STAY: u64 = 400_000_000;
/// Second octet of the sources of a flood.
const FLOOD: u8 = 3;

fn truth(case: &Case) -> Truth {
    let mut truth = Truth::default();
    let mut reader = CaptureReader::open(&case.path("run.pcapng")).expect("a capture");
    while let Some(packet) = reader.next().expect("a whole capture") {
        let (frame, time) = (packet.data, packet.time.0);
        if frame[PROTOCOL] != TCP || frame[ADDRESSES.start + 1] == FLOOD {
            continue;
        }
        let (addresses, ports) = (&frame[ADDRESSES], &frame[PORTS]);
        let from_client = [addresses, ports].concat();
        let from_server = [&addresses[4..], &addresses[..4], &ports[2..], &ports[..2]].concat();
        let (kind, flow) = match frame[TCP_FLAGS] & (SYN | ACK) {
            SYN => (0, from_client),
            SYN_ACK => (1, from_server),
            _ => {
                if let Some(handshake) = truth.handshakes.get_mut(&from_client) {
                    match packet.interface % SIDES {
                        ENTRY => drop(handshake.first_ack.get_or_insert(time)),
                        DROP => handshake.lost_later = true,
                        _ => {
                            let since = handshake.first_ack.unwrap_or(time);
                            handshake.ack_waited.get_or_insert(time - since);
                        }
                    }
                }
                continue;
            }
        };
        let entered = (kind, flow.clone());
        if packet.interface % SIDES == ENTRY {
            truth.waiting.entry(entered).or_insert(time);
        } else if let Some(since) = truth.waiting.remove(&entered) {
            truth.longest_stay = truth.longest_stay.max(time - since);
        }
        match packet.interface % SIDES {
            ENTRY => {
                truth.sent[kind] += 1;
                if kind == 0 {
                    truth.handshakes.entry(flow.clone()).or_insert(Handshake {
                        first_syn: time,
                        first_ack: None,
                        lost_later: false,
                        accepted_again: false,
                        ack_waited: None,
                    });
                    truth.begun.insert(flow);
                } else {
                    if let Some(it) = truth.handshakes.get_mut(&flow) {
                        it.accepted_again |= it.first_ack.is_some();
                    }
                    truth.accepted.insert(flow);
                }
            }
            DROP => {
                truth.dropped[kind] += 1;
                // After the client's ACK, a SYN/ACK is spurious, or the ACK was lost.
                let open = truth.handshakes.get(&flow).is_some_and(|it| it.first_ack.is_none());
                if open {
                    truth.lost.insert(flow);
                }
            }
            _ => {}
        }
    }
    truth
}

/// The analysis of the capture of a run has the run's connections, SYNs and SYN/ACKs, their losses and times.
fn analysed(draw: &mut Draw, case: &Case) -> Checked {
    let mut scenario = scenario::any(draw);
    // Results without warm-up are about the same connections as the capture.
    scenario.head =
        scenario.head.lines().filter(|line| !line.starts_with("warmup")).map(|line| format!("{line}\n")).collect();
    scenario.write(case, "scenario.toml");
    let scheme = format!("--scheme={}", scenario::scheme(draw, scenario.rates.down));
    let simulated = run(case, &["compare", "--traffic=scenario.toml", &scheme, "--seeds=1", "--pcap=run.pcapng"])?;
    let result = &simulated["results"][0];
    let truth = truth(case);
    if truth.begun.is_empty() {
        return Ok(());
    }
    let is = |kinds: &[&str]| {
        let of = |text: &String| kinds.iter().any(|kind| text.contains(&format!("kind = \"{kind}\"")));
        scenario.workloads.iter().any(of)
    };
    let has_users = is(&["pages", "ssh", "on_off"]);
    let has_flood = is(&["syn_flood"]);
    // The simulation and its capture.
    for (kind, class) in ["syn", "synack"].into_iter().enumerate() {
        let share = (truth.sent[kind] > 0).then(|| truth.dropped[kind] as f64 / truth.sent[kind] as f64);
        let recorded = number(result, &format!("/loss/{class}"));
        // A tunnel hides handshakes from the counters as from the queue.
        let is_tunnelled = scenario.workloads.iter().any(|text| text.contains("tunnel"));
        holds("the capture has the losses of the results", alike(share, recorded) || is_tunnelled, || {
            format!("{class}: {share:?} in the capture, {recorded:?} in the results")
        })?;
    }
    let long: u64 =
        ["down", "up"].into_iter().filter_map(|link| simulated["scenario"][link]["long_flows"].as_u64()).sum();
    let connections = result["connections"].as_u64().unwrap_or_default();
    let begun = truth.begun.len() as u64;
    if !has_users {
        // A SYN that waits for an access link when the run ends has not reached the queue, and its connection is unfinished.
        let has_access = scenario.network.contains("[access]");
        let unfinished = result["unfinished"].as_u64().unwrap_or_default();
        let least = connections - if has_access { unfinished } else { 0 };
        // A long-lived flow that would start after the end of the arrivals never does.
        holds("the capture has the connections of the results", (least..=connections + long).contains(&begun), || {
            format!("{begun} in the capture, {connections} and {long} long-lived in the results")
        })?;
    }
    if has_flood {
        return Ok(());
    }
    // Without other delays, a client sends its ACK into the queue at the moment at which it is established.
    let is_near =
        !scenario.network.contains("[access]") && !scenario.workloads.iter().any(|text| text.contains("rtt = "));
    if is_near && !has_users && long == 0 {
        let mean = truth.mean_handshake().map(|it| it.0);
        let recorded = number(result, "/handshake_s/mean");
        holds("the capture has the handshake times of the results", alike(mean, recorded), || {
            format!("{mean:?} s in the capture, {recorded:?} s in the results")
        })?;
    }
    // The analysis and the capture.
    // Queues on both sides: where the capture point is cannot always be inferred from round-trip times.
    let found = run(case, &["analyze", "run.pcapng", "--vantage=middle"])?;
    let handshakes = &found["handshakes"];
    for (what, path, expected) in [
        ("attempts", "/attempts", begun),
        ("repeated SYNs", "/duplicate_syn", truth.sent[0] - begun),
        ("repeated SYN/ACKs", "/duplicate_synack", truth.sent[1] - truth.accepted.len() as u64),
    ] {
        holds(
            "the analysis has the handshakes of the capture",
            number(handshakes, path) == Some(expected as f64),
            || format!("{what}: {:?}, expected {expected}", handshakes.pointer(path)),
        )?;
    }
    // After a repetition, the analysis measures only copies that later packets distinguish.
    if truth.sent[0] == begun && truth.sent[1] == truth.accepted.len() as u64 {
        let (mean, count) = truth.mean_handshake().unzip();
        let times = &handshakes["rtt_s"]["both"];
        holds("the analysis has the handshake times of the capture", alike(mean, number(times, "/mean")), || {
            format!("{count:?} of mean {mean:?} s, in the analysis {times}")
        })?;
    }
    // The analysis infers what a repetition means. Where SYN and SYN/ACK wait for less than the shortest initial RTO, a second, a
    // repetition means a loss; where answers come later, several causes look alike.
    let standard = !scenario.toml().contains("tcp = ") && !scenario.network.contains("rto");
    if standard && truth.longest_stay < LONGEST_STAY {
        let answered = truth.handshakes.iter().filter(|it| it.1.first_ack.is_some());
        // If the client's ACK was lost as well, the server's timer repeats the SYN/ACK as long after the first as the client's
        // timer repeated a lost SYN. Without timestamps, that looks like two answers to two SYNs that a queue held up, and
        // the analysis prefers missing a loss to inventing one. The same holds where the ACK waits so long that the round trip
        // it takes part in may have been the initial RTO a moment before.
        let (certain, possible) = answered.fold((0.0, 0.0), |(certain, possible), (flow, it)| {
            let lost = truth.lost.contains(flow);
            let slow = it.ack_waited.is_none_or(|waited| waited >= LONGEST_STAY);
            (
                certain + f64::from(lost && !(it.lost_later && it.accepted_again) && !slow),
                possible + f64::from(lost || it.lost_later),
            )
        });
        let found = number(&found, "/outcomes/completed_with_loss").unwrap_or(f64::NAN);
        holds("the analysis has the losses of the capture", (certain..=possible).contains(&found), || {
            format!("{found} with loss, expected {certain} to {possible}")
        })?;
    }
    Ok(())
}

/// Whether two means are the same to a microsecond, or neither exists.
fn alike(one: Option<f64>, two: Option<f64>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => (one - two).abs() <= 1e-6 * (1.0 + one),
        (one, two) => one.is_none() == two.is_none(),
    }
}

/// A list of flows, simulated, captured and analysed, is the same list; simulated again, it gives the same connections.
fn replayed(draw: &mut Draw, case: &Case) -> Checked {
    let rate = draw.magnitude(500_000, 1_000_000_000);
    let us = (20_000_u64 * 12_000 * 1_000_000 / rate).clamp(50_000, 60_000_000);
    let delay = draw.magnitude(100, 50_000);
    let count = draw.range(1, 30);
    let mut flows: Vec<[u64; 5]> = (0..count)
        .map(|number| {
            let start = us * number / count;
            let receiver = draw.below(2);
            // A receiver that connects sends a request of 300 bytes; the analysis takes the longer direction for the data.
            let bytes = draw.magnitude(1, 200_000) + 300 * receiver;
            [start, bytes, 2 * delay + draw.range(1, 100_000), draw.below(2), receiver]
        })
        .collect();
    flows.sort_unstable();
    let row = |[start, bytes, rtt, up, receiver]: &[u64; 5]| {
        let direction = ["down", "up"][*up as usize];
        let initiator = ["sender", "receiver"][*receiver as usize];
        format!("{},{bytes},{},{direction},{initiator}\n", *start as f64 / 1e6, *rtt as f64 / 1e6)
    };
    let list: String = flows.iter().map(row).collect();
    case.write("flows.csv", format!("start_s,bytes,rtt_s,direction,initiator\n{list}"));
    case.write("scenario.toml", format!(
        "duration = \"{}us\"\n[link.down]\nrate = \"{rate}bit\"\ndelay = \"{delay}us\"\n[link.up]\nrate = \"{rate}bit\"\n\
         delay = \"{delay}us\"\nqdisc = \"pfifo limit=10000\"\n[[workload]]\nkind = \"replay\"\nfile = \"flows.csv\"\n",
        us + 1,
    ));
    // A queue that loses nothing: the other loop analyses losses.
    let own = run(
        case,
        &["compare", "--traffic=scenario.toml", "--scheme=pfifo limit=100000", "--seeds=1", "--pcap=run.pcapng"],
    )?;
    case.succeed(&["analyze", "run.pcapng", "--quiet", "--local=10.2.0.0/16", "--flows=found.csv"])?;
    let found = String::from_utf8_lossy(&case.read("found.csv")).into_owned();
    let found: Vec<Vec<&str>> = found.lines().skip(1).map(|line| line.split(',').collect()).collect();
    holds("a replayed list has all its flows", found.len() == flows.len(), || {
        format!("{} of {}", found.len(), flows.len())
    })?;
    // No packet waits longer than the transmission of everything, with headers, requests and ACKs.
    let bytes: u64 = flows.iter().map(|flow| flow[1] + flow[1] / 4 + 1_500).sum();
    let everything = bytes as f64 * 8.0 / rate as f64;
    for (found, own) in found.iter().zip(&flows) {
        let expected = row(own);
        let expected: Vec<&str> = expected.trim_end().split(',').collect();
        let number = |list: &[&str], column: usize| list[column].parse::<f64>().unwrap_or(f64::NAN);
        let differs = |column: usize| number(found, column) - number(&expected, column);
        let details = || format!("{found:?}, expected {expected:?}");
        holds(
            "a replayed flow keeps its bytes, direction and initiator",
            found[1] == expected[1] && found[3..] == expected[3..],
            details,
        )?;
        // Times of the capture begin with its first packet.
        let first = flows[0][0] as f64 / 1e6;
        holds(
            "a replayed flow keeps its start",
            (differs(0) + first).abs() <= everything + own[2] as f64 / 1e6,
            details,
        )?;
        // The round-trip time of the handshake has the transmission of its packets and their queueing as well.
        holds(
            "a replayed flow keeps its round-trip time",
            (-1e-6..=2.0 * everything + 1e-6).contains(&differs(2)),
            details,
        )?;
    }
    let again = run(
        case,
        &[
            "compare",
            "--from=run.pcapng",
            "--local=10.2.0.0/16",
            &format!("--rate={rate}bit"),
            "--scheme=pfifo limit=100000",
            "--seeds=1",
        ],
    )?;
    let connections = |json: &Value| json["results"][0]["connections"].clone();
    if connections(&own) != connections(&again) {
        return broken(
            "a replayed capture has the run's connections",
            format!("{} and {}", connections(&own), connections(&again)),
        );
    }
    Ok(())
}
