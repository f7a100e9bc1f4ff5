//! Assembler of classic BPF (Documentation/networking/filter.rst), whose programs the kernel runs on every packet.
//!
//! Programs are assembled at run time because their conditions are known only then, and because libpcap's compiler
//! supports neither TCP flags behind IPv6 headers nor the direction of a packet.
//!
//! ```
//! use gentle_packets::bpf::{Assembler, Label, Transport, opcode::*, skip_headers};
//! use gentle_wire::LinkType;
//!
//! // Accepts the first 64 bytes of each TCP segment to port 80.
//! let mut p = Assembler::default();
//! let [tcp, accept, reject] = p.labels();
//! skip_headers(&mut p, LinkType::ETHERNET, &Transport { tcp, udp: None, icmp_error: reject, reject });
//! p.at(tcp).op(LD | H | IND, 2).is(80, accept, reject);
//! p.at(accept).op(RET | K, 64);
//! p.at(reject).op(RET | K, 0);
//! let program = p.finish();
//! ```

mod headers;
pub mod opcode;

pub use headers::{LENGTH, TRANSPORT, Transport, skip_headers};

use opcode::{JA, JEQ, JMP, JSET, K};

/// Instruction: `struct sock_filter`, include/uapi/linux/filter.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Operation; [`opcode`] has its parts.
    pub code: u16,
    /// Number of instructions to skip if the condition of a jump holds.
    pub jt: u8,
    /// Number of instructions to skip if the condition of a jump does not hold.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// Position in a program, to which earlier instructions jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(Option<usize>);

impl Label {
    /// Position of the following instruction.
    pub const NEXT: Label = Label(None);
}

/// Instruction with unresolved jumps.
#[derive(Debug, Clone, Copy)]
struct Step {
    code: u16,
    k: u32,
    then: Label,
    otherwise: Label,
}

/// Program under construction.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    steps: Vec<Step>,
    /// Position of each label, once it has one.
    labels: Vec<Option<usize>>,
}

impl Assembler {
    /// New labels without positions.
    pub fn labels<const N: usize>(&mut self) -> [Label; N] {
        [(); N].map(|()| self.label())
    }

    /// New label without a position.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(Some(self.labels.len() - 1))
    }

    /// Gives a label the position of the next instruction.
    ///
    /// # Panics
    /// If the label is [`Label::NEXT`].
    pub fn at(&mut self, label: Label) -> &mut Assembler {
        let label = label.0.expect("a label that can be placed");
        self.labels[label] = Some(self.steps.len());
        self
    }

    /// Adds an instruction that is not a jump.
    pub fn op(&mut self, code: u16, k: u32) -> &mut Assembler {
        self.jump(code, k, Label::NEXT, Label::NEXT)
    }

    /// Adds a jump: to `then` if its condition holds, else to `otherwise`.
    pub fn jump(&mut self, code: u16, k: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.steps.push(Step { code, k, then, otherwise });
        self
    }

    /// Adds a jump with the condition that A equals `k`.
    pub fn is(&mut self, k: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.jump(JMP | JEQ | K, k, then, otherwise)
    }

    /// Adds a jump with the condition that A has at least one of these bits.
    pub fn has(&mut self, bits: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.jump(JMP | JSET | K, bits, then, otherwise)
    }

    /// Adds a jump without a condition.
    pub fn goto(&mut self, label: Label) -> &mut Assembler {
        self.jump(JMP | JA, 0, label, Label::NEXT)
    }

    /// Program with resolved jumps.
    ///
    /// # Panics
    /// If a jump leads backwards, to a label without a position, or, with a condition, over more than 255 instructions.
    pub fn finish(&self) -> Vec<Instruction> {
        let distance = |from: usize, label: Label| match label.0 {
            None => 0,
            Some(label) => {
                let to = self.labels[label].expect("a label with a position");
                to.checked_sub(from + 1).expect("a jump forwards")
            }
        };
        let near = |distance: usize| u8::try_from(distance).expect("a jump over at most 255 instructions");
        self.steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let (then, otherwise) = (distance(at, step.then), distance(at, step.otherwise));
                let always = step.code == JMP | JA;
                Instruction {
                    code: step.code,
                    jt: if always { 0 } else { near(then) },
                    jf: near(otherwise),
                    k: if always { then as u32 } else { step.k },
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::opcode::{ABS, B, LD, RET};
    use super::*;
    use crate::interpreter::run;

    /// Accepts 1 byte if the first byte of the packet is 7, else 2 bytes; `between` instructions are between both ends.
    fn branch(between: usize) -> Vec<Instruction> {
        let mut p = Assembler::default();
        let far = p.label();
        p.op(LD | B | ABS, 0).is(7, Label::NEXT, far).op(RET | K, 1);
        for _ in 1..between {
            p.op(RET | K, 3);
        }
        p.at(far).op(RET | K, 2);
        p.finish()
    }

    #[test]
    fn jumps_reach_255_instructions() {
        for between in [1, 255] {
            let program = branch(between);
            assert_eq!([7, 8].map(|byte| run(&program, &[byte], false)), [1, 2], "{between}");
        }
        assert_eq!(run(&branch(1), &[], false), 0);
    }

    #[test]
    #[should_panic(expected = "at most 255 instructions")]
    fn longer_jumps_are_refused() {
        branch(256);
    }

    #[test]
    #[should_panic(expected = "a jump forwards")]
    fn backward_jumps_are_refused() {
        let mut p = Assembler::default();
        let start = p.label();
        p.at(start).goto(start).finish();
    }

    #[test]
    #[should_panic(expected = "a label with a position")]
    fn labels_need_a_position() {
        let mut p = Assembler::default();
        let nowhere = p.label();
        p.goto(nowhere).finish();
    }
}
