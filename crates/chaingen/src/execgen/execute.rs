//! Executes a block with revm: the steps around transactions, and the transactions as
//! they are drawn.

use super::{
    error::Error,
    state::State,
    traffic::{Draft, Traffic},
};
use crate::{
    CANCUN, ExecutedBlock, ExecutedTransaction, OSAKA, PRAGUE, SHANGHAI, Signer,
    executed::fill_roots,
    header::{self, blob_fee},
};
use alloy_consensus::{
    EthereumReceipt, EthereumTxEnvelope, Header, TxEip1559, TxEip2930, TxEip4844, TxLegacy, proofs,
};
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS,
    eip4788::BEACON_ROOTS_ADDRESS,
    eip4895::Withdrawal,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
    eip7685::Requests,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext, MainnetEvm, SystemCallCommitEvm,
    context::{
        BlockEnv, CfgEnv, TxEnv,
        result::ExecutionResult,
        transaction::{AccessList, AccessListItem},
    },
    context_interface::block::BlobExcessGasAndPrice,
    handler::MainnetContext,
    primitives::hardfork::SpecId,
};

/// EIP-155 chain id.
pub const CHAIN_ID: u64 = 20_261_121;
/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;
/// The highest fee per gas in wei, far above the base fee.
const MAX_FEE: u128 = 100_000_000_000;

/// Gas of an access list with one address and two slots (EIP-2930).
const ANNOUNCED_GAS: u64 = 2_400 + 2 * 1_900;

type Transaction = EthereumTxEnvelope<TxEip4844>;
type Evm<'a> = MainnetEvm<MainnetContext<&'a mut State>>;

/// The inputs of a block other than its parent and its transactions.
pub(crate) struct Order<'a> {
    /// Transactions are added until they use this much gas.
    pub(crate) gas: u64,
    pub(crate) beneficiary: Address,
    pub(crate) withdrawals: Vec<Withdrawal>,
    pub(crate) signers: &'a [Signer],
}

fn spec(number: u64) -> SpecId {
    match number {
        _ if number >= OSAKA => SpecId::OSAKA,
        _ if number >= PRAGUE => SpecId::PRAGUE,
        _ if number >= CANCUN => SpecId::CANCUN,
        _ if number >= SHANGHAI => SpecId::SHANGHAI,
        _ => SpecId::MERGE,
    }
}

fn evm<'a>(state: &'a mut State, header: &Header) -> Evm<'a> {
    let mut configuration = CfgEnv::new_with_spec(spec(header.number));
    configuration.chain_id = CHAIN_ID;
    let block = BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.unwrap_or_default(),
        difficulty: U256::ZERO,
        prevrandao: Some(header.mix_hash),
        blob_excess_gas_and_price: header.excess_blob_gas.map(|excess_blob_gas| {
            BlobExcessGasAndPrice {
                excess_blob_gas,
                blob_gasprice: blob_fee(header).saturating_to(),
            }
        }),
        slot_num: 0,
    };
    Context::mainnet()
        .with_cfg(configuration)
        .with_block(block)
        .with_db(state)
        .build_mainnet()
}

/// Executes the block after `parent`.
pub(crate) fn block(
    state: &mut State,
    (parent, parent_hash): (&Header, B256),
    order: Order<'_>,
    traffic: &mut Traffic<'_>,
) -> Result<ExecutedBlock, Error> {
    let mut header = header::next(parent, parent_hash);
    let number = header.number;
    header.beneficiary = order.beneficiary;
    let mut evm = evm(state, &header);
    if let Some(root) = header.parent_beacon_block_root {
        system_call(&mut evm, number, BEACON_ROOTS_ADDRESS, root.into())?;
    }
    if number >= PRAGUE {
        system_call(
            &mut evm,
            number,
            HISTORY_STORAGE_ADDRESS,
            parent_hash.into(),
        )?;
    }
    let mut transactions = Vec::new();
    let mut gas_used = 0;
    while gas_used < order.gas {
        let draft = traffic.next();
        let signer = &order.signers[draft.signer];
        let nonce = evm.ctx.journaled_state.database.nonce(signer.address);
        let kind = traffic.draw.weighted(&[20, 10, 70]);
        let tip = u128::from(traffic.draw.below(2 * GWEI));
        let (transaction, words) = sign(&order, draft, nonce, kind, tip);
        let result = evm.transact_commit(words);
        let result = result.map_err(Error::refused(number))?;
        gas_used += result.gas().tx_gas_used();
        let receipt = EthereumReceipt {
            tx_type: transaction.tx_type(),
            success: result.is_success(),
            cumulative_gas_used: gas_used,
            logs: match result {
                ExecutionResult::Success { logs, .. } => logs,
                _ => Vec::new(),
            },
        };
        transactions.push(ExecutedTransaction {
            sender: signer.address,
            transaction,
            receipt,
        });
    }
    for withdrawal in &order.withdrawals {
        let wei = U256::from(withdrawal.amount) * U256::from(GWEI);
        evm.ctx
            .journaled_state
            .database
            .pay(withdrawal.address, wei);
    }
    if number >= PRAGUE {
        header.requests_hash = Some(requests(&mut evm, number)?.requests_hash());
    }
    header.gas_used = gas_used;
    fill_roots(&mut header, &transactions);
    if header.withdrawals_root.is_some() {
        let root = proofs::calculate_withdrawals_root(&order.withdrawals);
        header.withdrawals_root = Some(root);
    }
    let hash = header.hash_slow();
    let mut block = ExecutedBlock {
        header,
        transactions,
        withdrawals: order.withdrawals,
        ..ExecutedBlock::default()
    };
    state.finish(&mut block, hash);
    Ok(block)
}

