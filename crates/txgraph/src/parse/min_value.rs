//! Smallest amounts: in the smallest unit of any token, or in the unit of each token.
//!
//! | text | meaning |
//! | --- | --- |
//! | `1000000`, `1e18` | whole numbers: the smallest unit, of every token |
//! | `1.5`, `500.0` | with a point: in the unit of each token of the query, by its decimals |
//! | `USDC=100,WETH=0.1` | by token: symbols of the token list, of well-known tokens, or that a token of the query claims; addresses, `eth` or `native` |
//! | `100 USDC` | the same for one token |
//!
//! Tokens that are not named in the third form have no smallest amount.

use super::lists::for_each;
use crate::{
    BlockSpec, Error, Hint, Result, Selection, Source,
    grammar::{Checksum, parse_address, parse_amount, shortened},
};
use alloy_primitives::{Address, U256};
use txgraph_export::TokenList;
use txgraph_transfers::{AmountFilter, TokenFilter};

/// Decimal places of the native coin.
const NATIVE_DECIMALS: u8 = 18;

/// Smallest amounts by token; `None`: the native coin.
type Least = Vec<(Option<Address>, U256)>;

/// A smallest amount as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MinValue<'a> {
    /// In the smallest unit, for every token.
    Raw(U256),
    /// In the unit of each token of the query.
    Each(&'a str),
    /// In the unit of some tokens: token and amount.
    By(Vec<(&'a str, &'a str)>),
}

fn read(text: &str) -> Result<MinValue<'_>, String> {
    let text = text.trim();
    let has_unit = text.contains('=') || text.split_whitespace().nth(1).is_some();
    if !has_unit {
        // With a point it is never in the smallest unit, not even `500.0`.
        if text.contains('.') && is_decimal(text) {
            return Ok(MinValue::Each(text));
        }
        return match parse_amount(text) {
            Ok(raw) => Ok(MinValue::Raw(raw)),
            Err(error) => Err(format!(
                "{error}; or write it in units of tokens: 1.5, USDC=100"
            )),
        };
    }
    let mut pairs = Vec::new();
    for part in text.split(',').map(str::trim) {
        let wrong = || format!("`{}` is not TOKEN=AMOUNT, e.g. USDC=100", shortened(part));
        let (token, amount) = match part.split_once('=') {
            Some((token, amount)) => (token.trim(), amount.trim()),
            None => match part.split_once(char::is_whitespace) {
                Some((amount, token)) => (token.trim(), amount),
                None => return Err(wrong()),
            },
        };
        if token.is_empty() || !is_decimal(amount) {
            return Err(wrong());
        }
        pairs.push((token, amount));
    }
    Ok(MinValue::By(pairs))
}

/// Whether a text is digits with `_`, and maybe one point between them.
fn is_decimal(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    is_number(whole) && is_number(decimals)
}

/// Checks the form of a smallest amount.
pub fn check_min_value(text: &str) -> Result<(), String> {
    read(text).map(drop)
}

/// Reads the id of a token: decimal, or hexadecimal with `0x`.
pub fn parse_token_id(text: &str) -> Result<U256, String> {
    let text = text.trim();
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let wrong = || format!("`{}` is not a token id (7, or 0x07)", shortened(text));
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain {
        U256::from_str_radix(digits, radix).map_err(|_| wrong())
    } else {
        Err(wrong())
    }
}

/// An amount of a token with these decimals, exactly.
fn scaled(amount: &str, decimals: u8, token: &str) -> Result<U256> {
    let plain = amount.replace('_', "");
    let given = plain.split_once('.').map_or("", |(_, given)| given);
    let given = given.trim_end_matches('0');
    if given.len() > usize::from(decimals) {
        return Err(Error::usage(format!(
            "{amount} has {} decimals, but {token} has {decimals}",
            given.len()
        )));
    }
    parse_amount(&format!("{plain}e{decimals}")).map_err(Error::usage)
}

/// The tokens that a query can name, and their decimals.
pub(super) struct Units<'a> {
    source: &'a Source,
    list: Option<&'a TokenList>,
    checksum: Checksum,
    /// The blocks of the query: tokens are asked in the state after them.
    blocks: &'a [BlockSpec],
    /// The tokens of the query, which can be named by what they claim.
    named: Vec<Address>,
}

