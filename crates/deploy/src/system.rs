//! What the system offers: rights and modules.

use crate::native::Module;
use crate::plan::Backing;
use gentle_aqm::Spec;
use std::path::Path;
use std::process::{Command, Stdio};

/// Its number in `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;

/// Whether this process may change the network of its namespace.
pub(crate) fn has_net_admin() -> bool {
    // Where /proc is missing the kernel has the last word, and says so.
    std::fs::read_to_string("/proc/self/status").map_or(true, |status| net_admin_in(&status))
}

fn net_admin_in(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_none_or(|mask| mask & (1 << CAP_NET_ADMIN) != 0)
}

/// What `spec` is best made of on this system: the native module if kernel and `tc` both have it.
pub fn backing_for(spec: &Spec) -> Backing {
    match Module::of(spec) {
        Some(module) if module_loads(module) && tc_knows(module) => Backing::Native,
        _ => Backing::Stock,
    }
}

/// Whether the module is loaded, or would be when it is asked for.
fn module_loads(module: Module) -> bool {
    let name = format!("sch_{}", module.kind());
    Path::new("/sys/module").join(&name).exists()
        || Command::new("modprobe")
            .args(["--dry-run", "--quiet", &name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

/// Whether `tc` has the plug-in that reads the module's options.
fn tc_knows(module: Module) -> bool {
    Command::new("tc")
        .args(["qdisc", "add", "dev", "lo", module.kind(), "help"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| !String::from_utf8_lossy(&output.stderr).contains("Unknown qdisc"))
}

#[cfg(test)]
mod tests {
    use super::net_admin_in;

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
}
