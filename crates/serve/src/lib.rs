//! Answers explorers and wallets over HTTP, from the data directory of a reth node.
//!
//! [`Server`] speaks what existing programs ask for: JSON-RPC with the namespaces `eth`, `trace`,
//! `debug` and `ots`, and the query API of Etherscan. For pages it has a JSON API of its own.
//!
//! ```text
//! connection ─► access ─► route ─► workers ─► ask ─► rpc, etherscan, api ─► answer
//!               host,     axum     bounded    one block that the answer is about,
//!               token              threads    checked again at the end
//! ```
//!
//! Browsers get a page (`crates/serve/page`) that asks this server and no other.
//!
//! An answer is about one block, whose number and hash it states. If that block was replaced while the
//! answer was found, the work is done again, so that no answer mixes two branches. A range that is pruned
//! or missing is an error, never an empty list.
//!
//! An index of the node is extended while the server runs, and the node is never written.
//!
//! Every request has a limit of time, of rows and of bytes. Work stops when the client closes its
//! connection.
//!
//! Modules, each using only those before it: settings, table, fault, calls, json, metrics, index, head, ask, paging,
//! frames, rpc, etherscan, api, tags, page, workers, access, unsent, routes, server.

mod access;
mod api;
mod ask;
mod calls;
mod etherscan;
mod fault;
mod frames;
mod head;
mod index;
mod json;
mod metrics;
mod page;
mod paging;
mod routes;
mod rpc;
mod server;
mod settings;
mod table;
mod tags;
mod unsent;
mod workers;

pub use etherscan::ACTIONS;
pub use rpc::METHODS;
pub use server::Server;
pub use settings::{AccessLog, Limits, Names, Settings};
