//! Packet socket of the engine.

use super::call::{self, ETH_P_ALL};
use super::error::WireError;
use super::filter::{self, Instruction, OUTGOING};
use crate::frame::{Direction, Frame, Vlan};
use crate::select::Selection;
use gentle_wire::LinkType;
use nix::cmsg_space;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockType, UnknownCmsg, getsockopt,
    recvmmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Maximum number of packets per system call.
pub(super) const BATCH: usize = 64;

/// Buffer size for a frame, bytes: an Ethernet frame without jumbo extensions. Longer frames are recognized as
/// truncated.
const MAX_FRAME: usize = 2048;

/// Size of the kernel's receive buffer, bytes. A handshake packet takes about 0.8 kB of it (a page fragment and the
/// descriptor), so it holds some 20,000.
pub(super) const RECEIVE_BUFFER: usize = 16 << 20;

/// include/uapi/linux/if_ether.h
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_8021Q: u16 = 0x8100;

/// Received packet with its metadata from the kernel.
pub(super) struct Received<'a> {
    pub(super) direction: Direction,
    pub(super) frame: Frame<'a>,
    /// Time at which the packet passed the device, Unix time.
    pub(super) time: Option<TimeSpec>,
    /// Whether packets before this one were dropped because the buffer was full.
    pub(super) after_loss: bool,
}

/// Packet socket bound to one interface.
pub(super) struct PacketSocket {
    socket: OwnedFd,
    interface: u32,
    link: LinkType,
    /// Filters: the first is used while no handshake waits, the second while one does.
    filters: [Vec<Instruction>; 2],
    waiting: bool,
    /// Dropped packets, as reported with the packets received.
    missed: u64,
    /// Last value of the kernel's 32-bit counter of dropped packets.
    missed_count: u32,
    buffers: Vec<[u8; MAX_FRAME]>,
}

