//! Compares the interpreter with revm and its own careful form, runs hostile code, checks
//! what is read from the source of the state, and ends executions early.

mod differential;
mod heap;
mod hostile;
mod reads;
mod wanted;
