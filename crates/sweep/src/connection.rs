//! Connections of runs one by one, as Parquet.

use crate::key::Key;
use crate::table::file;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use gentle_experiment::{ConnectionRecord, Ending, Scenario};
use gentle_units::Nanos;
use parquet::errors::ParquetError;
use std::sync::Arc;

/// Connections of several runs.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    key: String,
    /// Group of each workload.
    groups: Vec<Option<String>>,
    connections: Vec<ConnectionRecord>,
}

impl Connections {
    /// Adds the connections of a run, in the order in which they started.
    pub(crate) fn add(
        &mut self,
        key: &Key,
        scenario: &Scenario,
        connections: Vec<ConnectionRecord>,
    ) {
        let workloads = scenario.workloads.iter();
        self.runs.push(Run {
            key: key.to_string(),
            groups: workloads.map(|workload| workload.group.clone()).collect(),
            connections,
        });
    }

    /// A row per connection.
    pub(crate) fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        file(&self.table()?)
    }

    fn rows(&self) -> impl Iterator<Item = (&Run, u32, &ConnectionRecord)> {
        self.runs.iter().flat_map(|run| {
            let numbered = (0..).zip(&run.connections);
            numbered.map(move |(number, connection)| (run, number, connection))
        })
    }

    fn table(&self) -> Result<RecordBatch, ArrowError> {
        let count = |of: fn(&ConnectionRecord) -> u64| -> ArrayRef {
            Arc::new(
                self.rows()
                    .map(|(_, _, c)| Some(of(c)))
                    .collect::<UInt64Array>(),
            )
        };
        let time = |of: fn(&ConnectionRecord) -> Option<Nanos>| -> ArrayRef {
            let times = self.rows().map(|(_, _, c)| of(c).map(Nanos::as_secs_f64));
            Arc::new(times.collect::<Float64Array>())
        };
        let keys = self.rows().map(|(run, _, _)| Some(run.key.as_str()));
        let numbers = self.rows().map(|(_, number, _)| Some(number));
        let workloads = self.rows().map(|(_, _, c)| Some(c.workload as u32));
        let groups = self
            .rows()
            .map(|(run, _, c)| run.groups.get(c.workload)?.as_deref());
        let outcomes = self.rows().map(|(_, _, c)| Some(outcome(c.ending)));
        RecordBatch::try_from_iter_with_nullable([
            (
                "key",
                Arc::new(keys.collect::<StringArray>()) as ArrayRef,
                false,
            ),
            (
                "connection",
                Arc::new(numbers.collect::<UInt32Array>()),
                false,
            ),
            (
                "workload",
                Arc::new(workloads.collect::<UInt32Array>()),
                false,
            ),
            ("group", Arc::new(groups.collect::<StringArray>()), true),
            ("start_s", time(|c| Some(c.started)), false),
            ("segments", count(|c| c.segments), false),
            (
                "outcome",
                Arc::new(outcomes.collect::<StringArray>()),
                false,
            ),
            ("response_time_s", time(|c| response_time(c.ending)), true),
            ("handshake_s", time(|c| c.handshake), true),
            ("segments_sent", count(|c| c.segments_sent), false),
            (
                "segments_retransmitted",
                count(|c| c.segments_retransmitted),
                false,
            ),
            ("syn_retransmitted", count(|c| c.syn_retransmitted), false),
            ("rto_timeouts", count(|c| c.rto_timeouts), false),
            (
                "retransmission_delay_s",
                time(|c| Some(c.retransmission_delay)),
                false,
            ),
            (
                "syn_retransmission_delay_s",
                time(|c| Some(c.syn_retransmission_delay)),
                false,
            ),
        ])
    }
}

fn outcome(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed(_) => "completed",
        Ending::Failed => "failed",
        Ending::Unfinished => "unfinished",
    }
}

fn response_time(ending: Ending) -> Option<Nanos> {
    match ending {
        Ending::Completed(time) => Some(time),
        Ending::Failed | Ending::Unfinished => None,
    }
}
