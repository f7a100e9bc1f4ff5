//! Comparison of simulated and measured results for the same connections, metric by metric.

use gentle_experiment::results::{Comparison, SchemeResult, SizeBin};
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
}

impl Metric {
    /// All metrics, in the order in which they are reported.
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

    /// Label of the metric in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Metric::Response => "response time",
            Metric::ResponseOfShort => "… of the shortest",
            Metric::ResponseOfLong => "… of the longest",
            Metric::Handshake => "handshake",
            Metric::QueueDelay => "sojourn time",
            Metric::Loss => "packets lost",
            Metric::SynLoss => "SYNs lost",
            Metric::Retransmissions => "packets retransmitted",
            Metric::RetransmissionDelay => "retransmission delay",
            Metric::Rtt => "round-trip time",
            Metric::Utilization => "link utilization",
        }
    }

    /// Factor that converts a value for display, and the unit after conversion.
    pub const fn unit(self) -> (f64, &'static str) {
        match self {
            Metric::Loss | Metric::SynLoss | Metric::Retransmissions | Metric::Utilization => {
                (100.0, "%")
            }
            _ => (1000.0, "ms"),
        }
    }

    /// Name of the metric among the scalar results of a scheme.
    fn name(self, result: &SchemeResult) -> String {
        let bin = |index| format!("response_time_by_size.{index}.mean_s");
        let name = match self {
            Metric::Response => "response_time_s.mean",
            Metric::ResponseOfShort => return bin(0),
            Metric::ResponseOfLong => {
                return bin(result.response_time_by_size.len().saturating_sub(1));
            }
            Metric::Handshake => "handshake_s.mean",
            Metric::QueueDelay => "queue_delay_s.mean",
            Metric::Loss => "loss.all",
            Metric::SynLoss => "loss.syn",
            Metric::Retransmissions => "retransmission.packet_probability",
            Metric::RetransmissionDelay => "retransmission.delay_mean_s",
            Metric::Rtt => "rtt_s.mean",
            Metric::Utilization => "utilization",
        };
        name.to_owned()
    }

    /// Value of the metric and half-width of its 95 % confidence interval.
    fn of(self, result: &SchemeResult) -> (Option<f64>, Option<f64>) {
        let bin = |bin: Option<&SizeBin>| bin.map_or((None, None), |bin| (bin.mean_s, bin.ci95_s));
        let by_size = &result.response_time_by_size;
        let again = &result.retransmission;
        let again_ci95 = &result.retransmission_ci95;
        match self {
            Metric::Response => (result.response_time_s.mean, result.response_time_s.ci95),
            Metric::ResponseOfShort => bin(by_size.first()),
            Metric::ResponseOfLong => bin(by_size.last()),
            Metric::Handshake => (result.handshake_s.mean, result.handshake_s.ci95),
            Metric::QueueDelay => (result.queue_delay_s.mean, result.queue_delay_s.ci95),
            Metric::Loss => (result.loss.all, result.loss_ci95.all),
            Metric::SynLoss => (result.loss.syn, result.loss_ci95.syn),
            Metric::Retransmissions => (again.packet_probability, again_ci95.packet_probability),
            Metric::RetransmissionDelay => (again.delay_mean_s, again_ci95.delay_mean_s),
            Metric::Rtt => (result.rtt_s.mean, result.rtt_s.ci95),
            Metric::Utilization => (result.utilization, result.utilization_ci95),
        }
    }
}

/// One metric of one scheme.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Scheme, as requested.
    pub scheme: String,
    /// Metric that is compared.
    pub metric: Metric,
    /// Simulated value, in seconds or as a fraction; `None`: nothing was counted.
    pub simulator: Option<f64>,
    /// Half-width of the 95 % confidence interval of the simulated value.
    pub simulator_ci95: Option<f64>,
    /// Value measured on the kernel, in seconds or as a fraction; `None`: nothing was counted.
    pub kernel: Option<f64>,
    /// Half-width of the 95 % confidence interval of the measured value.
    pub kernel_ci95: Option<f64>,
    /// Simulated value minus measured value, as a fraction of the measured value.
    pub difference: Option<f64>,
    /// Simulated value minus measured value in seconds or as a fraction, paired by seed: both see the same connections.
    pub paired_difference: Option<f64>,
    /// Half-width of the 95 % confidence interval of the paired difference; `None` with fewer than two seeds.
    pub paired_ci95: Option<f64>,
    /// Whether the confidence intervals of both values overlap; `None` with fewer than two seeds.
    pub intervals_overlap: Option<bool>,
}

/// Version of the JSON form of [`Agreement`] (`docs/json.md`).
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
    /// One row for each scheme and metric.
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
        rows.extend(Metric::ALL.map(|metric| row(metric, simulated, measured)));
    }
    Agreement {
        version: SCHEMA,
        title: kernel.scenario.title.clone(),
        assumptions: kernel.scenario.assumptions.clone(),
        rows,
    }
}

fn row(metric: Metric, simulated: &SchemeResult, measured: &SchemeResult) -> Row {
    let (simulator, simulator_ci95) = metric.of(simulated);
    let (kernel, kernel_ci95) = metric.of(measured);
    let both = simulator.zip(kernel);
    let widths = simulator_ci95.zip(kernel_ci95);
    let paired = simulated.minus(measured, &metric.name(measured));
    let paired = paired.unwrap_or_default();
    Row {
        scheme: measured.label.clone(),
        metric,
        simulator,
        simulator_ci95,
        kernel,
        kernel_ci95,
        difference: both
            .filter(|(_, kernel)| *kernel != 0.0)
            .map(|(simulator, kernel)| (simulator - kernel) / kernel),
        paired_difference: paired.mean,
        paired_ci95: paired.ci95,
        intervals_overlap: both
            .zip(widths)
            .map(|((a, b), (wide_a, wide_b))| (a - b).abs() <= wide_a + wide_b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_experiment::{Scenario, Settings};
    use gentle_sim::compare;
    use gentle_units::Nanos;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_simulator_agrees_with_itself_and_not_with_another_queue() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_duration(Nanos::from_secs(40));
        let settings = Settings {
            seeds: vec![1, 2],
            bins: vec![3, 100],
        };
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
