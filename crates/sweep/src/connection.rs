//! Connections of runs one by one, as Parquet.

use crate::table::{Table, Values};
use crate::write::file;
use gentle_experiment::{ConnectionRecord, Ending, Scenario};
use gentle_runs::RunId;
use gentle_units::Nanos;
use parquet::errors::ParquetError;

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
    pub(crate) fn add(&mut self, key: &RunId, scenario: &Scenario, connections: Vec<ConnectionRecord>) {
        let workloads = scenario.workloads.iter();
        self.runs.push(Run {
            key: key.to_string(),
            groups: workloads.map(|workload| workload.group.clone()).collect(),
            connections,
        });
    }

    /// A row per connection.
    pub(crate) fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        file(&self.table())
    }

    fn rows(&self) -> impl Iterator<Item = (&Run, u32, &ConnectionRecord)> {
        self.runs.iter().flat_map(|run| {
            let numbered = (0..).zip(&run.connections);
            numbered.map(move |(number, connection)| (run, number, connection))
        })
    }

    fn table(&self) -> Table {
        let text = |of: fn(&Run, &ConnectionRecord) -> Option<String>| {
            Values::Text(self.rows().map(|(run, _, c)| of(run, c)).collect())
        };
        let count = |of: fn(&ConnectionRecord) -> u64| Values::Count(self.rows().map(|(_, _, c)| of(c)).collect());
        let count32 = |of: fn(u32, &ConnectionRecord) -> u32| {
            Values::Count32(self.rows().map(|(_, number, c)| of(number, c)).collect())
        };
        let time = |of: fn(&ConnectionRecord) -> Option<Nanos>| {
            let times = self.rows().map(|(_, _, c)| of(c).map(Nanos::as_secs_f64));
            Values::Number(times.collect())
        };
        Table::new([
            ("key", false, text(|run, _| Some(run.key.clone()))),
            ("connection", false, count32(|number, _| number)),
            ("workload", false, count32(|_, c| c.workload as u32)),
            ("group", true, text(|run, c| run.groups.get(c.workload)?.clone())),
            ("start_s", false, time(|c| Some(c.started.since_origin()))),
            ("segments", false, count(|c| c.segments)),
            ("outcome", false, text(|_, c| Some(outcome(c.ending).to_owned()))),
            ("response_time_s", true, time(|c| response_time(c.ending))),
            ("handshake_s", true, time(|c| c.handshake)),
            ("segments_sent", false, count(|c| c.segments_sent)),
            ("segments_retransmitted", false, count(|c| c.segments_retransmitted)),
            ("syn_retransmitted", false, count(|c| c.syn_retransmitted)),
            ("rto_timeouts", false, count(|c| c.rto_timeouts)),
            ("retransmission_delay_s", false, time(|c| Some(c.retransmission_delay))),
            ("syn_retransmission_delay_s", false, time(|c| Some(c.syn_retransmission_delay))),
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
