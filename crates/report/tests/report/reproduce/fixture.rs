//! A reproduction with every kind of item, and charts of every form.

use gentle_papers::{
    Assumed, Axis, Cell, Chart, Draw, Estimate, Item, Kind, Point, Published, Reproduction, Table, Verdict, Verdicts,
};

/// Schemes with the names that the command gives them.
pub(crate) const SCHEMES: [&str; 14] = [
    "pfifo",
    "bfifo",
    "red",
    "red adaptive",
    "redfavor",
    "codel target=5ms",
    "codel target=20ms",
    "fq_codel target=5ms",
    "fq_codel target=20ms",
    "pie",
    "sfq",
    "spa fin=none",
    "spa fin=priority",
    "spa share=100",
];

pub(crate) fn estimate(value: f64, ci95: f64) -> Estimate {
    Estimate { value: Some(value), ci95: Some(ci95), seeds: 6 }
}

/// Stacked bars with published values for some schemes.
pub(crate) fn stacked() -> Chart {
    let delay = |i: usize| 40.0 + (37 * i % 160) as f64;
    Chart::bars("delay", "Mean retransmission delay", SCHEMES, Axis::linear("mean retransmission delay", "ms"))
        .stacked()
        .series("SYN and SYN/ACK", (0..14).map(|i| estimate(delay(i) / 3.0, 4.0)))
        .series("other packets", (0..14).map(|i| estimate(delay(i), 9.0)))
        .published(
            "published",
            (0..14).map(|i| match i % 4 {
                0 => Estimate::exact(delay(i) * 1.4),
                _ => Estimate::default(),
            }),
        )
        .into()
}

/// Bars side by side, one of them without a value.
pub(crate) fn grouped() -> Chart {
    Chart::bars("drops", "Dropped packets", ["CHOKe", "RED", "REDFavor"], Axis::linear("dropped packets", ""))
        .series("all", [estimate(52_100.0, 900.0), estimate(38_000.0, 700.0), Estimate::default()])
        .series("SYN", [estimate(230.0, 12.0), estimate(3_900.0, 60.0), estimate(0.0, 0.0)])
        .published("all, published", [55_566.0, 36_758.0, 33_150.0].map(Estimate::exact))
        .published("SYN, published", [196.0, 3_391.0, 0.0].map(Estimate::exact))
        .into()
}

/// Means by size with logarithmic axes, intervals and published points.
pub(crate) fn by_size() -> Chart {
    let schemes = ["pfifo", "fq_codel target=20ms", "redfavor", "spa"];
    let start = Chart::curves(
        "by-size",
        "Mean response time by size",
        Axis::log("connection size", "segments"),
        Axis::log("mean response time", "s"),
    );
    let curves = schemes.into_iter().enumerate().fold(start, |curves, (i, scheme)| {
        let points = (0..12).map(|power| {
            let x = f64::from(1 << power);
            let y = 0.2 + 0.06 * (4 - i) as f64 * x.powf(0.6);
            let ci95 = Some(0.08 * y);
            Point { x, y, ci95 }
        });
        curves.draw(scheme, Draw::Marks, points)
    });
    curves.published("published", [(4.0, 1.1), (100.0, 5.0)]).into()
}

/// Distribution functions as steps.
pub(crate) fn distribution() -> Chart {
    let start = Chart::curves(
        "cdf",
        "Queueing delay",
        Axis::linear("queueing delay", "ms").range(0.0, 60.0),
        Axis::linear("share of packets", "").range(0.0, 1.0),
    );
    let schemes = ["GSP", "CoDel", "PIE", "tail drop"];
    let curves = schemes.into_iter().enumerate().fold(start, |curves, (i, scheme)| {
        let scale = 4.0 + 4.0 * i as f64;
        let points = (0..300).map(|k| (f64::from(k) * 0.3, 1.0 - (-0.3 * f64::from(k) / scale).exp()));
        curves.draw(scheme, Draw::Steps, points)
    });
    curves.into()
}

/// A queue over time with the drops as single events.
pub(crate) fn over_time() -> Chart {
    let queue = (0..20_000).map(|k| {
        let t = f64::from(k) * 1e-3;
        let y = 60.0 + 40.0 * (3.0 * t).sin() + 12.0 * (171.0 * t).sin();
        (t, y)
    });
    Chart::curves("queue", "Queue over time", Axis::linear("time", "s"), Axis::linear("queue", "packets"))
        .line("queue", queue)
        .draw("drops", Draw::Points, (0..10).map(|k| (0.5 + 2.0 * f64::from(k), 115.0)))
        .into()
}

pub(crate) fn charts() -> Vec<Chart> {
    vec![stacked(), grouped(), by_size(), distribution(), over_time()]
}

