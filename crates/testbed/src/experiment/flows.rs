//! Connections and constant-rate packets of a run, in the form that the traffic generator reads.

use super::ExperimentError;
use super::topology::host_of;
use super::tunnel::{TUNNEL_HEADERS, datagram_headers};
use super::{DIALOGUE_PORT, PORT, REQUEST_PORT};
use gentle_experiment::application::dialogue::UserPlan;
use gentle_experiment::application::flow::DatagramFlow;
use gentle_experiment::{Arrival, Consists, Direction, Initiator, PacketTimes, Scenario, Span, Traffic};
use gentle_units::{Instant, Nanos, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of distinct round-trip times: one band of a prio qdisc for each (`TCQ_PRIO_BANDS`,
/// include/uapi/linux/pkt_sched.h).
const MOST_CLASSES: usize = 16;

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Start time.
    pub at_ns: u64,
    /// Payload; `None`: as much as can be sent until `until_ns`.
    pub bytes: Option<u64>,
    /// Time at which the sender stops having data; the end of the run for connections of known size.
    pub until_ns: u64,
    /// Whether the client connects; otherwise the server does.
    pub from_client: bool,
    /// Whether the connecting host sends the data; otherwise it requests them.
    pub initiator_sends: bool,
    /// Class of round-trip times, from 0, which selects the client's address.
    pub class: u8,
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Differentiated services codepoint.
    #[serde(default)]
    pub dscp: u8,
    /// Number of the host, on either side.
    #[serde(default)]
    pub host: u8,
    /// Number of the tunnel; 0: none.
    #[serde(default)]
    pub tunnel: u8,
    /// Index in the experiment's list of users, whose connections these are; `None`: one connection.
    #[serde(default)]
    pub user: Option<u32>,
}

impl Flow {
    /// Port of the host that does not connect.
    pub fn port(&self) -> u16 {
        match (self.user, self.initiator_sends) {
            (Some(_), _) => DIALOGUE_PORT,
            (None, true) => PORT,
            (None, false) => REQUEST_PORT,
        }
    }
}

/// Kind of packets sent at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CbrKind {
    /// Datagrams between the hosts.
    Udp,
    /// SYNs to an unassigned address, from changing unassigned addresses and ports.
    SynFlood,
}

/// Packets at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CbrFlow {
    /// Kind of the packets.
    pub kind: CbrKind,
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Whether the client sends them; otherwise the server does.
    pub from_client: bool,
    /// Rate in bits of IP packets per second.
    pub rate_bps: u64,
    /// Length of an IP packet, bytes.
    pub ip_bytes: u32,
    /// Send time of the first packet.
    pub start_ns: u64,
    /// Variation of the intervals between packets ([`ConstantRate::jitter`](gentle_experiment::ConstantRate::jitter)).
    pub jitter: f64,
    /// Seed of the intervals.
    pub seed: u64,
    /// End of sending; no packet is sent at or after this time.
    pub stop_ns: u64,
    /// Differentiated services codepoint.
    #[serde(default)]
    pub dscp: u8,
    /// Number of the host, on either side.
    #[serde(default)]
    pub host: u8,
    /// Number of the tunnel; 0: none.
    #[serde(default)]
    pub tunnel: u8,
}

impl CbrFlow {
    /// Payload of a datagram, bytes. In a tunnel, the datagram that carries it has the requested length.
    pub fn payload(&self) -> u32 {
        self.ip_bytes.saturating_sub(datagram_headers(self.tunnel))
    }

    /// Source port of datagrams, which identifies captured ones.
    pub fn port(&self) -> u16 {
        FIRST_CBR_PORT.saturating_add(u16::try_from(self.workload).unwrap_or(u16::MAX))
    }

    /// Send times of the packets.
    pub fn times(&self) -> PacketTimes {
        const SLOWEST: Rate = Rate::from_bits_per_second(1).expect("not zero");
        let rate = Rate::from_bits_per_second(self.rate_bps).unwrap_or(SLOWEST);
        let (first, end) = (Instant(self.start_ns), Instant(self.stop_ns));
        PacketTimes::new(rate, self.ip_bytes, self.jitter, first, end, self.seed)
    }
}

