//! One request, and the block that its answer is about.

use crate::{
    fault::{Answer, Fault},
    head::Head,
    settings::{Limits, Names},
};
use alloy_primitives::{Address, B256, U256};
use serde_json::Value;
use std::{cell::Cell, ops::ControlFlow};
use txgraph::{BlockRange, BlockState, ErrorKind, Source};

/// How often work is done again because the chain was reorganized in the meantime.
const ATTEMPTS: usize = 4;

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) number: u64,
    pub(crate) hash: B256,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// The node, with a switch of its own.
    pub(crate) source: &'a Source,
    /// The newest block on the disk, which the answer is about.
    pub(crate) tip: Anchor,
    /// The server to ask for what is not here.
    pub(crate) head: Option<&'a Head>,
    pub(crate) limits: &'a Limits,
    pub(crate) names: &'a Names,
    rows: Cell<usize>,
    bytes: Cell<usize>,
}

impl<'a> Ask<'a> {
    /// Answers a request about the newest block. Asks again if that block was replaced since, so
    /// that everything in the answer is of one branch.
    pub(crate) fn consistent<T>(
        source: &'a Source,
        head: Option<&'a Head>,
        (limits, names): (&'a Limits, &'a Names),
        mut work: impl FnMut(&Self) -> Answer<T>,
    ) -> (Option<Anchor>, Answer<T>) {
        let mut last = (None, Err(Fault::Late));
        for _ in 0..ATTEMPTS {
            let (number, hash) = match source.tip_block() {
                Ok(tip) => tip,
                Err(error) => return (None, Err(error.into())),
            };
            let ask = Self {
                source,
                tip: Anchor { number, hash },
                head,
                limits,
                names,
                rows: Cell::new(0),
                bytes: Cell::new(0),
            };
            let answer = work(&ask);
            let is_reorged = answer.as_ref().is_err_and(is_reorg);
            let still = source.block_hash(number);
            last = (Some(ask.tip), answer);
            match still {
                Ok(Some(now)) if now == hash && !is_reorged => return last,
                Err(error) => return (None, Err(error.into())),
                Ok(_) => tracing::debug!(number, "the chain was reorganized; asking again"),
            }
        }
        let unsettled = "the chain was reorganized during every attempt; ask again";
        match last {
            (_, Err(fault)) if !is_reorg(&fault) => (None, Err(fault)),
            _ => {
                let error = txgraph::Error::new(ErrorKind::Reorged, unsettled);
                (None, Err(Fault::Source(error)))
            }
        }
    }

    /// Counts a row of an answer and its bytes. Refuses more than the limits, and ends work that was
    /// asked to stop.
    pub(crate) fn count(&self, bytes: usize) -> Answer<()> {
        if self.source.is_interrupted() {
            return Err(Fault::Late);
        }
        let (rows, all) = (self.rows.get() + 1, self.bytes.get() + bytes);
        self.rows.set(rows);
        self.bytes.set(all);
        if rows > self.limits.rows {
            let most = self.limits.rows;
            return Err(Fault::TooMuch(format!(
                "query returned more than {most} results; ask for fewer blocks"
            )));
        }
        if all > self.limits.answer_bytes {
            let most = self.limits.answer_bytes;
            return Err(Fault::TooMuch(format!(
                "query returned more than {most} bytes; ask for fewer blocks"
            )));
        }
        Ok(())
    }

    /// The number of a block that JSON names by number, tag or hash; the newest if it names none.
    pub(crate) fn block(&self, named: Option<&Value>) -> Answer<u64> {
        let wrong = |what: &Value| Fault::Params(format!("invalid block: {what}"));
        match named {
            None | Some(Value::Null) => Ok(self.tip.number),
            Some(Value::Number(number)) => {
                let number = number.as_u64();
                let number = number.ok_or_else(|| Fault::Params("invalid block number".into()))?;
                self.not_above_tip(number)
            }
            Some(Value::String(text)) => match parse_hash(text) {
                Some(hash) => self.block_by_hash(hash),
                None => self.block_by_text(text),
            },
            Some(Value::Object(fields)) => {
                match (fields.get("blockHash"), fields.get("blockNumber")) {
                    (Some(hash), None) => {
                        let hash = hash.as_str().and_then(|text| text.parse().ok());
                        let hash =
                            hash.ok_or_else(|| Fault::Params("invalid block hash".into()))?;
                        self.block_by_hash(hash)
                    }
                    (None, Some(Value::String(text))) => self.block_by_text(text),
                    _ => Err(Fault::Params("invalid block".into())),
                }
            }
            Some(other) => Err(wrong(other)),
        }
    }

