//! Arguments that several commands share. Doc comments are help texts.

use crate::transfer_tables::TerminalFormat;
pub(crate) use crate::{
    block_args::{BlockArgs, StateBlockArgs},
    label_args::LabelArgs,
};
use clap::{
    Arg, ArgAction, Args, Command,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use serde::Serialize;
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    str::FromStr,
};
use txgraph::{
    Config, Direction, GraphFormat, Hops, IndexChoice, Kind, SourceSpec, TableFormat,
    TokenStandard,
    parse::{check_min_value, parse_size, parse_token_id},
};

/// Which source, and how to run; the same for every command.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Data directory of a node; short for --source reth:DIR
    ///
    /// The directory with `db` and `static_files`. It is opened read-only; the node can be running.
    /// Environment: TXGRAPH_DATADIR, else RETH_DATADIR.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        conflicts_with = "source",
        help_heading = "Node"
    )]
    datadir: Option<PathBuf>,

    /// Source of the transfers; repeat it to join sources of one chain
    ///
    /// Kinds: `reth` (data directory of a node), `era` (archived blocks: .ere or .era1 files, or a
    /// directory of them), `lake`, `rpc` (URL of a JSON-RPC server), `bundle` (blocks with the state
    /// that they read), and `cryo`, `etl`, `dune`, `csv` (files or directories that other tools wrote).
    /// A location without a kind is a data directory. Each block is read from the first source that has
    /// it; block hashes prove that all sources follow the same branch. Environment: TXGRAPH_SOURCE.
    #[arg(
        long,
        global = true,
        value_name = "KIND:LOCATION",
        help_heading = "Node"
    )]
    source: Vec<OsString>,

    /// URL of the node's JSON-RPC server, for blocks that are not on disk yet
    ///
    /// A node writes its newest blocks in batches, up to ten minutes late. With this option the result
    /// includes them, and the head is the tip. State and replay end with the blocks on disk.
    /// Environment: TXGRAPH_HEAD.
    #[arg(long, global = true, value_name = "URL", help_heading = "Node")]
    head: Option<OsString>,

    /// Static files, if they are not in the data directory
    #[arg(
        long = "datadir.static-files",
        global = true,
        value_name = "DIR",
        help_heading = "Node"
    )]
    static_files: Option<PathBuf>,

    /// RocksDB, if it is not in the data directory
    #[arg(
        long = "datadir.rocksdb",
        global = true,
        value_name = "DIR",
        help_heading = "Node"
    )]
    rocksdb: Option<PathBuf>,

    /// Chain id, if the source does not contain it
    #[arg(long, global = true, value_name = "ID", help_heading = "Node")]
    chain_id: Option<u64>,

    /// Blocks that the files of another tool cover completely, e.g. 18M:18.1M
    ///
    /// Not needed for files of cryo and ethereum-etl, whose names state the range.
    #[arg(long, global = true, value_name = "RANGE", help_heading = "Node")]
    covers: Option<String>,

    /// Columns of unrecognized files, e.g. from=sender,to=receiver
    ///
    /// Roles: block, from, to, value, token, token-id, log-index, tx, tx-index, time, chain-id.
    #[arg(long, global = true, value_name = "ROLE=NAME,…", help_heading = "Node")]
    source_columns: Option<String>,

    /// Genesis file (geth or reth JSON) of a chain that is not built in
    ///
    /// Built in: mainnet, Sepolia, Holesky, Hoodi and `reth --dev`. For other chains, genesis.json in the
    /// data directory is read if it exists.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Node")]
    chain: Option<PathBuf>,

    /// Configuration file (TOML) [default: ./txgraph.toml if it exists]
    ///
    /// Environment: TXGRAPH_CONFIG. Flags take
    /// precedence over the environment, and the environment over the file.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Node")]
    config: Option<PathBuf>,

    /// Number of threads [default: one for each core]
    ///
    /// Results do not depend on it. Environment: TXGRAPH_THREADS, else RAYON_NUM_THREADS.
    #[arg(long, global = true, value_name = "N", help_heading = "Running")]
    threads: Option<usize>,

    /// Blocks that a thread reads at a time
    ///
    /// Without it, the range, its number of transactions and the threads decide. Results do not
    /// depend on it.
    #[arg(long, global = true, value_name = "N", help_heading = "Running")]
    chunk_blocks: Option<u64>,

    /// Memory for the transfers of a search, e.g. 512M or 4G [default: 1G]
    ///
    /// If they fit, blocks are read once for all hops; otherwise, once for each hop.
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size, help_heading = "Running")]
    memory: Option<u64>,

    /// Index to read: a directory, `auto` or `off` [default: auto]
    ///
    /// `auto` is the index in the default directory of `txgraph index build`, if it belongs to this
    /// chain. Results do not depend on it. Environment: TXGRAPH_INDEX.
    #[arg(
        long,
        global = true,
        value_name = "DIR|auto|off",
        help_heading = "Running"
    )]
    index: Option<PathBuf>,

    /// Recompute the roots of every block that is read
    ///
    /// Stops at the first that differs. Proves that blocks, receipts and senders match the headers. Reads all transactions and
    /// receipts instead of an index, which costs many times as much.
    #[arg(long, global = true, help_heading = "Running")]
    check_roots: bool,

    /// Print the plan: how the query would run, and why
    ///
    /// transfers, graph, analyze, query, path and common print only the plan; replay prints it and
    /// continues.
    #[arg(long, global = true, help_heading = "Running")]
    pub(crate) explain: bool,

    /// Write the cost of the command to a JSON file
    ///
    /// Phases, seconds, blocks, threads. Overwrites the file. If the command fails, the file contains
    /// the error.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Running")]
    pub(crate) stats: Option<PathBuf>,

    /// Log more: -v steps, -vv details, -vvv everything (see also RUST_LOG)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Running")]
    pub(crate) verbose: u8,

    /// Print only warnings and errors: no progress bar, no summary
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Running"
    )]
    pub(crate) quiet: bool,
}

