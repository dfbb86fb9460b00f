//! The server over HTTP: answers compared with the answers of the node that wrote the data
//! directory, and requests that want to do harm.

mod access;
mod api;
mod etherscan;
mod harness;
mod head;
mod hostile;
mod indexed;
mod live;
mod node;
mod ots;
mod page;
mod random;
mod replayed;
mod simulated;
mod traces;
mod upstream;
