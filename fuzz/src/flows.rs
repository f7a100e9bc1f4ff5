//! Invariants of the flows derived from connections.

use gentle_trace::flows::Flows;
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use gentle_trace::{Anonymizer, Options};

/// Derives flows from the connections of an analysis and checks them and their statistics.
pub fn flows_and_check(analysis: &mut Analysis, rows: &[Row], options: &Options, anonymizer: Option<&Anonymizer>) {
    let mut flows = Flows::new(&options.local, anonymizer);
    rows.iter().for_each(|row| flows.add(row));
    let flows = flows.finish(analysis);
    let found = analysis.flows.as_ref().expect("it is there now");

    let left_out: u64 = found.left_out.values().sum();
    assert_eq!(found.connections, rows.len() as u64);
    assert_eq!(found.flows, flows.len() as u64);
    assert_eq!(found.flows + left_out, found.connections);
    assert!(found.open_at_end <= found.flows);

    let payload = rows.iter().map(|row| row.from_client.bytes + row.from_server.bytes);
    assert_eq!(found.payload_bytes, payload.sum::<u64>());
    let bytes = flows.iter().map(|flow| flow.bytes);
    assert_eq!(found.flow_bytes, bytes.sum::<u64>());
    assert!(found.flow_bytes >= found.other_way_bytes);
    assert!(found.flow_bytes + found.other_way_bytes <= found.payload_bytes);

    let without = flows.iter().filter(|flow| flow.rtt.is_none()).count() as u64;
    assert_eq!(found.rtt_unknown, without);
    assert!(without == 0 || without == found.flows);
    assert_eq!(found.rtt_own + found.rtt_of_server + found.rtt_of_trace + found.rtt_unknown, found.flows);

    assert!(flows.iter().all(|flow| flow.bytes > 0));
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    // A double holds seconds since 1970 with an error below a microsecond.
    let end_s = analysis.duration_s + 1e-6;
    assert!(flows.iter().all(|flow| flow.start.as_secs_f64() <= end_s));
}
