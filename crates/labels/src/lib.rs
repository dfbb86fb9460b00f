//! Names and categories of addresses, from files that people and other tools write.
//!
//! [`decode`] recognizes the format of a text by its content and returns its rows: CSV, JSON,
//! TagPacks of GraphSense, the sanctions list of OFAC, labels of Etherscan, token lists. It
//! opens no files and knows no grammar of addresses: the caller does. [`Labels`] collects the
//! rows of several files. The first name of an address counts, and all of them are kept with
//! the file they come from.
//!
//! Modules, each using only those before it: category, label, read, labels.

mod category;
mod label;
mod labels;
mod read;

pub use category::Category;
pub use label::{Label, LabelSet};
pub use labels::Labels;
pub use read::{BadRow, DecodeError, Decoded, FORMATS, Format, Reader, Row, decode};
