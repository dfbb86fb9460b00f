//! Counts the bytes that a thread has on the heap, so that tests can check limits.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

thread_local! {
    /// The bytes of this thread: present, and the maximum since [`peak_of`] began. Bytes that another
    /// thread frees are counted wrongly, so a test that counts has only one thread.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    let (now, peak) = BYTES.get();
    let now = now + change;
    BYTES.set((now, peak.max(now)));
}

// SAFETY: forwards to the system's allocator; counting allocates nothing.
#[expect(unsafe_code, reason = "an allocator is unsafe to write")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the contract of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the contract of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the contract of the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both exist while the old one is copied.
        count(size.cast_signed());
        count(-layout.size().cast_signed());
        // SAFETY: the contract of the caller.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `work`, and the maximum number of bytes that it added to the heap.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let (before, _) = BYTES.get();
    BYTES.set((before, before));
    let done = work();
    let (_, peak) = BYTES.get();
    (done, (peak - before).cast_unsigned())
}

#[test]
fn peak_counts_only_simultaneous_allocations() {
    let ((), peak) = peak_of(|| {
        drop(vec![1u8; 1000]);
        drop(vec![1u8; 3000]);
    });
    assert_eq!(peak, 3000);
}
