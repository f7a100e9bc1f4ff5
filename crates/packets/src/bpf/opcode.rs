//! Parts of the codes of instructions, which are combined by `|`: class, size, mode or operation, source.
//! include/uapi/linux/bpf_common.h and filter.h; the registers are A, the accumulator, and X, the index.

/// Class: loads A.
pub const LD: u16 = 0x00;
/// Class: loads X.
pub const LDX: u16 = 0x01;
/// Class: stores A in a memory cell.
pub const ST: u16 = 0x02;
/// Class: changes A.
pub const ALU: u16 = 0x04;
/// Class: jumps.
pub const JMP: u16 = 0x05;
/// Class: ends the program; the operand is the accepted length of the packet.
pub const RET: u16 = 0x06;
/// Class: copies between A and X.
pub const MISC: u16 = 0x07;
/// Size: 4 bytes.
pub const W: u16 = 0x00;
/// Size: 2 bytes.
pub const H: u16 = 0x08;
/// Size: 1 byte.
pub const B: u16 = 0x10;
/// Mode: the operand is the value.
pub const IMM: u16 = 0x00;
/// Mode: the operand is an offset in the packet.
pub const ABS: u16 = 0x20;
/// Mode: X plus the operand is an offset in the packet.
pub const IND: u16 = 0x40;
/// Mode: the operand is a memory cell.
pub const MEM: u16 = 0x60;
/// Operation: A + operand.
pub const ADD: u16 = 0x00;
/// Operation: A - operand.
pub const SUB: u16 = 0x10;
/// Operation: A * operand.
pub const MUL: u16 = 0x20;
/// Operation: bits of both A and the operand.
pub const AND: u16 = 0x50;
/// Operation: A shifted to the left.
pub const LSH: u16 = 0x60;
/// Operation: A shifted to the right.
pub const RSH: u16 = 0x70;
/// Operation: bits of either A or the operand.
pub const XOR: u16 = 0xa0;
/// Jump: always.
pub const JA: u16 = 0x00;
/// Jump: A equals the operand.
pub const JEQ: u16 = 0x10;
/// Jump: A is greater than the operand.
pub const JGT: u16 = 0x20;
/// Jump: A is at least the operand.
pub const JGE: u16 = 0x30;
/// Jump: A has at least one bit of the operand.
pub const JSET: u16 = 0x40;
/// Source of the operand: the instruction.
pub const K: u16 = 0x00;
/// Source of the operand: X.
pub const X: u16 = 0x08;
/// Copy: from A to X.
pub const TAX: u16 = 0x00;
/// Copy: from X to A.
pub const TXA: u16 = 0x80;

/// Offset of a load that returns the type of a packet, such as [`OUTGOING`]: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
pub const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
/// Offset of a load that returns the hardware type (`ARPHRD_*`) of the device: `SKF_AD_OFF + SKF_AD_HATYPE`.
pub const HARDWARE_TYPE: u32 = (-0x1000_i32 + 28) as u32;
/// Packet type of outgoing packets: `PACKET_OUTGOING`, include/uapi/linux/if_packet.h.
pub const OUTGOING: u8 = 4;
