//! Movements of the native coin inside a transaction, as transfers.

use crate::{Frame, Frames, TransactionReplay};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, U256};
use txgraph_evm::{Block, Fork, FrameKind};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer};

/// A transfer and its position in the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeTransfer {
    /// The transfer in the common schema. `sub_index` numbers the native movements of a
    /// transaction in execution order: 0 is the transaction value, fees are last.
    pub transfer: Transfer,
    /// The path from the outermost frame: at each level, the index of the call. A
    /// `SELFDESTRUCT` has the index after the last call of its frame. Empty for fees.
    pub trace_address: Vec<u32>,
    /// The operation that moved the coin.
    pub cause: Cause,
}

/// An operation that moves the native coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// `CALL` with value.
    Call,
    /// `CREATE` with value.
    Create,
    /// `CREATE2` with value.
    Create2,
    /// `SELFDESTRUCT`.
    SelfDestruct,
    /// A transaction fee.
    Fee,
}

impl Cause {
    /// The word used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "CALL",
            Self::Create => "CREATE",
            Self::Create2 => "CREATE2",
            Self::SelfDestruct => "SELFDESTRUCT",
            Self::Fee => "FEE",
        }
    }
}

/// A movement without its position in the block.
struct Movement {
    from: Address,
    to: Address,
    value: U256,
    kind: Kind,
    cause: Cause,
    /// The frame, and whether the movement is its `SELFDESTRUCT`.
    frame: Option<(usize, bool)>,
}

impl TransactionReplay {
    /// The movements inside the transaction, without the transaction value: calls and
    /// creations with value, and self-destructions. Reverted and zero movements are left out.
    /// Needs [`Record::frames`](crate::Record).
    ///
    /// A contract that names itself as the beneficiary of its destruction burns its balance
    /// ([`Kind::Burn`], to the zero address), provided that the fork deletes the contract. Since
    /// Amsterdam it keeps its balance (EIP-8246).
    ///
    /// Since Amsterdam the chain logs these movements (EIP-7708), except from an account
    /// to itself, which are left out here, too: logs and replay give the same rows.
    pub fn internal_transfers(&self, timestamp: u64) -> Vec<NativeTransfer> {
        let Some(frames) = &self.frames else {
            return Vec::new();
        };
        let mut movements = Vec::new();
        // Entered frames, each with the number of its calls that were visited.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((number, visited)) = open.pop() {
            let Some(frame) = frames.get(number).filter(|frame| !frame.is_reverted) else {
                continue;
            };
            if visited == 0 && number > 0 {
                movements.extend(value_movement(self.fork, number, frame));
            }
            match frame.children.get(visited) {
                Some(child) => {
                    open.push((number, visited + 1));
                    open.push((*child, 0));
                }
                None => movements.extend(destruction(self.fork, frames, number, frame)),
            }
        }
        self.transfers(timestamp, 1, movements)
    }

    /// The two parts of the fee: the burnt part, and the part of the block's beneficiary. Failed
    /// transactions pay fees, too. `sub_first` is the first number among the native movements
    /// of the transaction.
    pub fn fees(&self, block: &Block, sub_first: u32) -> Vec<NativeTransfer> {
        let (tx, gas) = (&self.transaction, U256::from(self.outcome.gas_used));
        let base_fee = block.base_fee;
        let blob_gas = U256::from(tx.blob_hashes.len() as u64 * DATA_GAS_PER_BLOB);
        let room = tx.max_fee_per_gas.saturating_sub(base_fee);
        let tip = tx.max_priority_fee_per_gas.unwrap_or(room).min(room);
        let part = |to, value, kind| Movement {
            from: tx.caller,
            to,
            value,
            kind,
            cause: Cause::Fee,
            frame: None,
        };
        let burnt = base_fee * gas + block.blob_base_fee * blob_gas;
        let movements = vec![
            part(Address::ZERO, burnt, Kind::Fee),
            part(block.beneficiary, tip * gas, Kind::Priority),
        ];
        self.transfers(block.timestamp, sub_first, movements)
    }

    fn transfers(
        &self,
        timestamp: u64,
        first: u32,
        movements: Vec<Movement>,
    ) -> Vec<NativeTransfer> {
        let movements = movements
            .into_iter()
            .filter(|movement| !movement.value.is_zero());
        (first..)
            .zip(movements)
            .map(|(sub_index, movement)| NativeTransfer {
                transfer: Transfer {
                    block_number: self.block,
                    block_timestamp: BlockTime::new(timestamp),
                    transaction_index: self.index,
                    log_index: None,
                    sub_index,
                    transaction_hash: Some(self.hash),
                    token_address: None,
                    from_address: movement.from,
                    to_address: movement.to,
                    value: movement.value,
                    token_id: None,
                    token_standard: TokenStandard::Native,
                    kind: movement.kind,
                },
                trace_address: self.trace_address(movement.frame),
                cause: movement.cause,
            })
            .collect()
    }

    fn trace_address(&self, frame: Option<(usize, bool)>) -> Vec<u32> {
        let (Some(frames), Some((number, is_selfdestruct))) = (&self.frames, frame) else {
            return Vec::new();
        };
        let mut path = frames.trace_address(number);
        if let Some(frame) = frames.get(number).filter(|_| is_selfdestruct) {
            path.extend(u32::try_from(frame.children.len()));
        }
        path
    }
}

