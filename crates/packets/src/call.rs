//! System calls that no maintained crate offers. Packet sockets (packet(7)): nix can neither construct their addresses nor
//! set their options, and rustix and socket2 support neither; a capture library would add a dependency in C. `TCP_INFO`
//! (tcp(7)): none of the three has it.

#![expect(unsafe_code, reason = "packet sockets and TCP_INFO have no safe interface")]

use crate::bpf::Instruction;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

/// All protocols, including outgoing packets; include/uapi/linux/if_ether.h.
pub(crate) const ETH_P_ALL: u16 = 0x0003;

/// Binds the socket to an interface; 0: to all. Protocol 0: no packets are received yet.
pub(crate) fn bind(socket: &impl AsFd, interface: u32, protocol: u16) -> io::Result<()> {
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

/// Hardware type `ARPHRD_*` of the interface that a socket is bound to. (nix accepts only addresses of full length,
/// which the kernel does not return.)
pub(crate) fn hardware_type(socket: &impl AsFd) -> io::Result<u16> {
    let mut address = address(0, 0);
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the address, and any bytes are a valid address.
    let outcome = unsafe { libc::getsockname(socket.as_fd().as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    check(outcome as isize)?;
    Ok(address.sll_hatype)
}

/// Index of the interface of this name in the network namespace of the socket. (`if_nametoindex` of the C library opens
/// another socket, which a confined process may not.)
pub(crate) fn interface_index(socket: &impl AsFd, name: &str) -> io::Result<u32> {
    // SAFETY: all members of the structure are numbers, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the kernel reads the name and writes the index, both within the structure.
    let outcome = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCGIFINDEX as _, &raw mut request) };
    check(outcome as isize)?;
    // SAFETY: this member of the union is the one that the kernel has written.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex } as u32)
}

/// Kernel's `TCP_INFO` of a TCP socket (tcp(7)). Fields that an old kernel does not have are zero.
///
/// # Errors
/// If the system call fails.
pub fn tcp_info(socket: &impl AsFd) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes at the pointer. The descriptor is open while it is borrowed.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(outcome as isize)?;
    // SAFETY: all members of the structure are numbers, for which zeros are valid.
    Ok(unsafe { info.assume_init() })
}

/// Selects whether sent packets bypass the device's queue discipline. The bypass also skips the filters of clsact,
/// which the kernel runs before the queue discipline (`__dev_queue_xmit`, net/core/dev.c), but not the rules of
/// nftables (`packet_xmit`, net/packet/af_packet.c).
pub(crate) fn bypass_queue(socket: &impl AsFd, bypass: bool) -> io::Result<()> {
    let on = libc::c_int::from(bypass);
    set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)
}

/// Sends a frame. Protocol 0: the kernel takes it from the Ethernet header.
pub(crate) fn send(socket: &impl AsFd, interface: u32, protocol: u16, frame: &[u8]) -> io::Result<()> {
    let address = address(interface, protocol);
    // SAFETY: the kernel reads the frame and an address, each of the given length.
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

/// Attaches a filter program to the socket.
pub(crate) fn attach(socket: &impl AsFd, program: &[Instruction]) -> io::Result<()> {
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

/// Requests the length, checksum status and VLAN tag of each packet.
pub(crate) fn want_auxiliary_data(socket: &impl AsFd) -> io::Result<()> {
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
    // SAFETY: the kernel reads as many bytes as the value has; a program that the value points to outlives the call.
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
