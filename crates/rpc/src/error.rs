//! Errors of a server and of its answers.

use crate::secrets::Secrets;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use txgraph_transfers::{BlockRange, FailureKind, SourceError, SourceFailure};

/// The characters of an answer that a message contains.
const SHOWN_MAX: usize = 200;

/// Result of asking a server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The location is not a URL, has an option that is not known, or its server is of another chain.
    #[error("{0}")]
    Location(String),
    /// The server is of another chain.
    #[error("{endpoint} is of chain {found}, not of chain {expected}")]
    WrongChain {
        /// The server.
        endpoint: String,
        /// Its chain ID.
        found: u64,
        /// The chain ID that is set.
        expected: u64,
    },
    /// The server did not answer.
    #[error("{endpoint}: {method} ({place}) failed: {what}{}", attempts_made(*.attempts))]
    Failed {
        /// The server.
        endpoint: String,
        /// The method.
        method: &'static str,
        /// The blocks.
        place: Place,
        /// The number of attempts.
        attempts: u32,
        /// The last failure, with a part of the answer.
        what: String,
    },
    /// An answer is malformed, or contradicts the call or another answer.
    #[error("{endpoint}: the answer of {method} ({place}) is not valid: {what}")]
    Invalid {
        /// The server.
        endpoint: String,
        /// The method.
        method: &'static str,
        /// The blocks.
        place: Place,
        /// The defect.
        what: String,
    },
    /// The server does not have the data of a block.
    #[error("{endpoint}: {method} ({place}): the server does not have this data: {what}")]
    Missing {
        /// The server.
        endpoint: String,
        /// The method.
        method: &'static str,
        /// The blocks.
        place: Place,
        /// The answer.
        what: String,
    },
    /// Two answers are of different blocks with one number.
    #[error(
        "{endpoint}: {method} (block {block}): the answer is of another block than an earlier one: \
         {what}; the chain was reorganized, or the servers behind the URL have different blocks"
    )]
    Replaced {
        /// The server.
        endpoint: String,
        /// The method.
        method: &'static str,
        /// The block.
        block: u64,
        /// How the answers differ.
        what: String,
    },
    /// The server cannot know what was asked, or not yet.
    #[error("{endpoint}: {what}")]
    Unknown {
        /// The server.
        endpoint: String,
        /// The block, the reason, and the recommended action.
        what: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The recommended action for the caller.
    pub const fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Location(_) | Self::WrongChain { .. } => FailureKind::Options,
            Self::Missing { .. } | Self::Unknown { .. } => FailureKind::Missing,
            Self::Replaced { .. } => FailureKind::Replaced,
            _ => FailureKind::Unreadable,
        }
    }

    /// The same error of a server that lacks a block after all attempts.
    pub(crate) fn into_missing(self) -> Self {
        match self {
            Self::Failed {
                endpoint,
                method,
                place,
                what,
                ..
            } => Self::Missing {
                endpoint,
                method,
                place,
                what,
            },
            error => error,
        }
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        Self::new(error.failure_kind(), error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            error => SourceFailure::from(error).into(),
        }
    }
}

fn attempts_made(attempts: u32) -> String {
    match attempts {
        0 | 1 => String::new(),
        attempts => format!(" ({attempts} attempts)"),
    }
}

/// The blocks of a call, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The call is not about a block.
    Chain,
    /// These blocks.
    Blocks(BlockRange),
}

impl Place {
    /// The place of one block.
    pub(crate) const fn block(number: u64) -> Self {
        Self::Blocks(BlockRange::one(number))
    }

    /// The place of two calls together.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Blocks(a), Self::Blocks(b)) => Self::Blocks(a.hull(&b)),
            (Self::Chain, other) | (other, Self::Chain) => other,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain => f.write_str("no block"),
            Self::Blocks(BlockRange { first, last }) if first == last => write!(f, "block {first}"),
            Self::Blocks(BlockRange { first, last }) => write!(f, "blocks {first} to {last}"),
        }
    }
}

/// The beginning of an answer, on one line and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().filter(|c| !c.is_control()).take(SHOWN_MAX));
        if words.len() > SHOWN_MAX {
            break;
        }
    }
    match words.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ErrorObject {
    code: Value,
    message: Value,
    data: Value,
}

/// Why a server does not answer a call.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) meaning: Meaning,
    /// Without keys.
    pub(crate) text: String,
}

/// The meaning of an error object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The batch is too large, or has a method that no batch may have.
    Batch,
    /// The answer would be too large or take too long. Ask for less.
    TooMuch,
    /// Ask again later.
    Busy,
    /// The server does not have the method.
    NoMethod,
    /// The server does not have the block, or not yet.
    NoBlock,
    /// The server does not have the data.
    NoData,
    /// Anything else.
    Other,
}

