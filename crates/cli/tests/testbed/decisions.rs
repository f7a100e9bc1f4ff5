//! Equivalence of the kernel's queues and the queues of gentle-aqm: with the same packets, every packet sent, marked or
//! dropped has to be the same.
//!
//! GENTLE_DECISIONS=N draws N schedules of each pattern for each scheme instead of one.

use crate::kernel::{kernel, machine};
use crate::modules::{NOT_STOPPED, kernel_folder};
use assert_cmd::cargo::cargo_bin;
use gentle_aqm::registry::SCHEMES;
use gentle_aqm::{Scheme, Spec};
use gentle_capture::CaptureReader;
use gentle_testbed::build::{Cache, Kernel, modules, plugins};
use gentle_testbed::conformance::{
    Call, CaptureArrivals, Case, Offer, Pattern, Schedule, Step, Tally, Traffic, generate, run_cases,
};
use gentle_testkit::zeek;
use gentle_units::Nanos;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Number of queue operations in each schedule.
const STEPS: usize = 2000;

/// Mean time between departures, number of flows, and fraction of packets that are ECN-capable.
type Link = (Nanos, u32, f64);

/// Three combinations of links and senders, in rotation: 2.4, 10 and 30 Mb/s with packets of mean size.
const LINKS: [Link; 3] =
    [(Nanos::from_micros(3000), 12, 0.5), (Nanos::from_micros(800), 3, 0.0), (Nanos::from_micros(300), 40, 0.9)];

fn schedules() -> u64 {
    match std::env::var("GENTLE_DECISIONS") {
        Ok(text) => text.parse().expect("GENTLE_DECISIONS: expected a whole number"),
        Err(_) => 1,
    }
}

/// Whether the scheme reads addresses. Linux dissects a packet with a VLAN tag in the frame wrongly; CHOKe then takes one
/// flow for another, cake and gentle take all hosts for one.
fn reads_addresses(spec: &Spec) -> bool {
    let unshaped = spec.unshaped();
    match unshaped.scheme().name {
        "choke" | "cake" => true,
        "gentle" => unshaped.options().choice("hosts") != "none",
        _ => false,
    }
}

fn traffic(pattern: Pattern, (service, flows, ecn): Link, tags: bool) -> Traffic {
    Traffic { pattern, steps: STEPS, service, flows, ecn, tags }
}

fn cases(spec: &str) -> Vec<Case> {
    let spec: Spec = spec.parse().unwrap();
    let mut cases = Vec::new();
    for turn in 0..schedules() {
        for pattern in Pattern::ALL {
            let seed = cases.len() as u64;
            let link = LINKS[(turn % 3) as usize];
            let traffic = traffic(pattern, link, !reads_addresses(&spec));
            cases.push(Case::new(&spec, seed, generate(&traffic, seed)));
        }
    }
    cases
}

/// Compares all cases; returns the totals of what was compared.
fn compare(kernel: Kernel, cases: &[Case]) -> Tally {
    let cache = Cache::of_user().unwrap();
    let build = |sources: &Path| modules(&kernel, sources, &cache, &NOT_STOPPED).unwrap();
    let mut loaded = build(&kernel_folder().join("testing/replay"));
    loaded.extend(build(&kernel_folder()));
    let mut machine = machine(kernel);
    machine.modules = loaded;
    machine.plugins = plugins(&kernel_folder(), &cache, &NOT_STOPPED).unwrap();
    let results = run_cases(machine, cases, &NOT_STOPPED, &|_| {}).unwrap();
    assert_eq!(results.warnings, [""; 0]);
    let mut all = Tally::default();
    for (number, (case, tally)) in cases.iter().zip(results.cases).enumerate() {
        match tally {
            Ok(tally) => all += tally,
            Err(error) => panic!("{}, schedule {number}: {error}", case.kernel),
        }
    }
    all
}

fn equal(specs: &[&str], change: impl Fn(&mut Case)) {
    let Some(kernel) = kernel() else { return };
    let mut all: Vec<Case> = specs.iter().flat_map(|spec| cases(spec)).collect();
    all.iter_mut().for_each(change);
    let tally = compare(kernel, &all);
    assert_eq!(tally.steps, STEPS * all.len());
    assert!(tally.sent > 0 && tally.dropped > 0, "{tally:?}");
    eprintln!("{}: {tally:?}", specs.join("; "));
}

/// Schemes that a kernel has.
fn schemes_on_linux() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().copied().filter(|scheme| scheme.linux.is_some())
}

