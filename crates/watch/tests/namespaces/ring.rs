//! Captures of the packets around failed attempts, and folders in which they cannot be kept.

use crate::network::{Network, Watching, config, with_ring};
use crate::process::Process;
use gentle_capture::CaptureReader;
use gentle_packets::Host;
use gentle_watch::{LEAST_RING, Watch};
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Port that refuses connections.
const CLOSED: &str = "192.0.2.2:9";

/// Number of attempts of a round.
const ROUND: usize = 10;

/// Files of a ring by name, with their content.
fn files(host: &Host, folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = folder.to_owned();
    host.run(move || {
        let entries = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let is_of_ring =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gentle-watch-"));
        entries.filter(is_of_ring).map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect()
    })
}

/// Number of packets in a file, which must be whole.
fn packets(file: &[u8]) -> usize {
    let reader = CaptureReader::from_reader("ring".to_owned(), Box::new(std::io::Cursor::new(file.to_vec())));
    let mut reader = reader.expect("a capture").strict(true);
    let mut packets = 0;
    while reader.next().expect("whole packets").is_some() {
        packets += 1;
    }
    assert!(reader.warnings().is_empty(), "{:?}", reader.warnings());
    packets
}

/// Number of packets in all files.
fn packets_of(host: &Host, folder: &Path) -> usize {
    files(host, folder).values().filter(|file| !file.is_empty()).map(|file| packets(file)).sum()
}

/// Number of comments on attempts in all files.
fn comments(host: &Host, folder: &Path) -> usize {
    let count = |file: &Vec<u8>| file.windows(16).filter(|bytes| bytes == b"attempt of port ").count();
    files(host, folder).values().map(count).sum()
}

/// Waits until a condition holds.
#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_failed_attempt_has_its_packets_and_a_comment() {
    let Some(network) = Network::new() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = [("gentle-watch-notes.pcapng", "foreign"), ("gentle-watch-1.pcap", "foreign"), ("a.pcapng", "")];
    for (name, text) in foreign {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let watch = Watching::start(&network.client, with_ring(folder.path().join("a/b"), LEAST_RING));
    for _ in 0..2 {
        assert_eq!(network.connect(CLOSED, ROUND), 0);
    }
    watch.expect_attempts(2 * ROUND);
    let seen = watch.stop();
    let ring = folder.path().join("a/b");
    assert_eq!(packets_of(&network.client, &ring), 4 * ROUND);
    assert_eq!(comments(&network.client, &ring), 2 * ROUND);
    assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    for (name, text) in foreign {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).expect("a file"), text);
    }
}

#[test]
fn ring_stays_within_its_size_and_leaves_foreign_files() {
    let Some(network) = Network::new() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = [("gentle-watch-notes.pcapng", "foreign"), ("gentle-watch-1.pcap", "foreign"), ("a.pcapng", "")];
    for (name, text) in foreign {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    // Files of an earlier run with a larger ring, one of them from the future.
    for name in ["gentle-watch-0000000000001.pcapng", "gentle-watch-9999999999999.pcapng"] {
        std::fs::write(folder.path().join(name), vec![0; 600_000]).expect("a file");
    }
    let watch = Watching::start(&network.client, with_ring(folder.path(), LEAST_RING));
    // Ports are reused only if an attempt has ended, so rounds are of different servers' ports.
    const ROUNDS: usize = 8;
    for port in 1000..1000 + ROUNDS {
        let address = format!("192.0.2.2:{port}");
        network.client.run(move || {
            let address = address.parse().expect("an address");
            (0..600).for_each(|_| assert!(crate::network::connect_once(address).is_none()));
        });
    }
    watch.expect_attempts(ROUNDS * 600);
    let seen = watch.stop();
    assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    let size: u64 = files(&network.client, folder.path())
        .iter()
        .filter(|(path, _)| !foreign.iter().any(|(name, _)| path.ends_with(name)))
        .map(|(_, file)| file.len() as u64)
        .sum();
    assert!(size <= LEAST_RING, "{size}");
    assert!(size > LEAST_RING / 2, "{size}");
    for (name, text) in foreign {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).expect("a file"), text);
    }
}

