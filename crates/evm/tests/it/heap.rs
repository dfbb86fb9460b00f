//! Counts what a thread has on the heap, so that tests can hold it to a limit.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

thread_local! {
    /// Bytes of this thread: now, and at most since [`peak_of`] began. What another thread
    /// frees is missing in its own count; a test that counts has one thread.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    let (now, peak) = BYTES.get();
    let now = now + change;
    BYTES.set((now, peak.max(now)));
}

// SAFETY: all is done by the system's allocator; counting allocates nothing.
#[expect(unsafe_code, reason = "an allocator is unsafe to write")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both exist while one is copied to the other.
        count(size.cast_signed());
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` gives, and how many bytes more than before it had on the heap at most.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let (before, _) = BYTES.get();
    BYTES.set((before, before));
    let done = work();
    let (_, peak) = BYTES.get();
    (done, (peak - before).cast_unsigned())
}

#[test]
fn the_peak_is_what_was_there_at_once() {
    let ((), peak) = peak_of(|| {
        drop(vec![1u8; 1000]);
        drop(vec![1u8; 3000]);
    });
    assert_eq!(peak, 3000);
}
