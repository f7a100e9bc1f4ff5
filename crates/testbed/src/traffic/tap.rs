//! Captures all packets at the router's devices into a pcapng file with one interface for each direction of each
//! device.
//!
//! A single socket captures both devices in both directions, so the file is in order of time. Incoming packets are
//! timestamped before they enter the queue, outgoing ones when they have left it.

use super::TrafficError;
use super::clock::RunClock;
use crate::experiment::{ROUTER_DOWN, ROUTER_UP, TUNNEL_HEADERS};
use gentle_capture::{InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_units::Instant;
use gentle_wire::LinkType;
use nix::cmsg_space;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, recvmmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::fs::File;
use std::io::{self, BufWriter, IoSliceMut, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Interval between reads of the socket. In virtual time each wake-up costs the host the same, for one packet or many.
pub(super) const PERIOD: Duration = Duration::from_millis(50);

/// Receive buffer of the socket, bytes. A 1514-byte frame takes 2.3 kB of it; this holds 50 ms of 10 Gb/s.
const RECEIVE_BUFFER: usize = 128 << 20;

/// Bytes kept of a frame: Ethernet, the headers of a tunnel, IPv4 and the longest TCP header.
const SNAPLEN: usize = 14 + TUNNEL_HEADERS as usize + 20 + 60;

/// Maximum number of messages received in one call.
const BATCH: usize = 256;

/// `PACKET_OUTGOING`, include/uapi/linux/if_packet.h.
const OUTGOING: u8 = 4;

/// Point at which a packet was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum CapturePoint {
    /// Before the queue of direction `down`; sent by the client.
    DownEntry,
    /// After the queue of direction `down`.
    DownExit,
    /// Before the queue of direction `up`; sent by the server.
    UpEntry,
    /// After the queue of direction `up`.
    UpExit,
}

impl CapturePoint {
    /// All points, in the order of the interfaces in the file.
    pub const ALL: [CapturePoint; 4] =
        [CapturePoint::DownEntry, CapturePoint::DownExit, CapturePoint::UpEntry, CapturePoint::UpExit];

    /// Name of the interface, as in the simulator's captures.
    pub const fn name(self) -> &'static str {
        match self {
            CapturePoint::DownEntry => "down entry",
            CapturePoint::DownExit => "down exit",
            CapturePoint::UpEntry => "up entry",
            CapturePoint::UpExit => "up exit",
        }
    }
}

/// A capturing socket and its output file.
pub(super) struct Tap {
    socket: OwnedFd,
    /// Path of the output file.
    path: PathBuf,
    writer: PcapNgWriter<BufWriter<File>>,
    clock: RunClock,
    down: usize,
    up: usize,
    /// Packets dropped for lack of buffer space, as reported by later packets.
    missed: u64,
}

impl Tap {
    /// Opens the tap in the current network namespace, which must be the router's; captures from then on.
    pub(super) fn open(path: &Path, clock: RunClock) -> Result<Tap, TrafficError> {
        let index = |device: &'static str| {
            if_nametoindex(device).map(|index| index as usize).map_err(|source| TrafficError::Device { device, source })
        };
        let (down, up) = (index(ROUTER_DOWN)?, index(ROUTER_UP)?);
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)
            .map_err(TrafficError::call("a packet socket"))?;
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER).map_err(TrafficError::call("SO_RCVBUFFORCE"))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(TrafficError::call("SO_TIMESTAMPNS"))?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(TrafficError::call("SO_RXQ_OVFL"))?;
        let file = File::create(path).map_err(TrafficError::file(path))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let writer = header(file).map_err(TrafficError::file(path))?;
        Ok(Tap { socket, path: path.to_owned(), writer, clock, down, up, missed: 0 })
    }

    /// Writes packets until `over` is true; returns the number of missed packets.
    pub(super) fn run(mut self, over: &AtomicBool) -> Result<u64, TrafficError> {
        let mut buffers = vec![[0_u8; SNAPLEN]; BATCH];
        loop {
            // Read before the socket is emptied, so that everything received until then is written.
            let last = over.load(Ordering::Relaxed);
            while self.take(&mut buffers)? == BATCH {}
            if last {
                break;
            }
            thread::sleep(PERIOD);
        }
        let mut file = self.writer.into_inner();
        file.flush().map_err(TrafficError::file(&self.path))?;
        Ok(self.missed)
    }

    /// Receives one batch; returns the number of packets.
    fn take(&mut self, buffers: &mut [[u8; SNAPLEN]]) -> Result<usize, TrafficError> {
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, Some(cmsg_space!(TimeSpec, u32)));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let messages = recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None);
        let messages = match messages {
            Ok(messages) => messages,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(0),
            Err(error) => return Err(TrafficError::call("recvmmsg")(error)),
        };
        let mut n = 0;
        for message in messages {
            n += 1;
            let Some(address) = message.address else {
                continue;
            };
            let Some(point) = self.point(address.ifindex(), address.pkttype()) else {
                continue;
            };
            let mut stamp = None;
            for control in message.cmsgs().map_err(TrafficError::call("recvmmsg"))? {
                match control {
                    ControlMessageOwned::ScmTimestampns(time) => stamp = Some(time),
                    ControlMessageOwned::RxqOvfl(missed) => self.missed = missed.into(),
                    _ => {}
                }
            }
            let stamp = stamp.ok_or(TrafficError::NoTimestamp)?;
            let real = i128::from(stamp.tv_sec()) * 1_000_000_000 + i128::from(stamp.tv_nsec());
            let at = self.clock.since_start_ns(real);
            let captured = message.iovs().next().unwrap_or_default();
            let packet = RawPacket {
                time: Instant(at),
                interface: point as u32,
                link: LinkType::ETHERNET,
                original_len: message.bytes as u32,
                data: captured,
            };
            self.writer.packet(&packet).map_err(TrafficError::file(&self.path))?;
        }
        Ok(n)
    }

    fn point(&self, device: usize, kind: u8) -> Option<CapturePoint> {
        match (device, kind == OUTGOING) {
            (device, false) if device == self.up => Some(CapturePoint::DownEntry),
            (device, true) if device == self.down => Some(CapturePoint::DownExit),
            (device, false) if device == self.down => Some(CapturePoint::UpEntry),
            (device, true) if device == self.up => Some(CapturePoint::UpExit),
            _ => None,
        }
    }
}

fn header(file: BufWriter<File>) -> io::Result<PcapNgWriter<BufWriter<File>>> {
    let mut writer = PcapNgWriter::new(file)?;
    for point in CapturePoint::ALL {
        writer.interface(&InterfaceDescription {
            snap_length: Some(SNAPLEN as u32),
            name: Some(point.name()),
            ..InterfaceDescription::new(LinkType::ETHERNET)
        })?;
    }
    Ok(writer)
}
