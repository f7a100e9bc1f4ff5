//! Senders of today over a wire: DCTCP and its echo, pacing, BBR, HyStart++.

use gentle_tcp::{Ect, Flags, Profile, Segment};
use gentle_testkit::scripted::{Fate, ISNS, Link, Sent, Side, Wire, ms, profile};
use gentle_units::{Instant, Nanos};

const MSS: u64 = 1448;
/// Picoseconds per byte at 2.4 Mb/s and at 10 Mb/s.
const SLOW: u64 = 3_333_333;
const FAST: u64 = 800_000;

/// A sender that never stops, over a link with a queue without bound and 40 ms of delay each way.
fn endless(profile: Profile, picos_per_byte: u64, seconds: u64) -> Wire {
    let links = [Link::new(ms(40), picos_per_byte), Link::new(ms(40), picos_per_byte)];
    let mut wire = Wire::over(profile.clone(), profile, links, Instant::ZERO, ISNS, |_, _| Fate::Pass);
    wire.write_forever();
    wire.run(Instant::from_secs(seconds));
    wire
}

/// Payload that the receiver got between two times, bytes per second.
fn rate(wire: &Wire, from: u64, to: u64) -> f64 {
    let acked = |at: u64| {
        let before = |sent: &&Sent| sent.at <= Instant::from_secs(at);
        let last = wire.sent(Side::Responder).rfind(before);
        last.map_or(0, |sent| sent.segment.ack.0 - ISNS.0.0)
    };
    f64::from(acked(to) - acked(from)) / (to - from) as f64
}

fn data(sent: &&Sent) -> bool {
    sent.segment.len > 0
}

/// Marks the data segments with these numbers, counted from 1.
fn marking(numbers: &'static [u64]) -> impl FnMut(&Sent, usize) -> Fate {
    move |sent, _| {
        let Segment { seq, len, .. } = sent.segment;
        let number = u64::from(seq.0.wrapping_sub(ISNS.0.0 + 1)) / MSS + 1;
        match sent.from == Side::Initiator && len > 0 && numbers.contains(&number) {
            true => Fate::Mark,
            false => Fate::Pass,
        }
    }
}

/// RFC 8257, section 3.2: the bytes that acknowledgements with the echo cover are the bytes that were marked, whatever
/// the delay of acknowledgements.
#[test]
fn dctcp_echoes_exactly_what_was_marked() {
    for marked in [&[25, 26, 27][..], &[30], &[24, 28, 29, 33], &[21, 22, 40, 41, 42]] {
        let p = profile("linux-7.2", &[("congestion_control", "dctcp")]);
        let mut wire = Wire::new(p.clone(), p, ms(30), marking(marked.to_vec().leak()));
        wire.write_and_close(60 * MSS);
        wire.run(Instant::from_secs(10));
        let mut una = ISNS.0.0 + 1;
        let mut echoed = 0;
        for sent in wire.sent(Side::Responder).skip(1) {
            let newly = sent.segment.ack.0 - una;
            una = sent.segment.ack.0;
            if sent.segment.flags.contains(Flags::ECE) {
                echoed += u64::from(newly);
            }
        }
        assert_eq!(echoed, MSS * marked.len() as u64, "{marked:?}");
    }
}

#[test]
fn dctcp_sends_every_packet_ecn_capable() {
    let fields = |knobs: &[(&str, &str)]| {
        let mut all = vec![("congestion_control", "dctcp")];
        all.extend(knobs);
        let p = profile("linux-7.2", &all);
        let mut wire = Wire::new(p.clone(), p, ms(30), |_, _| Fate::Pass);
        wire.write_and_close(30 * MSS);
        wire.run(Instant::from_secs(10));
        let mut fields: Vec<Ect> = wire.log().iter().map(|sent| sent.segment.ect).collect();
        fields.dedup();
        fields
    };
    assert_eq!(fields(&[]), [Ect::Zero], "as Linux does");
    assert_eq!(fields(&[("ect1", "on")]), [Ect::One], "as L4S requires");
}