impl Global {
    /// The settings, completed from the environment and the file.
    pub(crate) fn config(&self) -> txgraph::Result<Config> {
        let mut sources = self.source.iter().cloned().map(SourceSpec::from);
        let source = sources.next();
        let flags = Config {
            joined: sources.collect(),
            source: source.or_else(|| self.datadir.clone().map(SourceSpec::reth)),
            head: self.head.clone().map(SourceSpec::server),
            static_files: self.static_files.clone(),
            rocksdb: self.rocksdb.clone(),
            chain_id: self.chain_id,
            covers: self.covers.clone(),
            source_columns: self.source_columns.clone(),
            chain: self.chain.clone(),
            threads: self.threads,
            chunk_blocks: self.chunk_blocks,
            memory: self.memory,
            index: self
                .index
                .as_ref()
                .map(|path| IndexChoice::parse(path.as_os_str())),
            check_roots: self.check_roots.then_some(true),
            cache: None,
            token_list: None,
        };
        Config::resolve(flags, self.config.as_deref())
    }
}

/// Which transfers.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SelectionArgs {
    #[command(flatten, next_help_heading = "Which transfers")]
    #[serde(flatten)]
    blocks: BlockArgs,

    /// Tokens: addresses, symbols, `eth` or `all` [default: all]
    ///
    /// Symbols are looked up in --token-list, then among well-known tokens. `eth` or `native` is
    /// the native coin. For several tokens, use commas or repeat the option; @FILE reads the first
    /// column of a file.
    #[arg(short, long, value_name = "TOKEN", help_heading = "Which transfers")]
    token: Vec<String>,

    /// Smallest amount: 1e18 smallest units, 1.5 or USDC=100,WETH=0.1 tokens
    ///
    /// A whole number without a unit is in the smallest unit of every token. 1.5 applies to each
    /// token of --token, by its decimals. USDC=100 (or '100 USDC') limits only that token: a symbol
    /// of --token-list or of a well-known token, one that a token of --token claims, an address, or
    /// `eth`. Decimals come from --token-list, else from the token itself.
    #[arg(long, value_name = "AMOUNT", value_parser = amount, help_heading = "Which transfers")]
    min_value: Option<String>,

    /// Only these token ids, decimal or 0x…
    #[arg(
        long, value_name = "ID", value_delimiter = ',', value_parser = token_id,
        help_heading = "Which transfers"
    )]
    token_id: Vec<String>,

    /// Only transfers of these standards
    #[arg(
        long, value_name = "STANDARD", value_delimiter = ',',
        value_parser = words(TokenStandard::ALL, TokenStandard::as_str),
        help_heading = "Which transfers"
    )]
    standard: Vec<TokenStandard>,

    /// Only transfers of these kinds
    #[arg(
        long, value_name = "KIND", value_delimiter = ',',
        value_parser = words(Kind::ALL, Kind::as_str),
        help_heading = "Which transfers"
    )]
    kind: Vec<Kind>,

    /// Contracts that wrap the native coin [default: auto]
    ///
    /// Their Deposit and Withdrawal events wrap and unwrap it.
    ///
    /// `auto`: the wrapped coin of the chain (every contract on chains that are not built in);
    /// `any`: every contract; `none`; or addresses.
    #[arg(
        long,
        value_name = "auto|any|none|ADDRESS",
        help_heading = "Which transfers"
    )]
    wrapped_native: Vec<String>,

    /// Also transfers of the native coin by calls inside transactions
    ///
    /// Blocks of Amsterdam have logs of them. Older blocks do not: every transaction is executed again,
    /// which costs many times as much as a scan and needs the state before each block.
    /// `--kind fee,priority` adds fees. Chains of the OP stack are not executed; their fees alone are
    /// computed: `--kind fee,priority,l1-fee,operator-fee`.
    #[arg(long, help_heading = "Which transfers")]
    with_internal: bool,

    /// Accept missing or pruned blocks; the result states the gap
    ///
    /// On stderr and in the metadata of the output. Without this option, missing blocks end the
    /// command with status 3.
    #[arg(long, help_heading = "Which transfers")]
    pub(crate) allow_partial: bool,

    /// Accept addresses with a wrong EIP-55 checksum
    #[arg(long, help_heading = "Which transfers")]
    allow_bad_checksum: bool,
}

