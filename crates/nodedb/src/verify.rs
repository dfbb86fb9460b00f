//! Everything a header promises about its block, recomputed. A scan checks what is
//! free (gas, counts, hashes); this checks every byte, for a price: all
//! transactions and receipts are encoded and hashed again.

use crate::{Block, Error, Receipt, Result, Withdrawal};
use alloy_consensus::{EthereumReceipt, ReceiptWithBloom, TxReceipt, TxType, proofs};
use alloy_eips::eip4895;
use alloy_primitives::Bloom;

impl Block<'_> {
    /// That the block's hash, transactions root, receipts root, bloom and
    /// withdrawals root follow from what is stored. Receipts of blocks before London
    /// are held against gas and bloom only: before Byzantium they carried a state
    /// root, which no node stores, and a header does not tell which kind it has.
    ///
    /// Also calls [`Self::check_transactions`].
    ///
    /// Needs all parts of the block, withdrawals read
    /// ([`Parts::withdrawals`](crate::Parts)).
    pub fn check_roots(&mut self) -> Result<()> {
        self.check_header()?;
        self.check_receipts()?;
        self.check_transactions()?;
        if let Some(expected) = self.header()?.withdrawals_root {
            let withdrawals: Vec<_> = self.withdrawals().iter().map(to_alloy).collect();
            let root = proofs::calculate_withdrawals_root(&withdrawals);
            self.agrees("withdrawals root", root == expected)?;
        }
        Ok(())
    }

    /// Proves the transactions of the block and their senders: the header has the block
    /// hash, the transactions have the header's transactions root, and every stored
    /// sender is the signer of its transaction.
    ///
    /// The header commits to signatures, not to senders, so each signer is recovered:
    /// about 50 µs a transaction. Where the node stores no sender there is nothing to
    /// compare, and [`Self::sender`] recovers it too. High `s` values are accepted: they
    /// were valid before Homestead (EIP-2), and a changed `s` changes the root.
    ///
    /// # Errors
    ///
    /// [`Error::WrongSender`] for a stored sender that did not sign,
    /// [`Error::Inconsistent`] for a wrong root.
    pub fn check_transactions(&mut self) -> Result<()> {
        let expected = self.check_header()?.transactions_root;
        let transactions = (0..self.body.tx_count)
            .map_while(|index| u32::try_from(index).ok())
            .map(|index| self.signed_transaction(index))
            .collect::<Result<Vec<_>>>()?;
        let root = proofs::calculate_transaction_root(&transactions);
        self.agrees("transactions root", root == expected)?;
        for (index, transaction) in (0..).zip(&transactions) {
            let Some(stored) = self.stored_sender(index)? else {
                continue;
            };
            let recovered = self.recovered_sender(index, transaction)?;
            if stored != recovered {
                return Err(Error::WrongSender {
                    block: self.number,
                    index,
                    stored,
                    recovered,
                });
            }
        }
        Ok(())
    }

    fn check_receipts(&mut self) -> Result<()> {
        let place = (self.next_receipt, self.cumulative_gas_used);
        (self.next_receipt, self.cumulative_gas_used) = (0, 0);
        let mut bloom = Bloom::ZERO;
        let mut receipts = Vec::new();
        while let Some(receipt) = self.next_receipt()? {
            let receipt = with_bloom(&receipt)?;
            bloom |= receipt.logs_bloom;
            receipts.push(receipt);
        }
        (self.next_receipt, self.cumulative_gas_used) = place;
        let header = self.header()?;
        let (expected, root) = (header.logs_bloom, header.receipts_root);
        let after_london = header.base_fee.is_some();
        self.agrees("logs bloom", bloom == expected)?;
        if !after_london {
            return Ok(());
        }
        let found = proofs::calculate_receipt_root(&receipts);
        self.agrees("receipts root", found == root)
    }

    fn agrees(&self, what: &str, agrees: bool) -> Result<()> {
        if agrees {
            return Ok(());
        }
        let what = format!("the header's {what} does not follow from what is stored");
        Err(Error::Inconsistent {
            block: self.number,
            what,
        })
    }
}

fn with_bloom(receipt: &Receipt<'_>) -> Result<ReceiptWithBloom<EthereumReceipt>> {
    let receipt = EthereumReceipt {
        // Types beyond 4 are refused by the decoder.
        tx_type: TxType::try_from(receipt.tx_type).unwrap_or(TxType::Legacy),
        success: receipt.success,
        cumulative_gas_used: receipt.cumulative_gas_used,
        logs: receipt.to_logs()?,
    };
    Ok(receipt.into_with_bloom())
}

const fn to_alloy(withdrawal: &Withdrawal) -> eip4895::Withdrawal {
    eip4895::Withdrawal {
        index: withdrawal.index,
        validator_index: withdrawal.validator_index,
        address: withdrawal.address,
        amount: withdrawal.amount_gwei,
    }
}
