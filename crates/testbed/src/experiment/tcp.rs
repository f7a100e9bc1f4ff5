//! Mapping of a TCP profile to Linux settings.

use gentle_tcp::{Profile, linux_receive_buffer};

/// Profile that the testbed's kernel has by default.
const KERNEL: &str = "linux-7.2";

/// Linux settings of the TCP of the end hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// Parameters of a namespace below `/proc/sys/net`, with their values.
    pub(super) sysctls: Vec<(&'static str, String)>,
    /// Congestion control that network namespaces may use only if the kernel allows it.
    pub(super) restricted: Option<String>,
    /// Parameters of the whole kernel: file and value.
    pub(super) parameters: Vec<(&'static str, String)>,
    /// Attributes of the routes to the other host.
    pub(super) route: Vec<String>,
    /// Initial RTO of SYNs and SYN/ACKs, for the sock_ops program.
    pub(super) initial_rto_ms: Option<u32>,
    /// Whether sockets pace what they send.
    pub(super) pacing: bool,
    /// Sentences about the knobs that Linux does not have.
    pub(super) deviations: Vec<String>,
}

/// Linux interface through which a knob is set.
enum Interface {
    Sysctl(&'static str, fn(&Profile) -> String),
    Parameter(&'static str, fn(&Profile) -> String),
    Route(fn(&Profile) -> String),
    InitialRto,
    Pacing,
    /// Affects only the planned network, as the size of segments and of the receive buffer do, or nothing.
    Planned,
}

/// Knobs that Linux has. A knob that is not listed does not exist in Linux or cannot be set to a profile's value.
const INTERFACES: &[(&str, Interface)] = &[
    ("mss", Interface::Planned),
    ("receive_window", Interface::Planned),
    // Fixed behaviour of Linux.
    ("exact_ato", Interface::Planned),
    ("sack_compression", Interface::Planned),
    ("tso_unpaced", Interface::Planned),
    ("initial_rto", Interface::InitialRto),
    // TCP_RTO_MIN is a route metric: ip-route(8).
    ("min_rto", Interface::Route(|p| format!("rto_min {}ms", p.min_rto.as_millis()))),
    // Since Linux 6.15.
    ("max_rto", Interface::Sysctl("ipv4/tcp_rto_max_ms", |p| p.max_rto.as_millis().to_string())),
    ("syn_retries", Interface::Sysctl("ipv4/tcp_syn_retries", |p| p.syn_retries.to_string())),
    ("syn_linear_timeouts", Interface::Sysctl("ipv4/tcp_syn_linear_timeouts", |p| p.syn_linear_timeouts.to_string())),
    ("synack_retries", Interface::Sysctl("ipv4/tcp_synack_retries", |p| p.synack_retries.to_string())),
    ("retries", Interface::Sysctl("ipv4/tcp_retries2", |p| p.retries.to_string())),
    (
        "congestion_control",
        Interface::Sysctl("ipv4/tcp_congestion_control", |p| p.get("congestion_control").unwrap_or_default()),
    ),
    ("iw", Interface::Route(|p| format!("initcwnd {}", p.iw))),
    ("hystart", Interface::Parameter("/sys/module/tcp_cubic/parameters/hystart", |p| switch(p.hystart))),
    ("pacing", Interface::Pacing),
    ("idle_restart", Interface::Sysctl("ipv4/tcp_slow_start_after_idle", |p| switch(p.idle_restart))),
    ("sack", Interface::Sysctl("ipv4/tcp_sack", |p| switch(p.sack))),
    ("dsack", Interface::Sysctl("ipv4/tcp_dsack", |p| switch(p.dsack))),
    ("timestamps", Interface::Sysctl("ipv4/tcp_timestamps", |p| switch(p.timestamps))),
    (
        "ecn",
        Interface::Sysctl("ipv4/tcp_ecn", |p| {
            use gentle_tcp::Ecn;
            match p.ecn {
                Ecn::Off => "0",
                Ecn::Request => "1",
                Ecn::Accept => "2",
                Ecn::AccEcn => "3",
            }
            .to_owned()
        }),
    ),
    ("ecn_option", Interface::Sysctl("ipv4/tcp_ecn_option", |p| p.ecn_option.to_string())),
    ("ecn_option_beacon", Interface::Sysctl("ipv4/tcp_ecn_option_beacon", |p| p.ecn_option_beacon.to_string())),
    ("dupthresh", Interface::Sysctl("ipv4/tcp_reordering", |p| p.dupthresh.to_string())),
    ("max_reordering", Interface::Sysctl("ipv4/tcp_max_reordering", |p| p.max_reordering.to_string())),
    // Bit 0 is TCP_RACK_LOSS_DETECTION.
    ("rack", Interface::Sysctl("ipv4/tcp_recovery", |p| switch(p.rack))),
    ("tlp", Interface::Sysctl("ipv4/tcp_early_retrans", |p| if p.tlp { "3" } else { "0" }.to_owned())),
    // 2 is the kernel's default for "on".
    ("frto", Interface::Sysctl("ipv4/tcp_frto", |p| if p.frto { "2" } else { "0" }.to_owned())),
];

fn switch(on: bool) -> String {
    u8::from(on).to_string()
}

/// Least, first and largest receive buffer, bytes (`tcp_rmem`), for the receive window of `profile`. The kernel's default
/// for the largest follows the machine's memory.
pub(super) fn receive_buffer(profile: &Profile) -> String {
    let [first, largest] = linux_receive_buffer(profile.receive_window);
    format!("4096 {first} {largest}")
}

/// Congestion controls that are reserved for the initial network namespace (without `TCP_CONG_NON_RESTRICTED`).
const RESTRICTED: &[&str] = &["dctcp"];

/// Settings for `profile`, and the knobs that cannot be set.
pub(super) fn settings(profile: &Profile) -> Settings {
    let kernel = Profile::default();
    let mut settings = Settings::default();
    let mut missing = Vec::new();
    for knob in Profile::knobs() {
        let name = knob.name;
        let value = |profile: &Profile| profile.get(name).unwrap_or_default();
        if value(profile) == value(&kernel) {
            continue;
        }
        let interface = INTERFACES.iter().find(|(known, _)| *known == name);
        match interface.map(|(_, interface)| interface) {
            Some(Interface::Sysctl(file, of)) => settings.sysctls.push((file, of(profile))),
            Some(Interface::Parameter(file, of)) => settings.parameters.push((file, of(profile))),
            Some(Interface::Route(of)) => settings.route.push(of(profile)),
            Some(Interface::InitialRto) => {
                let ms = profile.initial_rto.as_millis();
                settings.initial_rto_ms = Some(u32::try_from(ms).unwrap_or(u32::MAX));
            }
            Some(Interface::Pacing) => settings.pacing = profile.pacing,
            Some(Interface::Planned) => {}
            None => missing.push(format!("{name} = {}", value(profile))),
        }
    }
    let algorithm = profile.get("congestion_control").unwrap_or_default();
    settings.restricted = RESTRICTED.contains(&&*algorithm).then_some(algorithm);
    if !missing.is_empty() {
        settings.deviations.push(format!(
            "The end hosts are Linux, which has no setting for {}; they behave like the profile {KERNEL}.",
            missing.join(", ")
        ));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_belongs_to_a_knob() {
        for (name, _) in INTERFACES {
            let known = Profile::knobs().iter().any(|knob| knob.name == *name);
            assert!(known, "{name}");
        }
    }

    #[test]
    fn the_kernels_own_profile_needs_nothing() {
        let own = Profile::by_name(KERNEL).unwrap();
        assert_eq!(settings(&own), Settings::default());
    }

    #[test]
    fn the_papers_hosts_are_set_as_far_as_linux_can() {
        let settings = settings(&Profile::by_name("freebsd-9.3").unwrap());
        assert_eq!(settings.initial_rto_ms, Some(3_000));
        assert!(settings.route.contains(&"initcwnd 4".to_owned()));
        let reno = ("ipv4/tcp_congestion_control", "reno".to_owned());
        assert!(settings.sysctls.contains(&reno));
        assert!(settings.sysctls.contains(&("ipv4/tcp_recovery", "0".to_owned())));
        let [missing] = &settings.deviations[..] else {
            panic!("{:?}", settings.deviations);
        };
        assert!(missing.contains("rto_estimator = "), "{missing}");
        assert!(!missing.contains("iw = "), "{missing}");
    }

    #[test]
    fn a_restricted_algorithm_is_permitted_first() {
        let mut profile = Profile::default();
        profile.set("congestion_control", "dctcp").unwrap();
        let settings = settings(&profile);
        assert_eq!(settings.restricted.as_deref(), Some("dctcp"));
        let dctcp = ("ipv4/tcp_congestion_control", "dctcp".to_owned());
        assert_eq!(settings.sysctls, [dctcp]);
    }

    #[test]
    fn a_receive_window_is_a_buffer() {
        let mut profile = Profile::default();
        assert_eq!(receive_buffer(&profile), "4096 131072 7017921");
        profile.set("receive_window", "64kb").unwrap();
        assert_eq!(receive_buffer(&profile), "4096 109656 109656");
        assert_eq!(settings(&profile), Settings::default());
    }

    #[test]
    fn accurate_ecn_and_its_option_are_settings_of_the_namespace() {
        let mut profile = Profile::default();
        profile.set("ecn", "accecn").unwrap();
        assert_eq!(settings(&profile).sysctls, [("ipv4/tcp_ecn", "3".to_owned())]);
        profile.set("ecn_option", "1").unwrap();
        profile.set("ecn_option_beacon", "0").unwrap();
        let settings = settings(&profile);
        assert!(settings.sysctls.contains(&("ipv4/tcp_ecn_option", "1".to_owned())));
        assert!(settings.sysctls.contains(&("ipv4/tcp_ecn_option_beacon", "0".to_owned())));
        assert_eq!(settings.deviations, Vec::<String>::new());
    }

    #[test]
    fn a_paced_socket_needs_no_parameter() {
        let mut profile = Profile::default();
        profile.set("pacing", "on").unwrap();
        let expected = Settings { pacing: true, ..Settings::default() };
        assert_eq!(settings(&profile), expected);
    }

    #[test]
    fn a_single_knob_is_set_alone() {
        let mut profile = Profile::default();
        profile.set("sack", "false").unwrap();
        let settings = settings(&profile);
        assert_eq!(settings.sysctls, [("ipv4/tcp_sack", "0".to_owned())]);
        assert_eq!(settings.deviations, Vec::<String>::new());
    }
}
