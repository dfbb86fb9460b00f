//! The index compared with the node it was built from, and with a naive filter over all
//! transfers: the same answers to every query, also after damage. Tests of `stored` compare
//! what an index and a lake have in common.

mod answers;
mod damage;
mod follow;
mod mutations;
mod support;
mod transactions;
