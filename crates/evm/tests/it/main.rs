//! The interpreter against revm, against hostile code, and against its own careful half.

mod case;
mod differential;
mod hostile;
