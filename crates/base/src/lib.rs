//! Types that several crates share: block ranges, the table of known chains, and enums
//! whose values have a word each.
//!
//! The crate reads no file, starts no thread and depends on no other crate of the
//! workspace.

mod chains;
mod range;
mod words;

pub use chains::{BlobParameters, ChainFamily, KnownChain, KnownRules};
pub use range::{BlockRange, BlockRanges, TxRange};
pub use words::UnknownWord;

/// For the expansion of [`words!`].
#[doc(hidden)]
pub use serde;
