//! The decoders of op-reth's rows, compared with the codec of `op-alloy-consensus`, and with
//! rows of the other layout.

use crate::codecs::{address, b256, bytes, log, number, receipt, transaction, u256, wide};
use alloy_consensus::{Receipt, Sealed, Transaction as _, TxReceipt, Typed2718, proofs};
use alloy_eips::{Decodable2718, Encodable2718};
use alloy_primitives::{B256, Bytes, Log, TxKind};
use op_alloy_consensus::{
    OpDepositReceipt, OpReceipt, OpTxEnvelope, TxDeposit,
    post_exec::{SDMGasEntry, build_post_exec_tx},
};
use proptest::{collection::vec, option, prelude::*};
use reth_codecs_op::Compact;
use txgraph_nodedb::{
    DepositValue, SignedTransaction, StoredTransaction, TransactionValue,
    fuzzing::{self, Buffers},
};
use txgraph_testkit::or_skip;

/// Every combination of type and deposit fields that op-reth can store.
fn op_receipt(gas: impl Strategy<Value = u64>) -> impl Strategy<Value = OpReceipt> {
    let deposit_fields = option::of((number(), option::of(number())));
    (0u8..6, any::<bool>(), gas, vec(log(), 0..6), deposit_fields).prop_map(
        |(kind, success, cumulative_gas_used, logs, fields)| {
            let inner = Receipt {
                status: success.into(),
                cumulative_gas_used,
                logs,
            };
            match kind {
                0 => OpReceipt::Legacy(inner),
                1 => OpReceipt::Eip2930(inner),
                2 => OpReceipt::Eip1559(inner),
                3 => OpReceipt::Eip7702(inner),
                4 => OpReceipt::PostExec(inner),
                _ => OpReceipt::Deposit(OpDepositReceipt {
                    inner,
                    deposit_nonce: fields.map(|(nonce, _)| nonce),
                    deposit_receipt_version: fields.and_then(|(_, version)| version),
                }),
            }
        },
    )
}

fn encoded(value: &impl Compact) -> Vec<u8> {
    let mut row = Vec::new();
    value.to_compact(&mut row);
    row
}

/// Decodes a row, and compares every field with the receipt.
fn check_receipt(row: &[u8], expected: &OpReceipt) {
    let mut buffers = Buffers::op_stack();
    let found = fuzzing::receipt(row, &mut buffers).unwrap();
    assert_eq!(found.tx_type, expected.ty());
    assert_eq!(found.success, expected.status());
    assert_eq!(found.cumulative_gas_used, expected.cumulative_gas_used());
    let (nonce, version) = match expected {
        OpReceipt::Deposit(deposit) => (deposit.deposit_nonce, deposit.deposit_receipt_version),
        _ => (None, None),
    };
    assert_eq!(
        (found.deposit_nonce, found.deposit_version),
        (nonce, version)
    );
    let logs: Vec<Log> = found.to_logs().unwrap();
    assert_eq!(logs, expected.as_receipt().logs);
}

prop_compose! {
    fn deposit()(
        source_hash in b256(),
        from in address(),
        to in option::of(address()),
        mint in wide(),
        value in u256(),
        gas_limit in number(),
        is_system_transaction in any::<bool>(),
        input in bytes(300),
    ) -> TxDeposit {
        let to = to.map_or(TxKind::Create, TxKind::Call);
        TxDeposit { source_hash, from, to, mint, value, gas_limit, is_system_transaction, input }
    }
}

