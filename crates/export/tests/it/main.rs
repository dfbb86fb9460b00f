//! Tests of the public interface, format by format.

mod columns;
mod drawing;
mod files;
mod frame;
mod golden;
mod graphsense;
mod hostile;
mod pictures;
mod shown;
mod tables;
mod text_fields;
mod tiny;
mod unpack;
