//! Gateways of the tunnels: each reads IP packets from a TUN device and sends them to the gateway at the other end as
//! UDP datagrams, and writes those that it receives to the device.
//!
//! Reading, sending and writing cost no time in a machine, and no gateway loses packets; a run in which one did is
//! refused.

use super::waker::Waker;
use super::{TrafficError, namespace, tun};
use crate::experiment::{Experiment, Gateway, TUNNEL_PORT, tunnel_device};
use nix::cmsg_space;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg, setsockopt, sockopt};
use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Receive buffer of each socket, bytes; holds all that arrives while the thread is busy with another.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Maximum length of a packet, bytes.
const LONGEST: usize = 1 << 16;

/// Time after which a TUN device that a program has attached to sends packets; before, it drops them, since the kernel
/// starts the queue of a device in the background (net/core/link_watch.c).
const SETTLING: Duration = Duration::from_millis(200);

/// Token of the waker's events; device and socket of the end with the index `n` have the tokens `2 * n` and `2 * n +
/// 1`.
const WAKER: u64 = u64::MAX;

/// Congestion Experienced, the value of the ECN field that a queue sets (RFC 3168, section 5).
const CE: u8 = 3;

/// All gateways of a run.
pub(super) struct Gateways {
    epoll: Epoll,
    waker: EventFd,
    ends: Vec<End>,
}

/// A gateway: one end of one tunnel.
struct End {
    device: File,
    /// Connected to the other end.
    socket: UdpSocket,
    /// Datagrams dropped for lack of buffer space, as reported by later ones.
    missed: u64,
}

impl Gateways {
    /// Opens the gateways of all tunnels of an experiment; `None`: it has no tunnels.
    pub(super) fn open(experiment: &Experiment) -> Result<Option<Gateways>, TrafficError> {
        if experiment.tunnels.is_empty() {
            return Ok(None);
        }
        let mut ends = Vec::new();
        for gateway in Gateway::BOTH {
            let all = || -> io::Result<Vec<End>> {
                let tunnels = experiment.tunnels.iter();
                tunnels.map(|tunnel| End::open(gateway, *tunnel)).collect()
            };
            let namespace = gateway.namespace(&experiment.namespaces);
            ends.extend(namespace::within(namespace, all)?.map_err(TrafficError::Tunnel)?);
        }
        thread::sleep(SETTLING);
        Gateways::watching(ends).map(Some).map_err(TrafficError::Tunnel)
    }

    fn watching(ends: Vec<End>) -> io::Result<Gateways> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let waker = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let event = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
        epoll.add(&waker, event(WAKER))?;
        for (token, end) in (0..).step_by(2).zip(&ends) {
            epoll.add(&end.device, event(token))?;
            epoll.add(&end.socket, event(token + 1))?;
        }
        Ok(Gateways { epoll, waker, ends })
    }

    pub(super) fn waker(&self) -> Result<Waker, TrafficError> {
        Waker::of(&self.waker).map_err(TrafficError::Tunnel)
    }

    /// Carries packets until `over` is true.
    pub(super) fn run(mut self, experiment: &Experiment, over: &AtomicBool) -> Result<(), TrafficError> {
        self.carry(over).map_err(TrafficError::Tunnel)?;
        let mut packets: u64 = self.ends.iter().map(|end| end.missed).sum();
        for gateway in Gateway::BOTH {
            let namespace = gateway.namespace(&experiment.namespaces);
            let table = namespace::within(namespace, || {
                // Of the thread: the process is in another namespace.
                fs::read_to_string("/proc/thread-self/net/dev")
            })?;
            let table = table.map_err(TrafficError::Tunnel)?;
            let tunnels = experiment.tunnels.iter();
            packets += tunnels.map(|tunnel| dropped(&table, &tunnel_device(*tunnel))).sum::<u64>();
        }
        match packets {
            0 => Ok(()),
            _ => Err(TrafficError::TunnelLoss { packets }),
        }
    }

    fn carry(&mut self, over: &AtomicBool) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); 64];
        let mut buffer = vec![0; LONGEST];
        while !over.load(Ordering::Relaxed) {
            let n = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(nix::Error::EINTR) => continue,
                outcome => outcome?,
            };
            for event in &events[..n] {
                let token = event.data();
                let Some(end) = self.ends.get_mut((token / 2) as usize) else {
                    continue;
                };
                match token % 2 {
                    0 => end.encapsulate(&mut buffer)?,
                    _ => end.decapsulate(&mut buffer)?,
                }
            }
        }
        Ok(())
    }
}

impl End {
    /// Opens a gateway in the current network namespace, which must be the gateway's.
    fn open(gateway: Gateway, tunnel: u8) -> io::Result<End> {
        let device = tun::attach(&tunnel_device(tunnel))?;
        let socket = UdpSocket::bind((gateway.address(tunnel), TUNNEL_PORT))?;
        socket.connect((gateway.other().address(tunnel), TUNNEL_PORT))?;
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        setsockopt(&socket, sockopt::IpRecvTos, &true)?;
        Ok(End { device, socket, missed: 0 })
    }

