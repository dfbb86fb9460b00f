//! Fees of transactions, from their receipts.

use crate::{
    error::{Place, Result},
    node::{BLOCK_RECEIPTS, RpcNode},
    wire::{Block, Receipt, Transaction},
};
use alloy_primitives::{Address, U256};
use txgraph_base::ChainFamily;
use txgraph_rollup::{Error, FeeRules, Parts};
use txgraph_transfers::{FrameMovement, Kind};

/// The type of transactions with blobs (EIP-4844).
pub(crate) const BLOBS: u64 = 3;

/// Types of transactions without signature on the OP stack: a deposit, and refunds of gas.
pub(crate) const DEPOSIT: u64 = 0x7e;
const POST_EXEC: u64 = 0x7d;

impl RpcNode {
    /// The parts of the fee of a transaction, without those that are zero.
    pub(crate) fn fees(
        &self,
        block: &Block,
        transaction: &Transaction,
        receipt: Option<&Receipt>,
    ) -> Result<Vec<FrameMovement>> {
        let receipt = receipt.ok_or_else(|| self.missing(block, "gasUsed"))?;
        let is_op = self.family == ChainFamily::OpStack;
        match receipt.kind {
            Some(DEPOSIT) if is_op => return Ok(Vec::new()),
            Some(POST_EXEC) if is_op => return Err(self.no_fees(block, &Error::Refunds)),
            // A chain of the OP stack that is not known.
            Some(DEPOSIT | POST_EXEC) => {
                let error = Error::UnknownChain {
                    chain_id: self.chain.chain_id,
                    genesis_hash: self.chain.genesis_hash,
                };
                return Err(self.no_fees(block, &error));
            }
            _ => {}
        }
        let price = receipt.effective_gas_price;
        let price = price.ok_or_else(|| self.missing(block, "effectiveGasPrice"))?;
        let gas = U256::from(receipt.gas_used);
        let base_fee = block.base_fee_per_gas.unwrap_or_default();
        let base = base_fee.saturating_mul(gas);
        let tip = price.saturating_sub(base_fee).saturating_mul(gas);
        let part = |to, value, kind| FrameMovement {
            from: transaction.from,
            to,
            value,
            kind,
            is_doubtful: false,
        };
        if is_op {
            let parts = self.op_parts(block, receipt, (base, tip))?;
            let payments = parts.payments(block.miner);
            let movements = payments.map(|paid| part(paid.to, paid.value, paid.kind));
            return Ok(movements.collect());
        }
        let blob_gas = match (receipt.kind, receipt.blob_gas_used) {
            (Some(BLOBS), None) => return Err(self.missing(block, "blobGasUsed")),
            (_, gas) => gas.unwrap_or_default(),
        };
        let blob_price = match (blob_gas.is_zero(), receipt.blob_gas_price) {
            (true, _) => U256::ZERO,
            (false, price) => price.ok_or_else(|| self.missing(block, "blobGasPrice"))?,
        };
        let burnt = base.saturating_add(blob_price.saturating_mul(blob_gas));
        // As a replay finds them.
        let parts = [
            part(Address::ZERO, burnt, Kind::Fee),
            part(block.miner, tip, Kind::Priority),
        ];
        Ok(parts
            .into_iter()
            .filter(|part| !part.value.is_zero())
            .collect())
    }

    /// The parts on a chain of the OP stack. The receipt has the fee for data, and the parameters of the
    /// operator fee, whose formula depends on the time.
    fn op_parts(
        &self,
        block: &Block,
        receipt: &Receipt,
        (base, priority): (U256, U256),
    ) -> Result<Parts> {
        let l1 = receipt.l1_fee.ok_or_else(|| self.missing(block, "l1Fee"))?;
        let scalar = receipt.operator_fee_scalar.unwrap_or_default();
        let constant = receipt.operator_fee_constant.unwrap_or_default();
        let operator = match (u32::try_from(scalar), constant) {
            (Ok(0), 0) => Ok(U256::ZERO),
            (Ok(scalar), constant) => {
                FeeRules::of_chain(self.chain.chain_id, self.chain.genesis_hash).and_then(|rules| {
                    let time = block.header.timestamp;
                    rules.operator_fee(time, scalar, constant, receipt.gas_used)
                })
            }
            (Err(_), _) => Err(Error::Overflow),
        };
        Ok(Parts {
            base,
            priority,
            l1,
            operator: operator.map_err(|error| self.no_fees(block, &error))?,
        })
    }

    fn missing(&self, block: &Block, field: &str) -> crate::Error {
        let what = format!("a receipt has no field `{field}`, which the fee needs");
        self.client
            .invalid(BLOCK_RECEIPTS, Place::block(block.header.number), what)
    }

    fn no_fees(&self, block: &Block, error: &Error) -> crate::Error {
        let what = format!("fees cannot be computed: {error}");
        self.client
            .invalid(BLOCK_RECEIPTS, Place::block(block.header.number), what)
    }
}
