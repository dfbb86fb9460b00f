//! Hostile code: gas bounds its time, so that each test ends, and the limits in the crate's documentation its memory.

use crate::heap::peak_of;
use alloy_primitives::{Address, Bytes, U256, hex};
use std::sync::Arc;
use txgraph_evm::{
    Block, CodeCache, DecodeAfter, Evm, Fork, Halt, MemoryState, Message, Outcome, State, Status,
    opcode::*,
};

const ATTACKER: Address = Address::repeat_byte(0xaa);
/// The gas of a block; less under miri, which is a thousand times slower.
const GAS: u64 = if cfg!(miri) { 20_000 } else { 30_000_000 };
/// The gas of a block before EIP-150, when reads were cheap.
const GAS_THEN: u64 = GAS / 6;

/// The maximum on the heap for code with the gas of a block: stacks (32 MiB if all depths are
/// reached), memories, return data, the journal, prepared code.
const HEAP_MAX: usize = 96 << 20;

fn run_on(fork: Fork, code: Vec<u8>, gas_limit: u64) -> Outcome {
    let mut source = MemoryState::default();
    source.insert(ATTACKER, U256::from(1_000_000), 1, code.into());
    let mut state = State::new(source);
    let message = Message {
        to: Some(ATTACKER),
        gas_limit,
        ..Message::default()
    };
    let forms = [
        DecodeAfter::NEVER,
        DecodeAfter::default(),
        DecodeAfter::AT_ONCE,
    ];
    let ([first, second, third], heap) = peak_of(|| {
        forms.map(|decode_after| {
            let codes = CodeCache::default().with_decode_after(decode_after);
            let mut evm = Evm::with_code_cache(fork, 1, Arc::new(codes));
            state.clear();
            evm.call(&mut state, &Block::default(), &message).unwrap()
        })
    });
    assert_eq!(first, second);
    assert_eq!(first, third);
    assert!(heap <= HEAP_MAX, "{heap} bytes on the heap");
    first
}

fn run_with(code: Vec<u8>, gas_limit: u64) -> Outcome {
    run_on(Fork::Osaka, code, gas_limit)
}

fn run(code: Vec<u8>) -> Outcome {
    run_with(code, GAS)
}

/// Repeats `body` until the gas is used up.
fn run_in_a_loop(fork: Fork, gas_limit: u64, body: &[u8]) {
    let code = [&[JUMPDEST][..], body, &[PUSH1, 0, JUMP]].concat();
    let outcome = run_on(fork, code, gas_limit);
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
}

fn push32(value: U256) -> Vec<u8> {
    [&[PUSH32], &value.to_be_bytes::<32>()[..]].concat()
}

/// A block that is paid as a whole runs out of gas for the memory that an instruction uses. Code that
/// is not decoded pays for this memory, and then halts for another reason.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn reasons_do_not_depend_on_decoding() {
    let instructions: [&[u8]; 7] = [
        &[PUSH1 + 1, 0x10, 0, MLOAD],
        &[PUSH1 + 1, 0x10, 0, DUP1, MLOAD],
        &[DUP1, PUSH1 + 1, 0x10, 0, MSTORE],
        &[PC, PUSH1 + 1, 0x10, 0, MSTORE8],
        &[PUSH1 + 1, 0x10, 0, PUSH1, 0, KECCAK256],
        &[PUSH1 + 1, 0x10, 0, PUSH0, PUSH0, CODECOPY],
        &[PUSH1 + 1, 0x10, 0, PUSH0, PUSH0, PUSH0, EXTCODECOPY],
    ];
    for prefix in [1, 100, 35_000] {
        for instruction in instructions {
            let code = [
                &[PC, POP].repeat(prefix)[..],
                &[PC],
                instruction,
                &[PUSH1, 1, PUSH0, PUSH0, RETURNDATACOPY],
                &[PC, POP].repeat(20),
            ]
            .concat();
            let base = 4 * prefix as u64;
            let statuses = (0..100).map(|step| run_with(code.clone(), base + 50 * step).status);
            let mut reasons: Vec<_> = statuses.collect();
            reasons.dedup();
            let expected = [Halt::OutOfGas, Halt::ReturnDataOutOfBounds].map(Status::Halt);
            assert_eq!(reasons, expected, "{prefix}, {instruction:x?}");
        }
    }
}

