//! Queries as people write them: on a command line, and in saved queries.
//!
//! Addresses, amounts, block ranges, lists with `@FILE`, sizes, and whole queries
//! ([`Query`]) with options by name. Only this module reads such text into the types of the other
//! modules. Only lists that are read here open the files they name.

mod bounds;
#[cfg(feature = "export")]
mod columns;
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
mod search;
#[cfg(feature = "export")]
mod selection;
#[cfg(feature = "replay")]
mod transaction;

pub use crate::grammar::{
    AddressError, Checksum, parse_address, parse_amount, parse_blocks, parse_size, since_until, utc,
};
pub use crate::options::given;
pub use bounds::{first_block, last_block};
pub use labels::{labels, stop_list};
pub use lists::{addresses, block_specs, tokens, wrapped_native};
#[cfg(feature = "export")]
pub use min_value::{assets, check_min_value, parse_token_id};
#[cfg(feature = "export")]
pub use output::Output;
#[cfg(all(feature = "export", feature = "replay"))]
pub use output::replay_outputs;
#[cfg(feature = "export")]
pub use picture::Picture;
#[cfg(feature = "export")]
pub use query::{GraphQuery, TransfersQuery};
#[cfg(feature = "export")]
pub use query_analyze::AnalyzeQuery;
#[cfg(feature = "export")]
pub use query_args::{Options, Query};
#[cfg(feature = "export")]
pub use query_file::{BuiltInQuery, Param, ParamKind, ParamValue, QueryFile, QueryOrigin};
#[cfg(feature = "export")]
pub use search::SearchArgs;
#[cfg(feature = "export")]
pub use selection::{SelectionArgs, read_blocks};
#[cfg(feature = "replay")]
pub use transaction::parse_transaction;