    /// The number of a block that a text names by number or tag.
    pub(crate) fn block_by_text(&self, text: &str) -> Answer<u64> {
        match text {
            "latest" => Ok(self.tip.number),
            "earliest" => Ok(0),
            "pending" | "safe" | "finalized" => {
                let found = match text {
                    "pending" => None,
                    "safe" => self.source.final_blocks()?.safe,
                    _ => self.source.final_blocks()?.finalized,
                };
                // The answer is about the newest block when the question came.
                let found = found.map(|number| number.min(self.tip.number));
                found.ok_or_else(|| {
                    Fault::NodeOnly(format!(
                        "the block `{text}` is known to the node only: the data directory contains blocks \
                         up to {}; ask about `latest`",
                        self.tip.number
                    ))
                })
            }
            text => {
                let digits = text.strip_prefix("0x").filter(|digits| !digits.is_empty());
                let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                let number = number
                    .ok_or_else(|| Fault::Params(format!("invalid block number: {text:.80}")))?;
                self.not_above_tip(number)
            }
        }
    }

    /// The number of the block with a hash.
    pub(crate) fn block_by_hash(&self, hash: B256) -> Answer<u64> {
        self.find_block(hash)?.ok_or_else(|| {
            Fault::NotHere(format!(
                "no block up to {} has the hash {hash}",
                self.tip.number
            ))
        })
    }

    /// The number of the block with a hash; `None` also above the newest block that the answer is about.
    pub(crate) fn find_block(&self, hash: B256) -> Answer<Option<u64>> {
        let found = self.source.block_number(hash)?;
        Ok(found.filter(|number| *number <= self.tip.number))
    }

    /// The block and the index of a transaction; `None` also above the newest block that the answer is
    /// about.
    pub(crate) fn find_transaction(&self, hash: B256) -> Answer<Option<(u64, u32)>> {
        let found = self.source.find_transaction(hash)?;
        Ok(found.filter(|(block, _)| *block <= self.tip.number))
    }

    /// Reads the state at the end of a block.
    pub(crate) fn state<T>(
        &self,
        block: u64,
        read: impl FnOnce(&BlockState<'_>) -> txgraph::Result<T>,
    ) -> Answer<T> {
        Ok(self.source.with_state(Some(block), read)?)
    }

    fn not_above_tip(&self, number: u64) -> Answer<u64> {
        match number > self.tip.number {
            false => Ok(number),
            true => Err(Fault::NotHere(format!(
                "block {number} is above {}, the newest block that the node has stored",
                self.tip.number
            ))),
        }
    }

    /// Nothing, instead of what is not here, unless a server can be asked.
    pub(crate) fn or_null(&self, answer: Answer<Value>) -> Answer<Value> {
        match answer {
            Err(Fault::NotHere(_)) if self.head.is_none() => Ok(Value::Null),
            answer => answer,
        }
    }

    /// A range of blocks.
    pub(crate) fn range(first: u64, last: u64) -> Answer<BlockRange> {
        BlockRange::new(first, last)
            .ok_or_else(|| Fault::Params(format!("invalid block range: {first} to {last}")))
    }
}

/// Whether the chain was reorganized during the work.
fn is_reorg(fault: &Fault) -> bool {
    matches!(fault, Fault::Source(error) if error.kind == ErrorKind::Reorged)
}

/// Ends a scan with a fault of ours, which the library cannot carry.
pub(crate) struct Ending(Option<Fault>);

impl Ending {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Continues, or keeps the fault and breaks.
    pub(crate) fn note(&mut self, done: Answer<()>) -> ControlFlow<()> {
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(fault) => {
                self.0 = Some(fault);
                ControlFlow::Break(())
            }
        }
    }

    /// The fault that was kept.
    pub(crate) fn finish(self) -> Answer<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// An address of 40 digits.
pub(crate) fn parse_address(text: &str) -> Option<Address> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    if digits.len() != 40 {
        return None;
    }
    digits.parse().ok()
}

/// A hash of 64 digits.
pub(crate) fn parse_hash(text: &str) -> Option<B256> {
    match text.len() {
        66 if text.starts_with("0x") => text.parse().ok(),
        _ => None,
    }
}

/// A number of up to 64 digits.
pub(crate) fn parse_word(text: &str) -> Option<U256> {
    let digits = text
        .strip_prefix("0x")
        .filter(|digits| !digits.is_empty())?;
    if digits.len() > 64 {
        return None;
    }
    U256::from_str_radix(digits, 16).ok()
}
