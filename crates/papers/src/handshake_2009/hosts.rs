//! Hosts of generated captures, in the groups that the paper describes.

use crate::lab::Lab;
use crate::setup::Setup;
use gentle_captures::scenario::Group;
use gentle_units::Nanos;

/// Properties of groups of `hosts.toml` that scenarios do not have.
pub(super) const GROUPS: &[Group] = &[
    Group { hosts: 4, ..Group::plain("few clients with 200 ms") },
    Group { hosts: 4, copied: 1.0, ..Group::plain("few clients behind a switch") },
    Group {
        timer: Some((Nanos::from_millis(2_500), Nanos::from_millis(3_500))),
        ..Group::plain("client with about 3 s")
    },
    Group { timer: Some((Nanos::from_millis(300), Nanos::from_secs(6))), ..Group::plain("client with any timer") },
    Group { busy: Nanos::from_secs(4), ..Group::plain("loaded server") },
    Group { busy: Nanos::from_secs(4), ..Group::plain("loaded server with 1.5 s") },
    Group { busy: Nanos::from_secs(20), ..Group::plain("overloaded server") },
];

/// The set-up `hosts.toml` with the workloads of these groups; an empty name means the workload without a group, whose
/// hosts have 3 s. Quick calls have a third of the connections.
pub(super) fn hosts(lab: &Lab<'_>, groups: &[&str]) -> Setup {
    let mut setup = lab.varied(Setup::from_toml(
        "papers/handshake-2009/hosts.toml",
        include_str!("../../data/handshake-2009/hosts.toml"),
    ));
    if lab.quick() {
        setup.scenario.set_duration(Nanos::from_secs(20));
    }
    setup.scenario.workloads.retain(|workload| groups.contains(&workload.group.as_deref().unwrap_or_default()));
    setup
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_group_has_a_workload() {
        let stop = AtomicBool::new(false);
        let lab = Lab::new(false, &(), &stop);
        for group in GROUPS {
            assert_eq!(hosts(&lab, &[group.name]).scenario.workloads.len(), 1, "{}", group.name);
        }
        assert_eq!(hosts(&lab, &[""]).scenario.workloads.len(), 1);
        assert!(hosts(&lab, &["nobody"]).scenario.workloads.is_empty());
    }
}
