//! The loop, in three instances of one text: *decoded* (a block is checked at its
//! head), *careful* (each instruction is checked, straight from the code), and careful
//! with an inspector that sees every step.
//!
//! One `match` in one `loop`, without a bounds check: every byte has an arm. Gas, the top
//! of the stack and the next instruction live in registers; everything that is called and
//! not inlined gets them by value, never a reference to them.
//!
//! The compiler could copy the indirect jump to the end of every arm. LLVM 20 and later
//! do so for as many arms only when told (`-Cllvm-args=-tail-dup-pred-size=1000
//! -Cllvm-args=-tail-dup-succ-size=1000` where the programme is linked); it is worth 3 %
//! over the benchmark programs, so nobody is asked to. What mattered: no bounds check
//! before the jump, no range patterns, closures that are macros, ends of arms that are
//! not joined (all four together: 1.76 to 2.29 times revm). `scripts/check-dispatch.sh`
//! reads the machine code and fails when a compiler undoes them.
//!
//! A block that cannot be paid, or whose stack does not fit, is left to the careful
//! instance, which finds the instruction that fails. Within a block the decoded instance
//! has paid for more than it executed; who asks for the gas left (`GAS`, `SSTORE`) holds
//! the difference, calls and creations end their block. When gas for operands
//! runs out in the midst of a block, the rest of the block could not have been paid
//! either, so the frame is out of gas no matter where exactly.

use crate::{
    decode::{Decoded, ENTRY, Instruction},
    fork::Fork,
    frame::{Context, Fault, Frame},
    fused,
    gas::Schedule,
    inspect::{FrameKind, Step},
    instructions as body,
    opcode::{self as op, *},
    outcome::Halt,
    stack::STACK_WORDS,
    word::Word,
};

/// Why the loop was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// To be entered again, perhaps as another instance.
    Again,
    /// A call or creation was asked for.
    Request,
    /// The frame ended: `STOP`, `RETURN`, `SELFDESTRUCT`.
    Done,
    /// The frame ended with `REVERT`.
    Revert,
    /// The frame could not go on.
    Fault(Fault),
}

/// What the careful instance checks before an instruction, for one opcode at one fork.
#[derive(Clone, Copy, Debug)]
struct Check {
    gas: u16,
    /// Lowest height of the stack, in bytes.
    lowest: u16,
    /// How much higher it may be.
    room: u16,
}

/// By fork and opcode. An opcode that the fork does not know has no height that will do.
static CHECKS: [[Check; 256]; Fork::ALL.len()] = {
    let mut checks = [[Check {
        gas: 0,
        lowest: u16::MAX,
        room: 0,
    }; 256]; Fork::ALL.len()];
    let mut at = 0;
    while at < Fork::ALL.len() {
        let fork = Fork::ALL[at];
        let mut byte = 0;
        while byte < 256 {
            let facts = &FACTS[byte];
            let known = !facts.name.is_empty() && fork as u8 >= facts.since as u8;
            if known && byte != op::INVALID as usize {
                let word = size_of::<Word>();
                let growth = facts.outputs.saturating_sub(facts.inputs) as usize;
                let lowest = facts.inputs as usize * word;
                checks[at][byte] = Check {
                    gas: Schedule::of(fork).base[byte],
                    lowest: lowest as u16,
                    room: ((STACK_WORDS - growth) * word - lowest) as u16,
                };
            }
            byte += 1;
        }
        at += 1;
    }
    checks
};

/// A place in code or instructions, moved forwards only as far as there are some.
#[derive(Debug)]
struct Cursor<T>(*const T);

impl<T> Clone for Cursor<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cursor<T> {}

#[expect(
    unsafe_code,
    reason = "code is padded so that no instruction or constant reaches its end, and the \
              decoder ends every path; see `Code` and `Decoded`"
)]
impl<T: Copy> Cursor<T> {
    #[inline(always)]
    fn of(items: &[T], at: usize) -> Self {
        debug_assert!(at < items.len(), "no such place");
        // SAFETY: `at` was found by the decoder or is a jump destination, and within.
        Self(unsafe { items.as_ptr().add(at) })
    }