    /// Sends all packets that were routed to the device. Datagrams have the DS field of the packet in them: the ECN field
    /// by the normal mode of RFC 6040, section 4.1, and the codepoint as for IPsec (RFC 4301, section 5.1.2.1) and in the
    /// simulator, so that queues which look at it treat packets as outside the tunnel.
    fn encapsulate(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let length = match self.device.read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let packet = &buffer[..length];
            let Some(ds_field) = packet.get(1) else {
                continue;
            };
            let socket = self.socket.as_fd().as_raw_fd();
            let parts = [IoSlice::new(packet)];
            let control = [ControlMessage::Ipv4Tos(ds_field)];
            while let Err(error) = sendmsg::<()>(socket, &parts, &control, MsgFlags::empty(), None) {
                match error {
                    // Errors that ICMP messages report of earlier datagrams, or an interruption.
                    nix::Error::ECONNREFUSED | nix::Error::EINTR => {}
                    _ => return Err(error.into()),
                }
            }
        }
    }

    /// Writes all packets that have arrived at the socket to the device.
    fn decapsulate(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut space = cmsg_space!(u8, u32);
        loop {
            let socket = self.socket.as_fd().as_raw_fd();
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = match recvmsg::<()>(socket, &mut parts, Some(&mut space), flags) {
                Ok(message) => message,
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(nix::Error::ECONNREFUSED | nix::Error::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut outer = 0;
            for control in message.cmsgs()? {
                match control {
                    ControlMessageOwned::Ipv4Tos(ds_field) => outer = ds_field,
                    ControlMessageOwned::RxqOvfl(missed) => self.missed = missed.into(),
                    _ => {}
                }
            }
            let length = message.bytes;
            let packet = &mut buffer[..length];
            if take_congestion(packet, outer) {
                self.device.write_all(packet)?;
            }
        }
    }
}

/// Gives an IPv4 packet the mark that the datagram with the DS field `outer` got on its way (RFC 6040, section 4.2);
/// returns whether the packet is forwarded. A packet that cannot carry the mark is not.
fn take_congestion(packet: &mut [u8], outer: u8) -> bool {
    let Some(header) = packet.first_chunk_mut::<12>() else {
        return false;
    };
    let [_, ds_field, .., check_high, check_low] = header;
    if outer & CE != CE || *ds_field & CE == CE {
        return true;
    }
    if *ds_field & CE == 0 {
        return false;
    }
    // The new checksum from the old one and the change of a word (RFC 1624, section 3).
    let added = (*ds_field | CE) - *ds_field;
    *ds_field |= CE;
    let check = u16::from_be_bytes([*check_high, *check_low]);
    let (less, borrowed) = check.overflowing_sub(added.into());
    [*check_high, *check_low] = (less - u16::from(borrowed)).to_be_bytes();
    true
}

/// Packets that a device has dropped or failed to carry in either direction, by the text of `/proc/net/dev`.
fn dropped(table: &str, device: &str) -> u64 {
    let mut rows = table.lines().filter_map(|line| line.split_once(':'));
    let row = rows.find(|(name, _)| name.trim() == device);
    let Some((_, counters)) = row else {
        return 0;
    };
    let counters: Vec<u64> = counters.split_ascii_whitespace().map(|counter| counter.parse().unwrap_or(0)).collect();
    // Errors and drops, received and sent.
    let at = [2, 3, 10, 11];
    at.into_iter().filter_map(|at| counters.get(at)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_wire::{Ipv4Header, protocol};
    use std::net::Ipv4Addr;

    fn header(ds_field: u8, ttl: u8) -> [u8; 20] {
        let (from, to) = (Ipv4Addr::new(10, 2, 0, 2), Ipv4Addr::new(10, 1, 0, 1));
        let header = Ipv4Header { tos: ds_field, ttl, ..Ipv4Header::new(from, to, protocol::TCP, 0) };
        let mut bytes = [0; 20];
        header.emit(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_mark_on_the_way_goes_to_the_packet_in_the_datagram() {
        // All lives, so that every kind of checksum is changed.
        for ttl in 0..=255 {
            for (inner, outer, expected) in [
                (0x02, 0x03, Some(0x03)),
                (0xb9, 0x03, Some(0xbb)),
                (0xb9, 0xb9, Some(0xb9)),
                (0x03, 0x00, Some(0x03)),
                (0x00, 0x00, Some(0x00)),
                (0x00, 0x03, None),
            ] {
                let mut packet = header(inner, ttl);
                let goes_on = take_congestion(&mut packet, outer);
                assert_eq!(goes_on, expected.is_some(), "{inner} {outer}");
                assert_eq!(packet, header(expected.unwrap_or(inner), ttl));
            }
        }
        for length in 0..12 {
            assert!(!take_congestion(&mut [0; 12][..length], 0));
        }
    }

    #[test]
    fn losses_of_a_device_are_those_of_both_directions() {
        let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    9    9    0     0          0         0        0       0    9    9    0     0       0          0
  tun1: 1188540     819    1    2    0     0          0         0    30712     561    4    8    0     0       0          0
 tun12:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
";
        assert_eq!(dropped(table, "tun1"), 15);
        assert_eq!(dropped(table, "tun12"), 0);
        assert_eq!(dropped(table, "tun2"), 0);
    }
}
