//! The executor: runs a transaction, a system call or a bare call from the first check to the
//! outcome.

use crate::{
    code::CodeCache,
    env::{Block, Message, SYSTEM, Transaction},
    fork::Fork,
    frame::{Context, Input, Request},
    gas::{self, Schedule},
    inspect::{FrameKind, Inspector},
    keccak::KeccakCache,
    machine::{Ended, Machine},
    memory::Memory,
    outcome::{BlockGas, Error, InvalidTransaction, Outcome, Status},
    outermost::{apply_authorizations, load_code, pay_for_account},
    precompiles::LineCache,
    source::{Erased, Failed, Source, StateSource},
    state::{Checkpoint, Journal, State, StateGas},
    transaction::{self, Bill, Checks, Intrinsic},
    word::Word,
};
use alloy_primitives::{Address, Bytes, U256};
use std::sync::Arc;

/// Executes transactions of one chain under one fork. Reuse it, because it owns the stacks and the
/// memory, which make the next execution cheap. Use one per thread; they may share a
/// [`CodeCache`].
#[derive(Debug)]
pub struct Evm {
    parts: Parts,
    machine: Machine,
}

/// The parts of an [`Evm`] that a [`Context`] borrows.
#[derive(Debug)]
struct Parts {
    fork: Fork,
    chain_id: u64,
    codes: Arc<CodeCache>,
    memory: Memory,
    keccaks: KeccakCache,
    lines: LineCache,
    memory_limit: Option<usize>,
    checks: Checks,
}

impl Parts {
    /// A context that lacks only the origin of the message.
    fn context<'a>(
        &'a mut self,
        journal: &'a mut Journal,
        source: &'a mut dyn Source,
        block: &'a Block,
        inspector: Option<&'a mut dyn Inspector>,
    ) -> Context<'a> {
        self.memory.set_limit(self.memory_limit);
        Context {
            fork: self.fork,
            schedule: Schedule::of(self.fork),
            chain_id: self.chain_id,
            block,
            origin: Address::ZERO,
            gas_price: Word::ZERO,
            blob_hashes: &[],
            journal,
            source,
            codes: &self.codes,
            memory: &mut self.memory,
            keccaks: &mut self.keccaks,
            lines: &mut self.lines,
            steps: (inspector.as_ref()).is_some_and(|inspector| inspector.needs_steps()),
            inspector,
            memory_limit: self.memory_limit.unwrap_or(usize::MAX),
            init_code_bytes: 0,
            request: Request::default(),
            depth: 0,
        }
    }
}

/// The limit for [`Evm::set_memory_limit`] where code and gas are not trusted: 256 MiB.
pub const UNTRUSTED_MEMORY_LIMIT: usize = 256 << 20;

/// Why a transaction has no outcome, without the error of the source.
enum Refused {
    Invalid(InvalidTransaction),
    Source(Failed),
}

impl From<InvalidTransaction> for Refused {
    fn from(invalid: InvalidTransaction) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Failed> for Refused {
    fn from(failed: Failed) -> Self {
        Self::Source(failed)
    }
}

impl Evm {
    /// Creates an interpreter with its own cache of code.
    pub fn new(fork: Fork, chain_id: u64) -> Self {
        Self::with_code_cache(fork, chain_id, Arc::default())
    }

    /// Creates an interpreter with a shared cache of code.
    pub fn with_code_cache(fork: Fork, chain_id: u64, codes: Arc<CodeCache>) -> Self {
        Self {
            parts: Parts {
                fork,
                chain_id,
                codes,
                memory: Memory::default(),
                keccaks: KeccakCache::default(),
                lines: LineCache::default(),
                memory_limit: None,
                checks: Checks::default(),
            },
            machine: Machine::default(),
        }
    }

    /// The fork whose rules apply.
    pub fn fork(&self) -> Fork {
        self.parts.fork
    }

    /// The chain id, which `CHAINID` returns.
    pub fn chain_id(&self) -> u64 {
        self.parts.chain_id
    }

    /// Sets the fork for later executions.
    pub fn set_fork(&mut self, fork: Fork) {
        self.parts.fork = fork;
    }

    /// Sets the checks before later transactions.
    pub fn set_checks(&mut self, checks: Checks) {
        self.parts.checks = checks;
    }

