//! Archives of blocks without a node: `.ere` and `.era1` files.
//!
//! Nodes may delete old bodies and receipts (EIP-4444), and these files keep them. Each has up to
//! 8,192 blocks with headers, bodies and receipts. The formats are specified in
//! <https://github.com/eth-clients/e2store-format-specs> (`formats/ere.md`, `formats/era1.md`).
//!
//! Nothing in a file is used before it is proven: a header by its hash, which the next block
//! contains, and receipts, transactions and withdrawals by the roots in the header.
//!
//! Start with `archive`, which answers requests. `file` and `index` find the records of a block,
//! `records` reads them, `header`, `receipts` and `body` decode them. [`EraWriter`] writes files.
//!
//! Modules, each using only those before it: error, rlp, record, records, name, chain, header,
//! encode, body, receipts, transaction, accumulator, index, file, proof, scratch, writer, archive,
//! read, fuzzing.

mod accumulator;
mod archive;
mod body;
mod chain;
mod encode;
mod error;
mod file;
pub mod fuzzing;
mod header;
mod index;
mod name;
mod proof;
mod read;
mod receipts;
mod record;
mod records;
mod rlp;
mod scratch;
mod transaction;
mod writer;

pub use archive::{Archive, EraOptions};
pub use encode::{SlimReceipt, encode_body, encode_slim_receipts};
pub use error::{Error, Result};
pub use record::{BLOCKS_MAX, Format};
pub use writer::{EraBlock, EraWriter};
