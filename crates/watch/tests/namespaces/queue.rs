//! Listen queue that is full.

use crate::network::{Network, PORT, SERVER, Watching, config};
use gentle_host::FindingKind;
use gentle_trace::results::CauseKind;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, socket};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

/// Socket that listens with a backlog of 1, and accepts nothing.
fn listen_only(network: &Network) -> OwnedFd {
    network.server.run(move || {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).expect("a socket");
        bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT))).expect("a port");
        listen(&socket, Backlog::new(1).expect("a backlog")).expect("a queue");
        socket
    })
}

#[test]
fn full_listen_queue_is_found_with_its_socket() {
    let Some(network) = Network::new() else { return };
    let _listener = listen_only(&network);
    let watch = Watching::start(&network.server, config());
    // Fills the queue: the server completes two handshakes. Closed connections stay in the queue.
    for _ in 0..2 {
        network.client.run(|| {
            let mut stream = TcpStream::connect(SERVER).expect("space in the queue");
            // An attempt without data would be decided after 32 s.
            stream.write_all(b"data").expect("space in the buffer");
        });
    }
    assert_eq!(network.connect(SERVER, 10), 0);
    watch.expect("an overflow, and a summary with all attempts", |seen| {
        let last = seen.summaries.last().map(|summary| (summary.minute.completed, summary.minute.failed));
        seen.events(FindingKind::ListenQueueOverflow) > 0 && last == Some((2, 10))
    });
    let seen = watch.stop();
    let overflows = network.server.counter("ListenOverflows");
    assert_eq!(overflows, network.server.counter("ListenDrops"));
    assert_eq!(seen.events(FindingKind::ListenQueueOverflow), overflows, "{:#?}", seen.found);
    for finding in seen.found.iter().filter(|finding| finding.kind == FindingKind::ListenQueueOverflow) {
        assert_eq!(finding.place, "0.0.0.0:80");
    }
    // Each SYN of the others was dropped.
    let syns: u64 = seen.attempts.iter().filter(|it| it.has_failed()).map(|it| u64::from(it.syns)).sum();
    assert_eq!(syns, overflows, "{:#?}", seen.attempts);
    let window = &seen.summaries.last().expect("a summary").minute;
    let kinds: Vec<CauseKind> = window.causes.iter().map(|cause| cause.kind).collect();
    // The counters of the host show the cause, which the packets alone do not.
    assert_eq!(kinds, [CauseKind::ListenQueue]);
}

#[test]
fn a_full_listen_queue_repeats_until_it_ends() {
    let Some(network) = Network::new() else { return };
    let listener = listen_only(&network);
    let streams = network.client.run(|| [0; 2].map(|_| TcpStream::connect(SERVER).expect("space in the queue")));
    let watch = Watching::start(&network.server, config());
    watch.expect("two readings with the same limit", |seen| seen.repeats == 1);
    drop(listener);
    watch.expect("the end of the limit", |seen| !seen.ended.is_empty());
    let seen = watch.stop();
    let full = seen.found.iter().filter(|finding| finding.kind == FindingKind::ListenQueueFull).count() as u64;
    assert_eq!((full - seen.repeats, seen.ended.len()), (1, 1), "{:#?}", seen.found);
    assert_eq!(seen.ended[0].over().as_deref(), Some("the listen queue of 0.0.0.0:80 is no longer full"));
    drop(streams);
}
