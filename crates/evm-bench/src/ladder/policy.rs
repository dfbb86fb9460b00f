//! The steps: how gas is counted, from plain to what costs least.

use alloy_primitives::U256;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use txgraph_evm::opcode as op;

/// A way to count gas.
pub trait Gas: Sized {
    /// In tables.
    const NAME: &'static str;

    /// Blocks are charged when they are entered, instructions not at all.
    const PER_BLOCK: bool = false;

    /// A counter that starts with `limit`.
    fn new(limit: u64) -> Self;

    /// Charges an instruction; `false` when it cannot be paid.
    fn instruction(&mut self, opcode: u8) -> bool;

    /// Charges what depends on operands; `false` when it cannot be paid.
    fn operands(&mut self, cost: u64) -> bool;

    /// Charges a block whose instructions cost `cost`.
    fn block(&mut self, _cost: u32) -> bool {
        true
    }

    /// What is left.
    fn left(&self) -> u64;
}

/// What an instruction costs, found out each time.
pub(super) const fn cost_of(opcode: u8) -> u64 {
    match opcode {
        op::STOP | op::RETURN | op::REVERT | op::SSTORE | op::SLOAD => 0,
        op::JUMPDEST => 1,
        op::ADDRESS
        | op::CALLER
        | op::CALLVALUE
        | op::CALLDATASIZE
        | op::POP
        | op::GAS
        | op::PC
        | op::MSIZE
        | op::PUSH0 => 2,
        op::MUL | op::DIV | op::SDIV | op::MOD | op::SMOD | op::SIGNEXTEND => 5,
        op::ADDMOD | op::MULMOD | op::JUMP => 8,
        op::JUMPI | op::EXP => 10,
        op::KECCAK256 => 30,
        op::LOG0..=op::LOG4 => 375 * (1 + (opcode - op::LOG0) as u64),
        _ => 3,
    }
}

/// As a plain reading of a rule book gives it: three counters (block, transaction,
/// frame), numbers of any size, each instruction's cost found out each time.
#[derive(Debug)]
pub struct ThreeCounters([U256; 3]);

impl ThreeCounters {
    #[inline(always)]
    fn charge(&mut self, cost: u64) -> bool {
        let cost = U256::from(cost);
        for counter in &mut self.0 {
            match counter.checked_sub(cost) {
                Some(left) => *counter = left,
                None => return false,
            }
        }
        true
    }
}

impl Gas for ThreeCounters {
    const NAME: &'static str = "three counters, wide numbers";

    fn new(limit: u64) -> Self {
        let frame = U256::from(limit);
        Self([
            frame + U256::from(1_u64 << 40),
            frame + U256::from(21_000),
            frame,
        ])
    }

    fn instruction(&mut self, opcode: u8) -> bool {
        self.charge(cost_of(std::hint::black_box(opcode)))
    }

    fn operands(&mut self, cost: u64) -> bool {
        self.charge(cost)
    }

    fn left(&self) -> u64 {
        self.0[2].saturating_to()
    }
}

/// One counter; the others follow from it when the frame ends.
#[derive(Debug)]
pub struct BigSum(U256);

