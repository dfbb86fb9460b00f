//! The interpreter loop, compiled three times from one text:
//!
//! - *decoded*: runs decoded code; gas and stack are checked once per block;
//! - *careful*: runs the bytes of the code; every instruction is checked;
//! - *traced*: careful, and an inspector sees every step.
//!
//! The loop is one `match` without a bounds check, because every byte has an arm. The gas, the
//! top of the stack and the next instruction stay in registers. Functions that are not inlined
//! receive them by value, never by reference.
//!
//! Five things matter for speed (together: 1.76 to 2.29 times revm): no bounds check before the
//! indirect jump, no range patterns, macros instead of closures, arms whose ends the compiler
//! cannot merge, and a dispatch within one line of the cache. `scripts/check-dispatch.sh` reads
//! the machine code and fails when a compiler undoes them. The compiler could also copy the
//! indirect jump to the end of every arm. LLVM 20 and later do so for this many arms only with
//! `-Cllvm-args=-tail-dup-pred-size=1000 -Cllvm-args=-tail-dup-succ-size=1000` in the final
//! link. That gains 3 % over the benchmark programs, too little to require the flags.
//!
//! The decoded instance leaves a block to the careful one if the gas does not suffice or the
//! stack does not fit. The careful instance finds the instruction that fails. Within a block the
//! decoded instance has charged more than it has executed. `GAS` and `SSTORE`, which read the
//! gas left, carry the difference; calls and creations end their block. If the gas does not suffice
//! for the operands of an instruction, the careful instance takes over before this instruction and gets
//! back what the rest of the block has paid. The frame will run out of gas within the block, but the
//! careful instance may meet another fault before, and reads what can be paid. So the reason of a
//! halt and the reads of a frame do not depend on the instance.

use crate::{
    decoded::{Decoded, ENTRY, Instruction},
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

/// Why the loop returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Enter the loop again, perhaps another instance.
    Again,
    /// The frame requests a call or a creation.
    Request,
    /// The frame ended: `STOP`, `RETURN`, `SELFDESTRUCT`.
    Done,
    /// The frame ended with `REVERT`.
    Revert,
    /// The frame could not continue.
    Fault(Fault),
}

/// The checks of the careful instance before an instruction, for one opcode at one fork.
///
/// Aligned, so that its address is a scaled index.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct Check {
    gas: u16,
    /// The minimum height of the stack, in bytes.
    lowest: u16,
    /// How far above `lowest` the height may be, in bytes.
    room: u16,
}

/// By fork and opcode. For an opcode that the fork does not have, no height passes the check.
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

/// A position in the code or in the decoded instructions, without bounds checks.
///
/// The accesses below are `unsafe`: the code is padded with `STOP`s and the decoder ends every
/// path with an instruction that leaves the loop, so a loop that obeys them stays within.
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
    /// # Safety
    /// - `at` is below the number of `items`.
    /// - `items` outlive all uses of the cursor.
    #[inline(always)]
    unsafe fn of(items: &[T], at: usize) -> Self {
        debug_assert!(at < items.len(), "cursor beyond the end");
        // SAFETY: by the contract, within the slice.
        Self(unsafe { items.as_ptr().add(at) })
    }

    /// Reads the item `ahead` of this one.
    ///
    /// # Safety
    /// - The items are alive.
    /// - At least `ahead` more items follow this one.
    #[inline(always)]
    unsafe fn get(self, ahead: usize) -> T {
        // SAFETY: by the contract, within the slice.
        unsafe { self.0.add(ahead).read() }
    }

    /// # Safety
    /// - The items are alive.
    /// - At least `by` more items follow this one.
    #[inline(always)]
    unsafe fn moved(self, by: usize) -> Self {
        // SAFETY: by the contract, within the slice.
        Self(unsafe { self.0.add(by) })
    }

    /// The address, for differences between positions.
    #[inline(always)]
    fn address(self) -> i64 {
        self.0.addr() as i64
    }

    /// The index within `items`, from which the cursor was made.
    #[inline(always)]
    fn position(self, items: &[T]) -> usize {
        (self.0.addr() - items.as_ptr().addr()) / size_of::<T>()
    }
}

