//! Metadata of tokens: name, symbol and decimals as the contracts return them.

use crate::{
    BlockSource, Replayer, Result, StateHistory,
    balance_check::{balance, balance_call},
    revert_reason::string,
};
use alloy_primitives::{Address, Bytes, U256};
use txgraph_evm::{Message, Outcome};

/// `name()`
const NAME: [u8; 4] = [0x06, 0xfd, 0xde, 0x03];
/// `symbol()`
const SYMBOL: [u8; 4] = [0x95, 0xd8, 0x9b, 0x41];
/// `decimals()`
const DECIMALS: [u8; 4] = [0x31, 0x3c, 0xe5, 0x67];

/// The gas of a [`query`]: twenty times what regular tokens need.
const GAS: u64 = 1_000_000;

/// A call that asks a contract, and changes nothing.
pub fn query(contract: Address, input: impl Into<Bytes>) -> Message {
    Message {
        to: Some(contract),
        input: input.into(),
        gas_limit: GAS,
        is_static: true,
        ..Message::default()
    }
}
/// The most characters of a name or symbol; longer texts are truncated.
const TEXT_MAX: usize = 64;

/// The metadata of a token. Fields that the contract does not return, or not in a known
/// encoding, are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenMetadata {
    /// The result of `name()`, sanitized.
    pub name: Option<String>,
    /// The result of `symbol()`, sanitized.
    pub symbol: Option<String>,
    /// The result of `decimals()`.
    pub decimals: Option<u8>,
}

impl<H: StateHistory, B: BlockSource> Replayer<'_, H, B> {
    /// Calls contracts for name, symbol and decimals on the state at the end of `block`. Decodes
    /// strings and the `bytes32` of older tokens. Removes control characters and invisible
    /// characters, which could deceive in a terminal or a drawing.
    pub fn token_metadata(&self, tokens: &[Address], block: u64) -> Result<Vec<TokenMetadata>> {
        let mut calls = self.calls(block)?;
        let mut query =
            |token: Address, selector: [u8; 4]| calls.call(&query(token, selector), None);
        let mut metadata = Vec::with_capacity(tokens.len());
        for token in tokens {
            metadata.push(TokenMetadata {
                name: text(&query(*token, NAME)?),
                symbol: text(&query(*token, SYMBOL)?),
                decimals: decimals(&query(*token, DECIMALS)?),
            });
        }
        Ok(metadata)
    }

    /// Calls `balanceOf` of tokens for their holders, of ERC-1155 with an id, on the state at the end of
    /// `block`. `None` for a token that does not answer; zero for one that is not there yet.
    pub fn token_balances(
        &self,
        wanted: impl IntoIterator<Item = (Address, Address, Option<U256>)>,
        block: u64,
    ) -> Result<Vec<Option<U256>>> {
        let mut calls = self.calls(block)?;
        let mut ask = |(token, holder, id): (Address, Address, Option<U256>)| {
            let outcome = calls.call(&balance_call(token, holder, id), None)?;
            let is_silent = outcome.is_success() && outcome.output.is_empty();
            Ok(match is_silent && calls.is_unused(token)? {
                true => Some(U256::ZERO),
                false => balance(Some(outcome)),
            })
        };
        wanted.into_iter().map(&mut ask).collect()
    }

    /// Makes calls that change nothing on the state at the end of `block`.
    pub fn static_calls(
        &self,
        messages: impl IntoIterator<Item = Message>,
        block: u64,
    ) -> Result<Vec<Outcome>> {
        let mut calls = self.calls(block)?;
        let ask = |message: Message| {
            let message = Message {
                is_static: true,
                ..message
            };
            calls.call(&message, None)
        };
        messages.into_iter().map(ask).collect()
    }
}

