//! Verifying a statement by the proofs that it contains, without a source.

use super::{
    proofs::BlockProof,
    proven_block::ProvenBlock,
    sums,
    to_file::{PROOFS, TABLES},
    verify::{Written, no_statement, rows},
};
use crate::{Error, ErrorKind, Result};
use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The number of rows that the proofs of a statement prove, and the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvenStatement {
    /// The number of rows that the proofs prove.
    pub proven: u64,
    /// The numbers of the other rows by kind. They rest on a replay or on the state.
    pub unproven: BTreeMap<String, u64>,
    /// The blocks with rows and the hashes of their headers, ascending. The proofs are about the
    /// chain that has these blocks.
    pub blocks: Vec<(u64, B256)>,
}

/// Verifies a statement that was written as JSON with proofs
/// ([`Statement::proofs`](super::Statement::proofs)): headers by their hashes, transactions, receipts
/// and withdrawals by the roots of the headers, rows by these, and balances by the rows.
///
/// # Errors
///
/// If the text is no statement or has no proofs. With [`ErrorKind::Failed`], what is wrong first: a
/// proof, a row or a sum.
pub fn verify_proofs(text: &[u8]) -> Result<ProvenStatement> {
    let Written { metadata, fields } = Written::parse(text)?;
    let proofs = match fields.get(PROOFS) {
        Some(proofs) => Vec::<BlockProof>::deserialize(proofs).map_err(no_statement)?,
        None => return Err(Error::usage("the statement has no proofs")),
    };
    let Some(chain_id) = metadata.chain.get("chain_id").and_then(Value::as_u64) else {
        return Err(Error::usage("the statement does not state its chain"));
    };
    let [movements, balances] = TABLES.map(|table| rows(&fields, table));
    let account = metadata.question.address;
    let verify = || {
        if fields.get("address") != Some(&json!(account)) {
            return Err("`address` is not that in the metadata".to_owned());
        }
        let found = verify_rows(account, chain_id, &proofs, movements)?;
        sums::verify(movements, balances)?;
        Ok(found)
    };
    verify().map_err(|what| Error::new(ErrorKind::Failed, what))
}

fn verify_rows(
    account: Address,
    chain_id: u64,
    proofs: &[BlockProof],
    movements: &[Value],
) -> Result<ProvenStatement, String> {
    let mut found = ProvenStatement::default();
    let mut blocks = BTreeMap::new();
    for proof in proofs {
        let number = proof.block_number;
        let block = ProvenBlock::verify(proof, account, chain_id);
        let block = block.map_err(|what| format!("the proofs of block {number}: {what}"))?;
        if blocks.insert(number, block).is_some() {
            return Err(format!("there are two proofs of block {number}"));
        }
    }
    found.blocks = (blocks.iter())
        .map(|(number, block)| (*number, block.hash))
        .collect();
    for (row, number) in movements.iter().zip(1..) {
        let block = row["block_number"].as_u64();
        let is_proven = match block.and_then(|block| blocks.get_mut(&block)) {
            Some(block) => block.verify_row(row),
            None => Err("there is no proof of its block".to_owned()),
        };
        match is_proven.map_err(|what| format!("row {number} of `{}`: {what}", TABLES[0]))? {
            true => found.proven += 1,
            false => {
                let kind = row["kind"].as_str().unwrap_or_default().to_owned();
                *found.unproven.entry(kind).or_default() += 1;
            }
        }
    }
    match blocks
        .iter()
        .find_map(|(number, block)| Some((number, block.missing()?)))
    {
        None => Ok(found),
        Some((number, row)) => Err(format!(
            "`{}` lacks a row that the proofs of block {number} have: {row}",
            TABLES[0]
        )),
    }
}