    #[inline(always)]
    fn get(self, ahead: usize) -> T {
        // SAFETY: `STOP`s follow the code, and each path of instructions ends with one
        // that leaves the loop.
        unsafe { self.0.add(ahead).read() }
    }

    #[inline(always)]
    fn moved(self, by: usize) -> Self {
        // SAFETY: as in `get`.
        Self(unsafe { self.0.add(by) })
    }

    #[inline(always)]
    fn position(self, items: &[T]) -> usize {
        (self.0.addr() - items.as_ptr().addr()) / size_of::<T>()
    }
}

impl Cursor<u8> {
    /// The `len` bytes after this one, as a number.
    #[inline(always)]
    #[expect(unsafe_code, reason = "code is padded with more than 32 bytes")]
    fn constant(self, len: usize) -> Word {
        // SAFETY: as in `get`.
        let bytes = unsafe { self.0.add(1).cast::<[u8; 32]>().read() };
        Word::from_be_bytes(&bytes).shr_by(256 - 8 * len as u32)
    }
}

/// Runs the frame until it ends, asks for another one, or must be entered again.
pub(crate) fn run(cx: &mut Context<'_>, frame: &mut Frame) -> Exit {
    match (frame.decoded, cx.steps) {
        (true, _) => execute::<true, false>(cx, frame),
        (false, false) => execute::<false, false>(cx, frame),
        (false, true) => execute::<false, true>(cx, frame),
    }
}

/// Where decoded code begins.
pub(crate) const FIRST: usize = ENTRY as usize;