fn op_transaction() -> impl Strategy<Value = OpTxEnvelope> {
    let entry =
        (number(), number()).prop_map(|(index, gas_refund)| SDMGasEntry { index, gas_refund });
    let refunds = (number(), vec(entry, 0..5))
        .prop_map(|(block, entries)| build_post_exec_tx(block, entries));
    let signed = transaction().prop_filter_map("the OP stack has no blobs", |tx| match tx {
        SignedTransaction::Legacy(it) => Some(OpTxEnvelope::Legacy(it)),
        SignedTransaction::Eip2930(it) => Some(OpTxEnvelope::Eip2930(it)),
        SignedTransaction::Eip1559(it) => Some(OpTxEnvelope::Eip1559(it)),
        SignedTransaction::Eip7702(it) => Some(OpTxEnvelope::Eip7702(it)),
        SignedTransaction::Eip4844(_) => None,
    });
    prop_oneof![
        2 => deposit().prop_map(|it| OpTxEnvelope::Deposit(Sealed::new(it))),
        1 => refunds.prop_map(|it| OpTxEnvelope::PostExec(Sealed::new(it))),
        2 => signed,
    ]
}

proptest! {
    #[test]
    fn decodes_op_receipts(receipt in op_receipt(number())) {
        check_receipt(&encoded(&receipt), &receipt);
    }

    #[test]
    fn decodes_op_transactions(tx in op_transaction()) {
        let row = encoded(&tx);
        let mut buffers = Buffers::op_stack();
        let found = fuzzing::stored_transaction(&row, &mut buffers).unwrap();
        prop_assert_eq!(found.encoded_2718(), tx.encoded_2718());
        prop_assert_eq!(found.encode_2718_len(), tx.encode_2718_len());
        prop_assert_eq!(found.ty(), tx.ty());
        prop_assert_eq!(found.hash(), tx.trie_hash());
        prop_assert_eq!(fuzzing::transaction_hash(&row, &mut buffers), Ok(tx.trie_hash()));
        let (mint, deposit) = match &tx {
            OpTxEnvelope::Deposit(it) => {
                (it.mint, Some(DepositValue { from: it.from, mint: it.mint }))
            }
            _ => (0, None),
        };
        let value = (!tx.value().is_zero() || mint != 0).then(|| TransactionValue {
            nonce: tx.nonce(),
            to: tx.to(),
            value: tx.value(),
            deposit,
        });
        prop_assert_eq!(fuzzing::transaction_value(&row, &mut buffers), Ok(value));
    }

    /// A transaction costs at least 21,000 gas. Deposits and types from 3 on are refused with
    /// any gas.
    #[test]
    fn op_receipts_are_refused_as_ethereum(receipt in op_receipt(21_000u64..1 << 32)) {
        let row = encoded(&receipt);
        prop_assert!(fuzzing::receipt(&row, &mut Buffers::default()).is_err());
    }

    #[test]
    fn op_deposits_are_refused_as_ethereum(mut receipt in op_receipt(number())) {
        if !matches!(receipt.ty(), 0..=2) {
            let row = encoded(&receipt);
            prop_assert!(fuzzing::receipt(&row, &mut Buffers::default()).is_err());
        }
        if let OpReceipt::Deposit(deposit) = &mut receipt {
            deposit.deposit_nonce = Some(1);
            let row = encoded(&receipt);
            prop_assert_eq!(
                fuzzing::receipt(&row, &mut Buffers::default()).unwrap_err(),
                "a zstd frame is expected"
            );
        }
    }

    #[test]
    fn ethereum_receipts_are_refused_as_op(receipt in receipt()) {
        let mut row = Vec::new();
        reth_codecs::Compact::to_compact(&receipt, &mut row);
        prop_assert!(fuzzing::receipt(&row, &mut Buffers::op_stack()).is_err());
    }

    #[test]
    fn op_transactions_are_refused_as_ethereum(tx in op_transaction()) {
        let row = encoded(&tx);
        let found = fuzzing::stored_transaction(&row, &mut Buffers::default());
        // The other types are stored alike.
        prop_assert_eq!(found.is_err(), matches!(tx.ty(), 0x7d | 0x7e));
    }

    /// Arbitrary bytes, and valid rows with one changed byte or truncated.
    #[test]
    fn damaged_op_rows_never_panic(
        receipt in op_receipt(number()),
        tx in op_transaction(),
        noise in vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
        cut in any::<bool>(),
    ) {
        let mut buffers = Buffers::op_stack();
        for mut row in [encoded(&receipt), encoded(&tx), noise] {
            if !row.is_empty() {
                let at = at.index(row.len());
                if cut { row.truncate(at) } else { row[at] ^= flip }
            }
            if let Ok(receipt) = fuzzing::receipt(&row, &mut buffers) {
                assert_eq!(receipt.logs().count(), receipt.log_count as usize);
            }
            let decoded = fuzzing::stored_transaction(&row, &mut buffers);
            let hash = fuzzing::transaction_hash(&row, &mut buffers).ok();
            assert_eq!(hash, decoded.as_ref().ok().map(txgraph_nodedb::StoredTransaction::hash));
            let _ = fuzzing::transaction_value(&row, &mut buffers);
        }
    }
}

