//! Checks that every chain must pass.

use crate::raw::{Account, Block, Chain, account, be};
use alloy_consensus::{
    ReceiptWithBloom, Transaction as _, TxReceipt, proofs, transaction::SignerRecoverable,
};
use alloy_eips::{eip1559::BaseFeeParams, eip7840::BlobParams};
use alloy_primitives::{Address, B256, Bloom, U256, keccak256};
use roaring::RoaringTreemap;
use std::{collections::BTreeMap, path::Path};
use txgraph_chaingen::Layout;

/// Runs all checks, and returns the chain for further ones.
pub(crate) fn verify(folder: &Path, layout: Layout) -> Chain {
    let chain = Chain::read(folder, layout == Layout::V2);
    verify_blocks(&chain.blocks);
    verify_tables(&chain, layout);
    verify_accounts(&chain, layout);
    verify_history(&chain, layout);
    chain
}

pub(crate) fn verify_blocks(blocks: &[Block]) {
    let mut next_tx = 0;
    for (number, block) in (0..).zip(blocks) {
        let Block {
            header,
            transactions,
            receipts,
            ..
        } = block;
        assert_eq!(header.number, number);
        assert_eq!(header.hash_slow(), block.hash, "hash of block {number}");
        assert_eq!(block.first_tx, next_tx);
        next_tx += transactions.len() as u64;
        if number > 0 {
            verify_parent(&blocks[number as usize - 1], block);
        }
        assert_eq!(
            proofs::calculate_transaction_root(transactions),
            header.transactions_root
        );
        assert_eq!(receipts.len(), transactions.len());
        let with_bloom: Vec<ReceiptWithBloom<_>> = receipts
            .iter()
            .cloned()
            .map(TxReceipt::into_with_bloom)
            .collect();
        assert_eq!(
            proofs::calculate_receipt_root(&with_bloom),
            header.receipts_root
        );
        let bloom = with_bloom
            .iter()
            .fold(Bloom::ZERO, |all, receipt| all | receipt.logs_bloom);
        assert_eq!(bloom, header.logs_bloom);
        let gas = receipts
            .last()
            .map_or(0, |receipt| receipt.cumulative_gas_used);
        assert_eq!(gas, header.gas_used);
        assert!(gas <= header.gas_limit);
        if let Some(root) = header.withdrawals_root {
            assert_eq!(proofs::calculate_withdrawals_root(&block.withdrawals), root);
        }
        let mut gas_before = 0;
        for ((tx, receipt), sender) in transactions.iter().zip(receipts).zip(&block.senders) {
            assert_eq!(tx.recover_signer().unwrap(), *sender);
            assert_eq!(tx.tx_type(), receipt.tx_type);
            assert!(tx.max_fee_per_gas() >= u128::from(header.base_fee_per_gas.unwrap()));
            let used = receipt.cumulative_gas_used - gas_before;
            assert!((21_000..=tx.gas_limit()).contains(&used) && tx.gas_limit() < 1 << 24);
            gas_before = receipt.cumulative_gas_used;
            assert!(receipt.success || receipt.logs.is_empty());
        }
        let blobs: u64 = transactions
            .iter()
            .filter_map(|tx| tx.blob_count())
            .sum::<u64>()
            * (1 << 17);
        assert_eq!(header.blob_gas_used.unwrap_or_default(), blobs);
    }
}

fn verify_parent(parent: &Block, block: &Block) {
    let (parent, header) = (&parent.header, &block.header);
    assert_eq!(header.parent_hash, parent.hash_slow());
    assert_eq!(header.timestamp, parent.timestamp + 12);
    assert_eq!(
        header.base_fee_per_gas,
        parent.next_block_base_fee(BaseFeeParams::ethereum()),
        "base fee of block {}",
        header.number
    );
    // Forks begin in order and stay.
    assert!(parent.withdrawals_root.is_none() || header.withdrawals_root.is_some());
    assert_eq!(
        header.excess_blob_gas.is_some(),
        header.parent_beacon_block_root.is_some()
    );
    if let Some(excess) = header.excess_blob_gas
        && parent.excess_blob_gas.is_some()
    {
        let params = match header.number {
            48.. => BlobParams::osaka(),
            32.. => BlobParams::prague(),
            _ => BlobParams::cancun(),
        };
        assert_eq!(Some(excess), parent.next_block_excess_blob_gas(params));
    }
}