    /// Limits the bytes that one execution may use; `None` removes the limit, which is the
    /// default.
    ///
    /// Chains need no limit, because a block's gas bounds memory (`docs/evm-safety.md`). Runs with
    /// untrusted code and any amount of gas need one, for example [`UNTRUSTED_MEMORY_LIMIT`]. The
    /// limit applies to the memory of all frames together. It applies again to everything else that
    /// the execution keeps: logs, output, transient storage, the journal, new code. A frame that
    /// exceeds it ends with [`Halt::MemoryLimit`](crate::Halt::MemoryLimit), which no chain has.
    ///
    /// Return data is a copy of a frame's memory, so an execution uses at most three times the
    /// limit. Stacks (32 MiB) and the [`CodeCache`] are not included.
    pub fn set_memory_limit(&mut self, bytes: Option<usize>) {
        self.parts.memory_limit = bytes;
    }

    /// Executes a transaction: checks, fees, execution, refunds, payment. Adds its changes to
    /// `state`; after an error `state` is unchanged.
    pub fn execute_transaction<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Outcome, Error<S::Error>> {
        self.with(state, |evm, journal, source| {
            evm.transact(journal, source, block, transaction, None)
        })
    }

    /// Like [`execute_transaction`](Self::execute_transaction), with an inspector.
    pub fn execute_transaction_inspected<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        transaction: &Transaction,
        inspector: &mut dyn Inspector,
    ) -> Result<Outcome, Error<S::Error>> {
        self.with(state, |evm, journal, source| {
            evm.transact(journal, source, block, transaction, Some(inspector))
        })
    }

    /// Executes a call by the protocol (EIP-4788, 2935, 7002, 7251, 8282): from 0xff…fe, with 30
    /// million gas, without fee and nonce. Since EIP-8037 also with state gas for 16 slots. Does
    /// nothing if `contract` has no code.
    pub fn system_call<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Outcome, Error<S::Error>> {
        let message = Message {
            caller: SYSTEM,
            to: Some(contract),
            input,
            gas_limit: gas::SYSTEM_CALL,
            ..Message::default()
        };
        self.with(state, |evm, journal, source| {
            let slots = gas::SYSTEM_CALL_SLOTS * gas::SLOT_STATE_BYTES;
            journal.state_gas.reservoir = slots * Schedule::of(evm.fork()).state_byte;
            evm.message(journal, source, block, &message, None)
        })
    }

