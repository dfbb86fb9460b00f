//! Symbols and decimals of tokens: from lists that users trust, from the table of well-known
//! tokens, and from what tokens claim. Nothing is guessed: amounts of a token without any of them are
//! in raw units.

use crate::{
    ClaimedMetadata, CounterfeitToken, Metadata, Token,
    alike::Alike,
    claimed_metadata::{is_well_known, known, known_by_symbol, well_known},
    decimal::scaled,
    text::{printable_short, short_address},
};
use alloy_primitives::{Address, B256, Keccak256};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};
use txgraph_base::KnownChain;
use txgraph_graph::{AmountSum, Asset};
use txgraph_labels::Labels;
use txgraph_transfers::TokenStandard;

/// Symbols and decimals of tokens.
#[derive(Clone, Debug, Default)]
pub struct TokenList {
    /// By address and chain; `None` if the list has no chain for the token.
    tokens: BTreeMap<(Address, Option<u64>), Token>,
    /// Claims of tokens. A token without decimals has a symbol only.
    claims: BTreeMap<Address, Claim>,
    /// Claims that were not compared with other tokens.
    new: BTreeSet<Address>,
    /// The tokens of a chain by the look of their symbols. `None` until claims are compared.
    alike: Option<(u64, Alike)>,
    /// Whether tokens without a symbol of their own are named by whole addresses.
    is_whole: bool,
}

/// A claim as it is shown.
#[derive(Clone, Debug)]
struct Claim {
    /// `None` without decimals.
    token: Option<Token>,
    symbol: String,
}

/// Decimal places of the native coin of every Ethereum chain: wei per ether.
const NATIVE_DECIMALS: u8 = 18;

/// Characters of a symbol that are kept.
pub(crate) const SYMBOL_CHARS: usize = 24;

/// A list for every chain.
impl FromIterator<(Address, Token)> for TokenList {
    fn from_iter<I: IntoIterator<Item = (Address, Token)>>(tokens: I) -> Self {
        let tokens = tokens.into_iter();
        Self {
            tokens: tokens
                .map(|(address, token)| ((address, None), token))
                .collect(),
            ..Self::default()
        }
    }
}

impl TokenList {
    /// Adds what a token claims. An entry of a list and the table of well-known tokens count more.
    pub fn claim(&mut self, address: Address, claim: ClaimedMetadata) {
        let symbol = claim.symbol.unwrap_or_default();
        let symbol = printable_short(&symbol, SYMBOL_CHARS);
        let token = claim.decimals.map(|decimals| Token {
            symbol: symbol.clone(),
            decimals,
        });
        self.claims.insert(address, Claim { token, symbol });
        self.new.insert(address);
    }

    /// Takes the claims of some tokens from another list, as they were compared there.
    pub fn copy_claims(&mut self, from: &Self, tokens: impl IntoIterator<Item = Address>) {
        for token in tokens {
            if let Some(claim) = from.claims.get(&token) {
                self.claims.insert(token, claim.clone());
            }
        }
    }

