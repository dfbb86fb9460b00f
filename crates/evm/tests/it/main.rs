//! Compares the interpreter with revm and its own careful form, runs hostile code, and checks
//! what is read from the source of the state.

mod differential;
mod heap;
mod hostile;
mod reads;
