//! Movements of the native coin inside of a transaction, as transfers.

use crate::{Frame, Frames, TransactionReplay};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, U256};
use txgraph_evm::{Block, Fork, FrameKind};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

/// A transfer, and where in the transaction it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeTransfer {
    /// In the one schema of all transfers. The order among the native movements of a
    /// transaction is that of execution; number 0 is the transaction's own value, fees
    /// come last.
    pub transfer: Transfer,
    /// At each step down from the outermost frame, which of its calls; that of a
    /// `SELFDESTRUCT` counts on behind the calls of its frame. Empty for fees.
    pub trace_address: Vec<u32>,
    /// What moved it.
    pub cause: Cause,
}

/// What moves the native coin.
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
    /// The fee.
    Fee,
}

impl Cause {
    /// As printed.
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

/// A movement before it has a place in a block.
struct Movement {
    from: Address,
    to: Address,
    value: U256,
    kind: Kind,
    cause: Cause,
    /// The frame, and behind its calls if it destroyed itself.
    place: Option<(usize, bool)>,
}

impl TransactionReplay {
    /// What moved inside of the transaction, without its own value: calls and creations
    /// with value, and destructions; nothing that was undone, and no zeros. Needs
    /// [`Record::frames`](crate::Record).
    ///
    /// A contract that destroys itself in its own favour burns its wei
    /// ([`Kind::Burn`], to the zero address), if the fork lets it be destroyed.
    pub fn internal_transfers(&self, timestamp: u64) -> Vec<NativeTransfer> {
        let Some(frames) = &self.frames else {
            return Vec::new();
        };
        let mut movements = Vec::new();
        // Frames entered, their calls not all walked: the frame, and how many are.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((number, walked)) = open.pop() {
            let Some(frame) = frames.get(number).filter(|frame| !frame.is_undone) else {
                continue;
            };
            if walked == 0 && number > 0 {
                movements.extend(moved(number, frame));
            }
            match frame.children.get(walked) {
                Some(child) => {
                    open.push((number, walked + 1));
                    open.push((*child, 0));
                }
                None => movements.extend(destroyed(self.fork, frames, number, frame)),
            }
        }
        self.placed(timestamp, 1, movements)
    }

    /// The fee in its two parts: what is burnt, and what the beneficiary gets. Paid also
    /// by a transaction that failed. `sub_first` is its place among the native movements
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
            place: None,
        };
        let burnt = base_fee * gas + block.blob_base_fee * blob_gas;
        let movements = vec![
            part(Address::ZERO, burnt, Kind::Fee),
            part(block.beneficiary, tip * gas, Kind::Priority),
        ];
        self.placed(block.timestamp, sub_first, movements)
    }

    fn placed(&self, timestamp: u64, first: u32, movements: Vec<Movement>) -> Vec<NativeTransfer> {
        let movements = movements
            .into_iter()
            .filter(|movement| !movement.value.is_zero());
        (first..)
            .zip(movements)
            .map(|(sub_index, movement)| NativeTransfer {
                transfer: Transfer {
                    block_number: self.block,
                    block_timestamp: timestamp,
                    transaction_index: self.index,
                    log_index: None,
                    sub_index,
                    transaction_hash: self.hash,
                    token_address: None,
                    from_address: movement.from,
                    to_address: movement.to,
                    value: movement.value,
                    token_id: None,
                    token_standard: TokenStandard::Native,
                    kind: movement.kind,
                },
                trace_address: self.trace_address(movement.place),
                cause: movement.cause,
            })
            .collect()
    }

    fn trace_address(&self, place: Option<(usize, bool)>) -> Vec<u32> {
        let (Some(frames), Some((number, is_behind))) = (&self.frames, place) else {
            return Vec::new();
        };
        let mut path = frames.trace_address(number);
        if let Some(frame) = frames.get(number).filter(|_| is_behind) {
            path.extend(u32::try_from(frame.children.len()));
        }
        path
    }
}

fn moved(number: usize, frame: &Frame) -> Option<Movement> {
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
        place: Some((number, false)),
    })
}

fn destroyed(fork: Fork, frames: &Frames, number: usize, frame: &Frame) -> Option<Movement> {
    let destruction = frame.destruction?;
    let movement = Movement {
        from: frame.address,
        to: destruction.beneficiary,
        value: destruction.amount,
        kind: Kind::Internal,
        cause: Cause::SelfDestruct,
        place: Some((number, true)),
    };
    if destruction.beneficiary != frame.address {
        return Some(movement);
    }
    let created_now =
        |other: &Frame| other.is_creation() && !other.is_undone && other.address == frame.address;
    // EIP-6780.
    let is_burnt = fork < Fork::Cancun || frames.iter().any(created_now);
    is_burnt.then_some(Movement {
        to: Address::ZERO,
        kind: Kind::Burn,
        ..movement
    })
}
