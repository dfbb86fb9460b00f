//! revm as another engine: an oracle for our own, and its rival in speed.

mod both;
mod database;
mod peer;
#[cfg(test)]
mod random;
mod translate;
mod watch;

pub(crate) use both::Both;
pub(crate) use database::PeerCodes;
pub(crate) use peer::Peer;