fn item(id: &str, kind: Kind, title: &str) -> Item {
    Item {
        id: id.to_owned(),
        kind,
        title: title.to_owned(),
        source: "Fig. 5".to_owned(),
        published: None,
        quantity: String::new(),
        unit: String::new(),
        ours: Estimate::default(),
        verdict: Verdict::NotPublished,
        seeds_to_decide: None,
        reason: None,
        assumptions: Vec::new(),
        command: format!("gentle reproduce spa-2018 {}", id.split('/').next().unwrap()),
        charts: Vec::new(),
        tables: Vec::new(),
    }
}

fn limits() -> Assumed {
    Assumed {
        id: "fifo-limits".to_owned(),
        text: "The paper does not give the limits of the FIFOs: 50 packets, and 75,000 bytes.".to_owned(),
    }
}

pub(crate) fn reproduction() -> Reproduction {
    let fig5 = Item {
        published: Some(Published {
            text: "Every scheme beats packet FIFO; FQ-CoDel, SFQ, REDFavor and SPA stand out.".to_owned(),
            ..Published::default()
        }),
        verdict: Verdict::Differs,
        assumptions: vec![limits()],
        charts: charts(),
        ..item("fig5", Kind::Figure, "Round-trip time, loss and delay by scheme, traffic type real")
    };
    let agrees = Item {
        quantity: "mean RTT under CoDel / under packet FIFO".to_owned(),
        published: Some(Published { value: Some(0.5), tolerance: Some(0.1), ..Published::default() }),
        ours: estimate(0.5412, 0.0213),
        verdict: Verdict::Agrees,
        ..item("fig5/codel-rtt", Kind::Claim, "CoDel halves the RTT of packet FIFO.")
    };
    let in_order = Item {
        quantity: "retransmission delay by SYN losses / all".to_owned(),
        unit: "%".to_owned(),
        published: Some(Published { value: Some(25.0), tolerance: Some(2.5), ..Published::default() }),
        ours: estimate(41.3, 2.9),
        verdict: Verdict::AgreesInOrder,
        reason: Some("With a limit of 100 packets it is 27 %.".to_owned()),
        assumptions: vec![limits()],
        ..item("fig5/syn-share", Kind::Claim, "About a quarter of the mean retransmission delay comes from SYN losses.")
    };
    let differs = Item {
        quantity: "worst of bfifo / best of RED, ARED, CoDel, PIE".to_owned(),
        published: Some(Published { at_most: Some(1.0), tolerance: Some(0.1), ..Published::default() }),
        ours: estimate(1.37, 0.04),
        verdict: Verdict::Differs,
        reason: Some(
            "The byte FIFO of 75,000 bytes holds as many full packets as the packet FIFO does; with 30,000 bytes the \
             ratio is 0.92."
                .to_owned(),
        ),
        assumptions: vec![limits()],
        ..item("fig5/bfifo", Kind::Claim, "Byte FIFO beats RED, ARED, CoDel and PIE in response time.")
    };
    let unpublished = Item { ours: Estimate::exact(8_326.0), ..item("fig5/connections", Kind::Claim, "Connections.") };
    let table = Item {
        verdict: Verdict::Agrees,
        tables: vec![
            Table::new("Dropped packets", ["scheme", "dropped", "drop rate"])
                .row(["CHOKe".into(), Cell::estimate(estimate(52_100.4, 900.2), 0), Cell::number(0.0815, 3)])
                .row([
                    "RED".into(),
                    Cell::estimate(estimate(38_000.0, 700.0), 0),
                    Cell::estimate(Estimate::default(), 3),
                ]),
        ],
        source: "Table II".to_owned(),
        ..item("table2", Kind::Table, "Dropped packets by scheme")
    };
    let sensitivity = Item {
        source: String::new(),
        tables: vec![
            Table::new(
                "Our number and the verdict under each value",
                ["claim", "50 packets (assumed)", "100 packets", "the verdict depends on it", "agrees with"],
            )
            .row(["fig5/syn-share", "41.3 (agrees in order)", "27.0 (agrees)", "yes", "100 packets"].map(Cell::from))
            .row(["fig5/bfifo", "1.37 (differs)", "1.41 (differs)", "no", "none of them"].map(Cell::from)),
        ],
        assumptions: vec![limits()],
        ..item("assumption/fifo-limits", Kind::Table, &limits().text)
    };
    Reproduction {
        version: gentle_papers::VERSION,
        gentle: "0.1.0".to_owned(),
        paper: "spa-2018".to_owned(),
        title:
            "The Virtue of Gentleness: Improving Connection Response Times with SYN Priority Active Queue Management"
                .to_owned(),
        authors: "Braud, Heusse, Duda".to_owned(),
        venue: "IFIP Networking 2018".to_owned(),
        command: "gentle reproduce spa-2018".to_owned(),
        quick: true,
        interrupted: false,
        verdicts: Verdicts { agrees: 1, agrees_in_order: 1, undecided: 0, differs: 1, given: 0, not_published: 1 },
        not_testable: 387,
        items: vec![fig5, agrees, in_order, differs, unpublished, table, sensitivity],
    }
}
