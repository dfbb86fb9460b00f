//! Single transactions on a state of a few accounts, as bundles: rules that depend on what a
//! bundle lists.

use crate::bundles::{options, replay};
use alloy_consensus::{
    EthereumTxEnvelope, Header, Signed, TxLegacy, proofs, transaction::SignerRecoverable,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, bytes, keccak256};
use txgraph_block::BlockRules;
use txgraph_bundle::{Bundle, BundleWriter, BundledBlock, BundledChain, FlatAccount, FlatState};
use txgraph_evm::{Account, BlobSchedule, Fork};
use txgraph_replay::{BlockReplay, Error, ReplayOptions};

const CONTRACT: Address = Address::repeat_byte(0xcc);
const OTHER: Address = Address::repeat_byte(0xdd);
/// The order of secp256k1.
const ORDER: U256 = U256::from_be_bytes(alloy_primitives::hex!(
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
));

/// A block with one call of `CONTRACT`, and its sender. The signature is made up: it belongs to
/// the sender that is recovered. Its `s` is in the upper half, as was valid before Homestead.
fn block() -> (BundledBlock, Address) {
    let call = TxLegacy {
        gas_price: 1,
        gas_limit: 100_000,
        to: TxKind::Call(CONTRACT),
        ..TxLegacy::default()
    };
    let signed = |r: u64| {
        let signature = Signature::new(U256::from(r), ORDER - U256::from(5), false);
        let signed = Signed::new_unhashed(call.clone(), signature);
        let signed = EthereumTxEnvelope::Legacy(signed);
        let sender = signed.recover_signer_unchecked().ok()?;
        Some((signed, sender))
    };
    // Not every number is the x of a point.
    let (signed, sender) = (1..).find_map(signed).unwrap();
    assert!(signed.signature().normalize_s().is_some() && signed.recover_signer().is_err());
    let transactions = vec![signed];
    let header = Header {
        number: 5,
        gas_limit: 1_000_000,
        difficulty: U256::from(1),
        transactions_root: proofs::calculate_transaction_root(&transactions),
        ..Header::default()
    };
    let block = BundledBlock {
        hash: header.hash_slow(),
        header,
        transactions,
        ommers: Vec::new(),
        withdrawals: Vec::new(),
    };
    (block, sender)
}

fn account(balance: u64, code: &Bytes) -> FlatAccount {
    FlatAccount {
        account: Account {
            balance: U256::from(balance),
            nonce: 0,
            code_hash: keccak256(code),
        },
        ..FlatAccount::default()
    }
}

/// Calls a contract that runs `code`; `other` is the account `OTHER`.
fn call(
    fork: Fork,
    code: Bytes,
    other: Option<FlatAccount>,
    options: ReplayOptions,
) -> Result<BlockReplay, Error> {
    let (block, sender) = block();
    let mut state = FlatState::default();
    state.codes.insert(keccak256(&code), code.clone());
    for (address, account) in [
        (sender, Some(account(1_000_000, &Bytes::new()))),
        (CONTRACT, Some(account(0, &code))),
        (OTHER, other),
        (Address::ZERO, None),
    ] {
        state.accounts.insert(address, account);
    }
    let chain = BundledChain {
        id: 1,
        genesis_hash: Some(B256::repeat_byte(7)),
        rules: Some(BlockRules {
            fork,
            blobs: BlobSchedule::CANCUN,
            moves_dao: false,
            deposit_contract: Address::ZERO,
        }),
    };
    let directory = tempfile::tempdir().unwrap();
    let path = BundleWriter::new(directory.path(), false)
        .unwrap()
        .write(&chain, &block, &state)
        .unwrap();
    let replay = replay(&Bundle::open(&path).unwrap(), options)?;
    assert_eq!(replay.transactions[0].transaction.caller, sender);
    Ok(replay)
}

/// `CALL(gas, OTHER, value)` without data.
fn calling(value: u8) -> Bytes {
    let mut code = vec![0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, value, 0x73];
    code.extend(OTHER);
    code.extend(bytes!("5af100"));
    code.into()
}

/// Before EIP-161 an account with nonce 0 and balance 0 may exist, and a call of it does not pay
/// for a new account. A bundle lists it, or has `null` (block 2,674,998 of mainnet).
#[test]
fn listed_empty_account_exists_before_eip_161() {
    let gas = |fork, other: Option<FlatAccount>| {
        let replay = call(fork, calling(0), other, options()).unwrap();
        assert!(replay.transactions[0].outcome.is_success());
        replay.transactions[0].outcome.gas_used
    };
    let empty = || Some(account(0, &Bytes::new()));
    assert_eq!(
        gas(Fork::TangerineWhistle, None),
        gas(Fork::TangerineWhistle, empty()) + 25_000
    );
    assert_eq!(
        gas(Fork::SpuriousDragon, None),
        gas(Fork::SpuriousDragon, empty())
    );
}

/// The block of these tests: its signature has a high `s` (block 116,525 of mainnet).
#[test]
fn high_s_before_homestead_is_recovered() {
    let replay = call(Fork::Frontier, bytes!("00"), None, options()).unwrap();
    assert!(replay.transactions[0].outcome.is_success());
}

/// An account whose code is not in the bundle: a call that cannot begin does not need it.
#[test]
fn code_that_never_runs_may_be_absent() {
    let other = || Some(account(0, &bytes!("5b00")));
    for fork in [Fork::Byzantium, Fork::Cancun] {
        // The contract has no wei to send.
        let replay = call(fork, calling(1), other(), options()).unwrap();
        assert!(replay.transactions[0].outcome.is_success(), "{fork}");
        let error = call(fork, calling(0), other(), options()).unwrap_err();
        assert!(error.to_string().contains("the code with hash"), "{error}");
    }
}