/// Every scheme of the registry, a new one included; the tests below have the options that deserve attention.
#[test]
fn every_scheme_with_its_defaults() {
    let names: Vec<&str> = schemes_on_linux().map(|scheme| scheme.name).collect();
    equal(&names, |_| {});
}

#[test]
fn fifos_and_codel() {
    let specs = [
        "pfifo limit=50",
        "bfifo limit=30000",
        "codel",
        "codel ecn target=20ms interval=50ms limit=60",
        "codel ecn ce_threshold=10ms",
    ];
    // Setting the same options again must not disturb the state.
    equal(&specs, |case| case.set_again = true);
}

#[test]
fn bands_of_pfifo_fast() {
    equal(&["pfifo_fast limit=1", "pfifo_fast limit=7", "pfifo_fast limit=40"], |_| {});
}

#[test]
fn fair_queues() {
    equal(
        &[
            "fq_codel",
            "fq_codel flows=8 limit=100 quantum=300 noecn drop_batch=4",
            "fq_codel flows=16 memory_limit=60000",
            "sfq",
            "sfq limit=60 divisor=16 depth=10 flows=8 headdrop",
            "sfq limit=40 quantum=300 divisor=8",
        ],
        |_| {},
    );
}

#[test]
fn cake_isolates_flows_and_hosts() {
    equal(
        &[
            "cake",
            "cake flowblind memlimit=30kb",
            "cake srchost memlimit=60kb",
            "cake dsthost besteffort",
            "cake hosts memlimit=60kb",
            "cake flows rtt=10ms besteffort",
            "cake dual-srchost besteffort",
            "cake dual-dsthost memlimit=200kb",
            "cake triple-isolate besteffort rtt=5ms memlimit=100kb",
        ],
        |_| {},
    );
}

#[test]
fn cake_divides_into_tins_with_and_without_a_rate() {
    equal(
        &[
            "cake precedence",
            "cake diffserv4 wash memlimit=100kb",
            "cake diffserv8 memlimit=40kb",
            "cake precedence bandwidth=2mbit",
            "cake diffserv3 bandwidth=3mbit wash",
            "cake diffserv4 bandwidth=20mbit memlimit=60kb",
            "cake diffserv8 bandwidth=500kbit dual-srchost",
            "cake besteffort bandwidth=1mbit rtt=3s",
            "cake besteffort bandwidth=64kbit metro",
        ],
        |_| {},
    );
}

#[test]
fn cake_counts_the_bytes_of_the_link() {
    equal(
        &[
            "cake bandwidth=2mbit ethernet",
            "cake bandwidth=2mbit conservative besteffort",
            "cake bandwidth=2mbit bridged-ptm ether-vlan flows",
            "cake bandwidth=2mbit raw overhead=-10 mpu=100",
            "cake overhead=-64 atm",
            "cake bandwidth=2mbit ingress",
            "cake bandwidth=1mbit ingress besteffort lan memlimit=50kb docsis",
            "cake ingress flowblind memlimit=20kb diffserv4",
        ],
        |_| {},
    );
}

#[test]
fn cake_filters_acks() {
    equal(
        &[
            "cake ack-filter",
            "cake ack-filter flowblind besteffort",
            "cake ack-filter-aggressive bandwidth=1mbit ingress",
            "cake ack-filter-aggressive flowblind memlimit=30kb",
            "cake ack-filter hosts bandwidth=3mbit diffserv8",
        ],
        |_| {},
    );
}

/// More busy flows than the 1024 queues of a tin of cake, of more hosts than the tables have entries for.
#[test]
fn more_flows_and_hosts_than_queues() {
    let Some(kernel) = kernel() else { return };
    let traffic = Traffic {
        pattern: Pattern::Overload,
        steps: 30_000,
        service: Nanos::from_micros(100),
        flows: 8_000,
        ecn: 0.5,
        tags: false,
    };
    let specs = [
        "cake besteffort",
        "cake besteffort dual-srchost bandwidth=100mbit",
        "cake besteffort hosts",
        "cake diffserv4 dual-dsthost memlimit=4mb",
        "gentle",
        "gentle limit=3000 flows=32768 noecn",
        "gentle limit=900 flows=64",
        "gentle hosts=src",
        "gentle hosts=src memory_limit=100kb noecn",
        "gentle hosts=dst limit=2000 flows=256",
    ];
    let cases: Vec<Case> = (0..)
        .zip(specs)
        .map(|(seed, spec)| Case::new(&spec.parse().unwrap(), seed, generate(&traffic, seed)))
        .collect();
    let tally = compare(kernel, &cases);
    assert!(tally.sent > 30_000 && tally.dropped > 0, "{tally:?}");
    eprintln!("{}: {tally:?}", specs.join("; "));
}

