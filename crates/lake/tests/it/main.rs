//! The lake compared with the node it was built from, and with a naive filter over all
//! transfers: the same answers to every query, also after damage and reorganizations. Tests of
//! `stored` compare what a lake and an index have in common.

#[cfg(feature = "s3")]
#[path = "../../../stored/tests/it/again.rs"]
mod again;
mod answers;
mod damage;
mod follow;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "s3")]
#[path = "../../../stored/tests/it/steps.rs"]
mod steps;
mod support;
