//! What instructions do that is more than words in, words out (those are in
//! [`Word`](crate::word::Word)), by kind.
//!
//! A body finds its operands on the stack (`stack.at(0)` is the topmost), pays what
//! depends on them, and leaves its result where the top will be once the loop has
//! moved it: the loop has checked the stack's height and charged the base gas before,
//! and moves the top after, by the numbers of the opcode's
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
