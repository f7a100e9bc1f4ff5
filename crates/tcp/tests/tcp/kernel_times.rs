//! Packet times of single connections, compared with measurements on a running kernel.
//!
//! Measured on Linux 7.2.12 (Debian's linux-source-7.2), user-mode Linux in virtual time, HZ 1000, default sysctls
//! without saved metrics. Between the two hosts is a router that drops chosen packets, with a link of 2.4 Mb/s and 42
//! ms in one direction and one of 0.4 Mb/s and 52 ms in the other; frames are Ethernet's. The client sends all its data
//! and shuts down its sending direction at once; the server closes when it has read the end.

use gentle_tcp::{Flags, Profile, Segment, Seq};
use gentle_testkit::scripted::{Fate, Link, Sent, Side, Wire};
use gentle_units::{Instant, Nanos};
use std::collections::BTreeMap;

const MSS: u32 = 1448;
/// Tolerance of times in milliseconds, for the processing time of the hosts and rounding in the capture.
const TOLERANCE: f64 = 0.1;

/// A measured connection.
struct Case {
    name: &'static str,
    segments: u32,
    /// Phase of the kernel's clock when the SYN was sent, in milliseconds; derived from the first timer, since only the
    /// rounding of timers depends on it.
    start: f64,
    /// Segments sent, without pure acknowledgements, at milliseconds since the SYN; `C` is the client, `S` the server.
    sent: &'static str,
}

/// Name of a segment in [`Case::sent`].
fn name(sent: &Sent) -> Option<String> {
    let Segment { seq, len, flags, .. } = sent.segment;
    let kind = if flags.contains(Flags::SYN | Flags::ACK) {
        "SYN/ACK".to_owned()
    } else if flags.contains(Flags::SYN) {
        "SYN".to_owned()
    } else if len > 0 {
        let fin = if flags.contains(Flags::FIN) { "+FIN" } else { "" };
        format!("data {}{fin}", (seq.0 - 1001) / MSS + 1)
    } else if flags.contains(Flags::FIN) {
        "FIN".to_owned()
    } else {
        return None;
    };
    let host = if sent.from == Side::Initiator { "C" } else { "S" };
    Some(format!("{host} {kind}"))
}

/// Parses [`Case::sent`]: time, name and whether the segment was lost. `data 1-3` stands for three segments.
fn expected(case: &Case) -> Vec<(f64, String, bool)> {
    let mut events = Vec::new();
    for line in case.sent.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (time, rest) = line.split_once(' ').unwrap();
        let time: f64 = time.parse().unwrap();
        let lost = rest.ends_with(" lost");
        let rest = rest.trim_end_matches(" lost");
        match rest.strip_prefix("C data ").and_then(|n| n.split_once('-')) {
            Some((first, last)) => {
                let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
                events.extend((first..=last).map(|n| (time, format!("C data {n}"), lost)));
            }
            None => events.push((time, rest.to_owned(), lost)),
        }
    }
    events
}

fn simulated(case: &Case, expected: &[(f64, String, bool)]) -> Vec<(f64, String, bool)> {
    // The n-th segment of a name is lost if it was lost on the kernel.
    let mut fates: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for (_, name, lost) in expected {
        fates.entry(name.clone()).or_default().push(*lost);
    }
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let script = move |sent: &Sent, _: usize| {
        let Some(name) = name(sent) else {
            return Fate::Pass;
        };
        let n = count.entry(name.clone()).or_default();
        *n += 1;
        match fates.get(&name).and_then(|fates| fates.get(*n - 1)) {
            Some(true) => Fate::Drop,
            _ => Fate::Pass,
        }
    };
    events(&run(case.segments, case.start, script), case.start)
}

/// Converts milliseconds to a time.
fn at(ms: f64) -> Instant {
    Instant::from_secs_f64(ms / 1e3)
}