    /// Executes a bare call: without intrinsic gas, fees and nonces, except that a creation
    /// increases the caller's nonce. Adds its changes to `state`.
    pub fn call<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        message: &Message,
    ) -> Result<Outcome, Error<S::Error>> {
        self.with(state, |evm, journal, source| {
            evm.message(journal, source, block, message, None)
        })
    }

    /// Like [`call`](Self::call), with an inspector.
    pub fn call_inspected<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        block: &Block,
        message: &Message,
        inspector: &mut dyn Inspector,
    ) -> Result<Outcome, Error<S::Error>> {
        self.with(state, |evm, journal, source| {
            evm.message(journal, source, block, message, Some(inspector))
        })
    }

    /// Runs `execute` on the state, without the error type of the source. Undoes everything if it
    /// returns an error.
    fn with<S: StateSource>(
        &mut self,
        state: &mut State<S>,
        execute: impl FnOnce(&mut Self, &mut Journal, &mut dyn Source) -> Result<Outcome, Refused>,
    ) -> Result<Outcome, Error<S::Error>> {
        let mut source = Erased::new(&mut state.source);
        let outcome = execute(self, &mut state.journal, &mut source);
        if outcome.is_err() {
            state.journal.revert(Checkpoint::default());
        }
        state.journal.finish_transaction(self.parts.fork);
        outcome.map_err(|refused| match refused {
            Refused::Invalid(invalid) => Error::Invalid(invalid),
            Refused::Source(failed) => Error::Source(source.into_error(failed)),
        })
    }

    fn transact<'a>(
        &'a mut self,
        journal: &'a mut Journal,
        source: &'a mut dyn Source,
        block: &'a Block,
        tx: &'a Transaction,
        inspector: Option<&'a mut dyn Inspector>,
    ) -> Result<Outcome, Refused> {
        let Parts {
            fork,
            chain_id,
            checks,
            ..
        } = self.parts;
        let bill = transaction::check(fork, chain_id, block, tx, checks)?;
        let mut cx = self.parts.context(journal, source, block, inspector);
        (cx.origin, cx.gas_price) = (tx.caller, bill.gas_price.into());
        cx.blob_hashes = &tx.blob_hashes;
        let gas = tx.gas_limit - bill.intrinsic.gas;
        let mut of_frames = gas;
        if cx.fork >= Fork::Amsterdam && checks < Checks::AnySenderAndGas {
            // The check ensures that the intrinsic gas is within the cap.
            of_frames = gas.min(gas::TRANSACTION_GAS_CAP - bill.intrinsic.gas);
        }
        let sender = pay_ahead(&mut cx, &bill, tx, checks)?;
        let to = tx.to.map(|to| cx.load(to)).transpose()?;
        warm_up(&mut cx, tx.caller, tx.to);
        for item in &tx.access_list {
            cx.journal.announce_account(item.address);
            for key in &item.storage_keys {
                cx.journal.announce_slot(item.address, *key);
            }
        }
        cx.journal.state_gas.reservoir = (gas - of_frames).cast_signed();
        let before = cx.journal.checkpoint();
        let caller = (tx.caller, sender);
        request(
            &mut cx,
            caller,
            tx.to.zip(to),
            tx.value,
            &tx.input,
            of_frames,
        );
        let pays = cx.fork >= Fork::Amsterdam;
        let paid = apply_authorizations(&mut cx, tx)?
            && (!pays || pay_for_account(&mut cx)?)
            && load_code(&mut cx, pays)?;
        // The refunds of authorizations stay, even if the call fails.
        let (refund, new_account) = (cx.journal.refund, cx.request.new_account);
        let mut ended = if paid {
            self.machine.execute(&mut cx)?
        } else {
            cx.journal.revert(before);
            Machine::out_of_gas(&mut cx)
        };
        if ended.status != Status::Success {
            cx.journal.refund = refund;
            if paid && new_account {
                let gas = gas::ACCOUNT_STATE_BYTES * cx.schedule.state_byte;
                let given_back = cx.journal.state_gas.give_back(gas);
                if ended.status == Status::Revert {
                    ended.gas_left += given_back;
                }
            }
        }
        settle(&mut cx, &bill, tx, sender, ended)
    }

    fn message<'a>(
        &'a mut self,
        journal: &'a mut Journal,
        source: &'a mut dyn Source,
        block: &'a Block,
        message: &Message,
        inspector: Option<&'a mut dyn Inspector>,
    ) -> Result<Outcome, Refused> {
        let mut cx = self.parts.context(journal, source, block, inspector);
        (cx.origin, cx.gas_price) = (message.caller, message.gas_price.into());
        let to = message.to.map(|to| cx.load(to)).transpose()?;
        let caller = match to {
            // Nothing of the caller is needed. In a system call it need not be readable.
            Some(to) if message.value.is_zero() => to,
            _ => cx.load(message.caller)?,
        };
        warm_up(&mut cx, message.caller, message.to);
        if to.is_none() {
            let nonce = cx.journal.account(caller).nonce;
            cx.journal.set_nonce(caller, nonce.saturating_add(1));
        }
        let (caller, to) = ((message.caller, caller), message.to.zip(to));
        let gas = message.gas_limit.min(i64::MAX.cast_unsigned());
        request(&mut cx, caller, to, message.value, &message.input, gas);
        load_code(&mut cx, false)?;
        cx.request.is_static = message.is_static;
        if !message.moves_value {
            cx.request.transfer = Word::ZERO;
        }
        let ended = self.machine.execute(&mut cx)?;
        let gas_used = gas - ended.gas_left.cast_unsigned();
        Ok(Outcome {
            status: ended.status,
            gas_used,
            block_gas: BlockGas::from(gas_used),
            gas_refunded: u64::try_from(cx.journal.refund).unwrap_or(0),
            logs: cx.journal.take_logs(),
            output: ended.output,
            created: ended.created,
        })
    }
}

