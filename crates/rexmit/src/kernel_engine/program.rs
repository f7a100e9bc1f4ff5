//! Program `bpf/rexmit.c` with its maps, loaded into the kernel by aya.

use super::cgroup::Cgroup;
use super::error::{KernelError, from_aya};
use super::pins::Record;
use super::ticks;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, Map, MapError, ProgramArray};
use aya::programs::links::FdLink;
use aya::programs::{CgroupAttachMode, ProgramError, SockOps};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel, include_bytes_aligned};
use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::error::Error;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

#[cfg(target_endian = "little")]
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/rexmit.bpfel.o"));
#[cfg(target_endian = "big")]
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/rexmit.bpfeb.o"));

/// Name of the program, which bpftool shows.
const NAME: &str = "gentle_rexmit";
/// Name of the program that calls the program in force.
const ENTRY: &str = "gentle_entry";
/// Map of the networks with parameters of their connections.
const NETWORKS: &str = "networks";
/// Map that contains a [`Record`] as JSON.
pub(super) const SETTINGS: &str = "settings";
/// Map of the numbers of SYNs and SYN/ACKs that got an initial RTO.
pub(super) const COUNTERS: &str = "counters";
/// Map of the program in force.
pub(super) const PROGRAMS: &str = "programs";

/// Index of the counter of SYNs.
pub(super) const SYNS: usize = 0;
/// Index of the counter of SYN/ACKs.
pub(super) const SYN_ACKS: usize = 1;

/// Entry of the map of settings; the text is padded with blanks, which JSON allows.
pub(super) type SettingsChunk = [u8; 256];

/// Default initial RTO of the kernel (`TCP_TIMEOUT_INIT`, include/net/tcp.h).
const KERNEL_INITIAL_RTO: Duration = Duration::from_secs(1);

/// Default number of SYN retransmissions of the kernel (`TCP_SYN_RETRIES`, include/net/tcp.h).
const SYN_RETRIES: i32 = 6;

/// Program in the kernel.
pub(super) struct Program(Ebpf);

/// Attachment to a control group, for as long as it is open or pinned: calls the program in the map, if there is one.
/// aya does not replace the program of a link.
pub(super) struct Entry {
    pub(super) link: FdLink,
    pub(super) programs: Map,
}

impl Program {
    /// Loads the program with these settings.
    pub(super) fn load(record: &Record) -> Result<Program, KernelError> {
        let settings = &record.settings;
        // Before Linux 5.11, maps and programs count as locked memory, which is limited to 64 kB. A process that may
        // load them may also raise the limit; if not, the kernel's error names the missing privilege.
        let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
        let hz = ticks::per_second().map_err(io::Error::from).map_err(failed("clock_getres(2)"))?;
        let params = |treatment| params(settings.timeout(treatment), settings.extend_retries, hz);
        let text = serde_json::to_vec(record).map_err(failed("settings"))?;
        let mut object = EbpfLoader::new()
            // Without statistics, the last line but one of the log is the error.
            .verifier_log_level(VerifierLogLevel::DEBUG)
            .override_global("syn", &u8::from(settings.syn), true)
            .override_global("syn_ack", &u8::from(settings.syn_ack), true)
            .override_global("ports", &port_bits(&settings.ports)[..], true)
            .override_global("others", &params(settings.others), true)
            .override_global("syn_retries", &syn_retries(), true)
            .map_max_entries(NETWORKS, settings.networks.len().max(1) as u32)
            .map_max_entries(SETTINGS, text.len().div_ceil(size_of::<SettingsChunk>()) as u32)
            .load(OBJECT)
            .map_err(failed("bpf(BPF_MAP_CREATE)"))?;
        let mut fill = || -> Result<(), MapError> {
            let mut networks = LpmTrie::<_, [u8; 16], [u32; 2]>::try_from(map(&mut object, NETWORKS)?)?;
            for network in &settings.networks {
                networks.insert(&key(network.prefix), params(network.treatment), 0)?;
            }
            let mut stored = Array::<_, SettingsChunk>::try_from(map(&mut object, SETTINGS)?)?;
            for (index, chunk) in (0..).zip(text.chunks(size_of::<SettingsChunk>())) {
                let mut padded = [b' '; size_of::<SettingsChunk>()];
                padded[..chunk.len()].copy_from_slice(chunk);
                stored.set(index, padded, 0)?;
            }
            Ok(())
        };
        fill().map_err(failed("bpf(BPF_MAP_UPDATE_ELEM)"))?;
        let mut program = Program(object);
        program.load_one(NAME)?;
        Ok(program)
    }

