//! Errors of signatures, arguments and ABI files.

use std::{io, path::PathBuf};

/// Result of reading or writing ABI data.
pub type Result<T, E = AbiError> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AbiError {
    /// A text is not the signature of a function.
    #[error(
        "`{text}` is not a signature: {reason}; write it as `balanceOf(address)(uint256)`, with \
         the returned types in the second parentheses"
    )]
    Signature {
        /// The text.
        text: String,
        /// Why.
        reason: String,
    },
    /// A function has another number of arguments.
    #[error("{signature} has {expected} arguments, and {given} are given")]
    Count {
        /// The function.
        signature: String,
        /// How many it has.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// An argument has another type.
    #[error("argument {position} of {signature}: `{text}` is not of type {kind}")]
    Argument {
        /// The function.
        signature: String,
        /// The position of the argument, from 1.
        position: usize,
        /// Its type.
        kind: String,
        /// The text that was given.
        text: String,
    },
    /// A type is unknown, or too large.
    #[error("{signature}: {reason}")]
    Type {
        /// The function.
        signature: String,
        /// Why.
        reason: String,
    },
    /// Returned data is not of the types in the signature.
    #[error("the {bytes} returned bytes are not ({types}): {reason}")]
    Output {
        /// The types of the signature.
        types: String,
        /// The length of the data.
        bytes: usize,
        /// Why.
        reason: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has no signatures.
    #[error(
        "{}: {reason}; expected the JSON ABI of a contract, or lines such as `0xa9059cbb \
         transfer(address,uint256)`", path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}
