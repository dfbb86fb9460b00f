//! Token lists as text: JSON and CSV.

use crate::{
    ClaimedMetadata, Token, TokenList,
    csv_file::{CsvFile, shown},
};
use alloy_primitives::Address;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Display};

#[derive(Deserialize)]
struct JsonList {
    tokens: Vec<JsonToken>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonToken {
    chain_id: u64,
    address: String,
    decimals: Value,
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

impl TokenList {
    /// Reads a Uniswap token list (JSON), the output of `txgraph token --json`, or CSV with a
    /// header line of `address,symbol,decimals` and optionally `chain_id`, in any order; other columns
    /// are ignored. Without `chain_id` a token counts for every chain. Rows without decimals are left
    /// out. The output of `txgraph token` has the claims of the contracts themselves: any contract can
    /// claim any symbol.
    ///
    /// # Errors
    ///
    /// The reason why the text is refused, with its entry or line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let list = if text.trim_start().starts_with(['{', '[']) {
            Self::parse_json(text)
        } else {
            Self::parse_csv(text)
        };
        list.map_err(|reason| shown(&reason))
    }

    fn parse_json(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        if let Ok(names) = serde_json::from_str::<BTreeMap<Address, JsonNames>>(text)
            && !names.is_empty()
        {
            for (address, names) in names {
                let (symbol, decimals) = (names.symbol, names.decimals);
                list.claim(address, ClaimedMetadata { symbol, decimals });
            }
            return Ok(list);
        }
        let wrong = |reason: &dyn Display| {
            format!("not a token list (an object with an array `tokens`): {reason}")
        };
        if text.trim_start().starts_with('[') {
            return Err(wrong(&"it is an array"));
        }
        let read: JsonList = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        for (i, token) in read.tokens.into_iter().enumerate() {
            let decimals = token.decimals.as_u64().and_then(|it| u8::try_from(it).ok());
            let decimals = decimals.ok_or_else(|| wrong_decimals(&token.decimals));
            let (symbol, chain) = (token.symbol, Some(token.chain_id));
            parse_address(&token.address)
                .and_then(|address| {
                    let decimals = decimals?;
                    list.insert(address, chain, Token { symbol, decimals })
                })
                .map_err(|reason| format!("token {}: {reason}", i + 1))?;
        }
        Ok(list)
    }

    fn parse_csv(text: &str) -> Result<Self, String> {
        let file = CsvFile::new(text, None)?;
        let needed = |names: &[&str]| file.needed(names, "have the column names");
        let address = needed(&["address", "token_address"])?;
        let symbol = needed(&["symbol"])?;
        let decimals = needed(&["decimals"])?;
        let chain = file.column(&["chain_id", "chainId"]);
        let mut list = Self::default();
        file.each_row(|row| {
            if row[decimals].is_empty() {
                return Ok(());
            }
            let token = Token {
                symbol: row[symbol].to_owned(),
                decimals: (row[decimals].parse::<u8>())
                    .map_err(|_| wrong_decimals(&&row[decimals]))?,
            };
            let chain = chain.map(|chain| &row[chain]).filter(|id| !id.is_empty());
            let number = |id: &str| {
                let wrong = |_| format!("`{id}` is not a number for `chain_id`");
                id.parse::<u64>().map_err(wrong)
            };
            let chain = chain.map(number).transpose()?;
            list.insert(parse_address(&row[address])?, chain, token)
        })?;
        Ok(list)
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

fn wrong_decimals(found: &dyn Display) -> String {
    format!("the decimals are a number from 0 to 255, not `{found}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{csv_file::REASON_CHARS, tokens::SYMBOL_CHARS};
    use alloy_primitives::address;
    use txgraph_graph::{AmountSum, Asset};
    use txgraph_transfers::TokenStandard;

    const USDC: Address = address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");

    fn erc20(token: Address) -> Asset {
        Asset {
            token_address: Some(token),
            token_standard: TokenStandard::Erc20,
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
        let rows = "symbol,name,address,decimals,total_supply\n\
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
        assert_eq!(list.format_asset(5, &erc20(unnamed)), "0x0000…0002");
        let raw = address!("0000000000000000000000000000000000000001");
        let raw = erc20(raw);
        assert_eq!(list.lookup(5, raw.token_address.unwrap()), None);
        assert_eq!(
            list.format_amount(5, &raw, AmountSum::from(7)),
            "7 units of RAW"
        );
    }

    #[test]
    fn errors_name_the_entry() {
        let entry = |address: &str, decimals: &str| {
            format!(r#"{{"chainId":1,"address":"{address}","symbol":"A","decimals":{decimals}}}"#)
        };
        let wrong_case = "0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
        let other = "0x0000000000000000000000000000000000000001";
        let lower = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
        let cases = [
            (
                json(&entry("0x12", "6")),
                "token 1: `0x12` is not an address",
            ),
            (json(&entry(wrong_case, "6")), "wrong checksum"),
            (
                json(&[entry(other, "6"), entry(lower, "256")].join(",")),
                "token 2: the decimals are a number from 0 to 255, not `256`",
            ),
            (
                json(&[entry(lower, "6"), entry(lower, "18")].join(",")),
                "token 2: 0xA0b8",
            ),
            (
                TokenList::parse(&format!("[{}]", entry(lower, "6"))),
                "not a token list (an object with an array `tokens`): it is an array",
            ),
            (TokenList::parse("{}"), "not a token list"),
            (TokenList::parse(""), "no column `address`"),
            (TokenList::parse("address,symbol\n"), "no column `decimals`"),
            (
                TokenList::parse("address,symbol,decimals\nx,y,1\n"),
                "line 2: `x` is not an address",
            ),
            (
                TokenList::parse("address,symbol,decimals\nx,y,-1\n"),
                "line 2: the decimals are a number from 0 to 255, not `-1`",
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
            let reason = TokenList::parse(&text).unwrap_err();
            assert!(reason.chars().count() <= REASON_CHARS, "{}", reason.len());
            assert_eq!(crate::printable(&reason), reason);
        }
    }
}