#[test]
fn red_and_choke() {
    equal(
        &[
            "red probability=0.1 bandwidth=4mbit",
            "red probability=0.1 ecn",
            "red probability=0.5 ecn nodrop",
            "red probability=0.5 ecn harddrop",
            "choke min=5 max=15",
            "choke min=5 max=15 ecn probability=0.2",
        ],
        |_| {},
    );
}

/// Since the flags have a separate attribute (Linux 5.7), `tc` sets `adaptive` only there, but `red_change` of Linux
/// reads it from the old place: the adaptation timer is never started.
#[test]
fn adaptive_red_that_tc_sets_up_does_not_adapt() {
    let Some(kernel) = kernel() else { return };
    let cases = cases("ared probability=0.1");
    assert!(cases.iter().all(|case| case.model.scheme().name == "red"));
    assert!(compare(kernel, &cases).dropped > 0);
}

#[test]
fn pie_and_its_fair_form() {
    equal(
        &[
            "pie",
            "pie ecn bytemode tupdate=29ms target=5ms limit=70",
            "pie dq_rate_estimator alpha=4 beta=30",
            "fq_pie",
            "fq_pie flows=4 ecn ecn_prob=50 limit=100 target=5ms",
        ],
        |_| {},
    );
}

#[test]
fn the_coupled_dual_queue() {
    equal(
        &[
            "dualpi2 limit=40 step_thresh=5p min_qlen_step=3",
            "dualpi2 overflow limit=60 coupling_factor=4",
            "dualpi2 drop_enqueue any_ect classic_protection=50",
            "dualpi2 target=2ms tupdate=4ms alpha=2 beta=20 memlimit=60000",
            "dualpi2 drop_enqueue overflow classic_protection=0 step_thresh=20ms target=50ms",
        ],
        |_| {},
    );
}

#[test]
fn fair_queues_with_rates() {
    equal(
        &[
            "fq limit=30 flow_limit=10",
            "fq quantum=300 initial_quantum=1500 orphan_mask=7 limit=50",
            "fq ce_threshold=10ms buckets=2 refill_delay=1ms",
            "fq maxrate=1mbit limit=100 flow_limit=20",
            "fq limit=60 priomap=2,0,1,0,0,1,2,0,0,0,0,0,0,0,0,0 weights=16384,16384,50000",
            "fq maxrate=300kbit ce_threshold=20ms orphan_mask=3",
            "fq maxrate=5mbit nopacing orphan_mask=63 buckets=4 flow_limit=5",
        ],
        |_| {},
    );
}

/// Depths of 1600 and 2000 bytes are whole ticks at these rates, however `tc` rounds them.
#[test]
fn token_buckets() {
    equal(
        &[
            "tbf rate=2mbit burst=1600 limit=30000",
            "tbf rate=8mbit burst=1000 latency=20ms",
            "tbf rate=1mbit burst=2000 child=pfifo limit=40",
            "tbf rate=2mbit burst=20000 child=codel limit=40 ecn",
            "tbf rate=2mbit burst=2000 child=fq_codel limit=50 flows=8",
            "tbf rate=2mbit burst=2000 child=sfq limit=40 divisor=16",
            "tbf rate=2mbit burst=2000 child=red probability=0.1 limit=30000",
            "tbf rate=2mbit burst=2000 child=pfifo_fast limit=20",
            "tbf rate=2mbit burst=2000 child=dualpi2 limit=60",
            "tbf rate=2mbit burst=2000 child=fq maxrate=300kbit flow_limit=8",
            "htb rate=2mbit limit=40",
            "htb rate=8mbit burst=20000 ceil=1mbit cburst=2000 child=bfifo limit=30000",
            "htb rate=1mbit burst=2000 ceil=8mbit child=codel ecn",
            "htb rate=2mbit child=fq_codel limit=50 flows=8",
            "htb rate=2mbit child=sfq limit=40 divisor=16",
            "htb rate=2mbit child=red probability=0.1 limit=30000",
            "htb rate=2mbit child=dualpi2 limit=60",
            "htb rate=2mbit child=fq maxrate=300kbit flow_limit=8",
            "htb rate=2mbit child=spa limit=60",
            "htb rate=2mbit child=gsp limit=20",
            "htb rate=2mbit child=gentle limit=30",
            "htb rate=2mbit child=gentle hosts=src memory_limit=40kb",
            "tbf rate=2mbit burst=2000 child=gentle limit=40 target=2ms interval=20ms",
        ],
        |_| {},
    );
}

