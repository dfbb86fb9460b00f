//! Tests of foreign files on real and on written ones.

mod damage;
mod dune;
mod etl;
mod fill;
mod graphsense;
mod order;
mod parquet;
mod selfdestruct;
mod support;
