//! A small chain across the fork Amsterdam, with known transfers.

use super::{
    BlockSample, Draw, ExecutedBlock, ExecutedTransaction, Signer, executed::fill_roots,
    sample::transfer_log,
};
use alloy_consensus::{
    EMPTY_ROOT_HASH, EthereumReceipt, EthereumTxEnvelope, Header, TxEip1559, TxType,
};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{Address, B256, Log, TxKind, U256, address};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer, testing};

/// The emitter of logs of the native coin (EIP-7708).
const SYSTEM: Address = address!("fffffffffffffffffffffffffffffffffffffffe");
const TOKEN: Address = Address::repeat_byte(0x70);

impl BlockSample {
    /// Makes `count` blocks from block `first` on. Blocks from `fork` on, the first of
    /// Amsterdam, have logs of native-coin movements.
    ///
    /// Every transaction was drawn: its value, movements inside of it, and logs of a token between
    /// them. Movements inside of the transactions of older blocks have no trace in the blocks, and
    /// are not among the transfers.
    pub fn logged(seed: u64, first: u64, count: u64, fork: u64) -> Self {
        Self::new(first, count, |number, parent_hash| {
            let maker = BlockMaker {
                number,
                is_logged: number >= fork,
                draw: Draw::new(seed, "logged-block", &[number]),
                logs: 0,
                transactions: Vec::new(),
                transfers: Vec::new(),
            };
            maker.make(parent_hash)
        })
    }

    /// Addresses of senders and receivers of [`Self::logged`].
    pub fn logged_addresses() -> Vec<Address> {
        let wallets = (1..=5).map(|n| Address::repeat_byte(0x20 + n));
        (0..2).map(|n| signer(n).address).chain(wallets).collect()
    }
}

fn signer(number: u64) -> Signer {
    Signer::new(1, "logged-user", &[number])
}

struct BlockMaker {
    number: u64,
    is_logged: bool,
    draw: Draw,
    /// Logs of the block so far.
    logs: u32,
    transactions: Vec<ExecutedTransaction>,
    transfers: Vec<Transfer>,
}

impl BlockMaker {
    fn make(mut self, parent_hash: B256) -> (ExecutedBlock, Vec<Transfer>) {
        for _ in 0..self.draw.below(4) {
            self.transaction();
        }
        self.finish(parent_hash)
    }

    fn transaction(&mut self) {
        let all = BlockSample::logged_addresses();
        let number = self.draw.below(2);
        let (sender, to) = (signer(number), self.draw.pick(&all));
        // Few amounts, so that movements inside equal the value of the transaction.
        let value = U256::from(self.draw.below(3));
        let success = !self.draw.permille(150);
        let payment = TxEip1559 {
            chain_id: 1337,
            nonce: self.number * 10 + self.transactions.len() as u64,
            gas_limit: 600_000,
            max_fee_per_gas: 1_000_000,
            to: TxKind::Call(to),
            value,
            ..TxEip1559::default()
        };
        let transaction = EthereumTxEnvelope::from(sender.sign_transaction(payment));
        let index = u32::try_from(self.transactions.len()).unwrap_or(u32::MAX);
        let row = Transfer {
            block_timestamp: BlockTime::new(self.time()),
            transaction_index: index,
            transaction_hash: Some(*transaction.tx_hash()),
            from_address: sender.address,
            to_address: to,
            value,
            ..testing::transfer(self.number)
        };
        let (mut natives, mut tokens, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        if success && !value.is_zero() {
            self.log_native(&row, &mut logs);
            natives.push(row.clone());
        }
        let parts = if success { self.draw.below(6) } else { 0 };
        let mut inside = 0;
        for _ in 0..parts {
            let ends = (self.draw.pick(&all), self.draw.pick(&all));
            let moved = Transfer {
                from_address: ends.0,
                to_address: ends.1,
                value: U256::from(1 + self.draw.below(2)),
                ..row.clone()
            };
            if self.draw.permille(300) {
                tokens.push(Transfer {
                    log_index: Some(self.logs + log_count(&logs)),
                    token_address: Some(TOKEN),
                    token_standard: TokenStandard::Erc20,
                    kind: Kind::Transfer,
                    ..moved.clone()
                });
                logs.push(log_of(TOKEN, &moved));
            } else if self.is_logged && ends.0 != ends.1 {
                inside += 1;
                self.log_native(&moved, &mut logs);
                natives.push(Transfer {
                    sub_index: inside,
                    kind: Kind::Internal,
                    ..moved
                });
            }
        }
        self.logs += log_count(&logs);
        self.transfers.extend(natives);
        self.transfers.extend(tokens);
        let gas = 50_000 * (u64::from(index) + 1);
        self.transactions.push(ExecutedTransaction {
            sender: sender.address,
            transaction,
            receipt: EthereumReceipt {
                tx_type: TxType::Eip1559,
                success,
                cumulative_gas_used: gas,
                logs,
            },
        });
    }

    /// Logs what the chain logs: movements of some amount to another account.
    fn log_native(&self, moved: &Transfer, logs: &mut Vec<Log>) {
        if self.is_logged && moved.from_address != moved.to_address {
            logs.push(log_of(SYSTEM, moved));
        }
    }

    const fn time(&self) -> u64 {
        1_790_000_000 + self.number * 12
    }

    fn finish(self, parent_hash: B256) -> (ExecutedBlock, Vec<Transfer>) {
        let mut header = Header {
            parent_hash,
            number: self.number,
            timestamp: self.time(),
            gas_limit: 30_000_000,
            gas_used: 50_000 * self.transactions.len() as u64,
            base_fee_per_gas: Some(7),
            withdrawals_root: Some(EMPTY_ROOT_HASH),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(B256::repeat_byte(8)),
            requests_hash: Some(EMPTY_REQUESTS_HASH),
            block_access_list_hash: self.is_logged.then_some(B256::repeat_byte(9)),
            slot_number: self.is_logged.then_some(self.number + 5),
            ..Header::default()
        };
        fill_roots(&mut header, &self.transactions);
        let block = ExecutedBlock {
            header,
            transactions: self.transactions,
            ..ExecutedBlock::default()
        };
        (block, self.transfers)
    }
}

fn log_count(logs: &[Log]) -> u32 {
    u32::try_from(logs.len()).unwrap_or(u32::MAX)
}

fn log_of(emitter: Address, moved: &Transfer) -> Log {
    transfer_log(emitter, moved.from_address, moved.to_address, moved.value)
}