impl PacketSocket {
    /// Opens the socket; packets that match the selection are received from now on, and none from before.
    pub(super) fn open(name: &str, selection: &Selection) -> Result<PacketSocket, WireError> {
        let interface = if_nametoindex(name).map_err(|_| WireError::NoInterface(name.to_owned()))?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(|error| match error {
            nix::Error::EPERM => WireError::NotPermitted,
            error => WireError::errno("socket(AF_PACKET)")(error),
        })?;
        // Bound to the interface, but no packets are received until the filter is set.
        call::bind(&socket, interface, 0).map_err(WireError::call("bind"))?;
        let hardware = call::hardware_type(&socket).map_err(WireError::call("getsockname"))?;
        let link = link(hardware).ok_or_else(|| WireError::UnknownLink { interface: name.to_owned(), hardware })?;
        let filters = [false, true].map(|waiting| filter::program(link, selection, waiting));
        call::attach(&socket, &filters[0]).map_err(WireError::call("SO_ATTACH_FILTER"))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(WireError::errno("SO_TIMESTAMPNS"))?;
        call::bypass_queue(&socket, true).map_err(WireError::call("PACKET_QDISC_BYPASS"))?;
        call::want_auxiliary_data(&socket).map_err(WireError::call("PACKET_AUXDATA"))?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(WireError::errno("SO_RXQ_OVFL"))?;
        // Exceeding the system's limit needs CAP_NET_ADMIN; without it, the limit applies.
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER))
            .map_err(WireError::errno("SO_RCVBUF"))?;
        call::bind(&socket, interface, ETH_P_ALL).map_err(WireError::call("bind"))?;
        Ok(PacketSocket {
            socket,
            interface,
            link,
            filters,
            waiting: false,
            missed: 0,
            missed_count: 0,
            buffers: vec![[0; MAX_FRAME]; BATCH],
        })
    }

    /// Whether the interface of this name exists and has this index.
    pub(super) fn is_on(&self, name: &str, index: u32) -> bool {
        call::interface_index(&self.socket, name).is_ok_and(|found| found == index)
    }

    /// Number of packets dropped because the buffer was full.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// Size of the kernel's receive buffer, bytes.
    pub(super) fn receive_buffer(&self) -> Result<usize, WireError> {
        let size = getsockopt(&self.socket, sockopt::RcvBuf);
        // The kernel doubles the requested size for its own overhead (socket(7)).
        size.map(|size| size / 2).map_err(WireError::errno("SO_RCVBUF"))
    }

    /// Selects the filter: with the answers to handshakes (`waiting`), or only with the packets that begin one.
    pub(super) fn wait_for_answers(&mut self, waiting: bool) -> Result<(), WireError> {
        if self.waiting != waiting {
            self.waiting = waiting;
            call::attach(&self.socket, &self.filters[usize::from(waiting)])
                .map_err(WireError::call("SO_ATTACH_FILTER"))?;
        }
        Ok(())
    }

    /// Receives at most [`BATCH`] packets; returns their number. The time of each is the kernel's, `CLOCK_REALTIME`
    /// when it passed the device.
    pub(super) fn receive(&mut self, mut handle: impl FnMut(Received<'_>)) -> Result<usize, nix::Error> {
        let space = cmsg_space!(libc::tpacket_auxdata, u32, libc::timespec);
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, Some(space));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let descriptor = self.socket.as_raw_fd();
        let messages = match recvmmsg(descriptor, &mut headers, slices.iter_mut(), flags, None) {
            Ok(messages) => messages,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut received = 0;
        for message in messages {
            received += 1;
            let (mut auxiliary, mut time, mut after_loss) = (None, None, false);
            for control in message.cmsgs()? {
                match control {
                    ControlMessageOwned::RxqOvfl(count) => {
                        after_loss = count != self.missed_count;
                        self.missed += u64::from(count.wrapping_sub(self.missed_count));
                        self.missed_count = count;
                    }
                    ControlMessageOwned::ScmTimestampns(stamp) => time = Some(stamp),
                    ControlMessageOwned::Unknown(message) => auxiliary = Auxiliary::of(&message),
                    _ => {}
                }
            }
            let (Some(address), Some(auxiliary)) = (message.address, auxiliary) else {
                continue;
            };
            let direction = match address.pkttype() {
                OUTGOING => Direction::Out,
                _ => Direction::In,
            };
            let frame = Frame {
                bytes: message.iovs().next().unwrap_or_default(),
                original_len: auxiliary.length,
                link: self.link,
                vlan: auxiliary.vlan,
                partial_checksum: auxiliary.partial_checksum,
                exact_time: false,
            };
            handle(Received { direction, frame, time, after_loss });
        }
        Ok(received)
    }

    /// Sends a frame unchanged. It was captured after the queue discipline and the filters before it, which may have
    /// modified it, so it bypasses them; it is queued only if the device has no room at the moment.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<()> {
        let protocol = match (self.link, frame.first().map(|byte| byte >> 4)) {
            (LinkType::ETHERNET, _) => 0,
            (_, Some(6)) => ETH_P_IPV6,
            _ => ETH_P_IP,
        };
        let send = || call::send(&self.socket, self.interface, protocol, frame);
        match send() {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                call::bypass_queue(&self.socket, false)?;
                let outcome = send();
                call::bypass_queue(&self.socket, true)?;
                outcome
            }
            outcome => outcome,
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Link type by `ARPHRD_*` (include/uapi/linux/if_arp.h).
fn link(hardware: u16) -> Option<LinkType> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(LinkType::ETHERNET),
        // Devices without a link header: tun, WireGuard, PPP, IP in IP, mobile modems.
        libc::ARPHRD_NONE
        | libc::ARPHRD_PPP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | ARPHRD_RAWIP => Some(LinkType::RAW),
        _ => None,
    }
}

const ARPHRD_RAWIP: u16 = 519;

/// Required fields of `struct tpacket_auxdata`, include/uapi/linux/if_packet.h.
struct Auxiliary {
    length: u32,
    partial_checksum: bool,
    vlan: Option<Vlan>,
}

impl Auxiliary {
    fn of(message: &UnknownCmsg) -> Option<Auxiliary> {
        let header = &message.cmsg_header;
        if (header.cmsg_level, header.cmsg_type) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
            return None;
        }
        let data = &message.data_bytes;
        let word = |at: usize| Some(u32::from_ne_bytes(*data.get(at..)?.first_chunk()?));
        let half = |at: usize| Some(u16::from_ne_bytes(*data.get(at..)?.first_chunk()?));
        let status = word(0)?;
        let has = |flag: u32| status & flag != 0;
        Some(Auxiliary {
            length: word(4)?,
            partial_checksum: has(libc::TP_STATUS_CSUMNOTREADY),
            vlan: match has(libc::TP_STATUS_VLAN_VALID) {
                false => None,
                true => Some(Vlan {
                    tci: half(16)?,
                    tpid: match has(libc::TP_STATUS_VLAN_TPID_VALID) {
                        true => half(18)?,
                        false => ETH_P_8021Q,
                    },
                }),
            },
        })
    }
}
