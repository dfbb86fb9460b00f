//! Chains that are built with alloy, and scans of their files.

use alloy_consensus::{
    BlockHeader, EthereumTxEnvelope, Header, Receipt, ReceiptEnvelope, SignableTransaction,
    Transaction as _, TxEip1559, TxEip4844, TxLegacy, TxReceipt, proofs,
    transaction::SignerRecoverable,
};
use alloy_eips::{Encodable2718, eip4895::Withdrawal};
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, Signature, TxKind, U256};
use alloy_rlp::Encodable;
use std::path::{Path, PathBuf};
use txgraph_era::{Archive, EraBlock, EraOptions, EraWriter, Format, Result, encode_body};
use txgraph_stored::{StoredBlocks, StoredSource};
use txgraph_testkit::queries::everything;
pub(crate) use txgraph_testkit::queries::{ask as scan, range};
use txgraph_transfers::{
    BlockRanges, BlockTime, Decoder, EIP7708_LOG_ADDRESS, LogView, ScanRequest, TRANSFER,
    TokenFilter, TransactionView, Transfer, TransferFilter, WithdrawalView, WrappedNative,
};
use txgraph_work::WorkContext;

pub(crate) type Transaction = EthereumTxEnvelope<TxEip4844>;

/// A block, and the parts of it that files contain.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) header: Header,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) receipts: Vec<ReceiptEnvelope>,
    withdrawals: Option<Vec<Withdrawal>>,
    pub(crate) total_difficulty: U256,
}

/// The content of a block to make.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// Value and logs of each transaction.
    pub(crate) transactions: Vec<(u64, Vec<Log>)>,
    /// Whether receipts have a state root instead of a status.
    pub(crate) before_byzantium: bool,
    pub(crate) withdrawals: Option<Vec<(u8, u64)>>,
    pub(crate) difficulty: u64,
    /// Whether the header has the fields of Amsterdam, and logs report values (EIP-7708).
    pub(crate) is_amsterdam: bool,
}

/// A `Transfer` log of an ERC-20 token.
pub(crate) fn erc20(token: u8, from: u8, to: u8, amount: u64) -> Log {
    let [token, from, to] = [token, from, to].map(Address::repeat_byte);
    transfer(token, from, to, amount)
}

fn transfer(emitter: Address, from: Address, to: Address, amount: u64) -> Log {
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    Log::new_unchecked(emitter, topics, B256::from(U256::from(amount)).into())
}

/// Makes a chain of blocks from `first` on.
pub(crate) fn chain(first: u64, contents: &[Content]) -> Vec<Block> {
    let mut parent_hash = B256::repeat_byte(0xee);
    let mut total_difficulty = U256::from(1000);
    let mut blocks = Vec::new();
    for (number, content) in (first..).zip(contents) {
        let block = block(number, parent_hash, total_difficulty, content);
        parent_hash = block.header.hash_slow();
        total_difficulty = block.total_difficulty;
        blocks.push(block);
    }
    blocks
}

