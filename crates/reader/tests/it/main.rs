//! The reader against data directories that real nodes wrote, and what those
//! nodes said about them.

mod support;

mod missing;
mod mutations;
mod options;
mod plan;
mod stress;
mod whole;
