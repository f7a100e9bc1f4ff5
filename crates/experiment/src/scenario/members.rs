//! Flows of datagrams and users of a scenario, with what a seed decides of them.

use super::Scenario;
use crate::application::dialogue::UserPlan;
use crate::application::flow::{DatagramFlow, FlowTimes};
use crate::draw::{Stream, spread};
use crate::traffic::Traffic;
use gentle_units::{Instant, Nanos};
use rand::{RngExt, SeedableRng};

impl Scenario {
    /// Flows of datagrams of all workloads with `seed`, in the order of the workloads. The ends of a flow begin at
    /// random within their first interval, so that flows do not send in step.
    pub fn datagram_flows(&self, seed: u64) -> Vec<DatagramFlow> {
        let links = self.link_rtt();
        let streams = self.streams(seed);
        let mut flows = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let Traffic::Datagrams(traffic) = &workload.traffic else {
                continue;
            };
            let rtt = workload.rtt.unwrap_or((links, links));
            let start = Instant::ZERO + traffic.start;
            let stop = traffic.stop.unwrap_or(self.duration).min(self.duration);
            let intervals = traffic.application.offered().map(|end| end.interval);
            flows.extend((0..traffic.flows).map(|number| {
                let mut rng = Stream::seed_from_u64(streams.member(index, number));
                DatagramFlow {
                    workload: index,
                    direction: workload.direction,
                    extra_rtt: spread(rtt, number, traffic.flows).saturating_sub(links),
                    application: traffic.application,
                    times: FlowTimes {
                        start,
                        first: intervals.map(|interval| {
                            let phase = Nanos(rng.random_range(0..interval.0.max(1)));
                            start + phase
                        }),
                        stop: Instant::ZERO + stop,
                        warmup: self.measures_from(),
                        seed: rng.random(),
                    },
                }
            }));
        }
        flows
    }

    /// Users of all dialogues with `seed`, in the order of the workloads.
    pub fn users(&self, seed: u64) -> Vec<UserPlan> {
        let mut users = Vec::new();
        let streams = self.streams(seed);
        for (index, workload) in self.workloads.iter().enumerate() {
            let Traffic::Dialogue(dialogue) = &workload.traffic else {
                continue;
            };
            let link_rtt = self.link_rtt();
            let rtt = workload.rtt.unwrap_or((link_rtt, link_rtt));
            users.extend((0..dialogue.users).map(|number| UserPlan {
                workload: index,
                extra_rtt_ns: spread(rtt, number, dialogue.users).saturating_sub(link_rtt).0,
                seed: streams.member(index, number),
                end_ns: self.duration.0,
                service_ns: dialogue.service.0,
                mss: self.profile.mss,
                script: dialogue.script,
            }));
        }
        users
    }
}
