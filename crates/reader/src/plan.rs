//! Decides whether a scan checks a block's bloom filter before its receipts.
//!
//! The bloom filter in a header can prove that no log of the block was emitted by a token. If
//! that is so for most blocks, reading a header is cheaper than reading the receipts. In blocks
//! full of logs, or for a token that is in most blocks, it is wasted. So some headers are sampled
//! first.

use crate::chunk::{Density, sample};
use alloy_primitives::{Address, Bloom, BloomInput};
use std::fmt;
use txgraph_nodedb::{LogsBloom, NodeDb, Result, Scratch};
use txgraph_transfers::{BlockRanges, TransferFilter};

/// The maximum number of sampled headers.
const SAMPLES_MAX: u64 = 256;

/// The cost of reading a header's bloom filter, in receipts. Its bytes are copied from the page
/// cache and parsed up to the filter, and the receipts of a skipped block are mostly read with
/// those around them. Measured: with 3.4 saved receipts per block nothing is gained.
const HEADER_COST: f64 = 3.5;

/// With more tokens, nearly every block contains one of them.
const TOKENS_MAX: usize = 16;

/// The plan of a scan. [`fmt::Display`] explains it to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPlan {
    /// The number of blocks to scan.
    pub blocks: u64,
    /// The estimated number of transactions per block.
    pub transactions_per_block: f64,
    /// The share of sampled blocks whose bloom filter does not exclude the tokens. `None` if a
    /// bloom filter cannot help.
    pub bloom_hits: Option<f64>,
    /// Whether only the receipts of blocks are read whose bloom filter does not exclude the
    /// tokens.
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
                "all receipts are read (bloom filters cannot exclude blocks for this request)",
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

/// The bits of some tokens in a bloom filter (yellow paper, 4.4.1). For each token the bytes that
/// contain its bits, ascending, because low bytes are read sooner.
#[derive(Clone, Debug)]
pub(crate) struct TokenBits(Vec<Vec<(u8, u8)>>);

impl TokenBits {
    /// Returns `None` if bloom filters cannot exclude the wanted transfers: native movements
    /// are in no log of a token, and some token is in every block.
    pub(crate) fn of(filter: &TransferFilter) -> Option<Self> {
        let tokens = filter.only_logs_of()?;
        if !(1..=TOKENS_MAX).contains(&tokens.len()) {
            return None;
        }
        let bits = |token: &Address| {
            let bloom = Bloom::from(BloomInput::Raw(token.as_slice()));
            let bytes = (0..=u8::MAX).zip(bloom.0);
            bytes.filter(|(_, bits)| *bits != 0).collect()
        };
        let mut tokens: Vec<_> = tokens.iter().map(bits).collect();
        tokens.sort_unstable();
        Some(Self(tokens))
    }

    /// Whether a block with this filter may contain a log of one of the tokens.
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
    /// Makes a plan. `bloom_hits`: see the field.
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

/// Samples headers of `ranges`, which are available. Returns the share whose bloom filter does
/// not exclude the tokens.
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
    use txgraph_transfers::TokenFilter;
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
    fn transfers_without_log_are_not_searched_in_blooms() {
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
