//! The index against the node it was made from, and against a plain filter over all
//! transfers: same answers, whatever is asked, damaged, killed or reorganised.

mod answers;
mod damage;
mod follow;
mod killed;
mod mutations;
mod support;

/// Not a test of its own: the node of [`follow`], in a process of its own.
#[test]
fn imitated_node() {
    txgraph_chaingen::serve_if_asked();
}
