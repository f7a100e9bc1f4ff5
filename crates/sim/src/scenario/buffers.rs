//! Buffers that suit the rate of a link.

use super::Scenario;
use crate::direction::Direction;
use gentle_aqm::{Kind, Spec};
use gentle_units::{Rate, format_size};

/// The rate that the limits of Table III of `spa-2018` are meant for: its 50 packets take 250 ms then.
const TABLE_III: u64 = 2_400_000;

/// Limits become at most so many times as large: 50 packets become the 1,000 that Linux gives an Ethernet interface
/// (`DEFAULT_TX_QUEUE_LEN`, include/net/pkt_sched.h and net/ethernet/eth.c).
const MOST: f64 = 20.0;

impl Scenario {
    /// Makes the limits of the queues suit the rates of the links where these are faster than in Table III, so that a
    /// full buffer takes as long: those given for the schemes to compare and for the queue of each link. Defaults stay.
    pub fn fit_buffers(&mut self) {
        let down = self.link(Direction::Down).rate;
        for spec in &mut self.schemes {
            *spec = fit(spec, down);
        }
        for link in &mut self.links {
            link.qdisc = fit(&link.qdisc, link.rate);
        }
        if let Some(factor) = factor(down) {
            self.choices.push(format!(
                "Limits of buffers in the schemes compared by default are those of papers.md Table III times {factor:.1}, so that a full buffer takes as long at this rate; at most {MOST} times."
            ));
        }
    }
}

fn factor(rate: Rate) -> Option<f64> {
    let factor = (rate.bits_per_second() as f64 / TABLE_III as f64).min(MOST);
    (factor > 1.0).then_some(factor)
}

fn fit(spec: &Spec, rate: Rate) -> Spec {
    let Some(factor) = factor(rate) else {
        return spec.clone();
    };
    let scaled = |word: &str| -> Option<String> {
        let limit = word.strip_prefix("limit=")?;
        // A scheme that wraps another takes the limit of the one beneath.
        let options = |spec: &Spec| spec.scheme().options;
        let beneath = spec.child().map_or(&[][..], options);
        let mut all = options(spec).iter().chain(beneath);
        let kind = all.find(|option| option.name == "limit")?.kind;
        let scale = |n: u64| (n as f64 * factor).round() as u64;
        Some(match kind {
            Kind::Size(..) => format_size(scale(gentle_units::parse_size(limit).ok()?)),
            _ => scale(limit.parse().ok()?).to_string(),
        })
    };
    let text = spec.to_string();
    let words: Vec<String> = text
        .split(' ')
        .map(|word| scaled(word).map_or(word.to_owned(), |limit| format!("limit={limit}")))
        .collect();
    // A limit that the scheme does not take stays as it was.
    words.join(" ").parse().unwrap_or_else(|_| spec.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate: &str) -> Vec<String> {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_rate(Direction::Down, rate.parse().unwrap());
        scenario.fit_buffers();
        scenario.schemes.iter().map(Spec::to_string).collect()
    }

    #[test]
    fn limits_grow_with_the_rate_up_to_a_bound() {
        let own = Scenario::builtin("real").unwrap();
        let own: Vec<String> = own.schemes.iter().map(Spec::to_string).collect();
        assert_eq!(at("2.4mbit"), own);
        assert_eq!(at("400kbit"), own);
        let fast = at("24mbit");
        assert_eq!(
            fast[..3],
            [
                "pfifo limit=500",
                "bfifo limit=750000b",
                "red limit=750000b"
            ]
        );
        assert_eq!(fast[5..7], ["codel", "codel target=20ms"]);
        assert_eq!(fast[12], "syn_fin_prio maxlen=0 share=100 limit=500");
        assert_eq!(at("10gbit")[0], "pfifo limit=1000");
    }

    #[test]
    fn every_link_has_its_own() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_rate(Direction::Up, "4.8mbit".parse().unwrap());
        scenario.fit_buffers();
        assert_eq!(scenario.links[0].qdisc.to_string(), "pfifo limit=50");
        assert_eq!(scenario.links[1].qdisc.to_string(), "pfifo limit=100");
        assert_eq!(scenario.choices, Scenario::builtin("real").unwrap().choices);
    }
}
