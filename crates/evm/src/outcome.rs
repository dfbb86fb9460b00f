//! How an execution ended, and why a transaction cannot be executed.

use alloy_primitives::{Address, Bytes, Log, U256};

/// The result of a transaction, a system call or a bare call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the outermost frame ended.
    pub status: Status,
    /// The gas charged. For a transaction: after refunds, with the intrinsic part and the floor of
    /// EIP-7623. For a bare call: the gas of the frame, before refunds.
    pub gas_used: u64,
    /// The gas refunded. For a transaction: the capped refund. For a bare call: the counter.
    pub gas_refunded: u64,
    /// The gas that a transaction uses of its block's limit.
    pub block_gas: BlockGas,
    /// The logs in order; none unless the outermost frame succeeded.
    pub logs: Vec<Log>,
    /// The data returned or reverted with; for a creation the code.
    pub output: Bytes,
    /// The new contract, if a creation succeeded.
    pub created: Option<Address>,
}

impl Outcome {
    /// Whether the status of the receipt is 1.
    pub fn is_success(&self) -> bool {
        self.status == Status::Success
    }
}

/// Gas as a block counts it. Before Amsterdam this is the gas that transactions are charged. Since
/// then it is counted before refunds (EIP-7778) and in two kinds (EIP-8037).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGas {
    /// Gas for everything but growth of the state.
    pub regular: u64,
    /// Gas for growth of the state.
    pub state: u64,
}

impl BlockGas {
    /// The gas used, as in the header: the larger of the two kinds.
    pub fn used(self) -> u64 {
        self.regular.max(self.state)
    }

    /// The sum with another transaction's gas.
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
    /// It stopped, returned, or destroyed itself.
    Success,
    /// It executed `REVERT` (EIP-140). Unused gas is kept.
    Revert,
    /// It halted exceptionally. All its gas is consumed.
    Halt(Halt),
}

/// Why a frame halted exceptionally. All its gas is consumed and its changes are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Halt {
    /// The gas does not suffice, or the memory would exceed 1 GiB.
    #[error("out of gas")]
    OutOfGas,
    /// The run exceeds its memory limit ([`Evm::set_memory_limit`](crate::Evm::set_memory_limit)).
    #[error("memory limit of the run")]
    MemoryLimit,
    /// An opcode that the fork does not have, or `INVALID`.
    #[error("invalid opcode 0x{0:02x}")]
    InvalidOpcode(u8),
    /// An instruction needs more words than are on the stack.
    #[error("stack underflow")]
    StackUnderflow,
    /// The stack would have more than 1,024 words.
    #[error("stack overflow")]
    StackOverflow,
    /// The target of a jump is not a `JUMPDEST`.
    #[error("invalid jump destination")]
    InvalidJump,
    /// A change of the state within a static call (EIP-214).
    #[error("write in a static call")]
    StaticViolation,
    /// `RETURNDATACOPY` reads beyond the end (EIP-211).
    #[error("read beyond the return data")]
    ReturnDataOutOfBounds,
    /// The address of a new contract is in use (EIP-684, EIP-7610).
    #[error("the address of the new contract is in use")]
    AddressCollision,
    /// The deployed code is longer than allowed (EIP-170).
    #[error("code longer than the limit")]
    CodeTooLarge,
    /// The init code is longer than allowed (EIP-3860).
    #[error("init code longer than the limit")]
    InitCodeTooLarge,
    /// The deployed code begins with 0xEF (EIP-3541).
    #[error("code begins with 0xEF")]
    CodeStartsWithEf,
    /// The gas does not suffice for the code deposit (EIP-2).
    #[error("out of gas for the code deposit")]
    CodeDepositOutOfGas,
    /// A precompiled contract rejected its input.
    #[error("a precompiled contract failed")]
    PrecompileFailed,
    /// A frame would send more than its payer has.
    #[error("balance below the value sent")]
    InsufficientBalance,
    /// The nonce of the creator is 2^64 - 1 (EIP-2681).
    #[error("nonce at its limit")]
    NonceOverflow,
    /// More than 1,024 nested frames.
    #[error("call depth limit")]
    CallDepth,
}