/// A host that does not need ECN declines it on a SYN that is ECN-capable (RFC 3168, section 6.1.1).
#[test]
fn dctcp_is_reno_towards_a_host_without_ecn() {
    let p = profile("linux-7.2", &[("congestion_control", "dctcp")]);
    let mut wire = Wire::new(p, profile("linux-7.2", &[]), ms(30), |_, _| Fate::Pass);
    wire.write_and_close(30 * MSS);
    wire.run(Instant::from_secs(10));
    assert_eq!(wire.initiator().bytes_acked(), 30 * MSS);
    let mut after = wire.log().iter().filter(data);
    assert!(after.all(|sent| sent.segment.ect == Ect::Not));
}

/// Two marks in a hundred segments cost a hundredth of the window, not half (RFC 8257, section 3.3).
#[test]
fn dctcp_reduces_in_proportion() {
    let mean = |algorithm: &str| {
        let p = profile("linux-7.2", &[("congestion_control", algorithm), ("ecn", "on")]);
        let some = |sent: &Sent, number: usize| match sent.from {
            Side::Initiator if number.is_multiple_of(50) => Fate::Mark,
            _ => Fate::Pass,
        };
        let mut wire = Wire::new(p.clone(), p, ms(30), some);
        wire.write_forever();
        wire.run(Instant::from_secs(60));
        rate(&wire, 20, 60)
    };
    let (dctcp, reno) = (mean("dctcp"), mean("reno"));
    assert!(dctcp > 2.0 * reno, "{dctcp}, {reno}");
}

/// Sends 100 segments and returns the times of the first window after the unpaced start, with the number of segments.
fn bursts(knobs: &[(&str, &str)]) -> Vec<(Instant, usize)> {
    let mut wire = Wire::new(profile("linux-7.2", knobs), profile("linux-7.2", &[]), ms(50), |_, _| Fate::Pass);
    wire.write_and_close(100 * MSS);
    wire.run(Instant::from_secs(10));
    let mut bursts: Vec<(Instant, usize)> = Vec::new();
    for sent in wire.sent(Side::Initiator).filter(data) {
        match bursts.last_mut() {
            Some(last) if last.0 == sent.at => last.1 += 1,
            _ => bursts.push((sent.at, 1)),
        }
    }
    bursts
}

/// In slow start a window of 10 segments leaves in half a round trip of 100 ms: two segments every 10 ms.
#[test]
fn pacing_spreads_a_window() {
    let unpaced = bursts(&[]);
    assert_eq!(unpaced[0].1, 10);
    assert!(unpaced[1].1 >= 16, "{unpaced:?}");
    let paced = bursts(&[("pacing", "on")]);
    assert_eq!(paced[0].1, 10, "the first ten are not paced: {paced:?}");
    let second = &paced[1..8];
    assert!(second.iter().all(|burst| burst.1 == 2), "{paced:?}");
    let gaps: Vec<Nanos> = second.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    // The window, and with it the rate, grows while it is sent.
    assert!(gaps.iter().all(|gap| (ms(4)..=ms(10)).contains(gap)), "{gaps:?}");
    let single = bursts(&[("pacing", "on"), ("tso", "off")]);
    assert!(single[2..12].iter().all(|burst| burst.1 == 1), "{single:?}");
}

/// BBR fills the link and keeps at most two bandwidth-delay products in flight, where CUBIC fills any queue.
#[test]
fn bbr_fills_the_link_without_filling_the_queue() {
    for (picos, rate_of_link) in [(SLOW, 300_000.0), (FAST, 1_250_000.0)] {
        let p = profile("linux-7.2", &[("congestion_control", "bbr")]);
        let wire = endless(p, picos, 30);
        let goodput = rate(&wire, 5, 30) * 1514.0 / 1448.0;
        assert!(goodput > 0.93 * rate_of_link, "{goodput} of {rate_of_link}");
        let srtt = wire.initiator().srtt().unwrap();
        assert!(srtt < ms(200), "{srtt}");
        let p = profile("linux-7.2", &[("hystart", "off")]);
        let cubic = endless(p, picos, 30).initiator().srtt().unwrap();
        assert!(cubic > ms(500), "{cubic}");
    }
}