/// Every instruction that takes an offset or a length, with 2^256 - 1 and 2^64 - 1.
#[test]
fn huge_offsets_and_lengths_halt() {
    let opcodes = [
        KECCAK256,
        CALLDATACOPY,
        CODECOPY,
        EXTCODECOPY,
        RETURNDATACOPY,
        MLOAD,
        MSTORE,
        MSTORE8,
        MCOPY,
        LOG0,
        LOG4,
        CREATE,
        CREATE2,
        CALL,
        CALLCODE,
        DELEGATECALL,
        STATICCALL,
        RETURN,
        REVERT,
    ];
    for huge in [U256::MAX, U256::from(u64::MAX), U256::from(1u64 << 40)] {
        for opcode in opcodes {
            let operands = usize::from(FACTS[usize::from(opcode)].inputs);
            let code = [push32(huge).repeat(operands), vec![opcode]].concat();
            let outcome = run(code);
            assert!(
                matches!(outcome.status, Status::Halt(_)),
                "0x{opcode:02x}: {outcome:?}"
            );
            assert_eq!(outcome.gas_used, GAS);
        }
    }
    // An offset does not matter if the length is zero.
    let code = [push32(U256::ZERO), push32(U256::MAX), vec![KECCAK256, STOP]].concat();
    assert!(run(code).is_success());
}

/// Memory has a limit for any amount of gas.
#[test]
fn memory_of_all_frames_is_limited() {
    let code = [push32(U256::from(1u64 << 31)), vec![MLOAD, STOP]].concat();
    let outcome = run_with(code, u64::MAX >> 1);
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
}

/// A contract that calls itself with all its gas.
#[test]
fn nested_calls_to_the_depth_limit() {
    let code = [
        vec![PUSH0; 5],
        vec![PUSH1 + 19],
        ATTACKER.to_vec(),
        vec![GAS_OP, CALL, STOP],
    ]
    .concat();
    assert!(run(code.clone()).is_success());
    // Enough for all depths in spite of the 63/64 rule.
    let gas_limit = if cfg!(miri) { GAS } else { 1 << 40 };
    assert!(run_with(code, gas_limit).is_success());
}

const GAS_OP: u8 = txgraph_evm::opcode::GAS;

/// A megabyte returned by the identity contract, in a loop.
#[test]
fn return_data_in_a_loop() {
    let mut code = vec![JUMPDEST];
    code.extend([
        PUSH0,
        PUSH0,
        PUSH1 + 2,
        0x10,
        0,
        0,
        PUSH0,
        PUSH1,
        4,
        GAS_OP,
        STATICCALL,
        POP,
    ]);
    code.extend([PUSH0, JUMP]);
    let outcome = run(code);
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
}

/// Memory at every depth at the same time, all of it returned.
#[test]
fn memory_at_every_depth() {
    let reach = [PUSH1 + 2, 1, 0, 0];
    let code = [
        &[PUSH0][..],
        &reach,
        &[MSTORE],
        &[PUSH0; 5],
        &[PUSH1 + 19],
        ATTACKER.as_slice(),
        &[GAS_OP, CALL, POP],
        &reach,
        &[PUSH0, RETURN],
    ]
    .concat();
    let outcome = run(code);
    assert!(outcome.is_success());
    assert_eq!(outcome.output.len(), 1 << 16);
}

/// A new change in every round, which the journal must keep.
#[test]
fn journal_entries_in_a_loop() {
    run_in_a_loop(Fork::Osaka, GAS, &[PUSH1, 1, GAS_OP, TSTORE]);
    run_in_a_loop(
        Fork::Osaka,
        GAS,
        &[PUSH1, 1, PUSH1, 2, SSTORE, PUSH0, PUSH1, 2, SSTORE],
    );
    run_in_a_loop(Fork::Osaka, GAS, &[PUSH0, PUSH0, PUSH0, CREATE, POP]);
    run_in_a_loop(Fork::Osaka, GAS, &[PUSH1 + 1, 4, 0, PUSH0, LOG0]);
    run_in_a_loop(Fork::Frontier, GAS_THEN, &[GAS_OP, SLOAD, POP]);
    run_in_a_loop(Fork::Frontier, GAS_THEN, &[GAS_OP, BALANCE, POP]);
}

/// Code that is many times as long when it is decoded.
#[test]
fn code_that_grows_when_decoded() {
    for piece in [
        &[JUMPI][..],
        &[JUMPDEST],
        &[CALL],
        &[PUSH1 + 4, 1, 1, 1, 1, 1],
        &[JUMPDEST, GAS_OP],
    ] {
        let bytes = if cfg!(miri) { 480 } else { 24_576 };
        run(piece.repeat(bytes / piece.len()));
    }
}

