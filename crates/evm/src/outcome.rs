//! How execution ended, and why a transaction may not be executed at all.

use alloy_primitives::{Address, Bytes, Log, U256};

/// Of a transaction, a system call or a bare call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the outermost frame ended.
    pub status: Status,
    /// Gas charged: for a transaction after refunds, with the intrinsic part and the
    /// floor of EIP-7623; for a bare call that of the frame, before refunds.
    pub gas_used: u64,
    /// Gas given back: for a transaction what was, capped; for a bare call the counter.
    pub gas_refunded: u64,
    /// Gas that a transaction takes of its block's limit.
    pub block_gas: BlockGas,
    /// In order; none unless it succeeded.
    pub logs: Vec<Log>,
    /// Returned or reverted with; for a creation the code.
    pub output: Bytes,
    /// The contract, when a creation succeeded.
    pub created: Option<Address>,
}

impl Outcome {
    /// Whether the receipt says 1.
    pub fn is_success(&self) -> bool {
        self.status == Status::Success
    }
}

/// Gas as a block counts it. Until Amsterdam that is what transactions are charged; then
/// it is before refunds (EIP-7778), and of two kinds (EIP-8037).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGas {
    /// For everything but growth of the state.
    pub regular: u64,
    /// For growth of the state.
    pub state: u64,
}

impl BlockGas {
    /// What the header says: of whichever kind there is more.
    pub fn used(self) -> u64 {
        self.regular.max(self.state)
    }

    /// With that of one more transaction.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            regular: self.regular.saturating_add(other.regular),
            state: self.state.saturating_add(other.state),
        }
    }
}

impl From<u64> for BlockGas {
    fn from(regular: u64) -> Self {
        Self { regular, state: 0 }
    }
}

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Stopped, returned, or destroyed itself.
    Success,
    /// By `REVERT` (EIP-140): unused gas is kept.
    Revert,
    /// All its gas is gone.
    Halt(Halt),
}

/// Why a frame halted exceptionally: all its gas is consumed, its changes are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Halt {
    /// Gas, also for memory beyond any limit.
    #[error("out of gas")]
    OutOfGas,
    /// The run may not use more memory ([`Evm::set_memory_limit`](crate::Evm::set_memory_limit)).
    #[error("memory limit of the run")]
    MemoryLimit,
    /// An opcode that the fork does not know, or `INVALID`.
    #[error("invalid opcode 0x{0:02x}")]
    InvalidOpcode(u8),
    /// An instruction needs more words than there are.
    #[error("stack underflow")]
    StackUnderflow,
    /// More than 1,024 words.
    #[error("stack overflow")]
    StackOverflow,
    /// A jump to something that is no `JUMPDEST`.
    #[error("invalid jump destination")]
    InvalidJump,
    /// A change of state below `STATICCALL` (EIP-214).
    #[error("write in a static call")]
    StaticViolation,
    /// `RETURNDATACOPY` beyond the end (EIP-211).
    #[error("read beyond the return data")]
    ReturnDataOutOfBounds,
    /// A creation at an address in use (EIP-684, EIP-7610).
    #[error("the address of the new contract is in use")]
    AddressCollision,
    /// Deployed code longer than allowed (EIP-170).
    #[error("code longer than the limit")]
    CodeTooLarge,
    /// Init code longer than allowed (EIP-3860).
    #[error("init code longer than the limit")]
    InitCodeTooLarge,
    /// Deployed code begins with 0xEF (EIP-3541).
    #[error("code begins with 0xEF")]
    CodeStartsWithEf,
    /// Gas for the deposit of code is missing (EIP-2).
    #[error("out of gas for the code deposit")]
    CodeDepositOutOfGas,
    /// A precompiled contract refused its input.
    #[error("a precompiled contract failed")]
    PrecompileFailed,
    /// The outermost message sends more than its sender has.
    #[error("balance below the value sent")]
    InsufficientBalance,
    /// The creator's nonce is 2^64 - 1 (EIP-2681).
    #[error("nonce at its limit")]
    NonceOverflow,
    /// More than 1,024 nested frames.
    #[error("call depth limit")]
    CallDepth,
}