/// How to search.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SearchArgs {
    /// Addresses to start from
    ///
    /// For several, use commas or repeat the option; @FILE reads the first column of a file.
    #[arg(short, long, value_name = "ADDRESS", help_heading = "Search")]
    root: Vec<String>,

    /// How far to follow; 1 is the transfers of the roots [default: 1]
    #[arg(
        short = 'n',
        long,
        value_name = "N|all",
        allow_negative_numbers = true,
        help_heading = "Search"
    )]
    hops: Option<Hops>,

    /// Where tokens went (out) or came from (in), or both [default: out]
    #[arg(
        short, long, value_name = "out|in|both", hide_possible_values = true,
        value_parser = words(Direction::ALL, Direction::as_str), help_heading = "Search"
    )]
    direction: Option<Direction>,

    /// Follow a transfer only if it happened after the tokens arrived
    ///
    /// With --direction in: only if it happened before they left.
    #[arg(long, help_heading = "Search")]
    time_respecting: bool,

    /// Do not expand addresses with more counterparties
    ///
    /// They are in the result.
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_degree: Option<u32>,

    /// Do not expand the addresses in this file
    ///
    /// They are in the result, with their labels. One address per line, CSV with address,label, or any
    /// format of --labels.
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    stop_at: Option<String>,

    /// Do not expand addresses of these categories, e.g. exchange,mixer
    ///
    /// A category is a word of the files of --labels, or one of sanctioned, scam, mixer, bridge, dex,
    /// exchange, defi, token, user, other.
    #[arg(
        long,
        value_name = "CATEGORY",
        value_delimiter = ',',
        help_heading = "Search"
    )]
    stop_at_category: Vec<String>,

    /// Largest number of vertices
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_vertices: Option<u64>,

    /// Largest number of edges
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_edges: Option<u64>,

    /// Also expand the zero address, which all mints and burns involve
    #[arg(long, help_heading = "Search")]
    expand_zero: bool,

    #[command(flatten)]
    #[serde(flatten)]
    labels: LabelArgs,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,
}