    /// Adds the entries of another list. Fails if they disagree about the decimals of a token. Of two
    /// symbols, the first remains.
    ///
    /// # Errors
    ///
    /// The reason, without the name of a file.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        for ((address, chain), token) in other.tokens {
            self.insert(address, chain, token)?;
        }
        self.new.extend(other.claims.keys());
        self.claims.extend(other.claims);
        Ok(())
    }

    /// Compares the claims that were added since the last call with the well-known tokens of the
    /// chain, this list, and each other. One that looks like a well-known token, or a token of this
    /// list, at another address is marked: `USDC` becomes `USDC?`. Tokens of a list are left as they
    /// are. Returns those that it marked, ascending.
    pub fn mark_counterfeits(&mut self, chain_id: u64) -> Vec<CounterfeitToken> {
        let mut alike = match self.alike.take() {
            Some((of, alike)) if of == chain_id => alike,
            _ => {
                self.new = self.claims.keys().copied().collect();
                self.trusted(chain_id)
            }
        };
        let mut marked = Vec::new();
        for address in mem::take(&mut self.new) {
            if self.listed(chain_id, address).is_some() {
                continue;
            }
            let claim = self.claims.get_mut(&address);
            let Some(claim) = claim.filter(|claim| !claim.symbol.is_empty()) else {
                continue;
            };
            if let Some((symbol, known)) = alike.trusted(&claim.symbol)
                && !is_well_known(chain_id, address)
            {
                let symbol = symbol.to_owned();
                let shown = format!("{symbol}?");
                let claimed = mem::replace(&mut claim.symbol, shown.clone());
                if let Some(token) = &mut claim.token {
                    token.symbol = shown;
                }
                marked.push(CounterfeitToken {
                    address,
                    claimed,
                    symbol,
                    known,
                });
            }
            alike.add(Some(address), &claim.symbol, false);
        }
        self.alike = Some((chain_id, alike));
        marked
    }

    /// The well-known tokens of a chain and the tokens of this list, by the look of their symbols.
    fn trusted(&self, chain_id: u64) -> Alike {
        let mut alike = well_known(chain_id);
        for ((address, chain), token) in &self.tokens {
            if chain.is_none_or(|id| id == chain_id) {
                alike.add(Some(*address), &token.symbol, true);
            }
        }
        alike
    }

    /// Whether the symbol of a token looks like the symbol of another one, as far as they were
    /// compared.
    fn is_shared(&self, address: Address) -> bool {
        (self.alike.as_ref()).is_some_and(|(_, alike)| alike.is_shared(&address))
    }

    /// The entry of a token in the list itself.
    fn listed(&self, chain_id: u64, address: Address) -> Option<&Token> {
        let on_chain = self.tokens.get(&(address, Some(chain_id)));
        on_chain.or_else(|| self.tokens.get(&(address, None)))
    }

    /// Whether the name of a token, if it has one, is only its own claim.
    pub fn is_claim(&self, chain_id: u64, address: Address) -> bool {
        self.claims.contains_key(&address)
            && known(chain_id, address).is_none()
            && self.listed(chain_id, address).is_none()
    }

    /// Whether nothing is known of a token, so that it could be asked.
    pub fn is_unknown(&self, chain_id: u64, address: Address) -> bool {
        self.lookup(chain_id, address).is_none() && !self.claims.contains_key(&address)
    }

    /// Adds an entry. Refuses two that disagree about decimals, as it cannot know which one is right. Of
    /// two symbols, the first remains.
    pub(crate) fn insert(
        &mut self,
        address: Address,
        chain: Option<u64>,
        mut token: Token,
    ) -> Result<(), String> {
        // Once, not for each amount that is shown.
        token.symbol = printable_short(&token.symbol, SYMBOL_CHARS);
        match self.tokens.get(&(address, chain)) {
            Some(known) if known.decimals != token.decimals => Err(format!(
                "{address} has {} decimals here and {} in an earlier entry",
                token.decimals, known.decimals
            )),
            Some(_) => Ok(()),
            None => {
                self.tokens.insert((address, chain), token);
                // Claims may look like the new token.
                self.alike = None;
                Ok(())
            }
        }
    }

    /// Returns the entry of a token.
    pub fn lookup(&self, chain_id: u64, address: Address) -> Option<&Token> {
        let claim = || self.claims.get(&address)?.token.as_ref();
        let listed = self.listed(chain_id, address);
        listed.or_else(|| known(chain_id, address)).or_else(claim)
    }

    /// Returns the symbol of a token, even if its decimals are not known.
    pub fn symbol(&self, chain_id: u64, address: Address) -> Option<&str> {
        let symbol = match self.lookup(chain_id, address) {
            Some(token) => &token.symbol,
            None => &self.claims.get(&address)?.symbol,
        };
        (!symbol.is_empty()).then_some(symbol)
    }

    /// Returns the tokens of a chain with a symbol, in any case, ascending: the tokens of the list,
    /// else the well-known one. Claims do not count.
    pub fn with_symbol(&self, chain_id: u64, symbol: &str) -> Vec<Address> {
        let of_chain = |chain: &Option<u64>| chain.is_none_or(|chain| chain == chain_id);
        let mut found: Vec<Address> = (self.tokens.iter())
            .filter(|((_, chain), token)| {
                of_chain(chain) && token.symbol.eq_ignore_ascii_case(symbol)
            })
            .map(|((address, _), _)| *address)
            .collect();
        found.dedup();
        if found.is_empty() {
            found.extend(known_by_symbol(chain_id, symbol));
        }
        found
    }

    /// The Keccak-256 of all entries but claims; `None` if there are none. Where the files are does not
    /// matter.
    pub fn content_hash(&self) -> Option<B256> {
        let mut hash = Keccak256::new();
        for ((address, chain), token) in &self.tokens {
            hash.update(address);
            hash.update([u8::from(chain.is_some()), token.decimals]);
            hash.update(chain.unwrap_or_default().to_be_bytes());
            hash.update((token.symbol.len() as u64).to_be_bytes());
            hash.update(&token.symbol);
        }
        (!self.tokens.is_empty()).then(|| hash.finalize())
    }

    /// The number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.tokens.len() + self.claims.len()
    }

    /// Returns the name of an asset: its symbol, or its address, shortened unless
    /// [whole ones](Self::write_whole_addresses) were asked for. If another token looks the
    /// same, it has both.
    pub fn format_asset(&self, chain_id: u64, asset: &Asset) -> String {
        let Some(address) = asset.token_address else {
            return KnownChain::native_symbol_of(chain_id).to_owned();
        };
        match self.symbol(chain_id, address) {
            Some(symbol) if self.is_shared(address) => {
                format!("{symbol} ({})", self.digits(address))
            }
            Some(symbol) => symbol.to_owned(),
            None => self.digits(address),
        }
    }

    /// Names tokens by whole addresses, for texts from which they are copied. The default is short
    /// addresses.
    pub const fn write_whole_addresses(&mut self) {
        self.is_whole = true;
    }

    fn digits(&self, address: Address) -> String {
        match self.is_whole {
            true => address.to_checksum(None),
            false => short_address(address),
        }
    }

    /// Returns the decimal places of [`Self::format_amount`].
    pub(crate) fn decimals(&self, chain_id: u64, asset: &Asset) -> u8 {
        self.known_decimals(chain_id, asset).unwrap_or(0)
    }

    /// Returns the decimal places of an amount, if they are known. Tokens of ERC-721 and ERC-1155 have
    /// none.
    pub(crate) fn known_decimals(&self, chain_id: u64, asset: &Asset) -> Option<u8> {
        match asset.token_standard {
            TokenStandard::Native => Some(NATIVE_DECIMALS),
            TokenStandard::Erc20 => Some(self.lookup(chain_id, asset.token_address?)?.decimals),
            TokenStandard::Erc721 | TokenStandard::Erc1155 => Some(0),
        }
    }

    /// Formats an exact amount for people: `1,234.5 USDC`. Amounts of tokens that are not
    /// listed are in raw units: `1,234,500,000 units of 0xA0b8…eB48`. Tokens of ERC-721 and
    /// ERC-1155 are counted: `3 items of PUNK`.
    pub fn format_amount(&self, chain_id: u64, asset: &Asset, amount: AmountSum) -> String {
        let name = self.format_asset(chain_id, asset);
        let number = scaled(amount.as_limbs(), self.decimals(chain_id, asset));
        let one = match asset.token_standard {
            TokenStandard::Erc20 if self.known_decimals(chain_id, asset).is_none() => "unit",
            TokenStandard::Erc721 | TokenStandard::Erc1155 => "item",
            _ => return format!("{number} {name}"),
        };
        let plural = if amount == AmountSum::from(1) {
            ""
        } else {
            "s"
        };
        format!("{number} {one}{plural} of {name}")
    }
}

