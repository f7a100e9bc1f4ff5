//! Harm that the rest of the traffic does to a part of it: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness
//! Index: Setting the Bar For The Deployment of Congestion Control Algorithms" (HotNets 2019).
//!
//! Each part also runs alone, under the same scheme and with the same seeds, so that it sends the same traffic.

use crate::results::Better::{self, Higher, Lower};
use crate::results::{Comparison, Harm, Mean, SchemeResult};
use crate::scenario::Scenario;
use crate::traffic::{Consists, Traffic};
use crate::workload::Workload;

/// Part of the traffic of a scenario: an application, or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    of: Of,
    /// Paths in the results of the part of the numbers by which harm is measured, each with the direction that is better.
    numbers: Vec<(&'static str, Better)>,
    /// Name of the application or group.
    pub name: String,
    /// Kind of the application; `None`: a group.
    pub kind: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Index of the application.
    Application(usize),
    /// Index of the group.
    Group(usize),
}

/// Numbers by which the harm to a group is measured: of connections with sizes, of long-lived flows and packets at a constant rate for
/// each link, and of the latter, whose senders do not wait for acknowledgements.
const CONNECTIONS: (&str, Better) = ("response_time_s.mean", Lower);
const THROUGHPUT: [(&str, Better); 2] = [("links.down.rate_bps.mean", Higher), ("links.up.rate_bps.mean", Higher)];
const DELAY: [(&str, Better); 2] = [("links.down.queue_delay_s.p99", Lower), ("links.up.queue_delay_s.p99", Lower)];

/// Numbers of a group with these workloads.
fn numbers_of_group<'a>(workloads: impl Iterator<Item = &'a Workload>) -> Vec<(&'static str, Better)> {
    let of = |workload: &Workload| {
        let link = workload.direction.index();
        match workload.traffic.consists() {
            Consists::Connections => vec![CONNECTIONS],
            Consists::LongConnections => vec![THROUGHPUT[link]],
            Consists::Packets => vec![THROUGHPUT[link], DELAY[link]],
            Consists::Flood | Consists::Datagrams | Consists::Users => Vec::new(),
        }
    };
    let mut numbers = Vec::new();
    for number in workloads.flat_map(of) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

impl Part {
    /// Names of the scalar result `number` of the part: together with the rest of the traffic, and alone.
    fn names(&self, number: &str) -> [String; 2] {
        match self.of {
            Of::Application(index) => [format!("applications.{index}.{number}"), format!("applications.0.{number}")],
            Of::Group(index) => [(); 2].map(|()| format!("groups.{index}.{number}")),
        }
    }
}

impl Scenario {
    /// The applications, then the groups with other traffic.
    pub fn parts(&self) -> Vec<Part> {
        let harm = |kind: &str| {
            let mut kinds = self.workloads.iter().map(|workload| workload.traffic.kind());
            kinds.find(|of| of.name() == kind).and_then(|of| of.harm()).unwrap_or_default()
        };
        let applications = self.applications().into_iter().enumerate();
        let applications = applications.map(|(index, application)| Part {
            of: Of::Application(index),
            numbers: harm(&application.kind).to_vec(),
            name: application.name,
            kind: Some(application.kind),
        });
        let groups = self.groups().into_iter().enumerate();
        let groups = groups.map(|(index, name)| Part {
            of: Of::Group(index),
            numbers: numbers_of_group(self.workloads.iter().filter(|w| is_of_group(w, name))),
            name: name.to_owned(),
            kind: None,
        });
        let groups = groups.filter(|part| !part.numbers.is_empty());
        applications.chain(groups).collect()
    }

    /// The scenario with the traffic of `part` only; its random numbers stay the same.
    pub fn alone(&self, part: &Part) -> Scenario {
        let mut scenario = self.clone();
        let members = self.members(part);
        for (workload, _) in (scenario.workloads.iter_mut().zip(members)).filter(|(_, is)| !is) {
            // The others keep their places in the lists of groups and applications.
            workload.traffic = Traffic::nothing();
        }
        scenario
    }

    /// Whether each workload belongs to `part`.
    fn members(&self, part: &Part) -> Vec<bool> {
        match part.of {
            Of::Application(index) => {
                let (_, numbers) = self.numbered_applications();
                let numbers = numbers.into_iter();
                numbers.map(|number| number == Some(index)).collect()
            }
            Of::Group(_) => {
                let workloads = self.workloads.iter();
                workloads.map(|workload| is_of_group(workload, &part.name)).collect()
            }
        }
    }
}

/// Whether a workload belongs to the group `name`, and to no application.
fn is_of_group(workload: &Workload, name: &str) -> bool {
    workload.group.as_deref() == Some(name) && workload.application_name().is_none()
}

impl Comparison {
    /// Adds the harm to `part`, given the comparison of [`Scenario::alone`] under the same schemes and seeds. A scheme or
    /// seed that `alone` lacks has no value.
    pub fn add_harm(&mut self, part: &Part, alone: &Comparison) {
        let seeds = &self.seeds;
        for result in &mut self.results {
            let same = |other: &&SchemeResult| other.label == result.label;
            let Some(of_alone) = alone.results.iter().find(same) else {
                continue;
            };
            for (number, better) in &part.numbers {
                let [name, name_alone] = part.names(number);
                let together = values(result, &name);
                if together.is_empty() {
                    // A kernel's runs do not have it.
                    continue;
                }
                let alone_by_seed = values(of_alone, &name_alone);
                let alone = seeds.iter().map(|seed| {
                    let index = alone.seeds.iter().position(|known| known == seed)?;
                    alone_by_seed.get(index).copied().flatten()
                });
                let alone: Vec<Option<f64>> = alone.collect();
                let pairs = alone.iter().zip(together);
                let by_seed = pairs.map(|(alone, with)| harm(*better, (*alone)?, (*with)?));
                let by_seed: Vec<Option<f64>> = by_seed.collect();
                let mean = |values: &[Option<f64>]| Mean::over(values.iter().copied().flatten());
                result.harm.push(Harm {
                    part: part.name.clone(),
                    kind: part.kind.clone(),
                    number: (*number).to_owned(),
                    alone: mean(&alone),
                    together: mean(together),
                    harm: mean(&by_seed),
                    values: by_seed,
                });
            }
        }
    }
}

/// Values of the scalar result `name` by seed.
fn values<'a>(result: &'a SchemeResult, name: &str) -> &'a [Option<f64>] {
    let series = result.by_seed.iter().find(|series| series.name == name);
    series.map_or(&[], |series| &series.values)
}

