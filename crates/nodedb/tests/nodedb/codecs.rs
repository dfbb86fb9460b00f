//! Decoders, compared with reth's encoders and decoders, and with arbitrary bytes.

use alloy_consensus::{
    EthereumReceipt, Header, Signed, Transaction as _, TxEip1559, TxEip2930, TxEip4844, TxEip7702,
    TxLegacy, TxType,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, Log, Signature, TxKind, U256};
use proptest::{collection::vec, option, prelude::*};
use reth_codecs::Compact;
use txgraph_nodedb::{
    SignedTransaction, TransactionValue,
    fuzzing::{self, Buffers},
};

pub(crate) fn b256() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

pub(crate) fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

pub(crate) fn bytes(len_max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..=len_max).prop_map(Bytes::from)
}

/// All widths are equally likely, so that integers of every length occur.
pub(crate) fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..=64).prop_map(|(n, cut)| n.checked_shr(cut).unwrap_or(0))
}

pub(crate) fn wide() -> impl Strategy<Value = u128> {
    (any::<u128>(), 0u32..=128).prop_map(|(n, cut)| n.checked_shr(cut).unwrap_or(0))
}

pub(crate) fn u256() -> impl Strategy<Value = U256> {
    (any::<[u8; 32]>(), 0usize..=256).prop_map(|(n, cut)| U256::from_be_bytes(n) >> cut)
}

pub(crate) fn log() -> impl Strategy<Value = Log> {
    (address(), vec(b256(), 0..=4), bytes(300))
        .prop_map(|(address, topics, data)| Log::new_unchecked(address, topics, data))
}

pub(crate) fn receipt() -> impl Strategy<Value = EthereumReceipt<TxType>> {
    (0u8..5, any::<bool>(), number(), vec(log(), 0..6)).prop_map(
        |(tx_type, success, cumulative_gas_used, logs)| EthereumReceipt {
            tx_type: TxType::try_from(tx_type).unwrap(),
            success,
            cumulative_gas_used,
            logs,
        },
    )
}

fn signature() -> impl Strategy<Value = Signature> {
    (u256(), u256(), any::<bool>()).prop_map(|(r, s, parity)| Signature::new(r, s, parity))
}

fn access_list() -> impl Strategy<Value = AccessList> {
    let item = (address(), vec(b256(), 0..4)).prop_map(|(address, storage_keys)| AccessListItem {
        address,
        storage_keys,
    });
    vec(item, 0..4).prop_map(AccessList)
}

fn authorizations() -> impl Strategy<Value = Vec<SignedAuthorization>> {
    let item = (u256(), address(), number(), any::<u8>(), u256(), u256()).prop_map(
        |(chain_id, address, nonce, y_parity, r, s)| {
            let authorization = Authorization {
                chain_id,
                address,
                nonce,
            };
            SignedAuthorization::new_unchecked(authorization, y_parity, r, s)
        },
    );
    vec(item, 0..4)
}

fn to() -> impl Strategy<Value = TxKind> {
    option::of(address()).prop_map(|to| to.map_or(TxKind::Create, TxKind::Call))
}

prop_compose! {
    fn legacy()(
        chain_id in option::of(number()),
        nonce in number(),
        gas_price in wide(),
        gas_limit in number(),
        to in to(),
        value in u256(),
        input in bytes(100),
        signature in signature(),
    ) -> SignedTransaction {
        let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
        Signed::new_unhashed(tx, signature).into()
    }
}

prop_compose! {
    fn eip2930()(
        chain_id in number(),
        nonce in number(),
        gas_price in wide(),
        gas_limit in number(),
        to in to(),
        value in u256(),
        access_list in access_list(),
        input in bytes(100),
        signature in signature(),
    ) -> SignedTransaction {
        let tx = TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
        Signed::new_unhashed(tx, signature).into()
    }
}

prop_compose! {
    fn later()(
        tx_type in 2u8..5,
        (chain_id, nonce, gas_limit) in (number(), number(), number()),
        (max_fee_per_gas, max_priority_fee_per_gas, max_fee_per_blob_gas) in (wide(), wide(), wide()),
        kind in to(),
        to in address(),
        value in u256(),
        access_list in access_list(),
        blob_versioned_hashes in vec(b256(), 0..4),
        authorization_list in authorizations(),
        input in bytes(100),
        signature in signature(),
    ) -> SignedTransaction {
        match tx_type {
            2 => Signed::new_unhashed(TxEip1559 {
                chain_id, nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, to: kind,
                value, access_list, input,
            }, signature).into(),
            3 => Signed::new_unhashed(TxEip4844 {
                chain_id, nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, to, value,
                access_list, blob_versioned_hashes, max_fee_per_blob_gas, input,
            }, signature).into(),
            _ => Signed::new_unhashed(TxEip7702 {
                chain_id, nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, to, value,
                access_list, authorization_list, input,
            }, signature).into(),
        }
    }
}

pub(crate) fn transaction() -> impl Strategy<Value = SignedTransaction> {
    prop_oneof![legacy(), eip2930(), later(), later(), later()]
}

