//! Scaling of buffer limits with the link rate.

use super::{Scenario, builtin};
use crate::direction::Direction;
use gentle_aqm::{Spec, SpecError, Value};
use gentle_units::Rate;

/// Maximum of a scaled limit in packets: `txqueuelen` of an Ethernet interface in Linux (`DEFAULT_TX_QUEUE_LEN`,
/// include/net/pkt_sched.h and net/ethernet/eth.c).
const MOST_PACKETS: u64 = 1_000;
/// Maximum of a scaled limit in bytes: as many packets of 1500 bytes.
const MOST_BYTES: u64 = MOST_PACKETS * 1_500;

impl Scenario {
    /// Default schemes of a comparison: the scenario's or, if it has none, the schemes of `real` with limits scaled to
    /// the link rate.
    pub fn schemes_to_compare(&self) -> Vec<Spec> {
        if !self.schemes.is_empty() {
            return self.schemes.clone();
        }
        let real = builtin::find("real").expect("real is built in");
        let (from, to) = [&real, self].map(|scenario| scenario.link(Direction::Down).rate).into();
        real.schemes.iter().map(|spec| fit(spec, from, to).expect("schemes of real take all scaled limits")).collect()
    }

    /// Scales the explicit limits of the schemes to compare and of the queue of each link from the rates `before` to
    /// the current rates, so that a full buffer takes the same time to drain. Default limits stay as they are, and so
    /// do limits of a link that has become slower: a buffer of a few packets would not hold a burst.
    ///
    /// # Errors
    /// A scheme refuses its scaled limit.
    pub(super) fn fit_buffers(&mut self, before: [Rate; 2]) -> Result<(), SpecError> {
        let down = self.link(Direction::Down).rate;
        for spec in &mut self.schemes {
            *spec = fit(spec, before[0], down)?;
        }
        for (link, before) in self.links.iter_mut().zip(before) {
            link.qdisc = fit(&link.qdisc, before, link.rate)?;
        }
        if let Some(factor) = factor(before[0], down) {
            self.assumptions.push(format!(
                "Buffer limits that are not given with a scheme are scaled from {} by {factor:.1}, so that a full \
                 buffer drains in the same time; at most {MOST_PACKETS} packets or {MOST_BYTES} bytes.",
                before[0]
            ));
        }
        Ok(())
    }
}

/// Factor by which limits grow; `None` if the link is not faster.
fn factor(from: Rate, to: Rate) -> Option<f64> {
    let factor = to.bits_per_second() as f64 / from.bits_per_second() as f64;
    (factor > 1.0).then_some(factor)
}

/// Returns the scheme with an explicit limit scaled like the rate.
fn fit(spec: &Spec, from: Rate, to: Rate) -> Result<Spec, SpecError> {
    let Some(factor) = factor(from, to) else {
        return Ok(spec.clone());
    };
    let scale = |n: u64, most: u64| ((n as f64 * factor).round() as u64).min(most.max(n));
    let limit = match spec.given("limit") {
        Some(Value::Size(bytes)) => Value::Size(scale(bytes, MOST_BYTES)),
        Some(Value::Count(packets)) => Value::Count(scale(packets, MOST_PACKETS)),
        _ => return Ok(spec.clone()),
    };
    spec.with("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::LinkChange;

    fn at(rate: &str) -> Scenario {
        let mut scenario = Scenario::builtin("real").unwrap();
        let change = LinkChange { down: Some(rate.parse().unwrap()), ..LinkChange::default() };
        scenario.change_links(&change).unwrap();
        scenario
    }

    fn schemes(rate: &str) -> Vec<String> {
        at(rate).schemes.iter().map(Spec::to_string).collect()
    }

    #[test]
    fn limits_grow_with_the_rate_up_to_a_bound() {
        let own = Scenario::builtin("real").unwrap();
        let own: Vec<String> = own.schemes.iter().map(Spec::to_string).collect();
        assert_eq!(schemes("2.4mbit"), own);
        assert_eq!(schemes("400kbit"), own);
        let fast = schemes("24mbit");
        assert_eq!(fast[..3], ["pfifo limit=500", "bfifo limit=750000b", "red limit=750000b"]);
        assert_eq!(fast[5..7], ["codel", "codel target=20ms"]);
        assert_eq!(fast[12], "syn_fin_prio maxlen=0 share=100 limit=500");
        assert_eq!(schemes("240mbit")[..2], ["pfifo limit=1000", "bfifo limit=1500000b"]);
    }

    #[test]
    fn the_schemes_of_real_fit_links_of_all_rates() {
        for power in 0..=43 {
            let mut scenario = Scenario::builtin("real").unwrap();
            scenario.schemes.clear();
            scenario.set_rate(Direction::Down, Rate::from_bits_per_second(1 << power).unwrap());
            assert!(scenario.schemes_to_compare().len() > 10);
        }
    }

    #[test]
    fn the_queue_of_every_link_grows_with_its_rate() {
        let scenario = at("4.8mbit");
        assert_eq!(scenario.links[0].qdisc.to_string(), "pfifo limit=100");
        assert_eq!(scenario.links[1].qdisc.to_string(), "pfifo limit=100");
        let mut scenario = Scenario::builtin("real").unwrap();
        let assumptions = scenario.assumptions.clone();
        let change = LinkChange { up: Some("4mbit".parse().unwrap()), ..LinkChange::default() };
        scenario.change_links(&change).unwrap();
        assert_eq!(scenario.links[0].qdisc.to_string(), "pfifo limit=50");
        assert_eq!(scenario.links[1].qdisc.to_string(), "pfifo limit=500");
        assert_eq!(scenario.assumptions, assumptions);
    }

    #[test]
    fn schemes_that_a_file_does_not_name_suit_its_link() {
        let file = |schemes: &str| {
            let text = format!(
                "duration = \"1s\"\n{schemes}\n[link.down]\nrate = \"24mbit\"\n[link.up]\nrate = \"1mbit\"\n[[workload]]\nkind = \"long\""
            );
            let read = |_: &str| unreachable!("no file is named");
            let scenario = Scenario::from_toml("x.toml", &text, &read).unwrap();
            scenario.schemes_to_compare()[0].to_string()
        };
        assert_eq!(file(""), "pfifo limit=500");
        assert_eq!(file("schemes = [\"pfifo limit=7\"]"), "pfifo limit=7");
    }
}
