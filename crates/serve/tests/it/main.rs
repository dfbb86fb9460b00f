//! The server over HTTP: answers compared with the answers of the node that wrote the data
//! directory, and requests that want to do harm.

mod api;
mod etherscan;
mod harness;
mod hostile;
mod node;
mod ots;
mod page;
mod traces;
