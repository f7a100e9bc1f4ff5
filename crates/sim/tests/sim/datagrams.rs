//! Applications over datagrams in the simulator: against closed form, and invariants under load.

use gentle_experiment::results::{ApplicationResult, Comparison};
use gentle_experiment::{DEFAULT_BINS, Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

const LINKS: &str = "duration = \"20s\"\nwarmup = \"2s\"\n\
    [link.down]\nrate = \"1mbit\"\ndelay = \"10ms\"\n\
    [link.up]\nrate = \"500kbit\"\ndelay = \"15ms\"\n";

fn run(workloads: &str, schemes: &[&str]) -> Comparison {
    let text = format!("{LINKS}{workloads}");
    let scenario = Scenario::from_toml("x.toml", &text, &|_| Err(std::io::ErrorKind::NotFound.into()));
    let schemes: Vec<_> = schemes.iter().map(|spec| spec.parse().unwrap()).collect();
    let settings = Settings { seeds: vec![1, 2], bins: DEFAULT_BINS.to_vec() };
    let stop = AtomicBool::new(false);
    compare(&scenario.unwrap(), &schemes, &settings, &(), &stop)
}

fn applications(comparison: &Comparison) -> &[ApplicationResult] {
    &comparison.results[0].applications
}

/// Time to send IP packets of `bytes` with their Ethernet header, ms.
fn sending(bytes: f64, mbit: f64) -> f64 {
    8.0 * (bytes + 14.0) / mbit / 1e3
}

#[test]
fn on_an_empty_link_delays_are_propagation_and_transmission() {
    let close = |seconds: Option<f64>, ms: f64| {
        let seconds = seconds.unwrap();
        assert!((seconds * 1e3 - ms).abs() < 1e-5, "{seconds} {ms}");
    };
    for (extra, rtt) in [(0.0, ""), (20.0, "rtt = \"65ms\"\n")] {
        let there = 15.0 + extra + sending(84.0, 0.5);
        let back = 10.0 + extra + sending(84.0, 1.0);
        let comparison = run(&format!("[[workload]]\nkind = \"ping\"\n{rtt}"), &["pfifo"]);
        let ping = &applications(&comparison)[0];
        assert_eq!((ping.application.as_str(), ping.transactions), ("ping", 180));
        assert_eq!((ping.failed, ping.unfinished), (0, 0));
        // The answer to the last request of the warm-up may be sent after it.
        assert!((360..=362).contains(&ping.datagrams), "{}", ping.datagrams);
        close(ping.transaction_s.mean, there + back);
        let delay = ping.delay_s.mean.unwrap() * 1e3;
        let one_more = (there - back) / 360.0;
        assert!((delay - 0.5 * (there + back)).abs() < one_more + 1e-5, "{delay}");
    }
    let comparison = run("[[workload]]\nkind = \"dns\"\ngap = \"1s\"\ndirection = \"up\"\n", &["pfifo"]);
    let dns = &applications(&comparison)[0];
    // Queries go down, answers up.
    let lookup = 25.0 + sending(77.0, 1.0) + sending(141.0, 0.5);
    // Percentiles have three digits.
    let median = dns.transaction_s.p50.unwrap() * 1e3;
    assert!((median / lookup - 1.0).abs() < 1e-3, "{median} {lookup}");
    assert!((20..60).contains(&dns.transactions), "{}", dns.transactions);
    assert_eq!(dns.datagrams, 2 * dns.transactions);
    let comparison = run("[[workload]]\nkind = \"voice\"\nstop = \"11s\"\n", &["pfifo"]);
    let voice = &applications(&comparison)[0];
    assert_eq!(voice.datagrams, 2 * 2 * 450);
    let mean = 12.5 + 0.5 * (sending(200.0, 1.0) + sending(200.0, 0.5));
    close(voice.delay_s.mean, mean);
    close(voice.jitter_s.mean, 0.0);
    assert_eq!(voice.useless.mean, Some(0.0));
    assert_eq!(voice.stalls_per_minute.mean, Some(0.0));
    let comparison = run("[[workload]]\nkind = \"game\"\nplayers = 3\n", &["pfifo"]);
    let game = &applications(&comparison)[0];
    let expected = 2.0 * 3.0 * 18.0 * (1.0 / 0.040 + 1.0 / 0.055);
    assert!((game.datagrams as f64 - expected).abs() < 12.0, "{}", game.datagrams);
    assert_eq!(game.loss.mean, Some(0.0));
}

#[test]
fn a_video_call_finds_the_rate_of_its_link() {
    // 500 kb/s up: one end adapts, the other has room.
    let comparison = run("[[workload]]\nkind = \"video_call\"\nmax_rate = \"800kbit\"\n", &["fq_codel"]);
    let video = &applications(&comparison)[0];
    assert!((2 * 2 * 540..=2 * 2 * 541).contains(&video.frames), "{}", video.frames);
    let goodput = video.goodput_bps.mean.unwrap();
    assert!((600e3..1_300e3).contains(&goodput), "{goodput}");
    assert!(video.late_frames.mean.unwrap() < 0.1, "{:?}", video.late_frames);
    assert!(video.loss.mean.unwrap() < 0.02, "{:?}", video.loss);
}

#[test]
fn counts_add_up_under_every_scheme_on_an_overloaded_link() {
    let all = "[[workload]]\nkind = \"voice\"\ncalls = 2\n[[workload]]\nkind = \"game\"\n\
        [[workload]]\nkind = \"video_call\"\n[[workload]]\nkind = \"dns\"\ngap = \"300ms\"\n\
        [[workload]]\nkind = \"ping\"\n[[workload]]\nkind = \"udp\"\nrate = \"900kbit\"\n\
        [[workload]]\nkind = \"long\"\n";
    let schemes = ["pfifo limit=40", "fq_codel", "spa", "cake", "red"];
    let comparison = run(all, &schemes);
    let first = &comparison.results[0].applications;
    for result in &comparison.results {
        for (application, first) in result.applications.iter().zip(first) {
            let name = (&result.label, &application.application);
            let loss = application.loss.mean.unwrap();
            assert!((0.0..1.0).contains(&loss), "{name:?}: {loss}");
            assert!(application.useless.mean.unwrap() >= loss, "{name:?}");
            // Datagrams sent regardless of answers do not depend on the queue.
            if ["voice", "game"].contains(&application.application.as_str()) {
                assert_eq!(application.datagrams, first.datagrams, "{name:?}");
            }
            assert_eq!(application.frames, first.frames, "{name:?}");
            let ended = |a: &ApplicationResult| a.transactions + a.failed + a.unfinished;
            assert_eq!(ended(application), ended(first), "{name:?}");
            assert_eq!(application.unfinished, 0, "{name:?}");
            if let Some(stalled) = application.stalled.mean {
                assert!((0.0..=1.0).contains(&stalled), "{name:?}: {stalled}");
            }
        }
    }
}

/// Numbers of flows select hosts and, under some schemes, queues. In another direction, the idle source has random numbers of
/// its own.
#[test]
fn an_idle_source_leaves_the_numbers_of_flows_as_they_are() {
    let busy = "[access]\nrate = \"1200kbit\"\nhosts = 2\n[[workload]]\nkind = \"voice\"\ncalls = 3\n\
        [[workload]]\nkind = \"long\"\n[[workload]]\nkind = \"udp\"\nrate = \"300kbit\"\n";
    let expected = run(busy, &["sfq", "fq_codel"]);
    for idle in ["udp", "syn_flood", "ping", "dns", "game", "video_call"] {
        let rest = match idle {
            "udp" | "syn_flood" => "rate = \"1kbit\"\n",
            "dns" => "gap = \"1s\"\n",
            _ => "",
        };
        let idle = format!(
            "[[workload]]\nkind = \"{idle}\"\n{rest}start = \"40s\"\n\
            direction = \"up\"\n"
        );
        let first = busy.find("[[workload]]").unwrap();
        for place in [first, busy.len()] {
            let mut text = busy.to_owned();
            text.insert_str(place, &idle);
            let with = run(&text, &["sfq", "fq_codel"]);
            for (with, without) in with.results.iter().zip(&expected.results) {
                let voice = |applications: &[ApplicationResult]| {
                    let voice = applications.iter().find(|it| it.application == "voice");
                    serde_json::to_string(voice.unwrap()).unwrap()
                };
                let [with_voice, voice] = [with, without].map(|it| voice(&it.applications));
                assert_eq!(with_voice, voice, "{text}");
                assert_eq!(with.drops, without.drops, "{text}");
            }
        }
    }
}
