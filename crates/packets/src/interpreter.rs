//! Interpreter of filter programs, for tests without a packet socket.

use crate::bpf::Instruction;
use crate::bpf::opcode::{
    ABS, ADD, ALU, AND, H, IMM, IND, JA, JEQ, JGE, JGT, JMP, JSET, LD, LDX, LSH, MEM, MISC, MUL, OUTGOING, PACKET_TYPE,
    RET, RSH, ST, SUB, TAX, TXA, W, X, XOR,
};

/// Number of bytes of the packet that the program accepts; 0: the packet is rejected. Equivalent to the kernel's
/// interpreter (net/core/filter.c, lib/test_bpf.c): reading beyond the packet ends the program with 0.
///
/// # Panics
/// If the program has an instruction that is not part of [`opcode`](crate::bpf::opcode), or loads a hardware type.
pub fn run(program: &[Instruction], packet: &[u8], outgoing: bool) -> u32 {
    let mut memory = [0_u32; 16];
    let (mut a, mut x, mut at) = (0_u32, 0_u32, 0_usize);
    loop {
        let Instruction { code, jt, jf, k } = program[at];
        at += 1;
        let load = |offset: u32| {
            let size = match code & 0x18 {
                W => 4,
                H => 2,
                _ => 1,
            };
            let from = usize::try_from(offset).ok()?;
            let bytes = packet.get(from..from.checked_add(size)?)?;
            Some(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
        };
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match (code & 0x07, code & 0xf8) {
            (LD, mode) if mode & 0xe0 == ABS && k == PACKET_TYPE => {
                a = if outgoing { OUTGOING.into() } else { 0 };
            }
            (LD, mode) if mode & 0xe0 == ABS => match load(k) {
                Some(value) => a = value,
                None => return 0,
            },
            (LD, mode) if mode & 0xe0 == IND => match load(x.wrapping_add(k)) {
                Some(value) => a = value,
                None => return 0,
            },
            (LD, MEM) => a = memory[k as usize],
            (LDX, IMM) => x = k,
            (LDX, MEM) => x = memory[k as usize],
            (ST, _) => memory[k as usize] = a,
            (ALU, op) => {
                let operand = if op & X == X { x } else { k };
                a = match op & 0xf0 {
                    ADD => a.wrapping_add(operand),
                    SUB => a.wrapping_sub(operand),
                    MUL => a.wrapping_mul(operand),
                    AND => a & operand,
                    LSH => a << operand,
                    RSH => a >> operand,
                    XOR => a ^ operand,
                    other => panic!("ALU {other:#x}"),
                };
            }
            (JMP, op) => {
                let operand = if op & X == X { x } else { k };
                at += match op & 0xf0 {
                    JA => k as usize,
                    JEQ => jump(a == operand),
                    JGT => jump(a > operand),
                    JGE => jump(a >= operand),
                    JSET => jump(a & operand != 0),
                    other => panic!("JMP {other:#x}"),
                };
            }
            (RET, _) => return k,
            (MISC, TAX) => x = a,
            (MISC, TXA) => a = x,
            other => panic!("{other:?}"),
        }
    }
}