impl Cursor<u8> {
    /// Like [`constant`](Self::constant), for at most 8 bytes.
    ///
    /// # Safety
    /// - The code is alive.
    /// - At least 8 more bytes follow this one, padding included.
    /// - `len` is between 1 and 8.
    #[inline(always)]
    #[expect(unsafe_code, reason = "code is padded with more than 8 bytes")]
    unsafe fn short_constant(self, len: usize) -> Word {
        debug_assert!((1..=8).contains(&len), "constant of {len} bytes");
        // SAFETY: by the contract, 8 bytes follow; bytes need no alignment.
        let bytes = unsafe { self.0.add(1).cast::<[u8; 8]>().read() };
        Word::new(u64::from_be_bytes(bytes) >> (64 - 8 * len as u32))
    }

    /// The `len` bytes after this one, as a number.
    ///
    /// # Safety
    /// - The code is alive.
    /// - At least 32 more bytes follow this one, padding included.
    /// - `len` is between 1 and 32.
    #[inline(always)]
    #[expect(unsafe_code, reason = "code is padded with more than 32 bytes")]
    unsafe fn constant(self, len: usize) -> Word {
        debug_assert!((1..=32).contains(&len), "constant of {len} bytes");
        // SAFETY: by the contract, 32 bytes follow; bytes need no alignment.
        let bytes = unsafe { self.0.add(1).cast::<[u8; 32]>().read() };
        Word::from_be_bytes(&bytes).shr_by(256 - 8 * len as u32)
    }
}

/// Runs the frame until it ends, requests another frame, or must be entered again.
pub(crate) fn run(cx: &mut Context<'_>, frame: &mut Frame) -> Exit {
    match (frame.decoded, cx.steps) {
        (true, _) => execute::<true, false>(cx, frame),
        (false, false) => execute::<false, false>(cx, frame),
        (false, true) => execute::<false, true>(cx, frame),
    }
}

/// The bytes of code that the careful instance executes before it leaves the loop for a moment, so that
/// [`StateSource::check_wanted`](crate::StateSource::check_wanted) is asked: some hundred microseconds.
const SLICE: i64 = 1 << 16;

/// The slot at which decoded code begins.
pub(crate) const FIRST: usize = ENTRY as usize;

