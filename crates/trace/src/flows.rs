//! Connections of a trace as flows that a simulation can replay: written by `--flows`, run by `compare --from`.
//!
//! A flow has a start time, a number of bytes in one direction and a round-trip time. [`results::Flows`] counts the
//! values that are inferred, and the connections that cannot be replayed, by reason.

use crate::anonymize::Anonymizer;
use crate::results::{self, Analysis};
use crate::row::{Close, Row};
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use ipnet::IpNet;
use std::net::IpAddr;

/// Longest round-trip time that can be replayed: a link's delay is at most 60 s in each direction
/// (`docs/reference/scenarios.md`).
const LONGEST_RTT: Nanos = Nanos::from_secs(120);

/// Connection to replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Time of the first SYN, since the first packet of the trace.
    pub start: Instant,
    /// Payload bytes of the larger direction, each counted once; if both are equal, from the server.
    pub bytes: u64,
    /// Round-trip time between client and server; `None` if unknown.
    pub rtt: Option<Nanos>,
    /// Whether the data goes down the link: to the local prefixes if there are any, else from server to client.
    pub down: bool,
    /// Whether the side that sends the data opened the connection.
    pub sender_connects: bool,
}

/// Flow with the address of its server, from whose other flows its round-trip time may be inferred.
struct PendingFlow {
    flow: Flow,
    server: Address,
}

/// Collector of flows from the rows of an analysis; about 60 bytes per flow.
pub struct Flows {
    local: Vec<IpNet>,
    most: usize,
    pending: Vec<PendingFlow>,
    /// Earliest start of a connection, replayable or not.
    first: Instant,
    found: results::Flows,
}

/// Reason: no SYN seen, because the connection began before the capture or only the other direction was captured.
const NO_SYN: &str = "no-syn";
/// Reason: the handshake was not seen to succeed.
const NOT_ESTABLISHED: &str = "not-established";
/// Reason: no payload in either direction.
const NO_DATA: &str = "no-data";
/// Reason: both addresses are in the local prefixes, or neither is.
const NOT_ACROSS: &str = "not-across";
/// Reason: more flows than [`Flows::MOST`].
const TOO_MANY: &str = "too-many";

impl Flows {
    /// Largest number of flows of a trace, which bounds simulation time and memory; connections that end later are left
    /// out.
    pub const MOST: usize = 1 << 21;

    /// Collects connections that cross the link to the prefixes `local`, or all if there are none. `anonymizer` must be
    /// the one that replaced the addresses in the rows.
    pub fn new(local: &[IpNet], anonymizer: Option<&Anonymizer>) -> Flows {
        let prefixes = local.iter().map(|&prefix| match anonymizer {
            Some(anonymizer) => anonymizer.prefix(prefix),
            None => prefix,
        });
        Flows {
            local: prefixes.collect(),
            most: Flows::MOST,
            pending: Vec::new(),
            first: Instant::NEVER,
            found: results::Flows { local: !local.is_empty(), ..results::Flows::default() },
        }
    }

    /// Adds a connection.
    pub fn add(&mut self, row: &Row) {
        let payload = row.from_client.bytes.saturating_add(row.from_server.bytes);
        self.first = self.first.min(row.start);
        self.found.connections += 1;
        self.found.payload_bytes = self.found.payload_bytes.saturating_add(payload);
        match self.flow(row) {
            Ok(flow) => {
                self.found.flows += 1;
                self.found.flow_bytes = self.found.flow_bytes.saturating_add(flow.bytes);
                let other_way = payload.saturating_sub(flow.bytes);
                self.found.other_way_bytes = self.found.other_way_bytes.saturating_add(other_way);
                self.found.open_at_end += u64::from(row.close == Close::Open);
                let server = row.server;
                self.pending.push(PendingFlow { flow, server });
            }
            Err(reason) => *self.found.left_out.entry(reason).or_default() += 1,
        }
    }

