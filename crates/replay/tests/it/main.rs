//! Replays of data directories that real nodes wrote, compared with what the nodes say.

mod forward;
mod support;
mod traces;
