//! Changes of link rates and load that keep the character of the traffic.

use super::Scenario;
use crate::direction::Direction;
use gentle_aqm::SpecError;
use gentle_units::Rate;
use thiserror::Error;

/// Change of a scenario's links.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkChange {
    /// New rate of the link under test; `None`: unchanged.
    pub down: Option<Rate>,
    /// New rate of the reverse link; `None`: changes in proportion to the link under test.
    pub up: Option<Rate>,
    /// New offered load of the link under test as a fraction of its rate; `None`: unchanged.
    pub load: Option<f64>,
}

/// Reason for which a load cannot be set.
#[derive(Debug, Error, PartialEq)]
pub enum LoadError {
    /// The link has no traffic whose arrival rate can change.
    #[error(
        "the link under test has no traffic that starts at random or at a constant rate, so its load cannot be set; --rate changes it"
    )]
    Fixed,
    /// The load of listed connections and of users, which cannot change, is higher: the fraction of the link rate.
    #[error("the listed connections and the users of dialogues alone load the link to {:.0} %; expected a higher load", .0 * 100.0)]
    TooLow(f64),
    /// A scheme refuses the limit of a buffer that was scaled with the rate.
    #[error("the buffer for the new rate: {0}")]
    Buffer(#[from] SpecError),
}

impl Scenario {
    /// Changes the rates of the links and removes their rate changes over time and recordings. Arrivals in each direction scale so
    /// that the load stays or becomes that of `change`, and buffer limits scale so that a full buffer takes the same
    /// time to drain. Lists of flows, long-lived connections and applications stay as they are. Scaled limits are added to the
    /// assumptions.
    ///
    /// # Errors
    /// The load cannot be set. The scenario is then unchanged.
    pub fn change_links(&mut self, change: &LinkChange) -> Result<(), LoadError> {
        let mut scenario = self.clone();
        let before = scenario.links.each_ref().map(|link| link.rate);
        if let Some(rate) = change.down {
            scenario.set_rate(Direction::Down, rate);
        }
        let proportional = change.down.map(|rate| in_proportion(before[1], before[0], rate));
        if let Some(rate) = change.up.or(proportional) {
            scenario.set_rate(Direction::Up, rate);
        }
        for direction in Direction::BOTH {
            let now = scenario.link(direction).rate.bits_per_second() as f64;
            scenario.scale(direction, now / before[direction.index()].bits_per_second() as f64);
        }
        if let Some(load) = change.load {
            scenario.set_load(load)?;
        }
        scenario.fit_buffers(before)?;
        *self = scenario;
        Ok(())
    }

    /// Scales arrivals to an offered `load` of the link under test, as a fraction of its rate.
    fn set_load(&mut self, load: f64) -> Result<(), LoadError> {
        let rate = self.link(Direction::Down).rate.bits_per_second() as f64;
        let fixed = (self.workloads.iter().enumerate())
            .filter(|(_, workload)| !workload.traffic.kind().facts().scales)
            .map(|(index, _)| self.bits_per_second(index, Direction::Down))
            .sum::<f64>()
            / rate;
        let scalable = self.load(Direction::Down) - fixed;
        if scalable <= 0.0 {
            return Err(LoadError::Fixed);
        }
        if load <= fixed {
            return Err(LoadError::TooLow(fixed));
        }
        self.scale(Direction::Down, (load - fixed) / scalable);
        Ok(())
    }

    /// Multiplies the arrival rates of the traffic in `direction` by `factor`.
    fn scale(&mut self, direction: Direction, factor: f64) {
        if factor == 1.0 {
            return;
        }
        let fastest = self.access.map(|access| access.rate);
        let concerned = self.workloads.iter_mut().filter(|w| w.direction == direction);
        for workload in concerned {
            workload.traffic.kind_mut().scale(factor, fastest);
        }
    }
}

