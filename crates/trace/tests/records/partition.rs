//! Any division of captures into tasks, any order, all options.

use crate::captures::generate;
use crate::{json, merged, one_pass, record};
use gentle_trace::record::{MergeError, Record, RecordError, merge};
use gentle_trace::results::{Analysis, DirectionBy};
use gentle_trace::{Anonymizer, Options, VantagePoint};
use gentle_units::{Nanos, Rate};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Captures that overlap in time, follow one another within the idle timeout or long after it, with losses, floods of
/// SYNs, dead servers, IPv6, and protocols other than TCP.
fn captures() -> &'static [PathBuf] {
    static CAPTURES: OnceLock<(TempDir, Vec<PathBuf>)> = OnceLock::new();
    let (_, paths) = CAPTURES.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        const FLOOD: &str = "--clients 1 --ipv6 0 --refused 1 --unanswered 0 --connections 600 --packets 7k";
        let kinds: [(&str, u64); 9] = [
            ("", 0),
            ("--syn-loss 0.2 --synack-loss 0.2", 1),
            ("--unanswered 0.3 --refused 0.3 --rejected 0.1", 200),
            ("--ipv6 1 --late 0.3 --data-loss 0.05", 450),
            ("--one-sided 0.5 --blackholed 0.2", 4_000),
            ("--vantage client --no-timestamps 1", 4_700),
            ("--vantage server --syn-loss 0.3", 90_000),
            // A client that floods only if both captures are taken together.
            (FLOOD, 700),
            (FLOOD, 10_000),
        ];
        let mut paths = Vec::new();
        for (seed, (args, later)) in (1..).zip(kinds) {
            let path = folder.path().join(format!("{seed}.pcap"));
            let seed = seed.to_string();
            let common = ["--seed", &seed, "--connections", "150", "--packets", "2500"];
            let servers = ["--servers", "40"];
            let mut all: Vec<&str> = args.split_whitespace().collect();
            let common = common.chunks(2).filter(|pair| !args.contains(pair[0]));
            all.extend(common.flatten());
            all.extend(servers);
            generate(&path, &all, Nanos::from_secs(later));
            paths.push(path);
        }
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        paths.push(data.join("netns/ipv6-syn.router.pcap"));
        (folder, paths)
    });
    paths
}

