//! Comparison of simulated and measured results for the same connections, metric by metric.

use gentle_experiment::measure::Measured;
use gentle_experiment::results::{Comparison, SchemeResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Metric that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Mean response time of all connections.
    Response,
    /// Mean response time of the connections of the first range of sizes.
    ResponseOfShort,
    /// Mean response time of the connections of the last range of sizes.
    ResponseOfLong,
    /// Mean time until the initiator is established.
    Handshake,
    /// Mean sojourn time in the queue under test.
    QueueDelay,
    /// Fraction of packets lost.
    Loss,
    /// Fraction of SYNs lost.
    SynLoss,
    /// Fraction of packets that are retransmissions.
    Retransmissions,
    /// Mean retransmission delay of a connection.
    RetransmissionDelay,
    /// Mean round-trip time.
    Rtt,
    /// Utilization of the link under test.
    Utilization,
    /// Mean one-way delay of an application's datagrams.
    Delay,
    /// 99th percentile of that delay, over all seeds.
    DelayP99,
    /// Mean difference between the delays of consecutive datagrams.
    Jitter,
    /// Fraction of an application's datagrams that did not arrive.
    DatagramLoss,
    /// Fraction of datagrams that were lost or late.
    Useless,
    /// Fraction of video frames that were late or missing.
    LateFrames,
    /// Interruptions that a user notices, per minute.
    Stalls,
    /// Mean time until a client can send its request.
    Connect,
    /// Mean duration of transactions.
    Transaction,
    /// 95th percentile of that duration, over all seeds.
    TransactionP95,
    /// Payload per second, bits.
    Goodput,
}

impl Metric {
    /// Metrics of connections and links, in the order in which they are reported.
    pub const ALL: [Metric; 11] = [
        Metric::Response,
        Metric::ResponseOfShort,
        Metric::ResponseOfLong,
        Metric::Handshake,
        Metric::QueueDelay,
        Metric::Loss,
        Metric::SynLoss,
        Metric::Retransmissions,
        Metric::RetransmissionDelay,
        Metric::Rtt,
        Metric::Utilization,
    ];

    /// Metrics of an application, in the order in which they are reported.
    pub const OF_APPLICATION: [Metric; 11] = [
        Metric::Delay,
        Metric::DelayP99,
        Metric::Jitter,
        Metric::DatagramLoss,
        Metric::Useless,
        Metric::LateFrames,
        Metric::Stalls,
        Metric::Connect,
        Metric::Transaction,
        Metric::TransactionP95,
        Metric::Goodput,
    ];

    /// Label of the metric in tables.
    pub const fn label(self) -> &'static str {
        self.label_and_path().0
    }

    /// Label of the metric, and its path in the results of a scheme or of an application.
    const fn label_and_path(self) -> (&'static str, &'static str) {
        match self {
            Metric::Response => ("response time", "response_time_s.mean"),
            Metric::ResponseOfShort => ("… of the shortest", "response_time_by_size.0.mean_s"),
            Metric::ResponseOfLong => ("… of the longest", "response_time_by_size.LAST.mean_s"),
            Metric::Handshake => ("handshake", "handshake_s.mean"),
            Metric::QueueDelay => ("sojourn time", "queue_delay_s.mean"),
            Metric::Loss => ("packets lost", "loss.all"),
            Metric::SynLoss => ("SYNs lost", "loss.syn"),
            Metric::Retransmissions => ("packets retransmitted", "retransmission.packet_probability"),
            Metric::RetransmissionDelay => ("retransmission delay", "retransmission.delay_mean_s"),
            Metric::Rtt => ("round-trip time", "rtt_s.mean"),
            Metric::Utilization => ("link utilization", "utilization"),
            Metric::Delay => ("delay", "delay_s.mean"),
            Metric::DelayP99 => ("delay, p99", "delay_s.p99"),
            Metric::Jitter => ("jitter", "jitter_s.mean"),
            Metric::DatagramLoss => ("datagrams lost", "loss.mean"),
            Metric::Useless => ("datagrams lost or late", "useless.mean"),
            Metric::LateFrames => ("frames late", "late_frames.mean"),
            Metric::Stalls => ("stalls a minute", "stalls_per_minute.mean"),
            Metric::Connect => ("connect", "connect_s.mean"),
            Metric::Transaction => ("transaction", "transaction_s.mean"),
            Metric::TransactionP95 => ("transaction, p95", "transaction_s.p95"),
            Metric::Goodput => ("goodput", "goodput_bps.mean"),
        }
    }

    /// Factor that converts a value for display, and the unit after conversion.
    pub const fn unit(self) -> (f64, &'static str) {
        match self {
            Metric::Loss
            | Metric::SynLoss
            | Metric::Retransmissions
            | Metric::Utilization
            | Metric::DatagramLoss
            | Metric::Useless
            | Metric::LateFrames => (100.0, "%"),
            Metric::Stalls => (1.0, "/min"),
            Metric::Goodput => (1e-6, "Mb/s"),
            _ => (1000.0, "ms"),
        }
    }

    /// Path of the metric in `result`, of the application `index` if there is one, and its value.
    fn of(self, result: &SchemeResult, application: Option<usize>) -> (String, Measured) {
        let last = result.response_time_by_size.len().saturating_sub(1);
        let path = self.label_and_path().1.replace("LAST", &last.to_string());
        let path = application.map_or(path.clone(), |index| format!("applications.{index}.{path}"));
        let found = result.at(&path).unwrap_or_default();
        (path, found)
    }
}

