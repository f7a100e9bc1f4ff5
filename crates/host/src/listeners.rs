//! Listening sockets: accept queues, limits and drops, over sock_diag(7), and the counters that concern them.

use crate::counters::Values;
use crate::finding::Finding;
use crate::growth::Growth;
use crate::kind::FindingKind;
use crate::missing::{Missing, Source};
use crate::tcp_counters::check;
use crate::wording::{counted, times};
use crate::worst::{MAX_PLACES, Worst};
use gentle_netlink::{NetlinkSocket, Protocol, RequestError, find, word};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maximum number of listening sockets per address family that are considered, those with the most drops first.
pub const MAX_SOCKETS: usize = 4_096;

/// `SOCK_DIAG_BY_FAMILY`, include/uapi/linux/sock_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// `TCP_LISTEN`, include/net/tcp_states.h.
const TCP_LISTEN: u8 = 10;
/// `INET_DIAG_SKMEMINFO`, include/uapi/linux/inet_diag.h.
const SKMEMINFO: u8 = 7;
/// `SK_MEMINFO_DROPS`, include/uapi/linux/sock_diag.h.
const DROPS: usize = 8;
/// Size of `struct inet_diag_msg`.
const MESSAGE: usize = 72;

/// Listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listener {
    /// Number that no other socket gets until the next boot.
    cookie: u64,
    address: SocketAddr,
    /// Connections that wait for accept(2).
    waiting: u32,
    /// Backlog of listen(2), at most net.core.somaxconn.
    backlog: u32,
    /// Dropped segments.
    drops: u32,
}

impl Listener {
    /// Whether the next SYN is dropped (`sk_acceptq_is_full`, include/net/sock.h).
    fn is_full(&self) -> bool {
        self.waiting > self.backlog
    }

    /// Parses `struct inet_diag_msg` with its attributes.
    fn parse(bytes: &[u8]) -> Option<Listener> {
        let header = bytes.get(..MESSAGE)?;
        let port = u16::from_be_bytes([header[4], header[5]]);
        let ip = match header[0] {
            AF_INET => IpAddr::V4(Ipv4Addr::from(*header[8..].first_chunk::<4>()?)),
            AF_INET6 => IpAddr::V6(Ipv6Addr::from(*header[8..].first_chunk::<16>()?)),
            _ => return None,
        };
        if header[1] != TCP_LISTEN {
            return None;
        }
        let memory = find(&bytes[MESSAGE..], SKMEMINFO.into()).unwrap_or_default();
        Some(Listener {
            cookie: u64::from(word(header, 48)?) << 32 | u64::from(word(header, 44)?),
            address: SocketAddr::new(ip, port),
            waiting: word(header, 56)?,
            backlog: word(header, 60)?,
            // Old kernels do not have it.
            drops: word(memory, DROPS * 4).unwrap_or(0),
        })
    }
}

/// `struct inet_diag_req_v2` for all listening sockets of a family.
fn request(family: u8) -> Vec<u8> {
    let mut bytes = vec![family, IPPROTO_TCP, 1 << (SKMEMINFO - 1), 0];
    bytes.extend((1_u32 << TCP_LISTEN).to_ne_bytes());
    // `struct inet_diag_sockid`: any.
    bytes.resize(bytes.len() + 48, 0);
    bytes
}

/// Listening sockets of a network namespace.
#[derive(Debug)]
pub(crate) struct Listeners {
    netlink: NetlinkSocket,
    drops: Growth<u64>,
}

impl Listeners {
    pub(crate) fn open() -> Result<Listeners, Missing> {
        let open = || {
            let mut netlink = NetlinkSocket::open(Protocol::SockDiag)?;
            list(&mut netlink)?;
            Ok(Listeners { netlink, drops: Growth::new() })
        };
        open().map_err(|error: RequestError| {
            let remedy = "load the kernel's modules inet_diag and tcp_diag: modprobe tcp_diag";
            Missing::new(Source::Listeners, "queues of listening sockets", &io::Error::from(error), remedy)
        })
    }

