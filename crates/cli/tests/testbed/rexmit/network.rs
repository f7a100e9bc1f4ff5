//! Network of a client and a server, with a router between them that drops selected packets.

use nix::libc::linger;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{setsockopt, sockopt};
use std::fs::File;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Addresses and port of the server.
pub(crate) const SERVER: &str = "10.0.2.1";
pub(crate) const SERVER_IP6: &str = "fd00:2::1";
pub(crate) const PORT: u16 = 80;

/// Time after which no packets of a connection are in flight.
const QUIET: Duration = Duration::from_secs(30);

/// Script that creates the namespaces, their devices, and the delays of the router.
const BUILD: &str = "set -e
for host in client router server; do ip netns add $host; ip -n $host link set lo up; done
ip link add c0 netns client type veth peer name r0 netns router
ip link add s0 netns server type veth peer name r1 netns router
for device in client/c0 router/r0 router/r1 server/s0; do
  ip netns exec ${device%/*} ethtool -K ${device#*/} tso off gso off gro off
  ip -n ${device%/*} link set ${device#*/} up
done
ip -n client address add 10.0.1.1/24 dev c0; ip -n router address add 10.0.1.2/24 dev r0
ip -n server address add 10.0.2.1/24 dev s0; ip -n router address add 10.0.2.2/24 dev r1
ip -n client address add fd00:1::1/64 dev c0 nodad; ip -n router address add fd00:1::2/64 dev r0 nodad
ip -n server address add fd00:2::1/64 dev s0 nodad; ip -n router address add fd00:2::2/64 dev r1 nodad
ip -n client route add default via 10.0.1.2; ip -n server route add default via 10.0.2.2
ip -n client route add default via fd00:1::2; ip -n server route add default via fd00:2::2
ip netns exec router sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
for host in client server; do ip netns exec $host sysctl -q -w net.ipv4.tcp_no_metrics_save=1; done
for device in r0 r1; do tc -n router qdisc add dev $device root netem delay \"$1\"; done
# No ARP and no neighbour discovery, which connections would wait for.
know() { # host device addresses of the neighbour, its host and device
  hardware=$(ip netns exec $5 cat /sys/class/net/$6/address)
  for address in $3 $4; do ip -n $1 neighbour replace $address lladdr $hardware dev $2 nud permanent; done
}
know client c0 10.0.1.2 fd00:1::2 router r0; know router r0 10.0.1.1 fd00:1::1 client c0
know server s0 10.0.2.2 fd00:2::2 router r1; know router r1 10.0.2.1 fd00:2::1 server s0";

/// Script that adds a second cable between router and client, for all packets to the client.
const ANOTHER_WAY: &str = "set -e
ip link add c1 netns client type veth peer name r2 netns router
ip -n client link set c1 up; ip -n router link set r2 up
ip netns exec client sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.c1.rp_filter=0
hardware=$(ip netns exec client cat /sys/class/net/c1/address)
ip -n router neighbour replace 10.0.1.1 lladdr $hardware dev r2 nud permanent
ip -n router route replace 10.0.1.1/32 dev r2
tc -n router qdisc add dev r2 root netem delay 30ms";

/// Manner of ending a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
}

/// Numbers of packets that the router drops from now on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loses {
    pub(crate) syns: u32,
    pub(crate) syn_acks: u32,
}

/// Network, which exists until the machine is turned off.
pub(crate) struct Network;

impl Network {
    /// Creates the network with this round-trip time.
    pub(crate) fn with_rtt(rtt: Duration) -> Network {
        let each_way = format!("{}us", rtt.as_micros() / 2);
        run(Command::new("sh").args(["-c", BUILD, "sh", &each_way]));
        let network = Network;
        // The listener accepts IPv4 as well.
        let listener = within("server", || TcpListener::bind(("::", PORT)).unwrap());
        thread::spawn(move || serve(&listener));
        network
    }

    /// Sets a sysctl below `net.` on a host.
    pub(crate) fn set(&self, host: &str, parameter: &str, value: &str) {
        let setting = format!("net.{parameter}={value}");
        run(Command::new("ip").args(["netns", "exec", host, "sysctl", "-q", "-w", &setting]));
    }

    /// Changes the round-trip time, and the rate of the router towards the server, with a queue.
    pub(crate) fn change(&self, rtt: Duration, rate: Option<&str>) {
        let each_way = format!("{}us", rtt.as_micros() / 2);
        for device in ["r0", "r1"] {
            let mut tc = Command::new("tc");
            tc.args(["-n", "router", "qdisc", "replace", "dev", device, "root", "netem"]);
            tc.args(["limit", "10000", "delay", &each_way]);
            if let Some(rate) = rate.filter(|_| device == "r1") {
                tc.args(["rate", rate]);
            }
            run(&mut tc);
        }
    }

