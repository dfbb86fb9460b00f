//! Which transfers, as it is written.

use super::{
    lists::{block_specs, tokens, wrapped_native},
    min_value::{Units, amounts},
};
use crate::{
    BlockSpec, Error, Result, Selection, Source,
    grammar::{Checksum, list, since_until, text, words},
};
use serde::{Deserialize, Serialize};
use txgraph_export::TokenList;
use txgraph_transfers::{Kind, TokenFilter, TokenStandard};

/// Which transfers. A text of a list can contain several values, separated by commas, or
/// `@FILE`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SelectionArgs {
    /// Block ranges in cryo's grammar; empty: every block up to the tip.
    #[serde(deserialize_with = "list")]
    pub blocks: Vec<String>,
    /// First block, instead of ranges.
    pub from_block: Option<u64>,
    /// Last block, included, instead of ranges.
    pub to_block: Option<u64>,
    /// First block, or date (UTC), instead of ranges.
    #[serde(deserialize_with = "text")]
    pub since: Option<String>,
    /// End of the blocks, excluded: a block, or a date (UTC), instead of ranges.
    #[serde(deserialize_with = "text")]
    pub until: Option<String>,
    /// Token addresses, `eth` (or `native`), `all`; empty: all.
    #[serde(deserialize_with = "list")]
    pub token: Vec<String>,
    /// Smallest amount: a whole number in the smallest unit, `1.5` or `USDC=100` in units.
    #[serde(deserialize_with = "text")]
    pub min_value: Option<String>,
    /// Ids of tokens, decimal or hexadecimal; empty: all.
    #[serde(deserialize_with = "list")]
    pub token_id: Vec<String>,
    /// Standards; empty: all.
    #[serde(deserialize_with = "words")]
    pub standard: Vec<TokenStandard>,
    /// Kinds; empty: all.
    #[serde(deserialize_with = "words")]
    pub kind: Vec<Kind>,
    /// `auto`, `any`, `none` or the addresses of wrapped coins; empty: `auto`.
    #[serde(deserialize_with = "list")]
    pub wrapped_native: Vec<String>,
    /// Answer with the blocks that exist.
    pub allow_partial: bool,
    /// Accept mixed-case addresses without a valid checksum.
    pub allow_bad_checksum: bool,
    /// Replay transactions, for the transfers inside of them.
    pub with_internal: bool,
}

impl SelectionArgs {
    /// How addresses in mixed case are read.
    pub const fn checksum(&self) -> Checksum {
        if self.allow_bad_checksum {
            Checksum::Ignore
        } else {
            Checksum::Verify
        }
    }

    /// Whether blocks are not named by ranges or numbers.
    const fn is_plain(&self) -> bool {
        self.blocks.is_empty() && self.from_block.is_none() && self.to_block.is_none()
    }

    /// Reads the text. Amounts in units need the decimals of tokens from a list.
    pub fn read(&self, source: &Source, list: Option<&TokenList>) -> Result<Selection> {
        let checksum = self.checksum();
        let blocks = match since_until(self.since.as_deref(), self.until.as_deref())? {
            Some(range) if self.is_plain() => vec![range],
            Some(_) => return Err(blocks_named_twice()),
            None => read_blocks(&self.blocks, self.from_block, self.to_block)?,
        };
        let units = Units::new(source, list, checksum, &blocks, &TokenFilter::All);
        let tokens = tokens(&units.addresses(&self.token)?, checksum)?;
        let (min_value, least) = match &self.min_value {
            None => Default::default(),
            Some(text) => {
                let units = Units::new(source, list, checksum, &blocks, &tokens);
                let read = units.min_value(text, &tokens);
                read.map_err(|error| error.at("smallest amount"))?
            }
        };
        Ok(Selection {
            blocks,
            tokens,
            min_value,
            amounts: amounts(least, &self.token_id)?,
            standards: self.standard.clone(),
            kinds: self.kind.clone(),
            wrapped_native: wrapped_native(&self.wrapped_native, self.checksum())?,
            internal: self.with_internal,
            allow_partial: self.allow_partial,
        })
    }
}

/// Reads blocks that are named by ranges, or by first and last block.
pub fn read_blocks(
    ranges: &[String],
    first: Option<u64>,
    last: Option<u64>,
) -> Result<Vec<BlockSpec>> {
    match (first, last) {
        (None, None) => block_specs(ranges),
        _ if !ranges.is_empty() => Err(blocks_named_twice()),
        (first, None) => Ok(vec![(first.unwrap_or(0)..).into()]),
        (first, Some(last)) => Ok(vec![BlockSpec::through(first.unwrap_or(0), last)]),
    }
}

fn blocks_named_twice() -> Error {
    Error::usage("blocks are named twice: by ranges, and by their first block or end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_by_first_and_last() {
        let read = |ranges: &[&str], first, last| {
            let ranges: Vec<_> = ranges.iter().map(|text| (*text).to_owned()).collect();
            let specs = read_blocks(&ranges, first, last)?;
            let blocks = crate::select::resolve_numbers(&specs, 40)?;
            Ok(blocks.to_string())
        };
        let kind = |result: Result<String>| match result {
            Ok(blocks) => blocks,
            Err(error) => format!("{:?}", error.kind),
        };
        for (ranges, first, last, expected) in [
            (&[][..], None, None, "0:41"),
            (&["latest"], None, None, "40:41"),
            (&["-3:", "1:3,7"], None, None, "1:3, 7:8, 38:41"),
            (&["0:100"], None, None, "0:100"),
            (&["41:"], None, None, "Unavailable"),
            (&["-42:"], None, None, "Unavailable"),
            (&["5:4"], None, None, "Usage"),
            (&["5"], Some(1), None, "Usage"),
            (&[], Some(7), None, "7:41"),
            (&[], None, Some(50), "0:51"),
            (&[], Some(9), Some(8), "Usage"),
            (&[], Some(41), None, "Unavailable"),
            (&[","], None, None, "Usage"),
        ] {
            let found = kind(read(ranges, first, last));
            assert_eq!(found, expected, "{ranges:?} {first:?} {last:?}");
        }
    }
}