#[test]
fn handshakes_first() {
    equal(
        &[
            "spa",
            "spa ecn",
            "spa ecn fin=priority limit=60",
            "spa fin=none target=20ms maxlen=66",
            "spa limit=20 share=1",
            "spa fin=priority share=5",
            "spa share=100",
            "syn_prio child=gsp limit=20 share=3",
            "spa child=bfifo limit=20000 share=2",
        ],
        |_| {},
    );
}

#[test]
fn global_synchronization_protection() {
    equal(
        &[
            "gsp",
            "gsp threshold=30ms limit=20 tau=200ms",
            "gsp threshold=20000b mode=basic interval=50ms",
            "gsp threshold=12p limit=40 alpha=4 tau=200ms maxtime=2s",
        ],
        |case| case.set_again = true,
    );
}

#[test]
fn young_flows_first() {
    equal(
        &[
            "gentle",
            "gentle noecn",
            "gentle flows=8",
            "gentle flows=13 noecn",
            "gentle limit=1",
            "gentle limit=7 flows=8",
            "gentle limit=40 flows=32768",
            "gentle memory_limit=0",
            "gentle memory_limit=20kb noecn",
            "gentle memory_limit=60kb flows=16",
            "gentle target=1ms interval=10ms",
            "gentle target=0 interval=0 noecn",
            "gentle target=50ms interval=1s limit=200",
        ],
        |case| case.set_again = true,
    );
}

#[test]
fn young_flows_of_each_host_first() {
    equal(
        &[
            "gentle hosts=src",
            "gentle hosts=dst",
            "gentle hosts=src flows=8 noecn",
            "gentle hosts=src limit=1",
            "gentle hosts=dst limit=20 flows=8",
            "gentle hosts=src memory_limit=20kb noecn",
            "gentle hosts=dst memory_limit=60kb flows=16 target=1ms interval=10ms",
        ],
        |case| case.set_again = true,
    );
}

/// Options that the tests below combine with unusual packets.
const GENTLE: [&str; 5] = [
    "gentle",
    "gentle noecn target=1ms interval=10ms",
    "gentle memory_limit=100kb flows=8",
    "gentle limit=12 hosts=src",
    "gentle hosts=dst memory_limit=300kb",
];

fn offers(schedule: &mut Schedule) -> impl Iterator<Item = &mut Offer> {
    schedule.steps.iter_mut().filter_map(|step| match &mut step.call {
        Call::Enqueue(offer) => Some(offer),
        Call::Dequeue | Call::PeekDequeue => None,
    })
}

#[test]
fn young_flows_that_send_merged_packets() {
    equal(&GENTLE, |case| {
        for (number, offer) in (0..).zip(offers(&mut case.schedule)) {
            if offer.flow % 3 == 0 || number % 7 == 0 {
                offer.bytes = 1514 + number * 7919 % 64_022;
            }
        }
    });
}

#[test]
fn a_packet_that_is_alone_in_the_queue_is_never_dropped() {
    let Some(kernel) = kernel() else { return };
    let traffic = traffic(Pattern::Poisson, LINKS[0], false);
    let mut steps = Vec::new();
    for (number, mut offer) in (0..).zip(generate(&traffic, 1).offers().copied()) {
        offer.bytes = 65_535 - number % 3 * 20_000;
        let at = Schedule::FIRST + Nanos::from_secs(6 * u64::from(number));
        let [arrival, departure] = [Call::Enqueue(offer), Call::Dequeue];
        // Five seconds at 100 kb/s.
        let later = at + Nanos::from_secs(5);
        steps.push(Step { at, call: arrival });
        let departure = Step { at: later, call: departure };
        steps.push(departure);
    }
    let packets = steps.len() / 2;
    let specs = ["gentle", "gentle limit=1 flows=8", "gentle memory_limit=200kb hosts=src"];
    let case = |spec: &str| Case::new(&spec.parse().unwrap(), 1, Schedule { steps: steps.clone() });
    let tally = compare(kernel, &specs.map(case));
    assert_eq!((tally.sent, tally.dropped), (specs.len() * packets, 0), "{tally:?}");
}

