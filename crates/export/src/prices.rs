//! Prices of tokens, which make amounts of different tokens comparable in pictures.

use crate::{
    TokenList,
    csv_file::{CsvFile, shown},
    decimal::to_f64,
};
use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_graph::{AmountSum, Asset};

/// The prices of tokens in one common unit, for one whole unit of each token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    by_address: BTreeMap<Address, f64>,
    /// In lower case.
    by_symbol: BTreeMap<String, f64>,
    native: Option<f64>,
}

impl Prices {
    /// Reads CSV with a header line that has `token` and `price`; other columns are ignored.
    /// A token is an address, a symbol, or `eth` or `native`. A price applies to one whole unit (to
    /// one item, for ERC-721 and ERC-1155), in the same unit for all tokens.
    ///
    /// # Errors
    ///
    /// If a row has no token or no price: the reason, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_rows(text).map_err(|reason| shown(&reason))
    }

    fn parse_rows(text: &str) -> Result<Self, String> {
        let file = CsvFile::new(text, Some(b'#'))?;
        let needed = |names: &[&str]| file.needed(names, "be token,price");
        let token = needed(&["token", "address", "token_address"])?;
        let price = needed(&["price"])?;
        let mut prices = Self::default();
        file.each_row(|row| {
            let value: f64 = match row[price].parse() {
                Ok(value) if f64::is_finite(value) && value >= 0.0 => {
                    let digits = row[price].split(['e', 'E']).next().unwrap_or_default();
                    if value == 0.0 && digits.contains(|digit: char| matches!(digit, '1'..='9')) {
                        return Err(format!("the price `{}` is too small", &row[price]));
                    }
                    value
                }
                _ => return Err(format!("`{}` is not a price", &row[price])),
            };
            let name = row[token].to_ascii_lowercase();
            let before = match &name[..] {
                "" => return Err("no token".to_owned()),
                "eth" | "native" => prices.native.replace(value),
                name if name.starts_with("0x") => {
                    let wrong = |error| format!("`{name}` is not an address: {error}");
                    let address = name.parse().map_err(wrong)?;
                    prices.by_address.insert(address, value)
                }
                _ => prices.by_symbol.insert(name, value),
            };
            if before.is_some_and(|before| before.to_bits() != value.to_bits()) {
                return Err(format!("two prices of `{}`", &row[token]));
            }
            Ok(())
        })?;
        Ok(prices)
    }

    /// The value of an amount; `None` without a price, or without the decimals of the token. A symbol
    /// stands for the token of a list, or for a well-known one, and never for what a token claims.
    pub(crate) fn value(
        &self,
        tokens: &TokenList,
        chain_id: u64,
        asset: &Asset,
        amount: AmountSum,
    ) -> Option<f64> {
        let price = match asset.token_address {
            None => self.native?,
            Some(token) => match self.by_address.get(&token) {
                Some(price) => *price,
                None if tokens.is_claim(chain_id, token) => return None,
                None => {
                    let symbol = tokens.symbol(chain_id, token)?;
                    *self.by_symbol.get(&symbol.to_ascii_lowercase())?
                }
            },
        };
        let decimals = tokens.known_decimals(chain_id, asset)?;
        Some(to_f64(amount.as_limbs()) / 10f64.powi(decimals.into()) * price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimedMetadata;
    use txgraph_transfers::TokenStandard;

    const FILE: &str = "token,price,symbol\n\
         0x0707070707070707070707070707070707070707,2.5,X\n\
         eth,3000,\n# a comment\nUSDC,1,\n";

    #[test]
    fn values_are_in_whole_units() {
        let prices = Prices::parse(FILE).unwrap();
        let usdc = alloy_primitives::address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");
        let [x, fake] = [7, 8].map(Address::repeat_byte);
        let mut tokens = TokenList::default();
        let claim = |symbol: &str, decimals| ClaimedMetadata {
            symbol: Some(symbol.to_owned()),
            decimals,
        };
        tokens.claim(fake, claim("USDC", Some(6)));
        let value = |tokens: &TokenList, token, standard, amount: u64| {
            let asset = Asset {
                token_address: token,
                token_standard: standard,
            };
            prices.value(tokens, 1, &asset, AmountSum::from(amount))
        };
        let erc20 = TokenStandard::Erc20;
        let half = 500_000_000_000_000_000;
        assert_eq!(
            value(&tokens, None, TokenStandard::Native, half),
            Some(1500.0)
        );
        assert_eq!(value(&tokens, Some(usdc), erc20, 2_500_000), Some(2.5));
        // A claim is no token, and an amount without decimals no value.
        assert_eq!(value(&tokens, Some(fake), erc20, 1), None);
        assert_eq!(value(&tokens, Some(x), erc20, 10), None);
        assert_eq!(value(&tokens, Some(x), TokenStandard::Erc721, 2), Some(5.0));
        tokens.claim(x, claim("X", Some(1)));
        assert_eq!(value(&tokens, Some(x), erc20, 10), Some(2.5));
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, message) in [
            ("", "no column `token`"),
            ("token,cost\nx,1\n", "no column `price`"),
            ("token,price\neth,cheap\n", "line 2: `cheap` is not a price"),
            ("token,price\neth,-1\n", "line 2: `-1` is not a price"),
            ("token,price\neth,inf\n", "not a price"),
            (
                "token,price\neth,0e9\nx,1E-400\n",
                "line 3: the price `1E-400` is too small",
            ),
            ("token,price\n0x12,1\n", "line 2: `0x12` is not an address"),
            ("token,price\neth,1\nETH,2\n", "line 3: two prices of `ETH`"),
            ("token,price\n,1\n", "line 2: no token"),
            ("token,price\neth\n", "found record with 1 field"),
        ] {
            let error = Prices::parse(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(Prices::parse("token,price\n"), Ok(Prices::default()));
    }
}
