//! Program that the kernel runs at the start of a connection (type sock_ops).
//!
//! `BPF_SOCK_OPS_TIMEOUT_INIT` is answered with the initial RTO. TCP asks once for a SYN (`tcp_connect_init`,
//! net/ipv4/tcp_output.c), once for a SYN/ACK (`reqsk_queue_hash_req`, net/ipv4/inet_connection_sock.c;
//! `tcp_fastopen_create_child`, net/ipv4/tcp_fastopen.c) and again after each timeout of a SYN
//! (`retransmits_timed_out`, net/ipv4/tcp_timer.c).
//!
//! A shorter initial RTO shortens all the timeouts that double it, so that `connect` would give up after seconds
//! instead of two minutes. If requested, the program therefore raises the number of retransmissions of the connection
//! (`TCP_SYNCNT`) at `BPF_SOCK_OPS_TCP_CONNECT_CB`, unless the application has set it.

use super::instruction::Comparison::{Equal, Greater, Less, NotEqual};
use super::instruction::{Assembler, FRAME, Label, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Register};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};

// include/uapi/linux/bpf.h
const BPF_SOCK_OPS_TIMEOUT_INIT: i32 = 1;
const BPF_SOCK_OPS_TCP_CONNECT_CB: i32 = 3;
const BPF_TCP_SYN_SENT: i32 = 2;
const BPF_TCP_SYN_RECV: i32 = 3;
const BPF_TCP_NEW_SYN_RECV: i32 = 12;
const BPF_FUNC_MAP_LOOKUP_ELEM: i32 = 1;
const BPF_FUNC_SETSOCKOPT: i32 = 49;
const BPF_FUNC_GETSOCKOPT: i32 = 57;
// include/linux/socket.h, include/uapi/linux/tcp.h
const AF_INET: i32 = 2;
const SOL_TCP: i32 = 6;
const TCP_SYNCNT: i32 = 7;

/// Offsets in `struct bpf_sock_ops`.
mod field {
    pub(super) const OP: i16 = 0;
    pub(super) const REPLY: i16 = 4;
    pub(super) const FAMILY: i16 = 20;
    pub(super) const REMOTE_IP4: i16 = 24;
    pub(super) const REMOTE_IP6: i16 = 32;
    pub(super) const REMOTE_PORT: i16 = 64;
    pub(super) const LOCAL_PORT: i16 = 68;
    pub(super) const STATE: i16 = 88;
    pub(super) const TOTAL_RETRANS: i16 = 136;
}

/// Offsets of variables on the stack.
mod stack {
    /// Index of the counter of the connection.
    pub(super) const COUNTER: i16 = -4;
    /// Value of a socket option.
    pub(super) const OPTION: i16 = -8;
    /// Key of the map of networks: prefix length and address.
    pub(super) const KEY: i16 = -32;
}

/// Index of the counter of SYNs.
pub(super) const SYNS: i32 = 0;
/// Index of the counter of SYN/ACKs.
pub(super) const SYN_ACKS: i32 = 1;

/// Parameters of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ConnectionParams {
    /// Initial RTO in ticks; 0: the kernel's own.
    pub(super) ticks: u32,
    /// SYN retransmissions in addition to the kernel's number.
    pub(super) more_retries: u32,
}

impl ConnectionParams {
    /// Encoding as a value of the map of networks.
    pub(super) fn bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.ticks.to_ne_bytes();
        let [e, f, g, h] = self.more_retries.to_ne_bytes();
        [a, b, c, d, e, f, g, h]
    }
}

/// Specification of the program.
#[derive(Debug, Clone)]
pub(super) struct ProgramSpec<'a> {
    pub(super) syn: bool,
    pub(super) syn_ack: bool,
    /// Server ports; empty: all.
    pub(super) ports: &'a [RangeInclusive<u16>],
    /// Map in which the remote address is looked up.
    pub(super) networks: Option<BorrowedFd<'a>>,
    /// Parameters for addresses in no network of the map.
    pub(super) others: ConnectionParams,
    /// Map of the counters of SYNs and SYN/ACKs that got an initial RTO.
    pub(super) counters: Option<BorrowedFd<'a>>,
    /// Number of SYN retransmissions of the kernel, not counting the linear timeouts (`net.ipv4.tcp_syn_retries`).
    pub(super) syn_retries: i32,
}

/// Assembles the program; `None` if there are more ports than it can hold.
pub(super) fn assemble(spec: &ProgramSpec<'_>) -> Option<Vec<u64>> {
    let mut program = Assembler::default();
    let out = program.label();
    let (context, op, ticks, more_retries) = (R6, R7, R8, R9);

    program.copy(context, R1);
    program.load(op, context, field::OP);
    let asked = program.label();
    program.jump_if(op, Equal, BPF_SOCK_OPS_TIMEOUT_INIT, asked);
    program.jump_if(op, NotEqual, BPF_SOCK_OPS_TCP_CONNECT_CB, out);
    program.place(asked);

    select_packets(&mut program, spec, context, out);
    program.set(ticks, constant(spec.others.ticks));
    program.set(more_retries, constant(spec.others.more_retries));
    if let Some(networks) = spec.networks {
        look_up(&mut program, networks, context, [ticks, more_retries]);
    }
    program.jump_if(ticks, Equal, 0, out);

    let connect = program.label();
    program.jump_if(op, Equal, BPF_SOCK_OPS_TCP_CONNECT_CB, connect);
    program.store(context, field::REPLY, ticks);
    if let Some(counters) = spec.counters {
        count(&mut program, counters, context, out);
    }
    program.jump(out);

    program.place(connect);
    retry_more(&mut program, spec.syn_retries, context, more_retries, out);

    program.place(out);
    // TCP would treat any other value as an error.
    program.set(R0, 1);
    program.exit();
    program.finish()
}