/// A day, with pauses longer than CoDel's clock of 73 minutes and than nine hours.
#[test]
fn young_flows_after_long_pauses() {
    equal(&["gentle", "gentle limit=12 hosts=src"], |case| {
        let mut pause = Nanos::ZERO;
        for (number, step) in case.schedule.steps.iter_mut().enumerate() {
            pause += match number {
                500 => Nanos::from_secs(4_400),
                1000 => Nanos::from_secs(32_769),
                1500 => Nanos::from_secs(40_000),
                _ => Nanos::ZERO,
            };
            step.at += pause;
        }
    });
}

/// More bytes than 32 bits count, and a packet every twenty seconds.
#[test]
fn young_flows_after_four_gigabytes_and_on_a_slow_link() {
    let Some(kernel) = kernel() else { return };
    let traffic =
        |service, steps| Traffic { pattern: Pattern::Poisson, steps, service, flows: 4, ecn: 0.5, tags: false };
    let mut cases = Vec::new();
    for spec in ["gentle", "gentle hosts=src"] {
        let mut long = generate(&traffic(Nanos::from_micros(500), 160_000), 1);
        offers(&mut long).for_each(|offer| offer.bytes = 65_535);
        let mut slow = generate(&traffic(Nanos::from_secs(20), 2000), 2);
        offers(&mut slow).for_each(|offer| offer.bytes = 65_535 - offer.bytes);
        let spec = spec.parse().unwrap();
        cases.extend([long, slow].map(|schedule| Case::new(&spec, 1, schedule)));
    }
    let tally = compare(kernel, &cases);
    assert!(tally.sent > 100_000 && tally.dropped > 0, "{tally:?}");
    eprintln!("{tally:?}");
}

/// As with RED, setting options again resets the average.
#[test]
fn redfavor() {
    equal(
        &[
            "redfavor",
            "redfavor limit=30000 probability=0.2 ecn",
            "redfavor maxlen=0 share=100",
            "redfavor exempt maxlen=0 share=100",
            "redfavor exempt limit=30000 probability=0.2 ecn",
            "redfavor maxlen=66 share=5",
        ],
        |_| {},
    );
}

#[test]
fn priority_from_stock_parts() {
    equal(&["syn_prio limit=30", "syn_fin_prio limit=30"], |_| {});
}

/// Captures made by this project (connections with losses on either side of a router, SCTP and QUIC) and by others.
fn captures() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = [
        "netns/data-3.router.pcap",
        "netns/data.span.pcap",
        "netns/ipv6-data.router.pcap",
        "other/quic-both.pcap",
        "other/sctp.pcap",
        "formats/two-interfaces.pcapng",
    ];
    let own = own.map(|name| crates.join("trace/tests/data").join(name));
    let others = ["ssh/ssh_kex_mlkem.pcap", "pe/pe.pcap"];
    let others = others.map(|name| zeek::folder().join("zeek").join(name));
    own.into_iter().chain(others).collect()
}

/// Schemes that drop packets of the captures: those below with these options, every other one with the first sample of
/// the registry.
fn specs_for_captures() -> Vec<String> {
    let chosen = [
        "pfifo limit=5",
        "bfifo limit=5000",
        "pfifo_fast limit=3",
        "red probability=0.1 limit=20000",
        "ared probability=0.1 limit=20000",
        // The kernel's table looks empty if it fills up with holes; a long table does not fill up.
        "choke limit=1000 min=2 max=6",
        "codel ecn",
        "fq_codel limit=8",
        "pie limit=10",
        "fq_pie",
        "dualpi2 limit=10",
        "fq limit=10 flow_limit=4",
        "sfq limit=8",
        "cake memlimit=10kb bandwidth=80kbit ack-filter wash",
        "spa",
        "gsp",
        "gentle memory_limit=6kb",
        "redfavor limit=30000 probability=0.2",
        "syn_prio limit=5",
        "syn_fin_prio limit=5",
        "tbf rate=80kbit burst=2000 limit=6000",
        "htb rate=80kbit burst=2000 cburst=2000 child=spa limit=10",
    ];
    let spec = |scheme: &Scheme| {
        let words = |spec: &&&str| spec.split(' ').next() == Some(scheme.name);
        match chosen.iter().find(words) {
            Some(spec) => (*spec).to_owned(),
            None => {
                let options = scheme.samples.first().copied().unwrap_or_default();
                format!("{} {options}", scheme.name).trim_end().to_owned()
            }
        }
    };
    schemes_on_linux().map(spec).collect()
}

