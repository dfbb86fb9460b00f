//! Progress reports.

use std::sync::Arc;

/// Receives reports on work that goes through blocks.
///
/// `start` and `finish` are called on the thread that started the work. `advance` is called on
/// any thread, possibly by several at the same time and not in block order: each worker that
/// builds an index reports its own blocks. The blocks passed to `advance` add up to those that
/// were done.
pub trait Progress: Send + Sync {
    /// Work begins. `blocks` is the number of blocks to do; `counted` is the plural name
    /// of what `advance` counts, e.g. "transfers". The default does nothing.
    fn start(&self, blocks: u64, counted: &'static str) {
        let _ = (blocks, counted);
    }

    /// `blocks` more blocks are done, which contained `count` of what is counted.
    fn advance(&self, blocks: u64, count: u64);

    /// The work has ended, successfully or not. The default does nothing.
    fn finish(&self) {}
}

/// A receiver that the caller keeps a handle on.
impl<P: Progress + ?Sized> Progress for Arc<P> {
    fn start(&self, blocks: u64, counted: &'static str) {
        (**self).start(blocks, counted);
    }

    fn advance(&self, blocks: u64, count: u64) {
        (**self).advance(blocks, count);
    }

    fn finish(&self) {
        (**self).finish();
    }
}

/// Calls [`Progress::start`] when created and [`Progress::finish`] when dropped, also
/// after an error or a panic.
pub struct ProgressGuard<'a>(Option<&'a dyn Progress>);

impl<'a> ProgressGuard<'a> {
    /// Starts a report; without a receiver it does nothing.
    pub fn start(progress: Option<&'a dyn Progress>, blocks: u64, counted: &'static str) -> Self {
        if let Some(progress) = progress {
            progress.start(blocks, counted);
        }
        Self(progress)
    }

    /// Calls [`Progress::advance`].
    pub fn advance(&self, blocks: u64, count: u64) {
        if let Some(progress) = self.0 {
            progress.advance(blocks, count);
        }
    }
}

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        if let Some(progress) = self.0 {
            progress.finish();
        }
    }
}

impl std::fmt::Debug for ProgressGuard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ProgressGuard")
            .field(&self.0.is_some())
            .finish()
    }
}
