//! Wire engine on changing paths, and suspended: none of these packets is lost, so every copy is spurious (RFC 5682).

use super::engine::Engine;
use super::inside;
use super::network::{End, Loses, Network, run};
use std::process::Command;
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: fn(u64) -> Duration = Duration::from_millis;

/// R1: a path becomes longer.
#[test]
fn a_path_that_becomes_longer_is_learned_within_ten_handshakes() {
    if !inside("rexmit::changes::a_path_that_becomes_longer_is_learned_within_ten_handshakes") {
        return;
    }
    let network = Network::with_rtt(MS(20));
    let engines = [("client", "-c"), ("server", "-s")].map(|(host, side)| Engine::start(&network, host, &[side]));
    let copies = |rtt, count: u64| {
        network.change(MS(rtt), None);
        network.handshakes(count as usize, SECOND, End::Close);
        let (syns, syn_acks) = network.seen();
        println!("| {rtt} ms | {count} handshakes | {} copies of SYNs |", syns - count);
        // A copied SYN is answered as well, so an additional SYN/ACK need not be a copy.
        (syns - count, syn_acks.saturating_sub(syns))
    };
    assert_eq!(copies(20, 50), (0, 0));
    let (syns, syn_acks) = copies(200, 10);
    assert!(syns <= 3 && syn_acks <= 3, "{syns}, {syn_acks}");
    assert_eq!(copies(200, 90), (0, 0));
    assert_eq!(copies(20, 100), (0, 0));
    let status = engines[0].status();
    for engine in status.as_array().unwrap() {
        let counters = &engine["counters"];
        assert_eq!(counters["rescued"], 0, "{engine}");
        assert_eq!(counters["saved_ms"], 0, "{engine}");
    }
    for engine in engines {
        engine.stop();
    }
}

/// R2: the process is suspended.
#[test]
fn a_process_that_stood_still_learns_no_false_times() {
    if !inside("rexmit::changes::a_process_that_stood_still_learns_no_false_times") {
        return;
    }
    let network = Network::with_rtt(MS(60));
    let engine = Engine::start(&network, "client", &["-c"]);
    engine.signal("STOP");
    network.handshakes(40, MS(200), End::Close);
    engine.signal("CONT");
    thread::sleep(SECOND);
    assert_eq!(network.seen(), (40, 40));
    network.handshakes(40, SECOND, End::Close);
    assert_eq!(network.seen(), (40, 40));
    let status = engine.status();
    let path = &status[0]["paths"][0];
    let srtt = path["srtt_us"].as_u64().unwrap();
    assert!((60_000..61_000).contains(&srtt), "{path}");
    // Packets found on resumption count as well: the kernel has timestamped them.
    assert_eq!(path["samples"], 80, "{path}");
    engine.stop();
}

/// R3: answers take another route.
#[test]
fn where_answers_come_another_way_nothing_is_copied() {
    if !inside("rexmit::changes::where_answers_come_another_way_nothing_is_copied") {
        return;
    }
    let network = Network::with_rtt(MS(60));
    network.answer_another_way();
    for arguments in [&["-c"][..], &["-c", "-d", "200"]] {
        let engine = Engine::start(&network, "client", arguments);
        network.handshakes(30, SECOND, End::Reset);
        assert_eq!(network.seen().0, 30);
        let status = engine.status();
        let counters = &status[0]["counters"];
        assert_eq!(counters["answered_unseen"], 30, "{counters}");
        assert_eq!(counters["answered"], 0, "{counters}");
        let srtt = status[0]["paths"][0]["srtt_us"].as_u64().unwrap();
        assert!((60_000..61_000).contains(&srtt), "{status}");
        engine.stop();
    }
}

/// Queue of up to 0.6 s that uploads fill for ten seconds of every minute, for an hour.
#[test]
fn over_an_hour_of_bufferbloat_few_copies_are_spurious() {
    if !inside("rexmit::changes::over_an_hour_of_bufferbloat_few_copies_are_spurious") {
        return;
    }
    const MINUTES: u64 = 60;
    let network = Network::with_rtt(MS(40));
    network.change(MS(40), Some("1mbit"));
    // The server's window bounds the queue, so that nothing is lost and no RTO of the client's kernel expires.
    network.set("server", "ipv4.tcp_rmem", "4096 60000 60000");
    let engine = Engine::start(&network, "client", &["-c"]);
    let handshakes = 30 * MINUTES;
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..MINUTES {
                thread::sleep(Duration::from_secs(50));
                network.upload(Duration::from_secs(10));
            }
        });
        network.handshakes(handshakes as usize, MS(2_000), End::Close);
    });
    let (syns, _) = network.seen();
    let all = handshakes + MINUTES;
    let spurious = syns - all;
    let status = engine.status();
    let (counters, path) = (&status[0]["counters"], &status[0]["paths"][0]);
    println!("| bufferbloat | {all} handshakes | {spurious} copies | {path} |");
    assert!(spurious * 50 <= all, "{spurious} of {all}: {counters}");
    // The queue did build up.
    let copies = counters["copies"].as_u64().unwrap();
    assert!(path["tail_us"].as_u64().unwrap() > 200_000, "{path}");
    assert_eq!(copies, spurious, "{counters}");
    assert_eq!(counters["rescued"], 0, "{counters}");
    assert_eq!(counters["saved_ms"], 0, "{counters}");
    engine.stop();
}

/// R4: filters before the queue are not applied twice.
#[test]
fn a_copy_does_not_pass_the_filters_of_clsact_again() {
    if !inside("rexmit::changes::a_copy_does_not_pass_the_filters_of_clsact_again") {
        return;
    }
    let network = Network::with_rtt(MS(60));
    let tc = |arguments: &str| {
        let arguments = arguments.split(' ');
        run(Command::new("tc").args(["-n", "client"]).args(arguments))
    };
    tc("qdisc add dev c0 clsact");
    tc("filter add dev c0 egress protocol ip flower ip_proto tcp tcp_flags 0x02/0x12 action ok");
    let engine = Engine::start(&network, "client", &["-c", "-d", "200"]);
    let one = Loses { syns: 1, syn_acks: 0 };
    let took = network.connect(one);
    assert!(took < SECOND, "{took:?}");
    assert_eq!(network.seen().0, 2);
    let said = tc("-s filter show dev c0 egress");
    assert!(said.contains(" 1 pkt "), "{said}");
    engine.stop();
}
