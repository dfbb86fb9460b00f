//! Tests of imported files on real and on written ones.

mod chosen;
mod contradictions;
mod damage;
mod dune;
mod etl;
mod fill_hashes;
mod gaps;
mod graphsense;
mod model;
mod order;
mod parquet;
mod selfdestruct;
mod support;