/// One metric of one scheme.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Scheme, as requested.
    pub scheme: String,
    /// Name of the application that is compared; `None`: all connections and the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Metric that is compared.
    pub metric: Metric,
    /// Simulated value, in seconds, bits per second, per minute or as a fraction; `None`: nothing was counted.
    pub simulator: Option<f64>,
    /// Half-width of the 95 % confidence interval of the simulated value.
    pub simulator_ci95: Option<f64>,
    /// Value measured on the kernel, in the same unit; `None`: nothing was counted.
    pub kernel: Option<f64>,
    /// Half-width of the 95 % confidence interval of the measured value.
    pub kernel_ci95: Option<f64>,
    /// Simulated value minus measured value, as a fraction of the measured value.
    pub difference: Option<f64>,
    /// Simulated value minus measured value in the same unit, paired by seed: both see the same connections.
    pub paired_difference: Option<f64>,
    /// Half-width of the 95 % confidence interval of the paired difference; `None` with fewer than two seeds.
    pub paired_ci95: Option<f64>,
    /// Whether the confidence intervals of both values overlap; `None` with fewer than two seeds.
    pub intervals_overlap: Option<bool>,
}

/// Version of the JSON form of [`Agreement`] (`docs/reference/json.md`).
const SCHEMA: u32 = 1;

/// A simulated and a measured comparison side by side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Agreement {
    /// Version of the JSON form; it rises when a field changes its meaning or goes.
    pub version: u32,
    /// Title of the scenario.
    pub title: String,
    /// Assumptions of the scenario, and differences between the scenario and the run on the kernel.
    #[serde(rename = "choices")]
    pub assumptions: Vec<String>,
    /// One row for each scheme and metric; metrics of applications that neither observed are left out.
    pub rows: Vec<Row>,
}

/// Pairs the results of both by scheme label; leaves out a scheme that only one of them has.
pub fn agreement(simulator: &Comparison, kernel: &Comparison) -> Agreement {
    let mut rows = Vec::new();
    for measured in &kernel.results {
        let same = |result: &&SchemeResult| result.label == measured.label;
        let Some(simulated) = simulator.results.iter().find(same) else {
            continue;
        };
        let pair = [simulated, measured];
        rows.extend(Metric::ALL.into_iter().map(|metric| row(metric, None, pair, pair.map(|r| metric.of(r, None)))));
        for (index, application) in measured.applications.iter().enumerate() {
            rows.extend(Metric::OF_APPLICATION.into_iter().filter_map(|metric| {
                let found = pair.map(|result| metric.of(result, Some(index)));
                let observed = found.iter().any(|(_, found)| found.value.is_some());
                let name = Some(application.application.clone());
                observed.then(|| row(metric, name, pair, found))
            }));
        }
    }
    Agreement {
        version: SCHEMA,
        title: kernel.scenario.title.clone(),
        assumptions: kernel.scenario.assumptions.clone(),
        rows,
    }
}

fn row(
    metric: Metric,
    application: Option<String>,
    [simulated, measured]: [&SchemeResult; 2],
    [(path, in_simulator), (_, on_kernel)]: [(String, Measured); 2],
) -> Row {
    let Measured { value: simulator, ci95: simulator_ci95, .. } = in_simulator;
    let Measured { value: kernel, ci95: kernel_ci95, .. } = on_kernel;
    let both = simulator.zip(kernel);
    let widths = simulator_ci95.zip(kernel_ci95);
    let paired = simulated.minus(measured, &path).unwrap_or_default();
    Row {
        scheme: measured.label.clone(),
        application,
        metric,
        simulator,
        simulator_ci95,
        kernel,
        kernel_ci95,
        difference: both.filter(|(_, kernel)| *kernel != 0.0).map(|(simulator, kernel)| (simulator - kernel) / kernel),
        paired_difference: paired.mean,
        paired_ci95: paired.ci95,
        intervals_overlap: both.zip(widths).map(|((a, b), (wide_a, wide_b))| (a - b).abs() <= wide_a + wide_b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_experiment::results::ApplicationResult;
    use gentle_experiment::{Scenario, Settings};
    use gentle_sim::compare;
    use gentle_units::Nanos;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_metric_of_applications_is_a_number_of_their_results() {
        let known: Vec<String> = ApplicationResult::metrics().into_iter().map(|metric| metric.name).collect();
        for metric in Metric::OF_APPLICATION {
            assert!(known.iter().any(|name| name == metric.label_and_path().1), "{metric:?}");
        }
    }

    #[test]
    fn the_simulator_agrees_with_itself_and_not_with_another_queue() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_duration(Nanos::from_secs(40));
        let settings = Settings { seeds: vec![1, 2], bins: vec![3, 100] };
        let of = |scheme: &str| {
            let schemes = [scheme.parse().unwrap()];
            compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false))
        };
        let codel = of("codel");
        let same = agreement(&codel, &codel);
        assert_eq!(same.rows.len(), Metric::ALL.len());
        for row in &same.rows {
            assert_ne!(row.intervals_overlap, Some(false), "{row:?}");
            assert!(row.difference.is_none_or(|part| part == 0.0), "{row:?}");
            assert_eq!(row.paired_difference, Some(0.0), "{row:?}");
        }
        let mut other = of("pfifo limit=500");
        other.results[0].label = "codel".to_owned();
        let apart = agreement(&codel, &other);
        let queue = |row: &&Row| row.metric == Metric::QueueDelay;
        let queue = apart.rows.iter().find(queue).unwrap();
        assert!(queue.difference.unwrap() < -0.5, "{queue:?}");
        for row in &apart.rows {
            // Means over seeds differ by the mean of the seeds' differences.
            let (simulator, kernel) = (row.simulator.unwrap(), row.kernel.unwrap());
            let paired = row.paired_difference.unwrap();
            assert!((paired - (simulator - kernel)).abs() < 1e-9, "{row:?}");
            assert!(row.paired_ci95.is_none_or(|ci95| ci95 > 0.0), "{row:?}");
        }
    }
}
