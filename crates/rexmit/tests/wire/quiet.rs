//! Cases in which the engine must send no copies and leave no traces.

use crate::engine::{Running, paper};
use crate::network::{Network, SERVER_V4};
use gentle_rexmit::Config;
use gentle_rexmit::wire::{Confinement, Engine, WireError, running_engines};
use std::net::{SocketAddr, TcpStream};

#[test]
fn without_losses_there_are_no_copies() {
    let Some(network) = Network::new() else {
        return;
    };
    let client = Running::start(&network.client, "eth0", paper(true, true));
    let server = Running::start(&network.server, "eth0", paper(true, true));
    for _ in 0..50 {
        network.connect(SERVER_V4);
    }
    std::thread::sleep(std::time::Duration::from_millis(400));
    for (status, syns, synacks) in [(client.end(), 50, 0), (server.end(), 0, 50)] {
        let c = status.counters;
        assert_eq!((c.syns, c.synacks, c.answered), (syns, synacks, 50));
        assert_eq!((c.copies, c.spurious, c.malformed, status.pending), (0, 0, 0, 0));
        assert_eq!(status.paths.len(), 1);
        assert_eq!(status.paths[0].samples, 50);
    }
}

#[test]
fn a_refused_connection_gets_no_copy() {
    let Some(network) = Network::new() else {
        return;
    };
    let config = Config {
        selection: gentle_rexmit::Selection { ports: Vec::new(), ..paper(true, false).selection },
        ..paper(true, false)
    };
    let engine = Running::start(&network.client, "eth0", config);
    let closed: SocketAddr = "192.0.3.2:81".parse().expect("an address");
    let nowhere: SocketAddr = "198.51.100.1:80".parse().expect("an address");
    network.router.sh("ip route add unreachable 198.51.100.0/24");
    network.client.run(move || {
        TcpStream::connect(closed).expect_err("nobody listens");
        TcpStream::connect(nowhere).expect_err("no route");
    });
    let c = engine.end().counters;
    assert_eq!((c.copies, c.resets), (0, 1));
    // Linux makes a second attempt before it accepts the ICMP error.
    assert!(c.undeliverable > 0 && c.undeliverable == c.syns - 1, "{c:?}");
}

#[test]
fn bulk_data_stays_outside() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = Running::start(&network.server, "eth0", paper(false, true));
    network.client.run(|| {
        use std::io::Write;
        let mut stream = TcpStream::connect((SERVER_V4, 80)).expect("the server is there");
        stream.write_all(&vec![0; 20 << 20]).expect("it reads");
    });
    let frames = engine.end().counters.frames;
    // Of at least 14,000 segments, merged or not: the handshake, the end of the data, the last ACKs.
    assert!((2..1_000).contains(&frames), "{frames}");
}

#[test]
fn it_can_be_asked_and_runs_once() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = Running::start(&network.client, "eth0", paper(true, false));
    network.connect(SERVER_V4);
    let directory = engine.directory();
    let found = running_engines(&directory, Some("eth0")).expect("a status");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].interface.as_str(), found[0].counters.syns), ("eth0", 1));
    assert_eq!(found[0].pid, std::process::id());
    assert_eq!(running_engines(&directory, Some("other")).expect("none"), []);
    let path = directory.clone();
    let second = network.client.run(move || {
        let (config, confinement) = (paper(true, false), Confinement::default());
        Engine::open("eth0", config, &path, 1, confinement).err()
    });
    assert!(matches!(second, Some(WireError::Running { .. })), "{second:?}");
    engine.end();
    assert_eq!(running_engines(&directory, None).expect("none"), []);
}

#[test]
fn what_cannot_be_watched_is_said() {
    let Some(network) = Network::new() else {
        return;
    };
    let open = |interface: &'static str| {
        network.client.run(move || {
            let directory = tempfile::TempDir::new().expect("a directory");
            let config = paper(true, false);
            let confinement = Confinement::default();
            let path = directory.path();
            let error = Engine::open(interface, config, path, 1, confinement).err();
            error.expect("an error").to_string()
        })
    };
    assert!(open("nothing0").contains("there is no network device 'nothing0'"));
}

#[test]
fn a_device_that_goes_away_ends_it() {
    let Some(network) = Network::new() else {
        return;
    };
    let engine = Running::start(&network.client, "eth0", paper(true, false));
    network.client.sh("ip link set eth0 down");
    network.client.sh("ip link set eth0 up");
    std::thread::sleep(std::time::Duration::from_millis(100));
    let directory = engine.directory();
    assert_eq!(running_engines(&directory, None).expect("a status").len(), 1);
    network.client.sh("ip link delete eth0");
    let error = engine.fails();
    assert!(matches!(error, WireError::InterfaceRemoved(_)), "{error}");
}
