//! Hints: remedies for errors. Nothing here names an option of a command line.

use std::fmt;
use txgraph_transfers::BlockRange;

/// A remedy for an [`Error`](crate::Error).
///
/// `Display` gives the hint without naming options. Programs with options of their own
/// match the variants and name the option that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// A sentence without options.
    Text(String),
    /// Name a source.
    NameSource,
    /// Name the data directory of a node, which can do everything.
    NameNode,
    /// The same, or a JSON-RPC server.
    NameNodeOrServer,
    /// The data directory, or replay transactions of the bundle.
    ReplayBundle,
    /// Name the chain id.
    NameChainId,
    /// Do not set this, by its name in a configuration file.
    DropSetting(&'static str),
    /// Name the genesis file of the chain.
    NameChainFile,
    /// Name the directory of the static files.
    NameStaticFiles,
    /// Name the directory of RocksDB.
    NameRocksDb,
    /// Name a list of tokens, or give the address of the token.
    NameTokenList,
    /// Name a directory for the index.
    NameIndex,
    /// Use another index, or none.
    OtherIndex,
    /// Build an index.
    BuildIndex,
    /// Delete the index and build it again.
    RebuildIndex,
    /// Accept addresses without a valid checksum.
    IgnoreChecksum,
    /// List the blocks that exist.
    ListBlocks,
    /// Accept a partial result, or ask for blocks that exist.
    AllowPartial {
        /// The newest range of blocks that exist.
        newest: BlockRange,
    },
    /// Ask for blocks that exist.
    AskExisting {
        /// The newest range of blocks that exist.
        newest: BlockRange,
    },
    /// Build an index or a lake of blocks that exist.
    StoreExisting {
        /// The newest range of blocks that exist.
        newest: BlockRange,
    },
    /// Name an address to search from.
    NameRoot,
    /// Choose one direction.
    ChooseDirection,
    /// Find transfers by replay, too.
    AddInternal,
    /// Name a single transaction.
    NameTransaction,
    /// Choose one of these formats.
    ChooseFormat {
        /// The words of the formats.
        known: String,
    },
    /// Choose formats by file extension.
    FormatByExtension,
    /// Choose columns with this list.
    WriteColumns(String),
    /// Replace the file, or choose another name.
    Overwrite,
    /// Write to a file, which is restarted on a reorganization.
    WriteToFile,
    /// Reduce the size of the graph.
    NarrowGraph,
    /// Allow more memory.
    RaiseMemory,
    /// Give the parameters of a saved query.
    GiveParameters(Box<Parameters>),
    /// List the saved queries.
    ListQueries,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(text) => text,
            Self::NameSource => "name the data directory of a node, or another source",
            Self::NameNode => "name the data directory of a reth node",
            Self::NameNodeOrServer => {
                "name the data directory of a reth node, or a JSON-RPC server"
            }
            Self::ReplayBundle => {
                "name the data directory of a reth node, or replay the transactions of the bundle"
            }
            Self::NameChainId => "set the chain id",
            Self::DropSetting(name) => return write!(f, "do not set `{name}`"),
            Self::NameChainFile => "set the genesis file of the chain",
            Self::NameStaticFiles => "set the directory of the static files",
            Self::NameRocksDb => "set the directory of RocksDB",
            Self::NameTokenList => "name a token list, or the address of the token",
            Self::NameIndex => "set the directory of the index",
            Self::OtherIndex => "use another index, or none",
            Self::BuildIndex => "build the index first",
            Self::RebuildIndex => {
                "delete the index and build it again; answer without it until then"
            }
            Self::IgnoreChecksum => {
                "mixed case is a checksum: check for a typing error, write the address in lower \
                 case, or ignore checksums"
            }
            Self::ListBlocks => "the description of the source lists the blocks that exist",
            Self::AllowPartial { newest } => {
                return write!(
                    f,
                    "accept a partial result, or ask for blocks that exist: {newest}"
                );
            }
            Self::AskExisting { newest } => {
                return write!(f, "ask for blocks that exist: {newest}");
            }
            Self::StoreExisting { newest } => {
                return write!(f, "store only blocks that exist: {newest}");
            }
            Self::NameRoot => "give at least one root",
            Self::ChooseDirection => "choose one direction, out or in",
            Self::AddInternal => "include internal transfers",
            Self::NameTransaction => "name one transaction, by its hash or by block and index",
            Self::ChooseFormat { known } => {
                return write!(f, "choose a format: {known}");
            }
            Self::WriteColumns(list) => return write!(f, "choose columns: {list}"),
            Self::FormatByExtension => "choose the format of each file by its extension",
            Self::Overwrite => "choose another name, or allow the file to be replaced",
            Self::WriteToFile => {
                "discard what was printed and ask again, or write to a file, which is restarted"
            }
            Self::NarrowGraph => {
                "reduce hops, degree or edges, or raise the smallest amount; or write DOT, GraphML \
                 or GEXF and open it in Gephi"
            }
            Self::RaiseMemory => "allow more memory",
            Self::GiveParameters(of) => {
                let all = [&of.required[..], &of.optional].concat();
                return write!(f, "parameters of `{}`: {}", of.query, all.join(", "));
            }
            Self::ListQueries => "name a saved query, or the path of its file",
        })
    }
}

/// The parameters of a saved query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The name of a query that is built in, or the path of its file.
    pub query: String,
    /// The required parameters, each as `NAME=<TYPE>`.
    pub required: Vec<String>,
    /// The optional parameters.
    pub optional: Vec<String>,
}
