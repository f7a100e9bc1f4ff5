//! Snapshots of two small transfers, segment by segment, in the form of tcpdump output.

use gentle_testkit::scripted::{Side, Wire, dropping, ms, profile};
use gentle_units::Instant;

fn trace(name: &str, out: &'static [usize]) -> String {
    let mut wire = Wire::new(profile(name, &[]), profile(name, &[]), ms(50), dropping(Side::Initiator, out));
    wire.write_and_close(8 * 1448);
    wire.run(Instant::from_secs(60));
    wire.trace()
}

/// The third data segment and the last one, with the FIN, are lost. RACK detects both losses: the second when the
/// retransmission of the first, sent later, has been delivered.
#[test]
fn linux() {
    insta::assert_snapshot!(trace("linux-7.2", &[4, 9]));
}

/// The SYN and the third data segment are lost.
#[test]
fn freebsd() {
    insta::assert_snapshot!(trace("freebsd-9.3", &[0, 4]));
}
