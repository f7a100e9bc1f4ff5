//! Capabilities and kernel modules of the system.

use crate::device::Device;
use crate::netlink::{Netlink, interface};
use crate::setup::Backing;
use gentle_aqm::{KernelQdisc, Spec};
use std::path::Path;
use std::process::{Command, Stdio};

/// Number of the capability in `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;

/// Whether this process may change the network of its namespace.
pub(crate) fn has_net_admin() -> bool {
    // Without /proc, a missing capability shows as an error of the kernel.
    std::fs::read_to_string("/proc/self/status").map_or(true, |status| net_admin_in(&status))
}

/// Effective user of this process.
pub(crate) fn effective_user() -> u32 {
    // Without /proc, a directory of another user than root is refused.
    std::fs::read_to_string("/proc/self/status").ok().and_then(|status| effective_user_in(&status)).unwrap_or(0)
}

/// proc_pid_status(5): real, effective, saved and file-system user.
fn effective_user_in(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

fn net_admin_in(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_none_or(|mask| mask & (1 << CAP_NET_ADMIN) != 0)
}

/// Backing chosen for a scheme, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackingChoice {
    /// Parts from which to make the scheme.
    pub backing: Backing,
    /// Description of the part that the native module lacks, if stock parts replace it.
    pub missing: Option<String>,
}

/// Preferred backing of `spec` on this system: the native module if both kernel and `tc` support it.
///
/// The kernel is queried by means of `dev` if that device exists and this process may change its queues; otherwise the
/// module's file is looked up.
pub fn backing_for(spec: &Spec, dev: Option<&Device>) -> BackingChoice {
    let Some(module) = spec.module() else {
        return BackingChoice { backing: Backing::Stock, missing: None };
    };
    let missing = Netlink::open().and_then(|mut netlink| {
        let ifindex = match dev {
            Some(dev) => interface(&mut netlink, dev)?.map(|interface| interface.index),
            None => None,
        };
        Ok(missing(&mut netlink, module, ifindex))
    });
    let missing = missing.unwrap_or_else(|error| Some(error.to_string()));
    BackingChoice {
        backing: match missing {
            None => Backing::Native,
            Some(_) => Backing::Stock,
        },
        missing,
    }
}

/// Description of the part that `module` lacks on this system; `None` if it is usable.
pub(crate) fn missing(netlink: &mut Netlink, module: &KernelQdisc, ifindex: Option<u32>) -> Option<String> {
    let kind = module.kind;
    let answer = match ifindex.filter(|_| has_net_admin()) {
        Some(ifindex) => netlink.has_qdisc(ifindex, kind).ok().flatten(),
        None => None,
    };
    match answer {
        Some(false) => {
            Some(format!("this kernel has no sch_{kind} (see kernel/README.md in gentle's source to install it)"))
        }
        None if !module_exists(module) => Some(format!(
            "no module sch_{kind} was found for this kernel (see kernel/README.md in gentle's source to install it; \
             with CAP_NET_ADMIN, gentle would ask the kernel itself)"
        )),
        _ if !tc_supports(module) => {
            Some(format!("tc has no plug-in for {kind} (make -C kernel install-tc, in gentle's source, installs it)"))
        }
        _ => None,
    }
}

/// Whether the module is loaded, or can be loaded by `modprobe`.
fn module_exists(module: &KernelQdisc) -> bool {
    let name = format!("sch_{}", module.kind);
    Path::new("/sys/module").join(&name).exists()
        || Command::new("modprobe")
            .args(["--dry-run", "--quiet", &name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

/// Whether `tc` has a plug-in for the qdisc.
fn tc_supports(module: &KernelQdisc) -> bool {
    Command::new("tc")
        .args(["qdisc", "add", "dev", "lo", module.kind, "help"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| !String::from_utf8_lossy(&output.stderr).contains("Unknown qdisc"))
}

#[cfg(test)]
mod tests {
    use super::{effective_user_in, net_admin_in};

    #[test]
    fn the_capability_is_read_from_the_effective_set() {
        for (mask, has) in [
            ("000001ffffffffff", true),
            ("0000000000001000", true),
            ("0000000000000000", false),
            ("ffffffffffffefff", false),
        ] {
            let status = format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask}\n");
            assert_eq!(net_admin_in(&status), has, "{mask}");
        }
    }

    #[test]
    fn the_second_number_is_the_effective_user() {
        let status = "Name:\tgentle\nUid:\t1000\t7\t8\t9\nGid:\t1\t2\t3\t4\n";
        assert_eq!(effective_user_in(status), Some(7));
        assert_eq!(effective_user_in("Name:\tgentle\n"), None);
    }
}
