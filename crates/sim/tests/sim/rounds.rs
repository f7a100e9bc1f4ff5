//! Runs in which hosts and links take turns in rounds have the records of runs that go event by event.

use gentle_experiment::{RunSpec, Scenario};
use gentle_sim::{NoTap, Simulation};
use gentle_units::Nanos;

/// Compares a whole run with one by steps, under `schemes`.
fn compare(scenario: &Scenario, schemes: &[&str], seed: u64) {
    for text in schemes {
        let scheme = text.parse().unwrap();
        let run = RunSpec { scenario, scheme: &scheme, seed, bins: &[], keep_connections: true };
        let Ok(whole) = Simulation::new(&run, NoTap).run(|_| true) else { unreachable!("nobody stops it") };
        let mut stepped = Simulation::new(&run, NoTap);
        while stepped.step() {}
        let [whole, stepped] = [whole, stepped.finish()].map(|record| serde_json::to_string(&record).unwrap());
        assert_eq!(whole, stepped, "{} under {text}", scenario.title);
    }
}

#[test]
fn with_applications() {
    for name in ["home-evening", "office", "calls"] {
        let mut scenario = Scenario::builtin(name).unwrap();
        scenario.set_duration(Nanos::from_secs(20));
        for seed in [1, 2] {
            compare(&scenario, &["pfifo", "fq_codel", "spa"], seed);
        }
    }
}

/// All times are whole microseconds and both directions are alike, so that much happens at the same time.
#[test]
fn with_many_events_at_the_same_time() {
    for drain in ["0s", "5s"] {
        for delay in ["1ms", "20ms"] {
            let text = format!(
                r#"
                title = "ties"
                duration = "20s"
                warmup = "2s"
                drain = "{drain}"
                [access]
                rate = "120mbit"
                hosts = 4
                [link.down]
                rate = "12mbit"
                delay = "{delay}"
                overhead = 0
                qdisc = "red limit=52000 min=5200 max=15600 avpkt=1040"
                [link.up]
                rate = "12mbit"
                delay = "{delay}"
                overhead = 0
                qdisc = "pfifo limit=20"
                [[workload]]
                kind = "long"
                flows = 4
                rtt = ["40ms", "43ms"]
                [[workload]]
                kind = "long"
                flows = 4
                direction = "up"
                rtt = ["40ms", "43ms"]
                [[workload]]
                kind = "poisson"
                gap = "50ms"
                size = {{ zipf = 1.7, max = 100 }}
                direction = "down"
                initiator = "sender"
                rtt = "40ms"
                "#
            );
            let none = |_: &str| Err(std::io::Error::other("there is no file"));
            let scenario = Scenario::from_toml("ties.toml", &text, &none).unwrap();
            compare(&scenario, &["pfifo limit=20", "red", "codel", "fq_codel"], 3);
        }
    }
}
