//! How a server listens, and its limits.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};
use txgraph::{Dictionary, Labels, TokenList};

/// Receives a line for every request.
pub type AccessLog = Arc<dyn Fn(&dyn fmt::Display) + Send + Sync>;

/// How a server listens and answers.
#[derive(Clone)]
pub struct Settings {
    /// The address and port.
    pub listen: SocketAddr,
    /// The token that every client must send. Required if `listen` is not a loopback address.
    pub token: Option<String>,
    /// Names of this host that clients may use, beside `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Sites whose pages may read answers, such as `http://localhost:5100` (CORS). Others are refused.
    pub origins: Vec<String>,
    /// The JSON-RPC server that is asked what the data directory does not contain.
    pub head: Option<String>,
    /// Names that answers of the own API have.
    pub names: Names,
    /// How often to look whether the index of the source has to be extended; `None` for never.
    pub extend_index: Option<Duration>,
    /// The limits.
    pub limits: Limits,
    /// Receives a line for every request.
    pub access_log: Option<AccessLog>,
}

impl Settings {
    /// Listens at an address, with the default limits, and leaves the index as it is.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            head: None,
            names: Names::default(),
            extend_index: None,
            limits: Limits::default(),
            access_log: None,
        }
    }
}

/// Without the token.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("listen", &self.listen)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("extend_index", &self.extend_index)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Names of addresses, tokens and functions.
#[derive(Clone, Debug)]
pub struct Names {
    /// Names of addresses.
    pub labels: Labels,
    /// Symbols and decimals of tokens. Others are asked.
    pub tokens: TokenList,
    /// Signatures of functions and events.
    pub functions: Dictionary,
}

/// Only the signatures of common standards.
impl Default for Names {
    fn default() -> Self {
        Self {
            labels: Labels::default(),
            tokens: TokenList::default(),
            functions: Dictionary::common(),
        }
    }
}

/// The limits of requests and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time of one request, from its last byte on.
    pub time: Duration,
    /// Requests that are worked on at a time.
    pub workers: usize,
    /// Requests that wait for one of the workers; more are refused.
    pub waiting: usize,
    /// Open connections; more wait until one is closed.
    pub connections: usize,
    /// Bytes of the body of a request.
    pub body_bytes: usize,
    /// The time in which a client sends the body of a request, and in which it takes some bytes of an answer.
    pub send_time: Duration,
    /// The time in which the head of the next request of a connection arrives. Clients use a connection again
    /// after they worked on an answer, and fail if it was closed in the meantime.
    pub rest_time: Duration,
    /// Requests in a batch.
    pub batch: usize,
    /// Logs, traces or other rows of one answer.
    pub rows: usize,
    /// Bytes of one answer, and of the rows that it is made of.
    pub answer_bytes: usize,
    /// Bytes of all answers that are being sent; more are refused. Short answers are not counted.
    pub unsent_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            time: Duration::from_secs(30),
            workers: (2 * cores).max(4),
            waiting: 256,
            connections: 1024,
            body_bytes: 1 << 20,
            send_time: Duration::from_secs(10),
            rest_time: Duration::from_secs(60),
            batch: 1000,
            rows: 100_000,
            answer_bytes: 64 << 20,
            unsent_bytes: 512 << 20,
        }
    }
}
