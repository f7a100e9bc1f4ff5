//! Lists of flows: the simulator reads what the writer writes.

use gentle_experiment::{Direction, Flow, Initiator, Scenario, Traffic};
use gentle_report::flows::Writer;
use gentle_units::Nanos;
use std::io;

#[test]
fn the_simulator_reads_the_flows_that_were_written() {
    let flows = vec![
        Flow {
            at: Nanos::ZERO,
            bytes: 14_480,
            rtt: Some(Nanos(94_000_001)),
            direction: Some(Direction::Down),
            initiator: Some(Initiator::Receiver),
        },
        Flow { at: Nanos(118_250_000), bytes: 1, rtt: None, direction: None, initiator: None },
        Flow {
            at: Nanos::from_secs(86_400),
            bytes: 1 << 40,
            rtt: Some(Nanos::from_secs(2)),
            direction: Some(Direction::Up),
            initiator: Some(Initiator::Sender),
        },
    ];
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).unwrap();
    for flow in &flows {
        writer.write(flow).unwrap();
    }
    writer.finish().unwrap();
    let text = String::from_utf8(file).unwrap();
    assert_eq!(text.lines().nth(1), Some("0,14480,0.094000001,down,receiver"));
    let scenario = Scenario::from_flows("flows.csv", &text).unwrap();
    let read: Vec<&Flow> = scenario
        .workloads
        .iter()
        .filter_map(|workload| match &workload.traffic {
            Traffic::Replay(list) => Some(list.flows.iter()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(read, flows.iter().collect::<Vec<_>>());
}

#[test]
fn a_flow_without_payload_is_refused() {
    let flow = Flow { at: Nanos::ZERO, bytes: 0, rtt: None, direction: None, initiator: None };
    let error = Writer::new(Vec::new()).unwrap().write(&flow).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
