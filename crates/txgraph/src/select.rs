//! Which transfers: what every query about transfers has in common.

use crate::{BlockSpec, Capability, Error, Hint, Result, Source, grammar::DateIs, options};
use alloy_primitives::{Address, U256};
use serde::Serialize;
use std::mem;
use txgraph_transfers::BlockRange;
use txgraph_transfers::{
    AmountFilter, BlockRanges, Kind, ScanRequest, TokenFilter, TokenStandard, TransferFilter,
    WrappedNative,
};

/// Whether transfers of this kind are in no log and are no value of a transaction. They are part of
/// a result on request only.
fn is_inside(kind: Kind) -> bool {
    kind == Kind::Internal || kind.is_fee()
}

/// Which transfers. The default is all of them.
///
/// Serialized, it is the part of a query in the metadata of a result.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Selection {
    /// Blocks; empty: every block up to the tip, or all that files contain.
    #[serde(serialize_with = "options::words")]
    pub blocks: Vec<BlockSpec>,
    /// Tokens, and the native coin.
    #[serde(rename = "token", serialize_with = "options::tokens")]
    pub tokens: TokenFilter,
    /// The smallest amount, in the smallest unit of the token.
    #[serde(
        skip_serializing_if = "U256::is_zero",
        serialize_with = "options::word"
    )]
    pub min_value: U256,
    /// Smallest amounts by token, and ids of tokens.
    #[serde(flatten, serialize_with = "options::amounts")]
    pub amounts: AmountFilter,
    /// Standards; empty: all.
    #[serde(rename = "standard")]
    pub standards: Vec<TokenStandard>,
    /// Kinds; empty: all.
    #[serde(rename = "kind")]
    pub kinds: Vec<Kind>,
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
    #[serde(serialize_with = "options::wrapped_native")]
    pub wrapped_native: WrappedNative,
    /// Whether transactions are replayed to find the transfers inside of them.
    #[serde(rename = "with-internal")]
    pub internal: bool,
    /// Whether blocks may be missing. The result then states the gap.
    pub allow_partial: bool,
}

impl Selection {
    /// The conditions that do not depend on blocks.
    pub(crate) fn filter(&self) -> Result<TransferFilter> {
        let mut kinds = self.kinds.iter();
        if let Some(kind) = kinds.find(|kind| is_inside(**kind))
            && !self.internal
        {
            return Err(Error::usage(format!(
                "transfers of kind `{kind}` are not stored: they are found by replaying \
                 transactions or, fees on the OP stack, computed"
            ))
            .with_hint(Hint::AddInternal));
        }
        Ok(TransferFilter {
            tokens: self.tokens.clone(),
            touching: None,
            min_value: self.min_value,
            amounts: self.amounts.clone(),
            standards: self.standards.clone(),
            kinds: self.kinds.clone(),
            internal: self.internal,
        })
    }

    /// As [`Self::filter`], for a query to a source. Hints at nothing that the source refuses.
    pub(crate) fn filter_for(&self, source: &Source) -> Result<TransferFilter> {
        let refused = match self.filter() {
            Err(error) if !source.capabilities().contains(Capability::Replay) => error,
            found => return found,
        };
        let internal = Self {
            internal: true,
            ..self.clone()
        };
        let request = ScanRequest {
            filter: internal.filter()?,
            wrapped_native: self.wrapped_native.clone(),
            ..ScanRequest::default()
        };
        let from = source.transfer_source(&request.filter)?;
        from.check_available(&request)?;
        Err(refused)
    }

    /// The blocks of a query to a source.
    pub(crate) fn resolve(&self, source: &Source) -> Result<Resolved> {
        if self.blocks.is_empty() {
            Ok(Resolved {
                blocks: source.default_range()?.into(),
                cut: None,
            })
        } else {
            resolve(source.tip()?, &self.blocks, source)
        }
    }

    pub(crate) fn add_token(&mut self, token: Address) {
        match &mut self.tokens {
            TokenFilter::Only { tokens, .. } => drop(tokens.insert(token)),
            TokenFilter::All => self.tokens = TokenFilter::only([token]),
        }
    }

    pub(crate) fn add_native(&mut self) {
        self.tokens = match mem::take(&mut self.tokens) {
            TokenFilter::Only { tokens, .. } => TokenFilter::Only {
                tokens,
                native: true,
            },
            TokenFilter::All => TokenFilter::native(),
        };
    }
}

/// The blocks of a query.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) blocks: BlockRanges,
    /// A note if the query named blocks beyond the last block of the source.
    pub(crate) cut: Option<String>,
}

impl Source {
    /// The blocks that ranges mean at the present tip.
    ///
    /// # Errors
    ///
    /// If a range has no block, or the source cannot be read.
    pub fn resolve_blocks(&self, ranges: &[BlockSpec]) -> Result<BlockRanges> {
        Ok(resolve(self.tip()?, ranges, self)?.blocks)
    }
}

/// The blocks of several ranges of a source, for work on blocks that are stored: the tip is the
/// newest of them. None means all.
pub(crate) fn resolve_stored(specs: &[BlockSpec], source: &Source) -> Result<BlockRanges> {
    let Resolved { blocks, cut } = resolve(source.stored_tip()?, specs, source)?;
    if let Some(cut) = cut {
        tracing::warn!("{cut}");
    }
    Ok(blocks)
}

