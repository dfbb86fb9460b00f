//! Generates one block, except for what depends on its parent.
//!
//! A block is a function of the world, its number, its branch, and the number of ordinary
//! transactions before it. Blocks are therefore generated in parallel and in any order,
//! and generated again when the truth about them is needed.

use super::{
    config::{self, ORDINARY_GAS_MAX, timestamp},
    draw::{self, Draw},
    encode::StoredRow,
    events::Move,
    executed::{ExecutedTransaction, fill_roots},
    intent::{Effect, Intent},
    scenarios::{NO_ROLE, Scenario},
    scene::Scene,
    signers::Signer,
    traffic,
    world::World,
};
use alloy_consensus::{
    EthereumReceipt, EthereumTxEnvelope, EthereumTypedTransaction, Header, SignableTransaction,
    TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy, TxType,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip4844::DATA_GAS_PER_BLOB,
    eip4895::Withdrawal,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, TxKind, U256};
use serde::{Deserialize, Serialize};
use txgraph_transfers::{BlockTime, Kind, Transfer, testing::transfer};

/// A transaction before it is signed, as reth stores it: without blob sidecars.
type Transaction = EthereumTypedTransaction<TxEip4844>;

/// The highest fee per gas in wei, far above the base fee.
const MAX_FEE: u128 = 100_000_000_000;
/// Blobs per block at most.
const BLOBS_MAX: u64 = 6;

/// The block to generate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) number: u64,
    /// Branch of the chain. Every unwind starts another.
    pub(super) branch: u64,
    /// Ordinary transactions in this block.
    pub(super) ordinary: u64,
    /// Transactions of ordinary signers before this block.
    pub(super) signed_before: u64,
    /// The same after this block.
    pub(super) signed_after: u64,
}

impl Order {
    /// Creates the order for a block with `signed_before` transactions of ordinary
    /// signers before it.
    pub(super) fn new(world: &World, number: u64, branch: u64, signed_before: u64) -> Self {
        let mut draw = Draw::new(world.config.seed, "count", &[number, branch]);
        let ordinary = draw.count(world.config.txs_per_block);
        let gas = Scenario::of(world, number).map_or(0, |scenario| {
            scenario
                .steps_at(number)
                .filter(|(_, step)| step.by == NO_ROLE)
                .count()
        });
        Self {
            number,
            branch,
            ordinary,
            signed_before,
            signed_after: signed_before + ordinary + gas as u64,
        }
    }

    /// Generates the block.
    pub(super) fn body(self, world: &World) -> Body {
        Maker::new(world, self).make()
    }
}

/// The fees of a transaction, once the base fee is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fee {
    pub(super) gas_used: u64,
    pub(super) max_fee: u128,
    pub(super) max_priority_fee: u128,
    pub(super) blobs: u64,
}

/// A signed transaction as stored, with its effects.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) row: StoredRow,
    pub(super) nonce: u64,
    /// Receiver of the value; the new contract for a creation.
    pub(super) to: Address,
    /// Zero if the transaction failed.
    pub(super) value: U256,
    pub(super) fee: Fee,
    pub(super) effects: Vec<Effect>,
    /// Number of a scenario and of its step.
    pub(super) step: Option<(u64, u32)>,
}

/// Counts of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Blocks, including the genesis block.
    pub blocks: u64,
    /// Transactions, and therefore receipts.
    pub transactions: u64,
    /// Failed transactions.
    pub failed: u64,
    /// Logs.
    pub logs: u64,
    /// Logs with a transfer signature and a shape of no standard.
    pub malformed: u64,
    /// The part of `malformed` with a signature of ERC-1155.
    pub malformed_erc1155: u64,
    /// Transfer logs with bits set above an address.
    pub dirty_addresses: u64,
    /// Wraps that a `Transfer` of the same transaction also reports.
    pub wraps_deduplicated: u64,
    /// Transactions by type, 0 to 4.
    pub transaction_types: [u64; 5],
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.logs += other.logs;
        self.malformed += other.malformed;
        self.malformed_erc1155 += other.malformed_erc1155;
        self.dirty_addresses += other.dirty_addresses;
        self.wraps_deduplicated += other.wraps_deduplicated;
        for (mine, theirs) in self
            .transaction_types
            .iter_mut()
            .zip(other.transaction_types)
        {
            *mine += theirs;
        }
    }
}

