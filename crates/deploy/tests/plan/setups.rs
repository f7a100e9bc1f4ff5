//! Whole set-ups of a device.

use super::script;
use gentle_deploy::{
    Backing, Direction, Discipline, Framing, Link, LinkLayer, PlanError, Setup, Shaper, ShaperKind,
    plan,
};

fn setup(
    dev: &str,
    direction: Direction,
    scheme: &str,
    shaper: Option<(ShaperKind, &str)>,
) -> Setup {
    Setup {
        dev: dev.parse().unwrap(),
        link: Link::ETHERNET,
        direction,
        shaper: shaper.map(|(kind, rate)| Shaper {
            kind,
            rate: rate.parse().unwrap(),
            framing: Framing::default(),
        }),
        discipline: match scheme.starts_with("cake") {
            true => Discipline::Cake(scheme.parse().unwrap()),
            false => Discipline::Scheme(scheme.parse().unwrap()),
        },
    }
}

#[test]
fn egress_and_ingress_with_each_shaper() {
    let mut dsl = setup(
        "ppp0",
        Direction::Egress,
        "codel",
        Some((ShaperKind::Tbf, "900kbit")),
    );
    dsl.link = Link {
        header: 0,
        mtu: 1492,
    };
    let framing = Framing {
        overhead: 40,
        mpu: 96,
        linklayer: LinkLayer::Atm,
    };
    dsl.shaper.as_mut().unwrap().framing = framing;
    let mut cake = setup(
        "eth0",
        Direction::Ingress,
        "cake besteffort ingress",
        Some((ShaperKind::Cake, "95mbit")),
    );
    cake.shaper.as_mut().unwrap().framing = framing;
    let scripts: String = [
        setup("eth0", Direction::Egress, "fq_codel", None),
        setup(
            "eth0",
            Direction::Egress,
            "codel",
            Some((ShaperKind::Htb, "20mbit")),
        ),
        dsl,
        setup(
            "wlx00c0caabcdef",
            Direction::Ingress,
            "fq_codel",
            Some((ShaperKind::Htb, "100mbit")),
        ),
        cake,
    ]
    .iter()
    .map(|setup| script(&plan(setup, Backing::Stock).unwrap()) + "\n")
    .collect();
    insta::assert_snapshot!(scripts);
}

#[test]
fn priority_under_a_shaper() {
    let spa = setup(
        "eth0",
        Direction::Egress,
        "spa",
        Some((ShaperKind::Htb, "20mbit")),
    );
    insta::assert_snapshot!(script(&plan(&spa, Backing::Stock).unwrap()));
}

#[test]
fn a_link_without_frames_has_no_tags_and_counts_no_header() {
    let mut spa = setup("ppp0", Direction::Egress, "spa maxlen=128", None);
    spa.link.header = 0;
    let text = script(&plan(&spa, Backing::Stock).unwrap());
    assert!(!text.contains("802.1Q"), "{text}");
    assert!(text.contains("match u16 0x0080 0xffff at 2"), "{text}");
}

#[test]
fn cake_shapes_nothing_but_itself() {
    let setup = setup(
        "eth0",
        Direction::Egress,
        "spa",
        Some((ShaperKind::Cake, "20mbit")),
    );
    assert_eq!(
        plan(&setup, Backing::Stock),
        Err(PlanError::CakeTakesNoChild)
    );
}
