//! Remedies for errors, in the options of this command line.

use std::borrow::Cow;
use txgraph::{DATADIR_ENV, Hint, SOURCE_ENV};

/// The text of a hint, with options of the command line.
pub(crate) fn hint_text(hint: &Hint) -> Cow<'_, str> {
    Cow::Borrowed(match hint {
        Hint::NameSource => {
            let [ours, reths] = DATADIR_ENV;
            return Cow::Owned(format!(
                "pass --datadir DIR or --source KIND:LOCATION, or set {SOURCE_ENV}, {ours}, {reths} \
                 or a configuration file; reth's default is ~/.local/share/reth/<chain>"
            ));
        }
        Hint::NameNode => "pass the data directory of a reth node with --datadir DIR",
        Hint::NameNodeOrServer => {
            "pass the data directory of a reth node with --datadir DIR, or a JSON-RPC server with --source rpc:URL"
        }
        Hint::ReplayBundle => {
            "pass the data directory of a reth node with --datadir DIR; of a bundle, `txgraph transfers \
             --blocks BLOCK --with-internal` lists what its transactions move, and `txgraph replay trace \
             call` prints their calls"
        }
        Hint::NameChainId => "pass --chain-id",
        Hint::DropSetting(name @ ("static-files" | "rocksdb")) => {
            return Cow::Owned(format!("leave --datadir.{name} out"));
        }
        Hint::DropSetting(name) => return Cow::Owned(format!("leave --{name} out")),
        Hint::NameChainFile => {
            "pass the genesis file of the chain with --chain FILE, or copy it to genesis.json in the data \
             directory"
        }
        Hint::NameStaticFiles => "if the node runs with --datadir.static-files, pass the same path",
        Hint::NameRocksDb => "if the node runs with --datadir.rocksdb, pass the same path",
        Hint::NameTokenList => "pass --token-list FILE, or the address of the token",
        Hint::NameIndex => "name a directory with --index",
        Hint::OtherIndex => "name another directory with --index, or pass --index off",
        Hint::BuildIndex => "`txgraph index build` makes one",
        Hint::RebuildIndex => {
            "make it again: `txgraph index drop`, `txgraph index build`, with the same --index; until \
             then, --index off answers from the node"
        }
        Hint::IgnoreChecksum => {
            "mixed case is a checksum: check for a typing error, write the address in lower case, \
             or pass --allow-bad-checksum to a command that has it"
        }
        Hint::ListBlocks => "`txgraph info` lists the blocks that exist",
        Hint::AllowPartial { newest } => {
            return Cow::Owned(format!(
                "pass --allow-partial to get what exists, with the gap stated in the answer, or \
                 ask for blocks that exist: --from-block {} --to-block {}",
                newest.first, newest.last
            ));
        }
        Hint::AskExisting { newest } => {
            return Cow::Owned(format!("ask for blocks that exist: --blocks {newest}"));
        }
        Hint::StoreExisting { newest } => {
            return Cow::Owned(format!(
                "store only blocks that exist: --from-block {} (they end with block {})",
                newest.first, newest.last
            ));
        }
        Hint::NameRoot => {
            "add --root 0x… or --root @FILE; without a root, `txgraph analyze` measures all \
             transfers, and options of a search have no meaning"
        }
        Hint::ChooseDirection => "add --direction out or --direction in",
        Hint::AddInternal => "add --with-internal",
        Hint::NameTransaction => "name it: --tx HASH, or --tx BLOCK:INDEX",
        Hint::ChooseFormat { known } => {
            return Cow::Owned(format!("pass --format, or an extension: {known}"));
        }
        Hint::WriteColumns(list) => return Cow::Owned(format!("write --columns {list}")),
        Hint::FormatByExtension => "leave --format out: extensions choose the formats of files",
        Hint::Overwrite => "choose another name, or replace it with --overwrite",
        Hint::WriteToFile => {
            "discard what was printed and ask again, or write to a file (-o), which is restarted"
        }
        Hint::NarrowGraph => {
            "narrow the query (--hops, --follow-top, --min-value, --max-degree), fold leaves (--fold), or write \
             DOT, GraphML or GEXF and open it in Gephi"
        }
        Hint::RaiseMemory => "or pass a larger --memory",
        Hint::GiveParameters(of) => {
            let required = of.required.iter().map(|param| format!(" --set {param}"));
            let optional = of.optional.iter().map(|param| format!(" [--set {param}]"));
            let all: String = required.chain(optional).collect();
            return Cow::Owned(format!("usage: txgraph query {}{all}", quoted(&of.query)));
        }
        Hint::ListQueries => {
            "`txgraph query --list` lists the saved queries; a file is named by its path"
        }
        other => return Cow::Owned(other.to_string()),
    })
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@+%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How to go on from a root without transfers.
pub(crate) const SILENT_ROOT: &str = "check the address for typing errors, or ask for other \
     blocks, tokens (--token) or another direction";

/// How to go on from a root that is a contract without transfers.
pub(crate) const SILENT_CONTRACT: &str = "transfers of a token are requested with --token; transfers inside transactions with \
     --with-internal";

/// How to go on from a root without transfers that the state does not contain, either.
pub(crate) const ABSENT_ROOT: &str = "it has no coin, no code and never sent a transaction, so \
     check it for typing errors; or ask for another --direction";

/// How to go on from a root that is a token.
pub(crate) const TOKEN_ROOT: &str =
    "its own transfers are searched; those of the token are requested with --token";

/// How to go on from tokens and addresses that were never seen.
pub(crate) const UNSEEN: &str = "check for typing errors, or ask for other blocks (--blocks)";

/// How to go on when the native coin never occurred.
pub(crate) const UNSEEN_NATIVE: &str =
    "contracts move it without a log: add --with-internal, or ask for other blocks (--blocks)";

/// How to go on from contracts at which branches end although transactions are replayed.
pub(crate) const CONTRACT_KEEPS: &str = "other blocks or tokens may have more";

/// How to go on from contracts at which branches end.
pub(crate) const CONTRACT_ENDS: &str =
    "contracts can pass ETH on without a log: add --with-internal";

/// How to go on from contracts at which a search for some tokens ends.
pub(crate) const CONTRACT_SWAPS: &str =
    "contracts can also swap a token for another: add --through-swaps";

/// How to go on from addresses without further transfers.
pub(crate) const FURTHER_BLOCKS: &str = "other blocks or tokens may have more";

/// How to go on from the last hop.
pub(crate) const MORE_HOPS: &str = "more hops: --hops";
