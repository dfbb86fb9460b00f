//! Addresses and amounts with their names, in pages of text.

use super::token_notes;
use crate::{name_args::TokenListArgs, output::Terminal};
use txgraph::{
    Address, AmountSum, Asset, BlockRanges, Labels, Result, Source, TokenList, U256, printable,
};

/// The names of addresses and tokens.
pub(super) struct Names {
    pub(super) chain_id: u64,
    pub(super) tokens: TokenList,
    pub(super) labels: Labels,
}

impl Names {
    /// Completes the token lists by what other tokens claim, and prints what is only a claim.
    pub(super) fn read(
        lists: &TokenListArgs,
        labels: Labels,
        source: &Source,
        tokens: impl IntoIterator<Item = Address>,
        blocks: &BlockRanges,
        terminal: &Terminal,
    ) -> Result<Self> {
        let list = source.token_list(&lists.token_list)?;
        Ok(Self {
            chain_id: source.chain()?.chain_id,
            tokens: token_notes::named(list, source, tokens, blocks, terminal)?,
            labels,
        })
    }

    /// An address with its name.
    pub(super) fn address(&self, address: Address) -> String {
        named(&self.labels, address)
    }

    /// An amount in units of its token.
    pub(super) fn amount(&self, asset: &Asset, amount: U256) -> String {
        let sum = AmountSum::from_limbs_slice(amount.as_limbs());
        self.tokens.format_amount(self.chain_id, asset, sum)
    }
}

/// An address with its name, if it has one.
pub(super) fn named(labels: &Labels, address: Address) -> String {
    match labels.name(address) {
        Some(name) => format!("{address} [{}]", printable(name)),
        None => address.to_string(),
    }
}
