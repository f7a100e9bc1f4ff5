//! Commands that build the network of a scenario (see [`Namespaces`] for a diagram).
//!
//! The bottleneck is htb with a burst of one byte: it dequeues a packet as soon as the bytes of the previous one are
//! paid for, exactly when a link of that rate would begin to transmit it. The netem wire behind it adds the
//! transmission time of the packet and the propagation delay.
//!
//! A link that has sent a packet requests the next one from its queue even if the queue is empty, and flow queues take
//! flows off their lists then. htb does not dequeue classes without packets. Therefore the class has two bands: the
//! queue, and one with a packet that is never sent.

use super::namespaces::{ROUTER_DOWN, ROUTER_UP};
use super::tcp::{Settings, receive_buffer};
use super::tunnel;
use super::{Change, ExperimentError, Namespaces, Step};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, Link, Parent, Program, QueuePlace, plan_at};
use gentle_experiment::{Consists, Direction, GilbertElliott, LinkConfig, Scenario, Workload};
use gentle_units::{Nanos, Rate};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Bytes that Linux counts per frame in addition to the IP packet.
const ETHERNET_HEADER: i64 = 14;
/// Length of the TCP and IPv4 headers, bytes; [`TIMESTAMPS`] is added where the option is on.
const HEADERS: u16 = 40;
const TIMESTAMPS: u16 = 12;
const ETHERNET_MTU: u16 = 1_500;
/// Addresses of the client.
pub(super) const CLIENTS: &str = "10.1.0.0/16";
/// Addresses of the server.
const SERVERS: &str = "10.2.0.0/16";
/// Handle of the queue under test, and of the queue on the reverse link.
const HANDLE: u16 = 0x10;
/// Handle of the queue under test, and of the queue on the reverse link, as `tc` writes it.
pub const QUEUE: &str = "10:";
/// htb class of the link.
const CLASS: &str = "1:10";
/// Band of the queue.
const BAND: &str = "2:1";
/// Band of the packet that is never sent.
const HELD: &str = "2:2";
/// Second octet of forged addresses.
const FORGED: u8 = 3;
/// Limit of netem: more packets than any run has in flight.
const WIRE_LIMIT: &str = "limit 1000000";

/// Settings of the hosts beyond the kernel's defaults, so that neither host is the bottleneck and connections do not
/// learn from one another.
const HOSTS: &[(&str, &str)] = &[
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/ip_local_port_range", "10000 65000"),
    ("core/somaxconn", "65535"),
    ("ipv4/tcp_max_syn_backlog", "65535"),
    ("ipv4/tcp_max_tw_buckets", "200000"),
    // The send buffer is no limit, as in the simulator, which has none.
    ("ipv4/tcp_wmem", "4096 16384 33554432"),
];

/// Congestion controls that network namespaces may use.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Network of one run.
pub(super) struct Network<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) namespaces: &'a Namespaces,
    pub(super) tcp: &'a Settings,
    /// Round-trip times added to the delay of the links, by class.
    pub(super) extra_rtts: &'a [Nanos],
    /// Numbers of the tunnels.
    pub(super) tunnels: &'a [u8],
}

/// A veth pair with its addresses: `10.0.N.1` at the first end, `10.0.N.2` at the other.
struct VethPair<'a> {
    number: u8,
    ends: [(&'a str, &'a str); 2],
}