    /// Converts a row to a flow that starts at a time since 1970; an error is the reason why it cannot be replayed.
    fn flow(&self, row: &Row) -> Result<Flow, &'static str> {
        let (from_client, from_server) = (row.from_client.bytes, row.from_server.bytes);
        let from_initiator = from_client > from_server;
        let bytes = from_client.max(from_server);
        if !row.syn_seen {
            return Err(NO_SYN);
        }
        if !row.established {
            return Err(NOT_ESTABLISHED);
        }
        if bytes == 0 {
            return Err(NO_DATA);
        }
        let down = if self.local.is_empty() {
            !from_initiator
        } else {
            match (self.is_local(row.client), self.is_local(row.server)) {
                (true, false) => !from_initiator,
                (false, true) => from_initiator,
                _ => return Err(NOT_ACROSS),
            }
        };
        if self.pending.len() == self.most {
            return Err(TOO_MANY);
        }
        let once = row.syn_retransmissions == 0 && row.synack_retransmissions == 0;
        let halves = row.rtt_server.zip(row.rtt_client).filter(|_| once);
        let rtt = halves.map(|(server, client)| server + client);
        Ok(Flow {
            start: row.start,
            bytes,
            // Zero if the capture's clock is too coarse; above the longest only if it jumps.
            rtt: rtt.filter(|rtt| (Nanos(1)..=LONGEST_RTT).contains(rtt)),
            down,
            sender_connects: from_initiator,
        })
    }

    fn is_local(&self, address: Address) -> bool {
        let address = IpAddr::from(address);
        self.local.iter().any(|prefix| prefix.contains(&address))
    }

    /// Returns the flows in order of start, and sets [`Analysis::flows`] of `analysis`, which must be complete.
    pub fn finish(mut self, analysis: &mut Analysis) -> Vec<Flow> {
        self.infer_round_trips();
        let begin = self.begin(analysis.start_s.unwrap_or(0.0));
        let mut flows: Vec<Flow> = self.pending.into_iter().map(|pending| pending.flow).collect();
        for flow in &mut flows {
            flow.start = Instant::ZERO + flow.start.saturating_since(begin);
        }
        flows.sort_by_key(|flow| flow.start);
        analysis.flows = Some(self.found);
        flows
    }

    /// Time of the first packet of the trace. A double holds times since 1970 to a quarter of a microsecond, so the
    /// start of the first connection is used where the trace begins with it.
    fn begin(&self, start_s: f64) -> Instant {
        if self.first.as_secs_f64() == start_s { self.first } else { Instant::from_secs_f64(start_s) }
    }

    /// Gives each flow without a round-trip time the median of the flows to its server, or else of all flows.
    fn infer_round_trips(&mut self) {
        let own: u64 = self.pending.iter().filter(|pending| pending.flow.rtt.is_some()).count() as u64;
        self.found.rtt_own = own;
        if own == self.found.flows {
            return;
        }
        let mut seen: Vec<(Address, Nanos)> =
            self.pending.iter().filter_map(|pending| Some((pending.server, pending.flow.rtt?))).collect();
        seen.sort_unstable();
        let mut all: Vec<Nanos> = seen.iter().map(|&(_, rtt)| rtt).collect();
        all.sort_unstable();
        let of_all = middle(&all).copied();
        for pending in &mut self.pending {
            if pending.flow.rtt.is_some() {
                continue;
            }
            let from = seen.partition_point(|(server, _)| *server < pending.server);
            let to = seen.partition_point(|(server, _)| *server <= pending.server);
            pending.flow.rtt = match middle(&seen[from..to]) {
                Some(&(_, rtt)) => {
                    self.found.rtt_of_server += 1;
                    Some(rtt)
                }
                None => {
                    let counter = match of_all {
                        Some(_) => &mut self.found.rtt_of_trace,
                        None => &mut self.found.rtt_unknown,
                    };
                    *counter += 1;
                    of_all
                }
            };
        }
    }
}

