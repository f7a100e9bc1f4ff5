//! Workloads in tunnels on a real kernel, compared with the simulator.

use crate::kernel::kernel;
use crate::run::{both, number};

/// Downloads inside and outside a tunnel, and applications in separate tunnels.
const SHARED: &str = r#"
duration = "20s"
warmup = "5s"
drain = "5s"
[hosts]
profile = "linux-7.2"
ecn = true
[link.down]
rate = "10mbit"
delay = "10ms"
[link.up]
rate = "5mbit"
delay = "10ms"
[[workload]]
kind = "long"
group = "within"
tunnel = 254
host = 3
flows = 4
[[workload]]
kind = "long"
group = "beside"
initiator = "receiver"
flows = 4
[[workload]]
kind = "voice"
tunnel = 1
rtt = "40ms"
[[workload]]
kind = "udp"
rate = "200kbit"
tunnel = 2
direction = "up"
dscp = "ef"
"#;

#[test]
fn a_tunnel_is_one_flow_to_flow_queues_and_not_to_others() {
    if kernel().is_none() {
        return;
    }
    let arguments = ["--seeds=1", "--scheme=fq_codel", "--scheme=codel ecn"];
    let [measured, simulated] = both(SHARED, &arguments);
    // Four flows with 1/20 of the rest of the link each and four with 4/20; eight with 1/8.
    for (result, expected) in [(0, 400.0 / 544.0), (1, 1.0)] {
        for of in [&measured, &simulated] {
            let index = number(of, &format!("/results/{result}/jain_index"));
            assert!((index / expected - 1.0).abs() < 0.04, "{result}: {index}");
        }
        let close = |metric: &str, tolerance: f64| {
            let path = format!("/results/{result}/{metric}");
            let [kernel, simulator] = [&measured, &simulated].map(|of| number(of, &path));
            let off = (simulator / kernel - 1.0).abs();
            assert!(off < tolerance, "{path}: {simulator} instead of {kernel}");
        };
        // Marks reach the senders, in the tunnel too: nothing of theirs is dropped.
        for of in [&measured, &simulated] {
            assert!(number(of, &format!("/results/{result}/marks")) > 100.0);
            for group in 0..2 {
                let again = "retransmission/packet_probability";
                let path = format!("/results/{result}/groups/{group}/{again}");
                assert_eq!(number(of, &path), 0.0);
            }
        }
        close("utilization", 0.02);
        close("links/down/offered", 0.05);
        close("links/down/queue_delay_s/mean", 0.15);
        close("groups/1/rtt_s/mean", 0.1);
        // Datagrams have the length that the scenario says, on the links.
        close("applications/0/datagrams", 1e-9);
        close("applications/0/goodput_bps/mean", 0.03);
    }
    let choices = measured.pointer("/scenario/choices").unwrap().to_string();
    assert!(choices.contains("A tunnel adds 28 bytes"), "{choices}");
}

#[test]
fn schemes_do_not_see_the_syns_in_a_tunnel() {
    if kernel().is_none() {
        return;
    }
    let scenario = |tunnel: &str| {
        format!(
            "duration = \"20s\"\nwarmup = \"2s\"\ndrain = \"10s\"\n[hosts]\nprofile = \"linux-7.2\"\n\
             [link.down]\nrate = \"4mbit\"\ndelay = \"20ms\"\n[link.up]\nrate = \"4mbit\"\ndelay = \"20ms\"\n\
             [[workload]]\nkind = \"poisson\"\ngap = \"30ms\"\nsize = {{ zipf = 1.2, max = 100 }}\n{tunnel}"
        )
    };
    let arguments = ["--seeds=1", "--scheme=spa fin=none"];
    for (tunnel, losses) in [("", 0.0..=0.0), ("tunnel = 1\n", 0.1..=0.6)] {
        for of in both(&scenario(tunnel), &arguments) {
            let lost = number(&of, "/results/0/links/down/loss/syn");
            assert!(losses.contains(&lost), "{tunnel}{lost}");
            assert!(number(&of, "/results/0/links/down/loss/data") > 0.05);
        }
    }
}