impl Network<'_> {
    /// All steps before the first packet.
    pub(super) fn setup(
        &self,
        scheme: &Spec,
        backing: Backing,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Step>, ExperimentError> {
        let mut steps = Vec::new();
        for name in self.namespaces.all() {
            steps.push(ip(format!("netns add {name}")));
            // Set before any device exists: IPv6's own packets would pass the queues too.
            steps.push(Step::optional_sysctl(name, "ipv6/conf/default/disable_ipv6", 1));
            if self.has_syn_flood() {
                // Accept packets with forged source addresses.
                for of in ["all", "default"] {
                    let rp_filter = format!("ipv4/conf/{of}/rp_filter");
                    steps.push(Step::sysctl(name, &rp_filter, 0));
                }
            }
            steps.push(ip(format!("-n {name} link set dev lo up")));
        }
        self.veth_pairs(&mut steps);
        self.routes(&mut steps);
        self.hosts(&mut steps);
        let down = self.scenario.link(Direction::Down);
        let up = self.scenario.link(Direction::Up);
        for (direction, link, spec) in [(Direction::Down, down, scheme), (Direction::Up, up, &up.qdisc)] {
            self.bottleneck(direction, link, spec, backing, notes, &mut steps)?;
            self.wire(direction, link, link.rate, "add", &mut steps);
        }
        Ok(steps)
    }

    fn has_syn_flood(&self) -> bool {
        let mut workloads = self.scenario.workloads.iter();
        workloads.any(|workload| workload.traffic.consists() == Consists::Flood)
    }

    fn has_codepoints(&self) -> bool {
        let mut workloads = self.scenario.workloads.iter();
        workloads.any(|workload| workload.dscp != 0)
    }

    /// Rate changes, in order of time.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for direction in Direction::BOTH {
            let link = self.scenario.link(direction);
            for (at, rate) in &link.changes {
                let mut steps = Vec::new();
                steps.push(self.class("change", direction, *rate));
                self.wire(direction, link, *rate, "change", &mut steps);
                changes.push(Change { at_ns: at.0, steps });
            }
        }
        changes.sort_by_key(|change| change.at_ns);
        changes
    }

    fn veth_pairs(&self, steps: &mut Vec<Step>) {
        let Namespaces { client, up, router, down, server } = self.namespaces;
        let pairs = [
            [(client.as_str(), "c0"), (up.as_str(), "u0")],
            [(up, "u1"), (router, ROUTER_UP)],
            [(router, ROUTER_DOWN), (down, "d0")],
            [(down, "d1"), (server, "s0")],
        ];
        for (number, ends) in (1..).zip(pairs) {
            let pair = VethPair { number, ends };
            self.veth_pair(&pair, steps);
        }
    }

    fn veth_pair(&self, pair: &VethPair<'_>, steps: &mut Vec<Step>) {
        let VethPair { number, ends } = pair;
        let hardware = |end: usize| format!("02:00:00:00:{number:02x}:{end:02x}");
        let [(near, near_dev), (far, far_dev)] = ends;
        steps.push(ip(format!(
            "link add name {near_dev} netns {near} address {} type veth peer name {far_dev} netns {far} address {}",
            hardware(1),
            hardware(2)
        )));
        for (end, (namespace, dev)) in (1..).zip(ends) {
            steps.push(ip(format!("-n {namespace} address add 10.0.{number}.{end}/24 dev {dev}")));
            // Without offloads, each packet on the wire is one packet in the queue.
            steps.push(Step::run(Some(namespace), &format!("ethtool -K {dev} tso off gso off gro off")));
            let mtu = self.mtu();
            if mtu != ETHERNET_MTU {
                steps.push(ip(format!("-n {namespace} link set dev {dev} mtu {mtu}")));
            }
            steps.push(ip(format!("-n {namespace} link set dev {dev} up")));
            let other = 3 - end;
            // Static neighbours instead of ARP, which would wait in the queues and delay the first connection.
            steps.push(ip(format!(
                "-n {namespace} neighbour replace 10.0.{number}.{other} lladdr {} dev {dev} nud permanent",
                hardware(other)
            )));
        }
    }

    /// MTU that gives full segments the size of the profile's MSS.
    fn mtu(&self) -> u16 {
        let profile = &self.scenario.profile;
        let options = if profile.timestamps { TIMESTAMPS } else { 0 };
        profile.mss + HEADERS + options
    }

    fn routes(&self, steps: &mut Vec<Step>) {
        let Namespaces { client, up, router, down, server } = self.namespaces;
        for host in hosts(self.scenario) {
            let classes = 0..self.extra_rtts.len().max(1);
            let addresses = classes.map(|class| client_address(host, class as u8));
            steps.extend(addresses.map(|address| ip(format!("-n {client} address add {address}/32 dev lo"))));
            let address = server_address(host, 0);
            steps.push(ip(format!("-n {server} address add {address}/32 dev lo")));
        }
        let mut tcp = String::new();
        for words in &self.tcp.route {
            tcp.push(' ');
            tcp.push_str(words);
        }
        for (namespace, to, via, more) in [
            (client, SERVERS, "10.0.1.2", tcp.as_str()),
            (up, SERVERS, "10.0.2.2", ""),
            (router, SERVERS, "10.0.3.2", ""),
            (down, SERVERS, "10.0.4.2", ""),
            (up, CLIENTS, "10.0.1.1", ""),
            (router, CLIENTS, "10.0.2.1", ""),
            (down, CLIENTS, "10.0.3.1", ""),
            (server, CLIENTS, "10.0.4.1", tcp.as_str()),
        ] {
            steps.push(ip(format!("-n {namespace} route add {to} via {via}{more}")));
        }
        let (scenario, tunnels, mtu) = (self.scenario, self.tunnels, self.mtu());
        tunnel::setup(scenario, tunnels, self.namespaces, mtu, &tcp, steps);
    }

    fn hosts(&self, steps: &mut Vec<Step>) {
        let Namespaces { client, up, router, down, server } = self.namespaces;
        for namespace in [up, router, down] {
            steps.push(Step::sysctl(namespace, "ipv4/ip_forward", 1));
        }
        if let Some(algorithm) = &self.tcp.restricted {
            // Added to those that the kernel already permits.
            steps.push(Step::Run {
                namespace: None,
                argv: vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    format!("echo \"$(cat {ALLOWED}) {algorithm}\" > {ALLOWED}"),
                ],
            });
        }
        let buffer = receive_buffer(&self.scenario.profile);
        for namespace in [client, server] {
            for (name, value) in HOSTS {
                steps.push(Step::sysctl(namespace, name, value));
            }
            steps.push(Step::sysctl(namespace, "ipv4/tcp_rmem", &buffer));
            for (name, value) in &self.tcp.sysctls {
                steps.push(Step::sysctl(namespace, name, value));
            }
            if self.has_codepoints() {
                // SYN/ACKs and accepted sockets bear the codepoint of the SYN.
                steps.push(Step::sysctl(namespace, "ipv4/tcp_reflect_tos", 1));
            }
        }
        for (path, value) in &self.tcp.parameters {
            steps.push(Step::Write {
                namespace: None,
                path: (*path).to_owned(),
                value: value.clone(),
                optional: false,
            });
        }
    }

    /// Adds htb with the queue below it, and the packet that keeps it asking.
    fn bottleneck(
        &self,
        direction: Direction,
        link: &LinkConfig,
        spec: &Spec,
        backing: Backing,
        notes: &mut Vec<String>,
        steps: &mut Vec<Step>,
    ) -> Result<(), ExperimentError> {
        let router = &self.namespaces.router;
        let dev = router_device(direction);
        let stab = match i64::from(link.overhead) - ETHERNET_HEADER {
            0 => String::new(),
            more => format!(" stab overhead {more}"),
        };
        steps.push(tc(router, format!("qdisc add dev {dev} root{stab} handle 1: htb default 10")));
        steps.push(self.class("add", direction, link.rate));
        for words in [
            format!("qdisc add dev {dev} parent {CLASS} handle 2: prio bands 2 priomap{}", " 0".repeat(16)),
            format!("qdisc add dev {dev} parent {HELD} handle 3: plug"),
            format!("filter add dev {dev} parent 2: protocol arp prio 1 u32 match u32 0 0 flowid {HELD}"),
        ] {
            steps.push(tc(router, words));
        }
        let queue = plan_at(
            &QueuePlace {
                dev: dev.parse().expect("a valid name"),
                parent: Parent::Class(BAND.to_owned()),
                handle: HANDLE,
                link: Link::ETHERNET,
                rate: Some(link.rate),
                // Without a link rate, RED decays according to its own options, as in the simulator.
                link_rate: None,
            },
            spec,
            backing,
        )?;
        steps.extend(queue.commands.into_iter().map(|command| {
            let in_namespace = ["-n".to_owned(), router.clone()];
            let name = match command.program {
                Program::Tc => "tc",
                Program::Ip => "ip",
            };
            let mut argv = vec![name.to_owned()];
            argv.extend(in_namespace);
            argv.extend(command.args);
            Step::Run { namespace: None, argv }
        }));
        let said = queue.differences.iter().chain(&queue.notes);
        notes.extend(said.map(|note| sentence(note)));
        // The only ARP request of the router, for an address that no host has; all neighbours are static.
        let network = match direction {
            Direction::Down => 3,
            Direction::Up => 2,
        };
        steps.push(ip(format!(
            "-n {router} neighbour add 10.0.{network}.254 lladdr 02:00:00:00:00:fe dev {dev} nud probe"
        )));
        Ok(())
    }

    fn class(&self, verb: &str, direction: Direction, rate: Rate) -> Step {
        let dev = router_device(direction);
        tc(
            &self.namespaces.router,
            format!(
                "class {verb} dev {dev} parent 1: classid {CLASS} htb rate {rate} ceil {rate} burst 1b cburst 1b \
                 quantum 1514"
            ),
        )
    }

    /// Adds transmission time, delay, loss, jitter and reordering behind a queue; one band for each class of round-trip times.
    fn wire(&self, direction: Direction, link: &LinkConfig, rate: Rate, verb: &str, steps: &mut Vec<Step>) {
        // Offset of the client's address in the IP header (RFC 791, section 3.1).
        let (namespace, dev, offset) = match direction {
            Direction::Down => (&self.namespaces.down, "d1", 12),
            Direction::Up => (&self.namespaces.up, "u0", 16),
        };
        let percent = |probability: f64| format!("{}%", probability * 100.0);
        let mut disturbed = String::new();
        if link.loss > 0.0 {
            disturbed += &format!(" loss random {}", percent(link.loss));
        }
        if let Some(GilbertElliott { p, r, bad, good }) = link.bursts {
            let [p, r, bad, good] = [p, r, bad, good].map(percent);
            disturbed += &format!(" loss gemodel {p} {r} {bad} {good}");
        }
        if link.reorder > 0.0 {
            disturbed += &format!(" reorder {}", percent(link.reorder));
        }
        let jitter = match link.jitter {
            Nanos::ZERO => String::new(),
            jitter => format!(" {}us", jitter.as_micros()),
        };
        let overhead = match i64::from(link.overhead) - ETHERNET_HEADER {
            0 => String::new(),
            more => format!(" {more}"),
        };
        let netem = |extra_rtt: Nanos| {
            let delay = link.delay + Nanos(extra_rtt.0 / 2);
            format!("netem {WIRE_LIMIT} delay {}us{jitter}{disturbed} rate {rate}{overhead}", delay.as_micros())
        };
        if let [] | [_] = self.extra_rtts {
            let extra = self.extra_rtts.first().copied().unwrap_or_default();
            steps.push(tc(namespace, format!("qdisc {verb} dev {dev} root handle 1: {}", netem(extra))));
            return;
        }
        let bands = self.extra_rtts.len();
        if verb == "add" {
            let map = " 0".repeat(16);
            steps.push(tc(namespace, format!("qdisc add dev {dev} root handle 1: prio bands {bands} priomap{map}")));
        }
        for (class, extra) in self.extra_rtts.iter().enumerate() {
            let band = class + 1;
            steps.push(tc(
                namespace,
                format!("qdisc {verb} dev {dev} parent 1:{band:x} handle {:x}: {}", 0x100 + band, netem(*extra)),
            ));
            if verb == "add" {
                // Of every host.
                let address = u32::from(client_address(0, class as u8));
                steps.push(tc(
                    namespace,
                    format!(
                        "filter add dev {dev} parent 1: protocol ip prio 1 u32 match u32 {address:#010x} 0xffff00ff at \
                         {offset} flowid 1:{band:x}"
                    ),
                ));
            }
        }
    }
}

