//! Measures the cost of reading past state from a data directory:
//! `cargo run --release -p txgraph-state --example costs -- DATADIR [BLOCKS]`
//!
//! Reads everything that the last `BLOCKS` blocks (default 1000) changed, as of the end of
//! the previous block: with the index, with an overlay, and with a prefetch.

use std::time::{Duration, Instant};
use txgraph_nodedb::DataDir;
use txgraph_state::{BlockChanges, BlockRange, History, StateDb, StateOptions, StateRange};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Time, and the number of items it was spent on.
#[derive(Default)]
struct Cost {
    time: Duration,
    count: usize,
}

impl Cost {
    fn of<T>(&mut self, count: usize, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.time += begun.elapsed();
        self.count += count;
        done
    }

    #[expect(clippy::print_stdout, reason = "an example prints its result")]
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    fn show(&self, what: &str) {
        let each = self.time.as_secs_f64() * 1e6 / self.count.max(1) as f64;
        println!("  {what:<34} {each:>9.2} µs each, {} of them", self.count);
    }
}

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let dir = DataDir::new(words.next().ok_or("usage: costs DATADIR [BLOCKS]")?);
    let wanted: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;
    for history in [History::Index, History::Walk] {
        let options = StateOptions {
            history,
            ..StateOptions::default()
        };
        let db = StateDb::open(&dir, options)?;
        let available = db.available()?;
        let blocks = available.blocks.ok_or("no state is available")?;
        let last = blocks.last.saturating_sub(1);
        let first = blocks
            .first
            .max((last + 1).saturating_sub(wanted))
            .min(last);
        let blocks = BlockRange { first, last };
        let mut walk = Cost::default();
        let range = walk.of(1, || db.range(blocks))?;
        let how = if range.is_walked() {
            "with an overlay"
        } else {
            "with the index"
        };
        println!("state after blocks {blocks}, {how}");
        if let Some(reason) = available
            .index_obstacle
            .filter(|_| history == History::Index)
        {
            println!("  ({reason})");
        }
        walk.show("preparing the range");
        ask(&range)?;
    }
    Ok(())
}

fn ask(range: &StateRange<'_>) -> Result<()> {
    let BlockRange { first, last } = range.blocks();
    let [mut at, mut changed, mut prefetch] = [Cost::default(), Cost::default(), Cost::default()];
    let [mut accounts, mut slots, mut current] =
        [Cost::default(), Cost::default(), Cost::default()];
    let mut fetched = Cost::default();
    for block in first..=last {
        let mut state = at.of(1, || range.at(block))?;
        let changes: BlockChanges = changed.of(1, || state.next_changes())?;
        accounts.of(changes.accounts.len(), || {
            let mut addresses = changes.accounts.iter();
            addresses.try_for_each(|change| state.account(change.address).map(drop))
        })?;
        slots.of(changes.storage.len(), || {
            let mut slots = changes.storage.iter();
            slots.try_for_each(|change| {
                let slot = change.slot.into();
                state.storage(change.address, slot).map(drop)
            })
        })?;
        current.of(changes.storage.len(), || {
            let mut slots = changes.storage.iter();
            slots.try_for_each(|change| {
                let (snapshot, slot) = (state.snapshot(), change.slot.into());
                snapshot.current_storage(change.address, slot).map(drop)
            })
        })?;
        prefetch.of(1, || state.prefetch(&changes));
        fetched.of(changes.storage.len(), || {
            let mut slots = changes.storage.iter();
            slots.try_for_each(|change| {
                let slot = change.slot.into();
                state.storage(change.address, slot).map(drop)
            })
        })?;
    }
    at.show("a state (snapshot and checks)");
    accounts.show("an account that changed later");
    slots.show("a slot that changed later");
    current.show("a slot of the tip");
    changed.show("all changes of the next block");
    prefetch.show("prefetching them");
    fetched.show("a prefetched slot");
    Ok(())
}
