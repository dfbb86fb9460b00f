//! Text formatted by several threads, written in order.
//!
//! Items are cut into pieces of about [`PIECE_BYTES`]. Each thread takes the next
//! piece, formats it into a buffer of its own and puts it in line; whoever
//! completes the head of the line writes it, and all that stands ready behind it,
//! in one vectored write. So a buffer is mostly written by the thread that has
//! filled it, out of its cache; there is no thread that only writes, and with one
//! thread it is the plain loop. What stands in line is bounded: a slow reader of
//! the output makes everybody wait, and the buffers go round.

use crate::{Result, output::Output};
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// When a piece is large enough: far more than a system call or a lock costs,
/// and a few of them fit the cache of a core. A multiple of every page size.
pub(crate) const PIECE_BYTES: usize = 256 * 1024;

/// Below so many items no thread is started. Starting one costs some 30 µs, a twentieth
/// of what so many rows take.
const ITEMS_MIN: usize = 8 * 1024;

/// Items of a piece, until it is known how long they are.
const FIRST_ITEMS: usize = 512;

/// Appends the text of some items.
pub(crate) type Format<'a> = dyn Fn(Range<usize>, &mut Vec<u8>) -> Result<()> + Sync + 'a;

/// At least one thread; absent: as `RAYON_NUM_THREADS` says, else one for each core.
pub(crate) fn thread_count(threads: Option<usize>) -> usize {
    let named = || std::env::var("RAYON_NUM_THREADS").ok()?.trim().parse().ok();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    threads
        .or_else(named)
        .filter(|threads| *threads > 0)
        .unwrap_or_else(cores)
}

/// How many threads format, and their buffers.
pub(crate) struct Pieces {
    threads: usize,
    spare: Vec<Vec<u8>>,
}

impl Pieces {
    /// For so many threads; absent: one for each core.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        Self {
            threads: thread_count(threads),
            spare: Vec::new(),
        }
    }

    /// Whether so many items are worth several threads.
    pub(crate) fn are_worth_it(&self, items: usize) -> bool {
        self.threads > 1 && items >= ITEMS_MIN
    }

    /// Writes all items on several threads. After a failure some of the text may
    /// be written; the output is void.
    pub(crate) fn write(
        &mut self,
        items: usize,
        output: &mut Output,
        format: &Format<'_>,
    ) -> Result<()> {
        let line = InLine {
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
            // One to fill and one to wait for each thread, and two on their way out.
            waiting_max: 2 * self.threads + 2,
            format,
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                // Without more threads the work is done by fewer.
                let started = thread::Builder::new()
                    .name("txgraph-format".to_owned())
                    .spawn_scoped(scope, || line.work());
                if started.is_err() {
                    break;
                }
            }
            line.work();
        });
        let state = line.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        self.spare = state.spare;
        state.ended.unwrap_or(Ok(()))
    }
}

/// The pieces on their way.
struct InLine<'a> {
    state: Mutex<State>,
    /// A place became free, or everything ended.
    changed: Condvar,
    /// Held by the thread that writes; there is at most one ([`State::writing`]).
    output: Mutex<&'a mut Output>,
    items: usize,
    waiting_max: usize,
    format: &'a Format<'a>,
}

struct State {
    /// The first item that nobody has taken.
    next_item: usize,
    /// How many to take.
    piece_items: usize,
    /// How many pieces were taken, and how many of them written.
    taken: usize,
    written: usize,
    /// The piece that stands first in line.
    head: usize,
    /// Pieces from `head` on, as far as they are complete.
    ready: VecDeque<Option<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
    writing: bool,
    /// The first failure, or a thread that panicked: nobody goes on.
    ended: Option<Result<()>>,
}

impl InLine<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic `ended` is set, and the scope passes the panic on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: Result<()>) {
        self.lock().ended.get_or_insert(result);
        self.changed.notify_all();
    }

    /// What each thread does.
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
            let place = piece - state.head;
            if state.ready.len() <= place {
                state.ready.resize_with(place + 1, || None);
            }
            state.ready[place] = Some(buffer);
            if !state.writing {
                state.writing = true;
                self.write(state);
            }
        }
        std::mem::forget(guard);
    }

    /// The next piece and a buffer for it, as soon as there is a place in line.
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

    /// Writes what stands ready at the head, until nothing does.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        let mut going = Vec::with_capacity(self.waiting_max);
        loop {
            while let Some(Some(_)) = state.ready.front() {
                going.extend(state.ready.pop_front().flatten());
                state.head += 1;
            }
            if going.is_empty() || state.ended.is_some() {
                break;
            }
            drop(state);
            let written = {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                output.put_all(&going)
            };
            state = self.lock();
            // Their places are free only now: they took memory until here.
            state.written += going.len();
            going.iter_mut().for_each(Vec::clear);
            state.spare.append(&mut going);
            if let Err(error) = written {
                state.ended.get_or_insert(Err(error));
            }
            self.changed.notify_all();
        }
        state.writing = false;
    }
}

/// Others must not wait for the piece of a thread that is gone.
struct EndOnPanic<'a, 'b>(&'a InLine<'b>);

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
        let mut pieces = Pieces::new(Some(threads));
        // Twice, so that buffers are used again.
        pieces.write(items, &mut output, format)?;
        pieces.write(items, &mut output, format)?;
        assert!(
            pieces.spare.len() <= 3 * threads + 2,
            "{}",
            pieces.spare.len()
        );
        let written = output.finish(None, 0)?;
        let kept = kept.lock().unwrap().clone();
        assert_eq!(written.bytes, kept.len() as u64);
        Ok(kept)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn the_order_is_that_of_one_thread(
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
    fn a_failure_ends_everybody() {
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
    fn a_closed_pipe_ends_everybody() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = Output::stream(writer, "test".into());
        let written = Pieces::new(Some(3)).write(100_000, &mut output, &|numbers, out| {
            out.resize(numbers.len() * 100, b'x');
            Ok(())
        });
        assert!(written.unwrap_err().is_broken_pipe());
    }

    #[test]
    fn a_panic_ends_everybody() {
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
