//! Tables 2 to 4 of handshake-2009 in real time, with Linux's initial RTO of one second instead of three: time to open
//! a connection without and with the paper's call, `-d 200 -r 3`.

use crate::engine::{Running, paper};
use crate::network::{Losses, Network, SERVER_V4, SERVER_V6};
use gentle_rexmit::{Config, Status};

/// Tolerance for a busy machine, milliseconds.
const LATE: u128 = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Nobody,
    Client,
    Server,
}

/// Opens a connection under these losses and checks that it takes `expected` milliseconds; returns the status of the
/// engine.
fn opens_in(side: Side, server: &str, losses: Losses, expected: u128) -> Option<Status> {
    let network = Network::new()?;
    let engine = match side {
        Side::Nobody => None,
        Side::Client => Some(Running::start(&network.client, "eth0", paper(true, false))),
        Side::Server => Some(Running::start(&network.server, "eth0", paper(false, true))),
    };
    network.lose(losses);
    let took = network.connect(server).as_millis();
    assert!((expected..expected + LATE).contains(&took), "{side:?} {losses:?}: {took} ms, expected {expected}");
    Some(engine?.end())
}

fn lost(syns: u32, synacks: u32) -> Losses {
    Losses { syns, synacks, ..Losses::default() }
}

#[test]
fn without_it_the_stack_waits() {
    opens_in(Side::Nobody, SERVER_V4, lost(1, 0), 1_000);
    opens_in(Side::Nobody, SERVER_V4, lost(0, 1), 1_000);
}

#[test]
fn on_the_clients_side() {
    for (losses, expected, copies) in
        [(lost(1, 0), 200, 1), (lost(0, 1), 200, 1), (lost(1, 1), 400, 2), (lost(3, 0), 600, 3)]
    {
        let Some(status) = opens_in(Side::Client, SERVER_V4, losses, expected) else {
            return;
        };
        let c = status.counters;
        assert_eq!((c.syns, c.synacks, c.answered_after_copy), (1, 0, 1));
        assert_eq!((c.copies, c.send_errors, status.missed), (copies, 0, 0));
    }
}

#[test]
fn on_the_servers_side() {
    // A server does not know of a lost SYN.
    for (losses, expected, copies) in
        [(lost(1, 0), 1_000, 0), (lost(0, 1), 200, 1), (lost(1, 1), 1_200, 1), (lost(0, 3), 600, 3)]
    {
        let Some(status) = opens_in(Side::Server, SERVER_V4, losses, expected) else {
            return;
        };
        let c = status.counters;
        assert_eq!((c.syns, c.synacks, c.copies), (0, 1, copies));
        assert_eq!(c.answered + c.answered_after_copy, 1);
    }
}

#[test]
fn over_ipv6() {
    opens_in(Side::Client, SERVER_V6, lost(1, 0), 200);
    opens_in(Side::Server, SERVER_V6, lost(0, 1), 200);
}

/// On its device towards the clients, a gateway forwards outgoing SYN/ACKs.
#[test]
fn on_a_gateway() {
    // The router forwards the SYN/ACK, which is lost after it, in the ingress filter of the client.
    let Some(network) = Network::new() else {
        return;
    };
    network.client.sh("nft add table inet loss; \
         nft add chain inet loss input '{ type filter hook input priority 0; }'; \
         nft add rule inet loss input 'tcp flags & (syn|ack) == (syn|ack) numgen inc mod 1000000 < 1 drop'");
    let engine = Running::start(&network.router, "left", paper(true, true));
    let took = network.connect(SERVER_V4).as_millis();
    assert!((200..200 + LATE).contains(&took), "{took} ms");
    let c = engine.end().counters;
    // The SYN arrived on this device, so it is not copied.
    assert_eq!((c.syns, c.synacks, c.copies, c.answered_after_copy), (0, 1, 1, 1));
}

#[test]
fn a_dry_run_only_counts() {
    let Some(network) = Network::new() else {
        return;
    };
    let config = Config { dry_run: true, ..paper(true, false) };
    let engine = Running::start(&network.client, "eth0", config);
    network.lose(lost(1, 0));
    let took = network.connect(SERVER_V4).as_millis();
    assert!((1_000..1_000 + LATE).contains(&took), "{took} ms");
    let c = engine.end().counters;
    assert_eq!((c.copies, c.stack_retransmissions, c.rescued), (1, 1, 1));
    assert!((780..=1_000).contains(&c.saved_ms), "{}", c.saved_ms);
}

/// The engine runs on a port of a bridge, which has no address: forwarded packets leave through it.
#[test]
fn on_a_port_of_a_bridge() {
    let Some(network) = Network::new() else {
        return;
    };
    network.client.sh("ip link add br0 type bridge; ip link set eth0 master br0; ip link set br0 up; \
         ip address flush dev eth0; ip address add 192.0.2.2/24 dev br0; \
         ip route add default via 192.0.2.1");
    network.connect(SERVER_V4);
    let engine = Running::start(&network.client, "eth0", paper(true, false));
    network.lose(lost(1, 0));
    let took = network.connect(SERVER_V4).as_millis();
    assert!((200..200 + LATE).contains(&took), "{took} ms");
    let c = engine.end().counters;
    assert_eq!((c.syns, c.copies, c.answered_after_copy), (1, 1, 1));
}
