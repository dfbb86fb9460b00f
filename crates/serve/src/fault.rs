//! Why a request has no result.

use alloy_primitives::Bytes;
use serde_json::{Value, json};
use txgraph::{ErrorKind, Hint};

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The method does not exist.
    Method(String),
    /// A parameter is wrong.
    Params(String),
    /// The data directory does not contain it, but the server of the node may. In words.
    NotHere(String),
    /// Only the node knows it, whether or not there is such a thing. In words.
    NodeOnly(String),
    /// A call reverted.
    Reverted {
        /// The reason, in words.
        message: String,
        /// The data that the contract returned.
        data: Bytes,
    },
    /// The answer has too many rows or bytes.
    TooMuch(String),
    /// A page of Etherscan's interface is beyond the last that is answered.
    Window,
    /// The time limit ended, or the client closed the connection.
    Late,
    /// Too many others ask.
    Busy,
    /// The library refused or failed.
    Source(txgraph::Error),
    /// A part of this server failed.
    Failed(String),
    /// The server of the node did not answer.
    Head(String),
}

/// The result of a request, or why it has none.
pub(crate) type Answer<T> = Result<T, Fault>;

impl From<txgraph::Error> for Fault {
    fn from(error: txgraph::Error) -> Self {
        match error.kind {
            ErrorKind::Interrupted => Self::Late,
            _ => Self::Source(error),
        }
    }
}

impl Fault {
    /// Blocks or parts of them that the node does not have stored. In words.
    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self::Source(txgraph::Error::new(ErrorKind::Unavailable, what))
    }

    /// Whether blocks or their parts are missing.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Source(error) if matches!(error.kind, ErrorKind::Unavailable))
    }

    /// Whether the server of the node may have what is not here.
    pub(crate) const fn is_elsewhere(&self) -> bool {
        match self {
            Self::Method(_) | Self::NotHere(_) | Self::NodeOnly(_) => true,
            // This server may have been started without the rules of the chain.
            Self::Source(error) => {
                matches!(error.kind, ErrorKind::Unsupported(_))
                    || matches!(error.hint, Some(Hint::NameChainFile))
            }
            _ => false,
        }
    }

    /// The code of JSON-RPC, as nodes use them.
    pub(crate) fn code(&self) -> i64 {
        match self {
            Self::Method(_) => -32601,
            Self::Params(_) => -32602,
            Self::NotHere(_) | Self::NodeOnly(_) | Self::Head(_) | Self::Failed(_) => -32000,
            Self::Reverted { .. } => 3,
            Self::TooMuch(_) | Self::Busy | Self::Window => -32005,
            Self::Late => -32002,
            Self::Source(error) => match error.kind {
                ErrorKind::Usage => -32602,
                ErrorKind::Unsupported(_) => -32004,
                // As for history that expired (EIP-4444).
                ErrorKind::Unavailable => 4444,
                _ => -32000,
            },
        }
    }

    /// The reason, in words.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Method(method) => {
                format!("the method {method} does not exist/is not available")
            }
            Self::Params(what)
            | Self::NotHere(what)
            | Self::NodeOnly(what)
            | Self::TooMuch(what)
            | Self::Failed(what)
            | Self::Head(what) => what.clone(),
            Self::Reverted { message, .. } => message.clone(),
            Self::Window => {
                "Result window is too large, PageNo x Offset size must be less than or \
                             equal to 10000"
                    .to_owned()
            }
            Self::Late => "the time limit of the request ended; ask for less".to_owned(),
            Self::Busy => "too many requests at a time; try again".to_owned(),
            Self::Source(error) => error.message.clone(),
        }
    }

    /// The error of JSON-RPC.
    pub(crate) fn error(&self) -> Value {
        match self {
            Self::Reverted { data, .. } => {
                json!({ "code": self.code(), "message": self.message(), "data": data })
            }
            _ => json!({ "code": self.code(), "message": self.message() }),
        }
    }
}
