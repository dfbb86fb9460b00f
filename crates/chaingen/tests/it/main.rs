//! Reads the output of the chain writer with reth's own codecs and plain code.

#![allow(clippy::cast_possible_truncation, reason = "small chains")]

mod chain;
mod first_block;
mod live;
mod masking;
mod program;
mod raw;
mod real;
mod truth;
mod verify;
