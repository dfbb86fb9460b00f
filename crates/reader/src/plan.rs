//! Chooses whether a scan looks at a block's bloom filter before its receipts.
//!
//! A header's bloom filter tells for certain that no log of the block was emitted by
//! a token. Where that holds for most blocks, reading a header instead of a block's
//! receipts is a bargain; where blocks are full of logs, or the token is in
//! most of them, it is a price paid for nothing. So a few headers are looked at
//! first.

use crate::chunk::{Density, sample};
use alloy_primitives::{Address, Bloom, BloomInput};
use std::fmt;
use txgraph_nodedb::{LogsBloom, NodeDb, Result, Scratch};
use txgraph_transfers::{BlockRanges, TokenFilter, TransferFilter};

/// Headers that are looked at.
const SAMPLES_MAX: u64 = 256;

/// What reading a header's bloom filter costs, in receipts: its bytes are copied from the
/// page cache and walked as far as the filter, and the receipts of a block that is skipped are
/// mostly read with those around them (measured: at 3.4 receipts saved per block nothing
/// is gained).
const HEADER_COST: f64 = 3.5;

/// More tokens fill a filter of their own; and somebody who asks for so many finds
/// them in every block.
const TOKENS_MAX: usize = 16;

/// How a scan reads the blocks, and why. [`fmt::Display`] is for people.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPlan {
    /// Blocks to scan.
    pub blocks: u64,
    /// Transactions per block, estimated.
    pub transactions_per_block: f64,
    /// Share of sampled blocks whose bloom filter does not exclude the tokens; none if
    /// a bloom filter could not help.
    pub bloom_hits: Option<f64>,
    /// Whether receipts are read only of blocks whose bloom filter does not exclude
    /// the tokens.
    pub skips_by_bloom: bool,
}

impl fmt::Display for ScanPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scan of {} blocks with about {:.1} transactions each: ",
            self.blocks, self.transactions_per_block
        )?;
        let Some(hits) = self.bloom_hits else {
            return f.write_str(
                "all receipts are read (bloom filters tell nothing about this question)",
            );
        };
        let percent = hits * 100.0;
        if self.skips_by_bloom {
            write!(
                f,
                "receipts of blocks whose bloom filter excludes the tokens are skipped \
                 (all but {percent:.0} % of the sampled blocks)"
            )
        } else {
            write!(
                f,
                "all receipts are read (the bloom filters of {percent:.0} % of the sampled blocks \
                 do not exclude the tokens; looking at them would cost more than it saves)"
            )
        }
    }
}

/// The bits of some tokens in a bloom filter (yellow paper, 4.4.1): of each token the
/// bytes they are in, ascending, as low ones are read sooner.
#[derive(Clone, Debug)]
pub(crate) struct TokenBits(Vec<Vec<(u8, u8)>>);

impl TokenBits {
    /// None when blooms cannot tell about what is wanted: native movements leave no
    /// log, and all tokens are in every block.
    pub(crate) fn of(filter: &TransferFilter) -> Option<Self> {
        match &filter.tokens {
            TokenFilter::Only { tokens, .. }
                if !filter.needs_transactions()
                    && !filter.needs_withdrawals()
                    && !filter.tokens.wants(None)
                    && (1..=TOKENS_MAX).contains(&tokens.len()) =>
            {
                let bits = |token: &Address| {
                    let bloom = Bloom::from(BloomInput::Raw(token.as_slice()));
                    let bytes = (0..=u8::MAX).zip(bloom.0);
                    bytes.filter(|(_, bits)| *bits != 0).collect()
                };
                let mut tokens: Vec<_> = tokens.iter().map(bits).collect();
                tokens.sort_unstable();
                Some(Self(tokens))
            }
            _ => None,
        }
    }

    /// Whether a block with this filter may hold a log of one of the tokens.
    #[inline]
    pub(crate) fn may_be_in(&self, bloom: &mut LogsBloom<'_>) -> Result<bool> {
        self.within(|byte| bloom.byte(byte))
    }

    #[inline]
    fn within<E>(&self, mut byte: impl FnMut(u8) -> Result<u8, E>) -> Result<bool, E> {
        'tokens: for token in &self.0 {
            for (index, bits) in token {
                if byte(*index)? & bits != *bits {
                    continue 'tokens;
                }
            }
            return Ok(true);
        }
        Ok(false)
    }
}

impl ScanPlan {
    /// `bloom_hits`: see the field.
    pub(crate) fn new(ranges: &BlockRanges, density: &Density, bloom_hits: Option<f64>) -> Self {
        let transactions_per_block = density.per_block(ranges);
        let saved = bloom_hits.map_or(0.0, |hits| (1.0 - hits) * transactions_per_block);
        Self {
            blocks: ranges.blocks(),
            transactions_per_block,
            bloom_hits,
            skips_by_bloom: saved > HEADER_COST,
        }
    }
}

/// Looks at a few headers of `ranges`, all of which are there: the share of those that
/// do not exclude the tokens.
pub(crate) fn hits(db: &NodeDb, ranges: &BlockRanges, tokens: &TokenBits) -> Result<f64> {
    let snapshot = db.snapshot()?;
    let mut scratch = Scratch::default();
    let blocks = sample(ranges, SAMPLES_MAX);
    let mut hits = 0u32;
    for &block in &blocks {
        hits += u32::from(tokens.may_be_in(&mut snapshot.logs_bloom(block, &mut scratch)?)?);
    }
    let sampled = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
    Ok(f64::from(hits) / f64::from(sampled.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Log;
    use proptest::prelude::*;
    use std::convert::Infallible;
    use txgraph_transfers::{AddressSet, Kind};

    fn only(tokens: impl IntoIterator<Item = Address>, native: bool) -> TransferFilter {
        let tokens: AddressSet = tokens.into_iter().collect();
        TransferFilter {
            tokens: TokenFilter::Only { tokens, native },
            ..TransferFilter::default()
        }
    }

    proptest! {
        /// A token that emitted a log is never excluded.
        #[test]
        fn a_bloom_never_hides_a_log(
            emitters in proptest::collection::vec(any::<[u8; 20]>(), 1..30),
            wanted in any::<proptest::sample::Index>(),
            other in any::<[u8; 20]>(),
        ) {
            let mut bloom = Bloom::ZERO;
            for emitter in &emitters {
                bloom.accrue_log(&Log::new_unchecked(emitter.into(), vec![], Default::default()));
            }
            let wanted = Address::from(wanted.get(&emitters));
            let bits = TokenBits::of(&only([Address::from(other), wanted], false)).unwrap();
            let within = |bits: TokenBits| {
                let byte = |index: u8| Ok::<_, Infallible>(bloom.0[usize::from(index)]);
                bits.within(byte).unwrap()
            };
            prop_assert!(within(bits));
            let bits = TokenBits::of(&only([Address::from(other)], false)).unwrap();
            let contained = bloom.contains_input(BloomInput::Raw(&other));
            prop_assert_eq!(within(bits), contained);
        }
    }

    #[test]
    fn what_leaves_no_log_is_not_looked_for_in_blooms() {
        let token = Address::repeat_byte(7);
        assert!(TokenBits::of(&TransferFilter::default()).is_none());
        assert!(TokenBits::of(&only([token], true)).is_none());
        assert!(TokenBits::of(&only([], false)).is_none());
        let kinds = vec![Kind::Transfer];
        let filter = TransferFilter {
            kinds,
            ..only([token], true)
        };
        assert!(
            TokenBits::of(&filter).is_none(),
            "EIP-7708 logs have another emitter"
        );
        assert!(TokenBits::of(&only([token], false)).is_some());
    }
}
