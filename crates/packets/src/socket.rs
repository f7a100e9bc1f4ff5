//! Packet socket (packet(7)).

use crate::bpf::opcode::{ABS, HARDWARE_TYPE, K, LD, OUTGOING, PACKET_TYPE, RET, W};
use crate::bpf::{Assembler, Instruction, Label};
use crate::call::{self, ETH_P_ALL};
use crate::error::PacketError;
use gentle_units::Instant;
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

#[cfg(test)]
mod tests;

/// Maximum number of packets per call of [`PacketSocket::receive`].
pub const BATCH: usize = 64;

/// Buffer size for a packet, bytes: an Ethernet frame without jumbo extensions. Longer packets are truncated to it.
const MAX_FRAME: usize = 2048;

/// include/uapi/linux/if_ether.h
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_8021Q: u16 = 0x8100;

/// Devices whose packets a socket receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device<'a> {
    /// The device of this name in the network namespace of the process.
    Named(&'a str),
    /// All devices of the network namespace, including later ones. A packet that passes several of them (a bridge and
    /// its port, a VLAN device and the one below) is received once for each. Packets of IP over InfiniBand are not
    /// received: their addresses are longer than nix supports.
    Any,
}

/// Layer at which the bytes of a packet begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The link header (`SOCK_RAW`).
    Link,
    /// The IP header (`SOCK_DGRAM`), whatever the link type of the device. Packets of the loopback device, which the
    /// kernel shows as outgoing and as incoming, are received once: as incoming.
    Network,
}

/// Received packet with its metadata from the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Bytes from the header of the socket's [`Layer`] on; at most as many as the filter accepts, and at most 2,048.
    pub bytes: &'a [u8],
    /// Length of the packet from the header of the socket's [`Layer`] on before it was truncated, bytes.
    pub original_len: u32,
    /// Whether the device sends the packet; otherwise, the device has received it.
    pub outgoing: bool,
    /// Index of the device.
    pub interface: u32,
    /// VLAN tag (IEEE 802.1Q or 802.1ad) that the kernel has stripped from the frame, or that the device will insert:
    /// tag protocol identifier, such as 0x8100, and tag control information.
    pub vlan: Option<(u16, u16)>,
    /// Whether the checksum is left to the device and not yet in the packet (`TP_STATUS_CSUMNOTREADY`).
    pub partial_checksum: bool,
    /// Unix time at which the packet passed the device, by the system's clock; [`Comparison`](crate::Comparison)
    /// converts it. The kernel enables timestamps a moment after the first socket has requested them
    /// (`net_enable_timestamp`, net/core/dev.c); packets before that have the time at which they were read.
    pub time: Option<Instant>,
    /// Whether packets before this one were dropped because the receive buffer was full.
    pub after_loss: bool,
}

/// Packet socket, which does not block.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    /// Name of the device; `None`: all devices.
    name: Option<String>,
    /// Index of the device; 0: all devices.
    interface: u32,
    layer: Layer,
    link: LinkType,
    /// Whether the device has ever gone down. Packets that are received after that may have waited in the socket since before.
    down: bool,
    /// Dropped packets, as reported with the packets received.
    missed: u64,
    /// Last value of the kernel's 32-bit counter of dropped packets.
    missed_count: u32,
    buffers: Vec<[u8; MAX_FRAME]>,
}