impl<'a> Units<'a> {
    pub(super) fn new(
        source: &'a Source,
        list: Option<&'a TokenList>,
        checksum: Checksum,
        blocks: &'a [BlockSpec],
        tokens: &TokenFilter,
    ) -> Self {
        let mut named = match tokens {
            TokenFilter::All => Vec::new(),
            TokenFilter::Only { tokens, .. } => tokens.iter().copied().collect(),
        };
        // The set has no order.
        named.sort_unstable();
        Self {
            source,
            list,
            checksum,
            blocks,
            named,
        }
    }

    /// The list with what a token claims.
    fn with_claims(&self, tokens: &[Address]) -> Result<TokenList> {
        let mut list = self.list.cloned().unwrap_or_default();
        let selection = Selection {
            blocks: self.blocks.to_vec(),
            ..Selection::default()
        };
        let blocks = selection.resolve(self.source)?.blocks;
        (self.source).name_tokens(&mut list, tokens.iter().copied(), &blocks)?;
        Ok(list)
    }

    /// Reads a smallest amount of a query about `tokens`.
    pub(super) fn min_value(&self, text: &str, tokens: &TokenFilter) -> Result<(U256, Least)> {
        match read(text).map_err(Error::usage)? {
            MinValue::Raw(raw) => Ok((raw, Vec::new())),
            MinValue::Each(amount) => Ok((U256::ZERO, self.of_each(amount, tokens)?)),
            MinValue::By(pairs) => {
                let mut least = Least::new();
                for (name, amount) in pairs {
                    let token = self.token(name)?;
                    let useless = if !tokens.matches(token.as_ref()) {
                        Some("not a token of the query, so its smallest amount has no effect")
                    } else if least.iter().any(|(known, _)| *known == token) {
                        Some("named twice")
                    } else {
                        None
                    };
                    if let Some(why) = useless {
                        return Err(Error::usage(format!("{} is {why}", shortened(name))));
                    }
                    let Some(decimals) = self.decimals(token)? else {
                        return Err(no_decimals(&[name.to_owned()]));
                    };
                    least.push((token, scaled(amount, decimals, name)?));
                }
                Ok((U256::ZERO, least))
            }
        }
    }

    fn of_each(&self, amount: &str, tokens: &TokenFilter) -> Result<Least> {
        let TokenFilter::Only { tokens, native } = tokens else {
            return Err(Error::usage(format!(
                "{amount} is in the unit of a token, but no token is named"
            ))
            .hint("name tokens, or write the amount by token: USDC=1.5"));
        };
        let mut tokens: Vec<_> = tokens.iter().copied().map(Some).collect();
        tokens.sort_unstable();
        tokens.extend(native.then_some(None));
        let (mut least, mut unknown) = (Vec::new(), Vec::new());
        for token in tokens {
            let name = token.map_or("the native coin".to_owned(), |token| token.to_string());
            match self.decimals(token)? {
                Some(decimals) => least.push((token, scaled(amount, decimals, &name)?)),
                None => unknown.push(name),
            }
        }
        if unknown.is_empty() {
            Ok(least)
        } else {
            Err(no_decimals(&unknown))
        }
    }

    /// Replaces the symbols in a list of tokens by addresses. Everything else stays: words,
    /// `@FILE`, addresses, and what is to be an address.
    pub(super) fn addresses(&self, written: &[String]) -> Result<Vec<String>> {
        let texts = written.iter().flat_map(|text| text.split(','));
        let read = |text: &str| match text.trim() {
            symbol if is_symbol(symbol) => {
                let token = self.token(symbol)?;
                Ok(token.map_or("native".to_owned(), |token| token.to_string()))
            }
            other => Ok(other.to_owned()),
        };
        texts.map(read).collect()
    }

    /// The token with a name: an address, a symbol of the list, or a word for the native coin.
    fn token(&self, name: &str) -> Result<Option<Address>> {
        if ["eth", "native"].contains(&name.to_ascii_lowercase().as_str()) {
            return Ok(None);
        }
        if name.starts_with("0x") {
            return Ok(Some(parse_address(name, self.checksum)?));
        }
        let name = &*shortened(name);
        let chain_id = self.source.chain()?.chain_id;
        let list = self.list.cloned().unwrap_or_default();
        let mut found = list.with_symbol(chain_id, name);
        if found.is_empty() && !self.named.is_empty() {
            let claims = self.with_claims(&self.named)?;
            found.extend(self.named.iter().copied().filter(|token| {
                let symbol = claims.symbol(chain_id, *token);
                symbol.is_some_and(|symbol| symbol.eq_ignore_ascii_case(name))
            }));
            found.sort_unstable();
        }
        match found[..] {
            [token] => Ok(Some(token)),
            [] => Err(Error::usage(format!(
                "no token is known by the symbol {name}; symbols that only tokens claim are not looked up"
            ))
            .with_hint(Hint::NameTokenList)),
            ref several => {
                let addresses: Vec<_> = several.iter().map(ToString::to_string).collect();
                Err(Error::usage(format!(
                    "{} tokens have the symbol {name}: {}",
                    several.len(),
                    addresses.join(", ")
                ))
                .hint("name the token by its address"))
            }
        }
    }

