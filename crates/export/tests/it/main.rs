//! What a user of the crate relies on, format by format.

mod columns;
mod drawing;
mod files;
mod golden;
mod hostile;
mod tables;
mod tiny;
