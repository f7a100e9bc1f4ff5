//! Kernel engine by itself.

use super::inside;
use super::network::{Loses, Network, SERVER_IP6};
use gentle_rexmit::kernel_engine::{
    Network as Prefix, Settings, Treatment, attach, default_cgroup, install, remove, status,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PINS: &str = "/sys/fs/bpf/gentle-rexmit";

const ONE_SYN: Loses = Loses { syns: 1, syn_acks: 0 };
const ONE_SYN_ACK: Loses = Loses { syns: 0, syn_acks: 1 };

fn settings(delay_ms: u64) -> Settings {
    Settings { syn_ack: false, extend_retries: true, ..Settings::everything(Duration::from_millis(delay_ms)) }
}

/// Checks that a time is the engine's delay plus a round trip, within the precision of the kernel's timers.
fn assert_took(took: Duration, delay_ms: u64, rtt: Duration) {
    let least = Duration::from_millis(delay_ms) + rtt;
    // Timers of up to 64 ticks are exact to one tick, longer ones to an eighth of their length (kernel/time/timer.c).
    let most = Duration::from_millis(delay_ms + delay_ms / 8 + 3) + rtt;
    assert!((least..=most).contains(&took), "{took:?} for {delay_ms} ms");
}

#[test]
fn what_is_installed_works_is_shown_replaced_and_removed() {
    if !inside("rexmit::kernel_engine::what_is_installed_works_is_shown_replaced_and_removed") {
        return;
    }
    let rtt = Duration::from_millis(60);
    let network = Network::with_rtt(rtt);
    let cgroup = default_cgroup();
    assert_eq!(cgroup, Path::new("/sys/fs/cgroup"));
    assert!(status().unwrap().is_empty());
    assert_eq!(remove(None).unwrap(), 0);
    assert_took(network.connect(ONE_SYN), 1000, rtt);

    install(&settings(200), &cgroup).unwrap();
    assert_took(network.connect(ONE_SYN), 200, rtt);
    assert_took(network.connect_to(SERVER_IP6, ONE_SYN), 200, rtt);
    let [installed] = &status().unwrap()[..] else {
        panic!("one group");
    };
    assert!(installed.in_force);
    assert_eq!(installed.cgroup, cgroup);
    assert_eq!(installed.settings, settings(200));
    assert_eq!((installed.syns, installed.syn_acks), (2, 0));

    install(&settings(50), &cgroup).unwrap();
    assert_took(network.connect(ONE_SYN), 50, rtt);
    let [installed] = &status().unwrap()[..] else {
        panic!("one group");
    };
    assert_eq!(installed.settings, settings(50));
    assert_eq!(installed.syns, 1);

    assert_eq!(remove(Some(&cgroup)).unwrap(), 1);
    assert_took(network.connect(ONE_SYN), 1000, rtt);
    assert!(status().unwrap().is_empty());
    assert!(!Path::new(PINS).exists());
}

#[test]
fn sides_ports_and_networks_are_told_apart() {
    if !inside("rexmit::kernel_engine::sides_ports_and_networks_are_told_apart") {
        return;
    }
    let rtt = Duration::from_millis(60);
    let network = Network::with_rtt(rtt);
    let cgroup = default_cgroup();
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(200);
        change(&mut settings);
        install(&settings, &cgroup).unwrap();
    };
    with(&|settings| settings.ports = vec![22..=22, 79..=81]);
    assert_took(network.connect(ONE_SYN), 200, rtt);
    with(&|settings| settings.ports = vec![22..=79, 81..=u16::MAX]);
    assert_took(network.connect(ONE_SYN), 1000, rtt);

    // The server's SYN/ACK is retransmitted before the client's SYN.
    with(&|settings| (settings.syn, settings.syn_ack) = (false, true));
    assert_took(network.connect(ONE_SYN), 1000, rtt);
    assert_took(network.connect(ONE_SYN_ACK), 200, rtt);
    assert_took(network.connect_to(SERVER_IP6, ONE_SYN_ACK), 200, rtt);
    let [installed] = &status().unwrap()[..] else {
        panic!("one group");
    };
    assert_eq!((installed.syns, installed.syn_acks), (0, 3));
    with(&|settings| {
        (settings.syn, settings.syn_ack) = (false, true);
        settings.ports = vec![81..=81];
    });
    assert_took(network.connect(ONE_SYN_ACK), 1000, rtt);

    let prefix = |prefix: &str, treatment| Prefix { prefix: prefix.parse().unwrap(), treatment };
    let ms = |ms| Treatment::Delay(Duration::from_millis(ms));
    with(&|settings| {
        settings.others = Treatment::Exclude;
        settings.networks = vec![
            prefix("10.0.0.0/8", ms(400)),
            prefix("10.0.2.0/24", ms(100)),
            prefix("fd00::/16", Treatment::Default),
        ];
    });
    assert_took(network.connect(ONE_SYN), 100, rtt);
    assert_took(network.connect_to(SERVER_IP6, ONE_SYN), 200, rtt);
    with(&|settings| {
        settings.networks = vec![prefix("10.0.2.0/24", Treatment::Exclude), prefix("fd00:3::/32", ms(100))];
    });
    assert_took(network.connect(ONE_SYN), 1000, rtt);
    assert_took(network.connect_to(SERVER_IP6, ONE_SYN), 200, rtt);
}

#[test]
fn a_connection_is_given_up_no_sooner() {
    if !inside("rexmit::kernel_engine::a_connection_is_given_up_no_sooner") {
        return;
    }
    let network = Network::with_rtt(Duration::from_millis(60));
    let own = network.give_up();
    install(&settings(200), &default_cgroup()).unwrap();
    let patient = network.give_up();
    println!("| {own:?} | {patient:?} |");
    assert!(patient >= own, "{patient:?} instead of {own:?}");
    assert!(patient < 2 * own, "{patient:?} instead of {own:?}");
}

#[test]
fn control_groups_are_told_apart() {
    if !inside("rexmit::kernel_engine::control_groups_are_told_apart") {
        return;
    }
    let rtt = Duration::from_millis(60);
    let network = Network::with_rtt(rtt);
    let root = default_cgroup();
    let [ours, another]: [PathBuf; 2] = ["ours", "another"].map(|name| root.join(name));
    for group in [&ours, &another] {
        fs::create_dir(group).unwrap();
    }
    let enter = |group: &Path| {
        fs::write(group.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    };
    enter(&ours);
    install(&settings(200), &another).unwrap();
    assert_took(network.connect(ONE_SYN), 1000, rtt);
    {
        let _attached = attach(&settings(300), &ours).unwrap();
        assert_took(network.connect(ONE_SYN), 300, rtt);
        // The outer group takes precedence.
        install(&settings(100), &root).unwrap();
        assert_took(network.connect(ONE_SYN), 100, rtt);
        assert_eq!(remove(Some(&root)).unwrap(), 1);
        assert_took(network.connect(ONE_SYN), 300, rtt);
    }
    assert_took(network.connect(ONE_SYN), 1000, rtt);
    // Removing a group detaches its program; the pins report this until they are removed.
    fs::remove_dir(&another).unwrap();
    // The kernel removes the group asynchronously.
    std::thread::sleep(Duration::from_secs(5));
    let [left] = &status().unwrap()[..] else {
        panic!("one group");
    };
    assert!(!left.in_force);
    assert_eq!(remove(Some(&another)).unwrap(), 1);
    assert!(!Path::new(PINS).exists());
}
