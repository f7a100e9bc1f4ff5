//! TCP to another namespace, over the device `near0`: the kernel puts data packets together from many segments (GSO).

use super::guest::{attempt, run};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

const ADDRESS: &str = "10.9.0.2:80";

/// The other namespace, with a socket that listens.
pub(super) struct Far(TcpListener);

impl Far {
    pub(super) fn new() -> Far {
        run("ip netns add far");
        run("ip link add near0 type veth peer name far0 netns far");
        run("ip addr add 10.9.0.1/24 dev near0");
        run("ip link set near0 up");
        run("ip -n far addr add 10.9.0.2/24 dev far0");
        run("ip -n far link set far0 up");
        let offloads = attempt("ethtool -k near0");
        assert!(String::from_utf8_lossy(&offloads.stdout).contains("tcp-segmentation-offload: on"));
        let listener = std::thread::spawn(|| {
            let far = std::fs::File::open("/run/netns/far").expect("the namespace");
            nix::sched::setns(far, nix::sched::CloneFlags::CLONE_NEWNET).expect("to enter it");
            TcpListener::bind(ADDRESS).expect("an address")
        });
        Far(listener.join().expect("a listener"))
    }

    /// Sends `bytes` bytes over a new connection, until all have arrived.
    pub(super) fn send(&self, bytes: usize) {
        let received = std::thread::scope(|scope| {
            let received = scope.spawn(|| {
                let (mut connection, _) = self.0.accept().expect("a connection");
                connection.read_to_end(&mut Vec::new()).expect("all of it")
            });
            let mut connection = TcpStream::connect(ADDRESS).expect("a connection");
            connection.write_all(&vec![7; bytes]).expect("it is taken");
            connection.shutdown(Shutdown::Write).expect("a FIN");
            received.join().expect("the other end")
        });
        assert_eq!(received, bytes);
    }
}
