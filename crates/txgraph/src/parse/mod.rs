//! Queries as people write them: on a command line, and in saved queries.
//!
//! Addresses, amounts, block ranges, lists with `@FILE`, sizes, and whole queries
//! ([`Query`]) with options by name. Only this module reads such text into the types of the other
//! modules. Only lists that are read here open the files they name.

mod bounds;
mod columns;
mod labels;
mod lists;
mod min_value;
mod output;
mod picture;
mod query;
mod query_analyze;
mod query_args;
mod query_file;
mod search;
mod selection;
mod transaction;

pub use crate::grammar::{
    AddressError, Checksum, parse_address, parse_amount, parse_blocks, parse_size, parse_slot,
    since_until, utc,
};
pub use crate::options::given;
pub use bounds::{first_block, last_block};
pub use labels::{labels, stop_list};
pub use lists::{addresses, block_specs, tokens, wrapped_native};
pub use min_value::{assets, check_min_value, parse_token_id};
pub use output::Output;
pub use output::replay_outputs;
pub use picture::Picture;
pub use query::{GraphQuery, TransfersQuery};
pub use query_analyze::AnalyzeQuery;
pub use query_args::{Options, Query};
pub use query_file::{BuiltInQuery, Param, ParamKind, ParamValue, QueryFile, QueryOrigin};
pub use search::SearchArgs;
pub use selection::{SelectionArgs, read_blocks};
pub use transaction::parse_transaction;
