//! Accounts, storage and code of a local node as of the end of any block that its
//! database still covers. Input: a [`NodeDb`](txgraph_nodedb::NodeDb). Output: a
//! [`StateSource`](txgraph_evm::StateSource) for the interpreter.
//!
//! ```text
//!                     ┌─ index usable ─► db.at(n) ──────────────┐
//! StateDb ─ available ┤                                         ├─► StateAt ─► account, slot, code
//!                     └─ otherwise ───► db.range(a..=b) ─ at(n) ┘
//!                                        walks the change sets
//!                                        once, up to the tip
//! ```
//!
//! A node stores the state as of its tip and, for every block, a change set: what the
//! block changed, with the values before it. An account after block `n` has the value
//! from before the first later block that changed it, or the current value if no later
//! block did. There are two ways to find that block:
//!
//! - The node's history indices: two reads for each account or slot. Layout v1 has them
//!   in MDBX, layout v2 in RocksDB.
//! - An overlay: the change sets from a range up to the tip are read once, sorted, and
//!   kept in memory or, beyond a limit, in a temporary file. It needs no index and serves
//!   every block of the range on every thread. Its cost grows with the distance between
//!   the range and the tip.
//!
//! In layout v2 a node may store the state later than its newest blocks: the default since reth
//! 2.6. The states after these blocks are available too if the database can execute them:
//! [`StateDb::with_newest`].
//!
//! Every [`StateAt`] has its own snapshot and should be dropped within seconds, because a
//! long snapshot delays a running node. A [`StateRange`] remains valid after
//! reorganizations above its overlay's tip. After deeper ones its errors are
//! [stale](Error::is_stale).
//!
//! ```no_run
//! use txgraph_nodedb::DataDir;
//! use txgraph_state::{BlockRange, StateDb, StateOptions};
//! # fn main() -> txgraph_state::Result<()> {
//! # let address = Default::default();
//! let dir = DataDir::new("~/.local/share/reth/mainnet");
//! let db = StateDb::open(&dir, StateOptions::default())?;
//! // Works with and without an index:
//! let range = db.range(BlockRange { first: 23_000_000, last: 23_000_099 })?;
//! let state = range.at(23_000_042)?;
//! println!("{:?} after block {}", state.account(address)?, state.block());
//! # Ok(())
//! # }
//! ```
//!
//! The crate does not depend on transactions, tables or files.
//!
//! # A known error of v2 nodes
//!
//! When an account is destroyed and created again (before Cancun) within one block, or within
//! blocks that are executed as one batch, reth 2.5 stores zero as the previous value of its
//! slots. Its RPC answers are wrong in the same way. A v1 node stores the right value. A
//! [checked](StateRange::checked) range executes the blocks that wrote such a slot.
//!
//! Modules, each using only those before it: error, options, code_cache, newest, available,
//! changes, overlay, db, at, range.

mod available;
mod db;
mod error;
mod options;

mod at;
mod changes;
mod code_cache;
mod newest;

mod overlay;
mod range;

pub use at::StateAt;
pub use available::Available;
pub use changes::{AccountChange, BlockChanges, StorageChange};
pub use db::{NewestBlocks, StateDb};
pub use error::{Error, Result};
pub use newest::NewestState;
pub use options::{History, Spill, StateOptions};
pub use range::StateRange;
pub use txgraph_nodedb::BlockRange;

/// Checks at compile time that databases and ranges can be shared between threads, and
/// that a state can be sent to one.
const fn _threads() {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<StateDb>();
    shared::<StateRange<'_>>();
    sent::<StateAt<'_>>();
}