/// Code of jump destinations only.
#[test]
fn code_of_jump_destinations() {
    let mut code = vec![JUMPDEST; if cfg!(miri) { 500 } else { 24_570 }];
    code.extend([PUSH0, JUMP]);
    let outcome = run(code);
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
    // A jump to each of a run, with all its gas and with too little.
    for target in 4..10 {
        let mut code = vec![PUSH1, target, JUMP, STOP];
        code.extend([JUMPDEST; 6]);
        code.push(PUSH0);
        let gas = 3 + 8 + u64::from(10 - target) + 2;
        let outcome = run_with(code.clone(), gas);
        assert!(outcome.is_success());
        assert_eq!(outcome.gas_used, gas);
        for gas in 0..gas {
            let outcome = run_with(code.clone(), gas);
            assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
        }
    }
    // Data of a push is not a destination.
    let mut code = vec![PUSH1, 4, JUMP, PUSH1, JUMPDEST];
    code.resize(24_576, JUMPDEST);
    assert_eq!(run(code).status, Status::Halt(Halt::InvalidJump));
}

/// Init code of the maximum size, in a loop.
#[test]
fn init_code_of_maximum_size() {
    let size = 2 * 24_576u32;
    let [_, high, middle, low] = size.to_be_bytes();
    let length = [PUSH1 + 2, high, middle, low];
    // Memory is zeros: the init code stops at once.
    let create = [&length[..], &[PUSH0, PUSH0, CREATE, POP]].concat();
    let code = [&[JUMPDEST][..], &create, &[PUSH0, JUMP]].concat();
    let outcome = run(code);
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
    // One byte more is refused.
    let [_, high, middle, low] = (size + 1).to_be_bytes();
    let code = vec![PUSH1 + 2, high, middle, low, PUSH0, PUSH0, CREATE, STOP];
    // With the gas for its memory, which runs under miri do not have.
    let outcome = run_with(code, 100_000);
    assert_eq!(outcome.status, Status::Halt(Halt::InitCodeTooLarge));
}

/// Underflow and overflow of the stack, with and without decoding.
#[test]
fn stack_limits() {
    assert!(run(vec![PUSH0; 1024]).is_success());
    assert_eq!(
        run(vec![PUSH0; 1025]).status,
        Status::Halt(Halt::StackOverflow)
    );
    assert_eq!(run(vec![ADD]).status, Status::Halt(Halt::StackUnderflow));
    let mut code = vec![PUSH0; 1024];
    code.extend([PUSH1, 1, POP]);
    assert_eq!(run(code).status, Status::Halt(Halt::StackOverflow));
    let mut code = vec![PUSH0; 1023];
    code.extend([DUP1 + 15, SWAP1 + 15, POP, STOP]);
    assert!(run(code).is_success());
}

/// A block that cannot be paid is out of gas, whatever its last instruction is.
#[test]
fn out_of_gas_within_a_block() {
    let code: Vec<u8> = vec![PUSH1, 1, PUSH1, 2, ADD, PUSH0, MSTORE, STOP];
    let whole = run(code.clone()).gas_used;
    assert_eq!(whole, 3 + 3 + 3 + 2 + 3 + 3);
    for gas in 0..whole {
        let outcome = run_with(code.clone(), gas);
        assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas), "{gas}");
        assert_eq!(outcome.gas_used, gas);
    }
    assert!(run_with(code, whole).is_success());
}

/// `GAS` is exact within a block.
#[test]
fn gas_opcode_is_exact_within_a_block() {
    let code = vec![
        GAS_OP, PUSH0, MSTORE, GAS_OP, PUSH1, 32, MSTORE, PUSH1, 64, PUSH0, RETURN,
    ];
    let outcome = run(code);
    let words: Vec<_> = (outcome.output.chunks(32))
        .map(U256::from_be_slice)
        .collect();
    assert_eq!(
        words,
        [U256::from(GAS - 2), U256::from(GAS - 2 - 2 - 6 - 2)]
    );
}

/// The memory limit in the tests below.
const LIMIT: usize = 24 << 20;

/// Runs code with a memory limit and more gas than any chain has.
fn run_limited(fork: Fork, code: &[u8]) -> Outcome {
    let mut source = MemoryState::default();
    source.insert(ATTACKER, U256::from(1_000_000), 1, code.to_vec().into());
    let mut state = State::new(source);
    let mut evm = Evm::new(fork, 1);
    evm.set_memory_limit(Some(LIMIT));
    let message = Message {
        to: Some(ATTACKER),
        gas_limit: 1 << 62,
        ..Message::default()
    };
    let block = Block::default();
    let (outcome, heap) = peak_of(|| evm.call(&mut state, &block, &message).unwrap());
    // Memory, return data and everything else; stacks of two depths.
    let heap_max = 3 * LIMIT + (1 << 20);
    assert!(
        heap <= heap_max,
        "{heap} bytes on the heap, at most {heap_max}"
    );
    outcome
}

