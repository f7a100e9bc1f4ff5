//! Generated captures: their analysis, and `gentle rexmit` on their hosts.

use gentle_capture::CaptureReader;
use gentle_captures::scenario::{self, Plan, Trace, generate};
use gentle_captures::{CLIENT, Side};
use gentle_rexmit::{Config, Direction, Event, Frame, Retransmitter};
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use gentle_trace::{Control, Options};
use gentle_units::Instant;
use gentle_wire::{Address, LinkType};
use std::io::Cursor;
use std::net::{IpAddr, SocketAddr};

/// A tool: the side on whose hosts it runs, and its configuration.
pub(crate) type Tool = (Side, Config);

/// Generates captures, with a tool if there is one.
pub(crate) fn generate_with(plan: &Plan<'_>, tool: &Option<Tool>) -> Trace {
    let Some((at, config)) = tool else {
        return generate(plan, None);
    };
    let core = Retransmitter::new(config.clone(), plan.seed);
    generate(plan, Some((*at, &mut Rexmit { at: *at, core })))
}

/// Analyses a generated capture; `row` sees each connection.
pub(crate) fn analyze(capture: Vec<u8>, options: &Options, row: &mut dyn FnMut(&Row)) -> Analysis {
    let reader = CaptureReader::from_reader("generated".to_owned(), Box::new(Cursor::new(capture)));
    let reader = reader.expect("what was written is a capture");
    let mut rows = |it: &Row| {
        row(it);
        Ok(())
    };
    let analysis = gentle_trace::analyze(vec![reader], options, None, Some(&mut rows), &Control::default());
    analysis.expect("memory can be read")
}

/// A retransmitter of SYNs or SYN/ACKs on all hosts of one side.
struct Rexmit {
    at: Side,
    core: Retransmitter,
}

impl scenario::Tool for Rexmit {
    fn frame(&mut self, now: Instant, leaves: bool, frame: &[u8]) {
        let passing = match leaves {
            true => Direction::Out,
            false => Direction::In,
        };
        let frame = Frame {
            bytes: frame,
            original_len: frame.len() as u32,
            link: LinkType::ETHERNET,
            vlan: None,
            partial_checksum: false,
            exact_time: true,
        };
        self.core.frame(now, passing, &frame);
    }

    fn next(&self) -> Instant {
        self.core.next_deadline().unwrap_or(Instant::NEVER)
    }

    fn poll(&mut self, now: Instant) -> Option<SocketAddr> {
        while let Some(event) = self.core.poll(now) {
            if matches!(event, Event::Copy(_)) {
                let connection = event.connection();
                let (address, port): (Address, u16) = match self.at {
                    CLIENT => connection.src,
                    _ => connection.dst,
                };
                return Some(SocketAddr::new(IpAddr::from(address), port));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use gentle_captures::scenario::{Faults, Observer};
    use gentle_captures::{Loss, Place};
    use gentle_rexmit::Selection;
    use gentle_units::Nanos;

    fn setup(seconds: u64) -> Setup {
        let mut setup = Setup::from_toml(
            "papers/handshake-2009/captures.toml",
            include_str!("../data/handshake-2009/captures.toml"),
        );
        setup.scenario.set_duration(Nanos::from_secs(seconds));
        setup
    }

    fn trace(faults: Faults, seed: u64) -> Trace {
        let mut setup = setup(2);
        setup.scenario.workloads.truncate(1);
        let observers = [Observer::at(Place::Client), Observer::at(Place::Server)];
        let plan = Plan { faults, observers: &observers, ..Plan::new(&setup.scenario, seed) };
        generate(&plan, None)
    }

    fn lost(attempts: &Trace, side: usize) -> usize {
        let completed = attempts.attempts.iter().filter(|it| it.until_request.is_some());
        completed.filter(|it| it.opening.lost[side] > 0).count()
    }

    #[test]
    fn a_seed_gives_the_same_bytes() {
        let faults = Faults { loss: [Loss::new(0.1, 0.05); 2], copied: 0.1, unanswered: [0.1; 2], ..Faults::default() };
        let [first, second, other] = [1, 1, 2].map(|seed| trace(faults, seed).captures);
        assert!(first == second && first != other);
    }

    #[test]
    fn without_losses_nothing_is_sent_again() {
        let trace = trace(Faults::default(), 1);
        let opened = trace.attempts.len();
        assert!(opened > 700);
        assert!(trace.attempts.iter().all(|it| it.until_request.is_some()));
        assert_eq!(trace.packets.map(|way| (way.again, way.lost)), [(0, 0); 2]);
        for capture in trace.captures {
            let analysis = analyze(capture, &Options::default(), &mut |_| ());
            let found = &analysis.handshakes;
            assert_eq!(found.successes, opened as u64);
            assert_eq!(found.duplicate_syn + found.duplicate_synack, 0);
            assert_eq!(analysis.retransmissions.retransmitted, 0);
        }
    }

    /// If client and server wait equally long, the client sees a duplicate SYN for every lost SYN or SYN/ACK.
    #[test]
    fn a_client_sees_every_loss() {
        let faults = Faults { loss: [Loss::new(0.1, 0.0); 2], ..Faults::default() };
        let mut trace = trace(faults, 1);
        let completed = trace.attempts.iter().filter(|it| it.until_request.is_some());
        let lost = completed.filter(|it| it.opening.lost != [0; 2]).count();
        assert!(lost > 100);
        let capture = trace.captures.swap_remove(0);
        let found = analyze(capture, &Options::default(), &mut |_| ()).handshakes;
        assert_eq!(found.successes_with_duplicate_syn, lost as u64);
    }

    #[test]
    fn spared_synacks_are_not_lost() {
        let faults = Faults { loss: [Loss::new(0.2, 0.0); 2], spared: 1.0, ..Faults::default() };
        let trace = trace(faults, 1);
        assert_eq!(lost(&trace, 1), 0);
        assert!(lost(&trace, 0) > 50);
    }

    /// A tool on all clients copies the SYN of each connection, and no other host's SYNs.
    #[test]
    fn a_tool_serves_many_connections() {
        let setup = setup(1);
        let selection = Selection { client: true, ..Selection::default() };
        let config = Config { copies: 0, duplicate: Some(Nanos::from_millis(1)), ..Config::new(selection) };
        let trace = generate_with(&Plan::new(&setup.scenario, 1), &Some((CLIENT, config)));
        assert!(trace.attempts.len() > 300);
        assert!(trace.attempts.iter().all(|it| it.copies == 1 && it.opening.sent[0] == 2));
    }
}