/// Words of messages of servers, in lower case, by their meaning. All words of one entry must be
/// in the message. Checked in this order, because "limit" alone is in messages of both kinds.
/// Sources: documentation and issue threads of geth, reth, Erigon, Nethermind, Infura, Alchemy,
/// QuickNode, Ankr, Tenderly, dRPC and Cloudflare.
const WORDS: &[(&[&str], Meaning)] = &[
    (&["batch"], Meaning::Batch),
    // Only of batches, in geth.
    (&["response too large"], Meaning::Batch),
    (&["too many requests"], Meaning::Busy),
    (&["rate limit"], Meaning::Busy),
    (&["rate-limit"], Meaning::Busy),
    (&["ratelimit"], Meaning::Busy),
    (&["request rate"], Meaning::Busy),
    (&["request count exceeded"], Meaning::Busy),
    (&["requests per"], Meaning::Busy),
    (&["compute units"], Meaning::Busy),
    (&["capacity"], Meaning::Busy),
    (&["method", "not found"], Meaning::NoMethod),
    (&["method", "does not exist"], Meaning::NoMethod),
    (&["method", "not supported"], Meaning::NoMethod),
    (&["method", "not available"], Meaning::NoMethod),
    (&["method", "unsupported"], Meaning::NoMethod),
    (&["requests are not available"], Meaning::NoMethod),
    (&["not available on the", "tier"], Meaning::NoMethod),
    (&["is not available on", "plan"], Meaning::NoMethod),
    (&["method", "not allowed"], Meaning::NoMethod),
    (&["method", "not whitelisted"], Meaning::NoMethod),
    (&["method", "disabled"], Meaning::NoMethod),
    (&["pruned"], Meaning::NoData),
    (&["pruning"], Meaning::NoData),
    (&["genesis is not traceable"], Meaning::NoData),
    (&["no state available"], Meaning::NoData),
    (&["receipt not available"], Meaning::NoData),
    (&["data before txnum"], Meaning::NoData),
    (&["archive requests require"], Meaning::NoData),
    (&["beyond", "head"], Meaning::NoBlock),
    (&["invalid block range params"], Meaning::NoBlock),
    (&["in the future"], Meaning::NoBlock),
    (&["block", "not found"], Meaning::NoBlock),
    (&["unknown block"], Meaning::NoBlock),
    (&["cannot be found"], Meaning::NoBlock),
    (&["missing trie node"], Meaning::NoData),
    (&["state", "not available"], Meaning::NoData),
    (&["state", "unavailable"], Meaning::NoData),
    (&["history", "not available"], Meaning::NoData),
    (&["requested data is not available"], Meaning::NoData),
    (&["distance to target block"], Meaning::NoData),
    (&["required historical state"], Meaning::NoData),
    (&["more than", "results"], Meaning::TooMuch),
    (&["more than", "logs"], Meaning::TooMuch),
    (&["too many results"], Meaning::TooMuch),
    (&["too many logs"], Meaning::TooMuch),
    (&["too many blocks"], Meaning::TooMuch),
    (&["narrow your filter"], Meaning::TooMuch),
    (&["max results"], Meaning::TooMuch),
    (&["block range"], Meaning::TooMuch),
    (&["blocks range"], Meaning::TooMuch),
    (&["range", "limit"], Meaning::TooMuch),
    (&["range", "exceed"], Meaning::TooMuch),
    (&["range", "too large"], Meaning::TooMuch),
    (&["range", "too wide"], Meaning::TooMuch),
    (&["range is too"], Meaning::TooMuch),
    (&["range", "not supported"], Meaning::TooMuch),
    (&["query exceeds limit"], Meaning::TooMuch),
    (&["is limited to"], Meaning::TooMuch),
    (&["maximum", "blocks"], Meaning::TooMuch),
    (&["limit the query"], Meaning::TooMuch),
    (&["query must be smaller"], Meaning::TooMuch),
    (&["max allowed", "logs query"], Meaning::TooMuch),
    (&["response size"], Meaning::TooMuch),
    (&["response", "too large"], Meaning::TooMuch),
    (&["response", "too big"], Meaning::TooMuch),
    (&["result", "too large"], Meaning::TooMuch),
    (&["entity too large"], Meaning::TooMuch),
    (&["timeout"], Meaning::TooMuch),
    (&["timed out"], Meaning::TooMuch),
    (&["deadline exceeded"], Meaning::TooMuch),
    (&["header not found"], Meaning::NoBlock),
    (&["try again"], Meaning::Busy),
    (&["temporar"], Meaning::Busy),
    (&["busy"], Meaning::Busy),
    (&["overloaded"], Meaning::Busy),
    (&["unavailable"], Meaning::Busy),
    (&["bad gateway"], Meaning::Busy),
    (&["upstream"], Meaning::Busy),
];

