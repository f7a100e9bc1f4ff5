//! BPF instructions, as far as this engine's program uses them (Linux, Documentation/bpf/standardization/
//! instruction-set.rst).

/// BPF register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register(u8);

/// Return value of functions and of the program.
pub(super) const R0: Register = Register(0);
/// First argument; at the start of a program, its context.
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
pub(super) const R3: Register = Register(3);
pub(super) const R4: Register = Register(4);
pub(super) const R5: Register = Register(5);
/// First of the callee-saved registers, R6 to R9.
pub(super) const R6: Register = Register(6);
pub(super) const R7: Register = Register(7);
pub(super) const R8: Register = Register(8);
pub(super) const R9: Register = Register(9);
/// Frame pointer: the end of the stack, which grows down.
pub(super) const FRAME: Register = Register(10);

/// Condition of a jump that compares a register with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    /// Unsigned comparison.
    Less,
    /// Unsigned comparison.
    Greater,
}

/// Target of jumps in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Assembler of a program.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    /// Position of each label, once it is placed.
    places: Vec<Option<usize>>,
    /// Jumps: position and target.
    jumps: Vec<(usize, Label)>,
}

/// `struct bpf_insn` (include/uapi/linux/bpf.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    operation: u8,
    to: Register,
    from: Register,
    offset: i16,
    constant: i32,
}

impl Instruction {
    fn encoded(self) -> u64 {
        // Two registers share a byte: they are bit fields, whose layout in C follows the byte order.
        let registers =
            if cfg!(target_endian = "little") { self.to.0 | self.from.0 << 4 } else { self.from.0 | self.to.0 << 4 };
        let [low, high] = self.offset.to_ne_bytes();
        let [a, b, c, d] = self.constant.to_ne_bytes();
        u64::from_ne_bytes([self.operation, registers, low, high, a, b, c, d])
    }
}

impl Assembler {
    /// Creates a label, to be placed by [`Assembler::place`].
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places the label at the current position.
    pub(super) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// `to = *(u32 *)(base + offset)`
    pub(super) fn load(&mut self, to: Register, base: Register, offset: i16) {
        self.push(0x61, to, base, offset, 0);
    }

    /// `*(u32 *)(base + offset) = from`
    pub(super) fn store(&mut self, base: Register, offset: i16, from: Register) {
        self.push(0x63, base, from, offset, 0);
    }

    /// `*(u32 *)(base + offset) = constant`
    pub(super) fn store_constant(&mut self, base: Register, offset: i16, constant: i32) {
        self.push(0x62, base, R0, offset, constant);
    }

    /// `to = constant`
    pub(super) fn set(&mut self, to: Register, constant: i32) {
        self.push(0xb7, to, R0, 0, constant);
    }

    /// `to = from`
    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// `to += constant`
    pub(super) fn add_constant(&mut self, to: Register, constant: i32) {
        self.push(0x07, to, R0, 0, constant);
    }

    /// `to += from`
    pub(super) fn add(&mut self, to: Register, from: Register) {
        self.push(0x0f, to, from, 0, 0);
    }

    /// Converts 32 bits from network to host byte order.
    pub(super) fn network_to_host(&mut self, register: Register) {
        self.push(0xdc, register, R0, 0, 32);
    }

    /// `*(u64 *)base += from`, atomically.
    pub(super) fn add_atomically(&mut self, base: Register, from: Register) {
        self.push(0xdb, base, from, 0, 0);
    }

    /// `to = ` address of the map that this process has open as `descriptor`; occupies two instructions.
    pub(super) fn map(&mut self, to: Register, descriptor: i32) {
        const BPF_PSEUDO_MAP_FD: Register = R1;
        self.push(0x18, to, BPF_PSEUDO_MAP_FD, 0, descriptor);
        self.push(0, R0, R0, 0, 0);
    }

