//! Reasons of dropped packets, and the instance of tracefs.

use crate::network::{Network, SERVER, only};
use gentle_host::{FindingKind, Host, Source};
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use std::path::Path;
use std::time::Duration;

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Names of the instances that this process owns.
fn instances() -> Vec<String> {
    let own = format!("-{}-", std::process::id());
    let names = std::fs::read_dir(INSTANCES).expect("tracefs").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("gentle-host-") && name.contains(&own)).collect()
}

/// Whether the event has histograms; the text lists the commands of a trigger.
fn has_histograms() -> bool {
    let text = std::fs::read_to_string("/sys/kernel/tracing/events/skb/kfree_skb/trigger").expect("tracefs");
    text.contains("hist")
}

#[test]
fn a_firewall_that_drops_syns_is_found_and_the_instance_removed() {
    let Some(network) = Network::new() else { return };
    let _listener = network.server.listen("0.0.0.0:80", 16);
    network.server.namespace.sh("nft add rule inet loss arriving tcp dport 80 drop");
    // tracefs, mounted for the thread of the server only.
    let mounted = network.server.namespace.run(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).expect("private mounts");
        if !Path::new(INSTANCES).exists() {
            let mounted = mount("tracefs", "/sys/kernel/tracing", "tracefs", MountFlags::empty(), None);
            mounted.map_err(|error| error.to_string())?;
        }
        Ok::<bool, String>(has_histograms())
    });
    let histograms = match mounted {
        Ok(histograms) => histograms,
        Err(error) => {
            eprintln!("skipped: tracefs: {error}");
            return;
        }
    };
    let (mut host, _) = network.server.counters();
    if !histograms {
        let missing =
            host.missing().iter().find(|missing| missing.source == Source::DropReasons).expect("an explanation");
        assert!(missing.remedy.contains("CONFIG_HIST_TRIGGERS"), "{missing:?}");
        assert!(network.server.namespace.run(instances).is_empty());
        eprintln!("skipped in part: this kernel has no histograms of events; {}", missing.sentence);
        return;
    }
    assert!(host.missing().iter().all(|missing| missing.source != Source::DropReasons), "{:#?}", host.missing());
    assert_eq!(network.server.namespace.run(instances).len(), 1);
    network.client.connect(SERVER, Duration::from_millis(300)).expect_err("a dropped SYN");
    let found = host.read();
    let dropped = only(&found, FindingKind::FirewallDrop);
    assert!(dropped.count >= 1 && dropped.sentence.contains("NETFILTER_DROP"), "{dropped:?}");
    let removed = network.server.namespace.run(move || {
        drop(host);
        instances().is_empty()
    });
    assert!(removed);
}

#[test]
fn without_tracefs_the_rest_works() {
    let host = Host::open();
    for missing in host.missing() {
        assert!(missing.sentence.contains("cannot be read") && !missing.remedy.is_empty(), "{missing:?}");
    }
    assert!(host.counter("ListenOverflows").is_some() && host.counter("NoSuchCounter").is_none());
}
