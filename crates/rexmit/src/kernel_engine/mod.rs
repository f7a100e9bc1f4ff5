//! Kernel engine: sets the initial RTO of this host's own connections inside the kernel.
//!
//! No packets are captured or copied. A BPF program on a control group answers when TCP asks for the initial RTO of a
//! SYN or a SYN/ACK, which is otherwise one second (`TCP_TIMEOUT_INIT`, RFC 6298 section 2.1). The rest is up to TCP: a
//! SYN is repeated `net.ipv4.tcp_syn_linear_timeouts` times (4) at equal intervals, then at intervals that double; a
//! SYN/ACK at intervals that double from the beginning. The kernel has no lower bound except its tick.
//!
//! [`install`] pins the program in the BPF file system, where it outlives the command (but not a reboot); a second call
//! replaces the program of the first. [`status`] lists what is installed, [`remove`] removes it. [`attach`] pins
//! nothing: the program is detached when its process ends.

mod bpf;
mod cgroup;
mod error;
mod instruction;
mod pins;
mod program;
mod settings;
mod ticks;

pub use cgroup::default_cgroup;
pub use error::KernelError;
pub use settings::{Network, Settings, Treatment, learned_network, unlearned_delay};

use bpf::{Map, Shape};
use cgroup::Cgroup;
use ipnet::IpNet;
use pins::{Pins, Record};
use program::{ConnectionParams, ProgramSpec, SYN_ACKS, SYNS};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Serialize;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the program in bpftool.
const NAME: &str = "gentle_rexmit";

/// Default initial RTO of the kernel (`TCP_TIMEOUT_INIT`, include/net/tcp.h).
const KERNEL_INITIAL_RTO: Duration = Duration::from_secs(1);

/// Default number of SYN retransmissions of the kernel (`TCP_SYN_RETRIES`, include/net/tcp.h).
const SYN_RETRIES: i32 = 6;

/// Program attached to a control group for as long as this value lives.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
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
    settings.check()?;
    let cgroup = Cgroup::open(cgroup)?;
    let loaded = Loaded::new(settings)?;
    let record = record(&Record { cgroup: cgroup.path.clone(), settings: settings.clone() })?;
    let pins = Pins::open_or_create()?;
    let pinned = pins.of(cgroup.number);
    // The link of a removed control group whose number has been reused is not in force.
    let old = match pinned.link()? {
        Some(link) if in_force(&link)? => Some(link),
        _ => None,
    };
    let link = match &old {
        Some(link) => link,
        None => &loaded.link(&cgroup)?,
    };
    let new_pins = pinned.prepare_replacement(link, &record, &loaded.counters)?;
    if let Some(link) = &old
        && let Err(problem) = bpf::replace(link, &loaded.program)
    {
        new_pins.discard()?;
        let what = "bpf(BPF_LINK_UPDATE)";
        return Err(KernelError::Kernel { what, problem });
    }
    new_pins.commit()
}

