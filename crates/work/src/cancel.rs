//! A switch that stops work.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A switch that stops work. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Returns a switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all work that uses this switch to stop. Safe in a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