    /// State of all listening sockets; `None` if it cannot be read at the moment.
    pub(crate) fn read(&mut self) -> Option<State> {
        let (list, incomplete) = list(&mut self.netlink).ok()?;
        let drops: Vec<(u64, u32)> = list.iter().map(|listener| (listener.cookie, listener.drops)).collect();
        Some(State::new(&list, &self.drops.update(&drops, incomplete)))
    }
}

/// Listening sockets of both families, and whether some were left out.
fn list(netlink: &mut NetlinkSocket) -> Result<(Vec<Listener>, bool), RequestError> {
    let mut all = Vec::new();
    let mut incomplete = false;
    for family in [AF_INET, AF_INET6] {
        let start =
            || Worst::new(MAX_SOCKETS, |listener: &Listener| (listener.is_full(), listener.drops, listener.waiting));
        let worst = netlink.dump(SOCK_DIAG_BY_FAMILY, &request(family), start, |worst, message| {
            if let Some(listener) = Listener::parse(message) {
                worst.push(listener);
            }
        });
        let (list, left_out) = match worst {
            // Kernels without IPv6.
            Err(RequestError::Refused { cause, .. })
                if family == AF_INET6 && cause.kind() == io::ErrorKind::NotFound =>
            {
                continue;
            }
            worst => worst?.value.finish(),
        };
        all.extend(list);
        incomplete |= left_out;
    }
    Ok((all, incomplete))
}

/// State at one read.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Sockets that dropped segments since the previous read, by address; most drops first.
    dropped: Vec<(SocketAddr, u64)>,
    /// Sockets whose queue is full, by address; several sockets share an address with SO_REUSEPORT.
    full: Vec<Listener>,
}

impl State {
    fn new(list: &[Listener], increases: &[u64]) -> State {
        let mut dropped: BTreeMap<SocketAddr, u64> = BTreeMap::new();
        for (listener, increase) in list.iter().zip(increases).filter(|(_, increase)| **increase > 0) {
            *dropped.entry(listener.address).or_default() += increase;
        }
        let mut dropped: Vec<(SocketAddr, u64)> = dropped.into_iter().collect();
        dropped.sort_by_key(|(_, drops)| std::cmp::Reverse(*drops));
        let mut full: BTreeMap<SocketAddr, Listener> = BTreeMap::new();
        for listener in list.iter().filter(|listener| listener.is_full()) {
            let longest = full.entry(listener.address).or_insert_with(|| listener.clone());
            if listener.waiting > longest.waiting {
                *longest = listener.clone();
            }
        }
        let mut full: Vec<Listener> = full.into_values().collect();
        full.sort_by_key(|listener| std::cmp::Reverse(listener.waiting));
        State { dropped, full }
    }

    /// Queues that are full now.
    pub(crate) fn full(&self) -> Vec<Finding> {
        let finding = |listener: &Listener| Finding {
            kind: FindingKind::ListenQueueFull,
            place: listener.address.to_string(),
            count: 1,
            cumulative: 0,
            sentence: format!(
                "the listen queue of {} is full: {} for accept(2), and the backlog is {}",
                listener.address,
                match listener.waiting {
                    1 => "1 connection waits".to_owned(),
                    waiting => format!("{waiting} connections wait"),
                },
                listener.backlog
            ),
            remedy: REMEDY_BACKLOG.to_owned(),
            check: check_socket(listener.address),
        };
        self.full.iter().take(MAX_PLACES).map(finding).collect()
    }