/// Conversion of tick and retransmission counts, which are far below the sign bit.
fn constant(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Distinguishes SYNs from SYN/ACKs, and skips packets that are not selected.
fn select_packets(program: &mut Assembler, spec: &ProgramSpec<'_>, context: Register, out: Label) {
    let (state, port) = (R2, R3);
    let [syn, syn_ack, ports] = [program.label(), program.label(), program.label()];
    program.load(state, context, field::STATE);
    program.jump_if(state, Equal, BPF_TCP_SYN_SENT, syn);
    program.jump_if(state, Equal, BPF_TCP_NEW_SYN_RECV, syn_ack);
    // The request carried data (TCP Fast Open), so a full socket exists already.
    program.jump_if(state, Equal, BPF_TCP_SYN_RECV, syn_ack);
    program.jump(out);
    program.place(syn);
    if spec.syn {
        program.store_constant(FRAME, stack::COUNTER, SYNS);
        program.load(port, context, field::REMOTE_PORT);
        program.network_to_host(port);
        program.jump(ports);
    } else {
        program.jump(out);
    }
    program.place(syn_ack);
    if spec.syn_ack {
        program.store_constant(FRAME, stack::COUNTER, SYN_ACKS);
        program.load(port, context, field::LOCAL_PORT);
    } else {
        program.jump(out);
    }
    program.place(ports);
    if spec.ports.is_empty() {
        return;
    }
    let wanted = program.label();
    for range in spec.ports {
        let next = program.label();
        program.jump_if(port, Less, i32::from(*range.start()), next);
        program.jump_if(port, Greater, i32::from(*range.end()), next);
        program.jump(wanted);
        program.place(next);
    }
    program.jump(out);
    program.place(wanted);
}

/// Looks up the remote address; IPv4 addresses are stored as mapped IPv6 addresses (RFC 4291 section 2.5.5.2).
fn look_up(program: &mut Assembler, networks: BorrowedFd<'_>, context: Register, params: [Register; 2]) {
    let address = |word: i16| stack::KEY + 4 + 4 * word;
    let [ipv4, look, none] = [program.label(), program.label(), program.label()];
    program.store_constant(FRAME, stack::KEY, 128);
    program.load(R2, context, field::FAMILY);
    program.jump_if(R2, Equal, AF_INET, ipv4);
    for word in 0..4 {
        program.load(R2, context, field::REMOTE_IP6 + 4 * word);
        program.store(FRAME, address(word), R2);
    }
    program.jump(look);
    program.place(ipv4);
    for (word, value) in (0..).zip([0, 0, 0xffff_u32.to_be().cast_signed()]) {
        program.store_constant(FRAME, address(word), value);
    }
    program.load(R2, context, field::REMOTE_IP4);
    program.store(FRAME, address(3), R2);
    program.place(look);
    call_look_up(program, networks, stack::KEY);
    program.jump_if(R0, Equal, 0, none);
    let [ticks, more_retries] = params;
    program.load(ticks, R0, 0);
    program.load(more_retries, R0, 4);
    program.place(none);
}

/// Counts the connection once: the timeout is requested again after each expiry.
fn count(program: &mut Assembler, counters: BorrowedFd<'_>, context: Register, out: Label) {
    program.load(R2, context, field::TOTAL_RETRANS);
    program.jump_if(R2, NotEqual, 0, out);
    call_look_up(program, counters, stack::COUNTER);
    program.jump_if(R0, Equal, 0, out);
    program.set(R1, 1);
    program.add_atomically(R0, R1);
}

fn call_look_up(program: &mut Assembler, map: BorrowedFd<'_>, key: i16) {
    program.map(R1, map.as_raw_fd());
    program.copy(R2, FRAME);
    program.add_constant(R2, i32::from(key));
    program.call(BPF_FUNC_MAP_LOOKUP_ELEM);
}

/// Raises the number of retransmissions of a connection that has the kernel's default.
fn retry_more(program: &mut Assembler, syn_retries: i32, context: Register, more_retries: Register, out: Label) {
    program.jump_if(more_retries, Equal, 0, out);
    // Kernels before 6.1 do not support getsockopt here; the number is then left unchanged.
    program.store_constant(FRAME, stack::OPTION, 0);
    option(program, context, BPF_FUNC_GETSOCKOPT);
    program.jump_if(R0, NotEqual, 0, out);
    program.load(R1, FRAME, stack::OPTION);
    program.jump_if(R1, NotEqual, syn_retries, out);
    program.add(R1, more_retries);
    program.store(FRAME, stack::OPTION, R1);
    option(program, context, BPF_FUNC_SETSOCKOPT);
}

fn option(program: &mut Assembler, context: Register, function: i32) {
    program.copy(R1, context);
    program.set(R2, SOL_TCP);
    program.set(R3, TCP_SYNCNT);
    program.copy(R4, FRAME);
    program.add_constant(R4, i32::from(stack::OPTION));
    program.set(R5, 4);
    program.call(function);
}
