//! The calls on packet sockets (packet(7)) that no maintained crate offers: nix can neither make their addresses nor set
//! their options, rustix and socket2 have neither. A library for capturing would bring one written in C.

#![expect(unsafe_code, reason = "packet sockets have no safe interface")]

use super::filter::Instruction;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

/// Every protocol, also what leaves; include/uapi/linux/if_ether.h.
pub(super) const ETH_P_ALL: u16 = 0x0003;

/// Gives the socket its interface. Protocol 0: nothing is heard yet.
pub(super) fn bind(socket: &impl AsFd, interface: u32, protocol: u16) -> io::Result<()> {
    let address = address(interface, protocol);
    // SAFETY: the kernel reads an address of the length given.
    let outcome = unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    check(outcome as isize)
}

/// The `ARPHRD_*` of the interface that a socket is bound to. (nix knows only addresses of full length, which the kernel
/// does not return.)
pub(super) fn hardware_type(socket: &impl AsFd) -> io::Result<u16> {
    let mut address = address(0, 0);
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to where the pointer shows, and any bytes are a valid address.
    let outcome = unsafe {
        libc::getsockname(
            socket.as_fd().as_raw_fd(),
            (&raw mut address).cast(),
            &raw mut length,
        )
    };
    check(outcome as isize)?;
    Ok(address.sll_hatype)
}

/// Has what is sent go to the device at once, or through its queue discipline. Behind the filters of clsact, too, which the
/// kernel runs before the queue discipline (`__dev_queue_xmit`, net/core/dev.c); those of nftables it runs on both ways
/// (`packet_xmit`, net/packet/af_packet.c).
pub(super) fn bypass_queue(socket: &impl AsFd, bypass: bool) -> io::Result<()> {
    let on = libc::c_int::from(bypass);
    set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)
}

/// Sends a frame. Protocol 0: the kernel reads it in the Ethernet header.
pub(super) fn send(
    socket: &impl AsFd,
    interface: u32,
    protocol: u16,
    frame: &[u8],
) -> io::Result<()> {
    let address = address(interface, protocol);
    // SAFETY: the kernel reads the frame and an address, each of the length given.
    let outcome = unsafe {
        libc::sendto(
            socket.as_fd().as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            0,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    check(outcome)
}

/// Has the kernel run a program on each packet.
pub(super) fn attach(socket: &impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let mut code: Vec<libc::sock_filter> = program
        .iter()
        .map(|instruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.jt,
            jf: instruction.jf,
            k: instruction.k,
        })
        .collect();
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: code.as_mut_ptr(),
    };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Has the kernel tell length, checksum and VLAN tag of each packet.
pub(super) fn want_auxiliary_data(socket: &impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)
}

fn address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: interface as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

fn set<T>(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value has; what a program points to outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    check(outcome as isize)
}

fn check(outcome: isize) -> io::Result<()> {
    match outcome {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