fn block(number: u64, parent_hash: B256, before: U256, content: &Content) -> Block {
    let mut transactions = Vec::new();
    let mut receipts = Vec::new();
    let mut bloom = Bloom::ZERO;
    for (index, (value, logs)) in (0..).zip(&content.transactions) {
        let transaction = transaction(number, index, *value);
        let mut logs = logs.clone();
        if content.is_amsterdam && *value > 0 && index % 5 != 4 {
            let from = transaction.recover_signer_unchecked().unwrap();
            let to = transaction
                .to()
                .unwrap_or_else(|| from.create(transaction.nonce()));
            logs.insert(0, transfer(EIP7708_LOG_ADDRESS, from, to, *value));
        }
        transactions.push(transaction);
        let status = match content.before_byzantium {
            true => B256::repeat_byte(0x55).into(),
            // Every fifth fails.
            false => (index % 5 != 4).into(),
        };
        let receipt = Receipt {
            status,
            cumulative_gas_used: 21_000 * (index + 1),
            logs,
        };
        let receipt = receipt.with_bloom();
        bloom |= receipt.logs_bloom;
        receipts.push(match index % 2 {
            0 => ReceiptEnvelope::Legacy(receipt),
            _ => ReceiptEnvelope::Eip1559(receipt),
        });
    }
    let withdrawals = content.withdrawals.as_ref().map(|list| {
        let list = (0..).zip(list);
        let withdrawals = list.map(|(index, (address, amount))| Withdrawal {
            index,
            validator_index: 7,
            address: Address::repeat_byte(*address),
            amount: *amount,
        });
        withdrawals.collect::<Vec<_>>()
    });
    let difficulty = U256::from(content.difficulty);
    let header = Header {
        parent_hash,
        number,
        timestamp: 1_000_000 + 12 * number,
        difficulty,
        logs_bloom: bloom,
        gas_used: 21_000 * transactions.len() as u64,
        transactions_root: proofs::calculate_transaction_root(&transactions),
        receipts_root: proofs::calculate_receipt_root(&receipts),
        base_fee_per_gas: withdrawals.is_some().then_some(1),
        withdrawals_root: withdrawals
            .as_ref()
            .map(|list| proofs::calculate_withdrawals_root(list)),
        blob_gas_used: content.is_amsterdam.then_some(0),
        excess_blob_gas: content.is_amsterdam.then_some(0),
        parent_beacon_block_root: content.is_amsterdam.then_some(B256::ZERO),
        requests_hash: content.is_amsterdam.then_some(B256::repeat_byte(1)),
        block_access_list_hash: content.is_amsterdam.then_some(B256::repeat_byte(2)),
        slot_number: content.is_amsterdam.then_some(number),
        ..Header::default()
    };
    Block {
        header,
        transactions,
        receipts,
        withdrawals,
        total_difficulty: before + difficulty,
    }
}

/// Odd transactions are of EIP-1559, and every third creates a contract.
fn transaction(block: u64, index: u64, value: u64) -> Transaction {
    let to = match index % 3 {
        2 => TxKind::Create,
        _ => TxKind::Call(Address::with_last_byte(
            u8::try_from(block % 7 + 1).unwrap(),
        )),
    };
    let signature = Signature::test_signature();
    let (nonce, value, input) = (block * 100 + index, U256::from(value), Bytes::new());
    // Above the gas that is used, so that it is known to have succeeded.
    let gas_limit = 22_000;
    match index % 2 {
        0 => TxLegacy {
            chain_id: Some(1),
            nonce,
            gas_price: 7,
            gas_limit,
            to,
            value,
            input,
        }
        .into_signed(signature)
        .into(),
        _ => TxEip1559 {
            chain_id: 1,
            nonce,
            gas_limit,
            max_fee_per_gas: 9,
            max_priority_fee_per_gas: 1,
            to,
            value,
            access_list: Default::default(),
            input,
        }
        .into_signed(signature)
        .into(),
    }
}

impl Block {
    /// RLP of header, body, and receipts without blooms, encoded with alloy alone.
    pub(crate) fn encode(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let header = alloy_rlp::encode(&self.header);
        let transactions = self.transactions.iter();
        let transactions: Vec<_> = transactions.map(|it| it.encoded_2718()).collect();
        let withdrawals = self.withdrawals.as_ref().map(alloy_rlp::encode);
        let body = encode_body(
            transactions.iter().map(Vec::as_slice),
            &alloy_rlp::encode(Vec::<Header>::new()),
            withdrawals.as_deref(),
        );
        let mut list = Vec::new();
        for receipt in &self.receipts {
            let mut fields = Vec::new();
            u8::from(receipt.tx_type()).encode(&mut fields);
            let inner = receipt.as_receipt().unwrap();
            inner.status.encode(&mut fields);
            inner.cumulative_gas_used.encode(&mut fields);
            inner.logs.encode(&mut fields);
            list_of(&fields, &mut list);
        }
        let mut receipts = Vec::new();
        list_of(&list, &mut receipts);
        (header, body, receipts)
    }

    /// The same block with another amount of gas that was used.
    pub(crate) fn with_gas(mut self, gas: u64) -> Self {
        for receipt in &mut self.receipts {
            if let ReceiptEnvelope::Legacy(inner) | ReceiptEnvelope::Eip1559(inner) = receipt {
                inner.receipt.cumulative_gas_used = gas;
            }
        }
        self.header.receipts_root = proofs::calculate_receipt_root(&self.receipts);
        self
    }