/// Names and types of columns.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ColumnArgs {
    /// Columns and their types, in order: all:string,-chain_id,symbol
    ///
    /// NAME adds a column of transfers, -NAME leaves one out, and NAME:TYPE chooses its type: binary, string or
    /// f64 of 256-bit numbers (several: value:binary+f64), hex of addresses and hashes, rich for
    /// timestamps, fixed-size binary and dictionaries in Parquet. `all`, `cryo` and `etl` are all
    /// columns with the names of txgraph, cryo or ethereum-etl.
    ///
    /// On request: amount (in units of the token), symbol and decimals, from --token-list;
    /// from_label and to_label, from --labels; transaction_from, transaction_to, status (1 or 0) and
    /// method of the transaction, from the data directory of a node.
    #[arg(
        long,
        value_name = "NAME[:TYPE]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    columns: Vec<String>,

    #[command(flatten)]
    #[serde(flatten)]
    replaced: ReplacedColumnArgs,
}

/// The options that `--columns` replaced. They are read so that the refusal names the list that
/// says the same.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ReplacedColumnArgs {
    #[arg(long, hide = true)]
    schema: Option<String>,
    #[arg(long, hide = true)]
    u256_types: Vec<String>,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, hide = true)]
    hex: bool,
    #[arg(long, hide = true)]
    types: Option<String>,
}

pub(crate) fn table_formats() -> PossibleValuesParser {
    let people = TerminalFormat::WORDS.iter().take(1).copied();
    PossibleValuesParser::new(people.chain(TableFormat::ALL.iter().map(|format| format.as_str())))
}

pub(crate) fn graph_formats() -> PossibleValuesParser {
    let people = TerminalFormat::WORDS.iter().copied();
    PossibleValuesParser::new(people.chain(GraphFormat::ALL.iter().map(|format| format.as_str())))
}

/// Parses one of a list of words. A word of an earlier version is refused with the new one.
pub(crate) fn words<T: 'static>(
    all: &'static [T],
    as_str: fn(T) -> &'static str,
) -> NamedValues<T> {
    NamedValues { all, as_str }
}

/// The parser of [`words`].
#[derive(Clone, Debug)]
pub(crate) struct NamedValues<T: 'static> {
    all: &'static [T],
    as_str: fn(T) -> &'static str,
}

impl<T: Copy + FromStr<Err = txgraph::UnknownWord> + Send + Sync + 'static> NamedValues<T> {
    fn possible(&self) -> PossibleValuesParser {
        PossibleValuesParser::new(self.all.iter().map(|value| (self.as_str)(*value)))
    }
}

impl<T: Copy + FromStr<Err = txgraph::UnknownWord> + Send + Sync + 'static> TypedValueParser
    for NamedValues<T>
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let text = value.to_string_lossy();
        if let Some(new) = text.parse::<T>().err().and_then(|error| error.renamed) {
            let message = format!("`{text}` is now `{new}`\n");
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command));
        }
        let word = self.possible().parse_ref(command, argument, value)?;
        let found = self.all.iter().find(|value| (self.as_str)(**value) == word);
        found
            .copied()
            .ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.all.iter().map(|value| (self.as_str)(*value));
        Some(Box::new(words.map(PossibleValue::new)))
    }
}

fn token_id(text: &str) -> Result<String, String> {
    parse_token_id(text)?;
    Ok(text.to_owned())
}

fn amount(text: &str) -> Result<String, String> {
    check_min_value(text)?;
    Ok(text.to_owned())
}