fn variants() -> Vec<(Options, Option<Anonymizer>)> {
    let default = Options::default;
    let local = || vec!["10.0.0.0/9".parse().unwrap(), "2001:db8::/40".parse().unwrap()];
    let key = std::array::from_fn(|i| i as u8);
    vec![
        (default(), None),
        (
            Options { local: local(), rate: Rate::from_bits_per_second(100_000_000), top: 3, ..default() },
            Anonymizer::new(key),
        ),
        (
            Options {
                direction: Some(DirectionBy::Interface),
                vantage: Some(VantagePoint::Server),
                idle_timeout: Nanos::from_secs(20),
                ..default()
            },
            None,
        ),
        (Options { inner: true, idle_timeout: Nanos::from_secs(3_600), ..default() }, Anonymizer::new(key)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_partition_adds_up_to_one_pass(
        variant in 0_usize..4,
        tasks in prop::collection::vec(0_usize..6, 10),
        order in any::<prop::sample::Index>(),
    ) {
        static WHOLE: OnceLock<Vec<String>> = OnceLock::new();
        let whole = WHOLE.get_or_init(|| {
            let variants = variants();
            let all = variants.iter();
            all.map(|(options, anonymizer)| {
                json(&one_pass(captures(), options, anonymizer.as_ref()))
            }).collect()
        });
        let (options, anonymizer) = &variants()[variant];
        let mut parts: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
        for (path, task) in captures().iter().zip(tasks) {
            parts.entry(task).or_default().push(path.clone());
        }
        let mut records: Vec<Record> = parts
            .values()
            .map(|paths| record(paths, options, anonymizer.as_ref()))
            .collect();
        let first = order.index(records.len());
        records.rotate_left(first);
        // A duplicate record counts once.
        records.push(records[0].clone());
        prop_assert_eq!(&json(&merged(records)), &whole[variant]);
    }
}

#[test]
fn an_address_that_floods_in_two_captures_together_is_found() {
    let removed = |analysis: &Analysis| {
        let flood = analysis.filters.iter().find(|filter| filter.name == "syn-flood");
        flood.and_then(|filter| filter.removed_addresses).unwrap()
    };
    let options = Options::default();
    // The last of those that are generated; the next has other addresses.
    let paths = &captures()[7..9];
    let each: Vec<Record> = paths.iter().map(|path| record(std::slice::from_ref(path), &options, None)).collect();
    for record in &each {
        assert_eq!(removed(&merged(vec![record.clone()])), 0);
    }
    let both = merged(each);
    assert_eq!(json(&both), json(&one_pass(paths, &options, None)));
    assert_eq!(removed(&both), 1);
}

#[test]
fn the_order_of_the_captures_in_the_call_does_not_matter() {
    let mut paths = captures().to_vec();
    let expected = json(&one_pass(&paths, &Options::default(), None));
    paths.reverse();
    assert_eq!(json(&one_pass(&paths, &Options::default(), None)), expected);
}

#[test]
fn captures_with_tcp_in_tunnels_only_are_decapsulated_if_all_are() {
    let folder = TempDir::new().unwrap();
    let plain = folder.path().join("plain.pcap");
    generate(&plain, &["--connections", "30", "--packets", "500"], Nanos::ZERO);
    let tunnels = ["a", "b"].map(|name| {
        let path = folder.path().join(format!("{name}.pcap"));
        let seed = name.len().to_string() + &(name.as_bytes()[0]).to_string();
        let args = ["--connections", "30", "--packets", "500", "--seed", &seed];
        generate(&path, &args, Nanos::from_secs(60));
        encapsulate(&path);
        path
    });
    let options = Options::default();
    for paths in
        [vec![tunnels[0].clone(), tunnels[1].clone()], vec![tunnels[0].clone(), plain.clone(), tunnels[1].clone()]]
    {
        let whole = one_pass(&paths, &options, None);
        let inside = !paths.contains(&plain);
        assert_eq!(whole.handshakes.attempts, if inside { 60 } else { 30 });
        let records = paths.iter().map(|path| record(std::slice::from_ref(path), &options, None));
        assert_eq!(json(&merged(records.collect())), json(&whole));
    }
}

/// Puts every packet of an Ethernet capture into GRE over IPv4.
fn encapsulate(path: &Path) {
    use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
    let mut reader = CaptureReader::open(path).unwrap();
    let mut out = PcapWriter::new(Vec::new(), gentle_wire::LinkType::ETHERNET, None, Resolution::Nanos).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        // Ethernet header, IPv4 header without options and with protocol 47, GRE header with the type of the packet.
        let (ethernet, ip) = packet.data.split_at(14);
        let length = (packet.original_len as u16 - 14 + 24).to_be_bytes();
        let mut data = ethernet[..12].to_vec();
        data.extend([8, 0, 0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, 47, 0, 0]);
        data.extend([192, 0, 2, 1, 192, 0, 2, 2, 0, 0]);
        data.extend(&ethernet[12..]);
        data.extend(ip);
        out.packet(&RawPacket { data: &data, original_len: packet.original_len + 24, ..packet }).unwrap();
    }
    std::fs::write(path, out.into_inner()).unwrap();
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let [a, b] = [0, 1].map(|i| captures()[i].clone());
    let options = Options::default();
    let one = |path: &PathBuf, options: &Options| record(std::slice::from_ref(path), options, None);
    let named = |records: Vec<Record>| {
        let named = records.into_iter().zip(["one", "two"]);
        merge(named.map(|(record, name)| (name.to_owned(), record)).collect())
    };
    let other = Options { idle_timeout: Nanos::from_secs(7), ..Options::default() };
    let error = named(vec![one(&a, &options), one(&b, &other)]).unwrap_err();
    assert!(matches!(error, MergeError::Different { option: "--idle-timeout", .. }), "{error}");
    let both = record(&[a.clone(), b], &options, None);
    let error = named(vec![both, one(&a, &options)]).unwrap_err();
    assert!(matches!(error, MergeError::Twice { .. }), "{error}");
    assert_eq!(named(Vec::new()).unwrap_err(), MergeError::Empty);
}

#[test]
fn a_damaged_record_is_refused_and_never_panics() {
    let bytes = record(&captures()[..1], &Options::default(), None).to_bytes();
    for n in (0..bytes.len()).step_by(101) {
        assert!(Record::from_bytes(&bytes[..n]).is_err());
        let mut flipped = bytes.clone();
        flipped[n] ^= 1 << (n % 8);
        let _ = Record::from_bytes(&flipped);
    }
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        Record::from_bytes(&zstd::encode_all(text.as_bytes(), 3).unwrap())
    };
    // Made by the same version from other sources, and before records had this identity.
    let error = changed("\"engine\":\"", "\"engine\":\"0").unwrap_err();
    assert!(matches!(error, RecordError::Engine { .. }), "{error}");
    let error = changed("\"engine\":", "\"motor\":").unwrap_err();
    assert!(error.to_string().contains("engine unknown"), "{error}");
    let error = changed("\"places\":[[0,", "\"places\":[[1000000,").unwrap_err();
    assert_eq!(error, RecordError::Inconsistent);
    let error = changed("\"successes\"", "\"success\"").unwrap_err();
    assert!(matches!(error, RecordError::Syntax(_)), "{error}");
}