/// First port of datagram flows: below the ports of connections, `net.ipv4.ip_local_port_range`.
const FIRST_DATAGRAM_PORT: u16 = 1_024;
/// Maximum number of datagram flows: as many as there are ports.
const MOST_DATAGRAM_FLOWS: usize = 8_000;
/// First source port of datagrams at a constant rate: above the ports of datagram flows, below the ports of
/// connections.
const FIRST_CBR_PORT: u16 = FIRST_DATAGRAM_PORT + MOST_DATAGRAM_FLOWS as u16;

/// A flow of datagrams of an application, with a separate port on both hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramSocket {
    /// Flow, with its application.
    pub flow: DatagramFlow,
    /// Class of round-trip times, from 0, which selects the client's address.
    pub class: u8,
    /// Port of both ends.
    pub port: u16,
    /// Codepoint of the packets of both ends (RFC 2474).
    pub dscp: u8,
    /// Number of the host, on either side.
    pub host: u8,
    /// Number of the tunnel; 0: none.
    #[serde(default)]
    pub tunnel: u8,
}

impl DatagramSocket {
    /// Whether the host called client has this end: the application's client (0) or its server (1).
    pub fn is_from_client(&self, end: usize) -> bool {
        self.flow.direction_of(end) == Direction::Down
    }

    /// Headers of each datagram on the links, bytes: IPv4 and UDP and, in a tunnel, the headers of the datagram that
    /// carries it.
    pub fn headers(&self) -> u32 {
        datagram_headers(self.tunnel)
    }
}

/// Classes of round-trip times of a scenario's connections.
pub(super) struct RttClasses {
    extra_rtts: Vec<Nanos>,
    /// Maximum distance between a connection's round-trip time and that of its class.
    error: Nanos,
}

impl RttClasses {
    /// Classes for the connections of any seed: fixed round-trip times exactly, ranges by the middles of equal parts.
    pub(super) fn of(scenario: &Scenario) -> RttClasses {
        let links: Nanos = scenario.links.iter().map(|link| link.delay).sum();
        let mut fixed = BTreeSet::new();
        let mut ranges: Option<(Nanos, Nanos)> = None;
        let mut add = |from: Nanos, to: Nanos| {
            let (from, to) = (from.saturating_sub(links), to.saturating_sub(links));
            if from == to {
                fixed.insert(from);
            } else {
                let (low, high) = ranges.unwrap_or((from, to));
                ranges = Some((low.min(from), high.max(to)));
            }
        };
        for workload in &scenario.workloads {
            let (from, to) = workload.rtt.unwrap_or((links, links));
            match &workload.traffic {
                Traffic::Replay(list) => {
                    for flow in &list.flows[..] {
                        match flow.rtt {
                            Some(rtt) => add(rtt, rtt),
                            None => add(from, to),
                        }
                    }
                }
                // Round-trip times of users are spaced evenly over the range. Flows of datagrams are few, and the same under any seed.
                other if other.consists().connects() => add(from, to),
                _ => {}
            }
        }
        for flow in scenario.datagram_flows(0) {
            add(links + flow.extra_rtt, links + flow.extra_rtt);
        }
        if fixed.len() > MOST_CLASSES {
            let all = (fixed.first().copied(), fixed.last().copied());
            if let (Some(from), Some(to)) = all {
                let (low, high) = ranges.unwrap_or((from, to));
                ranges = Some((low.min(from), high.max(to)));
            }
            fixed.clear();
        }
        let Some((from, to)) = ranges else {
            return RttClasses { extra_rtts: fixed.into_iter().collect(), error: Nanos::ZERO };
        };
        let n = (MOST_CLASSES - fixed.len()).max(1) as u64;
        let width = (to - from).0;
        // The middle of each of n parts: nothing in the range is further away than half a part.
        fixed.extend((0..n).map(|i| {
            let part = u128::from(width) * u128::from(2 * i + 1) / u128::from(2 * n);
            from + Nanos(part as u64)
        }));
        RttClasses { extra_rtts: fixed.into_iter().take(MOST_CLASSES).collect(), error: Nanos(width.div_ceil(2 * n)) }
    }

