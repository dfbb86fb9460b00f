//! Converts signed transactions to the input of the interpreter.

use alloy_consensus::{
    EthereumTxEnvelope, Transaction as _, TxEip4844, TxType, crypto::secp256k1::recover_signer,
};
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, U256};
use txgraph_evm::{AccessListItem, Authorization, Transaction, TransactionType};

/// Converts a signed transaction of `caller`. Recovers the signers of its authorizations.
pub fn evm_transaction(signed: &EthereumTxEnvelope<TxEip4844>, caller: Address) -> Transaction {
    let transaction_type = match signed.tx_type() {
        TxType::Legacy => TransactionType::Legacy,
        TxType::Eip2930 => TransactionType::AccessList,
        TxType::Eip1559 => TransactionType::DynamicFee,
        TxType::Eip4844 => TransactionType::Blob,
        TxType::Eip7702 => TransactionType::SetCode,
    };
    let access_list = signed.access_list().map(|list| list.iter());
    let authorizations = signed.authorization_list().unwrap_or_default();
    Transaction {
        transaction_type,
        caller,
        to: signed.to(),
        nonce: signed.nonce(),
        gas_limit: signed.gas_limit(),
        max_fee_per_gas: U256::from(signed.max_fee_per_gas()),
        max_priority_fee_per_gas: signed.max_priority_fee_per_gas().map(U256::from),
        value: signed.value(),
        input: signed.input().clone(),
        chain_id: signed.chain_id(),
        access_list: (access_list.into_iter().flatten())
            .map(|item| AccessListItem {
                address: item.address,
                storage_keys: item.storage_keys.clone(),
            })
            .collect(),
        blob_hashes: signed.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: U256::from(signed.max_fee_per_blob_gas().unwrap_or_default()),
        authorizations: authorizations.iter().map(evm_authorization).collect(),
    }
}

/// Converts an authorization. The authority is `None` if the signature breaks the rules of
/// EIP-7702: parity 0 or 1, `s` in the lower half.
pub fn evm_authorization(signed: &SignedAuthorization) -> Authorization {
    let authority = || {
        let signature = signed.signature().ok()?;
        recover_signer(&signature, signed.signature_hash()).ok()
    };
    Authorization {
        chain_id: signed.chain_id,
        address: signed.address,
        nonce: signed.nonce,
        authority: authority(),
    }
}