/// Takes the maximum fees from the sender, and increases its nonce.
fn pay_ahead(
    cx: &mut Context<'_>,
    bill: &Bill,
    tx: &Transaction,
    checks: Checks,
) -> Result<u32, Refused> {
    let sender = cx.load(tx.caller)?;
    let entry = cx.journal.account(sender);
    let account = crate::source::Account {
        balance: entry.balance.u256(),
        nonce: entry.nonce,
        code_hash: entry.code_hash,
    };
    let has_own_code = checks < Checks::AnySender
        && entry.has_code()
        && !(cx.fork >= Fork::Prague && cx.code(sender)?.delegate.is_some());
    transaction::check_sender(tx, &account, has_own_code)?;
    cx.journal.mark_accessed(sender);
    // At most the amount that was just checked.
    let fees = bill.gas_price * U256::from(tx.gas_limit) + bill.blob_fee;
    let paid = cx.journal.subtract_balance(sender, fees.into());
    debug_assert!(paid, "the balance was checked");
    cx.journal.set_nonce(sender, tx.nonce + 1);
    Ok(sender)
}

/// Marks the accounts that are warm from the start (EIP-2929, 3651). Precompiled contracts are
/// always warm.
fn warm_up(cx: &mut Context<'_>, caller: Address, to: Option<Address>) {
    if cx.fork < Fork::Berlin {
        return;
    }
    let beneficiary = (cx.fork >= Fork::Shanghai).then_some(cx.block.beneficiary);
    for address in [Some(caller), to, beneficiary].into_iter().flatten() {
        cx.journal.announce_account(address);
    }
}

/// Makes the request of the outermost frame, without its code. Accounts are given with their
/// numbers. The payer is not read if the value is zero and `to` is given.
#[expect(unsafe_code, reason = "the input outlives the execution")]
fn request(
    cx: &mut Context<'_>,
    (caller, payer): (Address, u32),
    to: Option<(Address, u32)>,
    value: U256,
    input: &Bytes,
    gas: u64,
) {
    let value = Word::from(value);
    let (kind, address, account) = match to {
        Some((to, account)) => (FrameKind::Call, to, account),
        None => {
            // The nonce is already increased.
            let nonce = cx.journal.account(payer).nonce.saturating_sub(1);
            (FrameKind::Create, caller.create(nonce), 0)
        }
    };
    cx.request = Request {
        kind,
        caller,
        payer,
        address,
        code_address: address,
        account,
        value,
        transfer: value,
        // SAFETY: the callers borrow the transaction or message, and with it the input, until the
        // execution has ended. Inputs are not read after that.
        input: unsafe { Input::outside(input) },
        // The gas limits of chains are far below 2^63.
        gas: i64::try_from(gas).unwrap_or(i64::MAX),
        ..Request::default()
    };
}

/// Returns the fees of unused gas, and pays the beneficiary.
fn settle(
    cx: &mut Context<'_>,
    bill: &Bill,
    tx: &Transaction,
    sender: u32,
    ended: Ended,
) -> Result<Outcome, Refused> {
    let StateGas {
        reservoir, used, ..
    } = cx.journal.state_gas;
    let Intrinsic { floor, .. } = bill.intrinsic;
    let refund = u64::try_from(cx.journal.refund).unwrap_or(0);
    let spent = tx.gas_limit - (ended.gas_left + reservoir).cast_unsigned();
    let refund = refund.min(spent / cx.schedule.refund_quotient);
    let gas_used = (spent - refund).max(floor);
    let block_gas = if cx.fork < Fork::Amsterdam {
        BlockGas::from(gas_used)
    } else {
        // A transaction cannot give back more than it has used.
        let state = used.max(0).cast_unsigned();
        BlockGas {
            regular: spent.saturating_sub(state).max(floor),
            state,
        }
    };
    let unused = bill.gas_price * U256::from(tx.gas_limit - gas_used);
    cx.journal.add_balance(sender, unused.into());
    let beneficiary = cx.load(cx.block.beneficiary)?;
    cx.journal.mark_accessed(beneficiary);
    let reward = bill.tip * U256::from(gas_used);
    cx.journal.add_balance(beneficiary, reward.into());
    Ok(Outcome {
        status: ended.status,
        gas_used,
        block_gas,
        gas_refunded: refund,
        logs: cx.journal.take_logs(),
        output: ended.output,
        created: ended.created,
    })
}
