//! A call on the state of a block, which changes nothing.

use super::{Node, at_end_of};
use crate::{Checksum, Error, ErrorKind, Result, lists, parse_address};
use alloy_primitives::{Address, Bytes, U256, hex};
use txgraph_evm::{Message, Outcome, Status};
use txgraph_replay::revert_reason;

/// Gas of a call that names none, as nodes give.
const GAS: u64 = 50_000_000;

/// Whom to call, with what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallQuery {
    /// The contract; absent: the data is init code.
    pub to: Option<String>,
    /// The caller; absent: the zero address.
    pub from: Option<String>,
    /// Calldata in hex, with or without `0x`.
    pub data: Option<String>,
    /// Wei sent along: `1e18`.
    pub value: Option<String>,
    /// Gas at most; absent: 50 million.
    pub gas: Option<u64>,
    /// The block at whose end it is called; absent: the newest with a state.
    pub block: Option<u64>,
}

/// What a call answers.
#[derive(Clone, Debug)]
pub struct Called {
    /// The block at whose end it was called.
    pub block: u64,
    /// Status, gas, output.
    pub outcome: Outcome,
    /// Why it reverted, in words, if the contract gave any.
    pub reason: Option<String>,
}

impl Called {
    /// The output, or why there is none.
    pub fn output(&self) -> Result<&Bytes> {
        let why = match (&self.outcome.status, &self.reason) {
            (Status::Success, _) => return Ok(&self.outcome.output),
            (Status::Revert, Some(reason)) => format!("reverted: {reason}"),
            (Status::Revert, None) if self.outcome.output.is_empty() => "reverted".to_owned(),
            (Status::Revert, None) => format!("reverted with {}", self.outcome.output),
            (Status::Halt(halt), _) => format!("halted: {halt}"),
        };
        Err(Error::new(
            ErrorKind::Failed,
            format!("the call at the end of block {}: it {why}", self.block),
        ))
    }
}

/// Calls a contract on the state at the end of a block, with the block's own rules, and
/// forgets what that changes.
pub fn call(node: &Node, query: &CallQuery) -> Result<Called> {
    let message = query.message()?;
    let (block, outcome) = at_end_of(node, query.block, |replayer, block| {
        replayer.call(&message, block, None)
    })?;
    let reason = match outcome.status {
        Status::Revert => revert_reason(&outcome.output),
        _ => None,
    };
    Ok(Called {
        block,
        outcome,
        reason,
    })
}

impl CallQuery {
    fn message(&self) -> Result<Message> {
        let address = |text: &Option<String>| -> Result<Option<Address>> {
            let parsed = text
                .as_ref()
                .map(|text| parse_address(text, Checksum::Verify));
            Ok(parsed.transpose()?)
        };
        let data = self.data.as_deref().unwrap_or_default();
        let input = hex::decode(data)
            .map_err(|error| Error::usage(format!("the data is not hex: {error}")))?;
        let value = match &self.value {
            None => U256::ZERO,
            Some(text) => {
                lists::parse_amount(text).map_err(|error| Error::usage(error).at("--value"))?
            }
        };
        Ok(Message {
            caller: address(&self.from)?.unwrap_or_default(),
            to: address(&self.to)?,
            value,
            moves_value: true,
            input: input.into(),
            gas_limit: self.gas.unwrap_or(GAS),
            ..Message::default()
        })
    }
}
