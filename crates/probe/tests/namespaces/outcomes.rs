//! Connects that fail, and a server that ignores SYNs.

use crate::network::{Network, PORT, SERVER, SERVER_V6};
use gentle_probe::{Connect, Outcome};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, socket};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn a_closed_port_refuses() {
    let Some(network) = Network::new() else { return };
    let report = network.probe(&[SERVER.to_owned(), SERVER_V6.to_owned()], 20.0, 5, TIMEOUT);
    assert_eq!(report.connects.len() as u64 + report.skipped, 10);
    for connect in &report.connects {
        assert_eq!((connect.outcome, connect.syns, connect.has_loss()), (Outcome::Refused, 1, false), "{connect:?}");
    }
    for summary in &report.summaries {
        assert_eq!((summary.refused + summary.skipped, summary.connect_s), (5, None), "{summary:?}");
    }
}

#[test]
fn a_blackhole_times_out() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    network.server.sh("nft add rule inet loss arriving tcp dport 80 drop");
    let report = network.probe(&[SERVER.to_owned()], 20.0, 5, Duration::from_millis(2_500));
    assert_eq!(report.connects.len() as u64 + report.skipped, 5);
    for connect in &report.connects {
        assert_eq!((connect.outcome, connect.has_loss()), (Outcome::TimedOut, false), "{connect:?}");
        assert_eq!(connect.unanswered, connect.syns);
        // The SYNs of 0 and 1 s, and on Linux 6.5 the one of 2 s.
        assert!((2..=3).contains(&connect.syns), "{connect:?}");
        assert!(connect.connect_s >= 2.5, "{connect:?}");
    }
}

#[test]
fn the_kernel_may_give_up_before_the_timeout() {
    let Some(network) = Network::new() else { return };
    network.client.sh("echo 1 > /proc/sys/net/ipv4/tcp_syn_retries");
    network.server.sh("nft add rule inet loss arriving tcp dport 80 drop");
    let report = network.probe(&[SERVER.to_owned()], 20.0, 2, TIMEOUT);
    for connect in &report.connects {
        assert_eq!((connect.outcome, connect.has_loss()), (Outcome::TimedOut, false), "{connect:?}");
        assert!(connect.unanswered >= 2 && connect.connect_s < 20.0, "{connect:?}");
    }
}

#[test]
fn networks_without_a_way_are_unreachable() {
    let Some(network) = Network::new() else { return };
    network.server.sh("nft 'add chain inet loss input { type filter hook input priority 0; }; \
         add rule inet loss input tcp dport 81 reject with icmpx type admin-prohibited'");
    let targets = ["198.51.100.1:80", "192.0.2.2:81", "[2001:db8::2]:81"].map(str::to_owned);
    let report = network.probe(&targets, 20.0, 3, TIMEOUT);
    for connect in &report.connects {
        assert_eq!(connect.outcome, Outcome::Unreachable, "{connect:?}");
        assert!(connect.error.is_some(), "{connect:?}");
    }
    for summary in &report.summaries {
        assert_eq!(summary.unreachable + summary.skipped, 3, "{summary:?}");
    }
}

/// Socket that listens on a port with a queue of one connection, which nobody accepts.
fn listen_only(network: &Network, port: u16) -> OwnedFd {
    network.server.run(move || {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).expect("a socket");
        let address = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
        bind(socket.as_raw_fd(), &address).expect("a port");
        listen(&socket, Backlog::new(0).expect("a backlog")).expect("a queue");
        socket
    })
}

#[test]
fn a_server_with_a_full_queue_answers_nothing() {
    let Some(network) = Network::new() else { return };
    let _listener = listen_only(&network, PORT);
    let report = network.probe(&[SERVER.to_owned()], 5.0, 6, Duration::from_millis(1_500));
    let (ignored, accepted): (Vec<&Connect>, Vec<&Connect>) =
        report.connects.iter().partition(|connect| connect.outcome == Outcome::TimedOut);
    assert!(!accepted.is_empty() && !ignored.is_empty(), "{:?}", report.connects);
    assert!(ignored.iter().all(|connect| connect.unanswered >= 2), "{ignored:?}");
}

#[test]
fn a_queue_that_was_full_looks_like_a_lost_syn() {
    let Some(network) = Network::new() else { return };
    let listener = TcpListener::from(listen_only(&network, PORT));
    network.server.serve(PORT + 1);
    let server = Arc::clone(&network.server);
    let accept = move || drop(server.start(move || while listener.accept().is_ok() {}));
    let targets = [SERVER.to_owned(), format!("192.0.2.2:{}", PORT + 1)];
    // By the fourth connect to the other server, SYNs have been ignored.
    let is_time = |connects: &[Connect]| connects.iter().filter(|connect| connect.target != SERVER).count() >= 4;
    let report = network.probe_with(&targets, 5.0, 5, TIMEOUT, is_time, accept);
    let ignored: Vec<&Connect> = report.connects.iter().filter(|connect| connect.syns > 1).collect();
    assert!(!ignored.is_empty(), "{:?}", report.connects);
    for connect in ignored {
        assert_eq!((&*connect.target, connect.outcome), (SERVER, Outcome::Connected));
        assert_eq!((connect.lost_syns, connect.lost_synacks, connect.lost_unknown), (connect.syns - 1, 0, 0));
    }
}

#[test]
fn a_name_that_does_not_resolve_fails_and_others_go_on() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let targets = ["gentle.invalid:80".to_owned(), SERVER.to_owned()];
    let report = network.probe(&targets, 20.0, 3, TIMEOUT);
    let of = |outcome: Outcome| report.connects.iter().filter(|connect| connect.outcome == outcome).count();
    let ended = of(Outcome::Unresolved) + of(Outcome::Connected);
    assert_eq!(ended as u64 + report.skipped, 6, "{:?}", report.connects);
    assert!(of(Outcome::Unresolved) > 0 && of(Outcome::Connected) > 0, "{:?}", report.connects);
    assert_eq!(report.summaries.len(), 2);
    assert_eq!(report.summaries[0].address, None);
}
