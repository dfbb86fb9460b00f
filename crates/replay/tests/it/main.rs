//! Replays of data directories that real nodes wrote, compared with what the nodes say.

mod forward;
mod history;
mod support;
mod traces;