fn text(outcome: &Outcome) -> Option<String> {
    if !outcome.is_success() {
        return None;
    }
    let output = &outcome.output;
    let text = match <&[u8; 32]>::try_from(&output[..]) {
        Ok(word) => {
            let len = word.iter().position(|byte| *byte == 0).unwrap_or(32);
            let (text, rest) = word.split_at(len);
            // Bytes other than zero after the first zero: this is not a text.
            let is_text = rest.iter().all(|byte| *byte == 0);
            std::str::from_utf8(text).ok().filter(|_| is_text)?
        }
        Err(_) => string(output)?,
    };
    sanitized(text)
}

fn decimals(outcome: &Outcome) -> Option<u8> {
    let word: &[u8; 32] = outcome.output.first_chunk()?;
    let decimals = U256::from_be_bytes(*word);
    decimals.try_into().ok().filter(|_| outcome.is_success())
}

/// Removes characters that are invisible or change how others are displayed.
fn sanitized(text: &str) -> Option<String> {
    let is_visible = |c: &char| {
        !c.is_control()
            && !matches!(
                c,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                    | '\u{e0000}'..='\u{e0fff}'
            )
    };
    let visible: String = text.chars().filter(is_visible).collect();
    let trimmed: String = visible.trim().chars().take(TEXT_MAX).collect();
    (!trimmed.is_empty()).then_some(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;
    use txgraph_evm::{BlockGas, Status};

    fn answer(output: Vec<u8>) -> Outcome {
        Outcome {
            status: Status::Success,
            gas_used: 0,
            block_gas: BlockGas::default(),
            gas_refunded: 0,
            logs: Vec::new(),
            output: output.into(),
            created: None,
        }
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut data = U256::from(32).to_be_bytes_vec();
        data.extend(U256::from(text.len()).to_be_bytes::<32>());
        data.extend(text);
        data.resize(data.len().next_multiple_of(32), 0);
        data
    }

    fn decoded(output: Vec<u8>) -> Option<String> {
        text(&answer(output))
    }

    #[test]
    fn selectors_are_right() {
        for (selector, signature) in [
            (NAME, "name()"),
            (SYMBOL, "symbol()"),
            (DECIMALS, "decimals()"),
        ] {
            assert_eq!(selector, keccak256(signature)[..4]);
        }
    }

    #[test]
    fn decodes_strings_and_bytes32() {
        assert_eq!(decoded(encoded(b"USD Coin")).as_deref(), Some("USD Coin"));
        let mut word = [0; 32];
        word[..3].copy_from_slice(b"MKR");
        assert_eq!(decoded(word.to_vec()).as_deref(), Some("MKR"));
        word[9] = b'x';
        assert_eq!(decoded(word.to_vec()), None, "text after its end");
        assert_eq!(decoded(vec![0; 32]), None);
        assert_eq!(decoded(Vec::new()), None);
        assert_eq!(decoded(encoded(b"")), None);
        assert_eq!(decoded(encoded(&[0xff, 0xfe])), None, "not UTF-8");
        let mut far = encoded(b"x");
        far[0] = 1;
        assert_eq!(decoded(far), None);
    }

    #[test]
    fn removes_deceptive_characters() {
        assert_eq!(
            decoded(encoded("US\u{202e}D\u{200b}\n\x1b[31m".as_bytes())).as_deref(),
            Some("USD[31m")
        );
        assert_eq!(decoded(encoded("\u{2066} \u{feff}".as_bytes())), None);
        assert_eq!(decoded(encoded(&[b'a'; 1000])).unwrap().len(), TEXT_MAX);
        assert_eq!(
            decoded(encoded("Ξ 日本".as_bytes())).as_deref(),
            Some("Ξ 日本")
        );
    }

    #[test]
    fn decimals_are_a_byte() {
        let word = |n: u64| answer(U256::from(n).to_be_bytes_vec());
        assert_eq!(decimals(&word(18)), Some(18));
        assert_eq!(decimals(&word(255)), Some(255));
        assert_eq!(decimals(&word(256)), None);
        assert_eq!(decimals(&answer(vec![18])), None);
        let mut reverted = word(18);
        reverted.status = Status::Revert;
        assert_eq!(decimals(&reverted), None);
    }
}