impl Refusal {
    /// A refusal that was not in an answer.
    pub(crate) fn too_much(what: &str) -> Self {
        Self {
            meaning: Meaning::TooMuch,
            text: format!("the answer is too large or late: {what}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ErrorObject {
    /// Finds out what the object means, and hides keys.
    pub(crate) fn read(&self, secrets: &Secrets) -> Refusal {
        let shown = |value: &Value| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            shown(&secrets.masked(&text))
        };
        let mut text = format!("error {}: {}", shown(&self.code), shown(&self.message));
        if !self.data.is_null() {
            text = format!("{text} ({})", shown(&self.data));
        }
        Refusal {
            meaning: self.meaning(),
            text,
        }
    }

    fn meaning(&self) -> Meaning {
        let text = format!("{} {}", self.message, self.data).to_lowercase();
        let known = WORDS
            .iter()
            .find(|(words, _)| words.iter().all(|word| text.contains(word)));
        match (known, self.code.as_i64()) {
            // The names of methods contain words, too.
            (Some((_, Meaning::NoBlock)), Some(-32601)) => return Meaning::NoMethod,
            (Some((_, meaning)), _) => return *meaning,
            (None, _) => {}
        }
        match self.code.as_i64() {
            Some(429 | -32603) => Meaning::Busy,
            Some(-32601 | -32604) => Meaning::NoMethod,
            // EIP-4444, as in geth.
            Some(4444) => Meaning::NoData,
            Some(-32005) => Meaning::TooMuch,
            _ => Meaning::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recognizes_the_messages_of_servers() {
        for (code, message, expected) in [
            (
                -32005,
                "query returned more than 10000 results",
                Meaning::TooMuch,
            ),
            (
                -32602,
                "range 1000000 exceeds limit of 10000",
                Meaning::TooMuch,
            ),
            (
                -32602,
                "query exceeds max block range 100000",
                Meaning::TooMuch,
            ),
            (
                -32602,
                "query exceeds max results 20000, retry with the range 1-2",
                Meaning::TooMuch,
            ),
            (
                -32614,
                "eth_getLogs is limited to a 10,000 range",
                Meaning::TooMuch,
            ),
            (-32600, "Log response size exceeded.", Meaning::TooMuch),
            (-32008, "Response is too big", Meaning::TooMuch),
            (-32000, "query timeout exceeded", Meaning::TooMuch),
            (-32000, "exceed maximum block range: 5000", Meaning::TooMuch),
            (
                -32001,
                "please limit the query to at most 1000 blocks",
                Meaning::TooMuch,
            ),
            (
                -32000,
                "invalid request: max allowed of rounds in logs query is: 100",
                Meaning::TooMuch,
            ),
            (
                -32005,
                "daily request count exceeded, request rate limited",
                Meaning::Busy,
            ),
            (
                429,
                "Your app has exceeded its compute units per second capacity",
                Meaning::Busy,
            ),
            (-32603, "Internal error", Meaning::Busy),
            (-32000, "header not found", Meaning::NoBlock),
            (
                -32601,
                "the method trace_block does not exist/is not available",
                Meaning::NoMethod,
            ),
            (-32601, "", Meaning::NoMethod),
            (-32601, "eth_getBlockReceipts not found", Meaning::NoMethod),
            (4444, "pruned history unavailable", Meaning::NoData),
            (-32000, "missing trie node 00", Meaning::NoData),
            (-32602, "invalid argument 0", Meaning::Other),
        ] {
            let refusal = ErrorObject {
                code: code.into(),
                message: message.into(),
                data: Value::Null,
            };
            let refusal = refusal.read(&Secrets::default());
            assert_eq!(refusal.meaning, expected, "{refusal}");
        }
        let tenderly = json!({
            "code": -32602,
            "message": "invalid params",
            "data": { "payload": "range 9009594 is bigger than range limit 2000" },
        });
        let refusal: ErrorObject = serde_json::from_value(tenderly).unwrap();
        assert_eq!(refusal.meaning(), Meaning::TooMuch);
    }

    #[test]
    fn shows_the_beginning_of_a_page_on_one_line() {
        assert_eq!(
            shown("<html>\r\n <b>no\u{1b}[2J</b>"),
            "<html> <b>no[2J</b>"
        );
        let long = shown(&"word ".repeat(1000));
        assert_eq!(long.chars().count(), SHOWN_MAX + 1);
        assert!(shown(&"é".repeat(100_000)).len() <= 2 * SHOWN_MAX + 3);
    }
}
