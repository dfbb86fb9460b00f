//! Text formatted by several threads, and written in order.
//!
//! Items are divided into pieces of about [`PIECE_BYTES`]. Each thread formats a piece into a
//! buffer; the calling thread writes the pieces in order. The number of pieces that wait is
//! bounded, so a slow reader of the output slows everything down. Buffers are reused.

use crate::{Result, output::Output};
use std::{
    ops::{ControlFlow, Range},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use txgraph_work::{CancelFlag, Ordered, Threads, ordered};

/// The size of a piece. Formatting it costs far more than a system call or a lock, and a few
/// pieces fit the cache of a core. A multiple of every page size.
pub(crate) const PIECE_BYTES: usize = 256 * 1024;

/// The fewest items for which threads are started. Starting a thread costs about 30 µs, a
/// twentieth of formatting this many rows.
const ITEMS_MIN: usize = 8 * 1024;

/// Items of a piece until the length of items is known.
const FIRST_ITEMS: usize = 512;

/// Appends the text of a range of items.
pub(crate) type Format<'a> = dyn Fn(Range<usize>, &mut Vec<u8>) -> Result<()> + Sync + 'a;

/// Formats on several threads, into buffers that are used again.
pub(crate) struct OrderedWriter {
    threads: Threads,
    spare: Vec<Vec<u8>>,
}

impl OrderedWriter {
    pub(crate) const fn new(threads: Threads) -> Self {
        Self {
            threads,
            spare: Vec::new(),
        }
    }

    /// Whether this many items are worth several threads.
    pub(crate) fn is_worth_it(&self, items: usize) -> bool {
        self.threads.count() > 1 && items >= ITEMS_MIN
    }

    /// Writes all items. After a failure some of the text may be written; the output is
    /// void.
    pub(crate) fn write(
        &mut self,
        items: usize,
        output: &mut Output,
        format: &Format<'_>,
    ) -> Result<()> {
        let spare = Mutex::new(std::mem::take(&mut self.spare));
        let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let piece_items = AtomicUsize::new(FIRST_ITEMS);
        let mut next = 0;
        let pieces = std::iter::from_fn(|| {
            let first = next;
            next = items.min(first + piece_items.load(Ordering::Relaxed));
            (first < next).then_some(first..next)
        });
        let run = |(): &mut (), piece: Range<usize>| {
            let room = || Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8);
            let mut buffer = lock().pop().unwrap_or_else(room);
            let count = piece.len();
            match format(piece, &mut buffer) {
                Err(error) => ControlFlow::Break(Err(error)),
                Ok(()) => {
                    let item_bytes = (buffer.len() / count).max(1);
                    piece_items.store((PIECE_BYTES / item_bytes).max(1), Ordering::Relaxed);
                    ControlFlow::Continue(Ok(buffer))
                }
            }
        };
        let mut put = |piece: Result<Vec<u8>>| {
            let mut buffer = piece?;
            output.put(&buffer)?;
            buffer.clear();
            lock().push(buffer);
            Ok(())
        };
        let end = ordered(
            &self.threads,
            // For each thread one to fill and one to wait, and two on their way out.
            2 * self.threads.count() + 2,
            &CancelFlag::new(),
            pieces,
            || (),
            run,
            |piece| match put(piece) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
        )?;
        self.spare = std::mem::take(&mut *lock());
        match end {
            Ordered::Broken(error) => Err(error),
            Ordered::Done | Ordered::Canceled => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use proptest::prelude::*;
    use std::{
        io::{self, Write},
        panic::{AssertUnwindSafe, catch_unwind},
    };

    /// Keeps what is written, a little at a time, and now and then is interrupted.
    struct Slow {
        kept: std::sync::Arc<Mutex<Vec<u8>>>,
        calls: usize,
    }

    impl Write for Slow {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(5) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let taken = data.len().min(100_000);
            self.kept.lock().unwrap().extend_from_slice(&data[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn text(items: usize, threads: usize, format: &Format<'_>) -> Result<Vec<u8>> {
        let kept = std::sync::Arc::default();
        let slow = Slow {
            kept: std::sync::Arc::clone(&kept),
            calls: 0,
        };
        let mut output = Output::stream(slow, "test".into());
        let mut writer = OrderedWriter::new(Threads::new(threads).unwrap());
        // Twice, so that buffers are reused.
        writer.write(items, &mut output, format)?;
        writer.write(items, &mut output, format)?;
        assert!(
            writer.spare.len() <= 3 * threads + 2,
            "{}",
            writer.spare.len()
        );
        let written = output.finish(None, 0)?;
        let kept = kept.lock().unwrap().clone();
        assert_eq!(written.bytes, kept.len() as u64);
        Ok(kept)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn order_is_that_of_one_thread(
            items in 0usize..6000,
            threads in 1usize..6,
            widths in prop::collection::vec(prop_oneof![0usize..400, 0usize..5000], 1..20),
        ) {
            let item = |number: usize, out: &mut Vec<u8>| {
                let width = widths[number % widths.len()];
                writeln!(out, "{number:>width$}").unwrap();
            };
            let mut plain = Vec::new();
            (0..items).for_each(|number| item(number, &mut plain));
            plain.extend_from_within(..);
            let ours = text(items, threads, &|numbers, out| {
                numbers.for_each(|number| item(number, out));
                Ok(())
            });
            prop_assert!(ours.unwrap() == plain);
        }
    }

    #[test]
    fn failure_ends_all_threads() {
        let failed = text(100_000, 4, &|numbers, out| {
            out.resize(numbers.len() * 100, b'x');
            match numbers.contains(&50_000) {
                true => Err(Error::NoColumns),
                false => Ok(()),
            }
        });
        assert!(matches!(failed, Err(Error::NoColumns)), "{failed:?}");
    }

    #[test]
    fn closed_pipe_ends_all_threads() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = Output::stream(writer, "test".into());
        let written = OrderedWriter::new(Threads::new(3).unwrap()).write(
            100_000,
            &mut output,
            &|numbers, out| {
                out.resize(numbers.len() * 100, b'x');
                Ok(())
            },
        );
        assert!(matches!(written.unwrap_err(), Error::BrokenPipe));
    }

    #[test]
    fn panic_ends_all_threads() {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            text(100_000, 4, &|numbers, out| {
                out.resize(numbers.len() * 100, b'x');
                assert!(!numbers.contains(&50_000), "on purpose");
                Ok(())
            })
        }));
        assert!(panicked.is_err());
    }
}