impl BigSum {
    #[inline(always)]
    fn charge(&mut self, cost: u64) -> bool {
        match self.0.checked_sub(U256::from(cost)) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

impl Gas for BigSum {
    const NAME: &'static str = "one counter, wide numbers";

    fn new(limit: u64) -> Self {
        Self(U256::from(limit))
    }

    fn instruction(&mut self, opcode: u8) -> bool {
        self.charge(cost_of(std::hint::black_box(opcode)))
    }

    fn operands(&mut self, cost: u64) -> bool {
        self.charge(cost)
    }

    fn left(&self) -> u64 {
        self.0.saturating_to()
    }
}

/// A machine integer. It stays in memory: an atomic, which no compiler keeps in a
/// register, stands for a counter behind a pointer.
#[derive(Debug)]
pub struct Function(AtomicU64);

#[inline(always)]
fn charge_memory(counter: &AtomicU64, cost: u64) -> bool {
    match counter.load(Relaxed).checked_sub(cost) {
        Some(left) => {
            counter.store(left, Relaxed);
            true
        }
        None => false,
    }
}

impl Gas for Function {
    const NAME: &'static str = "machine integer";

    fn new(limit: u64) -> Self {
        Self(AtomicU64::new(limit))
    }

    fn instruction(&mut self, opcode: u8) -> bool {
        charge_memory(&self.0, cost_of(std::hint::black_box(opcode)))
    }

    fn operands(&mut self, cost: u64) -> bool {
        charge_memory(&self.0, cost)
    }

    fn left(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

static COSTS: [u16; 256] = {
    let mut costs = [0; 256];
    let mut opcode = 0;
    while opcode < 256 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an opcode; at most 1,875 gas"
        )]
        {
            costs[opcode] = cost_of(opcode as u8) as u16;
        }
        opcode += 1;
    }
    costs
};

/// Costs from a table.
#[derive(Debug)]
pub struct Table(AtomicU64);

impl Gas for Table {
    const NAME: &'static str = "costs in a table";

    fn new(limit: u64) -> Self {
        Self(AtomicU64::new(limit))
    }

    fn instruction(&mut self, opcode: u8) -> bool {
        charge_memory(
            &self.0,
            u64::from(COSTS[usize::from(std::hint::black_box(opcode))]),
        )
    }

    fn operands(&mut self, cost: u64) -> bool {
        charge_memory(&self.0, cost)
    }

    fn left(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A signed counter that the compiler can keep in a register, below zero when gas has
/// run out; the cost is a constant of the instruction's own code.
#[derive(Debug)]
pub struct Register(i64);

#[inline(always)]
fn charge_register(counter: &mut i64, cost: u64) -> bool {
    *counter = counter.saturating_sub_unsigned(cost);
    *counter >= 0
}

impl Gas for Register {
    const NAME: &'static str = "counter in a register";

    fn new(limit: u64) -> Self {
        Self(i64::try_from(limit).unwrap_or(i64::MAX))
    }

    #[inline(always)]
    fn instruction(&mut self, opcode: u8) -> bool {
        charge_register(&mut self.0, cost_of(opcode))
    }

    #[inline(always)]
    fn operands(&mut self, cost: u64) -> bool {
        charge_register(&mut self.0, cost)
    }

    fn left(&self) -> u64 {
        self.0.try_into().unwrap_or(0)
    }
}

/// The same, charged once for each basic block.
#[derive(Debug)]
pub struct PerBlock(i64);

impl Gas for PerBlock {
    const NAME: &'static str = "once per basic block";
    const PER_BLOCK: bool = true;

    fn new(limit: u64) -> Self {
        Self(i64::try_from(limit).unwrap_or(i64::MAX))
    }

    #[inline(always)]
    fn instruction(&mut self, _: u8) -> bool {
        true
    }

    #[inline(always)]
    fn operands(&mut self, cost: u64) -> bool {
        charge_register(&mut self.0, cost)
    }

    #[inline(always)]
    fn block(&mut self, cost: u32) -> bool {
        charge_register(&mut self.0, u64::from(cost))
    }

    fn left(&self) -> u64 {
        self.0.try_into().unwrap_or(0)
    }
}

/// No gas: what is left of the time is the price of everything else.
#[derive(Debug)]
pub struct Unmetered;

impl Gas for Unmetered {
    const NAME: &'static str = "no gas at all";

    fn new(_: u64) -> Self {
        Self
    }

    #[inline(always)]
    fn instruction(&mut self, _: u8) -> bool {
        true
    }

    #[inline(always)]
    fn operands(&mut self, _: u64) -> bool {
        true
    }

    fn left(&self) -> u64 {
        u64::MAX
    }
}
