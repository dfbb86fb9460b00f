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

    /// Switches it off again, for the next work. Only when no work uses it: what still runs may
    /// not have seen that it was on.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether work should stop.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_switch() {
        let flag = CancelFlag::new();
        let other = flag.clone();
        other.cancel();
        assert!(flag.is_canceled());
        flag.reset();
        assert!(!other.is_canceled());
    }
}