/// Median of a sorted list; the lower of two middle elements.
fn middle<T>(sorted: &[T]) -> Option<&T> {
    sorted.get(sorted.len().saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Outcome, Side};
    use crate::{Control, Options, analyze};
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;

    fn row(server: u8, start_ms: u64, from_client: u64, from_server: u64) -> Row {
        let side = |bytes| Side { bytes, ..Side::default() };
        Row {
            start: Instant::from_millis(start_ms),
            end: Instant::from_millis(start_ms + 900),
            client: Ipv4Addr::new(10, 0, 0, 1).into(),
            client_port: 40_000,
            server: Ipv4Addr::new(192, 0, 2, server).into(),
            server_port: 443,
            syn_seen: true,
            established: true,
            rtt_server: Some(Nanos::from_millis(10 * u64::from(server))),
            rtt_client: Some(Nanos::from_millis(1)),
            syn_retransmissions: 0,
            synack_retransmissions: 0,
            outcome: Some(Outcome::Succeeded),
            handshake_lost: 0,
            handshake_late: 0,
            handshake_deferred: 0,
            handshake_copies: 0,
            handshake_delay: Nanos::ZERO,
            response_time: None,
            from_client: side(from_client),
            from_server: side(from_server),
            close: Close::Fin,
        }
    }

    /// Empty analysis for [`Flows::finish`].
    fn nothing() -> Analysis {
        analyze(Vec::new(), &Options::default(), None, None, &Control::default()).unwrap()
    }

    fn collect(mut flows: Flows, rows: &[Row]) -> (Vec<Flow>, results::Flows) {
        for row in rows {
            flows.add(row);
        }
        let mut analysis = nothing();
        let list = flows.finish(&mut analysis);
        (list, analysis.flows.unwrap())
    }

    #[test]
    fn the_larger_direction_is_replayed_in_order_of_start() {
        let rows = [row(2, 700, 300, 14_480), row(1, 20, 5_000, 80)];
        let (list, found) = collect(Flows::new(&[], None), &rows);
        let expected = [
            Flow {
                start: Instant::from_millis(20),
                bytes: 5_000,
                rtt: Some(Nanos::from_millis(11)),
                down: false,
                sender_connects: true,
            },
            Flow {
                start: Instant::from_millis(700),
                bytes: 14_480,
                rtt: Some(Nanos::from_millis(21)),
                down: true,
                sender_connects: false,
            },
        ];
        assert_eq!(list, expected);
        assert_eq!((found.flows, found.rtt_own), (2, 2));
        assert_eq!((found.flow_bytes, found.other_way_bytes), (19_480, 380));
        assert!(found.left_out.is_empty());
    }

    #[test]
    fn a_round_trip_with_a_retransmission_in_it_is_replaced_by_a_median() {
        let again =
            |server| Row { syn_retransmissions: 1, rtt_server: Some(Nanos::from_secs(1)), ..row(server, 5, 0, 1) };
        let rows = [row(1, 1, 0, 1), row(3, 2, 0, 1), row(3, 3, 0, 1), again(1), again(9)];
        let (list, found) = collect(Flows::new(&[], None), &rows);
        let rtts: Vec<u64> = list.iter().map(|f| f.rtt.unwrap().as_millis()).collect();
        assert_eq!(rtts, [11, 31, 31, 11, 31]);
        assert_eq!((found.rtt_own, found.rtt_of_server, found.rtt_of_trace), (3, 1, 1));
        let (list, found) = collect(Flows::new(&[], None), &[again(1)]);
        assert_eq!((list[0].rtt, found.rtt_unknown), (None, 1));
        for impossible in [Nanos::ZERO, Nanos::from_secs(121)] {
            let row = Row { rtt_server: Some(impossible), rtt_client: Some(Nanos::ZERO), ..row(1, 1, 0, 1) };
            let (list, found) = collect(Flows::new(&[], None), &[row]);
            assert_eq!((list[0].rtt, found.rtt_unknown), (None, 1));
        }
    }

    #[test]
    fn what_cannot_be_replayed_is_counted_by_reason() {
        let rows = [
            Row { syn_seen: false, ..row(1, 0, 0, 70) },
            Row { established: false, ..row(1, 0, 0, 20) },
            row(1, 0, 0, 0),
            row(1, 0, 0, 10),
        ];
        let (list, found) = collect(Flows::new(&[], None), &rows);
        assert_eq!(list.len(), 1);
        let reasons = [(NO_SYN, 1), (NOT_ESTABLISHED, 1), (NO_DATA, 1)];
        assert_eq!(found.left_out, BTreeMap::from(reasons));
    }

    #[test]
    fn local_prefixes_decide_what_is_down() {
        let local: Vec<IpNet> = vec!["192.0.2.2/32".parse().unwrap(), "192.0.2.3/32".parse().unwrap()];
        let inside = Row { client: Ipv4Addr::new(192, 0, 2, 3).into(), ..row(2, 3, 0, 1) };
        let rows = [row(2, 1, 9, 1), row(2, 2, 1, 9), row(1, 3, 1, 9), inside];
        let anonymizer = Anonymizer::new(std::array::from_fn(|i| i as u8)).unwrap();
        let hidden = rows.clone().map(|row| Row {
            client: anonymizer.address(row.client),
            server: anonymizer.address(row.server),
            ..row
        });
        let plain = collect(Flows::new(&local, None), &rows);
        let anonymous = collect(Flows::new(&local, Some(&anonymizer)), &hidden);
        for (list, found) in [plain, anonymous] {
            let ways: Vec<_> = list.iter().map(|f| (f.down, f.sender_connects)).collect();
            assert_eq!(ways, [(true, true), (false, false)]);
            assert_eq!(found.left_out, BTreeMap::from([(NOT_ACROSS, 2)]));
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut flows = Flows::new(&[], None);
        flows.most = 2;
        let rows: Vec<Row> = (0..5).map(|i| row(1, i, 0, 1)).collect();
        let (list, found) = collect(flows, &rows);
        assert_eq!(list.len(), 2);
        assert_eq!(found.left_out, BTreeMap::from([(TOO_MANY, 3)]));
        assert!(size_of::<PendingFlow>() <= 64);
    }
}
