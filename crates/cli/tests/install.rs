//! Effects of `make install` and `make uninstall`, and the systemd units.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn make(target: &str, destination: &Path, gentle: &str) -> Output {
    Command::new("make")
        .current_dir(repository())
        .args(["--no-print-directory", target, "PREFIX=/usr/local"])
        .arg(format!("GENTLE={gentle}"))
        .arg(format!("DESTDIR={}", destination.display()))
        .output()
        .expect("make is there: scripts/bootstrap test installs it")
}

fn succeeds(target: &str, destination: &Path) {
    let output = make(target, destination, env!("CARGO_BIN_EXE_gentle"));
    assert!(output.status.success(), "{target}: {output:?}");
}

/// All files and folders below a folder; folders end with a slash.
fn tree(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                found.insert(format!("{name}/"));
                folders.push(path);
            } else {
                found.insert(name);
            }
        }
    }
    found
}

#[test]
fn what_is_installed_is_complete_and_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("usr/local");
    // Existing files and folders, including an empty folder, as in Debian.
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("share/man/man1")).unwrap();
    fs::write(root.join("share/man/man1/other.1"), "of others").unwrap();
    let before = tree(folder.path());

    succeeds("install", folder.path());
    let installed = tree(&root);
    for file in [
        "bin/gentle",
        "lib/systemd/system/gentle-qdisc@.service",
        "lib/systemd/system/gentle-watch@.service",
        "share/bash-completion/completions/gentle",
        "share/doc/gentle/docs/guides/router.md",
        "share/gentle/deploy/grafana/gentle-watch.json",
        "share/gentle/deploy/openwrt/spa.qos",
        "share/gentle/deploy/prometheus/gentle-rules.yml",
        "share/gentle/deploy/rexmit.toml",
        "share/gentle/kernel/Kbuild",
        "share/gentle/kernel/young.h",
        "share/gentle/kernel/dkms.conf",
        "share/gentle/kernel/man/tc-spa.8",
        "share/gentle/kernel/sch_spa.c",
        "share/gentle/kernel/tc/q_spa.c",
        "share/gentle/kernel/testing/replay/replay.c",
        "share/gentle/papers/spa-2018/real.toml",
        "share/man/man1/gentle-qdisc.1",
        "share/man/man8/tc-spa.8",
        "share/zsh/site-functions/_gentle",
    ] {
        assert!(installed.contains(file), "no {file} among {installed:#?}");
    }
    let list = fs::read_to_string(root.join("share/gentle/installed")).unwrap();
    let listed: BTreeSet<String> = list.lines().map(str::to_owned).collect();
    let added: BTreeSet<String> = tree(folder.path())
        .difference(&before)
        .map(|path| path.strip_prefix("usr/local/").unwrap().to_owned())
        .collect();
    assert_eq!(listed, added, "the list is what has been added");

    // Files of an earlier version are removed; a second installation changes nothing.
    fs::write(root.join("share/gentle/former"), "").unwrap();
    fs::write(root.join("share/gentle/installed"), format!("{list}share/gentle/former\n")).unwrap();
    succeeds("install", folder.path());
    assert_eq!(tree(&root), installed);

    succeeds("uninstall", folder.path());
    assert_eq!(tree(folder.path()), before);
    let again = make("uninstall", folder.path(), "");
    assert!(!again.status.success());
    let words = String::from_utf8(again.stderr).unwrap();
    assert!(words.contains("nothing that this installed"), "{words}");
}

#[test]
fn installation_builds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = make("install", folder.path(), "/nonexistent/gentle");
    assert!(!output.status.success());
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("run make first"), "{words}");
    assert!(tree(folder.path()).is_empty());
}

/// Instance of the unit for a device whose name needs escaping.
#[test]
fn systemd_accepts_the_unit_for_any_device() {
    const UNIT: &str = include_str!("../../../deploy/systemd/gentle-qdisc@.service");
    // The instance name is escaped; only unit names may contain it in this form.
    for line in UNIT.lines().filter(|line| line.contains("%i")) {
        assert!(line.contains("sys-subsystem-net-devices-%i.device"), "{line}");
    }
    // The commands of root share the folder, and refuse one of another user.
    assert!(!UNIT.contains("User="), "{UNIT}");
    assert!(UNIT.contains("\nRuntimeDirectory=gentle\nRuntimeDirectoryMode=0700\n"), "{UNIT}");
    assert!(UNIT.contains("\nCapabilityBoundingSet=CAP_NET_ADMIN\n"), "{UNIT}");
    verified(r"gentle-qdisc@br\x2dlan.service", UNIT);
}

#[test]
fn systemd_accepts_the_unit_that_watches_any_device() {
    const UNIT: &str = include_str!("../../../deploy/systemd/gentle-watch@.service");
    // The unit of all devices depends on none.
    assert!(!UNIT.contains("%i"), "{UNIT}");
    assert!(UNIT.contains("\nCapabilityBoundingSet=CAP_NET_RAW\nAmbientCapabilities=CAP_NET_RAW\nDynamicUser=yes\n"));
    let [any, _] = ["gentle-watch@any.service", r"gentle-watch@br\x2dlan.service"].map(|name| verified(name, UNIT));
    // Exposure in tenths: gentle watch needs packet, netlink and internet sockets, and the network of the host.
    let output = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=18", "--no-pager"])
        .arg(any.path().join("gentle-watch@any.service"))
        .output()
        .expect("systemd-analyze is there: scripts/bootstrap test installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Folder with a unit that systemd accepts without a warning.
fn verified(name: &str, unit: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let instance = folder.path().join(name);
    fs::write(&instance, unit).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&instance)
        .output()
        .expect("systemd-analyze is there: scripts/bootstrap test installs it");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{words}");
    folder
}