#[test]
fn packets_of_captures() {
    let Some(kernel) = kernel() else { return };
    let read = |path: &PathBuf| {
        let mut reader = CaptureReader::open(path).unwrap();
        let mut arrivals = CaptureArrivals::default();
        while let Some(packet) = reader.next().unwrap() {
            arrivals.push(packet.time, packet.link, packet.data, packet.original_len);
        }
        assert!(!arrivals.packets().is_empty(), "{}", path.display());
        arrivals
    };
    let captures: Vec<CaptureArrivals> = captures().iter().map(read).collect();
    let mut cases = Vec::new();
    for spec in specs_for_captures() {
        let spec: Spec = spec.parse().unwrap();
        for arrivals in &captures {
            let rate = "100kbit".parse().unwrap();
            cases.push(Case::over_link(&spec, 7, arrivals.packets(), rate));
        }
    }
    let tally = compare(kernel, &cases);
    assert!(tally.sent > 0 && tally.dropped > 0, "{tally:?}");
    eprintln!("{} captures: {tally:?}", captures.len());
}

fn command(arguments: &[&str]) -> Output {
    Command::new(cargo_bin("gentle"))
        .args(["testbed", "decisions", "--quiet", "--memory=256", "--modules"])
        .arg(kernel_folder())
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/data"))
        .output()
        .unwrap()
}

#[test]
fn the_command_compares_captures() {
    if kernel().is_none() {
        return;
    }
    let schemes = ["--scheme=codel", "--scheme=spa", "--rate=20kbit"];
    let output = command(&[&schemes[..], &["netns/data.span.pcap", "other/sctp.pcap"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("netns/data.span.pcap: "), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.ends_with("  all")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[1].trim_start().starts_with("spa"), "{text}");
}

/// The kernel's `choke` looks empty if its table fills up with holes (`docs/research/kernel-proof.md`).
#[test]
fn the_command_tells_programs_what_differs() {
    if kernel().is_none() {
        return;
    }
    let arguments = [
        "--json",
        "--rate=20kbit",
        "--scheme=choke limit=4 min=1 max=3",
        "--scheme=codel",
        "other/sctp.pcap",
        "netns/data.client.pcap",
    ];
    let output = command(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["version"], &found["alike"]), (&json!(2), &json!(false)));
    assert_eq!(found["captures"][1]["path"], "netns/data.client.pcap");
    assert_eq!(found["captures"][1]["rate_bps"], 20_000);
    let [choke, codel] = found["results"].as_array().unwrap().as_slice() else {
        panic!("{found}");
    };
    assert_eq!((&choke["captures_alike"], &codel["captures_alike"]), (&json!(1), &json!(2)));
    assert_eq!(codel["differences"], json!([]));
    let difference = &choke["differences"][0];
    assert_eq!(difference["path"], "netns/data.client.pcap");
    let step = difference["step"].as_u64().unwrap();
    let text = difference["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("decisions differ at step {step}")), "{text}");
    assert!(codel["calls"].as_u64() > choke["calls"].as_u64(), "{found}");
}

#[test]
fn the_command_wants_packets() {
    let output = command(&["formats/empty.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("formats/empty.pcap: contains no IP packet"), "{said}");
}

/// Every packet of a capture that is left out is counted.
#[test]
fn the_command_says_what_it_has_not_read() {
    if kernel().is_none() {
        return;
    }
    let capture = "netns/data.span.pcap";
    let counts = |arguments: &[&str]| {
        let output = command(&[&["--scheme=pfifo", "--rate=20kbit", capture], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let of = |text: &str, name: &str| {
        let found: Value = serde_json::from_str(text).unwrap();
        found["captures"][0][name].as_u64().unwrap()
    };
    let all = counts(&["--json"]);
    assert_eq!(of(&all, "not_read"), 0);
    let some = counts(&["--json", "--packets=5"]);
    assert_eq!(of(&some, "packets"), 5);
    let frames = |text: &str| of(text, "packets") + of(text, "left_out") + of(text, "not_read");
    assert_eq!(frames(&some), frames(&all));
    assert!(of(&some, "not_read") > 0, "{some}");
    let text = counts(&["--packets=5"]);
    assert!(text.contains("frames after them not read (--packets)"), "{text}");
}