    /// Drops at listening sockets between two reads of the counters.
    pub(crate) fn drops(&self, before: &Values, now: &Values) -> Vec<Finding> {
        let since = |name| now.since(before, "TcpExt", name);
        let (all, overflows, queue) = (since("ListenDrops"), since("ListenOverflows"), since("TCPReqQFullDrop"));
        // The kernel increases `ListenOverflows` a moment before `ListenDrops`.
        let other = all.saturating_sub(overflows + queue);
        let mut list = Vec::new();
        for (kind, count) in [
            (FindingKind::ListenQueueOverflow, overflows),
            (FindingKind::SynQueueDrop, queue),
            (FindingKind::ListenDrop, other),
        ] {
            let shares = share(count, count >= all, &self.dropped);
            list.extend(shares.into_iter().map(|(place, count)| finding(kind, place, count)));
        }
        list
    }
}

/// Divides events among the sockets that dropped segments; `None` is a socket that is not known. `only` says whether all
/// drops of the host are events of this kind.
///
/// The kernel counts reasons for the host, and drops for each socket. If several sockets dropped segments for several
/// reasons, the place is unknown.
fn share(count: u64, only: bool, dropped: &[(SocketAddr, u64)]) -> Vec<(Option<SocketAddr>, u64)> {
    let mut rest = count;
    let mut shares = Vec::new();
    match dropped {
        [(address, _)] => {
            shares.push((Some(*address), rest));
            rest = 0;
        }
        dropped if only => {
            for (address, drops) in dropped.iter().take(MAX_PLACES) {
                // Counters and sockets are not read at the same moment.
                let part = rest.min(*drops);
                shares.push((Some(*address), part));
                rest -= part;
            }
        }
        _ => {}
    }
    shares.push((None, rest));
    shares.retain(|(_, count)| *count > 0);
    shares
}

const REMEDY_BACKLOG: &str = "raise the backlog that the server passes to listen(2), and net.core.somaxconn, which limits it; \
                              or make the server accept connections faster";

fn check_socket(address: SocketAddr) -> String {
    format!("ss -ltn 'sport = :{}'", address.port())
}

fn finding(kind: FindingKind, place: Option<SocketAddr>, count: u64) -> Finding {
    let at = |before: &str, unknown: &str| match place {
        Some(address) => format!("{before} {address}"),
        None => unknown.to_owned(),
    };
    let (sentence, remedy, counter) = match kind {
        FindingKind::ListenQueueOverflow => (
            match place {
                Some(address) => format!("the listen queue of {address} overflowed {}", times(count)),
                None => format!("listen queues overflowed {}", times(count)),
            },
            REMEDY_BACKLOG,
            "ListenOverflows",
        ),
        FindingKind::SynQueueDrop => (
            format!(
                "{} dropped {} because the queue of half-open connections was full",
                at("the listening socket", "listening sockets"),
                counted(count, "SYN")
            ),
            "turn SYN cookies on (sysctl net.ipv4.tcp_syncookies=1), and raise net.ipv4.tcp_max_syn_backlog and the backlog \
             that the server passes to listen(2)",
            "TCPReqQFullDrop",
        ),
        _ => (
            format!(
                "{} dropped {} although no queue was full",
                at("the listening socket", "listening sockets"),
                counted(count, "segment")
            ),
            "look for a shortage of memory, a missing route back to clients, a security module that rejects connections, or \
             SYN cookies that are off (sysctl net.ipv4.tcp_syncookies)",
            "ListenDrops",
        ),
    };
    Finding {
        kind,
        place: place.map(|address| address.to_string()).unwrap_or_default(),
        count,
        cumulative: 0,
        sentence,
        remedy: remedy.to_owned(),
        check: place.map_or_else(|| check(&[("TcpExt", counter)]), check_socket),
    }
}

