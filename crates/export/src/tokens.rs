//! Symbols and decimals of tokens: from lists that users trust, from the table of well-known
//! tokens, and from what tokens claim. Nothing is guessed: amounts of a token without any of them are
//! in raw units.

use crate::{
    ClaimedMetadata, CounterfeitToken, Error, Result,
    alike::Alike,
    claimed_metadata::{is_well_known, known, known_by_symbol, well_known},
    decimal::scaled,
    text::{printable_short, short_address},
};
use alloy_primitives::Address;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::Path,
};
use txgraph_base::KnownChain;
use txgraph_graph::{AmountSum, Asset};
use txgraph_transfers::TokenStandard;

/// A token of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Symbol, printable and of at most 24 characters; may be empty.
    pub symbol: String,
    /// Decimal places of an amount.
    pub decimals: u8,
}

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
const SYMBOL_CHARS: usize = 24;

/// Characters of the reason why a list is refused.
const REASON_CHARS: usize = 300;

#[derive(Deserialize)]
struct JsonList {
    tokens: Vec<JsonToken>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonToken {
    chain_id: u64,
    address: String,
    decimals: u8,
    symbol: String,
}

/// The result of a token contract, as `txgraph token --json` prints it by address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonNames {
    #[serde(rename = "name")]
    _name: Option<String>,
    symbol: Option<String>,
    decimals: Option<u8>,
}

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
    /// Reads a Uniswap token list (JSON), the output of `txgraph token --json`, or a CSV file with a header line of
    /// `address,symbol,decimals` and optionally `chain_id`, in any
    /// order; other columns are ignored. Without `chain_id` a token counts
    /// for every chain. Rows without decimals are left out. The output of `txgraph token` has the
    /// claims of the contracts themselves: any contract can claim any symbol.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::Io {
            path: path.into(),
            source,
        })?;
        let error = |reason: String| Error::TokenList {
            path: path.into(),
            // It may quote the list.
            reason: printable_short(&reason, REASON_CHARS),
        };
        let text = std::str::from_utf8(&bytes).map_err(|e| error(format!("not UTF-8: {e}")))?;
        Self::parse(text).map_err(error)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{FEFF}');
        if text.trim_start().starts_with(['{', '[']) {
            Self::parse_json(text)
        } else {
            Self::parse_csv(text)
        }
    }

    fn parse_json(text: &str) -> Result<Self, String> {
        if let Ok(names) = serde_json::from_str::<BTreeMap<Address, JsonNames>>(text)
            && !names.is_empty()
        {
            return Ok(Self::from_names(names));
        }
        let read: JsonList = serde_json::from_str(text)
            .map_err(|e| format!("not a token list (an object with an array `tokens`): {e}"))?;
        let mut list = Self::default();
        for (i, token) in read.tokens.into_iter().enumerate() {
            let JsonToken {
                chain_id,
                address,
                decimals,
                symbol,
            } = token;
            list.insert(&address, Some(chain_id), Token { symbol, decimals })
                .map_err(|reason| format!("token {}: {reason}", i + 1))?;
        }
        Ok(list)
    }

    fn from_names(names: BTreeMap<Address, JsonNames>) -> Self {
        let mut list = Self::default();
        for (
            address,
            JsonNames {
                symbol, decimals, ..
            },
        ) in names
        {
            list.claim(address, ClaimedMetadata { symbol, decimals });
        }
        list
    }

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
            self.insert(&address.to_string(), chain, token)?;
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

    fn parse_csv(text: &str) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|e| e.to_string())?.clone();
        let column = |names: &[&str]| {
            headers
                .iter()
                .position(|h| names.iter().any(|name| h.eq_ignore_ascii_case(name)))
        };
        let needed = |names: &[&str]| {
            column(names).ok_or_else(|| {
                format!(
                    "no column `{}`; the first line must have the column names",
                    names[0]
                )
            })
        };
        let address = needed(&["address", "token_address"])?;
        let symbol = needed(&["symbol"])?;
        let decimals = needed(&["decimals"])?;
        let chain = column(&["chain_id", "chainId"]);
        let mut list = Self::default();
        for row in reader.records() {
            let row = row.map_err(|e| e.to_string())?;
            let line = row.position().map_or(0, csv::Position::line);
            let at = |column: usize| row.get(column).unwrap_or_default();
            let fail = |reason: String| format!("line {line}: {reason}");
            if at(decimals).is_empty() {
                continue;
            }
            let token = Token {
                symbol: at(symbol).to_owned(),
                decimals: number(at(decimals), "decimals").map_err(fail)?,
            };
            let chain = match chain.map(at) {
                None | Some("") => None,
                Some(chain) => Some(number(chain, "chain_id").map_err(fail)?),
            };
            list.insert(at(address), chain, token).map_err(fail)?;
        }
        Ok(list)
    }

    /// Adds an entry. Refuses two that disagree about decimals, as it cannot know which one is right. Of
    /// two symbols, the first remains.
    fn insert(
        &mut self,
        address: &str,
        chain: Option<u64>,
        mut token: Token,
    ) -> Result<(), String> {
        let address = parse_address(address)?;
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

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.tokens.len() + self.claims.len()
    }

    /// Whether the list has no entries.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.claims.is_empty()
    }

    /// Returns the name of an asset: its symbol, or its shortened address. If another token looks the
    /// same, it has both.
    pub fn format_asset(&self, chain_id: u64, asset: &Asset) -> String {
        let Some(address) = asset.token_address else {
            return KnownChain::native_symbol_of(chain_id).to_owned();
        };
        match self.symbol(chain_id, address) {
            Some(symbol) if self.is_shared(address) => {
                format!("{symbol} ({})", short_address(address))
            }
            Some(symbol) => symbol.to_owned(),
            None => short_address(address),
        }
    }

    /// Returns the decimal places of [`Self::format_amount`].
    pub(crate) fn decimals(&self, chain_id: u64, asset: &Asset) -> u8 {
        match (asset.token_standard, asset.token_address) {
            (TokenStandard::Native, _) => NATIVE_DECIMALS,
            (TokenStandard::Erc20, Some(token)) => self
                .lookup(chain_id, token)
                .map_or(0, |token| token.decimals),
            _ => 0,
        }
    }

    /// Formats an exact amount for people: `1,234.5 USDC`. Amounts of tokens that are not
    /// listed are in raw units: `1,234,500,000 units of 0xA0b8…eB48`. Tokens of ERC-721 and
    /// ERC-1155 are counted: `3 items of PUNK`.
    pub fn format_amount(&self, chain_id: u64, asset: &Asset, amount: AmountSum) -> String {
        let limbs = amount.as_limbs();
        let name = self.format_asset(chain_id, asset);
        let known = asset
            .token_address
            .and_then(|address| self.lookup(chain_id, address));
        match (asset.token_standard, known) {
            (TokenStandard::Native, _) => format!("{} {name}", scaled(limbs, NATIVE_DECIMALS)),
            (TokenStandard::Erc20, Some(token)) => {
                format!("{} {name}", scaled(limbs, token.decimals))
            }
            (TokenStandard::Erc20, None) => {
                let units = if amount == AmountSum::from(1) {
                    "unit"
                } else {
                    "units"
                };
                format!("{} {units} of {name}", scaled(limbs, 0))
            }
            (TokenStandard::Erc721 | TokenStandard::Erc1155, _) => {
                let items = if amount == AmountSum::from(1) {
                    "item"
                } else {
                    "items"
                };
                format!("{} {items} of {name}", scaled(limbs, 0))
            }
        }
    }
}

