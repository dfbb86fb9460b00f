//! The recorder of a transaction's execution.

use crate::{
    Error, FrameDetail, FrameRecorder, Result, StateError, Touched, TransactionReplay,
    engine::Engine, inspect::InspectorPair,
};
use txgraph_evm::{Block, Transition};

impl InspectorPair<FrameRecorder, Touched> {
    /// Records frames with this detail, and what is touched; `None` if neither is wanted.
    pub(crate) fn recording(frames: Option<FrameDetail>, touched: bool) -> Option<Self> {
        let pair = Self(
            frames.map(FrameRecorder::new),
            touched.then(Touched::default),
        );
        (!pair.is_empty()).then_some(pair)
    }

    /// Moves what was recorded into the replay of the last transaction, whose changes are `transitions`.
    pub(crate) fn take(
        &mut self,
        replay: &mut TransactionReplay,
        block: &Block,
        transitions: &[Transition],
        engine: &mut dyn Engine,
    ) -> std::result::Result<(), StateError> {
        replay.frames = self.0.as_mut().map(FrameRecorder::take);
        if let Some(touched) = &mut self.1 {
            let mut touched = std::mem::take(touched);
            engine.look_up(&mut touched, block, &replay.transaction, transitions)?;
            replay.touched = Some(touched);
        }
        Ok(())
    }

    /// Fails if inputs and outputs of frames did not fit into memory.
    pub(crate) fn check_complete(&self, block: u64) -> Result<()> {
        match self.0.as_ref().is_none_or(FrameRecorder::is_complete) {
            true => Ok(()),
            false => Err(Error::FramesTooLarge { block }),
        }
    }
}