    /// The decimals of a token, if they are known.
    fn decimals(&self, token: Option<Address>) -> Result<Option<u8>> {
        let Some(token) = token else {
            return Ok(Some(NATIVE_DECIMALS));
        };
        let chain_id = self.source.chain()?.chain_id;
        let decimals = |list: &TokenList| Some(list.lookup(chain_id, token)?.decimals);
        match self.list.and_then(decimals) {
            Some(known) => Ok(Some(known)),
            None => Ok(decimals(&self.with_claims(&[token])?)),
        }
    }
}

/// Reads tokens, in order: addresses, symbols of a list or of well-known tokens, and `eth` or
/// `native` for the native coin (`None`).
pub fn assets(
    written: &[String],
    source: &Source,
    list: Option<&TokenList>,
) -> Result<Vec<Option<Address>>> {
    let units = Units::new(source, list, Checksum::Verify, &[], &TokenFilter::All);
    let mut assets = Vec::new();
    for_each(written, |text| {
        assets.push(units.token(text)?);
        Ok(())
    })?;
    Ok(assets)
}

/// Whether a text names a token by its symbol.
pub(super) fn is_symbol(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    let is_hex = text.len() > 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_word = ["", "all", "eth", "native"].contains(&word.as_str());
    let is_other = text.starts_with('@') || word.starts_with("0x") || word.ends_with(".eth");
    !(is_word || is_hex || is_other)
}

fn no_decimals(tokens: &[String]) -> Error {
    Error::usage(format!(
        "the decimals of {} are not known",
        tokens.join(", ")
    ))
    .hint("add the tokens to the token list, or write the amount in the smallest unit")
}

/// Conditions on amounts and ids.
pub(super) fn amounts(least: Least, ids: &[String]) -> Result<AmountFilter> {
    let ids = ids.iter().flat_map(|text| text.split(','));
    let ids = ids.map(|id| parse_token_id(id).map_err(Error::usage));
    Ok(AmountFilter::new(least, ids.collect::<Result<Vec<_>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_raw() {
        for (text, expected) in [
            ("1000", MinValue::Raw(U256::from(1000))),
            ("2.5e1", MinValue::Raw(U256::from(25))),
            ("1.0", MinValue::Each("1.0")),
            ("1.5", MinValue::Each("1.5")),
            ("USDC=100", MinValue::By(vec![("USDC", "100")])),
            ("100 USDC", MinValue::By(vec![("USDC", "100")])),
            (
                "USDC=1_00, eth = 0.1",
                MinValue::By(vec![("USDC", "1_00"), ("eth", "0.1")]),
            ),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        let too_large = format!("{}0", U256::MAX);
        for text in [
            "", "x", "1.5.5", "USDC=", "=5", "USDC=1e", "-1", ".5", "5,6", "a=1,b", &too_large,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn units_are_exact() {
        let raw = |amount, decimals| scaled(amount, decimals, "T").map(|raw| raw.to_string());
        assert_eq!(raw("1.5", 6).unwrap(), "1500000");
        assert_eq!(raw("1_000.50", 1).unwrap(), "10005");
        assert_eq!(raw("100", 0).unwrap(), "100");
        let error = raw("1.55", 1).unwrap_err();
        assert_eq!(error.message, "1.55 has 2 decimals, but T has 1");
        assert!(raw("1", 200).is_err());
    }

    #[test]
    fn ids_are_decimal_or_hexadecimal() {
        assert_eq!(parse_token_id("17"), Ok(U256::from(17)));
        assert_eq!(parse_token_id("0x11"), Ok(U256::from(17)));
        assert_eq!(parse_token_id(&format!("{:#x}", U256::MAX)), Ok(U256::MAX));
        for text in [
            "",
            "0x",
            "1_0",
            "-1",
            "x",
            "1.5",
            &format!("{}0", U256::MAX),
        ] {
            assert!(parse_token_id(text).is_err(), "{text}");
        }
    }
}
