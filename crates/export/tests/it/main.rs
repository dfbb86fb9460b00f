//! Tests of the public interface, format by format.

mod columns;
mod drawing;
mod files;
mod golden;
mod hostile;
mod tables;
mod tiny;
