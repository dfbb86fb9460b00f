//! Tests of the sparse trie and of the file format.

mod files;
mod trie;