// The macros are local because `macro_rules` is hygienic: outside of the function they could not
// name its variables. They are macros because closures would borrow these variables, which then
// would not stay in registers.
#[expect(
    clippy::manual_range_patterns,
    reason = "a range is compared before the indirect jump, for every instruction"
)]
#[expect(
    unsafe_code,
    reason = "the stack is checked once per instruction or block; code outlives the loop that \
              runs it; some arms of the match are unreachable"
)]
fn execute<const DECODED: bool, const TRACED: bool>(
    cx: &mut Context<'_>,
    frame: &mut Frame,
) -> Exit {
    let number = frame.code;
    // SAFETY: the journal owns a share of the code, at an address that stays when more codes are
    // added. Codes are removed by the machine only, before and after the loop: when a creation has
    // ended, and when changes are undone. Neither concerns the code of a frame that has not ended.
    let code = unsafe { &*std::ptr::from_ref(cx.journal.codes.get(number)) };
    let bytes = code.padded();
    let decoded: Option<&Decoded> = if DECODED { code.decoded(cx.fork) } else { None };
    let (instructions, constants, targets): (&[Instruction], &[Word], &[u32]) = match decoded {
        Some(decoded) => (&decoded.instructions, &decoded.constants, &decoded.targets),
        None => (&[], &[], &[]),
    };
    let checks = &CHECKS[cx.fork as usize];

    let mut gas = frame.gas;
    let mut stack = frame.stack;
    let mut ip = Cursor(instructions.as_ptr());
    let mut pc = Cursor(bytes.as_ptr());
    if DECODED {
        // SAFETY: the position is the slot of a block, and `code` outlives the loop.
        ip = unsafe { Cursor::of(instructions, frame.position) };
    } else {
        // SAFETY: the position is 0, at an instruction or after a call, all of which are
        // within the padded code; `code` outlives the loop.
        pc = unsafe { Cursor::of(bytes, frame.position) };
    }
    // Where the budget of the code (`Codes::budget`) would end if the code had no jumps. A jump
    // moves it with the position, so that one addition counts all executed bytes.
    let budget = cx.journal.codes.budget(number);
    let mut budget_end = if DECODED || TRACED {
        0
    } else {
        pc.address().wrapping_add(budget.min(SLICE))
    };
    // The part of the budget after this slice.
    let spare = (budget - SLICE).max(0);

    /// Reads word `$n` from the top.
    macro_rules! word {
        ($n:expr) => {
            // SAFETY: the check before the instruction or its block found all operands on the
            // stack, whose chunk belongs to this frame. An operand depth of EIP-8024 is
            // checked by the decoder or by `depths!`.
            unsafe { stack.at($n) }
        };
    }
    /// Overwrites word `$n` from the top.
    macro_rules! put {
        ($n:expr, $word:expr) => {{
            let word = $word;
            // SAFETY: as in `word!`.
            unsafe { stack.put($n, word) }
        }};
    }
    /// Writes word `$n` above the top, which stays where it is.
    macro_rules! put_above {
        ($n:expr, $word:expr) => {{
            let word = $word;
            // SAFETY: the check before the instruction or its block found room for what it
            // pushes.
            unsafe { stack.push_at($n, word) }
        }};
    }
    /// Moves the top by `$change` words.
    macro_rules! move_top {
        ($change:expr) => {
            // SAFETY: the check before the instruction or its block found the operands and the
            // room; the arm has written what is added.
            stack = unsafe { stack.moved($change) }
        };
    }
    /// The topmost `$n` words, for the body of an instruction.
    macro_rules! operands {
        ($n:expr) => {
            // SAFETY: as in `word!`; the body returns before the loop continues.
            unsafe { stack.operands::<{ $n }>() }
        };
    }
    /// Reads the item `$ahead` of the current one.
    macro_rules! ahead {
        ($cursor:ident, $ahead:expr) => {
            // SAFETY: `STOP`s follow the code, and each path of decoded instructions ends with
            // one that leaves the loop.
            unsafe { $cursor.get($ahead) }
        };
    }
    /// The cursor `$by` items further.
    macro_rules! skip {
        ($cursor:ident, $by:expr) => {
            // SAFETY: as in `ahead!`.
            unsafe { $cursor.moved($by) }
        };
    }
    /// Ends an arm in a way that no other arm ends. Otherwise the optimizer finds that most arms
    /// end alike (store a word, move the top), merges these ends, and with them the indirect
    /// jumps into a single one that no branch predictor can follow.
    macro_rules! keep_arm_separate {
        () => {{
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the assembly is a comment.
            unsafe {
                std::arch::asm!("/* {} */", const line!(), options(nomem, nostack, preserves_flags));
            }
        }};
    }
    /// Aligns the dispatch, to which every arm jumps, to half a line of the cache. It takes 27
    /// bytes, so it does not cross a line. Where it did, short loops took up to 57 % longer, and
    /// the linker decided whether it did. The compiler aligns loops to 16 bytes, so that at most
    /// two `nop`s are executed.
    macro_rules! align_dispatch {
        () => {{
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the assembly aligns what follows it.
            unsafe {
                std::arch::asm!(".p2align 5", options(nomem, nostack, preserves_flags));
            }
        }};
    }
    /// Leaves the loop; the registers are written back to the frame.
    macro_rules! leave {
        ($exit:expr) => {{
            frame.gas = gas;
            frame.stack = stack;
            if !DECODED && !TRACED {
                let left = budget_end.wrapping_sub(pc.address()) + spare;
                cx.journal.codes.set_budget(number, left);
            }
            return $exit;
        }};
    }
    macro_rules! halt {
        ($halt:expr) => {
            leave!(Exit::Fault(Fault::Halt($halt)))
        };
    }
    /// Goes to the next instruction and moves the top by the opcode's facts.
    macro_rules! next {
        ($opcode:expr) => {
            advance!(const { FACTS[$opcode as usize].change() as isize })
        };
    }
    /// Goes to the next instruction and moves the top by `$change` words.
    macro_rules! advance {
        ($change:expr) => {{
            move_top!($change);
            if DECODED {
                ip = skip!(ip, 1);
            } else {
                pc = skip!(pc, 1);
            }
            if TRACED {
                report_step_end(cx, gas);
            }
            keep_arm_separate!();
            continue;
        }};
    }
    macro_rules! unary {
        ($opcode:expr, |$a:ident| $result:expr) => {{
            let $a = word!(0);
            put!(0, $result);
            next!($opcode)
        }};
    }
    macro_rules! binary {
        ($opcode:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (word!(0), word!(1));
            put!(1, $result);
            next!($opcode)
        }};
    }
    macro_rules! ternary {
        ($opcode:expr, |$a:ident, $b:ident, $c:ident| $result:expr) => {{
            let ($a, $b, $c) = (word!(0), word!(1), word!(2));
            put!(2, $result);
            next!($opcode)
        }};
    }
    macro_rules! push {
        ($opcode:expr, $word:expr) => {{
            put_above!(0, $word);
            next!($opcode)
        }};
    }
    /// Runs a body that charges by its operands or may fail. A body that is out of gas has had no effect,
    /// unless it is of the last instruction of a block.
    macro_rules! body {
        ($body:expr) => {{
            let before = gas;
            frame.gas = gas;
            let result = $body;
            gas = frame.gas;
            if let Err(fault) = result {
                if DECODED
                    && let Some(paid) = take_over(cx, frame, ip.position(instructions), fault)
                {
                    gas = before + paid;
                    leave!(Exit::Again);
                }
                leave!(Exit::Fault(fault));
            }
        }};
    }
    /// Runs the body of an opcode on its operands.
    macro_rules! instruction {
        ($opcode:expr, $body:path) => {{
            let operands = operands!(FACTS[$opcode as usize].inputs as usize);
            body!($body(cx, frame, operands));
            next!($opcode)
        }};
    }
    /// Makes memory cover `$len` bytes at `$offset`.
    macro_rules! expand_memory {
        ($offset:expr, $len:expr) => {{
            let offset = $offset.saturating_u64();
            if !frame.covers(offset, $len) {
                body!(frame.grow(cx.memory, offset, $len));
            }
        }};
    }
    /// Reads the word of memory at `$offset`.
    macro_rules! memory_word {
        ($offset:expr) => {{
            expand_memory!($offset, 32);
            let offset = $offset.0[0];
            // SAFETY: memory covers these 32 bytes now.
            unsafe { frame.read_word(offset) }
        }};
    }
    /// Writes a word of memory at `$offset`.
    macro_rules! put_memory_word {
        ($offset:expr, $word:expr) => {{
            expand_memory!($offset, 32);
            let (offset, word) = ($offset.0[0], $word);
            // SAFETY: memory covers these 32 bytes now.
            unsafe { frame.write_word(offset, word) }
        }};
    }
    /// Leaves the loop after an instruction that requested another frame.
    macro_rules! request {
        ($opcode:expr, $body:path $(, $kind:expr)?) => {{
            let operands = operands!(FACTS[$opcode as usize].inputs as usize);
            body!($body(cx, frame, operands $(, $kind)?));
            move_top!(const { FACTS[$opcode as usize].change() as isize });
            frame.position = if DECODED {
                skip!(ip, 1).position(instructions)
            } else {
                skip!(pc, 1).position(bytes)
            };
            if TRACED {
                report_step_end(cx, gas);
            }
            leave!(Exit::Request)
        }};
    }
    macro_rules! end {
        ($exit:expr) => {{
            if TRACED {
                report_step_end(cx, gas);
            }
            leave!($exit)
        }};
    }
    /// Checks the header of the block at `ip`, and enters the block.
    macro_rules! enter {
        () => {{
            let header = ahead!(ip, 0);
            let room = u32::from(ahead!(ip, 1).arg);
            let height = stack.height_bytes() as u32;
            gas -= i64::from(header.imm);
            if gas < 0 || height.wrapping_sub(u32::from(header.arg)) > room {
                gas += i64::from(header.imm);
                let slot = ip.position(instructions) as u32;
                frame.position = decoded.map_or(0, |decoded| decoded.position(slot));
                frame.decoded = false;
                leave!(Exit::Again);
            }
            ip = skip!(ip, 2);
            keep_arm_separate!();
            continue;
        }};
    }
    /// Goes to the block at a slot.
    macro_rules! go {
        ($slot:expr) => {{
            // SAFETY: the decoder writes slots of blocks only.
            ip = unsafe { Cursor::of(instructions, $slot as usize) };
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
                let from = pc;
                // SAFETY: a jump destination is within the code.
                pc = unsafe { Cursor::of(bytes, target as usize) };
                if TRACED {
                    report_step_end(cx, gas);
                    continue;
                }
                let change = pc.address().wrapping_sub(from.address());
                budget_end = budget_end.wrapping_add(change);
                if budget_end.wrapping_sub(pc.address()) <= 0 {
                    if spare > 0 {
                        frame.position = target as usize;
                        leave!(Exit::Again);
                    }
                    frame.position = code.decode(cx.fork).targets[target as usize] as usize;
                    frame.decoded = true;
                    leave!(Exit::Again);
                }
                // The `JUMPDEST` here needs no operands and no room.
                gas -= i64::from(checks[usize::from(JUMPDEST)].gas);
                if gas < 0 {
                    halt!(Halt::OutOfGas);
                }
                pc = skip!(pc, 1);
                keep_arm_separate!();
                continue;
            }
        }};
    }
    /// `$condition` decides between the block in `imm` and the one that follows.
    macro_rules! branch {
        ($instruction:expr, $change:expr, $condition:expr) => {{
            let taken = $condition;
            move_top!($change);
            if taken {
                go!($instruction.imm)
            }
            ip = skip!(ip, 1);
            enter!()
        }};
    }
    /// `DUPn`
    macro_rules! dup {
        ($n:literal) => {{
            put_above!(0, word!($n - 1));
            advance!(1)
        }};
    }
    /// `SWAPn`
    macro_rules! swap {
        ($n:literal) => {{
            let (top, other) = (word!(0), word!($n));
            put!(0, other);
            put!($n, top);
            advance!(0)
        }};
    }
    /// The depths that an operand in the code selects, the deeper one last (EIP-8024). In decoded
    /// code the decoder has checked them.
    macro_rules! depths {
        ($instruction:expr) => {{
            if DECODED {
                let (first, second) = ($instruction.arg & 0xff, $instruction.arg >> 8);
                (usize::from(first), usize::from(second))
            } else {
                let opcode = $instruction.op;
                let Some((first, second)) = op::operand_depths(opcode, ahead!(pc, 1)) else {
                    halt!(Halt::InvalidOpcode(opcode));
                };
                if usize::from(second) >= stack.height() {
                    halt!(Halt::StackUnderflow);
                }
                pc = skip!(pc, 1);
                (usize::from(first), usize::from(second))
            }
        }};
    }
    /// `PUSH op`: the constant is the first operand.
    macro_rules! pushed {
        ($instruction:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (Word::new(u64::from($instruction.imm)), word!(0));
            put!(0, $result);
            advance!(0)
        }};
    }
    /// `DUPn op`.
    macro_rules! dupped {
        ($instruction:expr, |$a:ident, $b:ident| $result:expr) => {{
            let ($a, $b) = (word!(usize::from($instruction.arg) - 1), word!(0));
            put!(0, $result);
            advance!(0)
        }};
    }

    loop {
        align_dispatch!();
        let instruction;
        if DECODED {
            instruction = ahead!(ip, 0);
        } else {
            let byte = ahead!(pc, 0);
            instruction = Instruction {
                op: byte,
                arg: u16::from(byte),
                imm: 0,
            };
            if TRACED {
                frame.gas = gas;
                // SAFETY: all words below the top were written, and nothing writes them while
                // the inspector looks at them.
                let words = unsafe { stack.words(0, stack.height()) };
                report_step(cx, frame, words, pc.position(bytes), byte);
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
        // SAFETY: the decoder replaces pushes by other instructions. In undecoded code the check
        // above refuses every byte that is not an opcode, and no opcode has the byte of a fused
        // instruction (asserted in `fused`).
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
            MLOAD => unary!(op::MLOAD, |offset| memory_word!(offset)),
            MSTORE => {
                put_memory_word!(word!(0), word!(1));
                next!(op::MSTORE)
            }
            MSTORE8 => {
                expand_memory!(word!(0), 1);
                body::mstore8(frame, word!(0), word!(1));
                next!(op::MSTORE8)
            }
            SLOAD => instruction!(op::SLOAD, body::sload),
            SSTORE => {
                let paid_ahead = i64::from(instruction.imm);
                body!(body::sstore(cx, frame, operands!(2), paid_ahead));
                next!(op::SSTORE)
            }
            JUMP => {
                let target = word!(0);
                move_top!(-1);
                jump!(target)
            }
            JUMPI => {
                let (target, condition) = (word!(0), word!(1));
                move_top!(-2);
                if !condition.is_zero() {
                    jump!(target)
                }
                if DECODED {
                    ip = skip!(ip, 1);
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
                put_above!(0, Word::new(u64::from(ahead!(pc, 1))));
                pc = skip!(pc, 1);
                advance!(1)
            }
            // Not range patterns, which would be compared before the indirect jump.
            0x61 | 0x62 | 0x63 | 0x64 | 0x65 | 0x66 | 0x67 => {
                let len = usize::from(instruction.op - PUSH1) + 1;
                // SAFETY: the code is alive and padded with 33 bytes; `len` is 2 to 8.
                let constant = unsafe { pc.short_constant(len) };
                // Nearly every jump follows the `PUSH` of its target. Both are executed at once
                // if the jump can be paid and has its condition. Otherwise it fails by itself.
                let following = if TRACED { STOP } else { ahead!(pc, len + 1) };
                if following == JUMP && gas >= i64::from(checks[usize::from(JUMP)].gas) {
                    gas -= i64::from(checks[usize::from(JUMP)].gas);
                    pc = skip!(pc, len + 1);
                    jump!(constant)
                }
                if following == JUMPI
                    && gas >= i64::from(checks[usize::from(JUMPI)].gas)
                    && stack.height_bytes() > 0
                {
                    gas -= i64::from(checks[usize::from(JUMPI)].gas);
                    pc = skip!(pc, len + 1);
                    let condition = word!(0);
                    move_top!(-1);
                    if !condition.is_zero() {
                        jump!(constant)
                    }
                    advance!(0)
                }
                put_above!(0, constant);
                pc = skip!(pc, len);
                advance!(1)
            }
            0x68 | 0x69 | 0x6a | 0x6b | 0x6c | 0x6d | 0x6e | 0x6f | 0x70 | 0x71 | 0x72 | 0x73
            | 0x74 | 0x75 | 0x76 | 0x77 | 0x78 | 0x79 | 0x7a | 0x7b | 0x7c | 0x7d | 0x7e | 0x7f => {
                let len = usize::from(instruction.op - PUSH1) + 1;
                // SAFETY: the code is alive and padded with 33 bytes; `len` is 9 to 32.
                put_above!(0, unsafe { pc.constant(len) });
                pc = skip!(pc, len);
                advance!(1)
            }
            // One arm each, so that the depth becomes part of the machine code.
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
                // SAFETY: the check found the offset, the length and all topics on the stack,
                // which the body does not write.
                let words = unsafe { stack.words(2, topics) };
                body!(body::log(cx, frame, operands!(2), words));
                advance!(-2 - topics as isize)
            }

            DUPN => {
                let (at, _) = depths!(instruction);
                put_above!(0, word!(at));
                advance!(1)
            }
            SWAPN | EXCHANGE => {
                let (n, m) = depths!(instruction);
                let (first, second) = (word!(n), word!(m));
                put!(n, second);
                put!(m, first);
                advance!(0)
            }

            CREATE => request!(op::CREATE, body::create),
            CREATE2 => request!(op::CREATE2, body::create),
            CALL => request!(op::CALL, body::call, FrameKind::Call),
            CALLCODE => request!(op::CALLCODE, body::call, FrameKind::CallCode),
            DELEGATECALL => {
                request!(op::DELEGATECALL, body::call, FrameKind::DelegateCall)
            }
            STATICCALL => {
                request!(op::STATICCALL, body::call, FrameKind::StaticCall)
            }
            RETURN => {
                body!(body::output(cx, frame, operands!(2)));
                end!(Exit::Done)
            }
            REVERT => {
                body!(body::output(cx, frame, operands!(2)));
                end!(Exit::Revert)
            }
            SELFDESTRUCT => {
                body!(body::selfdestruct(cx, frame, operands!(1)));
                end!(Exit::Done)
            }

            fused::BLOCK => enter!(),
            fused::INVALID_JUMP => halt!(Halt::InvalidJump),
            fused::UNKNOWN => halt!(Halt::InvalidOpcode(instruction.arg as u8)),
            fused::PUSH => {
                put_above!(0, Word::new(u64::from(instruction.imm)));
                advance!(1)
            }
            fused::PUSH_WIDE => {
                put_above!(0, constants[instruction.imm as usize]);
                advance!(1)
            }
            fused::JUMP_TO => go!(instruction.imm),
            fused::JUMPI_TO => branch!(instruction, -1, !word!(0).is_zero()),
            fused::JUMPI_TO_IF_ZERO => branch!(instruction, -1, word!(0).is_zero()),
            fused::JUMPI_TO_IF_LT => branch!(instruction, -2, word!(0).lt(word!(1))),
            fused::JUMPI_TO_IF_GT => branch!(instruction, -2, word!(1).lt(word!(0))),
            fused::JUMPI_TO_IF_SLT => branch!(instruction, -2, word!(0).slt(word!(1))),
            fused::JUMPI_TO_IF_SGT => branch!(instruction, -2, word!(1).slt(word!(0))),
            fused::JUMPI_TO_IF_EQ => branch!(instruction, -2, word!(0).same(word!(1))),
            fused::JUMPI_TO_UNLESS_LT => branch!(instruction, -2, !word!(0).lt(word!(1))),
            fused::JUMPI_TO_UNLESS_GT => branch!(instruction, -2, !word!(1).lt(word!(0))),
            fused::JUMPI_TO_UNLESS_SLT => branch!(instruction, -2, !word!(0).slt(word!(1))),
            fused::JUMPI_TO_UNLESS_SGT => branch!(instruction, -2, !word!(1).slt(word!(0))),
            fused::JUMPI_TO_UNLESS_EQ => branch!(instruction, -2, !word!(0).same(word!(1))),
            fused::JUMPI_TO_IF_SELECTOR => {
                let selector = Word::new(u64::from(ahead!(ip, 1).imm));
                let taken = word!(0).same(selector);
                if taken {
                    go!(instruction.imm)
                }
                ip = skip!(ip, 2);
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
                put_above!(0, memory_word!(offset));
                advance!(1)
            }
            fused::PUSH_MSTORE => {
                let offset = Word::new(u64::from(instruction.imm));
                put_memory_word!(offset, word!(0));
                advance!(-1)
            }
            fused::PUSH_WIDE_AND => {
                put!(0, word!(0).and(constants[instruction.imm as usize]));
                advance!(0)
            }
            fused::PUSH_WIDE_ADD => {
                put!(
                    0,
                    word!(0).wrapping_add(constants[instruction.imm as usize])
                );
                advance!(0)
            }
            fused::SWAP_POP => {
                put!(usize::from(instruction.arg), word!(0));
                advance!(-1)
            }
            fused::POP_POP => advance!(-2),
            fused::DUP_PUSH => {
                put_above!(0, word!(usize::from(instruction.arg) - 1));
                put_above!(1, Word::new(u64::from(instruction.imm)));
                advance!(2)
            }
            fused::DUP_MLOAD => {
                let offset = word!(instruction.imm as usize - 1);
                put_above!(0, memory_word!(offset));
                advance!(1)
            }
            fused::DUP_ADD => dupped!(instruction, |a, b| a.wrapping_add(b)),
            fused::DUP_SUB => dupped!(instruction, |a, b| a.wrapping_sub(b)),
            fused::DUP_DUP => {
                let (n, m) = (instruction.arg & 0xff, instruction.arg >> 8);
                put_above!(0, word!(usize::from(n) - 1));
                // SAFETY: as in `word!`, one word higher: the first duplicate was just written.
                let second = unsafe { stack.moved(1).at(usize::from(m) - 1) };
                put_above!(1, second);
                advance!(2)
            }
            fused::SWAP_SWAP => {
                let (n, m) = (
                    usize::from(instruction.arg & 0xff),
                    usize::from(instruction.arg >> 8),
                );
                let (top, other) = (word!(0), word!(n));
                put!(n, top);
                let third = word!(m);
                put!(m, other);
                put!(0, third);
                advance!(0)
            }
            fused::SWAP_SUB => {
                put!(1, word!(1).wrapping_sub(word!(0)));
                advance!(-1)
            }
            fused::IS_NOT_ZERO => {
                put!(0, Word::from_bool(!word!(0).is_zero()));
                advance!(0)
            }
            // SAFETY: the decoder writes only instructions that have an arm above, and the
            // check before the match refuses bytes that are not opcodes.
            _ => unsafe {
                debug_assert!(false, "no arm for instruction {}", instruction.op);
                std::hint::unreachable_unchecked()
            },
        }
    }
}

/// Makes careful code continue before the decoded instruction at `slot`, which failed, if it had more gas.
/// Returns the gas that the block has paid from there on.
#[cold]
#[inline(never)]
fn take_over(cx: &Context<'_>, frame: &mut Frame, slot: usize, fault: Fault) -> Option<i64> {
    if fault != Fault::Halt(Halt::OutOfGas) {
        return None;
    }
    let code = cx.journal.codes.get(frame.code);
    let decoded = code.decoded(cx.fork)?;
    let (position, paid) = decoded.before(slot, code.padded(), &cx.schedule.base)?;
    frame.position = position;
    frame.decoded = false;
    Some(paid)
}

/// Why the careful instance refuses an opcode.
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
fn report_step(cx: &mut Context<'_>, frame: &Frame, stack: &[Word], pc: usize, opcode: u8) {
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
fn report_step_end(cx: &mut Context<'_>, gas: i64) {
    if let Some(inspector) = &mut cx.inspector {
        inspector.step_end(gas.cast_unsigned());
    }
}
