//! The interpreter against revm, against hostile code, and against its own careful half.

mod differential;
mod heap;
mod hostile;