/// Returns `rate * to / from`, in integers to avoid rounding of the quotient.
fn in_proportion(rate: Rate, from: Rate, to: Rate) -> Rate {
    let scaled =
        u128::from(rate.bits_per_second()) * u128::from(to.bits_per_second()) / u128::from(from.bits_per_second());
    let bits = u64::try_from(scaled).unwrap_or(u64::MAX).max(1);
    Rate::from_bits_per_second(bits).unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Poisson, Traffic};
    use gentle_units::Nanos;
    use proptest::prelude::*;

    fn rate(text: &str) -> Option<Rate> {
        Some(text.parse().unwrap())
    }

    fn changed(name: &str, change: LinkChange) -> Scenario {
        let mut scenario = Scenario::builtin(name).unwrap();
        scenario.change_links(&change).unwrap();
        scenario
    }

    fn gap(scenario: &Scenario) -> Nanos {
        match scenario.workloads[0].traffic {
            Traffic::Poisson(Poisson { gap, .. }) => gap,
            _ => unreachable!("the built-in types are Poisson"),
        }
    }

    #[test]
    fn another_rate_keeps_the_load_and_the_reverse_link_in_proportion() {
        let own = Scenario::builtin("real").unwrap();
        let fast = changed("real", LinkChange { down: rate("24mbit"), ..LinkChange::default() });
        assert_eq!(gap(&fast), Nanos::from_millis(12));
        assert_eq!(fast.link(Direction::Up).rate, rate("4mbit").unwrap());
        let (before, after) = (own.load(Direction::Down), fast.load(Direction::Down));
        assert!((before - after).abs() < 1e-9, "{before} {after}");
        let both = LinkChange { down: rate("24mbit"), up: rate("1mbit"), load: Some(0.5) };
        let both = changed("real", both);
        assert_eq!(both.link(Direction::Up).rate, rate("1mbit").unwrap());
        assert!((both.load(Direction::Down) - 0.5).abs() < 1e-6);
        let unchanged = changed("real", LinkChange::default());
        assert_eq!(unchanged.assumptions, own.assumptions);
    }

    fn mixed(list: &str) -> Scenario {
        let text = r#"
            duration = "100s"
            [access]
            rate = "3mbit"
            [link.down]
            rate = "1mbit"
            changes = [{ at = "30s", rate = "2mbit" }]
            [link.up]
            rate = "1mbit"
            [[workload]]
            kind = "replay"
            file = "list.csv"
            [[workload]]
            kind = "udp"
            rate = "400kbit"
            [[workload]]
            kind = "web"
            sessions = 10
            session_gap = "1s"
            pages = 2
            page_gap = "1s"
            objects = 2
            object_gap = "100ms"
            size = { segments = 1 }
            direction = "up"
        "#;
        Scenario::from_toml("x.toml", text, &|_| Ok(list.to_owned())).unwrap()
    }

    #[test]
    fn each_kind_of_traffic_scales_in_its_own_way() {
        let mut scenario = mixed("start_s,bytes\n0,1000\n");
        let change = LinkChange { down: rate("10mbit"), up: rate("2mbit"), load: None };
        scenario.change_links(&change).unwrap();
        assert!(scenario.link(Direction::Down).changes.is_empty());
        // Ten times the rate would exceed the rate of the access link.
        let udp = scenario.workloads[1].traffic.pace().unwrap();
        assert_eq!(udp.rate, rate("3mbit").unwrap());
        let Traffic::Web(web) = scenario.workloads[2].traffic else { panic!() };
        assert_eq!((web.sessions, web.session_gap), (20, Nanos::from_millis(500)));
        let Traffic::Replay(list) = &scenario.workloads[0].traffic else { panic!() };
        assert_eq!((list.flows.len(), list.flows[0].bytes), (1, 1000));
    }

    #[test]
    fn a_load_that_cannot_be_had_is_refused_and_changes_nothing() {
        let load = |load| LinkChange { load: Some(load), down: rate("2mbit"), up: None };
        let list = "start_s,bytes\n0,6250000\n";
        // 6.25 MB in 100 s are a quarter of 2 Mb/s, plus headers.
        let mut scenario = mixed(list);
        let Err(LoadError::TooLow(fixed)) = scenario.change_links(&load(0.2)) else { panic!() };
        assert!((0.25..0.27).contains(&fixed), "{fixed}");
        assert_eq!(scenario.link(Direction::Down).rate, rate("1mbit").unwrap());
        scenario.change_links(&load(0.5)).unwrap();
        assert!((scenario.load(Direction::Down) - 0.5).abs() < 1e-5);
        let mut listed = Scenario::from_flows("x.csv", list).unwrap();
        assert_eq!(listed.change_links(&load(0.5)), Err(LoadError::Fixed));
    }

    proptest! {
        #[test]
        fn any_load_is_met(down in 100_000_u64..10_000_000_000, percent in 1_u32..200) {
            let load = f64::from(percent) / 100.0;
            let change = LinkChange {
                down: Rate::from_bits_per_second(down),
                up: None,
                load: Some(load),
            };
            let found = changed("short", change).load(Direction::Down);
            // Gaps are whole nanoseconds.
            prop_assert!((found / load - 1.0).abs() < 1e-3, "{} {}", found, load);
        }
    }
}
