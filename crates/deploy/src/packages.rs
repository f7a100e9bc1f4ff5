//! Kernel parts that a failed command lacked, and the packages that contain them.

use crate::command::{Command, Program};
use gentle_aqm::{Origin, registry};

/// Part of Linux that distributions may leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// Name of the module for `modprobe`.
    module: String,
    /// Option of the kernel's configuration.
    config: String,
    /// OpenWrt package, if the registry of schemes names it.
    openwrt: Option<&'static str>,
    /// Versions of Linux and of `tc` that have it; `None`: all that are in use.
    needs: Option<&'static str>,
}

/// Messages of the kernel (`net/sched/`, `net/core/rtnetlink.c`) and of iproute2 about a missing part, with its kind.
const MESSAGES: [(&str, Kind); 4] = [
    ("Specified qdisc kind is unknown", Kind::Qdisc),
    ("TC classifier not found", Kind::Classifier),
    ("Failed to load TC action module", Kind::Action),
    ("Unknown device type", Kind::Device),
];

/// Message of a `tc` that does not know the qdisc (iproute2, `tc/tc.c`: `parse_noqopt`).
const UNPARSABLE: &str = "is unparsable";

#[derive(Clone, Copy)]
enum Kind {
    Qdisc,
    Classifier,
    Action,
    Device,
}

/// OpenWrt packages of modules that belong to no scheme (`package/kernel/linux/modules/netsupport.mk`). Modules without
/// an entry here or in the registry of schemes are in `kmod-sched`.
const OPENWRT: [(&str, &str); 8] = [
    ("sch_htb", "kmod-sched-core"),
    ("sch_tbf", "kmod-sched-core"),
    ("sch_ingress", "kmod-sched-core"),
    ("cls_u32", "kmod-sched-core"),
    ("act_mirred", "kmod-sched-core"),
    ("sch_prio", "kmod-sched-prio"),
    ("act_police", "kmod-sched-act-police"),
    ("ifb", "kmod-ifb"),
];

/// Remedy for a command that failed with this output because the kernel lacks a part; `None` for other failures.
pub(crate) fn remedy(command: &Command, output: &str) -> Option<String> {
    let args: Vec<&str> = command.args.iter().map(String::as_str).collect();
    if output.contains(UNPARSABLE) {
        let qdisc = qdisc(command.program, &args)?;
        let needs = registry::kernel_qdisc(qdisc)?.needs?;
        return Some(format!("this tc does not support {qdisc}, which needs {needs}"));
    }
    let (_, kind) = MESSAGES.iter().find(|(message, _)| output.contains(message))?;
    let part = match kind {
        Kind::Qdisc => {
            let qdisc = qdisc(command.program, &args)?;
            let known = registry::kernel_qdisc(qdisc);
            if known.is_some_and(|known| known.origin == Origin::Gentle) {
                return Some(format!(
                    "this kernel has no sch_{qdisc}: see kernel/README.md in gentle's source to install it"
                ));
            }
            Part {
                openwrt: known.and_then(|known| known.openwrt_package),
                needs: known.and_then(|known| known.needs),
                ..Part::new("sch", "NET_SCH", qdisc)
            }
        }
        Kind::Classifier => Part::new("cls", "NET_CLS", "u32"),
        Kind::Action => Part::new("act", "NET_ACT", after(&args, "action", 0)?),
        Kind::Device => {
            let device = after(&args, "type", 0)?;
            Part {
                module: device.to_owned(),
                config: format!("CONFIG_{}", device.to_uppercase()),
                openwrt: None,
                needs: None,
            }
        }
    };
    Some(part.sentence())
}

/// Argument after `keyword`, skipping `skip` arguments in between.
fn after<'a>(args: &[&'a str], keyword: &str, skip: usize) -> Option<&'a str> {
    let at = args.iter().position(|arg| *arg == keyword)?;
    args.get(at + 1 + skip).copied()
}

/// Kind of the qdisc that a command creates; it follows the handle.
fn qdisc<'a>(program: Program, args: &[&'a str]) -> Option<&'a str> {
    let makes = program == Program::Tc && args.first() == Some(&"qdisc");
    after(args, "handle", 1).filter(|_| makes)
}

impl Part {
    fn new(prefix: &str, config: &str, kind: &str) -> Part {
        Part {
            module: format!("{prefix}_{kind}"),
            config: format!("CONFIG_{config}_{}", kind.to_uppercase()),
            openwrt: None,
            needs: None,
        }
    }

    fn sentence(&self) -> String {
        let Part { module, config, openwrt, needs } = self;
        let listed = OPENWRT.iter().find(|(name, _)| name == module);
        let listed = listed.map(|(_, package)| *package);
        let openwrt = openwrt.or(listed).unwrap_or("kmod-sched");
        let needs = needs.map_or_else(String::new, |needs| format!(" (which needs {needs})"));
        format!(
            "this kernel has no {module}{needs}: Debian has it in linux-image-amd64 (or the package of another architecture), OpenWrt in {openwrt}, a self-built kernel needs {config}; after a kernel update, reboot first"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::remedy;
    use crate::command::Command;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let unknown = "Error: Specified qdisc kind is unknown.";
        for (command, output, module, package) in [
            (
                Command::tc("qdisc add dev eth0 parent 5a0:1 handle 5a1: prio bands 2"),
                unknown,
                "sch_prio",
                "kmod-sched-prio",
            ),
            (
                Command::tc("qdisc replace dev eth0 root handle 5a0: htb default 1"),
                unknown,
                "sch_htb",
                "kmod-sched-core",
            ),
            (Command::tc("qdisc add dev eth0 parent 5a1:1 handle 5a2: codel"), unknown, "sch_codel", "kmod-sched,"),
            (Command::tc("qdisc add dev eth0 parent 5a0:1 handle 5a1: spa"), unknown, "sch_spa", "kernel/README.md"),
            (
                Command::tc("filter add dev eth0 parent 5a1: protocol ip pref 1 u32 match u32 0 0"),
                "Error: TC classifier not found.\nWe have an error talking to the kernel",
                "cls_u32",
                "kmod-sched-core",
            ),
            (
                Command::tc("filter add dev eth0 parent 5a1: protocol ip pref 1 u32 ht 1: action police index 3"),
                "Error: Failed to load TC action module.",
                "act_police",
                "kmod-sched-act-police",
            ),
            (
                Command::tc("qdisc replace dev eth0 root handle 5a1: dualpi2"),
                unknown,
                "sch_dualpi2",
                "needs Linux 6.17",
            ),
            (Command::ip("link add name in-eth0 type ifb"), "Error: Unknown device type.", "ifb", "kmod-ifb"),
        ] {
            let sentence = remedy(&command, output).unwrap();
            assert!(sentence.contains(&format!("no {module}")) && sentence.contains(package), "{sentence}");
        }
        let command = Command::tc("qdisc add dev eth0 root handle 5a1: dualpi2 limit 50");
        let unparsable = "Unknown qdisc \"dualpi2\", hence option \"limit\" is unparsable";
        assert_eq!(
            remedy(&command, unparsable).unwrap(),
            "this tc does not support dualpi2, which needs Linux 6.17 and the tc of iproute2 6.17, or later"
        );
        let command = Command::ip("link add name in-eth0 type ifb");
        assert_eq!(remedy(&command, "RTNETLINK answers: File exists"), None);
    }
}
