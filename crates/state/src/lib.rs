//! Accounts, storage and code of a local node as of the end of any block that its
//! database can still tell. In: a [`NodeDb`](txgraph_nodedb::NodeDb). Out: a
//! [`StateSource`](txgraph_evm::StateSource) for the interpreter.
//!
//! ```text
//!                     ┌─ index usable ─► db.at(n) ──────────────┐
//! StateDb ─ available ┤                                         ├─► StateAt ─► account, slot, code
//!                     └─ otherwise ───► db.range(a..=b) ─ at(n) ┘
//!                                        walks the change sets
//!                                        once, from the tip down
//! ```
//!
//! A node stores the state as of its tip, and for every block what it changed with
//! the values from before. What an account was after block `n` is the value before
//! the first block above `n` that changed it, or the current one if none did. The
//! first such block is found in one of two ways:
//!
//! - By the node's history indices, two reads for each account or slot. In layout v1
//!   they are in MDBX; in v2 they are in RocksDB, see the feature `rocksdb`.
//! - By an overlay: the change sets of all blocks from the tip down to a range are
//!   walked once, sorted, and kept in memory or, beyond a bound, in a temporary file.
//!   That needs no index, serves every block of the range from every thread, and
//!   costs the more the deeper the range lies below the tip.
//!
//! Every [`StateAt`] sits on a snapshot of its own and is to be dropped within seconds:
//! a long one holds back a running node. A [`StateRange`] outlives reorganisations
//! above its overlay's tip, and says [`Error::is_stale`] after deeper ones.
//!
//! ```no_run
//! use txgraph_nodedb::DataDir;
//! use txgraph_state::{BlockRange, StateDb, StateOptions};
//! # fn main() -> txgraph_state::Result<()> {
//! # let address = Default::default();
//! let dir = DataDir::new("~/.local/share/reth/mainnet");
//! let db = StateDb::open(&dir, StateOptions::default())?;
//! // Whether there is an index or not:
//! let range = db.range(BlockRange { first: 23_000_000, last: 23_000_099 })?;
//! let state = range.at(23_000_042)?;
//! println!("{:?} after block {}", state.account(address)?, state.block());
//! # Ok(())
//! # }
//! ```
//!
//! It knows nothing of transactions, and nothing of tables and files either.
//!
//! # What a v2 node itself forgets
//!
//! An account that is destroyed and created again within one block (before Cancun):
//! reth 2.5 stores zero as the value from before for the slots it had. Its own answers
//! are wrong in the same way; a v1 node stores the right value.

mod available;
mod db;
mod error;
mod options;

mod at;
mod changes;
mod code_cache;

mod overlay;
mod range;

pub use at::StateAt;
pub use available::Available;
pub use changes::{AccountChange, BlockChanges, StorageChange};
pub use db::StateDb;
pub use error::{Error, Result};
pub use options::{History, Spill, StateOptions};
pub use range::StateRange;
pub use txgraph_nodedb::BlockRange;

/// A database and its ranges are shared between threads; a state may be sent to one.
const fn _threads() {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<StateDb>();
    shared::<StateRange<'_>>();
    sent::<StateAt<'_>>();
}
