//! Two who watch one execution.

use alloy_primitives::{Address, Log, U256};
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Step};

/// Tells everything to both, if they are there.
#[derive(Debug)]
pub(crate) struct Pair<A, B>(pub(crate) Option<A>, pub(crate) Option<B>);

impl<A, B> Pair<A, B> {
    /// Whether there is anybody to tell.
    pub(crate) const fn is_watching(&self) -> bool {
        self.0.is_some() || self.1.is_some()
    }
}

impl<A: Inspector, B: Inspector> Pair<A, B> {
    fn tell(&mut self, tell: impl Fn(&mut dyn Inspector)) {
        if let Some(first) = &mut self.0 {
            tell(first);
        }
        if let Some(second) = &mut self.1 {
            tell(second);
        }
    }
}

impl<A: Inspector, B: Inspector> Inspector for Pair<A, B> {
    fn wants_steps(&self) -> bool {
        self.0.as_ref().is_some_and(Inspector::wants_steps)
            || self.1.as_ref().is_some_and(Inspector::wants_steps)
    }

    fn step(&mut self, step: &Step<'_>) {
        self.tell(|it| it.step(step));
    }

    fn step_end(&mut self, gas_left: u64) {
        self.tell(|it| it.step_end(gas_left));
    }

    fn enter(&mut self, frame: &FrameStart<'_>) {
        self.tell(|it| it.enter(frame));
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        self.tell(|it| it.exit(end));
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, amount: U256) {
        self.tell(|it| it.selfdestruct(contract, beneficiary, amount));
    }

    fn log(&mut self, log: &Log) {
        self.tell(|it| it.log(log));
    }
}
