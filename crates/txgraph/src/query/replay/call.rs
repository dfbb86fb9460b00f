//! Calls on the state of a block, which change nothing.

use crate::{Capability, Error, ErrorKind, Result, Source};
use alloy_primitives::{Address, Bytes, U256};
use txgraph_abi::Method;
use txgraph_evm::{Inspector, Message, Outcome, Status, is_precompile};
use txgraph_replay::{Simulate, Simulation, StateOverrides, revert_reason};

/// The gas of a call without a limit of its own, as in nodes.
const GAS: u64 = 50_000_000;

/// Asks for a call. See [`Source::call`].
#[derive(Clone, Debug)]
#[must_use = "a call is made by `run`"]
pub struct Call<'s> {
    source: &'s Source,
    block: Option<u64>,
    message: Message,
    overrides: StateOverrides,
}

impl Source {
    /// Calls a contract on the state of a block. `None`: the data is init code.
    pub fn call(&self, to: impl Into<Option<Address>>) -> Call<'_> {
        Call {
            source: self,
            block: None,
            overrides: StateOverrides::default(),
            message: Message {
                to: to.into(),
                moves_value: true,
                gas_limit: GAS,
                ..Message::default()
            },
        }
    }

    /// Lets `ask` execute transactions that are in no block, on the changed state at the end of a block.
    ///
    /// # Errors
    ///
    /// If there is no such state.
    pub fn simulate<T>(
        &self,
        simulation: &Simulation,
        ask: impl FnOnce(&mut dyn Simulate) -> T,
    ) -> Result<T> {
        let node = self.node(Capability::State)?;
        let (_, answer) = node.at_end_of(Some(simulation.block), |replayer, _| {
            replayer.simulate(simulation, ask)
        })?;
        Ok(answer)
    }

    /// Whether a call to this address at the end of a block executes nothing: it has no code, and
    /// is not a precompiled contract there. False if the source does not show it.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    pub fn has_nothing_to_call(&self, address: Address, block: u64) -> Result<bool> {
        if address[..18].iter().all(|byte| *byte == 0) {
            let rules = self.node(Capability::State)?.rules_for_calls()?;
            if is_precompile(rules.at(&self.header(block)?).fork, &address) {
                return Ok(false);
            }
        }
        let contracts = self.contracts_among(&[address], Some(block))?;
        Ok(contracts.is_some_and(|contracts| contracts.is_empty()))
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// The block at whose end it was called.
    pub block: u64,
    /// Status, gas, output.
    pub outcome: Outcome,
    /// Why it reverted, if the contract returned a text.
    pub reason: Option<String>,
}

impl CallResult {
    /// The output.
    ///
    /// # Errors
    ///
    /// If the call reverted or halted.
    pub fn output(&self) -> Result<&Bytes> {
        let why = match (&self.outcome.status, &self.reason) {
            (Status::Success, _) => return Ok(&self.outcome.output),
            (Status::Revert, Some(reason)) => format!("reverted: {reason}"),
            (Status::Revert, None) if self.outcome.output.is_empty() => "reverted".to_owned(),
            (Status::Revert, None) => format!("reverted with {}", self.outcome.output),
            (Status::Halt(halt), _) => format!("halted: {halt}"),
        };
        Err(Error::new(
            ErrorKind::Failed,
            format!("the call at the end of block {} {why}", self.block),
        ))
    }
}

impl Call<'_> {
    /// The caller; default: the zero address.
    pub const fn from(mut self, caller: Address) -> Self {
        self.message.caller = caller;
        self
    }

    /// The calldata.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.message.input = data.into();
        self
    }

    /// The function that is called, and its arguments as people write them.
    ///
    /// # Errors
    ///
    /// If the arguments are not of the types in the signature.
    pub fn function(self, method: &Method, arguments: &[impl AsRef<str>]) -> Result<Self> {
        Ok(self.data(method.encode(arguments)?))
    }

    /// The value that is sent, in wei.
    pub const fn value(mut self, value: U256) -> Self {
        self.message.value = value;
        self
    }

    /// The gas limit; default: 50 million.
    pub const fn gas(mut self, gas: u64) -> Self {
        self.message.gas_limit = gas;
        self
    }

    /// The wei per gas that the contract sees. Nothing is paid.
    pub const fn gas_price(mut self, price: U256) -> Self {
        self.message.gas_price = price;
        self
    }

    /// The block at whose end it is called; default: the newest with a state.
    pub const fn block(mut self, block: u64) -> Self {
        self.block = Some(block);
        self
    }

    /// Changes accounts before the call.
    pub fn overrides(mut self, overrides: StateOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Makes the call, with the rules of the block, and discards its changes.
    ///
    /// # Errors
    ///
    /// If there is no such state. A call that reverts is not an error here.
    pub fn run(self) -> Result<CallResult> {
        self.inspected(None)
    }

    /// As [`Self::run`], observed by `inspector`.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn inspected(self, inspector: Option<&mut dyn Inspector>) -> Result<CallResult> {
        let node = self.source.node(Capability::State)?;
        let (block, outcome) = node.at_end_of(self.block, |replayer, block| {
            replayer.call_if(&self.message, block, &self.overrides, inspector)
        })?;
        let reason = match outcome.status {
            Status::Revert => revert_reason(&outcome.output),
            _ => None,
        };
        Ok(CallResult {
            block,
            outcome,
            reason,
        })
    }
}
