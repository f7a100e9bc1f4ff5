//! Kernel engine: sets the initial RTO of this host's own connections inside the kernel.
//!
//! No packets are captured or copied. A BPF program on a control group supplies TCP with the initial RTO of a SYN or a
//! SYN/ACK, which is otherwise one second (`TCP_TIMEOUT_INIT`, RFC 6298 section 2.1). The rest is up to TCP: a SYN is
//! repeated `net.ipv4.tcp_syn_linear_timeouts` times (4) at equal intervals, then at intervals that double; a SYN/ACK
//! at intervals that double from the beginning. The kernel has no lower bound except its tick.
//!
//! [`install`] pins the program in the BPF file system, where it outlives the command (but not a reboot); a second call
//! replaces the program of the first. [`status`] lists what is installed, [`remove`] removes it. [`attach`] pins
//! nothing: the program is detached when its process ends.

mod cgroup;
mod error;
mod pins;
mod program;
mod settings;
mod ticks;

pub use cgroup::default_cgroup;
pub use error::KernelError;
pub use settings::{Network, Settings, Treatment, learned_network, unlearned_delay};

use aya::programs::links::FdLink;
use cgroup::Cgroup;
use pins::{Pins, Record};
use program::{Entry, Program, SYN_ACKS, SYNS};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Program attached to a control group for as long as this value lives.
#[derive(Debug)]
pub struct Attached {
    _link: FdLink,
}

/// Program installed on a control group.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Directory of the control group.
    pub cgroup: PathBuf,
    /// Whether the control group still exists.
    pub in_force: bool,
    /// Settings of the program.
    pub settings: Settings,
    /// SYNs that got their initial RTO from the program since the last [`install`].
    pub syns: u64,
    /// SYN/ACKs that got their initial RTO from the program since the last [`install`].
    pub syn_acks: u64,
}

/// Installs the program permanently on the control group; replaces a program installed on it before.
///
/// # Errors
/// If the settings are invalid, the directory is not a control group, or the kernel rejects a call. The previous state
/// is then kept.
pub fn install(settings: &Settings, cgroup: &Path) -> Result<(), KernelError> {
    let (mut program, cgroup) = load(settings, cgroup)?;
    let pins = Pins::open_or_create()?;
    let pinned = pins.of(cgroup.number);
    let Entry { link, mut programs } = match pinned.entry()? {
        Some(entry) => entry,
        None => program.entry(&cgroup)?,
    };
    let new_pins = pinned.prepare_replacement(link, &programs, &program)?;
    if let Err(error) = program.put_in_force(&mut programs) {
        new_pins.remove()?;
        return Err(error);
    }
    pinned.replace_by(&new_pins)
}

/// Attaches the program to the control group until the value is dropped.
///
/// # Errors
/// Like [`install`].
pub fn attach(settings: &Settings, cgroup: &Path) -> Result<Attached, KernelError> {
    let (mut program, cgroup) = load(settings, cgroup)?;
    Ok(Attached { _link: program.link(&cgroup)? })
}

fn load(settings: &Settings, cgroup: &Path) -> Result<(Program, Cgroup), KernelError> {
    settings.check()?;
    let cgroup = Cgroup::open(cgroup)?;
    let record = Record { cgroup: cgroup.path.clone(), settings: settings.clone() };
    Ok((Program::load(&record)?, cgroup))
}

/// Installed programs, in order of the control groups' names.
///
/// # Errors
/// If the pins cannot be read.
pub fn status() -> Result<Vec<Status>, KernelError> {
    let Some(pins) = Pins::open()? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for pinned in pins.all()? {
        let record = pinned.record()?;
        all.push(Status {
            cgroup: record.cgroup,
            in_force: pinned.in_force()?,
            settings: record.settings,
            syns: pinned.count(SYNS)?,
            syn_acks: pinned.count(SYN_ACKS)?,
        });
    }
    all.sort_by(|a, b| a.cgroup.cmp(&b.cgroup));
    Ok(all)
}

/// Removes the program from the control group, or from all; returns the number of control groups from which one was
/// removed.
///
/// # Errors
/// If the pins cannot be read or removed.
pub fn remove(cgroup: Option<&Path>) -> Result<usize, KernelError> {
    let Some(pins) = Pins::open()? else {
        return Ok(0);
    };
    let mut removed = 0;
    for pinned in pins.all()? {
        let wanted = match cgroup {
            None => true,
            // The path of a removed control group cannot be resolved.
            Some(path) => {
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                pinned.record()?.cgroup == path
            }
        };
        if wanted {
            pinned.remove()?;
            removed += 1;
        }
    }
    pins.remove_if_empty()?;
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn settings_without_a_meaning_are_refused() {
        let cgroup = Path::new("/nowhere");
        for ms in [1, 121_000] {
            let settings = Settings::everything(Duration::from_millis(ms));
            assert!(matches!(install(&settings, cgroup), Err(KernelError::DelayOutOfRange { .. })));
        }
        let mut settings = Settings::everything(Duration::from_millis(200));
        let network = Network { prefix: "192.0.2.0/24".parse().unwrap(), treatment: Treatment::Exclude };
        settings.networks = vec![network; Settings::MAX_NETWORKS + 1];
        assert!(matches!(install(&settings, cgroup), Err(KernelError::TooMany { .. })));
        settings.networks.clear();
        (settings.syn, settings.syn_ack) = (false, false);
        assert!(matches!(install(&settings, cgroup), Err(KernelError::NothingSelected)));
    }

    #[test]
    fn a_directory_that_is_no_control_group_is_refused() {
        let settings = Settings::everything(Duration::from_millis(200));
        let error = install(&settings, Path::new("/proc")).unwrap_err();
        assert!(error.to_string().starts_with("/proc: "), "{error}");
    }
}
