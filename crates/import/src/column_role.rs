//! The meanings of columns.

use crate::Error;
use txgraph_base::string_enum;

string_enum! {
    /// The meaning of a column.
    pub enum Role: "column" {
        /// Block number.
        Block = "block",
        /// Hash of the block.
        BlockHash = "block-hash",
        /// Hash of the parent block.
        ParentHash = "parent-hash",
        /// The bloom filter of the logs of a block.
        Bloom = "bloom",
        /// Time of the block.
        Time = "time",
        /// Transaction hash.
        Transaction = "tx",
        /// Index of the transaction in the block.
        TransactionIndex = "tx-index",
        /// Index of the log in the block.
        Log = "log-index",
        /// Index inside of a log, or among the native movements of a transaction.
        Sub = "sub-index",
        /// Token contract.
        Token = "token",
        /// Sender.
        From = "from",
        /// Receiver.
        To = "to",
        /// Amount in the smallest unit.
        Value = "value",
        /// Token ID of an ERC-721 or ERC-1155 token.
        TokenId = "token-id",
        /// Token standard, in the words of the tool.
        Standard = "standard",
        /// Kind of transfer, in the words of txgraph.
        Kind = "kind",
        /// Chain ID.
        Chain = "chain-id",
        /// Name of the chain.
        ChainName = "chain",
        /// The contract that emitted the log.
        Emitter = "emitter",
        /// All topics in one column.
        Topics = "topics",
        /// The first topic.
        Topic0 = "topic0",
        /// The second topic.
        Topic1 = "topic1",
        /// The third topic.
        Topic2 = "topic2",
        /// The fourth topic.
        Topic3 = "topic3",
        /// The unindexed parameters of a log.
        Data = "data",
        /// The path of a call below the outermost call of its transaction.
        TraceAddress = "trace-address",
        /// GraphSense's name of a trace: type, transaction and path.
        TraceId = "trace-id",
        /// The position of a trace among the traces of its block.
        TraceIndex = "trace-index",
        /// `call`, `create`, `suicide`, `reward`.
        TraceType = "trace-type",
        /// `call`, `delegatecall`, `staticcall`, `callcode`.
        CallType = "call-type",
        /// Why a call failed; empty if it did not.
        Error = "error",
        /// Whether a call or transaction succeeded.
        Status = "status",
        /// The created contract.
        Created = "created",
        /// Nonce of the sender, for the address of a created contract.
        Nonce = "nonce",
        /// The number of transactions of a block.
        TransactionCount = "tx-count",
        /// Withdrawals of a block, as a JSON array.
        Withdrawals = "withdrawals",
        /// The root of the withdrawals of a block.
        WithdrawalsRoot = "withdrawals-root",
        /// The number of call frames directly in a call frame.
        Subtraces = "subtraces",
        /// The account that traded.
        Taker = "taker",
        /// The contract that was traded with.
        Pool = "pool",
        /// The token that the taker received.
        BoughtToken = "bought-token",
        /// Its amount.
        BoughtValue = "bought-value",
    }
}

pub(crate) const ROLES: usize = Role::ALL.len();

/// Columns by name, chosen by the user: `from=sender,to=receiver,block=height`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(pub(crate) Vec<(Role, String)>);

impl Columns {
    /// Parses `ROLE=NAME`, separated by commas.
    ///
    /// # Errors
    ///
    /// For an unknown role, and for a role that is named twice.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut columns: Vec<(Role, String)> = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((role, name)) = part.split_once('=') else {
                return Err(Error::options(format!(
                    "`{}` is not of the form ROLE=COLUMN, e.g. from=sender",
                    part.trim()
                )));
            };
            let role: Role = role
                .trim()
                .parse()
                .map_err(|error: txgraph_base::UnknownWord| Error::options(error.to_string()))?;
            if columns.iter().any(|(known, _)| *known == role) {
                return Err(Error::options(format!(
                    "the column `{role}` is named twice"
                )));
            }
            columns.push((role, name.trim().to_owned()));
        }
        match columns.is_empty() {
            true => Err(Error::options("no columns are named".to_owned())),
            false => Ok(Self(columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_parsed_by_role() {
        let columns = Columns::parse("from=a b, to = c,block=d").unwrap();
        let expected = [(Role::From, "a b"), (Role::To, "c"), (Role::Block, "d")];
        assert_eq!(
            columns.0,
            expected.map(|(role, name)| (role, name.to_owned()))
        );
        for (text, message) in [
            ("", "no columns"),
            ("from", "ROLE=COLUMN"),
            ("color=x", "unknown column `color`"),
            ("from=a,from=b", "named twice"),
        ] {
            let error = Columns::parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
