//! What holds for every scheme of the registry, whatever arrives and whenever.

mod packet;

use gentle_aqm::{DropReason, Drops, Ecn, Handshake, Kind, Qdisc, Scheme, Spec, registry};
use gentle_units::Nanos;
use packet::TestPacket;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Option sets beside the defaults of every scheme.
const SPECS: &[&str] = &[
    "pfifo limit=3",
    "pfifo limit=20 delay=5ms",
    "bfifo limit=5000",
    "bfifo delay=2ms",
    "red limit=20000 avpkt=500",
    "red ecn gentle probability=0.5",
    "red ecn harddrop min=2000 max=6000 ewma=1",
    "red ecn nodrop ewma=9",
    "red adaptive",
    "ared limit=10000 avpkt=100 ecn",
    "choke limit=10 min=2 max=6 ewma=1",
    "choke limit=100 ecn",
    "choke min=1 ewma=1 gentle",
    "redfavor limit=10000 min=1000 max=3000 ewma=1 maxlen=0 share=100",
    "redfavor limit=10000 min=1000 max=3000 ewma=1 share=10",
    "redfavor ecn gentle",
    "codel limit=5 target=1ms interval=10ms",
    "codel ecn ce_threshold=1ms",
    "fq_codel limit=10 flows=4 target=1ms interval=10ms",
    "fq_codel flows=1 noecn",
    "pie limit=10 target=1ms",
    "pie ecn",
    "fq_pie limit=10 flows=4",
    "sfq limit=10",
    "sfq perturb=1",
    "sfq headdrop limit=5",
    "gsp threshold=1ms interval=10ms limit=20",
    "gsp threshold=3p mode=basic interval=1ms",
    "gsp threshold=3kb limit_bytes=10kb",
];

const WRAPPERS: &[&str] = &["syn_prio", "syn_fin_prio", "spa"];
const CHILDREN: &[&str] = &[
    "pfifo limit=4",
    "bfifo limit=4000",
    "red limit=20000 avpkt=500 ewma=1",
    "ared",
    "choke limit=10 min=2 max=6 ewma=1",
    "redfavor limit=10000 min=1000 max=3000 ewma=1",
    "codel target=1ms interval=10ms",
    "fq_codel limit=10 flows=4 target=1ms interval=10ms",
    "pie limit=10 target=1ms",
    "fq_pie limit=10 flows=4",
    "sfq limit=10",
    "gsp threshold=1ms interval=10ms limit=20",
];

fn specs() -> Vec<Spec> {
    let defaults = registry::SCHEMES
        .iter()
        .map(|scheme| scheme.name.to_owned());
    let chosen = SPECS.iter().map(|text| (*text).to_owned());
    let wrapped = WRAPPERS.iter().flat_map(|wrapper| {
        let fins: &[&str] = match *wrapper {
            "syn_prio" => &["", "share=100"],
            _ => &[
                "fin=inorder share=100",
                "fin=inorder held=2 share=1",
                "fin=priority maxlen=0 share=100",
                "fin=priority maxlen=0 share=50",
                "fin=none",
            ],
        };
        CHILDREN.iter().flat_map(move |child| {
            fins.iter()
                .map(move |fin| format!("{wrapper} {fin} child={child}"))
        })
    });
    defaults
        .chain(chosen)
        .chain(wrapped)
        .map(|text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}")))
        .collect()
}

#[derive(Debug, Clone)]
enum Event {
    /// Packets that arrive at one instant.
    Arrive(Vec<TestPacket>),
    Depart(usize),
    Wait(Nanos),
}