    /// Its transfers, decoded from what it was made of.
    fn decode(&self, decoder: &mut Decoder<'_>, transfers: &mut Vec<Transfer>) {
        let first = transfers.len();
        let header = &self.header;
        decoder.begin_block(header.number, BlockTime::new(header.timestamp()));
        let pairs = self.transactions.iter().zip(&self.receipts);
        for (index, (transaction, receipt)) in (0..).zip(pairs) {
            let from = transaction.recover_signer_unchecked().unwrap();
            let to = transaction.to();
            let view = TransactionView {
                from,
                to: to.unwrap_or_else(|| from.create(transaction.nonce())),
                value: transaction.value(),
                mint: U256::ZERO,
                // With a state root instead of a status: these transactions have gas left.
                success: receipt.status() || receipt.status_or_post_state().is_post_state(),
            };
            let logs = receipt.logs();
            let topics: Vec<Vec<[u8; 32]>> = logs
                .iter()
                .map(|log| log.topics().iter().map(|topic| topic.0).collect())
                .collect();
            let views = logs.iter().zip(&topics).map(|(log, topics)| LogView {
                address: &log.address,
                topics,
                data: &log.data.data,
            });
            decoder.transaction(index, Some(&view), views, transfers);
        }
        let withdrawals = self.withdrawals.iter().flatten();
        let views = withdrawals.map(|withdrawal| WithdrawalView {
            address: withdrawal.address,
            amount_gwei: withdrawal.amount,
        });
        decoder.withdrawals(views, transfers);
        for transfer in &mut transfers[first..] {
            let at = usize::try_from(transfer.transaction_index).unwrap();
            transfer.transaction_hash = self.transactions.get(at).map(|it| *it.hash());
        }
    }
}

fn list_of(items: &[u8], out: &mut Vec<u8>) {
    let header = alloy_rlp::Header {
        list: true,
        payload_length: items.len(),
    };
    header.encode(out);
    out.extend_from_slice(items);
}

/// The transfers of blocks, decoded from what they were made of.
pub(crate) fn expected(blocks: &[Block], filter: &TransferFilter) -> Vec<Transfer> {
    let wrapped = WrappedNative::default();
    let mut decoder = Decoder::new(1, &wrapped, filter);
    let mut transfers = Vec::new();
    for block in blocks {
        block.decode(&mut decoder, &mut transfers);
    }
    transfers
}

/// Writes blocks as one file of mainnet.
pub(crate) fn write(directory: &Path, format: Format, blocks: &[Block]) -> PathBuf {
    try_write(directory, "mainnet", format, blocks).unwrap()
}

pub(crate) fn try_write(
    directory: &Path,
    network: &str,
    format: Format,
    blocks: &[Block],
) -> Result<PathBuf> {
    let mut writer = EraWriter::create(directory, network, format)?;
    let is_before_merge = !blocks[0].header.difficulty.is_zero() || format == Format::Era1;
    for block in blocks {
        let (header, body, receipts) = block.encode();
        writer.push(&EraBlock {
            header: &header,
            body: &body,
            receipts: Some(&receipts),
            total_difficulty: is_before_merge.then_some(block.total_difficulty),
        })?;
    }
    writer.finish()
}

pub(crate) fn open(path: &Path, options: &EraOptions) -> Result<StoredSource<Archive>> {
    let archive = Archive::open(path, options)?;
    Ok(StoredSource::new(archive, WorkContext::default()))
}

/// A request for all transfers, with hashes.
pub(crate) fn request(blocks: impl Into<BlockRanges>) -> ScanRequest {
    ScanRequest {
        with_hashes: true,
        ..everything(blocks)
    }
}

pub(crate) fn only(token: u8) -> TransferFilter {
    let tokens = TokenFilter::only([Address::repeat_byte(token)]);
    TransferFilter {
        tokens,
        ..TransferFilter::default()
    }
}

/// Opens a path and reads all its blocks.
pub(crate) fn read_all(path: &Path, verify: bool) -> Result<Vec<Transfer>, String> {
    let options = EraOptions {
        verify,
        ..EraOptions::default()
    };
    let source = open(path, &options).map_err(|error| error.to_string())?;
    let all = request(source.blocks().available());
    let (transfers, _) = scan(&source, &all).map_err(|error| error.to_string())?;
    Ok(transfers)
}