/// A block, except for what depends on its parent.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) number: u64,
    /// Transactions of ordinary signers up to and including this block.
    pub(super) signed_after: u64,
    pub(super) transactions: Vec<Done>,
    pub(super) withdrawals: Option<Vec<Withdrawal>>,
    /// The parts of the header that do not depend on the parent.
    pub(super) header: Header,
    /// The intended transfers, in total order.
    pub(super) transfers: Vec<Transfer>,
    pub(super) counts: Counts,
    /// The scenario with steps in this block, if there is one.
    pub(super) scenario: Option<Scenario>,
}

/// A body during its generation.
struct Maker<'a> {
    world: &'a World,
    order: Order,
    draw: Draw,
    signed: u64,
    blobs_left: u64,
    executed: Vec<ExecutedTransaction>,
    body: Body,
}

impl<'a> Maker<'a> {
    fn new(world: &'a World, order: Order) -> Self {
        Self {
            world,
            order,
            draw: Draw::new(world.config.seed, "block", &[order.number, order.branch]),
            signed: order.signed_before,
            blobs_left: BLOBS_MAX,
            executed: Vec::new(),
            body: Body {
                number: order.number,
                signed_after: order.signed_after,
                transactions: Vec::new(),
                withdrawals: None,
                header: Header::default(),
                transfers: Vec::new(),
                counts: Counts {
                    blocks: 1,
                    ..Counts::default()
                },
                scenario: None,
            },
        }
    }

    /// Draws everything that is in the block.
    fn make(mut self) -> Body {
        let Order {
            number, ordinary, ..
        } = self.order;
        let scenario = Scenario::of(self.world, number)
            .filter(|scenario| scenario.steps_at(number).next().is_some());
        self.ordinary(ordinary / 2);
        if let Some(scenario) = &scenario {
            for (at, step) in scenario.steps_at(number) {
                let outsider = (step.by == NO_ROLE).then(|| self.next_signer());
                let intent = scenario.intent(self.world, at, outsider);
                self.include(intent);
            }
        }
        self.ordinary(ordinary - ordinary / 2);
        self.body.withdrawals = (number >= config::SHANGHAI).then(|| self.withdrawals());
        self.body.record_withdrawals();
        let mut header = self.body.header;
        fill_roots(&mut header, &self.executed);
        header.beneficiary =
            draw::address(self.world.config.seed, "builder", &[self.draw.below(5)]);
        header.blob_gas_used = Some((BLOBS_MAX - self.blobs_left) * DATA_GAS_PER_BLOB);
        Body {
            header,
            scenario,
            ..self.body
        }
    }

    fn next_signer(&mut self) -> (Signer, u64) {
        self.signed += 1;
        self.world.population.sender(self.signed - 1)
    }

    fn ordinary(&mut self, count: u64) {
        for left in (0..count).rev() {
            let (signer, nonce) = self.next_signer();
            // Leaves enough gas for later ordinary transactions and for the steps of a
            // scenario.
            let reserved = (left + self.order.ordinary / 2 + 40) * ORDINARY_GAS_MAX;
            let gas_limit = self.world.config.gas_limit();
            let gas_left = gas_limit.saturating_sub(self.body.header.gas_used + reserved);
            let intent = traffic::ordinary(
                &mut Scene {
                    world: self.world,
                    block: self.order.number,
                    signer,
                    nonce,
                    draw: &mut self.draw,
                },
                gas_left,
            );
            self.include(intent);
        }
    }

    /// Returns a type that the fork and the transaction allow.
    fn tx_type(&mut self, creation: bool) -> TxType {
        let number = self.order.number;
        let blobs = number >= config::CANCUN && self.blobs_left > 0 && !creation;
        let accounts = number >= config::PRAGUE && !creation;
        let weights = [18, 6, 70, u64::from(blobs) * 3, u64::from(accounts) * 3];
        [
            TxType::Legacy,
            TxType::Eip2930,
            TxType::Eip1559,
            TxType::Eip4844,
            TxType::Eip7702,
        ][self.draw.weighted(&weights)]
    }