/// Two bytes of flags. Bits 10 to 15 are unused.
#[test]
fn refuses_anomalous_op_receipts() {
    let refusal = |row: &[u8]| fuzzing::receipt(row, &mut Buffers::op_stack()).unwrap_err();
    // Type 2, success, three bytes of gas, no logs.
    let plain = [0b0001_1110, 0, 1, 2, 3, 0];
    assert!(fuzzing::receipt(&plain, &mut Buffers::op_stack()).is_ok());
    for bit in 2..8 {
        let mut row = plain;
        row[1] |= 1 << bit;
        assert_eq!(refusal(&row), "unused flag bits are set");
    }
    assert_eq!(
        refusal(&[0b1001_1110, 0, 1, 2, 3, 0, 1, 9]),
        "the receipt has the fields of a deposit, but is of another type"
    );
    assert_eq!(
        refusal(&[0b0001_1111, 1, 0x7e, 1, 2, 3, 0, 1, 9]),
        "the receipt of a deposit has a version and no nonce"
    );
    assert_eq!(
        refusal(&[0b0001_1111, 0, 3, 1, 2, 3, 0]),
        "a blob transaction, which the OP stack does not have"
    );
    // A deposit with a nonce, and a byte too many.
    let row = [0b1001_1111, 0, 0x7e, 1, 2, 3, 0, 1, 9, 0];
    assert_eq!(refusal(&row), "bytes follow the end of the value");
}

/// 202 receipts of block 42,969,982 of Base.
#[test]
fn receipts_of_a_base_block_round_trip() {
    let receipts = or_skip!(txgraph_testkit::op::base_receipts());
    let receipts = receipts.iter().map(txgraph_chaingen::op_receipt);
    let receipts: Vec<OpReceipt> = receipts.collect::<Result<_, _>>().unwrap();
    assert_eq!(receipts.len(), 202);
    assert_eq!(receipts[0].ty(), 0x7e);
    for receipt in &receipts {
        let row = encoded(receipt);
        check_receipt(&row, receipt);
        assert!(fuzzing::receipt(&row, &mut Buffers::default()).is_err());
    }
}

/// The transactions of a block of Base Sepolia after Isthmus have the root of its header.
#[test]
fn transactions_of_a_base_sepolia_block_round_trip() {
    let (header, envelopes) = or_skip!(txgraph_testkit::op::base_sepolia_block());
    let mut buffers = Buffers::op_stack();
    let decoded: Vec<StoredTransaction> = envelopes
        .iter()
        .map(|envelope| {
            let bytes: Bytes = envelope.as_str().unwrap().parse().unwrap();
            let row = encoded(&OpTxEnvelope::decode_2718(&mut &bytes[..]).unwrap());
            let found = fuzzing::stored_transaction(&row, &mut buffers).unwrap();
            assert_eq!(found.encoded_2718(), bytes);
            found
        })
        .collect();
    assert_eq!(decoded.len(), 20);
    assert_eq!(decoded[0].ty(), 0x7e);
    let root: B256 = header["transactionsRoot"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(proofs::calculate_transaction_root(&decoded), root);
}