fn run(segments: u32, start: f64, script: impl FnMut(&Sent, usize) -> Fate + 'static) -> Wire {
    let links = [
        // Picoseconds per byte at 2.4 and at 0.4 Mb/s.
        Link::new(Nanos::from_millis(42), 3_333_333),
        Link::new(Nanos::from_millis(52), 20_000_000),
    ];
    let linux = Profile::linux_7_2();
    let isns = (Seq(1000), Seq(50_000));
    let mut wire = Wire::over(linux.clone(), linux, links, at(start), isns, script);
    while !wire.initiator().is_established() && wire.step(Instant::from_secs(200)) {}
    if wire.initiator().is_established() {
        wire.write(u64::from(segments * MSS));
        wire.close();
    }
    wire.run(Instant::from_secs(200));
    wire
}

/// Segments sent, in the form of [`Case::sent`].
fn events(wire: &Wire, start: f64) -> Vec<(f64, String, bool)> {
    wire.log()
        .iter()
        .filter_map(|sent| {
            let time = sent.at.as_secs_f64() * 1e3 - start;
            Some((time, name(sent)?, sent.fate == Fate::Drop))
        })
        .collect()
}

#[test]
fn segments_leave_when_the_kernel_sends_them() {
    let mut wrong = String::new();
    for case in CASES {
        let expected = expected(case);
        let simulated = simulated(case, &expected);
        let close = expected.len() == simulated.len()
            && expected.iter().zip(&simulated).all(|(a, b)| a.1 == b.1 && (a.0 - b.0).abs() < TOLERANCE);
        if !close {
            wrong += &format!("{}\n", case.name);
            for n in 0..expected.len().max(simulated.len()) {
                let show = |event: Option<&(f64, String, bool)>| {
                    event.map_or(String::new(), |(time, name, _)| format!("{time:10.3} {name}"))
                };
                let (a, b) = (show(expected.get(n)), show(simulated.get(n)));
                wrong += &format!("  {a:32} {b}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "kernel, and simulated:\n{wrong}");
}

/// After a transfer of 600 segments, the FIN of a connection of five enters the priority queue (spa-2018,
/// `fin=priority`) and overtakes the data. The test delivers the data at the times seen on the kernel; the time at
/// which segment 1 is considered lost, and the DSACK of the server, must follow.
#[test]
fn a_fin_that_overtakes_its_data_makes_it_retransmit() {
    const START: f64 = 0.968;
    // Name, and arrival in milliseconds, in the order of sending.
    let arrivals = [
        ("C SYN", 45.662),
        ("C data 1", 333.542),
        ("C data 2", 338.588),
        ("C data 3", 343.635),
        ("C data 4", 348.682),
        ("C data 5", 353.728),
        ("C FIN", 146.815),
        ("S SYN/ACK", 100.455),
        ("C data 1", 434.475),
    ];
    let mut left = arrivals.to_vec();
    let mut first_ack = true;
    let wire = run(5, START, move |sent, _| {
        let Some(name) = name(sent) else {
            // CoDel dropped the handshake's ACK.
            let handshake = sent.from == Side::Initiator && std::mem::take(&mut first_ack);
            return if handshake { Fate::Drop } else { Fate::Pass };
        };
        match left.iter().position(|(known, _)| *known == name) {
            Some(n) => Fate::At(at(START + left.remove(n).1)),
            None => Fate::Pass,
        }
    });
    let sent = events(&wire, START);
    let expected = [
        (0.000, "C SYN"),
        (45.662, "S SYN/ACK"),
        (100.456, "C data 1"),
        (100.456, "C data 2"),
        (100.456, "C data 3"),
        (100.456, "C data 4"),
        (100.456, "C data 5"),
        (100.456, "C FIN"),
        (228.032, "C data 1"),
        (353.729, "S FIN"),
    ];
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for ((time, name, _), (kernel, known)) in sent.iter().zip(expected) {
        assert_eq!(name, known);
        assert!((time - kernel).abs() < TOLERANCE, "{name}: {time} instead of {kernel}");
    }
    assert_eq!(wire.initiator().stats().dsacks_received, 1);
    assert_eq!(wire.initiator().stats().undos, 1);
}

const CASES: &[Case] = &[
    Case {
        name: "no-loss-1",
        segments: 1,
        start: 0.0,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1
            95.729 C FIN
            143.215 S FIN
        ",
    },
    Case {
        name: "no-loss-10",
        segments: 10,
        start: 0.0,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1-10
            196.315 C FIN
            238.535 S FIN
        ",
    },
    Case {
        name: "no-loss-40",
        segments: 40,
        start: 0.0,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK
            95.729 C data 1-10
            196.316 C data 11-12
            201.362 C data 13-14
            206.409 C data 15-16
            211.456 C data 17-18
            216.502 C data 19-20
            221.549 C data 21-22
            226.595 C data 23-24
            231.642 C data 25-26
            236.689 C data 27-28
            241.736 C data 29-30
            296.683 C data 31-32
            301.730 C data 33-34
            306.776 C data 35-36
            311.823 C data 37-38
            316.870 C data 39
            316.870 C data 40+FIN
            389.716 S FIN
        ",
    },
    Case {
        name: "syn-lost-1",
        segments: 1,
        start: 30.313,
        sent: "
            0.000 C SYN lost
            1057.687 C SYN
            1099.935 S SYN/ACK
            1153.416 C data 1
            1153.416 C FIN
            1200.902 S FIN
        ",
    },
    Case {
        name: "syn-lost-2",
        segments: 1,
        start: 17.804,
        sent: "
            0.000 C SYN lost
            1006.196 C SYN lost
            2030.196 C SYN
            2072.444 S SYN/ACK
            2125.925 C data 1
            2226.511 C FIN
            2268.732 S FIN
        ",
    },
    Case {
        name: "syn-lost-3",
        segments: 1,
        start: 48.095,
        sent: "
            0.000 C SYN lost
            1039.905 C SYN lost
            2063.905 C SYN lost
            3087.905 C SYN
            3130.153 S SYN/ACK
            3183.634 C data 1
            3284.220 C FIN
            3326.441 S FIN
        ",
    },
    Case {
        name: "syn-lost-6",
        segments: 1,
        start: 48.065,
        sent: "
            0.000 C SYN lost
            1039.935 C SYN lost
            2063.935 C SYN lost
            3087.935 C SYN lost
            4111.935 C SYN lost
            5135.935 C SYN lost
            7183.935 C SYN
            7226.183 S SYN/ACK
            7279.664 C data 1
            7380.250 C FIN
            7422.470 S FIN
        ",
    },
    Case {
        name: "syn-lost-all",
        segments: 1,
        start: 48.059,
        sent: "
            0.000 C SYN lost
            1039.941 C SYN lost
            2063.941 C SYN lost
            3087.941 C SYN lost
            4111.941 C SYN lost
            5135.941 C SYN lost
            7183.941 C SYN lost
            11215.941 C SYN lost
            19407.941 C SYN lost
            35791.941 C SYN lost
            68047.941 C SYN lost
        ",
    },
    Case {
        name: "synack-lost-1",
        segments: 1,
        start: 12.24,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK lost
            1011.760 C SYN
            1054.008 S SYN/ACK
            1107.489 C data 1
            1107.489 C FIN
            1154.975 S FIN
        ",
    },
    Case {
        name: "synack-lost-3",
        segments: 1,
        start: 17.839,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK lost
            1006.161 C SYN
            1048.409 S SYN/ACK lost
            2030.161 C SYN
            2072.409 S SYN/ACK lost
            3054.161 C SYN
            3096.409 S SYN/ACK
            3149.890 C data 1
            3149.890 C FIN
            3197.376 S FIN
        ",
    },
    Case {
        name: "synack-lost-all",
        segments: 1,
        start: 337.838,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK lost
            1006.162 C SYN
            1048.410 S SYN/ACK lost
            2030.162 C SYN
            2072.410 S SYN/ACK lost
            3054.162 C SYN
            3096.410 S SYN/ACK lost
            4078.162 C SYN
            4120.410 S SYN/ACK lost
            5102.162 C SYN
            5144.410 S SYN/ACK lost
            6190.162 S SYN/ACK lost
            7150.162 C SYN
            7192.410 S SYN/ACK lost
            9198.162 S SYN/ACK lost
            11182.162 C SYN
            11224.410 S SYN/ACK lost
            15278.162 S SYN/ACK lost
            19630.162 C SYN
            19672.410 S SYN/ACK lost
            27822.162 S SYN/ACK lost
            36014.162 C SYN
            36056.410 S SYN/ACK lost
            52398.162 S SYN/ACK lost
            68270.162 C SYN
            68312.410 S SYN/ACK lost
        ",
    },
    Case {
        name: "syn-and-synack-lost",
        segments: 1,
        start: 12.224,
        sent: "
            0.000 C SYN lost
            1011.776 C SYN
            1054.024 S SYN/ACK lost
            2035.777 C SYN
            2078.024 S SYN/ACK
            2131.505 C data 1
            2232.092 C FIN
            2274.312 S FIN
        ",
    },
    Case {
        name: "only-data-lost-1seg",
        segments: 1,
        start: 0.678,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1 lost
            95.729 C FIN
            218.322 C data 1
            265.370 S FIN
        ",
    },
    Case {
        name: "fin-lost-1seg",
        segments: 1,
        start: 5.89,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1
            95.729 C FIN lost
            498.110 C FIN
            540.331 S FIN
        ",
    },
    Case {
        name: "data-and-fin-lost-1seg",
        segments: 1,
        start: 3.769,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK
            95.729 C data 1 lost
            95.729 C FIN lost
            292.231 C FIN
            388.012 C data 1
            435.059 S FIN
        ",
    },
    Case {
        name: "last-data-lost-5seg",
        segments: 5,
        start: 0.705,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.729 C data 1-4
            95.729 C data 5 lost
            95.729 C FIN
            239.295 C data 5
            286.342 S FIN
        ",
    },
    Case {
        name: "fin-lost-5seg",
        segments: 5,
        start: 2.892,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1-5
            95.729 C FIN lost
            525.108 C FIN
            567.329 S FIN
        ",
    },
    Case {
        name: "last-data-and-fin-lost-5seg",
        segments: 5,
        start: 3.799,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK
            95.729 C data 1-4
            95.729 C data 5 lost
            95.729 C FIN lost
            420.201 C FIN
            515.982 C data 5
            563.029 S FIN
        ",
    },
    Case {
        name: "third-lost-10seg",
        segments: 10,
        start: 0.0,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK
            95.729 C data 1-2
            95.729 C data 3 lost
            95.729 C data 4-10
            196.315 C FIN
            216.742 C data 3
            263.789 S FIN
        ",
    },
    Case {
        name: "first-lost-10seg",
        segments: 10,
        start: 0.0,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1 lost
            95.728 C data 2-10
            196.554 C FIN
            206.648 C data 1
            253.695 S FIN
        ",
    },
    Case {
        name: "third-lost-twice-10seg",
        segments: 10,
        start: 4.88,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1-2
            95.728 C data 3 lost
            95.728 C data 4-10
            196.315 C FIN
            216.741 C data 3 lost
            611.120 C data 3
            658.168 S FIN
        ",
    },
    Case {
        name: "all-data-and-fin-lost-5seg",
        segments: 5,
        start: 1.99,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1-5 lost
            95.728 C FIN lost
            294.010 C FIN
            389.791 C data 1
            490.398 C data 2-3
            591.005 C data 4-5
            643.099 S FIN
        ",
    },
    Case {
        name: "only-data-lost-3times-1seg",
        segments: 1,
        start: 23.936,
        sent: "
            0.000 C SYN
            42.247 S SYN/ACK
            95.728 C data 1 lost
            95.728 C FIN
            218.065 C data 1 lost
            520.064 C data 1 lost
            1128.064 C data 1
            1175.112 S FIN
        ",
    },
    Case {
        name: "server-fin-lost-1seg",
        segments: 1,
        start: 1.889,
        sent: "
            0.000 C SYN
            42.248 S SYN/ACK
            95.729 C data 1
            95.729 C FIN
            143.215 S FIN lost
            446.111 S FIN
            494.111 C FIN
        ",
    },
];