/// Address of a host of the client for connections of a class of round-trip times.
pub fn client_address(host: u8, class: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, host, class + 1)
}

/// Numbers of the hosts on either side, in order.
fn hosts(scenario: &Scenario) -> BTreeSet<u8> {
    scenario.workloads.iter().map(host_of).collect()
}

/// Number of the hosts of a workload; `plan` has made sure that it fits.
pub(super) fn host_of(workload: &Workload) -> u8 {
    workload.host.unwrap_or(0) as u8
}

/// Whether `address` is one of those that [`client_address`] and [`server_address`] return.
pub fn is_host(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [10, 1 | 2, ..])
}

/// Forged source address of floods, in 10.3.0.0/16, which no host has.
pub fn forged_address(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, FORGED, high, low)
}

/// Whether `address` is one of those that [`forged_address`] returns.
pub fn is_forged(address: Ipv4Addr) -> bool {
    address.octets()[..2] == [10, FORGED]
}

/// Maximum number of a host: the next one has the network of [`unassigned_address`].
pub(super) const LAST_HOST: u32 = 254;

/// Destination of floods: an unassigned address behind the queue of their direction, on the side of the server
/// (`to_server`) or of the client, for which no ICMP error is returned.
pub fn unassigned_address(to_server: bool) -> Ipv4Addr {
    Ipv4Addr::new(10, if to_server { 2 } else { 1 }, 255, 1)
}

/// Address of a host of the server for what goes through `tunnel`; 0: through none.
pub fn server_address(host: u8, tunnel: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 2, host, 1_u8.saturating_add(tunnel))
}

fn router_device(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => ROUTER_DOWN,
        Direction::Up => ROUTER_UP,
    }
}

pub(super) fn ip(words: String) -> Step {
    Step::run(None, &format!("ip {words}"))
}

fn tc(namespace: &str, words: String) -> Step {
    Step::run(None, &format!("tc -n {namespace} {words}"))
}

/// Turns a note into a sentence.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
