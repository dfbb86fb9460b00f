//! Transfers from the JSON-RPC server of a node.
//!
//! [`RpcNode`] asks a server for what a request needs, and not for more: logs for tokens; blocks
//! and receipts for the values of transactions; traces for movements inside of transactions. It
//! implements [`StoredBlocks`](txgraph_stored::StoredBlocks), and [`RpcSource`] is the source on
//! top of it, which a lake can be built from, too.
//!
//! ```text
//! scan: chunks ─► logs, node: what is asked ─► client: batches, retries, pace ─► HTTP
//!                       │ wire, trace: checked answers ◄─ reply: JSON ◄────────────┘
//!                       ▼
//!                    decode: the decoder of all sources
//! ```
//!
//! Nothing in an answer is trusted: logs must be in the blocks that were asked, in order and once
//! each, receipts must belong to the transactions of their block, and adjacent blocks must link. A
//! log that a server leaves out is detected only by the receipts root ([`RpcOptions::verify`]).
//!
//! Modules, each using only those before it: pace, secrets, error, endpoint, wire, reply, trace,
//! client, relay, fuzzing, node, fees, logs, parts, verify, checks, decode, transaction, scan, source.

mod checks;
mod client;
mod decode;
mod endpoint;
mod error;
mod fees;
mod logs;
mod node;
mod pace;
mod parts;
mod relay;
mod reply;
mod scan;
mod secrets;
mod source;
mod trace;
mod transaction;
mod verify;
mod wire;

#[doc(hidden)]
pub mod fuzzing;

pub use endpoint::{Endpoint, Settings};
pub use error::{Error, Place, Result};
pub use node::{RpcNode, RpcOptions};
pub use relay::Relay;
pub use source::RpcSource;
pub use transaction::FoundTransaction;