fn value_movement(fork: Fork, number: usize, frame: &Frame) -> Option<Movement> {
    if fork >= Fork::Amsterdam && frame.caller == frame.address {
        return None;
    }
    let cause = match frame.kind {
        FrameKind::Call => Cause::Call,
        FrameKind::Create => Cause::Create,
        FrameKind::Create2 => Cause::Create2,
        FrameKind::CallCode | FrameKind::DelegateCall | FrameKind::StaticCall => return None,
    };
    Some(Movement {
        from: frame.caller,
        to: frame.address,
        value: frame.value,
        kind: Kind::Internal,
        cause,
        frame: Some((number, false)),
    })
}

fn destruction(fork: Fork, frames: &Frames, number: usize, frame: &Frame) -> Option<Movement> {
    let destruction = frame.destruction?;
    let movement = Movement {
        from: frame.address,
        to: destruction.beneficiary,
        value: destruction.amount,
        kind: Kind::Internal,
        cause: Cause::SelfDestruct,
        frame: Some((number, true)),
    };
    if destruction.beneficiary != frame.address {
        return Some(movement);
    }
    let created_now =
        |other: &Frame| other.is_creation() && !other.is_reverted && other.address == frame.address;
    // EIP-6780: from Cancun on, only a contract created in the same transaction is deleted.
    // EIP-8246: from Amsterdam on, nothing is burnt.
    let is_burnt =
        fork < Fork::Cancun || (fork < Fork::Amsterdam && frames.iter().any(created_now));
    is_burnt.then_some(Movement {
        to: Address::ZERO,
        kind: Kind::Burn,
        ..movement
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FrameDetail, FrameRecorder,
        engine::{Engine, OurEvm},
        transaction_transfers,
    };
    use alloy_primitives::B256;
    use txgraph_evm::{Evm, StateMemory};
    use txgraph_revm_peer::{block_case::block_case, case::CHAIN_ID};
    use txgraph_transfers::{Decoder, TransactionView, TransferFilter, WrappedNative};

    /// The logs of Amsterdam and the frames of a replay give the same movements, in the same order.
    #[test]
    fn logs_equal_frames() {
        let filter = TransferFilter::with_internal(true);
        let (mut moved, mut causes) = (0, std::collections::BTreeSet::new());
        for seed in 0..5000 {
            let case = block_case(seed, &[]);
            let fork = Fork::Amsterdam;
            let mut evm = Evm::new(fork, CHAIN_ID);
            let memory = StateMemory::default();
            let mut engine = OurEvm::new(&mut evm, fork, case.state, true, memory);
            for (index, transaction) in (0..).zip(case.transactions) {
                let mut recorder = FrameRecorder::new(FrameDetail::Calls);
                let outcome = engine.transaction(&case.block, &transaction, Some(&mut recorder));
                let Ok(outcome) = outcome else {
                    continue;
                };
                engine.transitions().unwrap();
                let view = TransactionView {
                    from: transaction.caller,
                    to: transaction.to.or(outcome.created).unwrap_or_default(),
                    value: transaction.value,
                    mint: U256::ZERO,
                    success: outcome.is_success(),
                };
                let mut decoder = Decoder::new(CHAIN_ID, &WrappedNative::None, &filter);
                decoder.begin_block(7, BlockTime::new(1));
                let logs =
                    transaction_transfers(&mut decoder, index, Some(&view), &outcome.logs, 0);
                let replay = TransactionReplay {
                    block: 7,
                    fork,
                    index,
                    hash: B256::repeat_byte(1),
                    transaction,
                    outcome,
                    first_log: 0,
                    frames: Some(recorder.take()),
                    transitions: Vec::new(),
                    touched: None,
                    balances: None,
                    without_overrides: None,
                };
                let by_frames = replay.internal_transfers(1);
                causes.extend(by_frames.iter().map(|it| it.cause));
                let by_frames: Vec<_> = by_frames.into_iter().map(|it| it.transfer).collect();
                let inside = logs.into_iter().filter(|it| it.kind == Kind::Internal);
                let by_logs: Vec<_> = inside
                    .map(|it| Transfer {
                        transaction_hash: Some(replay.hash),
                        ..it
                    })
                    .collect();
                assert_eq!(by_logs, by_frames, "transaction {index} of seed {seed}");
                moved += by_logs.len();
            }
        }
        assert!(moved > 500, "{moved}");
        assert_eq!(causes.len(), 4, "{causes:?}");
    }
}
