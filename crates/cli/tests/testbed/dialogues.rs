//! Users of pages, typists and on/off users on a Linux kernel, compared with the simulator.

use crate::kernel::kernel;
use crate::run::{self, number};
use serde_json::Value;

/// Runs `text` under `schemes` on the kernel and in the simulator.
fn both(text: &str, schemes: &[&str], seeds: u32) -> [Value; 2] {
    let mut arguments = vec![format!("--seeds={seeds}")];
    arguments.extend(schemes.iter().map(|scheme| format!("--scheme={scheme}")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run::both(text, &arguments)
}

fn links(down: &str, up: &str) -> String {
    format!(
        "[hosts]\nprofile = \"linux-7.2\"\n[link.down]\nrate = \"{down}\"\ndelay = \"20ms\"\n\
         [link.up]\nrate = \"{up}\"\ndelay = \"20ms\"\n"
    )
}

#[test]
#[ignore = "make test-all"]
fn full_size_lone_dialogues_take_as_long_as_in_the_simulator() {
    if kernel().is_none() {
        return;
    }
    for workload in [
        "kind = \"pages\"\nusers = 1\nthink = \"1s\"\npages = 3",
        "kind = \"pages\"\nusers = 1\nthink = \"100ms\"\npages = 6\nservice = \"30ms\"\ndocument = 4000\nobjects = 5",
        "kind = \"ssh\"\nsessions = 1",
        "kind = \"on_off\"\nusers = 1\noff = \"300ms\"\nsize = { zipf = 1.2, max = 200 }",
    ] {
        let text = format!("duration = \"60s\"\n{}[[workload]]\n{workload}\n", links("20mbit", "5mbit"));
        let [measured, simulated] = both(&text, &["pfifo limit=1000"], 1);
        for metric in ["transactions", "failed", "unfinished", "transaction_s/mean", "transaction_s/p99"] {
            let path = format!("/results/0/applications/0/{metric}");
            let [kernel, simulator] = [&measured, &simulated].map(|of| number(of, &path));
            // A page of 14 MB fills the queue and differs by a packet or two; pauses are compared with the timeout in
            // whole milliseconds by the kernel.
            let tolerance = match metric.contains("_s") {
                true => 0.001 + 0.001 * kernel,
                false => 0.0,
            };
            assert!((kernel - simulator).abs() <= tolerance, "{workload} {metric}: {simulator} instead of {kernel}");
        }
    }
}

/// Users of every kind together with a long-lived connection that fills the link.
fn loaded() -> String {
    format!(
        "duration = \"120s\"\nwarmup = \"10s\"\n{}\
         [[workload]]\nkind = \"pages\"\nusers = 8\nthink = \"4s\"\npages = 4\ndocument = 6000\n\
         objects = {{ median = 8, p90 = 20 }}\nobject = {{ median = 4000, p90 = 12000 }}\n\
         [[workload]]\nkind = \"ssh\"\nsessions = 4\n\
         [[workload]]\nkind = \"on_off\"\nusers = 4\noff = \"3s\"\nsize = {{ zipf = 1.5, max = 300 }}\n\
         [[workload]]\nkind = \"long\"\n",
        links("10mbit", "2mbit")
    )
}

#[test]
#[ignore = "make test-all"]
fn full_size_users_of_a_full_link_wait_as_long_as_in_the_simulator() {
    if kernel().is_none() {
        return;
    }
    let [measured, simulated] = both(&loaded(), &["fq_codel", "pfifo limit=60"], 3);
    let mut differences = Vec::new();
    // With a full FIFO, which of two packets that arrive together is dropped decides over a timeout: these limits are
    // three standard deviations of the difference of two means of three seeds, over nine seeds of the simulator. The
    // median time to connect has thirty: their mean is 79.5 ms, as over nine seeds of the kernel.
    for (scheme, pages, connect, ssh, on_off) in [(0, 0.03, 0.01, 0.03, 0.03), (1, 0.11, 0.10, 0.05, 0.28)] {
        for (application, metric, tolerance) in [
            (0, "transactions", 0.03),
            (0, "transaction_s/mean", pages),
            (0, "connect_s/p50", connect),
            (1, "transactions", 0.001),
            (1, "transaction_s/mean", ssh),
            (2, "transactions", 0.03),
            (2, "transaction_s/mean", on_off),
        ] {
            let path = format!("/results/{scheme}/applications/{application}/{metric}");
            let [kernel, simulator] = [&measured, &simulated].map(|of| number(of, &path));
            let off = simulator / kernel - 1.0;
            let line = format!("{path}: {simulator} instead of {kernel}, {:.1} %", 100.0 * off);
            if off.abs() > tolerance {
                differences.push(line);
            }
        }
        for count in ["failed", "unfinished"] {
            let path = format!("/results/{scheme}/applications/0/{count}");
            assert_eq!(number(&measured, &path), 0.0, "{path}");
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
#[ignore = "make test-all"]
fn full_size_codepoints_choose_tins_and_bands_as_in_the_simulator() {
    if kernel().is_none() {
        return;
    }
    // Typists with the codepoint of the first band, downloads with the codepoint of the bulk tin, and as many without,
    // on a full link.
    let ssh = "kind = \"ssh\"\nsessions = 2";
    let on_off = "kind = \"on_off\"\nusers = 2\noff = \"1s\"\nsize = { segments = 40 }";
    let text = format!(
        "duration = \"90s\"\nwarmup = \"5s\"\n{}\
         [[workload]]\n{ssh}\ngroup = \"first\"\ndscp = 4\n\
         [[workload]]\n{ssh}\ngroup = \"second\"\n\
         [[workload]]\n{on_off}\ngroup = \"bulk\"\ndscp = \"cs1\"\n\
         [[workload]]\n{on_off}\ngroup = \"normal\"\n\
         [[workload]]\nkind = \"long\"\nflows = 2\n\
         [[workload]]\nkind = \"udp\"\nrate = \"100kbit\"\ndscp = 4\n",
        links("4mbit", "4mbit")
    );
    let schemes = ["pfifo_fast", "cake bandwidth=3.9mbit diffserv4", "pfifo limit=100"];
    let [measured, simulated] = both(&text, &schemes, 2);
    // Mean times of an application, on the kernel and in the simulator.
    let times = |scheme: usize, application: usize| {
        let path = format!("/results/{scheme}/applications/{application}/transaction_s/mean");
        [&measured, &simulated].map(|of| number(of, &path))
    };
    for (scheme, application, tolerance) in [
        (0, 0, 0.02),
        (0, 1, 0.05),
        (1, 0, 0.02),
        (1, 1, 0.02),
        // 10 % is the standard deviation of the difference in a seed, of twelve.
        (1, 2, 0.25),
        (1, 3, 0.06),
        (2, 0, 0.1),
        (2, 1, 0.1),
    ] {
        let [kernel, simulator] = times(scheme, application);
        assert!(
            (simulator / kernel - 1.0).abs() < tolerance,
            "{} application {application}: {simulator} instead of {kernel}",
            schemes[scheme]
        );
    }
    for of in 0..2 {
        let ratio = |scheme, one, other| times(scheme, one)[of] / times(scheme, other)[of];
        let ratios = [ratio(0, 0, 1), ratio(1, 2, 3), ratio(2, 0, 1)];
        assert!(ratios[0] < 0.1 && ratios[1] > 1.5, "{ratios:?}");
        assert!((0.8..1.25).contains(&ratios[2]), "{ratios:?}");
    }
}