fn verify_tables(chain: &Chain, layout: Layout) {
    let Chain { tables, blocks, .. } = chain;
    let txs: u64 = blocks
        .iter()
        .map(|block| block.transactions.len() as u64)
        .sum();
    assert_eq!(tables.rows("HeaderNumbers").len(), blocks.len());
    assert_eq!(tables.rows("BlockBodyIndices").len(), blocks.len());
    for block in blocks {
        let number = block.header.number.to_le_bytes();
        assert_eq!(
            tables.get("HeaderNumbers", block.hash.as_slice()),
            Some(&number[..])
        );
        if let Some(last) = (block.transactions.len() as u64).checked_sub(1) {
            let key = be(block.first_tx + last);
            assert_eq!(tables.get("TransactionBlocks", &key), Some(&number[..]));
        }
    }
    let filled = blocks
        .iter()
        .filter(|block| !block.transactions.is_empty())
        .count();
    assert_eq!(tables.rows("TransactionBlocks").len(), filled);
    let paid = blocks
        .iter()
        .filter(|block| !block.withdrawals.is_empty())
        .count();
    assert_eq!(tables.rows("BlockWithdrawals").len(), paid);
    let in_v1 = if layout == Layout::V1 {
        txs as usize
    } else {
        0
    };
    assert_eq!(tables.rows("TransactionSenders").len(), in_v1);
    assert_eq!(tables.rows("TransactionHashNumbers").len(), in_v1);
    if layout == Layout::V1 {
        for block in blocks {
            for (tx, transaction) in (block.first_tx..).zip(&block.transactions) {
                let found = tables.get("TransactionHashNumbers", transaction.tx_hash().as_slice());
                assert_eq!(found, Some(&tx.to_le_bytes()[..]));
            }
        }
    }
    for empty in ["Headers", "Transactions", "Receipts", "CanonicalHeaders"] {
        assert!(tables.rows(empty).is_empty(), "{empty}");
    }
}

/// In v1, the history of each account has the blocks whose change sets have it.
fn verify_history(chain: &Chain, layout: Layout) {
    let mut changed: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
    for (block, before) in (0..).zip(&chain.before) {
        for (address, _) in before {
            changed.entry(address.as_slice()).or_default().push(block);
        }
    }
    if layout == Layout::V2 {
        changed.clear();
    }
    let mut indexed: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
    for (key, value) in chain.tables.rows("AccountsHistory") {
        let blocks = RoaringTreemap::deserialize_from(&value[..]).unwrap();
        indexed.entry(&key[..20]).or_default().extend(blocks);
    }
    assert_eq!(indexed, changed);
}

/// The accounts follow from the transactions, and the change sets lead back to the empty
/// state.
fn verify_accounts(chain: &Chain, layout: Layout) {
    let rows = |table: &str| -> BTreeMap<B256, Account> {
        let rows = chain.tables.rows(table).iter();
        rows.map(|(key, value)| {
            let key = if key.len() == 20 {
                keccak256(key)
            } else {
                B256::from_slice(key)
            };
            (key, account(value))
        })
        .collect()
    };
    let mut accounts = rows("HashedAccounts");
    let plain = rows("PlainAccountState");
    if layout == Layout::V1 {
        assert_eq!(plain, accounts);
    } else {
        assert!(plain.is_empty());
    }

    let mut sent: BTreeMap<Address, u64> = BTreeMap::new();
    let (mut burnt, mut created) = (U256::ZERO, U256::ZERO);
    for block in &chain.blocks {
        for (tx, sender) in block.transactions.iter().zip(&block.senders) {
            let nonce = sent.entry(*sender).or_default();
            assert_eq!(tx.nonce(), *nonce, "nonce of {sender} in {}", tx.tx_hash());
            *nonce += 1;
        }
        let base_fee = U256::from(block.header.base_fee_per_gas.unwrap());
        burnt += base_fee * U256::from(block.header.gas_used);
        let blob_gas = block.header.blob_gas_used.unwrap_or_default();
        if blob_gas > 0 {
            // There are so few blobs that their fee stays at its minimum.
            assert!(block.header.excess_blob_gas.unwrap() < 3_000_000);
            burnt += U256::from(blob_gas);
        }
        for withdrawal in &block.withdrawals {
            created += U256::from(withdrawal.amount) * U256::from(1_000_000_000);
        }
    }
    for (sender, nonce) in &sent {
        assert_eq!(accounts[&keccak256(sender)].nonce, *nonce);
    }
    let total = |accounts: &BTreeMap<B256, Account>| -> U256 {
        accounts.values().map(|account| account.balance).sum()
    };
    let at_tip = total(&accounts);

    let mut at_genesis = U256::ZERO;
    for (block, before) in chain.before.iter().enumerate().rev() {
        if block == 0 {
            at_genesis = total(&accounts);
        }
        assert!(
            before.is_sorted_by_key(|change| change.0),
            "changes of block {block}"
        );
        for (address, account) in before {
            let hashed = keccak256(address);
            let now = match account {
                Some(account) => accounts.insert(hashed, *account),
                None => accounts.remove(&hashed),
            };
            assert_ne!(now, *account, "block {block} did not change {address}");
        }
    }
    assert!(accounts.is_empty(), "accounts that nothing created");
    assert_eq!(
        at_tip,
        at_genesis + created - burnt,
        "coins are neither lost nor found"
    );
}
