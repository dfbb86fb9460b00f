//! Fees of transactions on the OP stack, computed from the rows of a block.

use alloy_primitives::Address;
use txgraph_nodedb::{self as nodedb, Block, ChainFamily, NodeDb, StoredTransaction};
use txgraph_rollup::{
    ATTRIBUTES_RECEIVER, ATTRIBUTES_SENDER, BlockFees, Error, FeeRules, Header, Paid,
};
use txgraph_transfers::{Decoder, ScanRequest, Transfer};

/// Returns the rules for the fees of a request, if it wants any and they can be computed.
///
/// # Errors
///
/// If the dates of the forks of this chain are not known.
pub(crate) fn rules(
    request: &ScanRequest,
    db: &NodeDb,
    chain_id: u64,
) -> Result<Option<FeeRules>, crate::Error> {
    if !request.filter.needs_fees() || db.family() != ChainFamily::OpStack {
        return Ok(None);
    }
    let genesis_hash = db.chain()?.genesis_hash;
    Ok(Some(FeeRules::of_chain(chain_id, genesis_hash)?))
}

pub(crate) struct Fees {
    block: BlockFees,
    /// Cumulative gas of the transaction before.
    gas_before: u64,
}

/// A transaction before its receipt is read.
pub(crate) struct Payer {
    from: Address,
    price: u128,
    envelope: Vec<u8>,
}

impl Fees {
    /// Reads the header and the first transaction of a block. `None` for a block without
    /// transactions, such as the first.
    pub(crate) fn of_block(
        rules: &FeeRules,
        block: &mut Block<'_>,
    ) -> nodedb::Result<Option<Self>> {
        if block.body.tx_count == 0 {
            return Ok(None);
        }
        let StoredTransaction::Deposit(deposit) = block.stored_transaction(0)? else {
            return Err(inconsistent(block.number, None, Error::NoAttributes));
        };
        let is_attributes =
            deposit.from == ATTRIBUTES_SENDER && deposit.to.to() == Some(&ATTRIBUTES_RECEIVER);
        if !is_attributes {
            return Err(inconsistent(block.number, None, Error::NoAttributes));
        }
        let header = block.check_header_later()?;
        let (timestamp, beneficiary) = (header.timestamp, header.beneficiary);
        let base_fee = header.base_fee_per_gas.ok_or(Error::NoBaseFee);
        let fees = base_fee.and_then(|base_fee| {
            let header = Header {
                timestamp,
                base_fee,
                beneficiary,
            };
            BlockFees::new(rules, header, &deposit.input)
        });
        Ok(Some(Self {
            block: fees.map_err(|error| inconsistent(block.number, None, error))?,
            gas_before: 0,
        }))
    }

    /// Reads a transaction. `None` for deposits, which pay no fees.
    pub(crate) fn payer(&self, block: &mut Block<'_>, index: u32) -> nodedb::Result<Option<Payer>> {
        let stored = block.stored_transaction(index)?;
        let price = match &stored {
            StoredTransaction::Deposit(_) => return Ok(None),
            StoredTransaction::PostExec(_) => {
                return Err(inconsistent(block.number, Some(index), Error::Refunds));
            }
            StoredTransaction::Signed(_) => stored.gas_price(self.block.base_fee()),
        };
        Ok(Some(Payer {
            from: block.sender(index)?,
            price,
            envelope: stored.envelope(),
        }))
    }

    /// Adds the fees of a transaction, whose receipt has this cumulative gas. `first` is the
    /// number of the rows before the transaction.
    pub(crate) fn add(
        &mut self,
        (block, index): (u64, u32),
        payer: Option<Payer>,
        cumulative_gas: u64,
        first: usize,
        (decoder, transfers): (&mut Decoder<'_>, &mut Vec<Transfer>),
    ) -> nodedb::Result<()> {
        // Cumulative gas never decreases: the database checks it.
        let gas_used = cumulative_gas.saturating_sub(self.gas_before);
        self.gas_before = cumulative_gas;
        let Some(payer) = payer else {
            return Ok(());
        };
        let paid = Paid {
            envelope: &payer.envelope,
            price: payer.price,
            gas_used,
        };
        let payments = self.block.payments(&paid);
        let payments = payments.map_err(|error| inconsistent(block, Some(index), error))?;
        let paid = payments.map(|paid| (payer.from, paid.to, paid.value, paid.kind));
        decoder.movements(index, paid, first, transfers);
        Ok(())
    }
}

fn inconsistent(block: u64, index: Option<u32>, error: Error) -> nodedb::Error {
    let place = index.map(|index| format!(" of transaction {index}"));
    nodedb::Error::Inconsistent {
        block,
        what: format!(
            "fees{} cannot be computed: {error}",
            place.unwrap_or_default()
        ),
    }
}