fn any_packet() -> impl Strategy<Value = TestPacket> {
    let bytes = prop_oneof![8 => 40u32..=1514, 3 => Just(1514), 1 => 40u32..=65_549];
    let ecn = prop_oneof![
        Just(Ecn::NotEct),
        Just(Ecn::Ect0),
        Just(Ecn::Ect1),
        Just(Ecn::Ce)
    ];
    let flags = prop_oneof![
        6 => Just((false, false, false)),
        2 => Just((true, false, true)),
        2 => Just((false, true, true)),
        1 => (any::<bool>(), any::<bool>(), any::<bool>()),
    ];
    (0u64..5, bytes, flags, ecn).prop_map(|(flow, bytes, (syn, fin, short), ecn)| TestPacket {
        id: 0,
        flow,
        bytes: if short { bytes.min(74) } else { bytes },
        flags: Handshake { syn, fin },
        ecn,
        arrived: Nanos::ZERO,
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

/// What a scheme does with the order of packets, from its specification.
struct Promises {
    /// SYNs may overtake the data of their own flow, by design.
    syn_first: bool,
    /// FINs may.
    fin_first: bool,
    /// FINs may be overtaken by what came after them: one that the queue dropped waits for all that was queued then.
    fin_late: bool,
    maxlen: u32,
    /// Percent of the bytes that priority may take while data waits; 100 without a bound.
    share: u64,
    /// Priority always goes first.
    strict: bool,
    /// The limit in bytes of a redfavor that protects every SYN, as published.
    redfavor: Option<u64>,
}

impl Promises {
    fn of(spec: &Spec) -> Promises {
        let wrapper = spec.child().is_some();
        let name = spec.scheme().name;
        let redfavor = name == "redfavor";
        let maxlen = match wrapper || redfavor {
            true => spec.options().count("maxlen") as u32,
            false => 0,
        };
        let maxlen = if maxlen == 0 { u32::MAX } else { maxlen };
        let published = redfavor && maxlen == u32::MAX && spec.options().count("share") == 100;
        let fin = if wrapper && name != "syn_prio" {
            spec.options().choice("fin")
        } else {
            "none"
        };
        Promises {
            syn_first: wrapper || redfavor,
            fin_first: fin == "priority",
            fin_late: fin == "inorder",
            maxlen,
            share: match wrapper {
                true => spec.options().count("share"),
                false => 100,
            },
            strict: wrapper && spec.options().count("share") == 100,
            redfavor: published.then(|| spec.options().size("limit")),
        }
    }

    fn has_priority(&self, packet: &TestPacket) -> bool {
        ((self.syn_first && packet.flags.syn) || (self.fin_first && packet.flags.fin))
            && packet.bytes - 14 <= self.maxlen
    }
}

/// A queue under test beside a plain record of what must be in it.
struct Checked {
    queue: Box<dyn Qdisc<TestPacket>>,
    promises: Promises,
    /// A redfavor reorders SYNs beyond its share, and beneath a wrapper those that the wrapper takes for data.
    unordered_syns: bool,
    text: String,
    drops: Drops<TestPacket>,
    stored: BTreeMap<u32, TestPacket>,
    /// The last packet delivered of each flow and class.
    delivered: BTreeMap<(u64, bool), u32>,
    /// Bytes of priority and of data delivered since data has been waiting without a break.
    under_load: (u64, u64),
    marked: u64,
    log: Vec<(u32, Option<DropReason>)>,
}

impl Checked {
    fn new(spec: &Spec, seed: u64) -> Checked {
        Checked {
            queue: registry::build(spec, seed),
            promises: Promises::of(spec),
            unordered_syns: spec.child().unwrap_or(spec).scheme().name == "redfavor",
            text: spec.to_string(),
            drops: Drops::new(),
            stored: BTreeMap::new(),
            delivered: BTreeMap::new(),
            under_load: (0, 0),
            marked: 0,
            log: Vec::new(),
        }
    }

    fn account(&mut self) {
        let Checked {
            drops,
            stored,
            log,
            text,
            promises,
            ..
        } = self;
        let dropped: Vec<_> = drops.drain().collect();
        for (packet, reason) in &dropped {
            assert!(
                stored.remove(&packet.id).is_some(),
                "{text}: {packet:?} dropped twice"
            );
            log.push((packet.id, Some(*reason)));
        }
        if let Some(limit) = promises.redfavor {
            for (packet, reason) in &dropped {
                let syns: u64 = stored
                    .values()
                    .filter(|p| p.flags.syn)
                    .map(|p| u64::from(p.bytes))
                    .sum();
                // A SYN that is longer than what the SYNs before it leave would not fit an empty queue either.
                let hopeless =
                    *reason == DropReason::Tail && syns + u64::from(packet.bytes) > limit;
                assert!(
                    !packet.flags.syn || hopeless || stored.values().all(|p| p.flags.syn),
                    "{text}: SYN dropped while data is queued"
                );
            }
        }
        let bytes: u64 = stored.values().map(|p| u64::from(p.bytes)).sum();
        assert_eq!(self.queue.len(), stored.len(), "{text}: packets");
        assert_eq!(self.queue.backlog(), bytes, "{text}: bytes");
        assert_eq!(
            self.queue.is_empty(),
            stored.is_empty(),
            "{text}: emptiness"
        );
        assert!(
            self.queue.marked() >= self.marked,
            "{text}: marks are taken back"
        );
        self.marked = self.queue.marked();
    }

    fn enqueue(&mut self, now: Nanos, packet: TestPacket) {
        self.stored.insert(packet.id, packet);
        self.queue.enqueue(now, packet, &mut self.drops);
        self.account();
    }

    /// Priority takes its share of the bytes and one burst of ten frames at most, as long as data waits.
    fn check_share(&mut self, packet: &TestPacket, priority: bool) {
        let share = self.promises.share;
        let data_waits = self.stored.values().any(|p| {
            !self.promises.has_priority(p)
                && self.drops.iter().all(|(dropped, _)| dropped.id != p.id)
        });
        let (first, rest) = &mut self.under_load;
        if !priority {
            *rest += u64::from(packet.bytes);
        } else if data_waits {
            *first += u64::from(packet.bytes);
            let burst = (15_140 + u64::from(packet.bytes)) * (100 - share);
            assert!(
                share == 100 || 100 * *first <= share * (*first + *rest) + burst,
                "{}: {first} bytes of priority beside {rest} of data",
                self.text
            );
        }
        if !data_waits {
            self.under_load = (0, 0);
        }
    }

    fn dequeue(&mut self, now: Nanos) {
        let packet = self.queue.dequeue(now, &mut self.drops);
        if let Some(packet) = packet {
            let text = &self.text;
            let sent = self.stored.remove(&packet.id);
            assert!(sent.is_some(), "{text}: {packet:?} delivered twice");
            let priority = self.promises.has_priority(&packet);
            if !priority && self.promises.strict {
                let waiting = self.stored.values().find(|p| self.promises.has_priority(p));
                assert!(
                    waiting.is_none()
                        || self
                            .drops
                            .iter()
                            .any(|(p, _)| Some(p.id) == waiting.map(|w| w.id)),
                    "{text}: {packet:?} delivered before {waiting:?}"
                );
            }
            self.check_share(&packet, priority);
            let text = &self.text;
            let unordered = self.unordered_syns && packet.flags.syn;
            if self.promises.fin_late && packet.flags.fin && !priority && !unordered {
                let overtaken = self.stored.values().find(|p| {
                    p.flow == packet.flow
                        && p.id < packet.id
                        && !p.flags.fin
                        && !(self.unordered_syns && p.flags.syn)
                        && self.drops.iter().all(|(dropped, _)| dropped.id != p.id)
                });
                assert!(
                    overtaken.is_none(),
                    "{text}: {packet:?} delivered before {overtaken:?}"
                );
            } else if !unordered {
                let class = (packet.flow, priority);
                let before = self.delivered.insert(class, packet.id);
                assert!(
                    before < Some(packet.id),
                    "{text}: {packet:?} after {before:?}"
                );
            }
            self.log.push((packet.id, None));
        }
        self.account();
        if packet.is_none() {
            assert!(self.stored.is_empty(), "{}: nothing delivered", self.text);
        }
    }
}

fn run(spec: &Spec, seed: u64, events: &[Event]) -> (Vec<(u32, Option<DropReason>)>, u64) {
    let mut checked = Checked::new(spec, seed);
    let mut now = Nanos::ZERO;
    let mut id = 0;
    for event in events {
        match event {
            Event::Arrive(packets) => {
                for packet in packets {
                    checked.enqueue(now, TestPacket { id, ..*packet });
                    id += 1;
                }
            }
            Event::Depart(n) => (0..*n).for_each(|_| checked.dequeue(now)),
            Event::Wait(span) => now += *span,
        }
    }
    let left = checked.queue.len();
    (0..=left).for_each(|_| checked.dequeue(now));
    assert!(
        checked.stored.is_empty(),
        "{}: does not run empty",
        checked.text
    );
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

/// Words from which specifications are made, right and wrong.
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
        Just("inorder".to_owned()),
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
    assert_eq!(
        written.parse().as_ref(),
        Ok(&spec),
        "{text} was written as {written}"
    );
    // What was accepted can be built.
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

/// Its default, or one of its kind; and it is written so that it reads back.
#[test]
fn every_option_takes_some_value() {
    for scheme in registry::SCHEMES {
        for option in scheme.options {
            let of_any_kind = [
                "5ms", "15kb", "15000", "50", "2", "0.5", "2.4mbit", "10p", "on",
            ];
            let words = match option.kind {
                Kind::Choice(words) => words,
                _ => &of_any_kind,
            };
            let values = option.default.iter().chain(words);
            let texts = values.map(|value| format!("{} {}={value}", scheme.name, option.name));
            let taken = texts.filter(|text| reads_back(text)).count();
            assert!(
                taken > 0,
                "{} {}: {}",
                scheme.name,
                option.name,
                option.kind
            );
            let nonsense = format!("{} {}=nonsense", scheme.name, option.name);
            let error = nonsense.parse::<Spec>().expect_err(&nonsense).to_string();
            assert!(error.contains(option.name), "{nonsense}: {error}");
        }
    }
}

#[test]
fn every_scheme_is_complete() {
    let expected = [
        "pfifo",
        "bfifo",
        "red",
        "ared",
        "choke",
        "redfavor",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "sfq",
        "syn_prio",
        "syn_fin_prio",
        "spa",
        "gsp",
    ];
    let names: Vec<&str> = registry::SCHEMES.iter().map(|scheme| scheme.name).collect();
    assert_eq!(names, expected);
    for scheme in registry::SCHEMES {
        assert!(
            !scheme.summary.is_empty() && !scheme.source.is_empty(),
            "{}",
            scheme.name
        );
        let mut options = BTreeSet::new();
        for option in scheme.options {
            assert!(!option.help.is_empty(), "{} {}", scheme.name, option.name);
            assert!(
                options.insert(option.name),
                "{} {} twice",
                scheme.name,
                option.name
            );
        }
        assert!(
            reads_back(scheme.name),
            "{} is refused at its defaults",
            scheme.name
        );
    }
}

/// A wrapper and a scheme that it may wrap have options of one name only where these are the same, and are set together.
#[test]
fn options_of_wrappers_and_children_do_not_collide() {
    let (wrappers, others): (Vec<&Scheme>, Vec<&Scheme>) = registry::SCHEMES
        .iter()
        .copied()
        .partition(|s| s.child.is_some());
    for wrapper in wrappers {
        for own in wrapper.options {
            for child in &others {
                let of_child = child.options.iter().find(|option| option.name == own.name);
                assert!(
                    of_child.is_none_or(
                        |option| option.kind == own.kind && option.default == own.default
                    ),
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