    /// Attaches the program to a control group, in addition to those already there, for as long as the link is open.
    pub(super) fn link(&mut self, cgroup: &Cgroup) -> Result<FdLink, KernelError> {
        self.link_one(NAME, cgroup)
    }

    /// Attaches an entry without a program to a control group, in addition to the programs already there.
    pub(super) fn entry(&mut self, cgroup: &Cgroup) -> Result<Entry, KernelError> {
        self.load_one(ENTRY)?;
        let link = self.link_one(ENTRY, cgroup)?;
        let programs = self.0.take_map(PROGRAMS).ok_or(MapError::ElementNotFound);
        Ok(Entry { link, programs: programs.map_err(failed("bpf(BPF_MAP_CREATE)"))? })
    }

    /// Makes this program the one in force, atomically.
    pub(super) fn put_in_force(&mut self, programs: &mut Map) -> Result<(), KernelError> {
        let put = || -> Result<(), ProgramError> {
            ProgramArray::try_from(programs)?.set(0, self.sock_ops(NAME)?.fd()?, 0)?;
            Ok(())
        };
        put().map_err(failed("bpf(BPF_MAP_UPDATE_ELEM)"))
    }

    fn load_one(&mut self, name: &str) -> Result<(), KernelError> {
        self.sock_ops(name).and_then(SockOps::load).map_err(failed("bpf(BPF_PROG_LOAD)"))
    }

    fn link_one(&mut self, name: &str, cgroup: &Cgroup) -> Result<FdLink, KernelError> {
        let mut attach = || -> Result<FdLink, ProgramError> {
            let program = self.sock_ops(name)?;
            // A link always allows other programs; the kernel rejects the flag for it.
            let id = program.attach(cgroup, CgroupAttachMode::Single)?;
            // Kernels before 5.7 have no such link.
            FdLink::try_from(program.take_link(id)?).map_err(|_| ProgramError::NotAttached)
        };
        attach().map_err(failed("bpf(BPF_LINK_CREATE)"))
    }

    /// Maps to pin, with their names.
    pub(super) fn maps(&self) -> impl Iterator<Item = (&str, &Map)> {
        self.0.maps().filter(|(name, _)| [SETTINGS, COUNTERS].contains(name))
    }

    fn sock_ops(&mut self, name: &str) -> Result<&mut SockOps, ProgramError> {
        self.0.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
    }
}

fn map<'a>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, MapError> {
    object.map_mut(name).ok_or(MapError::ElementNotFound)
}

fn failed<E: Error + 'static>(what: &'static str) -> impl Fn(E) -> KernelError {
    move |error| KernelError::Kernel { what, problem: from_aya(error) }
}

/// Server ports, one bit each; without a range, all ports.
fn port_bits(ranges: &[RangeInclusive<u16>]) -> [u8; 1 << 13] {
    let mut bits = [if ranges.is_empty() { u8::MAX } else { 0 }; 1 << 13];
    for port in ranges.iter().cloned().flatten() {
        bits[usize::from(port >> 3)] |= 1 << (port & 7);
    }
    bits
}

/// Parameters of connections: the initial RTO in ticks (0: the kernel's own), and the number of SYN retransmissions in
/// addition to the kernel's.
fn params(timeout: Option<Duration>, extend_retries: bool, hz: u32) -> [u32; 2] {
    timeout.map_or([0, 0], |timeout| {
        let more = if extend_retries { more_retries(timeout) } else { 0 };
        [ticks::of(timeout, hz), more]
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
fn key(prefix: IpNet) -> Key<[u8; 16]> {
    let (length, address) = match prefix {
        IpNet::V4(net) => (96 + net.prefix_len(), net.addr().to_ipv6_mapped()),
        IpNet::V6(net) => (net.prefix_len(), net.addr()),
    };
    Key::new(u32::from(length), address.octets())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_bits() {
        assert_eq!(port_bits(&[]), [0xff; 1 << 13]);
        let bits = port_bits(&[0..=1, 79..=81, 65_535..=65_535]);
        let set: Vec<u16> = (0..=u16::MAX).filter(|port| bits[usize::from(port >> 3)] >> (port & 7) & 1 == 1).collect();
        assert_eq!(set, [0, 1, 79, 80, 81, 65_535]);
    }

    #[test]
    fn addresses_of_both_kinds_are_keys() {
        let [v4, v6]: [IpNet; 2] = ["192.0.2.0/24", "2001:db8::/32"].map(|net| net.parse().unwrap());
        let v4 = key(v4);
        assert_eq!(v4.prefix_len(), 120);
        assert_eq!(v4.data(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 0]);
        let v6 = key(v6);
        assert_eq!((v6.prefix_len(), &v6.data()[..4]), (32, &[0x20, 1, 0xd, 0xb8][..]));
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
}
