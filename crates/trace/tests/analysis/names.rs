//! Names of hosts, from DNS answers in captures and from the user.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, CLIENT, SERVER, SYN, Segment, end, ip_packet, pcap_of};
use gentle_capture::CaptureReader;
use gentle_trace::live::{Live, Span};
use gentle_trace::names::GivenNames;
use gentle_trace::results::Analysis;
use gentle_trace::{Anonymizer, Control, Options, Selection, When};
use gentle_units::Nanos;
use gentle_wire::{LinkType, Tcp, TcpFlags, Udp, protocol};
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Name, Packet, QCLASS, QTYPE, Question, ResourceRecord, TYPE};
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

const RESOLVER: (&str, u16) = ("192.0.2.53", 53);

/// Text of an address without its port.
const SERVER_ADDRESS: &str = SERVER.0;

type Timed = (Segment, Vec<u8>);

fn message(name: &str) -> Vec<u8> {
    let mut message = Packet::new_reply(7);
    let asked = Name::new(name).expect("a name");
    message.questions.push(Question::new(asked.clone(), QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false));
    let address: Ipv4Addr = SERVER.0.parse().expect("an address");
    message.answers.push(ResourceRecord::new(asked, CLASS::IN, 60, RData::A(A { address: address.into() })));
    message.build_bytes_vec().expect("a message")
}

/// Answer that the server's address belongs to this name, by UDP or TCP.
fn answer(at_s: f64, name: &str, by_tcp: bool) -> Timed {
    let at = Segment::between(at_s, RESOLVER, CLIENT, ACK);
    let (message, ends) = (message(name), [end(RESOLVER).0, end(CLIENT).0]);
    let packet = match by_tcp {
        false => {
            let udp = Udp { src_port: 53, dst_port: 3_053, payload_len: message.len() as u32, payload: &message };
            ip_packet(ends[0], ends[1], (protocol::UDP, 64, 1), 8 + message.len(), |sum, out| udp.emit(Some(sum), out))
        }
        true => {
            let payload = [&(message.len() as u16).to_be_bytes()[..], &message].concat();
            let tcp = Tcp {
                src_port: 53,
                dst_port: 3_053,
                seq: 1,
                ack: 1,
                flags: TcpFlags::ACK,
                window: 1_000,
                payload_len: payload.len() as u32,
                options: &[],
                payload: &payload,
            };
            ip_packet(ends[0], ends[1], (protocol::TCP, 64, 1), 20 + payload.len(), |sum, out| tcp.emit(sum, out))
        }
    };
    (at, packet)
}

/// Attempt whose first SYN is lost.
fn attempt() -> Vec<Timed> {
    let segments = [
        Segment::client(10.0, SYN).seq(100).id(1),
        Segment::client(11.0, SYN).seq(100).id(2),
        Segment::server(11.1, SYN | ACK).seq(500).ack(101),
        Segment::client(11.2, ACK).seq(101).ack(501),
    ];
    segments.into_iter().map(|segment| (segment.clone(), segment.packet())).collect()
}

fn capture(answers: &[Timed]) -> Vec<u8> {
    let packets = [answers, &attempt()].concat();
    pcap_of(LinkType::RAW, packets.iter().map(|(segment, packet)| (segment, packet.clone())))
}

fn analyze(answers: &[Timed], options: &Options) -> Analysis {
    analyze_bytes(&[&capture(answers)], options).0
}

fn given(text: &str) -> Arc<GivenNames> {
    let mut names = GivenNames::default();
    names.read(text).expect("names");
    Arc::new(names)
}

#[test]
fn a_server_has_the_name_of_the_last_answer() {
    for by_tcp in [false, true] {
        let answers = [answer(0.0, "first.example", by_tcp), answer(0.1, "www.example", by_tcp)];
        let analysis = analyze(&answers, &Options::default());
        assert_eq!(analysis.names.of("198.51.100.2:443"), Some("www.example"), "TCP {by_tcp}");
        assert_eq!(analysis.names.of(SERVER_ADDRESS), Some("www.example"));
        assert_eq!([CLIENT.0, "198.51.100.0/24"].map(|place| analysis.names.of(place)), [None; 2]);
        let places = [&analysis.top.servers[0].name, &analysis.causes[0].group.most[0].name];
        assert_eq!(places.map(|place| analysis.names.of(place)), [Some("www.example"); 2]);
    }
}

#[test]
fn answers_that_are_not_selected_name_servers() {
    let of = |selection: Selection| {
        let answers = [answer(0.0, "www.example", false)];
        let analysis = analyze(&answers, &Options { selection, ..Options::default() });
        assert_eq!(analysis.captures[0].packets, 4);
        analysis.names.of(SERVER_ADDRESS).map(str::to_owned)
    };
    let host = gentle_trace::prefix(SERVER.0).expect("an address");
    let selections = [
        Selection { ports: vec![443], ..Selection::default() },
        Selection { hosts: vec![host], ..Selection::default() },
        Selection { since: Some(When::After(Nanos::from_secs(5))), ..Selection::default() },
    ];
    assert_eq!(selections.map(of), [(); 3].map(|()| Some("www.example".to_owned())));
}

#[test]
fn given_names_precede_answers_and_name_clients_and_prefixes() {
    let names = given("198.51.0.0/16 office\n192.0.2.1 laptop\n198.51.100.3 other\n");
    let options = Options { names, ..Options::default() };
    let analysis = analyze(&[answer(0.0, "www.example", false)], &options);
    let places = ["198.51.100.2:443", "198.51.100.0/24", CLIENT.0, "198.51.100.3:443"];
    assert_eq!(places.map(|place| analysis.names.of(place)), [Some("office"), Some("office"), Some("laptop"), None]);
}

#[test]
fn replaced_addresses_have_no_names() {
    let anonymizer = Anonymizer::new(std::array::from_fn(|i| i as u8)).expect("a key");
    let options = Options { names: given("0.0.0.0/0 office\n"), ..Options::default() };
    let bytes = capture(&[answer(0.0, "www.example", false)]);
    let reader = CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes))).expect("a capture");
    let analysis = gentle_trace::analyze(vec![reader], &options, Some(&anonymizer), None, &Control::default());
    let analysis = analysis.expect("a capture");
    assert!(analysis.names.is_empty() && analysis.outcomes.with_loss == 1);
}

#[test]
fn live_attempts_and_windows_have_the_names_of_an_analysis() {
    for options in
        [Options::default(), Options { names: given("198.51.100.2 office\n192.0.2.1 laptop\n"), ..Options::default() }]
    {
        let bytes = capture(&[answer(0.0, "www.example", false)]);
        let analysis = analyze_bytes(&[&bytes], &options).0;
        let mut reader = CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes))).expect("a capture");
        let (mut attempts, mut live) = (Vec::new(), None);
        let mut last = gentle_units::Instant::ZERO;
        while let Some(packet) = reader.next().expect("no damage") {
            last = packet.time;
            let live = live.get_or_insert_with(|| Live::new(&options, last));
            live.packet(&packet, &mut |attempt| attempts.push(attempt.clone()));
        }
        let mut live = live.expect("packets");
        for second in 1..200 {
            live.advance(last + Nanos::from_secs(second), &mut |attempt| attempts.push(attempt.clone()));
        }
        let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
        assert_eq!(attempt.name.as_deref(), analysis.names.of(SERVER_ADDRESS));
        assert_eq!(attempt.client_name.as_deref(), analysis.names.of(CLIENT.0));
        assert_eq!(live.window(Span::Hour, 10).names, analysis.names);
        assert_eq!(IpAddr::from([198, 51, 100, 2]), attempt.server.ip());
    }
}
