//! The bodies of instructions that do more than compute words from words. (Those are in
//! [`Word`](crate::word::Word).)
//!
//! The loop has checked the height of the stack and charged the static gas before. A body reads its
//! operands (`operands.at(0)` is the topmost), charges for what depends on them, and overwrites the
//! lowest operand with its result. Then the loop moves the top, by the numbers in the opcode's
//! [`Facts`](crate::opcode::Facts).

mod arithmetic;
mod block;
mod call;
mod copy;
mod create;
mod environment;
mod keccak;
mod log;
mod memory;
mod storage;

pub(crate) use arithmetic::exp;
pub(crate) use block::{blob_hash, block_hash, prevrandao};
pub(crate) use call::call;
pub(crate) use copy::{calldatacopy, codecopy, extcodecopy, mcopy, returndatacopy};
pub(crate) use create::create;
pub(crate) use environment::{balance, calldataload, extcodehash, extcodesize, self_balance};
pub(crate) use keccak::keccak256;
pub(crate) use log::log;
pub(crate) use memory::{mstore8, output};
pub(crate) use storage::{selfdestruct, sload, sstore, tload, tstore};
