//! A small chain of the OP stack with known transfers.

use super::{BlockSample, ExecutedBlock, OpTransaction, Signer, sample::transfer_log};
use alloy_consensus::{Header, Sealed, TxEip1559, TxReceipt, proofs};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Log, TxKind, U256, address};
use op_alloy_consensus::{
    OpDepositReceipt, OpReceipt, OpTxEnvelope, TxDeposit, post_exec::build_post_exec_tx,
};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer, testing};

/// The sender of the deposit that begins every block.
const SYSTEM: Address = address!("deaddeaddeaddeaddeaddeaddeaddeaddead0001");
/// The contract that it calls.
const L1_BLOCK: Address = address!("4200000000000000000000000000000000000015");

impl BlockSample {
    /// Makes `count` blocks of a chain of the OP stack from block `first` on. `chain_id` is the ID
    /// in their transactions.
    ///
    /// Every block has the deposit with the attributes of the parent chain, four deposits of a user
    /// (successful, failed, without mint, creating a contract), a payment, a token transfer, and
    /// refunds (type 0x7d). Receipts of the first half are from before Canyon, without version.
    pub fn op(chain_id: u64, first: u64, count: u64) -> Self {
        Self::new(first, count, |number, parent_hash| {
            let maker = BlockMaker {
                chain_id,
                number,
                canyon: number >= first + count / 2,
                gas_used: 0,
                transactions: Vec::new(),
                transfers: Vec::new(),
            };
            maker.make(parent_hash)
        })
    }
}

struct BlockMaker {
    chain_id: u64,
    number: u64,
    canyon: bool,
    gas_used: u64,
    transactions: Vec<OpTransaction>,
    transfers: Vec<Transfer>,
}

impl BlockMaker {
    fn make(mut self, parent_hash: B256) -> (ExecutedBlock, Vec<Transfer>) {
        let user = Signer::new(1, "op-user", &[0]);
        let other = Address::repeat_byte(0x22);
        let wei = U256::from;
        self.deposit(SYSTEM, TxKind::Call(L1_BLOCK), (0, 0), true);
        self.deposit(user.address, TxKind::Call(other), (1_000, 600), true);
        self.deposit(user.address, TxKind::Call(other), (2_000, 700), false);
        self.deposit(user.address, TxKind::Call(other), (0, 5), true);
        self.deposit(user.address, TxKind::Create, (3_000, 30), true);
        let token = Address::repeat_byte(0x70);
        let transfer = transfer_log(token, user.address, other, wei(77));
        self.payment(&user, other, wei(0), vec![transfer]);
        self.transfer(Some(0), 0, (user.address, other, wei(77)), Kind::Transfer);
        if let Some(row) = self.transfers.last_mut() {
            row.token_address = Some(token);
            row.token_standard = TokenStandard::Erc20;
        }
        self.payment(&user, other, wei(9), Vec::new());
        self.transfer(None, 0, (user.address, other, wei(9)), Kind::Value);
        let refunds = build_post_exec_tx(self.number, Vec::new());
        let receipt = OpReceipt::PostExec(self.receipt(true, Vec::new()));
        self.push(
            Address::ZERO,
            OpTxEnvelope::PostExec(Sealed::new(refunds)),
            receipt,
        );
        self.finish(parent_hash)
    }

    /// Adds a deposit with mint and value, and its transfers.
    fn deposit(&mut self, from: Address, to: TxKind, (mint, value): (u128, u64), success: bool) {
        let nonce = self.number * 10 + self.transactions.len() as u64;
        let deposit = TxDeposit {
            source_hash: B256::from(U256::from(nonce)),
            from,
            to,
            mint,
            value: U256::from(value),
            gas_limit: 1_000_000,
            is_system_transaction: false,
            input: Bytes::from(vec![1; 40]),
        };
        let receipt = OpReceipt::Deposit(OpDepositReceipt {
            inner: self.receipt(success, Vec::new()),
            deposit_nonce: Some(nonce),
            deposit_receipt_version: self.canyon.then_some(1),
        });
        self.push(from, OpTxEnvelope::Deposit(Sealed::new(deposit)), receipt);
        let minted = (Address::ZERO, from, U256::from(mint));
        if mint > 0 {
            self.transfer(None, 0, minted, Kind::Mint);
        }
        if success && value > 0 {
            let to = to.to().copied().unwrap_or_else(|| from.create(nonce));
            let moved = (from, to, U256::from(value));
            self.transfer(None, u32::from(mint > 0), moved, Kind::Value);
        }
    }