    fn access_list(&mut self, to: TxKind) -> AccessList {
        let Some(&address) = to.to().filter(|_| self.draw.permille(600)) else {
            return AccessList::default();
        };
        let keys = (0..self.draw.below(3)).map(|_| self.draw.word()).collect();
        AccessList(vec![AccessListItem {
            address,
            storage_keys: keys,
        }])
    }

    /// Returns a new account that delegates to the wallet code.
    fn authorization(&mut self, effects: &mut Vec<Effect>) -> SignedAuthorization {
        let numbers = [
            self.order.number,
            self.order.branch,
            self.body.transactions.len() as u64,
        ];
        let authority = Signer::new(self.world.config.seed, "authority", &numbers);
        let authorization = Authorization {
            chain_id: U256::from(config::CHAIN_ID),
            address: self.world.contracts.wallet_code,
            nonce: 0,
        };
        effects.push(Effect::Code {
            account: authority.address,
            nonce: 1,
            code_hash: self.world.delegation_hash,
        });
        let signature = authority.sign(authorization.signature_hash());
        authorization.into_signed(signature)
    }

    /// Adds an intent to the block.
    fn include(&mut self, mut intent: Intent) {
        let tx_type = self.tx_type(intent.to.is_create());
        let chain_id = config::CHAIN_ID;
        let tip = 1_000_000_000 + u128::from(self.draw.below(2_000_000_000));
        let spare = self.draw.below(20_000);
        let gas_limit = intent.gas_used + spare;
        let access_list = if tx_type == TxType::Legacy {
            AccessList::default()
        } else {
            self.access_list(intent.to)
        };
        let (nonce, value, input) = (intent.nonce, intent.value, intent.input.clone());
        let call_to = intent.to.to().copied().unwrap_or_default();
        // The gas price of old types is both the fee cap and the tip cap.
        let gas_price = 20_000_000_000 + tip;
        let (max_fee, max_priority_fee) = match tx_type {
            TxType::Legacy | TxType::Eip2930 => (gas_price, gas_price),
            _ => (MAX_FEE, tip),
        };
        let mut blobs = 0;
        let transaction: Transaction = match tx_type {
            TxType::Legacy => TxLegacy {
                // Some wallets still sign without a chain id.
                chain_id: (!self.draw.permille(50)).then_some(chain_id),
                nonce,
                gas_price,
                gas_limit,
                to: intent.to,
                value,
                input,
            }
            .into(),
            TxType::Eip2930 => TxEip2930 {
                chain_id,
                nonce,
                gas_price,
                gas_limit,
                to: intent.to,
                value,
                access_list,
                input,
            }
            .into(),
            TxType::Eip1559 => TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: max_fee,
                max_priority_fee_per_gas: max_priority_fee,
                to: intent.to,
                value,
                access_list,
                input,
            }
            .into(),
            TxType::Eip4844 => {
                blobs = self.draw.between(1, self.blobs_left.min(3));
                self.blobs_left -= blobs;
                let blob_versioned_hashes = (0..blobs).map(|_| {
                    let mut hash = self.draw.word();
                    hash[0] = 1;
                    hash
                });
                TxEip4844 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas: max_fee,
                    max_priority_fee_per_gas: max_priority_fee,
                    to: call_to,
                    value,
                    access_list,
                    blob_versioned_hashes: blob_versioned_hashes.collect(),
                    max_fee_per_blob_gas: MAX_FEE,
                    input,
                }
                .into()
            }
            TxType::Eip7702 => TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: max_fee,
                max_priority_fee_per_gas: max_priority_fee,
                to: call_to,
                value,
                access_list,
                authorization_list: vec![self.authorization(&mut intent.effects)],
                input,
            }
            .into(),
        };
        intent.tx_type = tx_type;
        let fee = Fee {
            gas_used: intent.gas_used,
            max_fee,
            max_priority_fee,
            blobs,
        };
        let signature = intent.signer.sign(transaction.signature_hash());
        let transaction = transaction.into_envelope(signature);
        let executed = self.body.record(intent, fee, transaction);
        self.executed.push(executed);
    }

    /// Pays withdrawals to a few validators in half of the blocks, some of them with
    /// amount zero.
    fn withdrawals(&mut self) -> Vec<Withdrawal> {
        let count = if self.draw.permille(500) {
            self.draw.between(1, 4)
        } else {
            0
        };
        let mut withdrawals = Vec::new();
        for sub in 0..count {
            let zero = self.draw.permille(20);
            let address = self
                .world
                .population
                .holder(self.order.number, &mut self.draw);
            withdrawals.push(Withdrawal {
                // The index must only be unique and ascending.
                index: self.order.number * 16 + sub,
                validator_index: self.draw.below(500_000),
                address,
                amount: if zero {
                    0
                } else {
                    self.draw.between(1, 40_000_000_000)
                },
            });
        }
        withdrawals
    }
}

