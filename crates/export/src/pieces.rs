//! Text formatted by several threads, and written in order.
//!
//! Items are divided into pieces of about [`PIECE_BYTES`]. Each thread takes the next piece,
//! formats it into a buffer and queues it. The thread that completes the first piece of the
//! queue writes it, with all complete pieces that follow, in one vectored write. So most
//! buffers are written by the thread that filled them, from its cache. No thread only writes,
//! and with one thread this is a plain loop. The queue is bounded, so a slow reader of the
//! output makes all threads wait. Buffers are reused.

use crate::{Result, output::Output};
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

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

/// Returns at least one thread; `None`: `RAYON_NUM_THREADS`, or one for each core.
pub(crate) fn thread_count(threads: Option<usize>) -> usize {
    let named = || std::env::var("RAYON_NUM_THREADS").ok()?.trim().parse().ok();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    threads
        .or_else(named)
        .filter(|threads| *threads > 0)
        .unwrap_or_else(cores)
}

/// Formats on several threads, and keeps their buffers.
pub(crate) struct OrderedWriter {
    threads: usize,
    spare: Vec<Vec<u8>>,
}

impl OrderedWriter {
    /// Creates a writer with this many threads; `None`: one for each core.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        Self {
            threads: thread_count(threads),
            spare: Vec::new(),
        }
    }

    /// Whether this many items are worth several threads.
    pub(crate) fn is_worth_it(&self, items: usize) -> bool {
        self.threads > 1 && items >= ITEMS_MIN
    }

    /// Writes all items on several threads. After a failure, part of the text may be written
    /// and the output is invalid.
    pub(crate) fn write(
        &mut self,
        items: usize,
        output: &mut Output,
        format: &Format<'_>,
    ) -> Result<()> {
        let queue = Queue {
            state: Mutex::new(State {
                next_item: 0,
                piece_items: FIRST_ITEMS,
                taken: 0,
                written: 0,
                head: 0,
                ready: VecDeque::new(),
                spare: std::mem::take(&mut self.spare),
                writing: false,
                ended: None,
            }),
            changed: Condvar::new(),
            output: Mutex::new(output),
            items,
            // For each thread one to fill and one to wait, and two being written.
            waiting_max: 2 * self.threads + 2,
            format,
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                // If a thread cannot be started, the others do its work.
                let started = thread::Builder::new()
                    .name("txgraph-format".to_owned())
                    .spawn_scoped(scope, || queue.work());
                if started.is_err() {
                    break;
                }
            }
            queue.work();
        });
        let state = queue.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        self.spare = state.spare;
        state.ended.unwrap_or(Ok(()))
    }
}

/// The pieces that are formatted or wait to be written.
struct Queue<'a> {
    state: Mutex<State>,
    /// A place in the queue became free, or the work ended.
    changed: Condvar,
    /// Held by the thread that writes; there is at most one ([`State::writing`]).
    output: Mutex<&'a mut Output>,
    items: usize,
    waiting_max: usize,
    format: &'a Format<'a>,
}

struct State {
    /// The first item that is not taken.
    next_item: usize,
    /// The number of items of the next piece.
    piece_items: usize,
    /// The number of pieces that were taken, and that were written.
    taken: usize,
    written: usize,
    /// The number of the first piece in the queue.
    head: usize,
    /// Pieces from `head` on; `None` if not complete.
    ready: VecDeque<Option<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
    writing: bool,
    /// Set by the first failure or panic; all threads stop.
    ended: Option<Result<()>>,
}

impl Queue<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic `ended` is set, and the scope resumes the panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: Result<()>) {
        self.lock().ended.get_or_insert(result);
        self.changed.notify_all();
    }

    /// The work of each thread.
    fn work(&self) {
        let guard = EndOnPanic(self);
        while let Some((piece, items, mut buffer)) = self.take() {
            let count = items.len();
            if let Err(error) = (self.format)(items, &mut buffer) {
                self.end(Err(error));
                break;
            }
            let mut state = self.lock();
            let item_bytes = (buffer.len() / count).max(1);
            state.piece_items = (PIECE_BYTES / item_bytes).max(1);
            let index = piece - state.head;
            if state.ready.len() <= index {
                state.ready.resize_with(index + 1, || None);
            }
            state.ready[index] = Some(buffer);
            if !state.writing {
                state.writing = true;
                self.write(state);
            }
        }
        std::mem::forget(guard);
    }

    /// Waits for a place in the queue. Returns the next piece and a buffer for it, or `None`
    /// at the end.
    fn take(&self) -> Option<(usize, Range<usize>, Vec<u8>)> {
        let mut state = self.lock();
        loop {
            if state.ended.is_some() || state.next_item == self.items {
                return None;
            }
            if state.taken - state.written < self.waiting_max {
                break;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let first = state.next_item;
        state.next_item = self.items.min(first + state.piece_items);
        let piece = state.taken;
        state.taken += 1;
        let room = || Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8);
        let buffer = state.spare.pop().unwrap_or_else(room);
        Some((piece, first..state.next_item, buffer))
    }

    /// Writes the complete pieces at the head of the queue, until the first is not complete.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        let mut batch = Vec::with_capacity(self.waiting_max);
        loop {
            while let Some(Some(_)) = state.ready.front() {
                batch.extend(state.ready.pop_front().flatten());
                state.head += 1;
            }
            if batch.is_empty() || state.ended.is_some() {
                break;
            }
            drop(state);
            let written = {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                output.put_all(&batch)
            };
            state = self.lock();
            // Their places are free now: until here they used memory.
            state.written += batch.len();
            batch.iter_mut().for_each(Vec::clear);
            state.spare.append(&mut batch);
            if let Err(error) = written {
                state.ended.get_or_insert(Err(error));
            }
            self.changed.notify_all();
        }
        state.writing = false;
    }
}

/// Stops the other threads, which would wait for the piece of a thread that panicked.
struct EndOnPanic<'a, 'b>(&'a Queue<'b>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        self.0.end(Ok(()));
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
        let mut writer = OrderedWriter::new(Some(threads));
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
                true => Err(Error::NoU256Type),
                false => Ok(()),
            }
        });
        assert!(matches!(failed, Err(Error::NoU256Type)), "{failed:?}");
    }

    #[test]
    fn closed_pipe_ends_all_threads() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = Output::stream(writer, "test".into());
        let written = OrderedWriter::new(Some(3)).write(100_000, &mut output, &|numbers, out| {
            out.resize(numbers.len() * 100, b'x');
            Ok(())
        });
        assert!(written.unwrap_err().is_broken_pipe());
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
