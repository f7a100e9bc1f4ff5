//! Complete setups of a device.

use super::script;
use gentle_aqm::registry;
use gentle_deploy::{
    Backing, Direction, Framing, Link, LinkLayer, PlanError, Present, Setup, Shaper, ShaperKind, plan,
};

fn setup(dev: &str, direction: Direction, scheme: &str, shaper: Option<(ShaperKind, &str)>) -> Setup {
    Setup {
        dev: dev.parse().unwrap(),
        link: Link::ETHERNET,
        present: Present::default(),
        direction,
        shaper: shaper.map(|(kind, rate)| Shaper { kind, rate: rate.parse().unwrap(), framing: Framing::default() }),
        scheme: registry::for_device(scheme).unwrap(),
    }
}

#[test]
fn egress_and_ingress_with_each_shaper() {
    let mut dsl = setup("ppp0", Direction::Egress, "codel", Some((ShaperKind::Tbf, "900kbit")));
    dsl.link = Link { header: 0, mtu: 1492 };
    let framing = Framing { overhead: 40, mpu: 96, linklayer: LinkLayer::Atm };
    dsl.shaper.as_mut().unwrap().framing = framing;
    let mut cake = setup("eth0", Direction::Ingress, "cake besteffort ingress", Some((ShaperKind::Cake, "95mbit")));
    cake.shaper.as_mut().unwrap().framing = framing;
    let scripts: String = [
        setup("eth0", Direction::Egress, "fq_codel", None),
        setup("eth0", Direction::Egress, "codel", Some((ShaperKind::Htb, "20mbit"))),
        dsl,
        setup("wlx00c0caabcdef", Direction::Ingress, "fq_codel", Some((ShaperKind::Htb, "100mbit"))),
        cake,
    ]
    .iter()
    .map(|setup| script(&plan(setup, Backing::Stock).unwrap()) + "\n")
    .collect();
    insta::assert_snapshot!(scripts);
}

#[test]
fn priority_under_a_shaper() {
    let spa = setup("eth0", Direction::Egress, "spa", Some((ShaperKind::Htb, "20mbit")));
    insta::assert_snapshot!(script(&plan(&spa, Backing::Stock).unwrap()));
}

#[test]
fn a_link_without_frames_has_no_tags_and_the_same_lengths() {
    let mut spa = setup("ppp0", Direction::Egress, "spa maxlen=128", None);
    spa.link.header = 0;
    let text = script(&plan(&spa, Backing::Stock).unwrap());
    assert!(!text.contains("802.1Q") && !text.contains("ppp_ses"), "{text}");
    assert!(text.contains("match u16 0x0080 0xffff at 2"), "{text}");
    spa.link.header = 14;
    let framed = script(&plan(&spa, Backing::Stock).unwrap());
    for line in text.lines().filter(|line| line.contains("filter")) {
        assert!(framed.contains(line), "{line}\n{framed}");
    }
}

#[test]
fn cake_shapes_nothing_but_itself() {
    let setup = setup("eth0", Direction::Egress, "spa", Some((ShaperKind::Cake, "20mbit")));
    assert_eq!(plan(&setup, Backing::Stock), Err(PlanError::CakeTakesNoChild));
}

#[test]
fn cake_keeps_its_options_beside_its_rate() {
    let planned = |scheme: &str, shaper| {
        let setup = setup("eth0", Direction::Egress, scheme, shaper);
        plan(&setup, Backing::Stock).map(|plan| script(&plan))
    };
    let own = Some((ShaperKind::Cake, "20mbit"));
    for (scheme, shaper, args) in [
        ("cake", None, "cake"),
        ("cake", own, "cake bandwidth 20mbit"),
        (
            "cake nat dual-srchost no-split-gso ack-filter",
            own,
            "cake bandwidth 20mbit dual-srchost nat no-split-gso ack-filter",
        ),
        (
            "cake bandwidth=5mbit diffserv4 nonat nowash pppoe-ptm ether-vlan regional egress",
            None,
            "cake bandwidth 5mbit rtt 30ms diffserv4 nonat nowash ptm overhead 30 ether-vlan egress",
        ),
    ] {
        let text = planned(scheme, shaper).unwrap();
        let expected = format!("tc qdisc replace dev eth0 root handle 5a1: {args}\n");
        assert!(text.contains(&expected), "{scheme}: {text}");
    }
    let twice = planned("cake bandwidth=5mbit", own).unwrap_err();
    assert!(matches!(twice, PlanError::ShapedTwice { option: "bandwidth", .. }), "{twice}");
    // Beneath another shaper, it needs no rate.
    let text = planned("cake", Some((ShaperKind::Htb, "20mbit"))).unwrap();
    assert!(text.contains("htb") && text.contains(" cake\n"), "{text}");
}

#[test]
fn arriving_packets_pass_a_clsact_that_is_there() {
    let mut spa = setup("eth0", Direction::Ingress, "fq_codel", Some((ShaperKind::Htb, "20mbit")));
    spa.present.clsact = true;
    let text = script(&plan(&spa, Backing::Stock).unwrap());
    assert!(!text.contains("qdisc add dev eth0"), "{text}");
    assert!(
        text.ends_with("tc filter add dev eth0 ingress protocol all pref 65535 u32 match u32 0 0 action mirred egress redirect dev in-eth0\n"),
        "{text}"
    );
}

#[test]
fn queues_that_become_one_are_named() {
    let mut spa = setup("eth0", Direction::Egress, "fq_codel", None);
    spa.present.transmit_queues = 8;
    let text = script(&plan(&spa, Backing::Stock).unwrap());
    assert!(text.contains("eth0 has 8 transmit queues"), "{text}");
    spa.direction = Direction::Ingress;
    let text = script(&plan(&spa, Backing::Stock).unwrap());
    assert!(!text.contains("transmit queues"), "{text}");
}

