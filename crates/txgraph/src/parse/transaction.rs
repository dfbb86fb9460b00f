//! Names of transactions.

use crate::{Error, Result, TransactionName, grammar::shortened};
use alloy_primitives::B256;

/// Reads a transaction hash, or `BLOCK:INDEX`.
pub fn parse_transaction(text: &str) -> Result<TransactionName> {
    let wrong = || {
        Error::usage(format!(
            "`{}` is not a transaction: give its hash, or BLOCK:INDEX",
            shortened(text)
        ))
    };
    if let Some((block, index)) = text.split_once(':') {
        let position = block.replace('_', "").parse().ok().zip(index.parse().ok());
        let (block, index) = position.ok_or_else(wrong)?;
        return Ok(TransactionName::Position { block, index });
    }
    let is_block = text.len() < 64 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_block && !text.is_empty() {
        return Err(Error::usage(format!(
            "{text} is a block, not a transaction: {text}:0 is the first one in it"
        )));
    }
    let hash: B256 = text.parse().map_err(|_| wrong())?;
    Ok(TransactionName::Hash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hashes_and_positions() {
        let position = parse_transaction("1_000:3").unwrap();
        assert_eq!(
            position,
            TransactionName::Position {
                block: 1000,
                index: 3
            }
        );
        let hash = B256::repeat_byte(7);
        assert_eq!(
            parse_transaction(&hash.to_string()).unwrap(),
            TransactionName::Hash(hash)
        );
        for text in ["", "0x1234", "1:", ":1", "1:2:3", "-1:0"] {
            assert!(parse_transaction(text).is_err(), "{text}");
        }
    }
}
