//! Position of the capture point, and the meaning of duplicates there (handshake-2009, section 3).

use gentle_trace::results::{HandshakeRtt, Vantage};

/// Fills the fields that are text.
pub(super) fn put_into_words(vantage: &mut Vantage, rtt: &HandshakeRtt) {
    vantage.evidence.clear();
    let sides =
        [(vantage.syns, vantage.syns_unrouted, "SYNs"), (vantage.synacks, vantage.synacks_unrouted, "SYN/ACKs")];
    for (seen, unrouted, segments) in sides.into_iter().filter(|(seen, ..)| *seen > 0) {
        vantage.evidence.push(format!(
            "{:.0} % of {seen} {segments} have an initial TTL: they passed no router before the capture",
            unrouted as f64 / seen as f64 * 100.0,
        ));
    }
    if let (Some(server), Some(client)) = (rtt.server_side.p50, rtt.client_side.p50) {
        vantage.evidence.push(format!(
            "of the round trip, {:.3} ms lie on the server's side and {:.3} ms on the client's (medians)",
            server * 1e3,
            client * 1e3
        ));
    }
    let (syn, synack) = meanings(vantage.side);
    vantage.duplicate_syn_means = syn.to_owned();
    vantage.duplicate_synack_means = synack.to_owned();
}

/// Meanings of a duplicate SYN and of a duplicate SYN/ACK.
fn meanings(side: &str) -> (&'static str, &'static str) {
    match side {
        "client" => (
            "retransmitted by the client: the SYN or its SYN/ACK was lost on the way to the server or back",
            "received again: the ACK was lost on its way to the server, or late",
        ),
        "server" => (
            "received again: the SYN/ACK was lost on its way to the client, or late (a SYN lost before this point is invisible)",
            "retransmitted by the server: the SYN/ACK or the ACK was lost",
        ),
        "middle" => (
            "before any SYN/ACK: lost between this point and the server, in either direction; after one: the SYN/ACK was lost between here and the client",
            "before the ACK: the SYN/ACK or the ACK was lost between here and the client; after it: the ACK was lost between here and the server",
        ),
        _ => (
            "the SYN or its SYN/ACK was lost; where depends on the vantage point, which could not be guessed (--vantage)",
            "the SYN/ACK or the ACK was lost; where depends on the vantage point, which could not be guessed (--vantage)",
        ),
    }
}
