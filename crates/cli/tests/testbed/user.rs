//! Testbed without root.

use crate::kernel::{exec, kernel};
use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use tempfile::TempDir;

/// If the tests run as root, copies everything to a place that another user can read, and runs as that user.
#[test]
fn anybody_may_run_machines() {
    let Some(kernel) = kernel() else { return };
    let folder = TempDir::new().unwrap();
    if folder.path().metadata().unwrap().uid() != 0 {
        // All other tests have run without root.
        let output = exec(&[], &["id", "-u"]).output().unwrap();
        assert_eq!(output.stdout, b"0\n", "{output:?}");
        return;
    }
    let open = |path: &std::path::Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(folder.path());
    let gentle = folder.path().join("gentle-for-all");
    fs::copy(cargo_bin("gentle"), &gentle).unwrap();
    let name = kernel.tree.file_name().unwrap();
    let tree = folder.path().join("gentle/testbed/kernels").join(name);
    fs::create_dir_all(&tree).unwrap();
    fs::copy(&kernel.linux, tree.join("linux")).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"])
        .arg(&gentle)
        .args(["testbed", "exec", "--memory=256", "--"])
        .args([
            "sh",
            "-c",
            "id -u; ip link add d0 type dummy && tc qdisc add dev d0 root fq_codel && tc qdisc show dev d0",
        ])
        .env("XDG_CACHE_HOME", folder.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: setpriv: {error}"),
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("0\nqdisc fq_codel"), "{text}");
}
