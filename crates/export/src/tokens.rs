//! Symbols and decimals of tokens, from lists that users trust.

use crate::Result;
use alloy_primitives::Address;
use std::path::Path;
use txgraph_graph::{AmountSum, Asset};

/// What a list says about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Symbol, as the list has it: may hold anything.
    pub symbol: String,
    /// Decimal places of an amount.
    pub decimals: u8,
    /// Name, as the list has it; may be empty.
    pub name: String,
}

/// Symbols and decimals of tokens.
#[derive(Clone, Debug, Default)]
pub struct TokenList {}

impl TokenList {
    /// Reads a Uniswap token list (JSON) or a CSV file with a header line of
    /// `address,symbol,decimals` and optionally `name` and `chain_id`.
    pub fn load(_path: &Path) -> Result<Self> {
        todo!()
    }

    /// What the list says about a token.
    pub fn lookup(&self, _chain_id: u64, _address: Address) -> Option<&Token> {
        todo!()
    }

    /// An exact amount for people: `1,234.5 USDC`; in raw units when the list
    /// does not know the token.
    pub fn format_amount(&self, _chain_id: u64, _asset: &Asset, _amount: AmountSum) -> String {
        todo!()
    }
}