/// Why a transaction cannot be included in a block. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransaction {
    /// The fork does not have this type of transaction.
    #[error("transactions of type {0} do not exist at this fork")]
    TypeNotSupported(u8),
    /// The transaction is signed for another chain (EIP-155).
    #[error("signed for chain {got}, this is chain {want}")]
    WrongChainId {
        /// The chain's id.
        want: u64,
        /// The transaction's.
        got: u64,
    },
    /// A typed transaction must contain a chain id.
    #[error("typed transaction without a chain id")]
    MissingChainId,
    /// The nonce is already used.
    #[error("nonce {got} is below the account's {want}")]
    NonceTooLow {
        /// The account's.
        want: u64,
        /// The transaction's.
        got: u64,
    },
    /// The nonce leaves a gap.
    #[error("nonce {got} is above the account's {want}")]
    NonceTooHigh {
        /// The account's.
        want: u64,
        /// The transaction's.
        got: u64,
    },
    /// The nonce cannot be increased (EIP-2681).
    #[error("nonce at its limit, 2^64 - 1")]
    NonceOverflow,
    /// The sender is a contract (EIP-3607).
    #[error("the sender has code")]
    SenderHasCode,
    /// The balance does not cover the value and the maximum fees.
    #[error("balance {balance} does not cover {need}")]
    InsufficientBalance {
        /// The wei of the account.
        balance: U256,
        /// The value and the maximum fees, in wei.
        need: U256,
    },
    /// Gas limit × price + value exceeds 256 bits.
    #[error("value and fees exceed 256 bits")]
    FeeOverflow,
    /// The gas limit does not cover the gas before execution.
    #[error("gas limit {limit} is below the intrinsic gas {need}")]
    IntrinsicGas {
        /// The transaction's.
        limit: u64,
        /// The minimum.
        need: u64,
    },
    /// The gas limit is below the floor for calldata (EIP-7623).
    #[error("gas limit {limit} is below the floor {need} for its calldata")]
    FloorGas {
        /// The transaction's.
        limit: u64,
        /// The minimum.
        need: u64,
    },
    /// The gas limit exceeds the gas left in the block.
    #[error("gas limit {limit} is above the gas left in the block, {block}")]
    AboveBlockGasLimit {
        /// The transaction's.
        limit: u64,
        /// The gas left in the block.
        block: u64,
    },
    /// The gas limit exceeds the cap of the fork (EIP-7825).
    #[error("gas limit {limit} is above the cap {cap}")]
    AboveGasCap {
        /// The transaction's.
        limit: u64,
        /// The fork's cap.
        cap: u64,
    },
    /// The fee is below the base fee (EIP-1559).
    #[error("fee {fee} per gas is below the block's base fee {base_fee}")]
    FeeBelowBaseFee {
        /// The transaction's.
        fee: U256,
        /// The block's.
        base_fee: U256,
    },
    /// The priority fee exceeds the fee (EIP-1559).
    #[error("the priority fee is above the whole fee")]
    PriorityFeeAboveFee,
    /// The init code is longer than allowed (EIP-3860).
    #[error("init code of {size} bytes exceeds the limit of {max}")]
    InitCodeTooLarge {
        /// Its length in bytes.
        size: usize,
        /// The maximum in bytes.
        max: usize,
    },
    /// A blob transaction needs a blob (EIP-4844).
    #[error("blob transaction without blobs")]
    NoBlobs,
    /// More blobs than a transaction or the block may have (EIP-4844, EIP-7594).
    #[error("{count} blobs exceed the limit of {max}")]
    TooManyBlobs {
        /// The transaction's.
        count: usize,
        /// The maximum of the transaction or the block.
        max: u64,
    },
    /// The version of a blob hash is not 1 (EIP-4844).
    #[error("blob hash of an unknown version")]
    BlobVersion,
    /// The fee per blob gas is below the base fee (EIP-4844).
    #[error("fee {fee} per blob gas is below the block's {base_fee}")]
    BlobFeeBelowBaseFee {
        /// The transaction's.
        fee: U256,
        /// The block's.
        base_fee: U256,
    },
    /// Blob and set-code transactions need a recipient (EIP-4844, EIP-7702).
    #[error("this type of transaction cannot create contracts")]
    CannotCreate,
    /// A set-code transaction needs an authorization (EIP-7702).
    #[error("set-code transaction without authorizations")]
    NoAuthorizations,
}

/// Why an execution has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    /// The transaction cannot be included in this block.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// The state could not be read. Changes so far are undone.
    #[error("state could not be read: {0}")]
    Source(E),
}
