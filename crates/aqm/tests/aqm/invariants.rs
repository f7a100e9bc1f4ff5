//! Invariants of every scheme of the registry under random arrivals and departures.

use crate::testing::TestPacket;
use gentle_aqm::{
    Dequeue, DropReason, Ecn, Handshake, Kind, MarkReason, Priority, Qdisc, Scheme, Signals, Spec, TcpHeader, Value,
    registry,
};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn specs() -> Vec<Spec> {
    let samples = registry::samples().into_iter();
    samples.map(|text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))).collect()
}

#[derive(Debug, Clone)]
enum Event {
    /// Packets that arrive at the same time.
    Arrive(Vec<TestPacket>),
    Depart(usize),
    Wait(Nanos),
}

fn any_packet() -> impl Strategy<Value = TestPacket> {
    let bytes = prop_oneof![8 => 40u32..=1514, 3 => Just(1514), 1 => 40u32..=65_549];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let flags = prop_oneof![
        6 => Just((false, false, false)),
        2 => Just((true, false, true)),
        2 => Just((false, true, true)),
        1 => (any::<bool>(), any::<bool>(), any::<bool>()),
    ];
    // A flow keeps to one codepoint, or its packets would overtake each other between classes.
    let dscp = |flow| [0, 10, 34, 4, 46][flow as usize];
    let tcp = prop::option::of((0u32..1000, any::<bool>(), 0u8..2));
    (0u64..5, bytes, flags, ecn, tcp).prop_map(move |(flow, bytes, (syn, fin, short), ecn, tcp)| TestPacket {
        flags: Handshake { syn, fin },
        ecn,
        dscp: dscp(flow),
        hosts: Some((flow / 2, 9)),
        tcp: tcp.map(|(ack, has_payload, sack_count)| TcpHeader {
            flags: TcpHeader::ACK,
            ack,
            has_payload,
            sack: [(ack + 100, ack + 200); 4],
            sack_count,
            ..TcpHeader::default()
        }),
        ..TestPacket::data(flow, if short { bytes.min(74) } else { bytes })
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let wait = prop_oneof![
        6 => 0u64..10_000_000,
        2 => 0u64..300_000_000,
        1 => 0u64..10_000_000_000_000,
    ];
    prop_oneof![
        4 => prop::collection::vec(any_packet(), 1..4).prop_map(Event::Arrive),
        1 => prop::collection::vec(any_packet(), 1..40).prop_map(Event::Arrive),
        4 => (1usize..4).prop_map(Event::Depart),
        1 => (10usize..60).prop_map(Event::Depart),
        4 => wait.prop_map(|ns| Event::Wait(Nanos(ns))),
    ]
}

/// Guarantees of a specification about the order of packets and the reasons for drops and marks.
struct Promises {
    /// SYNs and FINs that may overtake other packets of their flow.
    priority: Option<Priority>,
    /// True if other packets of a flow leave in order of arrival.
    fifo: bool,
    /// True if this includes packets of handshakes. A scheme with a share may delay one or, as the child of a wrapper,
    /// prefer one that the wrapper treats as data.
    handshakes_fifo: bool,
    /// Reasons for drops.
    drops: Vec<DropReason>,
    /// Reasons for marks.
    marks: &'static [MarkReason],
}

impl Promises {
    fn of(spec: &Spec) -> Promises {
        let order = |spec: &Spec| (spec.scheme().order)(spec.options());
        let own = order(spec);
        let stores = spec.innermost();
        let beneath = order(stores);
        Promises {
            priority: own.priority,
            fifo: own.fifo && beneath.fifo,
            handshakes_fifo: [own.priority, beneath.priority].iter().flatten().all(|priority| priority.strict),
            drops: [stores.scheme().drops, spec.scheme().drops].concat(),
            marks: stores.scheme().marks,
        }
    }

    fn has_priority(&self, packet: &TestPacket) -> bool {
        self.priority.is_some_and(|priority| {
            let first = packet.flags.syn || (packet.flags.fin && priority.fins);
            first && packet.bytes - 14 <= priority.maxlen
        })
    }

    /// True if priority packets always go first.
    fn is_strict(&self) -> bool {
        self.priority.is_some_and(|priority| priority.strict)
    }
}

/// A queue under test and a model of its content.
struct Checked {
    queue: Box<dyn Qdisc<TestPacket>>,
    promises: Promises,
    text: String,
    drops: Signals<TestPacket>,
    stored: BTreeMap<u32, TestPacket>,
    /// The last packet delivered of each flow and class.
    delivered: BTreeMap<(u64, bool), u32>,
    marked: u64,
    log: Vec<(u32, Option<DropReason>)>,
}

impl Checked {
    fn new(spec: &Spec, seed: u64) -> Checked {
        Checked {
            queue: registry::build(spec, seed),
            promises: Promises::of(spec),
            text: spec.to_string(),
            drops: Signals::new(),
            stored: BTreeMap::new(),
            delivered: BTreeMap::new(),
            marked: 0,
            log: Vec::new(),
        }
    }

    fn account(&mut self) {
        let Checked { drops, stored, log, text, promises, .. } = self;
        let dropped: Vec<_> = drops.drain().collect();
        for (packet, reason) in &dropped {
            assert!(stored.remove(&packet.id).is_some(), "{text}: {packet:?} dropped twice");
            log.push((packet.id, Some(*reason)));
        }
        for (packet, reason) in &dropped {
            assert!(
                promises.drops.contains(reason),
                "{text}: {packet:?} dropped for {reason}, of {:?}",
                promises.drops
            );
        }
        if let Some(limit) = (promises.priority).and_then(|priority| priority.protected_bytes) {
            for (packet, reason) in &dropped {
                let syns: u64 = stored.values().filter(|p| p.flags.syn).map(|p| u64::from(p.bytes)).sum();
                // A SYN that exceeds the space for queued SYNs may be dropped while data is queued.
                let too_long = *reason == DropReason::Tail && syns + u64::from(packet.bytes) > limit;
                assert!(
                    !packet.flags.syn || too_long || stored.values().all(|p| p.flags.syn),
                    "{text}: SYN dropped while data is queued"
                );
            }
        }
        let bytes: u64 = stored.values().map(|p| u64::from(p.bytes)).sum();
        assert_eq!(self.queue.len(), stored.len(), "{text}: packets");
        assert_eq!(self.queue.backlog(), bytes, "{text}: bytes");
        assert_eq!(self.queue.is_empty(), stored.is_empty(), "{text}: emptiness");
        for mark in self.drops.drain_marks() {
            assert!(promises.marks.contains(&mark.reason), "{text}: marked for {}", mark.reason);
            self.marked += 1;
        }
    }

    fn enqueue(&mut self, now: Instant, packet: TestPacket) {
        self.stored.insert(packet.id, packet);
        self.queue.enqueue(now, packet, &mut self.drops);
        self.account();
    }

    /// Dequeues once; returns the time before which nothing is sent, if the queue says so.
    fn dequeue(&mut self, now: Instant) -> Option<Instant> {
        let answer = self.queue.dequeue(now, &mut self.drops);
        let empty = answer == Dequeue::Empty;
        let not_before = match answer {
            Dequeue::NotBefore(time) => Some(time),
            Dequeue::Packet(_) | Dequeue::Empty => None,
        };
        if let Some(time) = not_before {
            assert!(time > now, "{}: not before {time} at {now}", self.text);
        }
        if let Some(packet) = answer.packet() {
            let text = &self.text;
            let sent = self.stored.remove(&packet.id);
            assert!(sent.is_some(), "{text}: {packet:?} delivered twice");
            let priority = self.promises.has_priority(&packet);
            if !priority && self.promises.is_strict() {
                let waiting = self.stored.values().find(|p| self.promises.has_priority(p));
                assert!(
                    waiting.is_none() || self.drops.iter().any(|(p, _)| Some(p.id) == waiting.map(|w| w.id)),
                    "{text}: {packet:?} delivered before {waiting:?}"
                );
            }
            let late = !self.promises.handshakes_fifo && (packet.flags.syn || priority);
            let unordered = !self.promises.fifo || late;
            if !unordered {
                let class = (packet.flow, priority);
                let before = self.delivered.insert(class, packet.id);
                assert!(before < Some(packet.id), "{text}: {packet:?} after {before:?}");
            }
            self.log.push((packet.id, None));
        }
        self.account();
        if empty {
            assert!(self.stored.is_empty(), "{}: nothing delivered", self.text);
        }
        not_before
    }
}

fn run(spec: &Spec, seed: u64, events: &[Event]) -> (Vec<(u32, Option<DropReason>)>, u64) {
    let mut checked = Checked::new(spec, seed);
    let mut now = Instant::ZERO;
    let mut id = 0;
    for event in events {
        match event {
            Event::Arrive(packets) => {
                for packet in packets {
                    checked.enqueue(now, TestPacket { id, ..*packet });
                    id += 1;
                }
            }
            Event::Depart(n) => (0..*n).for_each(|_| {
                checked.dequeue(now);
            }),
            Event::Wait(span) => now += *span,
        }
    }
    // Each packet that waits for its time is requested once more then.
    for _ in 0..=2 * checked.queue.len() {
        now = checked.dequeue(now).unwrap_or(now);
    }
    assert!(checked.stored.is_empty(), "{}: does not run empty", checked.text);
    (checked.log, checked.marked)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_scheme_keeps_its_promises(
        events in prop::collection::vec(any_event(), 1..120),
        seed: u64,
    ) {
        for spec in specs() {
            let first = run(&spec, seed, &events);
            prop_assert_eq!(&first, &run(&spec, seed, &events), "{} is not repeatable", spec);
        }
    }
}

/// Words for specifications, valid and invalid.
fn any_word() -> impl Strategy<Value = String> {
    let names: BTreeSet<&str> = registry::SCHEMES
        .iter()
        .flat_map(|scheme| scheme.options.iter().map(|option| option.name))
        .chain(["child", "nonsense"])
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let values = prop_oneof![
        Just("5ms".to_owned()),
        Just("on".to_owned()),
        Just("priority".to_owned()),
        Just("basic".to_owned()),
        registry_name(),
        (0u64..200_000).prop_map(|n| n.to_string()),
        (0.0f64..2.0).prop_map(|x| x.to_string()),
        ((0u64..100_000), "(ms|us|s|b|kb|p|mbit|kbit)").prop_map(|(n, unit)| format!("{n}{unit}")),
        "\\PC{0,6}",
    ];
    (prop::sample::select(names), prop::option::of(values)).prop_map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    })
}