    pub(super) fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(0x05, R0, R0, 0, 0);
    }

    pub(super) fn jump_if(&mut self, register: Register, comparison: Comparison, constant: i32, label: Label) {
        let operation = match comparison {
            Comparison::Equal => 0x15,
            Comparison::NotEqual => 0x55,
            Comparison::Less => 0xa5,
            Comparison::Greater => 0x25,
        };
        self.jumps.push((self.code.len(), label));
        self.push(operation, register, R0, 0, constant);
    }

    /// Calls a kernel helper function by its number.
    pub(super) fn call(&mut self, function: i32) {
        self.push(0x85, R0, R0, 0, function);
    }

    pub(super) fn exit(&mut self) {
        self.push(0x95, R0, R0, 0, 0);
    }

    /// Finished program; `None` if a jump is too long.
    pub(super) fn finish(mut self) -> Option<Vec<u64>> {
        for (at, label) in self.jumps {
            // Distances count from the instruction after the jump.
            let distance = self.places[label.0]? as i64 - at as i64 - 1;
            self.code[at].offset = i16::try_from(distance).ok()?;
        }
        Some(self.code.into_iter().map(Instruction::encoded).collect())
    }

    fn push(&mut self, operation: u8, to: Register, from: Register, offset: i16, constant: i32) {
        self.code.push(Instruction { operation, to, from, offset, constant });
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    /// Bytes as shown by `llvm-mc -triple bpfel -show-encoding`.
    #[test]
    fn instructions_are_what_an_assembler_makes_of_them() {
        let mut program = Assembler::default();
        let end = program.label();
        program.load(R2, R1, 64);
        program.store(R1, 4, R3);
        program.store_constant(FRAME, -4, 128);
        program.set(R3, 3000);
        program.copy(R6, R1);
        program.add_constant(R2, -20);
        program.add(R1, R9);
        program.network_to_host(R2);
        program.add_atomically(R0, R1);
        program.map(R1, 7);
        program.jump(end);
        program.jump_if(R2, Comparison::Equal, 1, end);
        program.jump_if(R2, Comparison::NotEqual, 1, end);
        program.jump_if(R2, Comparison::Less, 80, end);
        program.jump_if(R2, Comparison::Greater, 80, end);
        program.call(1);
        program.place(end);
        program.exit();
        let bytes: Vec<[u8; 8]> = program.finish().unwrap().into_iter().map(u64::to_ne_bytes).collect();
        assert_eq!(
            bytes,
            [
                [0x61, 0x12, 64, 0, 0, 0, 0, 0],
                [0x63, 0x31, 4, 0, 0, 0, 0, 0],
                [0x62, 0x0a, 0xfc, 0xff, 0x80, 0, 0, 0],
                [0xb7, 0x03, 0, 0, 0xb8, 0x0b, 0, 0],
                [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
                [0x07, 0x02, 0, 0, 0xec, 0xff, 0xff, 0xff],
                [0x0f, 0x91, 0, 0, 0, 0, 0, 0],
                [0xdc, 0x02, 0, 0, 0x20, 0, 0, 0],
                [0xdb, 0x10, 0, 0, 0, 0, 0, 0],
                [0x18, 0x11, 0, 0, 7, 0, 0, 0],
                [0, 0, 0, 0, 0, 0, 0, 0],
                [0x05, 0, 5, 0, 0, 0, 0, 0],
                [0x15, 0x02, 4, 0, 1, 0, 0, 0],
                [0x55, 0x02, 3, 0, 1, 0, 0, 0],
                [0xa5, 0x02, 2, 0, 80, 0, 0, 0],
                [0x25, 0x02, 1, 0, 80, 0, 0, 0],
                [0x85, 0, 0, 0, 1, 0, 0, 0],
                [0x95, 0, 0, 0, 0, 0, 0, 0],
            ]
        );
    }

    #[test]
    fn a_jump_that_is_too_long_is_refused() {
        let mut program = Assembler::default();
        let end = program.label();
        program.jump(end);
        for _ in 0..40_000 {
            program.set(R0, 1);
        }
        program.place(end);
        program.exit();
        assert_eq!(program.finish(), None);
    }
}
