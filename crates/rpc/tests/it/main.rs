//! A source on top of a local server with the answers of a real node.

mod answers;
mod contradictions;
mod faults;
mod fees;
mod limits;
mod servers;
mod support;
mod tip;
mod traces;