    pub(super) fn extra_rtts(&self) -> &[Nanos] {
        &self.extra_rtts
    }

    pub(super) fn deviation(&self) -> Option<String> {
        (self.error > Nanos::ZERO).then(|| {
            format!(
                "Round-trip times of connections are rounded to {} values, by at most {:.1} ms.",
                self.extra_rtts.len(),
                self.error.as_secs_f64() * 1e3
            )
        })
    }

    fn nearest(&self, extra_rtt: Nanos) -> u8 {
        let distance = |class: &(usize, &Nanos)| class.1.0.abs_diff(extra_rtt.0);
        let classes = self.extra_rtts.iter().enumerate();
        let nearest = classes.min_by_key(distance);
        nearest.map_or(0, |(class, _)| class as u8)
    }
}

/// Senders of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sources {
    /// Connections and users, in order of their start.
    pub(super) flows: Vec<Flow>,
    /// Users of dialogues.
    pub(super) users: Vec<UserPlan>,
    /// Constant-rate packets.
    pub(super) cbr: Vec<CbrFlow>,
}

/// Sources of `scenario` under `seed`.
pub(super) fn plan(scenario: &Scenario, seed: u64, classes: &RttClasses) -> Result<Sources, ExperimentError> {
    let mss = scenario.profile.mss;
    // TCP in Linux does not keep to an MTU below 128 + 12 (TCP_MIN_MSS is 88).
    let least = match scenario.workloads.iter().all(|workload| workload.tunnel == 0) {
        true => 88,
        false => 88 + TUNNEL_HEADERS,
    };
    if !(least..=1460).contains(&mss) {
        return Err(ExperimentError::Mss { least, mss });
    }
    let end = scenario.ends_at();
    let flow = |arrival: Arrival| {
        let initiator_sends = arrival.initiator == Initiator::Sender;
        let data_from_client = arrival.direction == Direction::Down;
        let (bytes, until) = match arrival.span {
            Span::Bytes(bytes) => (Some(bytes), end),
            Span::Until(until) => (None, until.min(scenario.stops_at())),
        };
        Flow {
            at_ns: arrival.at.0,
            bytes,
            until_ns: until.0,
            from_client: data_from_client == initiator_sends,
            initiator_sends,
            class: classes.nearest(arrival.extra_rtt),
            workload: arrival.workload,
            dscp: scenario.workloads[arrival.workload].dscp,
            host: host_of(&scenario.workloads[arrival.workload]),
            tunnel: scenario.workloads[arrival.workload].tunnel,
            user: None,
        }
    };
    // A user exists from the start and connects at its own time.
    let user = |(number, plan): (u32, &UserPlan)| {
        let workload = &scenario.workloads[plan.workload];
        Flow {
            at_ns: 0,
            bytes: None,
            until_ns: end.0,
            from_client: workload.direction == Direction::Up,
            initiator_sends: false,
            class: classes.nearest(Nanos(plan.extra_rtt_ns)),
            workload: plan.workload,
            dscp: workload.dscp,
            host: host_of(workload),
            tunnel: workload.tunnel,
            user: Some(number),
        }
    };
    let users = scenario.users(seed);
    let mut flows: Vec<Flow> = (0..).zip(&users).map(user).collect();
    flows.extend(scenario.schedule(seed).map(flow));
    let streams = scenario.streams(seed);
    let cbr: Vec<CbrFlow> = scenario
        .workloads
        .iter()
        .enumerate()
        .filter_map(|(index, workload)| {
            let pace = workload.traffic.pace()?;
            let kind = match workload.traffic.consists() {
                Consists::Flood => CbrKind::SynFlood,
                _ => CbrKind::Udp,
            };
            let (first, stream) = pace.draw(streams.workload(index));
            Some(CbrFlow {
                kind,
                workload: index,
                from_client: workload.direction == Direction::Down,
                rate_bps: pace.rate.bits_per_second(),
                ip_bytes: pace.bytes,
                start_ns: first.0,
                jitter: pace.jitter,
                seed: stream,
                stop_ns: pace.stop.unwrap_or(Nanos::MAX).min(scenario.duration).0,
                dscp: workload.dscp,
                host: host_of(workload),
                tunnel: workload.tunnel,
            })
        })
        .collect();
    Ok(Sources { flows, users, cbr })
}