impl Body {
    /// A movement of the native coin from the zero address, by the next transaction.
    fn native(&self, to_address: Address, value: U256) -> Transfer {
        Transfer {
            block_timestamp: BlockTime::new(timestamp(self.number)),
            transaction_index: u32::try_from(self.transactions.len()).expect("few transactions"),
            to_address,
            value,
            ..transfer(self.number)
        }
    }

    /// Adds a transaction, its transfers and its effects. Returns it with its receipt.
    fn record(
        &mut self,
        intent: Intent,
        fee: Fee,
        transaction: EthereumTxEnvelope<TxEip4844>,
    ) -> ExecutedTransaction {
        let Intent {
            signer,
            nonce,
            to,
            value,
            events,
            effects,
            tx_type,
            success,
            step,
            ..
        } = intent;
        let to = to
            .to()
            .copied()
            .unwrap_or_else(|| signer.address.create(nonce));
        let value = if success { value } else { U256::ZERO };

        let payment = Transfer {
            transaction_hash: Some(*transaction.tx_hash()),
            from_address: signer.address,
            ..self.native(to, value)
        };
        if !value.is_zero() {
            self.transfers.push(payment.clone());
        }
        let first_log = u32::try_from(self.counts.logs).expect("few logs");
        self.transfers
            .extend(events.moves.into_iter().map(|it: Move| Transfer {
                log_index: it.log.map(|log| first_log + log),
                sub_index: it.sub,
                token_address: it.token,
                from_address: it.from,
                to_address: it.to,
                value: it.value,
                token_id: it.token_id,
                token_standard: it.standard,
                kind: it.kind,
                ..payment.clone()
            }));

        self.header.gas_used += fee.gas_used;
        let counts = &mut self.counts;
        counts.transactions += 1;
        counts.failed += u64::from(!success);
        counts.logs += events.logs.len() as u64;
        counts.malformed += events.malformed;
        counts.malformed_erc1155 += events.malformed_erc1155;
        counts.dirty_addresses += events.dirty;
        counts.wraps_deduplicated += events.deduplicated;
        counts.transaction_types[usize::from(u8::from(tx_type))] += 1;

        let executed = ExecutedTransaction {
            sender: signer.address,
            transaction,
            receipt: EthereumReceipt {
                tx_type,
                success,
                cumulative_gas_used: self.header.gas_used,
                logs: events.logs,
            },
        };
        self.transactions.push(Done {
            row: executed.row(),
            nonce,
            to,
            value,
            fee,
            effects,
            step,
        });
        executed
    }

    /// Adds the transfers of withdrawals, after the transfers of transactions.
    fn record_withdrawals(&mut self) {
        for (sub, withdrawal) in (0..).zip(self.withdrawals.iter().flatten()) {
            if withdrawal.amount == 0 {
                continue;
            }
            let value = U256::from(withdrawal.amount) * U256::from(1_000_000_000);
            self.transfers.push(Transfer {
                sub_index: sub,
                kind: Kind::Withdrawal,
                ..self.native(withdrawal.address, value)
            });
        }
    }
}