/// The stored blocks of a query that needs consecutive ones, and [`Resolved::cut`]. `what`: the result.
pub(crate) fn resolve_one(
    specs: &[BlockSpec],
    source: &Source,
    what: &str,
) -> Result<(BlockRange, Option<String>)> {
    let Resolved { blocks, cut } = resolve(source.stored_tip()?, specs, source)?;
    match *blocks.iter().collect::<Vec<_>>() {
        [blocks] => Ok((blocks, cut)),
        _ => Err(Error::usage(format!(
            "the blocks of {what} must be consecutive: name one range"
        ))),
    }
}

/// Dates are found in the source.
fn resolve(tip: u64, specs: &[BlockSpec], source: &Source) -> Result<Resolved> {
    let mut cut = None;
    let mut find = |seconds, is| match is {
        DateIs::First => source.start_at(seconds),
        DateIs::End => {
            let (end, why) = source.end_at(seconds)?;
            cut = cut.take().or(why);
            Ok(end)
        }
    };
    let found = specs.iter().map(|spec| {
        if spec.has_dates() {
            spec.without_dates(&mut find)
        } else {
            Ok(spec.clone())
        }
    });
    let found: Vec<_> = found.collect::<Result<_>>()?;
    Ok(Resolved {
        blocks: resolve_numbers(&found, tip)?,
        cut,
    })
}

/// The blocks of several ranges when `tip` is the highest block; none means all.
pub(crate) fn resolve_numbers(specs: &[BlockSpec], tip: u64) -> Result<BlockRanges> {
    let everything = [BlockSpec::from(0..)];
    let specs = if specs.is_empty() { &everything } else { specs };
    let mut ranges = Vec::new();
    for spec in specs {
        ranges.extend(spec.resolve(tip)?.iter());
    }
    if ranges.is_empty() {
        Err(Error::unavailable("there are no blocks"))
    } else {
        Ok(BlockRanges::new(ranges))
    }
}

/// Methods of a query that change its [`Selection`], which is the field `$field`.
macro_rules! selection_methods {
    ($($field:tt).+) => {
        /// Only transfers of this token. Call again for more tokens.
        pub fn token(mut self, token: alloy_primitives::Address) -> Self {
            self.$($field).+.add_token(token);
            self
        }

        /// Transfers of the native coin, in addition to the chosen tokens.
        pub fn native(mut self) -> Self {
            self.$($field).+.add_native();
            self
        }

        /// Only these blocks: a number or a range, whose end is excluded as in Rust. Call
        /// again for more blocks.
        pub fn blocks(mut self, blocks: impl Into<crate::BlockSpec>) -> Self {
            self.$($field).+.blocks.push(blocks.into());
            self
        }

        /// Only the newest `count` blocks.
        pub fn last_blocks(self, count: u64) -> Self {
            self.blocks(crate::BlockSpec::last(count))
        }

        /// Only amounts from this one on, in the smallest unit of the token.
        pub fn min_value(mut self, amount: alloy_primitives::U256) -> Self {
            self.$($field).+.min_value = amount;
            self
        }

        /// Only amounts and token ids that meet these conditions.
        pub fn amounts(mut self, amounts: txgraph_transfers::AmountFilter) -> Self {
            self.$($field).+.amounts = amounts;
            self
        }

        /// Only transfers of this standard. Call again for more standards.
        pub fn standard(mut self, standard: txgraph_transfers::TokenStandard) -> Self {
            self.$($field).+.standards.push(standard);
            self
        }

        /// Only transfers of this kind. Call again for more kinds.
        pub fn kind(mut self, kind: txgraph_transfers::Kind) -> Self {
            self.$($field).+.kinds.push(kind);
            self
        }

        /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
        pub fn wrapped_native(mut self, contracts: txgraph_transfers::WrappedNative) -> Self {
            self.$($field).+.wrapped_native = contracts;
            self
        }

        /// Also transfers inside of transactions, which are found by replaying them.
        pub fn internal(mut self) -> Self {
            self.$($field).+.internal = true;
            self
        }

        /// Answers with the blocks that exist. The result states which are missing.
        pub fn allow_partial(mut self) -> Self {
            self.$($field).+.allow_partial = true;
            self
        }

        /// Replaces all conditions of this kind.
        pub fn select(mut self, selection: crate::Selection) -> Self {
            self.$($field).+ = selection;
            self
        }
    };
}
pub(crate) use selection_methods;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_are_not_stored_are_requested() {
        for kind in Kind::FEES.into_iter().chain([Kind::Internal]) {
            let mut selection = Selection {
                kinds: vec![Kind::Mint, kind],
                ..Selection::default()
            };
            let error = selection.filter().unwrap_err();
            assert_eq!(error.hint, Some(Hint::AddInternal));
            selection.internal = true;
            assert!(selection.filter().is_ok());
        }
    }

    #[test]
    fn tokens_add_up() {
        let mut selection = Selection::default();
        let [a, b] = [1, 2].map(Address::repeat_byte);
        selection.add_token(a);
        selection.add_native();
        selection.add_token(b);
        for (token, wanted) in [
            (Some(a), true),
            (Some(b), true),
            (None, true),
            (Some(Address::ZERO), false),
        ] {
            assert_eq!(
                selection.tokens.matches(token.as_ref()),
                wanted,
                "{token:?}"
            );
        }
    }
}