/// Transient storage, output and logs of code with unlimited gas.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand rounds of safe code")]
fn limited_runs_end_when_they_keep_too_much() {
    for (name, code) in [
        ("TSTORE(GAS, GAS) in a loop", "5b5a5a5d5f56"),
        ("RETURN of a gigabyte", "633fffffff5ff3"),
        ("REVERT with a gigabyte", "633fffffff5ffd"),
        ("LOG0 of 16 MiB in a loop", "5b62ffffff5fa05f56"),
        ("LOG4 without data in a loop", "5b5f5f5f5f5f5fa45f56"),
        ("SSTORE(GAS, GAS) in a loop", "5b5a5a555f56"),
        ("SSTORE of one slot in a loop", "5b60015f555f5f555f56"),
        ("SLOAD(GAS) in a loop", "5b5a54505f56"),
        ("BALANCE(GAS) in a loop", "5b5a31505f56"),
        (
            "RETURN of 16 MiB after a log of 16 MiB",
            "62ffffff5fa062ffffff5ff3",
        ),
    ] {
        let code = hex::decode(code).unwrap();
        for fork in [Fork::Cancun, Fork::LATEST] {
            let outcome = run_limited(fork, &code);
            assert_eq!(
                outcome.status,
                Status::Halt(Halt::MemoryLimit),
                "{name}, {fork}"
            );
        }
    }
}

/// Code and init code count too, also where their size has no limit.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand rounds of safe code")]
fn limited_runs_count_code() {
    // Init code that returns 0x5fff bytes of memory: nearly the maximum length of code.
    let init = [PUSH1 + 1, 0x5f, 0xff, PUSH0, RETURN];
    let mut word = [0; 32];
    word[..init.len()].copy_from_slice(&init);
    let store = [push32(U256::from_be_bytes(word)), vec![PUSH0, MSTORE]].concat();
    // The jump destination is at 35, after `PUSH32 … PUSH0 MSTORE`.
    let create = [
        JUMPDEST, PUSH1, 32, PUSH0, PUSH0, CREATE, POP, PUSH1, 35, JUMP,
    ];
    let code = [&store[..], &create].concat();
    let outcome = run_limited(Fork::LATEST, &code);
    // At the limit a creation fails. It consumes 63/64 of the gas, so its creator soon has none.
    assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));

    // One megabyte of init code would use 40 when decoded; there was no limit before EIP-3860.
    let code = [
        &[PUSH1 + 2, 0x10, 0, 0, PUSH1, 0, PUSH1, 0, CREATE][..],
        &[PUSH1, 0, MSTORE, PUSH1, 32, PUSH1, 0, RETURN],
    ]
    .concat();
    let outcome = run_limited(Fork::London, &code);
    assert!(outcome.is_success());
    assert_eq!(outcome.output, Bytes::from([0; 32]), "nothing was created");
}

/// A run within its limit ends as it does without one.
#[test]
fn limits_do_not_change_what_stays_below_them() {
    let mut evm = Evm::new(Fork::LATEST, 1);
    let code = [
        &[PUSH1, 7, PUSH1, 1, TSTORE, PUSH1, 7, PUSH1, 1, SSTORE][..],
        &[PUSH1 + 1, 4, 0, PUSH0, LOG0, PUSH1 + 1, 8, 0, PUSH0, RETURN],
    ]
    .concat();
    let outcomes = [None, Some(1 << 20)].map(|limit| {
        evm.set_memory_limit(limit);
        let mut source = MemoryState::default();
        source.insert(ATTACKER, U256::ZERO, 1, code.clone().into());
        let message = Message {
            to: Some(ATTACKER),
            gas_limit: 100_000,
            ..Message::default()
        };
        let mut state = State::new(source);
        let outcome = evm.call(&mut state, &Block::default(), &message).unwrap();
        (outcome, state.changes())
    });
    assert!(outcomes[0].0.is_success());
    assert_eq!(outcomes[0], outcomes[1]);
}

/// Random bytes do not panic, and give the same result twice.
#[test]
fn random_bytes_do_not_panic() {
    use rand::{RngCore, SeedableRng, rngs::SmallRng};
    let mut random = SmallRng::seed_from_u64(7);
    for len in 0..if cfg!(miri) { 30 } else { 2_000 } {
        let mut code = vec![0; len % 300];
        random.fill_bytes(&mut code);
        let _: Bytes = run_with(code, 100_000).output;
    }
}