/// Every ten seconds BBR measures the round trip of the empty path with four segments in flight, for 200 ms at least.
#[test]
fn bbr_probes_for_the_shortest_round_trip() {
    let p = profile("linux-7.2", &[("congestion_control", "bbr")]);
    let wire = endless(p, FAST, 35);
    let mut sent: u32 = 0;
    let mut lull = Vec::new();
    let mut acked: u32 = 0;
    for event in wire.log().iter().filter(|event| event.at > Instant::from_secs(2)) {
        match event.from {
            Side::Initiator => sent = event.segment.seq.0 + event.segment.len,
            // Half a round trip later it is there; the order of magnitude is all that matters here.
            Side::Responder => acked = event.segment.ack.0,
        }
        if sent.saturating_sub(acked) <= 4 * MSS as u32 {
            lull.push(event.at.as_secs_f64());
        }
    }
    lull.dedup_by(|later, earlier| *later - *earlier < 2.0);
    assert!((2..=4).contains(&lull.len()), "{lull:?}");
    assert!((9.0..12.0).contains(&lull[0]), "{lull:?}");
}

/// Loss does not slow BBR down as it does CUBIC.
#[test]
fn bbr_does_not_take_loss_for_congestion() {
    let goodput = |algorithm: &str| {
        let p = profile("linux-7.2", &[("congestion_control", algorithm)]);
        let lossy = |sent: &Sent, number: usize| match sent.from {
            Side::Initiator if number % 50 == 49 => Fate::Drop,
            _ => Fate::Pass,
        };
        let links = [Link::new(ms(40), FAST), Link::new(ms(40), FAST)];
        let mut wire = Wire::over(p.clone(), p, links, Instant::ZERO, ISNS, lossy);
        wire.write_forever();
        wire.run(Instant::from_secs(30));
        rate(&wire, 10, 30)
    };
    let (bbr, cubic) = (goodput("bbr"), goodput("cubic"));
    assert!(bbr > 0.9 * 1_250_000.0 * 0.98 * 0.95, "{bbr}");
    assert!(bbr > 3.0 * cubic, "{bbr}, {cubic}");
}

/// HyStart++ ends slow start before the queue is as long as without it (RFC 9406).
#[test]
fn hystart_plus_leaves_slow_start_early() {
    let peak = |knobs: &[(&str, &str)]| {
        let mut all = vec![("congestion_control", "reno")];
        all.extend(knobs);
        let wire = endless(profile("linux-7.2", &all), FAST, 3);
        (wire.initiator().cwnd(), wire.initiator().ssthresh())
    };
    let (cwnd, ssthresh) = peak(&[]);
    assert!(cwnd > 1000 && ssthresh == u32::MAX, "{cwnd}");
    let (cwnd, ssthresh) = peak(&[("hystart_plus", "on")]);
    assert!(cwnd < 600 && ssthresh < 600, "{cwnd}, {ssthresh}");
}

/// A window that is no multiple of the segment's size is filled by a short segment, one in each round trip. With a buffer
/// for 100 KiB, Linux 7.2 offers 101,248 bytes and sends one segment of 1,336 bytes in each.
#[test]
fn a_short_segment_fills_the_window() {
    let p = profile("linux-7.2", &[("receive_window", "100kb")]);
    let wire = endless(p, FAST / 2, 10);
    let last = |sent: &&Sent| sent.at >= Instant::from_secs(9);
    let lengths: Vec<_> =
        wire.sent(Side::Initiator).filter(data).filter(last).map(|sent| u64::from(sent.segment.len)).collect();
    let short: Vec<_> = (0..lengths.len()).filter(|i| lengths[*i] < MSS).collect();
    assert!(short.len() > 10, "{lengths:?}");
    assert!(short.iter().all(|i| lengths[*i] == 1_336), "{lengths:?}");
    // One in each window of 101,248 bytes.
    assert!(short.windows(2).all(|pair| pair[1] - pair[0] == 70));
}
