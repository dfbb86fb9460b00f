//! Forks, blocks and transactions of `txgraph-evm` in the types of revm.

use alloy_primitives::{TxKind, U256};
use revm::{
    Context, Database, MainBuilder, MainContext, MainnetEvm,
    context::{
        BlockEnv, CfgEnv, TxEnv,
        transaction::{
            AccessList, AccessListItem, Authorization, RecoveredAuthority, RecoveredAuthorization,
        },
    },
    context_interface::{block::BlobExcessGasAndPrice, either::Either},
    handler::MainnetContext,
    primitives::hardfork::SpecId,
};
use txgraph_evm::{Block, Fork, Transaction, TransactionType};

/// Converts a fork. revm does not implement Constantinople, which no chain of value ran: the fork before it
/// has its prices.
pub const fn spec(fork: Fork) -> SpecId {
    match fork {
        Fork::Frontier => SpecId::FRONTIER,
        Fork::Homestead => SpecId::HOMESTEAD,
        Fork::TangerineWhistle => SpecId::TANGERINE,
        Fork::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Fork::Byzantium => SpecId::BYZANTIUM,
        Fork::Constantinople | Fork::Petersburg => SpecId::PETERSBURG,
        Fork::Istanbul => SpecId::ISTANBUL,
        Fork::Berlin => SpecId::BERLIN,
        Fork::London => SpecId::LONDON,
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka => SpecId::OSAKA,
        Fork::Amsterdam => SpecId::AMSTERDAM,
    }
}

/// Returns the chain id and the limits that are in force in a block.
pub fn configuration(fork: Fork, chain_id: u64, block: &Block) -> CfgEnv {
    let mut configuration = CfgEnv::new_with_spec(spec(fork));
    configuration.chain_id = chain_id;
    // EIP-7594 limits a transaction to six blobs, independently of the block.
    configuration.set_max_blobs_per_tx(if fork >= Fork::Osaka {
        block.blobs_max.min(6)
    } else {
        block.blobs_max
    });
    configuration
}

/// Creates revm for the transactions of a block.
pub(crate) fn mainnet<D: Database>(
    fork: Fork,
    chain_id: u64,
    block: &Block,
    database: D,
) -> MainnetEvm<MainnetContext<D>> {
    Context::mainnet()
        .with_cfg(configuration(fork, chain_id, block))
        .with_block(self::block(fork, block))
        .with_db(database)
        .build_mainnet()
}

/// Converts the environment that transactions see.
pub fn block(fork: Fork, block: &Block) -> BlockEnv {
    BlockEnv {
        number: U256::from(block.number),
        beneficiary: block.beneficiary,
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        basefee: block.base_fee.saturating_to(),
        difficulty: block.difficulty,
        prevrandao: (fork >= Fork::Paris).then_some(block.prevrandao),
        blob_excess_gas_and_price: (fork >= Fork::Cancun).then(|| BlobExcessGasAndPrice {
            excess_blob_gas: 0,
            blob_gasprice: block.blob_base_fee.saturating_to(),
        }),
        slot_num: block.slot_number,
    }
}

/// Converts a transaction. Fees saturate at 128 bits, the width of fees in revm and in stored
/// transactions: see [`fees_fit`].
pub fn transaction(transaction: &Transaction) -> TxEnv {
    let access_list = transaction.access_list.iter().map(|item| AccessListItem {
        address: item.address,
        storage_keys: item.storage_keys.clone(),
    });
    let authorizations = transaction.authorizations.iter().map(|entry| {
        let signed = Authorization {
            chain_id: entry.chain_id,
            address: entry.address,
            nonce: entry.nonce,
        };
        let authority = entry.authority;
        let authority = authority.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
        Either::Right(RecoveredAuthorization::new_unchecked(signed, authority))
    });
    TxEnv {
        tx_type: transaction.transaction_type as u8,
        caller: transaction.caller,
        gas_limit: transaction.gas_limit,
        gas_price: transaction.max_fee_per_gas.saturating_to(),
        kind: transaction.to.map_or(TxKind::Create, TxKind::Call),
        value: transaction.value,
        data: transaction.input.clone(),
        nonce: transaction.nonce,
        chain_id: transaction.chain_id,
        access_list: AccessList(access_list.collect()),
        gas_priority_fee: transaction
            .max_priority_fee_per_gas
            .map(|fee| fee.saturating_to()),
        blob_hashes: transaction.blob_hashes.clone(),
        max_fee_per_blob_gas: match transaction.transaction_type {
            TransactionType::Blob => transaction.max_fee_per_blob_gas.saturating_to(),
            _ => 0,
        },
        authorization_list: authorizations.collect(),
    }
}

/// Returns whether [`transaction`] converts the fees without saturation.
pub fn fees_fit(transaction: &Transaction) -> bool {
    let fees = [
        Some(transaction.max_fee_per_gas),
        transaction.max_priority_fee_per_gas,
        Some(transaction.max_fee_per_blob_gas),
    ];
    fees.into_iter()
        .flatten()
        .all(|fee| fee <= U256::from(u128::MAX))
}
