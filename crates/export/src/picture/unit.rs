//! The texts of an asset, put together once for all its amounts.

use super::{
    short_text::push_rounded,
    text::{Text, made},
};
use crate::{TokenList, decimal::push_scaled, legend::CLAIM, text::printable};
use txgraph_graph::{AmountSum, Asset};

/// The text around a number in [`TokenList::format_amount`], and what a tooltip says of the asset.
pub(super) struct Unit {
    /// Decimal places.
    places: u8,
    /// The text after the number one, in the smallest unit.
    one: String,
    /// The text after any other number.
    many: String,
    /// A line about its token, and one if only the token itself claims its symbol. Any contract can have the
    /// same symbol.
    pub(super) token: Vec<String>,
}

impl Unit {
    pub(super) fn new(tokens: &TokenList, chain_id: u64, asset: &Asset) -> Self {
        let words = |amount: u64| {
            let text = tokens.format_amount(chain_id, asset, AmountSum::from(amount));
            // The number has no space, and the unit follows the first one.
            printable(text.find(' ').map_or("", |space| &text[space..])).into_owned()
        };
        Self {
            places: tokens.decimals(chain_id, asset),
            one: words(1),
            many: words(2),
            token: asset.token_address.map_or_else(Vec::new, |token| {
                let claim = tokens.is_claim(chain_id, token);
                let line = format!("token {}", token.to_checksum(None));
                std::iter::once(line)
                    .chain(claim.then(|| CLAIM.to_owned()))
                    .collect()
            }),
        }
    }

    fn words(&self, amount: AmountSum) -> &str {
        if amount == AmountSum::from(1) {
            &self.one
        } else {
            &self.many
        }
    }

    /// Appends an amount.
    pub(super) fn push_exact(&self, out: &mut Text<'_>, amount: AmountSum) {
        out.with(|out| push_scaled(out, amount.as_limbs(), self.places));
        out.any(self.words(amount));
    }

    /// Appends an amount that is rounded to a few digits.
    pub(super) fn push_rounded(&self, out: &mut Text<'_>, amount: AmountSum) {
        out.with(|out| push_rounded(out, amount.as_limbs(), self.places));
        out.any(self.words(amount));
    }

    /// Returns an amount that is rounded to a few digits.
    pub(super) fn rounded(&self, amount: AmountSum) -> String {
        made(|out| self.push_rounded(&mut Text::plain(out), amount))
    }
}

/// Returns an amount with its unit, rounded to a few digits: `1.234 M USDC`.
pub fn rounded_amount(
    tokens: &TokenList,
    chain_id: u64,
    asset: &Asset,
    amount: AmountSum,
) -> String {
    Unit::new(tokens, chain_id, asset).rounded(amount)
}

/// Appends a number of transfers, unless it is one.
pub(super) fn push_transfers(out: &mut Text<'_>, count: u64) {
    if count != 1 {
        out.put(b" in ");
        out.counted(count, "transfer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Token, fixtures::numbers};
    use alloy_primitives::Address;
    use proptest::{option, prelude::*, sample::select};
    use txgraph_transfers::TokenStandard;

    proptest! {
        #[test]
        fn amounts_are_those_of_the_list(
            amount in prop_oneof![Just(AmountSum::from(1)), numbers::<320, 5>()],
            standard in select(TokenStandard::ALL),
            decimals in option::of(0u8..40),
            symbol: String,
        ) {
            let token = Address::repeat_byte(7);
            let known = decimals.map(|decimals| (token, Token { symbol, decimals }));
            let list: TokenList = known.into_iter().collect();
            let asset = Asset {
                token_address: (standard != TokenStandard::Native).then_some(token),
                token_standard: standard,
            };
            let unit = Unit::new(&list, 1, &asset);
            let exact = made(|out| unit.push_exact(&mut Text::plain(out), amount));
            let expected = list.format_amount(1, &asset, amount);
            prop_assert_eq!(exact, printable(&expected));
            let (_, words) = expected.split_once(' ').unwrap();
            let rounded = unit.rounded(amount);
            prop_assert!(rounded.ends_with(&format!(" {}", printable(words))), "{}", rounded);
        }
    }
}
