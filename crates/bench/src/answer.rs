//! The answer of a run in a form that is easy to compare: the number of transfers, and a
//! checksum that does not depend on their order.

use alloy_primitives::{Address, U256, keccak256};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt;

/// Number and checksum of the edges of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Answer {
    /// The number of transfers.
    pub(crate) edges: u64,
    /// Wrapping sum over the transfers of the first 8 bytes of
    /// keccak(block, transaction index, log index, from, to, value).
    pub(crate) checksum: u64,
}

impl Answer {
    /// Adds one transfer.
    pub(crate) fn add(
        &mut self,
        block: u64,
        tx: u32,
        log: u32,
        from: Address,
        to: Address,
        value: U256,
    ) {
        let mut row = [0u8; 8 + 4 + 4 + 20 + 20 + 32];
        row[..8].copy_from_slice(&block.to_be_bytes());
        row[8..12].copy_from_slice(&tx.to_be_bytes());
        row[12..16].copy_from_slice(&log.to_be_bytes());
        row[16..36].copy_from_slice(from.as_slice());
        row[36..56].copy_from_slice(to.as_slice());
        row[56..].copy_from_slice(&value.to_be_bytes::<32>());
        let digest = keccak256(row);
        let head = digest.first_chunk::<8>().expect("a digest has 32 bytes");
        self.edges += 1;
        self.checksum = self.checksum.wrapping_add(u64::from_be_bytes(*head));
    }

    /// Computes the answer from the CSV of `txgraph graph`, whose fields contain neither
    /// commas nor quotes.
    pub(crate) fn from_csv(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let header: Vec<_> = lines.next().context("empty output")?.split(',').collect();
        let column = |name: &str| {
            header
                .iter()
                .position(|title| *title == name)
                .with_context(|| format!("no column `{name}` in the output"))
        };
        let (block, tx, log) = (
            column("block_number")?,
            column("transaction_index")?,
            column("log_index")?,
        );
        let (from, to, value) = (
            column("from_address")?,
            column("to_address")?,
            column("value")?,
        );
        let mut answer = Self::default();
        for (number, line) in lines.enumerate() {
            let fields: Vec<_> = line.split(',').collect();
            ensure!(
                fields.len() == header.len(),
                "row {}: wrong number of fields",
                number + 1
            );
            answer.add(
                fields[block].parse()?,
                fields[tx].parse()?,
                fields[log].parse()?,
                fields[from].parse()?,
                fields[to].parse()?,
                fields[value].parse()?,
            );
        }
        Ok(answer)
    }

    /// Parses the output of [`fmt::Display`].
    pub(crate) fn from_line(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let mut next = |name: &str| {
            words
                .next()
                .and_then(|word| word.strip_prefix(name))
                .and_then(|word| word.strip_prefix('='))
                .with_context(|| format!("no `{name}=` in `{}`", text.trim()))
        };
        Ok(Self {
            edges: next("edges")?.parse()?,
            checksum: next("checksum")?.parse()?,
        })
    }
}

impl TryFrom<String> for Answer {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        Self::from_line(&text)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edges={} checksum={}", self.edges, self.checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_rows_agree() {
        let (from, to) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let mut direct = Answer::default();
        direct.add(5, 1, 7, from, to, U256::MAX);
        let csv = format!(
            "block_number,transaction_index,log_index,from_address,to_address,value,hop\n\
             5,1,7,{from:#x},{to:#x},{},1\n",
            U256::MAX
        );
        assert_eq!(Answer::from_csv(&csv).unwrap(), direct);
        assert_eq!(Answer::from_line(&direct.to_string()).unwrap(), direct);
        assert!(Answer::from_csv("a,b\n1,2\n").is_err());
    }
}
