//! Command `gentle testbed exec`: output, exit codes, and the environment in a machine.

use crate::kernel::{exec, kernel};

#[test]
fn output_and_exit_code_are_the_programs_own() {
    let Some(kernel) = kernel() else { return };
    let script = "uname -r; echo to stderr >&2; exit 7";
    let output = exec(&[], &["sh", "-c", script]).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), kernel.version);
    assert_eq!(output.stderr, b"to stderr\n");
}

#[test]
fn a_program_that_is_not_there_is_said_to_be() {
    let Some(_) = kernel() else { return };
    let output = exec(&[], &["no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        complaint,
        "error: in the machine: no-such-program: cannot be run in the machine: No such file or directory\n"
    );
}

#[test]
fn the_hosts_files_are_there_and_cannot_be_changed() {
    let Some(_) = kernel() else { return };
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "of the host").unwrap();
    let script = "cat \"$0\"; echo changed >\"$0\"";
    let output = exec(&[], &["sh", "-c", script, file.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.stdout, b"of the host");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Read-only file system"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of the host");
}

#[test]
fn what_programs_expect_is_mounted() {
    let Some(_) = kernel() else { return };
    let script = "set -e; id -u; touch /run/tmp/a \"$TMPDIR/b\" \"$HOME/c\" /dev/shm/d; test -c /dev/null; \
                  test -d /sys/fs/cgroup/ && test -e /proc/self/fd/1; echo x >/dev/fd/1; \
                  for kind in cgroup2 bpf devpts; do grep -q \" $kind \" /proc/mounts; done; \
                  ip link show lo | grep -q LOOPBACK,UP; ulimit -n";
    let output = exec(&[], &["sh", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"0\nx\n1048576\n");
}

/// Every queue discipline and filter used by the scenarios of the testbed.
#[test]
fn random_numbers_are_those_of_the_seed() {
    let Some(_) = kernel() else { return };
    // The kernel mixes new random numbers in once a minute.
    let script = "read id < /proc/sys/kernel/random/boot_id; sleep 200; echo $id $RANDOM; od -An -tx8 -N8 /dev/urandom";
    let draw = |seed: &str| exec(&[seed], &["bash", "-c", script]).output().unwrap();
    let first = draw("--seed=7").stdout;
    assert_eq!(first, draw("--seed=7").stdout);
    assert_ne!(first, draw("--seed=8").stdout);
}

#[test]
fn the_kernel_has_what_the_testbed_uses() {
    let Some(_) = kernel() else { return };
    let qdiscs = "pfifo bfifo codel fq_codel pie fq_pie sfq choke fq cake dualpi2 prio netem plug";
    let script = format!(
        "set -e; ip link add d0 type dummy; ip link add i0 type ifb; ip link set d0 up; \
         for qdisc in {qdiscs}; do \
           case $qdisc in choke) set -- limit 100 bandwidth 1mbit;; *) set --;; esac; \
           tc qdisc replace dev d0 root handle 1: $qdisc \"$@\" || {{ echo $qdisc; exit 1; }}; tc qdisc del dev d0 root; \
         done; \
         tc qdisc add dev d0 root handle 1: htb default 10; tc class add dev d0 parent 1: classid 1:10 htb rate 1mbit; \
         tc filter add dev d0 parent 1: protocol ip u32 match ip protocol 6 0xff flowid 1:10; \
         tc filter add dev d0 parent 1: protocol ip flower ip_proto tcp tcp_flags 0x2/0x2 classid 1:10; \
         tc qdisc add dev d0 ingress; \
         tc filter add dev d0 parent ffff: matchall action mirred egress redirect dev i0"
    );
    let output = exec(&[], &["sh", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
