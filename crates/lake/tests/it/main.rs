//! The lake compared with the node it was built from, and with a naive filter over all
//! transfers: the same answers to every question, also after damage, kills and
//! reorganisations.

mod answers;
mod damage;
mod follow;
mod killed;
#[cfg(feature = "s3")]
mod s3;
mod support;

/// Not a test: the node of [`follow`], in a separate process.
#[test]
fn imitated_node() {
    txgraph_chaingen::serve_if_asked();
}
