//! Builder of connections, segment by segment, with checks of their analysis.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, CLIENT, FIN, RST, SERVER, SYN, Segment, pcap};
use gentle_trace::Options;
use gentle_trace::results::{Analysis, FailureReason, Finding};
use gentle_trace::row::Row;

/// Analyses segments, sorted by time.
pub(crate) fn analyze(segments: &[Segment]) -> (Analysis, Vec<Row>) {
    let mut segments = segments.to_vec();
    segments.sort_by_key(|segment| segment.at_us);
    analyze_bytes(&[&pcap(&segments)], &Options::default())
}

/// Retransmissions by cause: lost, late, rejected, deferred, failed.
pub(crate) fn repeats(analysis: &Analysis) -> [u64; 5] {
    let repeats = analysis.outcomes.repeats;
    [repeats.lost, repeats.late, repeats.rejected, repeats.deferred, repeats.failed]
}

/// Round-trip time from a capture in the middle to the server, seconds; to the client below.
pub(crate) const TO_SERVER: f64 = 0.02;
pub(crate) const TO_CLIENT: f64 = 0.03;

/// Builder of segments between a client and a server whose streams begin at 1,001 and 5,001.
pub(crate) struct Talk {
    client: (String, u16),
    server: (String, u16),
    pub(crate) segments: Vec<Segment>,
}

impl Talk {
    pub(crate) fn new(client: (&str, u16), server: (&str, u16)) -> Talk {
        let own = |(address, port): (&str, u16)| (address.to_owned(), port);
        Talk { client: own(client), server: own(server), segments: Vec::new() }
    }

    pub(crate) fn client(mut self, at_s: f64, change: impl FnOnce(Segment) -> Segment) -> Talk {
        let (client, server) = self.ends();
        let segment = Segment::between(at_s, client, server, ACK).seq(1_001).ack(5_001);
        let changed = change(segment);
        self.segments.push(changed);
        self
    }

    pub(crate) fn server(mut self, at_s: f64, change: impl FnOnce(Segment) -> Segment) -> Talk {
        let (client, server) = self.ends();
        let segment = Segment::between(at_s, server, client, ACK).seq(5_001).ack(1_001);
        let changed = change(segment);
        self.segments.push(changed);
        self
    }

    fn ends(&self) -> ((&str, u16), (&str, u16)) {
        ((&self.client.0, self.client.1), (&self.server.0, self.server.1))
    }

    pub(crate) fn syn(self, at_s: f64) -> Talk {
        self.client(at_s, |segment| Segment { flags: SYN, ack: 0, ..segment.seq(1_000) })
    }

    pub(crate) fn synack(self, at_s: f64) -> Talk {
        self.server(at_s, |segment| Segment { flags: SYN | ACK, ..segment.seq(5_000) })
    }

    pub(crate) fn rst(self, at_s: f64) -> Talk {
        self.server(at_s, |segment| Segment { flags: RST | ACK, ..segment.seq(0) })
    }

    pub(crate) fn ack(self, at_s: f64) -> Talk {
        self.client(at_s, |segment| segment)
    }

    /// Sets the timestamps of the last segment.
    pub(crate) fn stamps(mut self, value: u32, echo: u32) -> Talk {
        let last = self.segments.pop().expect("there is one");
        self.segments.push(last.stamps(value, echo));
        self
    }

    /// Adds a request and its answer, and both FINs.
    pub(crate) fn rest(self, at_s: f64) -> Talk {
        self.client(at_s, |s| s.payload(100))
            .server(at_s + TO_SERVER, |s| s.ack(1_101).payload(700))
            .client(at_s + TO_SERVER + TO_CLIENT, |s| s.seq(1_101).ack(5_701))
            .client(at_s + 0.1, |s| Segment { flags: FIN | ACK, ..s.seq(1_101).ack(5_701) })
            .server(at_s + 0.1 + TO_SERVER, |s| Segment { flags: FIN | ACK, ..s.seq(5_701).ack(1_102) })
            .client(at_s + 0.1 + TO_SERVER + TO_CLIENT, |s| s.seq(1_102).ack(5_702))
    }

    /// Adds a handshake without loss, and the rest.
    pub(crate) fn clean(self, at_s: f64) -> Talk {
        self.syn(at_s)
            .synack(at_s + TO_SERVER)
            .ack(at_s + TO_SERVER + TO_CLIENT)
            .rest(at_s + TO_SERVER + TO_CLIENT + 0.001)
    }

    /// Adds a handshake whose first SYN was lost beyond the capture point, and the rest.
    pub(crate) fn lossy(self, at_s: f64) -> Talk {
        self.syn(at_s).clean(at_s + 1.0)
    }
}

/// Connection between the two hosts of [`crate::frames`].
pub(crate) fn talk() -> Talk {
    Talk::new(CLIENT, SERVER)
}

/// Connections of `n` users, of which `lossy` lost their first SYN.
pub(crate) fn users(n: u16, lossy: u16, server: (&str, u16)) -> Vec<Segment> {
    (0..n)
        .flat_map(|i| {
            let talk = Talk::new(("192.0.2.1", 20_000 + i), server);
            let at_s = f64::from(i) * 0.5;
            let talk = if i < lossy { talk.lossy(at_s) } else { talk.clean(at_s) };
            talk.segments
        })
        .collect()
}

/// Asserts that a finding of the analysis matches.
macro_rules! finds {
    ($analysis:expr, $($finding:tt)+) => {
        assert!($analysis.findings.iter().any(|it| matches!(it, $($finding)+)), "{:?}", $analysis.findings)
    };
}

/// Asserts that no finding of the analysis matches.
macro_rules! lacks {
    ($analysis:expr, $($finding:tt)+) => {
        assert!(!$analysis.findings.iter().any(|it| matches!(it, $($finding)+)), "{:?}", $analysis.findings)
    };
}
pub(crate) use {finds, lacks};

/// Whether a time is that expected, seconds.
pub(crate) fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.005
}

/// Asserts that attempts failed for `reason`, at the servers or by the clients `most`.
pub(crate) fn fails(analysis: &Analysis, reason: FailureReason, attempts: u64, most: &[&str]) {
    let of_reason = |finding: &Finding| match finding {
        Finding::Failed { reason: found, group } if *found == reason => Some(group.clone()),
        _ => None,
    };
    let group = analysis.findings.iter().find_map(of_reason).expect("a finding for the reason");
    let names: Vec<&str> = group.most.iter().map(|party| party.name.as_str()).collect();
    assert_eq!((group.attempts, &names[..]), (attempts, most));
}