#[test]
fn red_and_its_kin_take_the_rate_of_the_shaper_for_that_of_the_link() {
    for (scheme, backing, bandwidth) in [
        ("red", Backing::Stock, "bandwidth 20mbit"),
        ("ared", Backing::Stock, "bandwidth 20mbit"),
        ("choke", Backing::Stock, "bandwidth 20mbit"),
        ("redfavor", Backing::Native, "bandwidth 20mbit"),
        ("spa child=red", Backing::Stock, "bandwidth 20mbit"),
        ("spa child=red", Backing::Native, "bandwidth 20mbit"),
        ("red bandwidth=5mbit", Backing::Stock, "bandwidth 5mbit"),
    ] {
        let shaped = setup("eth0", Direction::Egress, scheme, Some((ShaperKind::Htb, "20mbit")));
        let text = script(&plan(&shaped, backing).unwrap());
        let given = text.matches("bandwidth").count();
        assert!(given >= 1 && given == text.matches(bandwidth).count(), "{scheme}: {text}");
        let bare = setup("eth0", Direction::Egress, scheme, None);
        let text = script(&plan(&bare, backing).unwrap());
        let expected = if scheme.contains('=') && !scheme.contains("child") { bandwidth } else { "bandwidth 10mbit" };
        assert!(text.contains(expected), "{scheme}: {text}");
    }
}

#[test]
fn no_note_names_a_policer_that_is_not_in_the_plan() {
    for rate in ["45bit", "551bit", "552bit", "1mbit"] {
        let spa = setup("eth0", Direction::Egress, "spa", Some((ShaperKind::Htb, rate)));
        let plan = plan(&spa, Backing::Stock).unwrap();
        let policed = plan.commands.iter().any(|command| command.args.iter().any(|word| word == "police"));
        let said = plan.differences.iter().any(|note| note.contains("is a policer"));
        let refused = plan.differences.iter().any(|note| note.contains("is not enforced"));
        assert_eq!((policed, !policed), (said, refused), "{rate}: {:?}", plan.differences);
    }
}

#[test]
fn a_rate_that_tc_or_the_kernel_cannot_hold_is_refused() {
    for (kind, scheme, rate, expected) in [
        (ShaperKind::Htb, "spa", "44bit", "45bit or more"),
        (ShaperKind::Tbf, "spa", "44bit", "45bit or more"),
        (ShaperKind::Cake, "cake", "7bit", "8bit or more"),
        (ShaperKind::Htb, "spa", "999999gbit", "34000gbit or less"),
        (ShaperKind::Tbf, "spa", "651gbit", "650gbit or less"),
    ] {
        let refused = setup("eth0", Direction::Egress, scheme, Some((kind, rate)));
        let error = plan(&refused, Backing::Stock).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for scheme in ["htb rate=20bit burst=1gb", "tbf rate=1kbit burst=1gb"] {
        let refused = setup("eth0", Direction::Egress, scheme, None);
        let error = plan(&refused, Backing::Stock).unwrap_err().to_string();
        assert!(error.contains("to shape to"), "{scheme}: {error}");
    }
    for (kind, rate) in [(ShaperKind::Htb, "34000gbit"), (ShaperKind::Tbf, "650gbit")] {
        let accepted = setup("eth0", Direction::Egress, "codel", Some((kind, rate)));
        assert!(plan(&accepted, Backing::Stock).is_ok(), "{rate}");
    }
}

#[test]
fn an_overhead_below_zero_is_that_of_a_size_table() {
    for (kind, scheme, expected) in [
        (ShaperKind::Htb, "codel", "5a0: stab overhead -4 linklayer atm htb default 1\n"),
        (ShaperKind::Tbf, "codel", "5a0: stab overhead -4 linklayer atm tbf rate 2mbit"),
        (ShaperKind::Cake, "cake", "5a1: cake bandwidth 2mbit atm overhead -4"),
    ] {
        let mut dsl = setup("ppp0", Direction::Egress, scheme, Some((kind, "2mbit")));
        dsl.shaper.as_mut().unwrap().framing = Framing { overhead: -4, mpu: 0, linklayer: LinkLayer::Atm };
        let text = script(&plan(&dsl, Backing::Stock).unwrap());
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.matches("overhead").count(), 1, "{text}");
    }
}

#[test]
fn a_shaper_on_the_loopback_device_is_noted() {
    let mut lo = setup("lo", Direction::Egress, "codel", Some((ShaperKind::Htb, "2mbit")));
    lo.present.loopback = true;
    let notes = plan(&lo, Backing::Stock).unwrap().notes;
    assert!(notes[0].contains("lo is the loopback device"), "{notes:?}");
}

/// The limit of `pfifo_fast` is the device's, which removing a setup would not restore.
#[test]
fn a_limit_that_belongs_to_the_device_is_refused() {
    for scheme in ["pfifo_fast limit=50", "spa child=pfifo_fast limit=50"] {
        let setup = setup("eth0", Direction::Egress, scheme, None);
        let error = plan(&setup, Backing::Native).unwrap_err().to_string();
        assert!(error.contains("ip link set dev eth0 txqueuelen 50"), "{error}");
    }
}

/// A shaper makes the device the bottleneck.
#[test]
fn a_scheme_that_shapes_needs_no_rate() {
    let setup = setup("eth0", Direction::Egress, "tbf rate=20mbit child=codel", None);
    let plan = plan(&setup, Backing::Stock).unwrap();
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}