/// Why a transaction cannot be in a block. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransaction {
    /// The fork does not know the transaction's type.
    #[error("transactions of type {0} do not exist at this fork")]
    TypeNotSupported(u8),
    /// EIP-155.
    #[error("signed for chain {got}, this is chain {want}")]
    WrongChainId {
        /// Of the chain.
        want: u64,
        /// Of the transaction.
        got: u64,
    },
    /// Typed transactions always name their chain.
    #[error("a typed transaction names its chain")]
    MissingChainId,
    /// The nonce was used.
    #[error("nonce {got} is below the account's {want}")]
    NonceTooLow {
        /// Of the account.
        want: u64,
        /// Of the transaction.
        got: u64,
    },
    /// A gap.
    #[error("nonce {got} is above the account's {want}")]
    NonceTooHigh {
        /// Of the account.
        want: u64,
        /// Of the transaction.
        got: u64,
    },
    /// EIP-2681.
    #[error("nonce at its limit, 2^64 - 1")]
    NonceOverflow,
    /// EIP-3607.
    #[error("the sender has code")]
    SenderHasCode,
    /// For value and all fees at most.
    #[error("balance {balance} does not cover {need}")]
    InsufficientBalance {
        /// Wei of the account.
        balance: U256,
        /// Wei at most.
        need: U256,
    },
    /// Gas limit × price + value does not fit 256 bits.
    #[error("value and fees exceed 256 bits")]
    FeeOverflow,
    /// Before anything runs.
    #[error("gas limit {limit} is below the intrinsic gas {need}")]
    IntrinsicGas {
        /// Of the transaction.
        limit: u64,
        /// At least.
        need: u64,
    },
    /// EIP-7623.
    #[error("gas limit {limit} is below the floor {need} for its calldata")]
    FloorGas {
        /// Of the transaction.
        limit: u64,
        /// At least.
        need: u64,
    },
    /// The transaction exceeds what is left of the block's gas limit.
    #[error("gas limit {limit} is above what is left of the block's, {block}")]
    AboveBlockGasLimit {
        /// Of the transaction.
        limit: u64,
        /// Left in the block.
        block: u64,
    },
    /// EIP-7825.
    #[error("gas limit {limit} is above the cap {cap}")]
    AboveGasCap {
        /// Of the transaction.
        limit: u64,
        /// Of the fork.
        cap: u64,
    },
    /// EIP-1559.
    #[error("fee {fee} per gas is below the block's base fee {base_fee}")]
    FeeBelowBaseFee {
        /// Of the transaction.
        fee: U256,
        /// Of the block.
        base_fee: U256,
    },
    /// EIP-1559.
    #[error("the priority fee is above the whole fee")]
    PriorityFeeAboveFee,
    /// EIP-3860.
    #[error("init code of {size} bytes, allowed are {max}")]
    InitCodeTooLarge {
        /// Bytes.
        size: usize,
        /// Bytes.
        max: usize,
    },
    /// EIP-4844.
    #[error("a blob transaction without blobs")]
    NoBlobs,
    /// EIP-4844, EIP-7594.
    #[error("{count} blobs, allowed are {max}")]
    TooManyBlobs {
        /// Of the transaction.
        count: usize,
        /// Of the transaction or the block.
        max: u64,
    },
    /// EIP-4844.
    #[error("a blob hash of unknown version")]
    BlobVersion,
    /// EIP-4844.
    #[error("fee {fee} per blob gas is below the block's {base_fee}")]
    BlobFeeBelowBaseFee {
        /// Of the transaction.
        fee: U256,
        /// Of the block.
        base_fee: U256,
    },
    /// EIP-4844 and EIP-7702.
    #[error("this type of transaction cannot create contracts")]
    CannotCreate,
    /// EIP-7702.
    #[error("a set-code transaction without authorizations")]
    NoAuthorizations,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    /// The transaction cannot be in this block.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// The state could not be read; what was executed so far is undone.
    #[error("state could not be read: {0}")]
    Source(E),
}