#[expect(
    clippy::manual_range_patterns,
    reason = "a range is compared before the indirect jump, for every instruction"
)]
#[expect(
    unsafe_code,
    reason = "code outlives the loop that runs it; jumps to no arm do not exist"
)]
fn execute<const DECODED: bool, const TRACED: bool>(
    cx: &mut Context<'_>,
    frame: &mut Frame,
) -> Exit {
    // SAFETY: the frame owns a share of its code and keeps it as long as it runs.
    let code = unsafe { &*std::sync::Arc::as_ptr(&frame.code) };
    let bytes = code.padded();
    let decoded: Option<&Decoded> = if DECODED { code.decoded(cx.fork) } else { None };
    let (instructions, pool, targets): (&[Instruction], &[Word], &[u32]) = match decoded {
        Some(decoded) => (decoded.instructions(), decoded.pool(), decoded.targets()),
        None => (&[], &[], &[]),
    };
    let checks = &CHECKS[cx.fork as usize];
    let mut jumps_left = code.jumps_before_decoding();

    let mut gas = frame.gas;
    let mut stack = frame.stack;
    let mut ip = Cursor(instructions.as_ptr());
    let mut pc = Cursor(bytes.as_ptr());
    if DECODED {
        ip = Cursor::of(instructions, frame.position);
    } else {
        pc = Cursor::of(bytes, frame.position);
    }

    /// Ends an arm in a way that no other arm ends. Otherwise the optimiser finds that
    /// most end alike (a word is stored, the top moves), joins those ends into one, and
    /// with them the indirect jumps into a single one that no branch predictor follows.
    macro_rules! alone {
        () => {{
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: it is a comment.
            unsafe {
                std::arch::asm!("/* {} */", const line!(), options(nomem, nostack, preserves_flags));
            }
        }};
    }
    /// Leaves the loop with the frame at rest.
    macro_rules! leave {
        ($exit:expr) => {{
            frame.gas = gas;
            frame.stack = stack;
            return $exit;
        }};
    }
    macro_rules! halt {
        ($halt:expr) => {
            leave!(Exit::Fault(Fault::Halt($halt)))
        };
    }
    /// The next instruction, the top moved as the facts say.
    macro_rules! next {
        ($opcode:expr) => {
            advance!(const { FACTS[$opcode as usize].change() as isize })
        };
    }
    /// The next instruction, after so many words came or went.
    macro_rules! advance {
        ($change:expr) => {{
            stack = stack.moved($change);
            if DECODED {
                ip = ip.moved(1);
            } else {
                pc = pc.moved(1);
            }
            if TRACED {
                tell_end(cx, gas);
            }
            alone!();
            continue;
        }};
    }
    macro_rules! unary {
        ($opcode:expr, |$a:ident| $result:expr) => {{
            let $a = stack.at(0);
            stack.put(0, $result);
            next!($opcode)
        }};
    }
    macro_rules! binary {
        ($opcode:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (stack.at(0), stack.at(1));
            stack.put(1, $result);
            next!($opcode)
        }};
    }
    macro_rules! ternary {
        ($opcode:expr, |$a:ident, $b:ident, $c:ident| $result:expr) => {{
            let ($a, $b, $c) = (stack.at(0), stack.at(1), stack.at(2));
            stack.put(2, $result);
            next!($opcode)
        }};
    }
    macro_rules! push {
        ($opcode:expr, $word:expr) => {{
            stack.push($word);
            next!($opcode)
        }};
    }
    /// An instruction that pays by its operands or may fail.
    macro_rules! body {
        ($body:expr) => {{
            frame.gas = gas;
            let result = $body;
            gas = frame.gas;
            if let Err(fault) = result {
                leave!(Exit::Fault(fault));
            }
        }};
    }
    macro_rules! instruction {
        ($opcode:expr, $body:path) => {{
            body!($body(cx, frame, stack));
            next!($opcode)
        }};
    }
    /// Makes memory cover `$len` bytes at `$offset`.
    macro_rules! reach {
        ($offset:expr, $len:expr) => {{
            let offset = $offset.saturating_u64();
            if !frame.covers(offset, $len) {
                body!(frame.grow(cx.memory, offset, $len));
            }
        }};
    }
    /// Goes on after an instruction that asked for another frame.
    macro_rules! request {
        ($opcode:expr, $body:expr) => {{
            body!($body);
            stack = stack.moved(const { FACTS[$opcode as usize].change() as isize });
            frame.position = if DECODED {
                ip.moved(1).position(instructions)
            } else {
                pc.moved(1).position(bytes)
            };
            if TRACED {
                tell_end(cx, gas);
            }
            leave!(Exit::Request)
        }};
    }
    macro_rules! end {
        ($exit:expr) => {{
            if TRACED {
                tell_end(cx, gas);
            }
            leave!($exit)
        }};
    }
    /// Checks the head of the block at `ip`, and enters it.
    macro_rules! enter {
        () => {{
            let head = ip.get(0);
            let room = u32::from(ip.get(1).arg);
            let height = stack.height_bytes() as u32;
            gas -= i64::from(head.imm);
            if gas < 0 || height.wrapping_sub(u32::from(head.arg)) > room {
                gas += i64::from(head.imm);
                let slot = ip.position(instructions) as u32;
                frame.position = decoded.map_or(0, |decoded| decoded.position(slot));
                frame.decoded = false;
                leave!(Exit::Again);
            }
            ip = ip.moved(2);
            alone!();
            continue;
        }};
    }
    /// Goes to the block at a slot.
    macro_rules! go {
        ($slot:expr) => {{
            ip = Cursor::of(instructions, $slot as usize);
            enter!()
        }};
    }
    /// Goes to a position of the code.
    macro_rules! jump {
        ($target:expr) => {{
            let target = $target.saturating_u64();
            if DECODED {
                let known = usize::try_from(target).ok().and_then(|at| targets.get(at));
                match known {
                    Some(slot) => go!(*slot),
                    None => halt!(Halt::InvalidJump),
                }
            } else {
                if !code.is_destination(target) {
                    halt!(Halt::InvalidJump);
                }
                if TRACED {
                    tell_end(cx, gas);
                } else if target as usize <= pc.position(bytes) {
                    jumps_left -= 1;
                    if jumps_left == 0 {
                        frame.position = code.decode(cx.fork).targets()[target as usize] as usize;
                        frame.decoded = true;
                        leave!(Exit::Again);
                    }
                }
                pc = Cursor::of(bytes, target as usize);
                continue;
            }
        }};
    }
    /// `$condition` decides between the block at `$slot` and the one that follows.
    macro_rules! branch {
        ($instruction:expr, $change:expr, $condition:expr) => {{
            let taken = $condition;
            stack = stack.moved($change);
            if taken {
                go!($instruction.imm)
            }
            ip = ip.moved(1);
            enter!()
        }};
    }
    /// `DUPn`
    macro_rules! dup {
        ($n:literal) => {{
            stack.push(stack.at($n - 1));
            advance!(1)
        }};
    }
    /// `SWAPn`
    macro_rules! swap {
        ($n:literal) => {{
            let (top, other) = (stack.at(0), stack.at($n));
            stack.put(0, other);
            stack.put($n, top);
            advance!(0)
        }};
    }
    /// The words that an operand in the code names, the deeper one last (EIP-8024). The
    /// decoder has looked at it before.
    macro_rules! depths {
        ($instruction:expr) => {{
            if DECODED {
                let (first, second) = ($instruction.arg & 0xff, $instruction.arg >> 8);
                (usize::from(first), usize::from(second))
            } else {
                let opcode = $instruction.op;
                let Some((first, second)) = op::operand_depths(opcode, pc.get(1)) else {
                    halt!(Halt::InvalidOpcode(opcode));
                };
                if usize::from(second) >= stack.height() {
                    halt!(Halt::StackUnderflow);
                }
                pc = pc.moved(1);
                (usize::from(first), usize::from(second))
            }
        }};
    }
    /// `PUSH op`: the constant first.
    macro_rules! pushed {
        ($instruction:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (Word::new(u64::from($instruction.imm)), stack.at(0));
            stack.put(0, $result);
            advance!(0)
        }};
    }
    /// `DUPn op`.
    macro_rules! dupped {
        ($instruction:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (stack.at(usize::from($instruction.arg) - 1), stack.at(0));
            stack.put(0, $result);
            advance!(0)
        }};
    }

    loop {
        let instruction;
        if DECODED {
            instruction = ip.get(0);
        } else {
            let byte = pc.get(0);
            instruction = Instruction {
                op: byte,
                arg: u16::from(byte),
                imm: 0,
            };
            if TRACED {
                frame.gas = gas;
                tell_step(cx, frame, stack.words(), pc.position(bytes), byte);
            }
            let check = checks[usize::from(byte)];
            let height = stack.height_bytes() as u32;
            if height.wrapping_sub(u32::from(check.lowest)) > u32::from(check.room) {
                halt!(refusal(cx.fork, byte, height));
            }
            gas -= i64::from(check.gas);
            if gas < 0 {
                halt!(Halt::OutOfGas);
            }
        }
        let absent = if DECODED {
            PUSH1..PUSH32 + 1
        } else {
            fused::FIRST..fused::END
        };
        // SAFETY: the decoder writes other instructions for constants; the check above
        // refuses bytes that are no opcodes.
        unsafe { std::hint::assert_unchecked(!absent.contains(&instruction.op)) };
        match instruction.op {
            STOP => end!(Exit::Done),

            ADD => binary!(op::ADD, |a, b| a.wrapping_add(b)),
            MUL => binary!(op::MUL, |a, b| a.wrapping_mul(b)),
            SUB => binary!(op::SUB, |a, b| a.wrapping_sub(b)),
            DIV => binary!(op::DIV, |a, b| a.div(b)),
            SDIV => binary!(op::SDIV, |a, b| a.sdiv(b)),
            MOD => binary!(op::MOD, |a, b| a.rem(b)),
            SMOD => binary!(op::SMOD, |a, b| a.smod(b)),
            ADDMOD => ternary!(op::ADDMOD, |a, b, c| a.addmod(b, c)),
            MULMOD => ternary!(op::MULMOD, |a, b, c| a.mulmod(b, c)),
            EXP => instruction!(op::EXP, body::exp),
            SIGNEXTEND => binary!(op::SIGNEXTEND, |size, word| word.sign_extend(size)),

            LT => binary!(op::LT, |a, b| Word::from_bool(a.lt(b))),
            GT => binary!(op::GT, |a, b| Word::from_bool(b.lt(a))),
            SLT => binary!(op::SLT, |a, b| Word::from_bool(a.slt(b))),
            SGT => binary!(op::SGT, |a, b| Word::from_bool(b.slt(a))),
            EQ => binary!(op::EQ, |a, b| Word::from_bool(a.same(b))),
            ISZERO => unary!(op::ISZERO, |a| Word::from_bool(a.is_zero())),

            AND => binary!(op::AND, |a, b| a.and(b)),
            OR => binary!(op::OR, |a, b| a.or(b)),
            XOR => binary!(op::XOR, |a, b| a.xor(b)),
            NOT => unary!(op::NOT, |a| a.not()),
            BYTE => binary!(op::BYTE, |index, word| word.byte(index)),
            SHL => binary!(op::SHL, |shift, word| word.shl(shift)),
            SHR => binary!(op::SHR, |shift, word| word.shr(shift)),
            SAR => binary!(op::SAR, |shift, word| word.sar(shift)),
            CLZ => unary!(op::CLZ, |a| Word::new(u64::from(a.leading_zeros()))),

            KECCAK256 => instruction!(op::KECCAK256, body::keccak256),

            ADDRESS => push!(op::ADDRESS, frame.address.into()),
            BALANCE => instruction!(op::BALANCE, body::balance),
            ORIGIN => push!(op::ORIGIN, cx.origin.into()),
            CALLER => push!(op::CALLER, frame.caller.into()),
            CALLVALUE => push!(op::CALLVALUE, frame.value),
            CALLDATALOAD => unary!(op::CALLDATALOAD, |offset| body::calldataload(frame, offset)),
            CALLDATASIZE => push!(
                op::CALLDATASIZE,
                Word::new(frame.input.bytes().len() as u64)
            ),
            CALLDATACOPY => instruction!(op::CALLDATACOPY, body::calldatacopy),
            CODESIZE => push!(op::CODESIZE, Word::new(code.bytes().len() as u64)),
            CODECOPY => instruction!(op::CODECOPY, body::codecopy),
            GASPRICE => push!(op::GASPRICE, cx.gas_price),
            EXTCODESIZE => instruction!(op::EXTCODESIZE, body::extcodesize),
            EXTCODECOPY => instruction!(op::EXTCODECOPY, body::extcodecopy),
            RETURNDATASIZE => push!(
                op::RETURNDATASIZE,
                Word::new(cx.memory.returned.len() as u64)
            ),
            RETURNDATACOPY => instruction!(op::RETURNDATACOPY, body::returndatacopy),
            EXTCODEHASH => instruction!(op::EXTCODEHASH, body::extcodehash),

            BLOCKHASH => instruction!(op::BLOCKHASH, body::block_hash),
            COINBASE => push!(op::COINBASE, cx.block.beneficiary.into()),
            TIMESTAMP => push!(op::TIMESTAMP, Word::new(cx.block.timestamp)),
            NUMBER => push!(op::NUMBER, Word::new(cx.block.number)),
            PREVRANDAO => push!(op::PREVRANDAO, body::prevrandao(cx)),
            GASLIMIT => push!(op::GASLIMIT, Word::new(cx.block.gas_limit)),
            CHAINID => push!(op::CHAINID, Word::new(cx.chain_id)),
            SELFBALANCE => push!(op::SELFBALANCE, body::self_balance(cx, frame)),
            BASEFEE => push!(op::BASEFEE, cx.block.base_fee.into()),
            BLOBHASH => unary!(op::BLOBHASH, |index| body::blob_hash(cx, index)),
            BLOBBASEFEE => push!(op::BLOBBASEFEE, cx.block.blob_base_fee.into()),
            SLOTNUM => push!(op::SLOTNUM, Word::new(cx.block.slot_number)),

            POP => next!(op::POP),
            MLOAD => {
                reach!(stack.at(0), 32);
                unary!(op::MLOAD, |offset| body::mload(frame, offset))
            }
            MSTORE => {
                reach!(stack.at(0), 32);
                body::mstore(frame, stack.at(0), stack.at(1));
                next!(op::MSTORE)
            }
            MSTORE8 => {
                reach!(stack.at(0), 1);
                body::mstore8(frame, stack.at(0), stack.at(1));
                next!(op::MSTORE8)
            }
            SLOAD => instruction!(op::SLOAD, body::sload),
            SSTORE => {
                body!(body::sstore(cx, frame, stack, i64::from(instruction.imm)));
                next!(op::SSTORE)
            }
            JUMP => {
                let target = stack.at(0);
                stack = stack.moved(-1);
                jump!(target)
            }
            JUMPI => {
                let (target, condition) = (stack.at(0), stack.at(1));
                stack = stack.moved(-2);
                if !condition.is_zero() {
                    jump!(target)
                }
                if DECODED {
                    ip = ip.moved(1);
                    enter!()
                }
                advance!(0)
            }
            PC => push!(op::PC, Word::new(pc.position(bytes) as u64)),
            MSIZE => push!(op::MSIZE, Word::new(frame.memory_len as u64)),
            GAS => push!(
                op::GAS,
                Word::new((gas + i64::from(instruction.imm)) as u64)
            ),
            JUMPDEST => next!(op::JUMPDEST),
            TLOAD => instruction!(op::TLOAD, body::tload),
            TSTORE => instruction!(op::TSTORE, body::tstore),
            MCOPY => instruction!(op::MCOPY, body::mcopy),

            PUSH0 => push!(op::PUSH0, Word::ZERO),
            PUSH1 => {
                stack.push(Word::new(u64::from(pc.get(1))));
                pc = pc.moved(1);
                advance!(1)
            }
            // Not as a range: that would be compared before the jump.
            0x61 | 0x62 | 0x63 | 0x64 | 0x65 | 0x66 | 0x67 | 0x68 | 0x69 | 0x6a | 0x6b | 0x6c
            | 0x6d | 0x6e | 0x6f | 0x70 | 0x71 | 0x72 | 0x73 | 0x74 | 0x75 | 0x76 | 0x77 | 0x78
            | 0x79 | 0x7a | 0x7b | 0x7c | 0x7d | 0x7e | 0x7f => {
                let len = usize::from(instruction.op - PUSH1) + 1;
                stack.push(pc.constant(len));
                pc = pc.moved(len);
                advance!(1)
            }
            // One arm each: where the word is becomes part of the machine code.
            0x80 => dup!(1),
            0x81 => dup!(2),
            0x82 => dup!(3),
            0x83 => dup!(4),
            0x84 => dup!(5),
            0x85 => dup!(6),
            0x86 => dup!(7),
            0x87 => dup!(8),
            0x88 => dup!(9),
            0x89 => dup!(10),
            0x8a => dup!(11),
            0x8b => dup!(12),
            0x8c => dup!(13),
            0x8d => dup!(14),
            0x8e => dup!(15),
            0x8f => dup!(16),
            0x90 => swap!(1),
            0x91 => swap!(2),
            0x92 => swap!(3),
            0x93 => swap!(4),
            0x94 => swap!(5),
            0x95 => swap!(6),
            0x96 => swap!(7),
            0x97 => swap!(8),
            0x98 => swap!(9),
            0x99 => swap!(10),
            0x9a => swap!(11),
            0x9b => swap!(12),
            0x9c => swap!(13),
            0x9d => swap!(14),
            0x9e => swap!(15),
            0x9f => swap!(16),

            LOG0 | LOG1 | LOG2 | LOG3 | LOG4 => {
                let topics = usize::from(instruction.op - LOG0);
                body!(body::log(cx, frame, stack, topics));
                advance!(-2 - topics as isize)
            }

            DUPN => {
                let (at, _) = depths!(instruction);
                stack.push(stack.at(at));
                advance!(1)
            }
            SWAPN | EXCHANGE => {
                let (n, m) = depths!(instruction);
                let (first, second) = (stack.at(n), stack.at(m));
                stack.put(n, second);
                stack.put(m, first);
                advance!(0)
            }

            CREATE => request!(
                op::CREATE,
                body::create(cx, frame, stack, FrameKind::Create)
            ),
            CREATE2 => request!(
                op::CREATE2,
                body::create(cx, frame, stack, FrameKind::Create2)
            ),
            CALL => request!(op::CALL, body::call(cx, frame, stack, FrameKind::Call)),
            CALLCODE => request!(
                op::CALLCODE,
                body::call(cx, frame, stack, FrameKind::CallCode)
            ),
            DELEGATECALL => {
                request!(
                    op::DELEGATECALL,
                    body::call(cx, frame, stack, FrameKind::DelegateCall)
                )
            }
            STATICCALL => {
                request!(
                    op::STATICCALL,
                    body::call(cx, frame, stack, FrameKind::StaticCall)
                )
            }
            RETURN => {
                body!(body::output(cx, frame, stack));
                end!(Exit::Done)
            }
            REVERT => {
                body!(body::output(cx, frame, stack));
                end!(Exit::Revert)
            }
            SELFDESTRUCT => {
                body!(body::selfdestruct(cx, frame, stack));
                end!(Exit::Done)
            }

            fused::BLOCK => enter!(),
            fused::INVALID_JUMP => halt!(Halt::InvalidJump),
            fused::UNKNOWN => halt!(Halt::InvalidOpcode(instruction.arg as u8)),
            fused::PUSH => {
                stack.push(Word::new(u64::from(instruction.imm)));
                advance!(1)
            }
            fused::PUSH_WIDE => {
                stack.push(pool[instruction.imm as usize]);
                advance!(1)
            }
            fused::JUMP_TO => go!(instruction.imm),
            fused::JUMPI_TO => branch!(instruction, -1, !stack.at(0).is_zero()),
            fused::JUMPI_TO_IF_ZERO => branch!(instruction, -1, stack.at(0).is_zero()),
            fused::JUMPI_TO_IF_LT => branch!(instruction, -2, stack.at(0).lt(stack.at(1))),
            fused::JUMPI_TO_IF_GT => branch!(instruction, -2, stack.at(1).lt(stack.at(0))),
            fused::JUMPI_TO_IF_SLT => branch!(instruction, -2, stack.at(0).slt(stack.at(1))),
            fused::JUMPI_TO_IF_SGT => branch!(instruction, -2, stack.at(1).slt(stack.at(0))),
            fused::JUMPI_TO_IF_EQ => branch!(instruction, -2, stack.at(0).same(stack.at(1))),
            fused::JUMPI_TO_UNLESS_LT => branch!(instruction, -2, !stack.at(0).lt(stack.at(1))),
            fused::JUMPI_TO_UNLESS_GT => branch!(instruction, -2, !stack.at(1).lt(stack.at(0))),
            fused::JUMPI_TO_UNLESS_SLT => branch!(instruction, -2, !stack.at(0).slt(stack.at(1))),
            fused::JUMPI_TO_UNLESS_SGT => branch!(instruction, -2, !stack.at(1).slt(stack.at(0))),
            fused::JUMPI_TO_UNLESS_EQ => branch!(instruction, -2, !stack.at(0).same(stack.at(1))),
            fused::SELECT => {
                let selector = Word::new(u64::from(ip.get(1).imm));
                let taken = stack.at(0).same(selector);
                if taken {
                    go!(instruction.imm)
                }
                ip = ip.moved(2);
                enter!()
            }
            fused::PUSH_ADD => pushed!(instruction, |a, b| a.wrapping_add(b)),
            fused::PUSH_MUL => pushed!(instruction, |a, b| a.wrapping_mul(b)),
            fused::PUSH_SUB => pushed!(instruction, |a, b| a.wrapping_sub(b)),
            fused::PUSH_AND => pushed!(instruction, |a, b| a.and(b)),
            fused::PUSH_OR => pushed!(instruction, |a, b| a.or(b)),
            fused::PUSH_SHL => pushed!(instruction, |shift, word| word.shl(shift)),
            fused::PUSH_SHR => pushed!(instruction, |shift, word| word.shr(shift)),
            fused::PUSH_SAR => pushed!(instruction, |shift, word| word.sar(shift)),
            fused::PUSH_EQ => pushed!(instruction, |a, b| Word::from_bool(a.same(b))),
            fused::PUSH_LT => pushed!(instruction, |a, b| Word::from_bool(a.lt(b))),
            fused::PUSH_GT => pushed!(instruction, |a, b| Word::from_bool(b.lt(a))),
            fused::SUB_PUSHED => pushed!(instruction, |b, a| a.wrapping_sub(b)),
            fused::DIV_PUSHED => pushed!(instruction, |b, a| a.div(b)),
            fused::PUSH_MLOAD => {
                let offset = Word::new(u64::from(instruction.imm));
                reach!(offset, 32);
                stack.push(body::mload(frame, offset));
                advance!(1)
            }
            fused::PUSH_MSTORE => {
                let offset = Word::new(u64::from(instruction.imm));
                reach!(offset, 32);
                body::mstore(frame, offset, stack.at(0));
                advance!(-1)
            }
            fused::PUSH_WIDE_AND => {
                stack.put(0, stack.at(0).and(pool[instruction.imm as usize]));
                advance!(0)
            }
            fused::PUSH_WIDE_ADD => {
                stack.put(0, stack.at(0).wrapping_add(pool[instruction.imm as usize]));
                advance!(0)
            }
            fused::SWAP_POP => {
                stack.put(usize::from(instruction.arg), stack.at(0));
                advance!(-1)
            }
            fused::POP_POP => advance!(-2),
            fused::DUP_PUSH => {
                stack.push(stack.at(usize::from(instruction.arg) - 1));
                stack.push_at(1, Word::new(u64::from(instruction.imm)));
                advance!(2)
            }
            fused::DUP_MLOAD => {
                let offset = stack.at(usize::from(instruction.arg) - 1);
                reach!(offset, 32);
                stack.push(body::mload(frame, offset));
                advance!(1)
            }
            fused::DUP_ADD => dupped!(instruction, |a, b| a.wrapping_add(b)),
            fused::DUP_SUB => dupped!(instruction, |a, b| a.wrapping_sub(b)),
            fused::DUP_DUP => {
                let (n, m) = (instruction.arg & 0xff, instruction.arg >> 8);
                let first = stack.at(usize::from(n) - 1);
                stack.push(first);
                let second = stack.moved(1).at(usize::from(m) - 1);
                stack.push_at(1, second);
                advance!(2)
            }
            fused::SWAP_SWAP => {
                let (n, m) = (
                    usize::from(instruction.arg & 0xff),
                    usize::from(instruction.arg >> 8),
                );
                let (top, other) = (stack.at(0), stack.at(n));
                stack.put(n, top);
                let third = stack.at(m);
                stack.put(m, other);
                stack.put(0, third);
                advance!(0)
            }
            fused::SWAP_SUB => {
                stack.put(1, stack.at(1).wrapping_sub(stack.at(0)));
                advance!(-1)
            }
            fused::IS_NOT_ZERO => {
                stack.put(0, Word::from_bool(!stack.at(0).is_zero()));
                advance!(0)
            }
            // SAFETY: the decoder writes what stands above and nothing else; the check
            // before the match refuses bytes that are no opcodes.
            _ => unsafe {
                debug_assert!(false, "no such instruction: {}", instruction.op);
                std::hint::unreachable_unchecked()
            },
        }
    }
}

/// Why the careful instance does not execute an opcode.
#[cold]
fn refusal(fork: Fork, byte: u8, height: u32) -> Halt {
    let facts = &FACTS[usize::from(byte)];
    if !facts.exists(fork) || byte == op::INVALID {
        Halt::InvalidOpcode(byte)
    } else if height < u32::from(facts.inputs) * size_of::<Word>() as u32 {
        Halt::StackUnderflow
    } else {
        Halt::StackOverflow
    }
}

#[cold]
fn tell_step(cx: &mut Context<'_>, frame: &Frame, stack: &[Word], pc: usize, opcode: u8) {
    let refund = cx.journal.refund;
    if let Some(inspector) = &mut cx.inspector {
        inspector.step(&Step {
            pc,
            opcode,
            gas: frame.gas.cast_unsigned(),
            depth: cx.depth + 1,
            address: frame.address,
            stack: Word::limbs(stack),
            memory: frame.memory(),
            return_data: &cx.memory.returned,
            refund,
        });
    }
}

#[cold]
fn tell_end(cx: &mut Context<'_>, gas: i64) {
    if let Some(inspector) = &mut cx.inspector {
        inspector.step_end(gas.cast_unsigned());
    }
}
