//! Two inspectors of one execution.

use alloy_primitives::{Address, Log, U256};
use txgraph_evm::{FrameEnd, FrameStart, Inspector, Step};

/// Forwards every event to both inspectors, where they are present.
#[derive(Debug)]
pub(crate) struct InspectorPair<A, B>(pub(crate) Option<A>, pub(crate) Option<B>);

impl<A, B> InspectorPair<A, B> {
    /// Whether both are absent.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none() && self.1.is_none()
    }
}

impl<A: Inspector, B: Inspector> InspectorPair<A, B> {
    fn forward(&mut self, event: impl Fn(&mut dyn Inspector)) {
        if let Some(first) = &mut self.0 {
            event(first);
        }
        if let Some(second) = &mut self.1 {
            event(second);
        }
    }
}

impl<A: Inspector, B: Inspector> Inspector for InspectorPair<A, B> {
    fn needs_steps(&self) -> bool {
        self.0.as_ref().is_some_and(Inspector::needs_steps)
            || self.1.as_ref().is_some_and(Inspector::needs_steps)
    }

    fn step(&mut self, step: &Step<'_>) {
        self.forward(|inspector| inspector.step(step));
    }

    fn step_end(&mut self, gas_left: u64) {
        self.forward(|inspector| inspector.step_end(gas_left));
    }

    fn enter(&mut self, frame: &FrameStart<'_>) {
        self.forward(|inspector| inspector.enter(frame));
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        self.forward(|inspector| inspector.exit(end));
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, amount: U256) {
        self.forward(|inspector| inspector.selfdestruct(contract, beneficiary, amount));
    }

    fn log(&mut self, log: &Log) {
        self.forward(|inspector| inspector.log(log));
    }
}