fn registry_name() -> impl Strategy<Value = String> {
    prop::sample::select(registry::SCHEMES).prop_map(|scheme| scheme.name.to_owned())
}

fn reads_back(text: &str) -> bool {
    let Ok(spec) = text.parse::<Spec>() else {
        return false;
    };
    let written = spec.to_string();
    assert_eq!(written.parse().as_ref(), Ok(&spec), "{text} was written as {written}");
    // A specification that parses can be built.
    assert!(registry::build::<TestPacket>(&spec, 0).is_empty());
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        reads_back(&text);
    }

    #[test]
    fn what_is_accepted_is_written_so_that_it_reads_back(
        scheme in registry_name(),
        words in prop::collection::vec(any_word(), 0..3),
    ) {
        reads_back(&format!("{scheme} {}", words.join(" ")));
    }

}

/// A flood of twice as many SYNs as leave, which leaves no tokens of a share, and then an hour of rest. An average queue as RED has
/// it may still be long then, as in Linux; who protects SYNs does not ask it.
#[test]
fn an_empty_queue_takes_a_syn_whatever_came_before() {
    let protects = |spec: &Spec| {
        let has = |name| spec.scheme().options.iter().any(|it| it.name == name);
        has("share") && spec.options().count("share") < 100
    };
    let by_average = |spec: &Spec| spec.scheme().drops.contains(&DropReason::Early);
    let takes = |spec: &Spec| !spec.child().is_some_and(by_average) && (protects(spec) || !by_average(spec));
    let specs: Vec<Spec> = specs().into_iter().filter(takes).collect();
    assert!(specs.len() > 60, "{}", specs.len());
    for spec in specs {
        let mut checked = Checked::new(&spec, 1);
        let mut now = Instant::ZERO;
        let syn = |id| TestPacket {
            id,
            flags: Handshake { syn: true, fin: false },
            ..TestPacket::data(u64::from(id % 5), 74)
        };
        for id in 0..4000 {
            checked.enqueue(now, syn(id));
            if id % 2 == 1 {
                now = checked.dequeue(now).unwrap_or(now);
            }
        }
        let mut rest = |checked: &mut Checked| {
            while !checked.stored.is_empty() {
                now = checked.dequeue(now).unwrap_or(now);
            }
            now += Nanos::from_secs(3600);
            now
        };
        for id in 4000..4003 {
            let now = rest(&mut checked);
            checked.enqueue(now, syn(id));
            assert_eq!(checked.stored.len(), 1, "{spec}: refused");
        }
        rest(&mut checked);
    }
}