    fn payment(&mut self, from: &Signer, to: Address, value: U256, logs: Vec<Log>) {
        let payment = TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.number,
            gas_limit: 60_000,
            max_fee_per_gas: 1_000_000,
            max_priority_fee_per_gas: 1,
            to: TxKind::Call(to),
            value,
            ..TxEip1559::default()
        };
        let receipt = OpReceipt::Eip1559(self.receipt(true, logs));
        let signed = OpTxEnvelope::Eip1559(from.sign_transaction(payment));
        self.push(from.address, signed, receipt);
    }

    fn receipt(&mut self, success: bool, logs: Vec<Log>) -> alloy_consensus::Receipt {
        self.gas_used += 46_218;
        alloy_consensus::Receipt {
            status: success.into(),
            cumulative_gas_used: self.gas_used,
            logs,
        }
    }

    fn push(&mut self, sender: Address, transaction: OpTxEnvelope, receipt: OpReceipt) {
        self.transactions.push(OpTransaction {
            sender,
            transaction,
            receipt,
        });
    }

    /// Adds a native transfer of the newest transaction.
    fn transfer(
        &mut self,
        log_index: Option<u32>,
        sub_index: u32,
        (from_address, to_address, value): (Address, Address, U256),
        kind: Kind,
    ) {
        let index = self.transactions.len() - 1;
        self.transfers.push(Transfer {
            block_timestamp: BlockTime::new(self.time()),
            transaction_index: u32::try_from(index).expect("few transactions"),
            log_index,
            sub_index,
            transaction_hash: Some(self.transactions[index].transaction.trie_hash()),
            from_address,
            to_address,
            value,
            kind,
            ..testing::transfer(self.number)
        });
    }

    const fn time(&self) -> u64 {
        1_690_000_000 + self.number * 2
    }

    fn finish(self, parent_hash: B256) -> (ExecutedBlock, Vec<Transfer>) {
        let envelopes: Vec<_> = (self.transactions.iter())
            .map(|it| it.transaction.clone())
            .collect();
        let header = Header {
            parent_hash,
            number: self.number,
            timestamp: self.time(),
            gas_limit: 30_000_000,
            gas_used: self.gas_used,
            base_fee_per_gas: Some(7),
            transactions_root: proofs::calculate_transaction_root(&envelopes),
            receipts_root: receipts_root(&self.transactions),
            logs_bloom: (self.transactions.iter())
                .fold(alloy_primitives::Bloom::ZERO, |bloom, it| {
                    bloom | it.receipt.bloom()
                }),
            // The storage root of a contract since Isthmus.
            withdrawals_root: self.canyon.then_some(B256::repeat_byte(0x16)),
            ..Header::default()
        };
        let block = ExecutedBlock {
            header,
            op_transactions: self.transactions,
            ..ExecutedBlock::default()
        };
        (block, self.transfers)
    }
}

/// Computes the receipts root with the encoder of `op-alloy-consensus`. Before Canyon, the
/// nonce of a deposit is not part of it.
pub fn receipts_root(transactions: &[OpTransaction]) -> B256 {
    let receipts: Vec<_> = transactions
        .iter()
        .map(|it| {
            let mut receipt = it.receipt.clone();
            if let OpReceipt::Deposit(deposit) = &mut receipt
                && deposit.deposit_receipt_version.is_none()
            {
                deposit.deposit_nonce = None;
            }
            receipt.into_with_bloom()
        })
        .collect();
    proofs::calculate_receipt_root(&receipts)
}
