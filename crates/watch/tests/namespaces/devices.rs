//! Devices that are removed, or go down.

use crate::network::{Network, PORT, SERVER, Watching, config};

const CONNECTS: usize = 5;

#[test]
fn device_that_is_created_again_is_watched_again() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let watch = Watching::start(&network.client, config());
    network.connect(SERVER, CONNECTS);
    network.client.sh("ip link delete eth0");
    watch.expect("a note", |seen| seen.notes.iter().any(|note| note == "eth0 is gone; waiting for its return"));
    network.connect_devices();
    network.resolve();
    watch.expect("a note", |seen| seen.notes.iter().any(|note| note == "eth0 is back"));
    network.connect(SERVER, CONNECTS);
    watch.expect_attempts(2 * CONNECTS);
    let seen = watch.stop();
    assert_eq!(seen.count(|attempt| attempt.server.port() == PORT), 2 * CONNECTS);
    assert_eq!(seen.notes.len(), 2, "{:?}", seen.notes);
}

/// The device is replaced at once, ten times, while packets pass.
#[test]
fn device_that_is_replaced_at_once_is_watched_again() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let watch = Watching::start(&network.client, config());
    for round in 1..=5 {
        network.client.sh("ping -f -q -c 200 192.0.2.2 > /dev/null 2>&1 || true; ip link delete eth0");
        network.connect_devices();
        network.resolve();
        watch.expect("a note", |seen| seen.notes.iter().filter(|note| *note == "eth0 is back").count() >= round);
    }
    network.connect(SERVER, CONNECTS);
    watch.expect("attempts", |seen| seen.count(|attempt| attempt.server.port() == PORT) >= CONNECTS);
    let seen = watch.stop();
    assert_eq!(seen.count(|attempt| attempt.server.port() == PORT), CONNECTS);
}

#[test]
fn device_that_was_down_is_still_watched() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let watch = Watching::start(&network.client, config());
    network.connect(SERVER, CONNECTS);
    network.client.sh("ip link set eth0 down; sleep 1.2; ip link set eth0 up; \
                       ip address replace 2001:db8::1/64 dev eth0 nodad");
    network.resolve();
    network.connect(SERVER, CONNECTS);
    watch.expect("attempts", |seen| seen.count(|attempt| attempt.server.port() == PORT) >= 2 * CONNECTS);
    let seen = watch.stop();
    assert_eq!(seen.count(|attempt| attempt.server.port() == PORT), 2 * CONNECTS);
    assert_eq!(seen.notes, Vec::<String>::new());
}