/// Every option accepts its default or a value of its kind, and the printed form parses back; nonsense is refused.
#[test]
fn every_option_takes_some_value() {
    for scheme in registry::SCHEMES {
        for option in scheme.options {
            let of_any_kind = ["5ms", "15kb", "15000", "50", "2", "0.5", "2.4mbit", "10p", "on"];
            let words = match option.kind {
                Kind::Choice(words) | Kind::Keyword(words) => words,
                _ => &of_any_kind,
            };
            let values = option.default.iter().chain(words);
            let texts = values.map(|value| format!("{} {}={value}", scheme.name, option.name));
            let taken = texts.filter(|text| reads_back(text)).count();
            assert!(taken > 0, "{} {}: {}", scheme.name, option.name, option.kind);
            let nonsense = format!("{} {}=nonsense", scheme.name, option.name);
            let error = nonsense.parse::<Spec>().expect_err(&nonsense).to_string();
            assert!(error.contains(option.name), "{nonsense}: {error}");
        }
    }
}

#[test]
fn every_scheme_is_complete() {
    let names: BTreeSet<&str> = registry::SCHEMES.iter().map(|scheme| scheme.name).collect();
    assert_eq!(names.len(), registry::SCHEMES.len(), "a name twice");
    for scheme in registry::SCHEMES {
        assert!(!scheme.summary.is_empty() && !scheme.source.is_empty(), "{}", scheme.name);
        let mut options = BTreeSet::new();
        for option in scheme.options {
            assert!(!option.help.is_empty(), "{} {}", scheme.name, option.name);
            assert!(options.insert(option.name), "{} {} twice", scheme.name, option.name);
        }
        assert!(reads_back(scheme.name), "{} is refused at its defaults", scheme.name);
        assert!(!scheme.drops.is_empty() || scheme.child.is_some(), "{}: reasons for drops", scheme.name);
        for preset in scheme.presets {
            assert!(!options.contains(preset.name), "{}", scheme.name);
        }
    }
}

