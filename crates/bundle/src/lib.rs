//! Blocks with the state that they read, each in one file, so that a block can be executed
//! without a node.
//!
//! ```text
//! file (JSON, plain or zstd) ─► Bundle ─┬─► BundledBlock: header, transactions, …
//!                                       └─► BundleState: a StateSource
//!                                             ├─ flat: accounts and slots by key
//!                                             └─ witness: nodes of the state trie
//! AccountChange of an execution ─► Bundle::state_root_after: the sparse trie, changed
//! ```
//!
//! State that a bundle lacks is an error, never zero. `docs/bundles.md` describes the format.
//!
//! Modules, each using only those before it: block, flat, header, trie, error, witness, recorder,
//! bundle, state, file, write.

#![expect(
    clippy::result_large_err,
    reason = "an error of the state ends the replay of its block"
)]

mod block;
mod bundle;
mod error;
mod file;
mod flat;
mod header;
mod recorder;
mod state;
mod trie;
mod witness;
mod write;

pub use block::BundledBlock;
pub use bundle::{Bundle, BundledChain};
pub use error::{Error, Missing, Result};
pub use flat::{FlatAccount, FlatState};
pub use recorder::Recorder;
pub use state::BundleState;
pub use trie::{Nodes, SparseTrie, TrieError};
pub use write::{BundleWriter, to_json};