/// Harm by the paper's definition, section 3: `(alone - with) / alone` if higher values are better, `(with - alone) /
/// with` if lower values are better. 0: the others do no harm; towards 1: they leave nothing; negative: the part does
/// better than alone. `None`: the denominator is 0 and the numerator is not.
fn harm(better: Better, alone: f64, with: f64) -> Option<f64> {
    let (loss, whole) = match better {
        Higher => (alone - with, alone),
        Lower => (with - alone, with),
    };
    match (loss == 0.0, whole > 0.0) {
        (true, _) => Some(0.0),
        (false, true) => Some(loss / whole),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn harm_is_that_of_the_definition() {
        // Half of the goodput is gone; the delay is four times as long.
        assert_eq!(harm(Higher, 10.0, 5.0), Some(0.5));
        assert_eq!(harm(Lower, 0.25, 1.0), Some(0.75));
        assert_eq!(harm(Higher, 10.0, 0.0), Some(1.0));
        assert_eq!(harm(Higher, 0.0, 0.0), Some(0.0));
        assert_eq!(harm(Higher, 0.0, 1.0), None);
    }

    proptest! {
        #[test]
        fn harm_is_none_alone_below_one_and_grows(
            alone in 1e-6_f64..1e3,
            factor in 1.0_f64..1e3,
            more in 1.000_001_f64..10.0,
        ) {
            for (better, with, worse) in [
                (Lower, alone * factor, alone * factor * more),
                (Higher, alone / factor, alone / factor / more),
            ] {
                prop_assert_eq!(harm(better, alone, alone), Some(0.0));
                let (some, much) = (harm(better, alone, with).unwrap(), harm(better, alone, worse).unwrap());
                prop_assert!((0.0..1.0).contains(&some), "{}", some);
                prop_assert!(some < much && much < 1.0, "{} {}", some, much);
            }
        }
    }
}