fn system_call(
    evm: &mut Evm<'_>,
    block: u64,
    contract: Address,
    input: Bytes,
) -> Result<Bytes, Error> {
    debug_assert!(evm.ctx.journaled_state.database.has_code(contract));
    let result = evm.system_call_commit(contract, input);
    match result.map_err(Error::refused(block))? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        other => Err(Error::Refused {
            block,
            what: format!("system call to {contract}: {other:?}"),
        }),
    }
}

/// Requests of withdrawals and consolidations (EIP-7002, EIP-7251). These chains have no
/// deposits.
fn requests(evm: &mut Evm<'_>, block: u64) -> Result<Requests, Error> {
    let mut requests = Requests::default();
    for (kind, contract) in [
        (
            WITHDRAWAL_REQUEST_TYPE,
            WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
        ),
        (
            CONSOLIDATION_REQUEST_TYPE,
            CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
        ),
    ] {
        let output = system_call(evm, block, contract, Bytes::new())?;
        if !output.is_empty() {
            requests.push_request([&[kind], &output[..]].concat().into());
        }
    }
    Ok(requests)
}

/// Signs a draft, and converts it to a transaction of revm. `kind` is the transaction
/// type.
fn sign(
    order: &Order<'_>,
    draft: Draft,
    nonce: u64,
    kind: usize,
    tip: u128,
) -> (Transaction, TxEnv) {
    let Draft {
        signer,
        to,
        value,
        input,
        gas_limit,
    } = draft;
    let signer = &order.signers[signer];
    let chain_id = CHAIN_ID;
    // The gas price of old types is both the fee cap and the tip cap.
    let gas_price = 2 * u128::from(GWEI) + tip;
    let (access_list, announced_gas) = match (kind, to.to()) {
        (1, Some(to)) => {
            let item = AccessListItem {
                address: *to,
                storage_keys: vec![B256::ZERO, U256::from(2).into()],
            };
            (AccessList(vec![item]), ANNOUNCED_GAS)
        }
        _ => (AccessList::default(), 0),
    };
    let gas_limit = gas_limit + announced_gas;
    let words = TxEnv {
        tx_type: u8::try_from(kind).unwrap_or_default(),
        caller: signer.address,
        gas_limit,
        gas_price: if kind == 2 { MAX_FEE } else { gas_price },
        kind: to,
        value,
        data: input.clone(),
        nonce,
        chain_id: Some(chain_id),
        access_list: access_list.clone(),
        gas_priority_fee: (kind == 2).then_some(tip),
        ..TxEnv::default()
    };
    let transaction: Transaction = match kind {
        0 => signer
            .sign_transaction(TxLegacy {
                chain_id: Some(chain_id),
                nonce,
                gas_price,
                gas_limit,
                to,
                value,
                input,
            })
            .into(),
        1 => signer
            .sign_transaction(TxEip2930 {
                chain_id,
                nonce,
                gas_price,
                gas_limit,
                to,
                value,
                access_list,
                input,
            })
            .into(),
        _ => signer
            .sign_transaction(TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: MAX_FEE,
                max_priority_fee_per_gas: tip,
                to,
                value,
                access_list,
                input,
            })
            .into(),
    };
    debug_assert_eq!(u8::from(transaction.tx_type()), words.tx_type);
    (transaction, words)
}
