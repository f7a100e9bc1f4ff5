//! Applications over datagrams: drives the two ends of each flow.

use super::packet::{Packet, Path};
use gentle_experiment::application::datagram::{Datagram, DatagramEnd};
use gentle_experiment::{Direction, Recorder, Scenario};
use gentle_units::{Instant, Nanos};

/// Flows of datagrams of all applications. The ends are numbered: twice the number of the flow for its client, and
/// one more for its server.
pub(crate) struct Datagrams {
    flows: Vec<Flow>,
    /// Packets have the number of their flow plus this one, so that it differs from constant-rate sources'.
    first_serial: u32,
    /// Datagrams of the end that acted last, and the number of them that have been taken.
    out: Vec<Datagram>,
    taken: usize,
}

struct Flow {
    workload: usize,
    path: Path,
    /// The client, then the server.
    ends: [Box<dyn DatagramEnd>; 2],
    /// Direction of what each end sends, and bytes that its link adds to an IP packet.
    links: [(Direction, u32); 2],
    /// The earliest timer event planned for each end.
    planned: [Instant; 2],
}

impl Datagrams {
    /// The flows of `scenario` that send a datagram with `seed`, whose paths `path` makes from the number of their packets.
    /// `groups` has the number of the group of each workload.
    pub(crate) fn new(
        scenario: &Scenario,
        seed: u64,
        first_serial: u32,
        path: impl Fn(u32) -> Path,
        groups: &[u8],
    ) -> Datagrams {
        let is_idle = |ends: &[Box<dyn DatagramEnd>; 2]| ends.iter().all(|end| end.next_at() == Instant::NEVER);
        let flows = scenario.datagram_flows(seed);
        let flows = flows.iter().map(|flow| (flow, flow.ends()));
        let flows = flows.filter(|(_, ends)| !is_idle(ends));
        let flows = (first_serial..).zip(flows).map(|(serial, (flow, ends))| {
            let workload = &scenario.workloads[flow.workload];
            let in_turn = path(serial);
            Flow {
                workload: flow.workload,
                path: Path {
                    host: workload.host.map_or(in_turn.host, |host| host as u16),
                    extra_delay: Nanos(flow.extra_rtt.0 / 2),
                    dscp: workload.dscp,
                    tunnel: workload.tunnel,
                    group: groups[flow.workload],
                    ..in_turn
                },
                ends,
                links: [0, 1].map(|end| {
                    let direction = flow.direction_of(end);
                    (direction, scenario.link(direction).overhead)
                }),
                planned: [Instant::NEVER; 2],
            }
        });
        Datagrams { flows: flows.collect(), first_serial, out: Vec::new(), taken: 0 }
    }

    /// True without any flow.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Numbers of all ends.
    pub(crate) fn ends(&self) -> std::ops::Range<u32> {
        0..2 * self.flows.len() as u32
    }

    /// Time for which a timer event of an end has to be planned; `None`: one that is planned is early enough.
    pub(crate) fn plan(&mut self, end: u32) -> Option<Instant> {
        let (flow, side) = (&mut self.flows[end as usize / 2], end as usize % 2);
        let at = flow.ends[side].next_at();
        if at >= flow.planned[side] {
            return None;
        }
        flow.planned[side] = at;
        Some(at)
    }

    /// Lets an end act whose timer event is due.
    pub(crate) fn on_timer(&mut self, now: Instant, end: u32, record: &mut Recorder) {
        let (flow, side) = (&mut self.flows[end as usize / 2], end as usize % 2);
        if flow.planned[side] > now {
            // An earlier event has taken its place.
            return;
        }
        flow.planned[side] = Instant::NEVER;
        if flow.ends[side].next_at() <= now
            && let Some(record) = record.application(flow.workload)
        {
            flow.ends[side].on_timer(now, &mut self.out, record);
        }
    }

    /// Hands a packet to the end that it has reached; returns the number of the end, or `None` if the packet is of no
    /// application.
    pub(crate) fn receive(&mut self, now: Instant, packet: &Packet, record: &mut Recorder) -> Option<u32> {
        let number = packet.serial.checked_sub(self.first_serial)?;
        let flow = self.flows.get_mut(number as usize)?;
        let datagram = packet.application_datagram()?;
        // The server's packets reach the client.
        let side = usize::from(packet.direction == flow.links[0].0);
        let record = record.application(flow.workload)?;
        flow.ends[side].on_datagram(now, &datagram, &mut self.out, record);
        Some(2 * number + side as u32)
    }

    /// The next packet that an end sends; `None`: no more.
    pub(crate) fn take(&mut self, end: u32) -> Option<Packet> {
        let flow = &self.flows[end as usize / 2];
        let (direction, overhead) = flow.links[end as usize % 2];
        let Some(datagram) = self.out.get(self.taken) else {
            self.out.clear();
            self.taken = 0;
            return None;
        };
        self.taken += 1;
        let packet = Packet::of_application(datagram, &flow.path, direction, overhead);
        Some(packet)
    }

    /// Counts what is still open at the end of the run.
    pub(crate) fn finish(&mut self, record: &mut Recorder) {
        for flow in &mut self.flows {
            if let Some(record) = record.application(flow.workload) {
                for end in &mut flow.ends {
                    end.finish(record);
                }
            }
        }
    }
}