prop_compose! {
    fn header()(
        (parent_hash, ommers_hash, state_root, mix_hash) in (b256(), b256(), b256(), b256()),
        (transactions_root, receipts_root) in (b256(), b256()),
        (beneficiary, bloom) in (address(), any::<u8>()),
        (difficulty, nonce) in (u256(), number()),
        (number, gas_limit, gas_used, timestamp) in (number(), number(), number(), number()),
        (base_fee_per_gas, blob_gas_used, excess_blob_gas, slot_number) in
            (option::of(number()), option::of(number()), option::of(number()), option::of(number())),
        (withdrawals_root, parent_beacon_block_root, requests_hash, block_access_list_hash) in
            (option::of(b256()), option::of(b256()), option::of(b256()), option::of(b256())),
        extra_data in bytes(40),
    ) -> Header {
        Header {
            parent_hash, ommers_hash, beneficiary, state_root, transactions_root, receipts_root,
            logs_bloom: Bloom::repeat_byte(bloom), difficulty, number, gas_limit, gas_used,
            timestamp, extra_data, mix_hash, nonce: B64::from(nonce), base_fee_per_gas,
            withdrawals_root, blob_gas_used, excess_blob_gas, parent_beacon_block_root,
            requests_hash, block_access_list_hash, slot_number,
        }
    }
}

fn encoded(value: &impl Compact) -> Vec<u8> {
    let mut row = Vec::new();
    value.to_compact(&mut row);
    row
}

fn receipt_equals(found: &txgraph_nodedb::Receipt<'_>, expected: &EthereumReceipt<TxType>) {
    assert_eq!(found.tx_type, expected.tx_type as u8);
    assert_eq!(found.success, expected.success);
    assert_eq!(found.cumulative_gas_used, expected.cumulative_gas_used);
    assert_eq!(found.log_count as usize, expected.logs.len());
    for (found, expected) in found.logs().zip(&expected.logs) {
        assert_eq!(*found.address, expected.address);
        assert!(
            found
                .topics
                .iter()
                .eq(expected.topics().iter().map(|topic| &topic.0))
        );
        assert_eq!(found.data, &expected.data.data[..]);
    }
}

/// Checks that the hash is the same with and without decoding, or an error in both.
fn hashes_agree(row: &[u8], buffers: &mut Buffers) {
    let decoded = fuzzing::transaction(row, buffers);
    let hash = fuzzing::transaction_hash(row, buffers);
    assert_eq!(hash.ok(), decoded.as_ref().ok().map(|tx| *tx.tx_hash()));
    // Reads less, so it may succeed where the rest is damaged.
    if let Ok(tx) = decoded {
        let value = fuzzing::transaction_value(row, buffers).unwrap();
        assert_eq!(value.map_or(U256::ZERO, |found| found.value), tx.value());
    }
}

fn decode_as_everything(row: &[u8], buffers: &mut Buffers) {
    if let Ok(receipt) = fuzzing::receipt(row, buffers) {
        assert_eq!(receipt.logs().count(), receipt.log_count as usize);
    }
    hashes_agree(row, buffers);
    let _ = fuzzing::header(row, B256::ZERO);
    fuzzing::other_values(row);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn decodes_receipts(receipt in receipt()) {
        let row = encoded(&receipt);
        receipt_equals(&fuzzing::receipt(&row, &mut Buffers::default()).unwrap(), &receipt);
    }

    #[test]
    fn decodes_transactions(tx in transaction()) {
        let row = encoded(&tx);
        let mut buffers = Buffers::default();
        prop_assert_eq!(fuzzing::transaction_hash(&row, &mut buffers), Ok(*tx.tx_hash()));
        let value = TransactionValue {
            nonce: tx.nonce(),
            to: tx.to(),
            value: tx.value(),
            deposit: None,
        };
        let value = (!tx.value().is_zero()).then_some(value);
        prop_assert_eq!(fuzzing::transaction_value(&row, &mut buffers), Ok(value));
        prop_assert_eq!(fuzzing::transaction(&row, &mut buffers).unwrap(), tx);
    }

    #[test]
    fn decodes_headers(header in header()) {
        let hash = header.hash_slow();
        let found = fuzzing::header(&encoded(&header), hash).unwrap();
        prop_assert_eq!(found.recompute_hash(), hash);
        prop_assert_eq!(found.fields, header);
    }

    /// Arbitrary bytes give a value or an error, never a panic.
    #[test]
    fn arbitrary_bytes_never_panic(row in vec(any::<u8>(), 0..400)) {
        decode_as_everything(&row, &mut Buffers::default());
    }

    /// Valid rows with one changed byte, or truncated.
    #[test]
    fn damaged_rows_never_panic(
        receipt in receipt(),
        tx in transaction(),
        header in header(),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
        cut in any::<bool>(),
    ) {
        let mut buffers = Buffers::default();
        for mut row in [encoded(&receipt), encoded(&tx), encoded(&header)] {
            let at = at.index(row.len());
            if cut { row.truncate(at) } else { row[at] ^= flip }
            decode_as_everything(&row, &mut buffers);
        }
    }
}
