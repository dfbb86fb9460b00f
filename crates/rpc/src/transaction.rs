//! Single transactions, by hash or place.

use crate::{
    client::Call,
    error::{Place, Result},
    fees::BLOBS,
    node::{RECEIPT, RpcNode},
    wire::{Receipt, Transaction},
};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Deserialize;
use serde_json::json;
use txgraph_base::ChainFamily;

const TRANSACTION: &str = "eth_getTransactionByHash";

/// A transaction of a block, with its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTransaction {
    /// Its hash.
    pub hash: B256,
    /// The number of its block.
    pub block: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// Its index in the block.
    pub index: u32,
    /// Who signed it.
    pub from: Address,
    /// The account that was called; `None`: a contract was created.
    pub to: Option<Address>,
    /// The contract that was created.
    pub created: Option<Address>,
    /// The sender's nonce.
    pub nonce: u64,
    /// The value in wei.
    pub value: U256,
    /// Calldata or init code.
    pub input: Bytes,
    /// Whether it succeeded. `None` before Byzantium, where receipts do not contain it.
    pub success: Option<bool>,
    /// The gas used.
    pub gas_used: u64,
    /// The fee in wei, including blobs. `None` if the receipt does not show it, and on the OP
    /// stack.
    pub fee: Option<U256>,
}

/// The answer of [`TRANSACTION`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    #[serde(flatten)]
    transaction: Transaction,
    input: Bytes,
    /// Absent while it is in no block.
    #[serde(default)]
    block_hash: Option<B256>,
    #[serde(default)]
    block_number: Option<U64>,
}

impl RpcNode {
    /// Returns transactions by hash; `None` for those that the server does not know, or that are
    /// in no block yet.
    pub fn transactions(&self, hashes: &[B256]) -> Result<Vec<Option<FoundTransaction>>> {
        self.consistent(|| self.find(hashes))
    }

    /// Returns the hash of the transaction at an index of a block; `None` if there is none.
    pub fn transaction_hash(&self, block: u64, index: u32) -> Result<Option<B256>> {
        let listed = self.listed(&[block])?;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        Ok(listed
            .first()
            .and_then(|block| block.transactions.get(at).copied()))
    }

    fn find(&self, hashes: &[B256]) -> Result<Vec<Option<FoundTransaction>>> {
        let call = |hash: &B256| Call::new(json!([hash]), Place::Chain);
        let calls: Vec<Call> = hashes.iter().map(call).collect();
        let answers = self.client.ask::<Option<Whole>>(TRANSACTION, &calls)?;
        let mut places = Vec::new();
        let mut found = Vec::new();
        for (at, (answer, hash)) in answers.into_iter().zip(hashes).enumerate() {
            let whole = answer
                .map_err(|refusal| self.client.refused(TRANSACTION, Place::Chain, &refusal))?;
            let Some(whole) = whole else { continue };
            if whole.block_number.is_some() != whole.block_hash.is_some() {
                let what = "it has either a number or a hash of its block";
                return Err(self.client.invalid(TRANSACTION, Place::Chain, what));
            }
            if let (Some(number), Some(of)) = (whole.block_number, whole.block_hash) {
                let block: u64 = number.to();
                if whole.transaction.hash != *hash {
                    let what = format!("it is transaction {}", whole.transaction.hash);
                    let place = Place::block(block);
                    return Err(self.client.invalid(TRANSACTION, place, what));
                }
                places.push(at);
                found.push((whole, block, of));
            }
        }
        let asked = found
            .iter()
            .map(|(whole, block, _)| (*block, json!([whole.transaction.hash])));
        let receipts = self.present(RECEIPT, &asked.collect::<Vec<_>>())?;
        let mut all: Vec<Option<FoundTransaction>> = hashes.iter().map(|_| None).collect();
        for ((at, found), receipt) in places.into_iter().zip(found).zip(receipts) {
            let (whole, block, of) = found;
            all[at] = Some(self.together(whole, block, of, &receipt)?);
        }
        Ok(all)
    }

    fn together(
        &self,
        whole: Whole,
        block: u64,
        block_hash: B256,
        receipt: &Receipt,
    ) -> Result<FoundTransaction> {
        let Whole {
            transaction, input, ..
        } = whole;
        if receipt.block_hash != block_hash {
            return Err(self.replaced(RECEIPT, block, receipt.block_hash, block_hash));
        }
        let index = receipt.transaction_index;
        let other = (transaction.transaction_index).is_some_and(|at| at != u64::from(index));
        if receipt.transaction_hash != transaction.hash || other {
            let what = "the receipt is of another transaction".to_owned();
            return Err(self.differs(RECEIPT, block, what));
        }
        let success = self.success(block, receipt)?;
        let created = match transaction.to {
            Some(_) => None,
            None => Some(self.created(block, &transaction, receipt)?),
        };
        let gas = U256::from(receipt.gas_used);
        let blobs = match receipt.blob_gas_used {
            None if receipt.kind == Some(BLOBS) => None,
            None => Some(U256::ZERO),
            Some(gas) => receipt
                .blob_gas_price
                .map(|price| gas.saturating_mul(price)),
        };
        let fee = receipt.effective_gas_price.zip(blobs);
        let fee = fee.map(|(price, blobs)| price.saturating_mul(gas).saturating_add(blobs));
        Ok(FoundTransaction {
            hash: transaction.hash,
            block,
            block_hash,
            index,
            from: transaction.from,
            to: transaction.to,
            created: created.filter(|_| success != Some(false)),
            nonce: transaction.nonce,
            value: transaction.value,
            input,
            success,
            gas_used: receipt.gas_used,
            fee: fee.filter(|_| self.family != ChainFamily::OpStack),
        })
    }
}
