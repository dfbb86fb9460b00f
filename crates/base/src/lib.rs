//! Types that several crates share: block ranges, the table of known chains, enums whose values
//! have a word each, URLs without keys, counts in words, and the interner, which numbers values.
//!
//! The crate reads no file, starts no thread and depends on no other crate of the
//! workspace.
//!
//! Modules, each using only those before it: range, chains, fold_hasher, interner, location,
//! string_enum, tokens, words.

mod chains;
mod fold_hasher;
mod interner;
mod location;
mod range;
mod string_enum;
mod tokens;
mod words;

pub use chains::{BlobParameters, ChainFamily, FeeDates, KnownChain, KnownRules};
pub use interner::{Interner, InternerFull};
pub use location::masked_url;
pub use range::{BlockRange, BlockRanges, TxRange};
pub use string_enum::UnknownWord;
pub use tokens::KnownToken;
pub use words::{grouped, number, thousands};

/// For the expansion of [`string_enum!`].
#[doc(hidden)]
pub use serde;
