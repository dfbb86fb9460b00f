//! Compares the interpreter with revm and its own careful form, and runs hostile code.

mod differential;
mod heap;
mod hostile;