/// Flows of datagrams of `scenario` under `seed`.
pub(super) fn datagrams(
    scenario: &Scenario,
    seed: u64,
    classes: &RttClasses,
) -> Result<Vec<DatagramSocket>, ExperimentError> {
    let flows = scenario.datagram_flows(seed);
    if flows.len() > MOST_DATAGRAM_FLOWS {
        return Err(ExperimentError::Datagrams { flows: flows.len(), most: MOST_DATAGRAM_FLOWS });
    }
    let sockets = (FIRST_DATAGRAM_PORT..).zip(flows);
    let sockets = sockets.map(|(port, flow)| DatagramSocket {
        class: classes.nearest(flow.extra_rtt),
        dscp: scenario.workloads[flow.workload].dscp,
        host: host_of(&scenario.workloads[flow.workload]),
        tunnel: scenario.workloads[flow.workload].tunnel,
        flow,
        port,
    });
    Ok(sockets.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(workloads: &str) -> Scenario {
        let text = format!(
            "duration = \"20s\"\n\
             [link.down]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
             [link.up]\nrate = \"10mbit\"\ndelay = \"5ms\"\n{workloads}"
        );
        Scenario::from_toml("test.toml", &text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
    }

    #[test]
    fn connections_are_those_of_the_simulator() {
        let mut real = Scenario::builtin("real-reverse").unwrap();
        real.set_duration(Nanos::from_secs(30));
        let classes = RttClasses::of(&real);
        assert_eq!(classes.extra_rtts(), [Nanos::ZERO]);
        let Sources { flows, users, cbr } = plan(&real, 3, &classes).unwrap();
        assert_eq!((users, cbr), (vec![], vec![]));
        let simulated: Vec<Arrival> = real.schedule(3).collect();
        assert_eq!(flows.len(), simulated.len());
        for (flow, arrival) in flows.iter().zip(&simulated) {
            assert_eq!((flow.at_ns, flow.workload), (arrival.at.0, arrival.workload));
            let bytes = match arrival.span {
                Span::Bytes(bytes) => Some(bytes),
                Span::Until(_) => None,
            };
            assert_eq!(flow.bytes, bytes);
        }
        // The long flow goes up and its sender connects, so the server is the initiator.
        let long = flows.iter().find(|flow| flow.bytes.is_none()).unwrap();
        assert!(!long.from_client && long.initiator_sends);
        assert_eq!(long.until_ns, real.duration.0);
    }

    #[test]
    fn ranges_of_round_trip_times_are_rounded_and_fixed_ones_are_kept() {
        let classes = RttClasses::of(&scenario(
            "[[workload]]\nkind = \"long\"\nflows = 3\nrtt = [\"20ms\", \"180ms\"]\n\
             [[workload]]\nkind = \"long\"\nrtt = \"11ms\"\n",
        ));
        assert_eq!(classes.extra_rtts().len(), MOST_CLASSES);
        assert_eq!(classes.extra_rtts()[0], Nanos::from_millis(1));
        for extra in (10..=170).map(Nanos::from_millis) {
            let class = classes.extra_rtts()[usize::from(classes.nearest(extra))];
            assert!(class.0.abs_diff(extra.0) <= classes.error.0, "{extra}");
        }
        assert!(classes.deviation().unwrap().contains("16 values"));
    }

    #[test]
    fn flows_of_datagrams_keep_their_round_trip_times_and_have_ports() {
        let calls = scenario(
            "[[workload]]\nkind = \"voice\"\ncalls = 3\nrtt = [\"20ms\", \"60ms\"]\n\
             [[workload]]\nkind = \"ping\"\ndirection = \"up\"\n",
        );
        let classes = RttClasses::of(&calls);
        let ms = Nanos::from_millis;
        assert_eq!(classes.extra_rtts(), [ms(0), ms(10), ms(30), ms(50)]);
        assert_eq!(classes.deviation(), None);
        let sockets = datagrams(&calls, 1, &classes).unwrap();
        let places: Vec<(u16, u8, bool)> =
            (sockets.iter()).map(|socket| (socket.port, socket.class, socket.is_from_client(1))).collect();
        assert_eq!(places, [(1024, 1, true), (1025, 2, true), (1026, 3, true), (1027, 0, false)]);
        let many = "[[workload]]\nkind = \"voice\"\ncalls = 1000\n".repeat(9);
        let error = datagrams(&scenario(&many), 1, &classes).unwrap_err();
        assert!(error.to_string().contains("9000 flows"), "{error}");
    }

    #[test]
    fn users_are_those_of_the_simulator_and_bear_the_codepoint() {
        let pages = scenario(
            "[[workload]]\nkind = \"pages\"\nusers = 3\nthink = \"5s\"\npages = 4\ndscp = \"af21\"\n\
             rtt = [\"20ms\", \"40ms\"]\ndirection = \"up\"\n\
             [[workload]]\nkind = \"long\"\ndscp = 8\n",
        );
        let sources = plan(&pages, 7, &RttClasses::of(&pages)).unwrap();
        let Sources { flows, users, .. } = sources;
        assert_eq!(users, pages.users(7));
        assert_ne!(users, pages.users(8));
        assert_eq!(flows.len(), 4);
        for (number, flow) in (0..3).zip(&flows) {
            assert_eq!((flow.user, flow.dscp, flow.workload), (Some(number), 18, 0));
            assert!(flow.from_client && !flow.initiator_sends);
        }
        assert!(flows[0].class < flows[1].class && flows[1].class < flows[2].class);
        assert_eq!((flows[3].user, flows[3].dscp), (None, 8));
        // The machine reads the plan unchanged.
        let text = serde_json::to_string(&users).unwrap();
        assert_eq!(serde_json::from_str::<Vec<UserPlan>>(&text).unwrap(), users);
    }

    #[test]
    fn packets_at_a_constant_rate_are_planned_and_an_empty_run_is_refused() {
        let udp = scenario(
            "[[workload]]\nkind = \"udp\"\nrate = \"1mbit\"\nstart = \"1s\"\njitter = 0\n\
             [[workload]]\nkind = \"syn_flood\"\nrate = \"1mbit\"\ndirection = \"up\"\nstop = \"9s\"\n",
        );
        let Sources { flows, cbr, .. } = plan(&udp, 1, &RttClasses::of(&udp)).unwrap();
        assert_eq!(flows, []);
        let [datagrams, flood] = cbr[..] else {
            panic!("{cbr:?}");
        };
        assert_eq!(datagrams.kind, CbrKind::Udp);
        assert_ne!(datagrams.port(), flood.port());
        let mut times = datagrams.times();
        let times: Vec<u64> = std::iter::from_fn(|| {
            let at = times.next_at()?;
            times.advance();
            Some(at.0)
        })
        .collect();
        assert_eq!(times.len(), 1_584);
        assert_eq!((times[1], times[1_583]), (1_012_000_000, 19_996_000_000));
        assert_eq!(flood.kind, CbrKind::SynFlood);
        assert!(!flood.from_client);
        assert_eq!((flood.ip_bytes, flood.stop_ns), (40, 9_000_000_000));
        // A datagram in a tunnel is shorter by the headers of the one that carries it.
        assert_eq!((datagrams.tunnel, datagrams.payload()), (0, 1_472));
        let inside = CbrFlow { tunnel: 7, ..datagrams };
        assert_eq!(inside.payload(), 1_444);
        let late = scenario("[[workload]]\nkind = \"long\"\nstart = \"25s\"\n");
        let names = super::super::Namespaces::plain();
        let spec = "pfifo".parse().unwrap();
        let nothing = super::super::plan(&late, &spec, 1, gentle_deploy::Backing::Stock, &names);
        assert_eq!(nothing.unwrap_err(), ExperimentError::Nothing { seed: 1 });
    }
}