    /// Routes packets to the client through a separate device.
    pub(crate) fn answer_another_way(&self) {
        run(Command::new("sh").args(["-c", ANOTHER_WAY]));
    }

    /// Opens connections one after the other at this interval, without losses, and resets or closes each.
    pub(crate) fn handshakes(&self, count: usize, every: Duration, end: End) {
        self.lose(Loses::default());
        within("client", || {
            let to = SocketAddr::new(SERVER.parse().unwrap(), PORT);
            for _ in 0..count {
                let start = Instant::now();
                let stream = TcpStream::connect(to).unwrap();
                if end == End::Reset {
                    let none = linger { l_onoff: 1, l_linger: 0 };
                    setsockopt(&stream, sockopt::Linger, &none).unwrap();
                }
                drop(stream);
                thread::sleep(every.saturating_sub(start.elapsed()));
            }
        });
        thread::sleep(QUIET);
    }

    /// Uploads to the server for this time, over a separate connection.
    pub(crate) fn upload(&self, time: Duration) {
        within("client", || {
            let to = SocketAddr::new(SERVER.parse().unwrap(), PORT);
            let start = Instant::now();
            let mut stream = TcpStream::connect(to).unwrap();
            while start.elapsed() < time {
                stream.write_all(&[0; 4096]).unwrap();
            }
        });
    }

    /// Duration of `connect` with these losses; the client sends its first data then.
    pub(crate) fn connect(&self, loses: Loses) -> Duration {
        self.connect_to(SERVER, loses)
    }

    /// Duration of `connect` to a given address of the server, with these losses.
    pub(crate) fn connect_to(&self, server: &str, loses: Loses) -> Duration {
        self.lose(loses);
        let to = SocketAddr::new(server.parse().unwrap(), PORT);
        let took = within("client", || {
            let start = Instant::now();
            TcpStream::connect(to).map(|_| start.elapsed())
        });
        thread::sleep(QUIET);
        took.unwrap()
    }

    /// Time until `connect` gives up if nothing is answered.
    pub(crate) fn give_up(&self) -> Duration {
        // More packets than any connection sends.
        let all = 1_000;
        self.lose(Loses { syns: all, syn_acks: all });
        let to = SocketAddr::new(SERVER.parse().unwrap(), PORT);
        within("client", || {
            let start = Instant::now();
            TcpStream::connect(to).unwrap_err();
            start.elapsed()
        })
    }

    /// Command in the namespace of a host.
    pub(crate) fn command(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host, program]);
        command
    }

    /// Number of packets that have reached the router since [`Network::connect`] began: `(SYNs, SYN/ACKs)`.
    pub(crate) fn seen(&self) -> (u64, u64) {
        let output = Command::new("ip").args(["netns", "exec", "router", "nft", "list", "counters"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let count = |name: &str| -> u64 {
            let (_, rest) = text.split_once(&format!("counter {name} ")).unwrap();
            let (_, rest) = rest.split_once("packets ").unwrap();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        (count("syns"), count("syn_acks"))
    }

    /// Drops packets by means of a limit, which matches as long as its bucket has tokens; at one packet per day, it is
    /// not refilled within a test.
    fn lose(&self, loses: Loses) {
        let mut rules = "flush ruleset
            table inet loss {
              counter syns {}
              counter syn_acks {}
              chain forward {
                type filter hook forward priority 0;
                tcp flags & (syn|ack) == syn counter name syns
                tcp flags & (syn|ack) == (syn|ack) counter name syn_acks
            "
        .to_owned();
        for (flags, packets) in [("syn", loses.syns), ("(syn|ack)", loses.syn_acks)] {
            if packets > 0 {
                rules += &format!("tcp flags & (syn|ack) == {flags} limit rate 1/day burst {packets} packets drop\n");
            }
        }
        rules += "}\n}\n";
        let mut nft = self.command("router", "nft");
        let mut nft = nft.args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        nft.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
        assert!(nft.wait().unwrap().success(), "{rules}");
    }
}

/// Closes connections when the client does, as long as the machine runs. If a connection stayed open here, the client
/// would forget it after a minute and could reuse the port: such a SYN is answered by a challenge ACK (RFC 5961,
/// section 4) instead of a SYN/ACK, and the connection takes another timeout.
fn serve(listener: &TcpListener) {
    for connection in listener.incoming() {
        let mut connection = connection.unwrap();
        // A reset ends the connection too.
        thread::spawn(move || io::copy(&mut connection, &mut io::sink()));
    }
}

/// Runs a command, which must succeed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a closure in the namespace of a host.
fn within<T: Send>(host: &str, work: impl FnOnce() -> T + Send) -> T {
    let namespace = File::open(format!("/run/netns/{host}")).unwrap();
    thread::scope(|scope| {
        scope
            .spawn(|| {
                setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            })
            .join()
            .unwrap()
    })
}