/// Parses an address. Mixed case is a checksum (EIP-55), and must be correct.
fn parse_address(text: &str) -> Result<Address, String> {
    let address: Address = text
        .parse()
        .map_err(|e| format!("`{text}` is not an address: {e}"))?;
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mixed = digits.contains(|c: char| c.is_ascii_lowercase())
        && digits.contains(|c: char| c.is_ascii_uppercase());
    if mixed && address.to_checksum(None)[2..] != *digits {
        return Err(format!(
            "`{text}` has a wrong checksum (mixed case; see EIP-55)"
        ));
    }
    Ok(address)
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number for `{what}`"))
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

    fn json(entries: &str) -> Result<TokenList, String> {
        TokenList::parse(&format!(
            r#"{{"name":"x","logoURI":"y","tokens":[{entries}]}}"#
        ))
    }

    #[test]
    fn json_and_csv_lists_agree() {
        let token = Token {
            symbol: "USDC".into(),
            decimals: 6,
        };
        let list = json(
            r#"{"chainId":1,"address":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","name":"USD Coin","symbol":"USDC","decimals":6,"logoURI":""}"#,
        )
        .unwrap();
        assert_eq!(list.lookup(1, USDC), Some(&token));
        assert_eq!(list.lookup(5, USDC), None);
        let rows = "\u{FEFF}symbol,name,address,decimals,total_supply\n\
                    USDC,\"USD Coin\",0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48,6,9\n\
                    ???,,0x0000000000000000000000000000000000000001,,\n";
        let list = TokenList::parse(rows).unwrap();
        assert_eq!(list.lookup(10, USDC), Some(&token));
        assert_eq!(list.len(), 1);
        let rows = "chain_id,address,symbol,decimals\r\n\
                    10,0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48,OP,2\r\n\
                    ,0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48,ANY,3\r\n";
        let list = TokenList::parse(rows).unwrap();
        assert_eq!(list.lookup(10, USDC).unwrap().symbol, "OP");
        assert_eq!(list.lookup(1, USDC).unwrap().symbol, "ANY");
    }

    #[test]
    fn reads_the_claims_of_contracts() {
        let text = r#"{
            "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48":
                {"name": "USD Coin", "symbol": "USDC\u202e", "decimals": 6},
            "0x0000000000000000000000000000000000000001":
                {"name": null, "symbol": "RAW", "decimals": null},
            "0x0000000000000000000000000000000000000002":
                {"name": null, "symbol": null, "decimals": 3}
        }"#;
        let list = TokenList::parse(text).unwrap();
        let token = list.lookup(5, USDC).unwrap();
        assert_eq!((token.symbol.as_str(), token.decimals), ("USDC\u{FFFD}", 6));
        assert_eq!(list.len(), 3);
        let unnamed = address!("0000000000000000000000000000000000000002");
        assert_eq!(
            list.format_asset(5, &asset(Some(unnamed), TokenStandard::Erc20)),
            "0x0000…0002"
        );
        let raw = address!("0000000000000000000000000000000000000001");
        let raw = asset(Some(raw), TokenStandard::Erc20);
        assert_eq!(list.lookup(5, raw.token_address.unwrap()), None);
        assert_eq!(
            list.format_amount(5, &raw, AmountSum::from(7)),
            "7 units of RAW"
        );
    }

    #[test]
    fn lists_count_more_than_the_table_and_that_more_than_claims() {
        let [fake, own] = [7, 8].map(Address::repeat_byte);
        let claim = |symbol: &str| ClaimedMetadata {
            symbol: Some(symbol.to_owned()),
            decimals: Some(2),
        };
        let mut list = TokenList::default();
        list.claim(USDC, claim("LIE"));
        list.claim(fake, claim("USDС"));
        list.claim(own, claim("USDT"));
        let symbol = |list: &TokenList, address| list.lookup(1, address).unwrap().symbol.clone();
        assert_eq!(symbol(&list, USDC), "USDC");
        assert!(!list.is_claim(1, USDC) && list.is_claim(1, fake));
        let mine = TokenList::from_iter([(
            own,
            Token {
                symbol: "USDT".to_owned(),
                decimals: 2,
            },
        )]);
        list.merge(mine).unwrap();
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
        let other = TokenList::from_iter([(
            own,
            Token {
                symbol: "X".to_owned(),
                decimals: 3,
            },
        )]);
        assert!(list.merge(other).is_err());
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
            list.claim(
                token(number),
                ClaimedMetadata {
                    symbol: Some(symbol),
                    decimals: Some(6),
                },
            );
            marked.extend(list.mark_counterfeits(1));
        }
        let marked: Vec<_> = marked.iter().map(|it| it.address).collect();
        let expected = (0..10).map(|number| token(number * 10_000 + 7_777));
        assert_eq!(marked, expected.collect::<Vec<_>>());
    }

    #[test]
    fn tokens_with_one_symbol_are_never_alike() {
        let [first, second, other] = [7, 8, 9].map(Address::repeat_byte);
        let claim = |symbol: &str| ClaimedMetadata {
            symbol: Some(symbol.to_owned()),
            decimals: Some(0),
        };
        let mut list = TokenList::default();
        list.claim(first, claim("USD6"));
        list.claim(second, claim("UЅD6"));
        list.claim(other, claim("OZA"));
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
    fn errors_name_the_entry() {
        let entry = |address: &str, decimals: &str| {
            format!(r#"{{"chainId":1,"address":"{address}","symbol":"A","decimals":{decimals}}}"#)
        };
        let wrong_case = "0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
        let lower = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
        let cases = [
            (
                json(&entry("0x12", "6")),
                "token 1: `0x12` is not an address",
            ),
            (json(&entry(wrong_case, "6")), "wrong checksum"),
            (json(&entry(lower, "256")), "not a token list"),
            (
                json(&[entry(lower, "6"), entry(lower, "18")].join(",")),
                "token 2: 0xA0b8",
            ),
            (TokenList::parse("[1]"), "not a token list"),
            (TokenList::parse("{}"), "not a token list"),
            (TokenList::parse(""), "no column `address`"),
            (TokenList::parse("address,symbol\n"), "no column `decimals`"),
            (
                TokenList::parse("address,symbol,decimals\nx,y,1\n"),
                "line 2: `x` is not an address",
            ),
            (
                TokenList::parse("address,symbol,decimals\nx,y,-1\n"),
                "line 2: `-1` is not a number",
            ),
            (
                TokenList::parse("address,symbol,decimals\nx,y\n"),
                "found record with 2 fields",
            ),
        ];
        for (result, message) in cases {
            let error = result.unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(
            json(&[entry(lower, "6"), entry(lower, "6")].join(","))
                .unwrap()
                .len(),
            1
        );
    }

    /// A list from outside may hold anything.
    #[test]
    fn symbols_are_cleaned_once_and_bounded() {
        let long = format!("\u{1b}]0;x\u{7}{}", "y".repeat(10_000_000));
        let rows = format!("address,symbol,decimals\n{USDC},{long},6\n");
        let list = TokenList::parse(&rows).unwrap();
        let symbol = &list.lookup(1, USDC).unwrap().symbol;
        assert_eq!(symbol.chars().count(), SYMBOL_CHARS);
        assert!(symbol.starts_with("\u{FFFD}]0;x\u{FFFD}yyy"), "{symbol}");
        assert!(symbol.ends_with('…'));
    }

    #[test]
    fn messages_about_a_list_are_printable_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.csv");
        let hostile = format!("\u{1b}[31m\u{202e}{}", "z".repeat(1_000_000));
        for text in [
            format!("address,symbol,decimals\n{hostile},A,6\n"),
            format!("address,symbol,decimals\n{USDC},A,{hostile}\n"),
            format!(
                r#"{{"tokens":[{{"chainId":1,"address":"{}","symbol":"A","decimals":6}}]}}"#,
                hostile.replace('\u{1b}', "\\u001b")
            ),
            format!(r#"{{"tokens":"{}"}}"#, hostile.replace('\u{1b}', "\\u001b")),
        ] {
            fs::write(&path, text).unwrap();
            let Err(Error::TokenList { reason, .. }) = TokenList::load(&path) else {
                panic!("refused");
            };
            assert!(reason.chars().count() <= REASON_CHARS, "{}", reason.len());
            assert_eq!(crate::printable(&reason), reason);
        }
    }

    #[test]
    fn formats_amounts_with_symbols_and_units() {
        let list = json(
            r#"{"chainId":1,"address":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48","symbol":" US\u202eD\nC","decimals":6}"#,
        )
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
