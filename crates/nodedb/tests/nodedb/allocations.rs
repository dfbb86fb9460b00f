//! Reading receipts and logs allocates nothing per receipt or log.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    ops::ControlFlow,
};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Scratch};
use txgraph_testkit::fixtures::{committed, fixture};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "counts, and forwards to the system allocator")]
// SAFETY: every call is forwarded unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Fails while the thread ends, when the counter no longer exists.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(ptr, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_allocation_per_receipt() {
    let [_, small] = committed();
    let fixture = fixture("dev-v2").unwrap_or(small);
    let db = NodeDb::open(&DataDir::new(fixture.path())).unwrap();
    let snapshot = db.snapshot().unwrap();
    let whole = BlockRange::up_to(snapshot.tip());
    let mut scratch = Scratch::default();
    let mut scan = || {
        let (mut receipts, mut logs, before) = (0u64, 0u64, ALLOCATIONS.get());
        let parts = Parts {
            receipts: true,
            withdrawals: true,
            ..Parts::default()
        };
        snapshot
            .for_each_block(whole, parts, &mut scratch, &mut |block| {
                while let Some(receipt) = block.next_receipt()? {
                    receipts += 1;
                    let mut walk = receipt.logs();
                    logs += walk.by_ref().filter(|log| !log.topics.is_empty()).count() as u64;
                    walk.finish()?;
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        (receipts, logs, ALLOCATIONS.get() - before)
    };
    scan();
    // The second pass reuses the buffers of the first.
    let (receipts, logs, allocations) = scan();
    let blocks = whole.last + 1;
    assert!(receipts > 4 * blocks && logs > 4 * blocks);
    // The header's extra data and its hash check take a few per block.
    assert!(
        allocations <= 5 * blocks,
        "{allocations} for {blocks} blocks"
    );
}