/// Attaches the program to the control group until the value is dropped.
///
/// # Errors
/// Like [`install`].
pub fn attach(settings: &Settings, cgroup: &Path) -> Result<Attached, KernelError> {
    settings.check()?;
    let cgroup = Cgroup::open(cgroup)?;
    let link = Loaded::new(settings)?.link(&cgroup)?;
    Ok(Attached { _link: link })
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
        let link = pinned.link()?;
        all.push(Status {
            cgroup: record.cgroup,
            in_force: link.map_or(Ok(false), |link| in_force(&link))?,
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

fn in_force(link: &OwnedFd) -> Result<bool, KernelError> {
    match bpf::cgroup_of(link) {
        Ok(cgroup) => Ok(cgroup.is_some()),
        Err(problem) => Err(KernelError::Kernel { what: "bpf(BPF_OBJ_GET_INFO_BY_FD)", problem }),
    }
}

fn record(record: &Record) -> Result<Map, KernelError> {
    let write = || {
        let text = serde_json::to_vec(record)?;
        let map = Map::create("settings", Shape::array(text.len(), 1))?;
        map.update(&0_u32.to_ne_bytes(), &text)?;
        Ok(map)
    };
    write().map_err(|problem| KernelError::Kernel { what: "bpf(BPF_MAP_CREATE)", problem })
}

/// Program loaded into the kernel, with its counters.
struct Loaded {
    program: OwnedFd,
    counters: Map,
}

impl Loaded {
    fn new(settings: &Settings) -> Result<Loaded, KernelError> {
        // Before Linux 5.11, maps and programs count as locked memory, which is limited to 64 kB. A process that may
        // load them may also raise the limit; if not, the kernel's error names the missing privilege.
        let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
        let kernel = |what| move |problem| KernelError::Kernel { what, problem };
        let hz = ticks::per_second().map_err(|error| kernel("clock_getres(2)")(error.into()))?;
        let params = |treatment| params(settings.timeout(treatment), settings.extend_retries, hz);
        let map = kernel("bpf(BPF_MAP_CREATE)");
        let counters = Map::create("counters", Shape::array(8, 2)).map_err(map)?;
        let networks = match settings.networks.len() {
            0 => None,
            entries => {
                let shape = Shape::prefixes(8, entries as u32);
                let networks = Map::create("networks", shape).map_err(map)?;
                for network in &settings.networks {
                    let value = params(network.treatment).bytes();
                    networks.update(&key(network.prefix), &value).map_err(kernel("bpf(BPF_MAP_UPDATE_ELEM)"))?;
                }
                Some(networks)
            }
        };
        let spec = ProgramSpec {
            syn: settings.syn,
            syn_ack: settings.syn_ack,
            ports: &settings.ports,
            networks: networks.as_ref().map(AsFd::as_fd),
            others: params(settings.others),
            counters: Some(counters.as_fd()),
            syn_retries: syn_retries(),
        };
        let code = program::assemble(&spec).ok_or(KernelError::TooMany {
            what: "ranges of ports",
            have: settings.ports.len(),
            max: Settings::MAX_PORTS,
        })?;
        let program = bpf::load(NAME, &code).map_err(kernel("bpf(BPF_PROG_LOAD)"))?;
        Ok(Loaded { program, counters })
    }

    fn link(&self, cgroup: &Cgroup) -> Result<OwnedFd, KernelError> {
        bpf::link(&self.program, cgroup.as_fd())
            .map_err(|problem| KernelError::Kernel { what: "bpf(BPF_LINK_CREATE)", problem })
    }
}

fn params(timeout: Option<Duration>, extend_retries: bool, hz: u32) -> ConnectionParams {
    timeout.map_or(ConnectionParams::default(), |timeout| ConnectionParams {
        ticks: ticks::of(timeout, hz),
        more_retries: if extend_retries { more_retries(timeout) } else { 0 },
    })
}

/// Number of additional SYN retransmissions after which `connect` gives up no sooner than with the kernel's own initial RTO.
/// With n doubling timeouts after l equal ones it gives up after (l + 2^(n+1) - 1) times the initial RTO.
fn more_retries(timeout: Duration) -> u32 {
    let ratio = KERNEL_INITIAL_RTO.as_nanos().div_ceil(timeout.as_nanos().max(1));
    ratio.next_power_of_two().ilog2()
}

/// Number of SYN retransmissions of this network namespace; namespaces where it was changed keep their own.
fn syn_retries() -> i32 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_syn_retries").unwrap_or_default();
    text.trim().parse().unwrap_or(SYN_RETRIES)
}

/// Key of the map of networks: the prefix length and the address as IPv6 (IPv4 addresses mapped, RFC 4291 section
/// 2.5.5.2).
fn key(prefix: IpNet) -> [u8; 20] {
    let (length, address) = match prefix {
        IpNet::V4(net) => (96 + net.prefix_len(), net.addr().to_ipv6_mapped()),
        IpNet::V6(net) => (net.prefix_len(), net.addr()),
    };
    let mut key = [0; 20];
    key[..4].copy_from_slice(&u32::from(length).to_ne_bytes());
    key[4..].copy_from_slice(&address.octets());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_keys() {
        let [v4, v6]: [IpNet; 2] = ["192.0.2.0/24", "2001:db8::/32"].map(|net| net.parse().unwrap());
        let v4 = key(v4);
        assert_eq!(v4[..4], 120_u32.to_ne_bytes());
        assert_eq!(v4[4..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 0]);
        assert_eq!(key(v6)[..8], [32_u32.to_ne_bytes(), [0x20, 1, 0xd, 0xb8]].concat());
    }

    #[test]
    fn connections_give_up_no_sooner() {
        // Seconds until the kernel gives up: 4 + 2^7 - 1.
        let own = 131.0;
        for ms in [10_u64, 100, 200, 250, 300, 500, 999, 1000] {
            let more = more_retries(Duration::from_millis(ms));
            let gives_up = ms as f64 / 1e3 * (4.0 + libm::exp2(f64::from(7 + more as i32)) - 1.0);
            assert!(gives_up > 0.98 * own, "{ms} ms: {gives_up} s");
            assert!(gives_up < 2.0 * own, "{ms} ms: {gives_up} s");
        }
        assert_eq!(more_retries(Duration::from_secs(3)), 0);
    }

    #[test]
    fn settings_without_a_meaning_are_refused() {
        let cgroup = Path::new("/nowhere");
        for ms in [1, 121_000] {
            let settings = Settings::everything(Duration::from_millis(ms));
            assert!(matches!(install(&settings, cgroup), Err(KernelError::DelayOutOfRange { .. })));
        }
        let mut settings = Settings::everything(Duration::from_millis(200));
        settings.ports = vec![80..=80; Settings::MAX_PORTS + 1];
        assert!(matches!(install(&settings, cgroup), Err(KernelError::TooMany { .. })));
        settings.ports.clear();
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
