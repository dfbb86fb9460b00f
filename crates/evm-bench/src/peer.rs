//! revm as an engine, set up as its own test runner sets it up.

use crate::flat::FlatState;
use alloy_primitives::{TxKind, U256};
use revm::{
    Context, ExecuteEvm, MainBuilder, MainContext, MainnetEvm,
    context::{
        BlockEnv, CfgEnv, TxEnv,
        result::{EVMError, ExecutionResult, Output},
    },
    context_interface::{
        block::BlobExcessGasAndPrice,
        either::Either,
        transaction::{
            AccessList, AccessListItem, Authorization, RecoveredAuthority, RecoveredAuthorization,
        },
    },
    handler::MainnetContext,
    primitives::hardfork::SpecId,
    state::EvmState,
};
use txgraph_evm::{Block, Fork, Message, Transaction};
use txgraph_evm_tools::{
    engine::{Engine, Executed, NotExecuted},
    fixture::{FixtureAccount, FixtureState},
};

/// revm on a state of our own.
pub type Peer = MainnetEvm<MainnetContext<FlatState>>;

/// The peer's name of a fork; it has none for Constantinople, which no chain ran.
pub fn spec(fork: Fork) -> Option<SpecId> {
    Some(match fork {
        Fork::Frontier => SpecId::FRONTIER,
        Fork::Homestead => SpecId::HOMESTEAD,
        Fork::TangerineWhistle => SpecId::TANGERINE,
        Fork::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Fork::Byzantium => SpecId::BYZANTIUM,
        Fork::Constantinople => return None,
        Fork::Petersburg => SpecId::PETERSBURG,
        Fork::Istanbul => SpecId::ISTANBUL,
        Fork::Berlin => SpecId::BERLIN,
        Fork::London => SpecId::LONDON,
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka => SpecId::OSAKA,
        Fork::Amsterdam => SpecId::AMSTERDAM,
    })
}

/// revm for a fork, a block and a state.
pub fn peer(spec: SpecId, block: &Block, state: FlatState) -> Peer {
    let mut cfg = CfgEnv::new_with_spec(spec);
    cfg.chain_id = 1;
    // EIP-7594 limits a transaction to six, whatever the block may hold.
    let blobs = if spec >= SpecId::OSAKA {
        6
    } else {
        block.blobs_max
    };
    cfg.set_max_blobs_per_tx(blobs);
    Context::mainnet()
        .with_cfg(cfg)
        .with_block(block_env(spec, block))
        .with_db(state)
        .build_mainnet()
}

fn block_env(spec: SpecId, block: &Block) -> BlockEnv {
    BlockEnv {
        number: U256::from(block.number),
        beneficiary: block.beneficiary,
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        basefee: block.base_fee.saturating_to(),
        difficulty: block.difficulty,
        prevrandao: (spec >= SpecId::MERGE).then_some(block.prevrandao),
        blob_excess_gas_and_price: (spec >= SpecId::CANCUN).then(|| BlobExcessGasAndPrice {
            excess_blob_gas: 0,
            blob_gasprice: block.blob_base_fee.saturating_to(),
        }),
        slot_num: block.slot_number,
    }
}

/// The same transaction in the peer's words; nothing when a fee does not fit its 128
/// bits.
pub fn tx_env(transaction: &Transaction) -> Option<TxEnv> {
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
        let authority = entry
            .authority
            .map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
        Either::Right(RecoveredAuthorization::new_unchecked(signed, authority))
    });
    Some(TxEnv {
        tx_type: transaction.transaction_type as u8,
        caller: transaction.caller,
        gas_limit: transaction.gas_limit,
        gas_price: transaction.max_fee_per_gas.try_into().ok()?,
        kind: transaction.to.map_or(TxKind::Create, TxKind::Call),
        value: transaction.value,
        data: transaction.input.clone(),
        nonce: transaction.nonce,
        chain_id: transaction.chain_id,
        access_list: AccessList(access_list.collect()),
        gas_priority_fee: match transaction.max_priority_fee_per_gas {
            Some(fee) => Some(fee.try_into().ok()?),
            None => None,
        },
        blob_hashes: transaction.blob_hashes.clone(),
        max_fee_per_blob_gas: transaction.max_fee_per_blob_gas.try_into().ok()?,
        authorization_list: authorizations.collect(),
    })
}

/// revm behind the face of the fixture runner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Revm;

impl Engine for Revm {
    fn transaction(
        &mut self,
        fork: Fork,
        pre: &FixtureState,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Executed, NotExecuted> {
        let spec = spec(fork)
            .ok_or_else(|| NotExecuted::Failed("the peer does not know this fork".to_owned()))?;
        let env = tx_env(transaction)
            .ok_or_else(|| NotExecuted::Refused("a fee above 128 bits".to_owned()))?;
        let mut evm = peer(spec, block, FlatState::new(pre));
        let done = match evm.transact(env) {
            Ok(done) => done,
            Err(EVMError::Transaction(why)) => return Err(NotExecuted::Refused(why.to_string())),
            Err(other) => return Err(NotExecuted::Failed(other.to_string())),
        };
        let mut state = changed(fork, pre, &done.state);
        touch(fork, block, &mut state);
        let success = done.result.is_success();
        let gas_used = done.result.tx_gas_used();
        Ok(Executed {
            success,
            gas_used,
            output: done.result.output().cloned().unwrap_or_default(),
            logs: if success {
                done.result.into_logs()
            } else {
                Vec::new()
            },
            state,
        })
    }

    fn frame(
        &mut self,
        _: Fork,
        _: &FixtureState,
        _: &Block,
        _: &Message,
    ) -> Result<Executed, NotExecuted> {
        Err(NotExecuted::Failed(
            "the peer runs whole transactions only".to_owned(),
        ))
    }
}

/// A reward of zero: before EIP-161 it makes an account, since then it removes an empty
/// one.
fn touch(fork: Fork, block: &Block, state: &mut FixtureState) {
    let account = state.entry(block.beneficiary).or_default();
    if fork >= Fork::SpuriousDragon && *account == FixtureAccount::default() {
        state.remove(&block.beneficiary);
    }
}

fn changed(fork: Fork, pre: &FixtureState, changes: &EvmState) -> FixtureState {
    let mut state = pre.clone();
    #[expect(clippy::iter_over_hash_type, reason = "each account is written once")]
    for (address, change) in changes {
        if !change.is_touched() {
            continue;
        }
        if change.is_selfdestructed() || fork >= Fork::SpuriousDragon && change.is_empty() {
            state.remove(address);
            continue;
        }
        let account = state.entry(*address).or_default();
        account.balance = change.info.balance;
        account.nonce = change.info.nonce;
        if let Some(code) = &change.info.code {
            account.code = code.original_bytes();
        }
        if change.is_created() {
            account.storage.clear();
        }
        #[expect(clippy::iter_over_hash_type, reason = "each slot is written once")]
        for (key, slot) in &change.storage {
            account.storage.insert(*key, slot.present_value);
        }
    }
    for account in state.values_mut() {
        account.storage.retain(|_, value| !value.is_zero());
    }
    state
}

/// How a transaction ended, in a form that engines can be compared by.
pub fn summary(result: &ExecutionResult) -> (bool, u64, Vec<u8>) {
    let output = match result {
        ExecutionResult::Success {
            output: Output::Call(bytes) | Output::Create(bytes, _),
            ..
        }
        | ExecutionResult::Revert { output: bytes, .. } => bytes.to_vec(),
        ExecutionResult::Halt { .. } => Vec::new(),
    };
    (result.is_success(), result.tx_gas_used(), output)
}
