//! `check_transactions`: stored senders are the signers of their transactions.

use alloy_consensus::{
    SignableTransaction, TxLegacy,
    crypto::secp256k1::{public_key_to_address, sign_message},
};
use alloy_primitives::{Address, B256, Signature, TxKind, U256, uint};
use std::{ops::ControlFlow, path::Path};
use txgraph_nodedb::{
    BlockRange, DataDir, Error, NodeDb, Parts, Result, Scratch, SignedTransaction, fuzzing,
};
use txgraph_testkit::{edit, fixtures::committed};

const SENDERS: &str = "static_files/static_file_transaction-senders_0_499999";

/// Order of the curve secp256k1.
const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

/// Proves the transactions of all blocks, and nothing else.
fn check(dir: &Path) -> Result<u64> {
    let db = NodeDb::open(&DataDir::new(dir))?;
    let snapshot = db.snapshot()?;
    let whole = BlockRange::up_to(snapshot.tip());
    let mut checked = 0;
    snapshot.for_each_block(
        whole,
        Parts::default(),
        &mut Scratch::default(),
        &mut |block| {
            block.check_transactions()?;
            checked += block.body.tx_count;
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(checked)
}

/// Block and index of a transaction by its number.
fn position(dir: &Path, tx: u64) -> (u64, u32) {
    let db = NodeDb::open(&DataDir::new(dir)).unwrap();
    let snapshot = db.snapshot().unwrap();
    (0..=snapshot.tip())
        .find_map(|block| {
            let body = snapshot.body(block).unwrap();
            let index = tx.checked_sub(body.first_tx)?;
            (index < body.tx_count).then_some((block, index as u32))
        })
        .unwrap()
}

#[test]
fn rejects_a_changed_sender_in_both_layouts() {
    for (fixture, is_v2) in committed().iter().zip([false, true]) {
        let copy = fixture.unpack();
        assert_eq!(check(copy.path()).unwrap(), 521);
        for tx in [0, 199, 520] {
            let copy = fixture.unpack();
            let wrong = Address::repeat_byte(0xee);
            if is_v2 {
                let jar = copy.path().join(SENDERS);
                edit::write_at(&jar, tx * 20, wrong.as_slice());
            } else {
                let key = tx.to_be_bytes();
                edit::put(copy.path(), "TransactionSenders", &key, wrong.as_slice());
            }
            let error = check(copy.path()).unwrap_err();
            let at = position(copy.path(), tx);
            let Error::WrongSender {
                block,
                index,
                stored,
                recovered,
            } = error
            else {
                panic!("{error}")
            };
            assert_eq!((block, index), at, "{}", fixture.name);
            assert_eq!(stored, wrong);
            assert_ne!(recovered, wrong);
            let text = error.to_string();
            for part in [
                format!("transaction {index} of block {block}"),
                stored.to_string(),
                recovered.to_string(),
            ] {
                assert!(text.contains(&part), "{text}");
            }
        }
    }
}

#[test]
fn proves_transactions_where_no_sender_is_stored() {
    let [v1, _] = committed();
    let copy = v1.unpack();
    edit::clear(copy.path(), "TransactionSenders");
    assert_eq!(check(copy.path()).unwrap(), 521);
}

#[test]
fn rejects_a_changed_signature() {
    let [_, v2] = committed();
    let copy = v2.unpack();
    let path = copy
        .path()
        .join("static_files/static_file_transactions_0_499999");
    // `r` of the first transaction.
    edit::flip(&path, 5, 1);
    let error = check(copy.path()).unwrap_err();
    assert!(
        matches!(&error, Error::Inconsistent { what, .. } if what.contains("transactions root")),
        "{error}"
    );
}

/// Before Homestead (EIP-2) both `s` and its negative were valid; before EIP-155 there was
/// no chain id.
#[test]
fn recovers_signers_of_every_era() {
    let key = secp256k1::SecretKey::from_slice(&[7; 32]).unwrap();
    let signer = public_key_to_address(key.public_key(secp256k1::SECP256K1));
    for chain_id in [None, Some(1)] {
        for nonce in 0..20 {
            let tx = TxLegacy {
                chain_id,
                nonce,
                to: TxKind::Call(Address::repeat_byte(1)),
                value: U256::from(5),
                ..TxLegacy::default()
            };
            let signature = sign_message(B256::repeat_byte(7), tx.signature_hash()).unwrap();
            let negated = Signature::new(signature.r(), ORDER - signature.s(), !signature.v());
            for signature in [signature, negated] {
                let signed = SignedTransaction::from(tx.clone().into_signed(signature));
                assert_eq!(fuzzing::sender(&signed), Ok(signer));
            }
        }
    }
}