impl Metadata {
    /// Adds the names that the result shows to the query, as the hashes of their lists.
    pub fn add_names(&mut self, tokens: Option<&TokenList>, labels: Option<&Labels>) {
        let Some(question) = self.question.as_object_mut() else {
            return;
        };
        for (name, hash) in [
            ("token-list", tokens.and_then(TokenList::content_hash)),
            ("labels", labels.and_then(Labels::content_hash)),
        ] {
            if let Some(hash) = hash {
                question.insert(name.to_owned(), json!({ "keccak256": hash }));
            }
        }
        question.sort_keys();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    const USDC: Address = address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");

    fn asset(token_address: Option<Address>, token_standard: TokenStandard) -> Asset {
        Asset {
            token_address,
            token_standard,
        }
    }

    fn claim(symbol: &str, decimals: u8) -> ClaimedMetadata {
        ClaimedMetadata {
            symbol: Some(symbol.to_owned()),
            decimals: Some(decimals),
        }
    }

    fn listed(address: Address, symbol: &str, decimals: u8) -> TokenList {
        let symbol = symbol.to_owned();
        TokenList::from_iter([(address, Token { symbol, decimals })])
    }

    #[test]
    fn metadata_states_the_content_of_a_list() {
        let question = |list: &TokenList| {
            let mut metadata = Metadata::new("transfers", json!({ "z": 1 }));
            metadata.add_names(Some(list), None);
            metadata.question
        };
        let hash = |list: TokenList| question(&list)["token-list"]["keccak256"].clone();
        let mut claimed = listed(USDC, "USDC", 6);
        claimed.claim(Address::ZERO, claim("Z", 3));
        assert_eq!(hash(claimed), hash(listed(USDC, "USDC", 6)));
        assert_ne!(hash(listed(USDC, "USDC", 3)), hash(listed(USDC, "USDC", 6)));
        assert_ne!(hash(listed(USDC, "USD", 6)), hash(listed(USDC, "USDC", 6)));
        assert_eq!(question(&TokenList::default()), json!({ "z": 1 }));
    }

    #[test]
    fn lists_count_more_than_the_table_and_that_more_than_claims() {
        let [fake, own] = [7, 8].map(Address::repeat_byte);
        let mut list = TokenList::default();
        list.claim(USDC, claim("LIE", 2));
        list.claim(fake, claim("USDС", 2));
        list.claim(own, claim("USDT", 2));
        let symbol = |list: &TokenList, address| list.lookup(1, address).unwrap().symbol.clone();
        assert_eq!(symbol(&list, USDC), "USDC");
        assert!(!list.is_claim(1, USDC) && list.is_claim(1, fake));
        list.merge(listed(own, "USDT", 2)).unwrap();
        let marked = list.mark_counterfeits(1);
        let names: Vec<_> = marked
            .iter()
            .map(|it| {
                (
                    it.address,
                    it.claimed.as_str(),
                    it.symbol.as_str(),
                    it.known,
                )
            })
            .collect();
        assert_eq!(names, [(fake, "USDС", "USDC", Some(USDC))]);
        assert_eq!(symbol(&list, fake), "USDC?");
        assert_eq!(symbol(&list, own), "USDT");
        assert!(list.mark_counterfeits(1).is_empty(), "marked once");
        // A symbol means the listed token, else the well-known one, and never a claim.
        assert_eq!(list.with_symbol(1, "usdc"), [USDC]);
        assert_eq!(list.with_symbol(1, "USDT"), [own]);
        assert!(list.with_symbol(5, "USDC").is_empty());
        assert!(list.merge(listed(own, "X", 3)).is_err());
    }

    /// An export with symbols adds a few tokens at a time.
    #[test]
    fn a_hundred_thousand_claims_are_compared_once_each() {
        let token = |number: u32| {
            let mut address = Address::ZERO;
            address[..4].copy_from_slice(&number.to_be_bytes());
            address
        };
        let mut list = TokenList::default();
        let mut marked = Vec::new();
        for number in 0..100_000 {
            let symbol = match number % 10_000 {
                7_777 => "UЅDС".to_owned(),
                _ => format!("T{number}"),
            };
            list.claim(token(number), claim(&symbol, 6));
            marked.extend(list.mark_counterfeits(1));
        }
        let marked: Vec<_> = marked.iter().map(|it| it.address).collect();
        let expected = (0..10).map(|number| token(number * 10_000 + 7_777));
        assert_eq!(marked, expected.collect::<Vec<_>>());
    }

    #[test]
    fn tokens_with_one_symbol_are_never_alike() {
        let [first, second, other] = [7, 8, 9].map(Address::repeat_byte);
        let mut list = TokenList::default();
        list.claim(first, claim("USD6", 0));
        list.claim(second, claim("UЅD6", 0));
        list.claim(other, claim("OZA", 0));
        assert!(list.mark_counterfeits(5).is_empty());
        let text = |token| {
            let asset = asset(Some(token), TokenStandard::Erc20);
            list.format_amount(5, &asset, AmountSum::from(3))
        };
        assert_eq!(text(first), "3 USD6 (0x0707…0707)");
        assert_eq!(text(second), "3 UЅD6 (0x0808…0808)");
        assert_eq!(text(other), "3 OZA");
    }

    #[test]
    fn formats_amounts_with_symbols_and_units() {
        let (symbol, decimals) = (" US\u{202e}D\nC".to_owned(), 6);
        let mut list = TokenList::default();
        list.insert(USDC, Some(1), Token { symbol, decimals })
            .unwrap();
        let format = |chain, token, standard, amount: u64| {
            list.format_amount(chain, &asset(token, standard), AmountSum::from(amount))
        };
        let (erc20, erc721) = (TokenStandard::Erc20, TokenStandard::Erc721);
        assert_eq!(
            format(1, Some(USDC), erc20, 1_234_500_000),
            "1,234.5 US\u{FFFD}D C"
        );
        assert_eq!(
            format(5, Some(USDC), erc20, 1234),
            "1,234 units of 0xA0b8…eB48"
        );
        assert_eq!(format(5, Some(USDC), erc721, 1), "1 item of 0xA0b8…eB48");
        assert_eq!(format(5, Some(USDC), erc721, 2), "2 items of 0xA0b8…eB48");
        assert_eq!(
            format(1, None, TokenStandard::Native, 1),
            "0.000000000000000001 ETH"
        );
        assert_eq!(format(100, None, TokenStandard::Native, 0), "0 xDAI");
    }
}
