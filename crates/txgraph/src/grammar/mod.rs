//! The grammar of single values: addresses, amounts, block ranges, dates. It reads text, and nothing
//! else: no file and no source.

mod address;
mod amount;
mod blocks;
mod fields;
mod ranges;
mod scalar;
mod shortened;
mod time;

pub use address::{AddressError, Checksum, parse_address};
pub use amount::{parse_amount, parse_size, parse_slot};
pub use blocks::{BlockSpec, BlocksError};
pub use ranges::{parse_blocks, since_until};
pub use time::utc;

pub(crate) use blocks::{DateIs, Point, wrong};
pub(crate) use fields::{list, text, words};
pub(crate) use ranges::time_or_number;
pub(crate) use scalar::Scalar;
pub(crate) use shortened::shortened;