#[test]
fn killed_process_leaves_readable_files_and_the_next_continues() {
    let Some(network) = Network::new() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = 0;
    for _ in 0..3 {
        let mut process = Process::start(&network.client, Some(folder.path()), 64_000_000);
        let address = CLOSED.parse().expect("an address");
        network.client.run(move || (0..500).for_each(|_| assert!(crate::network::connect_once(address).is_none())));
        eventually("packets are kept", || {
            files(&network.client, folder.path()).values().map(Vec::len).sum::<usize>() > kept
        });
        process.child.kill().expect("it runs");
        process.child.wait().expect("it has ended");
        kept = files(&network.client, folder.path()).values().map(Vec::len).sum();
    }
    // The last section may be incomplete.
    let mut packets = 0;
    for file in files(&network.client, folder.path()).into_values().filter(|file| !file.is_empty()) {
        let reader = CaptureReader::from_reader("ring".to_owned(), Box::new(std::io::Cursor::new(file)));
        let mut reader = reader.expect("a capture");
        while reader.next().expect("packets").is_some() {
            packets += 1;
        }
        assert!(reader.warnings().len() <= 1, "{:?}", reader.warnings());
    }
    assert!(packets >= 6, "{packets}");
}

/// Mounts a small file system at a folder, for the client only.
fn mount_small(network: &Network, folder: &Path) {
    network.client.run(|| unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace"));
    network
        .client
        .sh(&format!("mount --make-rprivate /; mount -t tmpfs -o size=1m tmpfs {}", folder.to_str().expect("a name")));
}

#[test]
fn full_disk_is_noted_once_and_writing_resumes() {
    let Some(network) = Network::new() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    mount_small(&network, folder.path());
    let client = Arc::clone(&network.client);
    let at = folder.path().to_owned();
    let watch = Watching::start(&network.client, with_ring(folder.path(), LEAST_RING));
    network.connect(CLOSED, ROUND);
    watch.expect_attempts(ROUND);
    eventually("packets are kept", || packets_of(&client, &at) >= 2 * ROUND);
    let before = files(&client, &at);
    let filler = at.join("filler").display().to_string();
    client.sh(&format!("dd if=/dev/zero of={filler} bs=4k 2>/dev/null || true"));
    // The file's last page has space for a few sections.
    while !watch.sees_now(|seen| !seen.notes.is_empty()) {
        network.connect(CLOSED, 5 * ROUND);
    }
    watch.expect("all attempts", |seen| seen.attempts.len() % (5 * ROUND) == ROUND);
    let noted = |count: usize| {
        watch.expect("a note", |seen| {
            let notes = seen.notes.iter().filter(|note| note.starts_with("packets of slow attempts are not kept"));
            assert!(notes.count() == seen.notes.len(), "{:?}", seen.notes);
            seen.notes.len() >= count
        });
    };
    noted(1);
    for (path, content) in files(&client, &at) {
        if let Some(earlier) = before.get(&path) {
            assert!(content.starts_with(earlier));
        }
    }
    let full = packets_of(&client, &at);
    // After the pause, there is one more note.
    std::thread::sleep(Duration::from_secs(10));
    network.connect(CLOSED, ROUND);
    noted(2);
    client.sh(&format!("rm {filler}"));
    std::thread::sleep(Duration::from_secs(10));
    network.connect(CLOSED, ROUND);
    eventually("packets are kept again", || packets_of(&client, &at) >= full + 2 * ROUND);
    let seen = watch.stop();
    assert_eq!(seen.notes.len(), 2, "{:?}", seen.notes);
    let now = files(&client, &at);
    assert!(before.iter().all(|(path, content)| now.get(path).is_some_and(|now| now.starts_with(content))));
    assert!(now.values().all(|file| !file.is_empty()), "{:?}", now.keys());
}

#[test]
fn removed_folder_is_created_again() {
    let Some(network) = Network::new() else { return };
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("ring");
    let watch = Watching::start(&network.client, with_ring(&folder, LEAST_RING));
    network.connect(CLOSED, ROUND);
    watch.expect_attempts(ROUND);
    eventually("packets are kept", || packets_of(&network.client, &folder) == 2 * ROUND);
    std::fs::remove_dir_all(&folder).expect("a folder");
    network.connect(CLOSED, ROUND);
    watch.expect_attempts(2 * ROUND);
    let seen = watch.stop();
    assert!(folder.exists(), "{:?}", seen.notes);
    assert_eq!(packets_of(&network.client, &folder), 2 * ROUND, "{:?}", seen.notes);
}

#[test]
fn unwritable_folder_is_refused() {
    let Some(network) = Network::new() else { return };
    for folder in ["/proc/gentle", "/dev/null", "/sys"] {
        let error = network.client.run(move || Watch::open(with_ring(folder, LEAST_RING)).err());
        let text = error.expect("an error").to_string();
        assert_eq!(text, format!("{folder}: cannot keep captures there"));
    }
    assert!(network.client.run(|| Watch::open(config()).is_ok()));
}
