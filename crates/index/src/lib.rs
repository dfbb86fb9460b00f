//! A derived, append-only sidecar that answers *"all transfers in or out of these
//! addresses"* over the whole chain without touching receipts.
//!
//! In: blocks, read once from a [`NodeSource`](txgraph_reader::NodeSource). Out: a
//! directory of immutable segments, and [`Indexed`], a
//! [`TransferSource`](txgraph_transfers::TransferSource) that answers from them where
//! they reach and from the node where they do not: the same answer in every case. It
//! knows nothing of tables and receipts (that is `nodedb`), of what a log means (that is
//! `transfers`), or of graphs.
//!
//! ```text
//! node ─► builder ─► segment files ─► manifest        (build, update: workers, then one rename)
//!                        │ mmap
//!                        ▼
//!            directory: which blocks ─► Indexed ─► the caller's sink
//!                                        │ rest
//!                                        └─► node
//! ```
//!
//! `docs/index-format.md` has the bytes. Nothing in an index is believed because it is
//! there: checksums guard what is small when it is opened, `verify` all of it, and every
//! access is bounds-checked, so that damage gives an error, never a panic.

mod error;

// The bytes.
mod checked;
mod column;
mod layout;

// One segment: made, read, asked.
mod builder;
mod interner;
mod segment;

// Many of them.
mod directory;
mod manifest;
mod origin;
mod part_writer;

// What people do with an index.
mod cached_rest;
mod question;
mod source;
mod verify;
mod worker;
mod write;

#[doc(hidden)]
pub mod fuzzing;

pub use directory::{Index, Run, Status};
pub use error::{Error, Result};
pub use manifest::SegmentInfo;
pub use origin::Origin;
pub use source::Indexed;
pub use verify::{Verified, verify};
pub use write::{BuildOptions, Built, build, drop_index, update};