/// If a wrapper and a possible child have an option of the same name, its declarations are equal, and it is set in
/// both.
#[test]
fn options_of_wrappers_and_children_do_not_collide() {
    let (wrappers, others): (Vec<&Scheme>, Vec<&Scheme>) =
        registry::SCHEMES.iter().copied().partition(|s| s.child.is_some());
    // Shapers are left out: all words after `child=` of a shaper are options of the child.
    for wrapper in wrappers.into_iter().filter(|s| s.shaper.is_none()) {
        for own in wrapper.options {
            for child in &others {
                let of_child = child.options.iter().find(|option| option.name == own.name);
                assert!(
                    of_child.is_none_or(|option| option.kind == own.kind && option.default == own.default),
                    "{} {} {}",
                    wrapper.name,
                    child.name,
                    own.name
                );
            }
        }
    }
    let spec: Spec = "spa child=redfavor share=60 limit=30000b".parse().unwrap();
    let share = |spec: &Spec| spec.options().count("share");
    assert_eq!((share(&spec), share(spec.child().unwrap())), (60, 60));
    assert_eq!(spec.to_string(), "spa share=60 child=redfavor limit=30000b");
}

#[test]
fn a_preset_stands_for_its_options_and_gives_way_to_what_is_given() {
    for (text, means) in [
        ("redfavor published", "redfavor maxlen=0 share=100 exempt=on"),
        ("spa Published", "spa fin=priority maxlen=0 share=100"),
        ("spa published share=50 maxlen=60", "spa fin=priority maxlen=60 share=50"),
        ("syn_prio published child=codel", "syn_prio maxlen=0 share=100 child=codel"),
        ("codel", "codel"),
    ] {
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string(), means, "{text}");
        assert_eq!(Ok(spec), means.parse(), "{text}");
    }
    assert!("codel published".parse::<Spec>().is_err());
}

#[test]
fn one_option_is_changed_and_the_others_stay() {
    let spec: Spec = "spa share=50 child=redfavor limit=30000b".parse().unwrap();
    let changed = spec.with("share", Value::Count(70)).unwrap();
    assert_eq!(changed.to_string(), "spa share=70 child=redfavor limit=30000b");
    let changed = spec.with("ecn", Value::Flag(true)).unwrap();
    assert_eq!(changed.to_string(), "spa share=50 child=redfavor limit=30000b ecn=on");
    assert_eq!(spec.without("share").to_string(), "spa child=redfavor limit=30000b");
    assert_eq!(spec.without("limit").with("limit", Value::Size(30_000)), Ok(spec.clone()));
    for (name, value) in [("nonsense", Value::Count(1)), ("share", Value::Count(101)), ("nodrop", Value::Flag(true))] {
        let error = spec.with(name, value).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
