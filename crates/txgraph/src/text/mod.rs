//! The grammar of everything that people write: on a command line, and in saved questions.
//!
//! Addresses, amounts, block ranges, lists with `@FILE`, sizes, and whole questions
//! ([`Query`]) with the options of the command line. Only this module reads such text; the
//! rest of the crate takes types. Only lists that are read here open the files they name.

mod address;
mod amount;
mod blocks;
#[cfg(feature = "export")]
mod columns;
mod files;
mod labels;
mod lists;
#[cfg(feature = "export")]
mod min_value;
#[cfg(feature = "export")]
mod output;
#[cfg(feature = "export")]
mod picture;
#[cfg(feature = "export")]
mod query;
#[cfg(feature = "export")]
mod query_analyze;
#[cfg(feature = "export")]
mod query_args;
#[cfg(feature = "export")]
mod query_file;
#[cfg(feature = "export")]
mod query_labels;
mod scalar;
mod time;
#[cfg(feature = "replay")]
mod transaction;

pub use address::{AddressError, Checksum, parse_address};
pub use amount::{parse_amount, parse_size};
pub use blocks::{first_block, last_block, parse_blocks, since_until};
#[cfg(feature = "export")]
pub use columns::Columns;
pub use labels::{labels, stop_list};
pub use lists::{addresses, block_specs, tokens, wrapped_native};
#[cfg(feature = "export")]
pub use min_value::{check_min_value, parse_token_id};
#[cfg(all(feature = "export", feature = "replay"))]
pub use output::replay_outputs;
#[cfg(feature = "export")]
pub use picture::Picture;
#[cfg(feature = "export")]
pub use query::{
    AnalyzeQuery, GraphQuery, Output, Query, SearchArgs, SelectionArgs, TransfersQuery, read_blocks,
};
#[cfg(feature = "export")]
pub use query_args::{Options, given};
#[cfg(feature = "export")]
pub use query_file::{BUILT_IN_QUERIES, Param, ParamKind, ParamValue, QueryFile, QueryOrigin};
pub use time::utc;
#[cfg(feature = "replay")]
pub use transaction::parse_transaction;

pub(crate) use files::read_text;
pub(crate) use scalar::Scalar;

use std::borrow::Cow;

/// Characters of a text that a message quotes at most.
const QUOTED_CHARS_MAX: usize = 100;

/// The text as a message quotes it: cut, if it is long.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
    }
}