impl PacketSocket {
    /// Opens a socket. Packets that the filter accepts are received from now on, and none from before.
    ///
    /// `receive_buffer`: size of the kernel's receive buffer, bytes; without CAP_NET_ADMIN, at most
    /// `net.core.rmem_max`. The kernel doubles it for its overhead. 16 MiB held 40,330 short packets of a veth device;
    /// devices that receive into larger buffers need more. `filter` returns the program for the link type of the
    /// packets, which is [`LinkType::ETHERNET`] or [`LinkType::RAW`], and for [`Layer::Network`] always
    /// [`LinkType::RAW`].
    ///
    /// # Errors
    /// There is no such device, [`Layer::Link`] does not support it, the process lacks CAP_NET_RAW, the kernel rejects
    /// the program, or another system call fails.
    pub fn open(
        device: Device<'_>,
        layer: Layer,
        receive_buffer: usize,
        filter: impl FnOnce(LinkType) -> Vec<Instruction>,
    ) -> Result<PacketSocket, PacketError> {
        let (name, interface) = match device {
            Device::Named(name) => {
                let index = if_nametoindex(name).map_err(|_| PacketError::NoInterface(name.to_owned()))?;
                (Some(name.to_owned()), index)
            }
            Device::Any => (None, 0),
        };
        let kind = match layer {
            Layer::Link => SockType::Raw,
            Layer::Network => SockType::Datagram,
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, kind, flags, None).map_err(|error| match error {
            nix::Error::EPERM => PacketError::NotPermitted,
            error => PacketError::errno("socket(AF_PACKET)")(error),
        })?;
        // Bound to the interface, but no packets are received until the filter is set.
        call::bind(&socket, interface, 0).map_err(PacketError::call("bind"))?;
        let link = match (layer, &name) {
            (Layer::Network, _) => LinkType::RAW,
            (Layer::Link, None) => return Err(PacketError::NoCommonLink),
            (Layer::Link, Some(name)) => {
                let hardware = call::hardware_type(&socket).map_err(PacketError::call("getsockname"))?;
                link(hardware).ok_or_else(|| PacketError::UnknownLink { interface: name.clone(), hardware })?
            }
        };
        if layer == Layer::Link {
            call::bypass_queue(&socket, true).map_err(PacketError::call("PACKET_QDISC_BYPASS"))?;
        }
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(PacketError::errno("SO_TIMESTAMPNS"))?;
        call::want_auxiliary_data(&socket).map_err(PacketError::call("PACKET_AUXDATA"))?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(PacketError::errno("SO_RXQ_OVFL"))?;
        // Exceeding the system's limit needs CAP_NET_ADMIN; without it, the limit applies.
        setsockopt(&socket, sockopt::RcvBufForce, &receive_buffer)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &receive_buffer))
            .map_err(PacketError::errno("SO_RCVBUF"))?;
        let opened = PacketSocket {
            socket,
            name,
            interface,
            layer,
            link,
            down: false,
            missed: 0,
            missed_count: 0,
            buffers: vec![[0; MAX_FRAME]; BATCH],
        };
        opened.set_filter(&filter(link))?;
        call::bind(&opened.socket, interface, ETH_P_ALL).map_err(PacketError::call("bind"))?;
        Ok(opened)
    }

    /// Link type of the packets: [`LinkType::ETHERNET`] or [`LinkType::RAW`].
    pub fn link(&self) -> LinkType {
        self.link
    }

    /// Replaces the filter. Packets that the previous one has accepted may still be received.
    ///
    /// # Errors
    /// The kernel rejects the program.
    pub fn set_filter(&self, program: &[Instruction]) -> Result<(), PacketError> {
        let attach = |program: &[Instruction]| call::attach(&self.socket, program);
        match self.layer {
            Layer::Link => attach(program),
            Layer::Network => attach(&[&once_on_loopback(), program].concat()),
        }
        .map_err(PacketError::call("SO_ATTACH_FILTER"))
    }

    /// Size of the kernel's receive buffer, bytes.
    ///
    /// # Errors
    /// The system call fails.
    pub fn receive_buffer(&self) -> Result<usize, PacketError> {
        let size = getsockopt(&self.socket, sockopt::RcvBuf);
        // The kernel doubles the requested size for its own overhead (socket(7)).
        size.map(|size| size / 2).map_err(PacketError::errno("SO_RCVBUF"))
    }

    /// Number of packets dropped because the receive buffer was full, before the last packet received entered it. Later
    /// drops are not yet counted.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Whether the device has been removed; a new device of the same name has another index.
    pub fn is_removed(&self) -> bool {
        // The kernel reports a removed device only as down.
        let is = |name: &str| call::interface_index(&self.socket, name).is_ok_and(|index| index == self.interface);
        self.down && self.name.as_deref().is_some_and(|name| !is(name))
    }

    /// Receives at most [`BATCH`] packets that have passed by now; returns their number. There are none from a device
    /// that is down or [removed](PacketSocket::is_removed).
    ///
    /// # Errors
    /// The system call fails.
    pub fn receive(&mut self, mut handle: impl FnMut(Received<'_>)) -> Result<usize, PacketError> {
        let space = cmsg_space!(libc::tpacket_auxdata, u32, libc::timespec);
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, Some(space));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let descriptor = self.socket.as_raw_fd();
        let failed = PacketError::errno("recvmmsg");
        let messages = match recvmmsg(descriptor, &mut headers, slices.iter_mut(), flags, None) {
            Ok(messages) => messages,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(0),
            Err(nix::Error::ENETDOWN) => {
                self.down = true;
                return Ok(0);
            }
            Err(error) => return Err(failed(error)),
        };
        let mut received = 0;
        for message in messages {
            received += 1;
            let (mut auxiliary, mut time, mut after_loss) = (None, None, false);
            for control in message.cmsgs().map_err(&failed)? {
                match control {
                    ControlMessageOwned::RxqOvfl(count) => {
                        after_loss = count != self.missed_count;
                        self.missed += u64::from(count.wrapping_sub(self.missed_count));
                        self.missed_count = count;
                    }
                    ControlMessageOwned::ScmTimestampns(stamp) => time = unix(stamp),
                    ControlMessageOwned::Unknown(message) => auxiliary = Auxiliary::of(&message),
                    _ => {}
                }
            }
            let (Some(address), Some(auxiliary)) = (message.address, auxiliary) else {
                continue;
            };
            handle(Received {
                bytes: message.iovs().next().unwrap_or_default(),
                original_len: auxiliary.length,
                outgoing: address.pkttype() == OUTGOING,
                interface: address.ifindex() as u32,
                vlan: auxiliary.vlan,
                partial_checksum: auxiliary.partial_checksum,
                time,
                after_loss,
            });
        }
        Ok(received)
    }

    /// Sends a frame, from its link header on, unchanged. It bypasses the queue discipline and the filters of clsact
    /// before it, which may have modified it before it was captured. It is queued only if the device has no room at the
    /// moment.
    ///
    /// # Errors
    /// The system call fails, or the socket is one of [`Layer::Network`], which only receives.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        if self.layer == Layer::Network {
            return Err(io::ErrorKind::Unsupported.into());
        }
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

/// Beginning of a program: rejects outgoing packets of loopback devices, and leaves A and X undefined.
fn once_on_loopback() -> Vec<Instruction> {
    let mut p = Assembler::default();
    let [reject, rest] = p.labels();
    p.op(LD | W | ABS, HARDWARE_TYPE).is(libc::ARPHRD_LOOPBACK.into(), Label::NEXT, rest);
    p.op(LD | W | ABS, PACKET_TYPE).is(OUTGOING.into(), reject, rest);
    p.at(reject).op(RET | K, 0);
    p.at(rest);
    p.finish()
}

/// Unix time; `None` before 1970.
fn unix(stamp: TimeSpec) -> Option<Instant> {
    let (seconds, ns) = (u64::try_from(stamp.tv_sec()).ok()?, u64::try_from(stamp.tv_nsec()).ok()?);
    Some(Instant(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?))
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
    vlan: Option<(u16, u16)>,
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
                true => {
                    let protocol = if has(libc::TP_STATUS_VLAN_TPID_VALID) { half(18)? } else { ETH_P_8021Q };
                    Some((protocol, half(16)?))
                }
            },
        })
    }
}