#[cfg(test)]
mod tests {
    use super::{Listener, MESSAGE, State, request, share};
    use crate::counters::Values;
    use crate::kind::FindingKind;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    /// `struct inet_diag_msg` of a socket at 0.0.0.0:443 with 129 connections, a backlog of 128, and 12 drops.
    fn message() -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        bytes[0] = 2;
        bytes[1] = 10;
        bytes[4..6].copy_from_slice(&443_u16.to_be_bytes());
        bytes[44..48].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[56..60].copy_from_slice(&129_u32.to_ne_bytes());
        bytes[60..64].copy_from_slice(&128_u32.to_ne_bytes());
        bytes.extend(40_u16.to_ne_bytes());
        bytes.extend(7_u16.to_ne_bytes());
        bytes.extend([0; 32]);
        bytes.extend(12_u32.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_socket_has_its_queue_and_drops() {
        let listener = Listener::parse(&message()).expect("a socket");
        assert_eq!((listener.address.to_string().as_str(), listener.cookie), ("0.0.0.0:443", 7));
        assert_eq!((listener.waiting, listener.backlog, listener.drops), (129, 128, 12));
        let full = State::new(&[listener], &[0]).full();
        assert_eq!(full.len(), 1);
        assert_eq!(
            full[0].sentence,
            "the listen queue of 0.0.0.0:443 is full: 129 connections wait for accept(2), and the backlog is 128"
        );
        assert_eq!(full[0].check, "ss -ltn 'sport = :443'");
    }

    #[test]
    fn a_request_has_the_size_of_the_kernel() {
        assert_eq!(request(2).len(), 56);
    }

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([0, 0, 0, 0], port))
    }

    #[test]
    fn events_go_to_the_sockets_that_dropped() {
        let (a, b) = (address(80), address(443));
        assert_eq!(share(5, true, &[(a, 5)]), [(Some(a), 5)]);
        assert_eq!(share(5, false, &[(a, 9)]), [(Some(a), 5)]);
        assert_eq!(share(5, true, &[(a, 3), (b, 2)]), [(Some(a), 3), (Some(b), 2)]);
        // One socket more than the list has, or closed since.
        assert_eq!(share(6, true, &[(a, 3), (b, 2)]), [(Some(a), 3), (Some(b), 2), (None, 1)]);
        assert_eq!(share(5, false, &[(a, 3), (b, 4)]), [(None, 5)]);
        assert_eq!(share(5, true, &[]), [(None, 5)]);
        assert_eq!(share(0, true, &[(a, 3)]), []);
    }

    #[test]
    fn drops_have_their_reasons() {
        let values = |numbers: &str| {
            let mut values = Values::default();
            values.add(&format!("TcpExt: ListenOverflows ListenDrops TCPReqQFullDrop\nTcpExt: {numbers}\n"));
            values
        };
        let listener = Listener::parse(&message()).expect("a socket");
        let state = State::new(&[listener], &[12]);
        let found = state.drops(&values("1 1 0"), &values("7 13 4"));
        let found: Vec<(FindingKind, &str, u64)> =
            found.iter().map(|finding| (finding.kind, finding.place.as_str(), finding.count)).collect();
        let place = "0.0.0.0:443";
        assert_eq!(
            found,
            [
                (FindingKind::ListenQueueOverflow, place, 6),
                (FindingKind::SynQueueDrop, place, 4),
                (FindingKind::ListenDrop, place, 2)
            ]
        );
        let found = state.drops(&values("1 1 0"), &values("13 13 0"));
        assert_eq!(found[0].sentence, "the listen queue of 0.0.0.0:443 overflowed 12 times");
    }

    proptest! {
        #[test]
        fn any_message_is_parsed(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
            Listener::parse(&bytes);
        }

        #[test]
        fn any_ending_is_parsed(rest: Vec<u8>) {
            let mut bytes = message();
            bytes.truncate(MESSAGE);
            bytes.extend(rest);
            prop_assert!(Listener::parse(&bytes).is_some());
        }

        #[test]
        fn shares_add_up(count: u32, only: bool, drops in prop::collection::vec((1_u16.., 1_u64..1000), 0..40)) {
            let dropped: Vec<(SocketAddr, u64)> = drops.into_iter().map(|(port, drops)| (address(port), drops)).collect();
            let sum: u64 = share(count.into(), only, &dropped).iter().map(|(_, count)| count).sum();
            prop_assert_eq!(sum, u64::from(count));
        }
    }
}
