//! Arguments that several commands share. Doc comments are help texts.

pub(crate) use crate::{
    block_args::{BlockArgs, StateBlockArgs},
    name_args::{AbiArgs, LabelArgs, NameArgs, TokenListArgs},
    renamed::words,
};
use crate::{output_folder, renamed::ReplacedColumnArgs, transfer_tables::TerminalFormat};
use clap::{ArgAction, Args, builder::PossibleValuesParser};
use serde::Serialize;
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};
use txgraph::{
    AnalysisFormat, AnalysisOutput, Config, Direction, Error, GraphFormat, Hint, Hops, IndexChoice,
    Kind, SourceSpec, TableFormat, TokenStandard,
    parse::{Output, check_min_value, parse_size, parse_token_id},
};

/// The file that makes a folder a case.
pub(crate) const CASE_FILE: &str = "case.json";

/// Which source, and how to run; the same for every command.
#[derive(Args, Debug)]
pub(crate) struct Global {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Which source.
#[derive(Args, Debug)]
#[command(next_help_heading = "Node")]
struct NodeArgs {
    /// Data directory of a node; short for --source reth:DIR
    ///
    /// The directory with `db` and `static_files`. It is opened read-only; the node can be running.
    /// Environment: TXGRAPH_DATADIR, else RETH_DATADIR.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "source")]
    datadir: Option<PathBuf>,

    /// Source of the transfers; repeat it to join sources of one chain
    ///
    /// Kinds: `reth` (data directory of a node), `era` (archived blocks: .ere or .era1 files, or a
    /// directory of them), `lake`, `rpc` (URL of a JSON-RPC server), `bundle` (blocks with the state
    /// that they read), and `cryo`, `etl`, `dune`, `csv` (files or directories that other tools wrote).
    /// A location without a kind is a data directory. Each block is read from the first source that has
    /// it; block hashes prove that all sources follow the same branch. Environment: TXGRAPH_SOURCE.
    #[arg(long, global = true, value_name = "KIND:LOCATION")]
    source: Vec<OsString>,

    /// URL of the node's JSON-RPC server, for blocks that are not on disk yet
    ///
    /// A node writes its newest blocks in batches, up to ten minutes late. With this option the result
    /// includes them, and the head is the tip. State and replay end with the blocks on disk.
    /// Environment: TXGRAPH_HEAD.
    #[arg(long, global = true, value_name = "URL")]
    head: Option<OsString>,

    /// Static files, if they are not in the data directory
    #[arg(long = "datadir.static-files", global = true, value_name = "DIR")]
    static_files: Option<PathBuf>,

    /// RocksDB, if it is not in the data directory
    #[arg(long = "datadir.rocksdb", global = true, value_name = "DIR")]
    rocksdb: Option<PathBuf>,

    /// Chain id, if the source does not contain it
    #[arg(long, global = true, value_name = "ID")]
    chain_id: Option<u64>,

    /// Blocks that the files of another tool cover completely, e.g. 18M:18.1M
    ///
    /// Not needed for files of cryo and ethereum-etl, whose names state the range.
    #[arg(long, global = true, value_name = "RANGE")]
    covers: Option<String>,

    /// Columns of unrecognized files, e.g. from=sender,to=receiver
    ///
    /// Roles: block, from, to, value, token, token-id, log-index, tx, tx-index, time, chain-id.
    #[arg(long, global = true, value_name = "ROLE=NAME,…")]
    source_columns: Option<String>,

    /// Genesis file (geth or reth JSON) of a chain that is not built in
    ///
    /// Built in: mainnet, Sepolia, Holesky, Hoodi and `reth --dev`. For other chains, genesis.json in the
    /// data directory is read if it exists.
    #[arg(long, global = true, value_name = "FILE")]
    chain: Option<PathBuf>,

    /// Configuration file (TOML) [default: ./txgraph.toml if it exists]
    ///
    /// Environment: TXGRAPH_CONFIG. Flags take
    /// precedence over the environment, and the environment over the file.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Number of threads [default: one for each core]
    ///
    /// Results do not depend on it. Environment: TXGRAPH_THREADS, else RAYON_NUM_THREADS.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Blocks that a thread reads at a time
    ///
    /// Without it, the range, its number of transactions and the threads decide. Results do not
    /// depend on it.
    #[arg(long, global = true, value_name = "N")]
    chunk_blocks: Option<u64>,

    /// Memory for the transfers of a search, e.g. 512M or 4G [default: 1G]
    ///
    /// If they fit, blocks are read once for all hops; otherwise, once for each hop.
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,

    /// Index to read: a directory, `auto` or `off` [default: auto]
    ///
    /// `auto` is the index in the default directory of `txgraph index build`, if it belongs to this
    /// chain. Results do not depend on it. Environment: TXGRAPH_INDEX.
    #[arg(long, global = true, value_name = "DIR|auto|off")]
    index: Option<PathBuf>,

    /// Recompute the roots of every block that is read
    ///
    /// Stops at the first that differs. Proves that blocks, receipts and senders match the headers. Reads all transactions and
    /// receipts instead of an index, which costs many times as much.
    #[arg(long, global = true)]
    check_roots: bool,

    /// Print the plan: how the query would run, and why
    ///
    /// transfers, graph, analyze, query, path and common print only the plan. address, holders,
    /// statement, watch and replay print it and continue. Other commands refuse it.
    #[arg(long, global = true)]
    pub(crate) explain: bool,

    /// Write the cost of the command to a JSON file
    ///
    /// Phases, seconds, blocks, threads. Overwrites the file. If the command fails, the file contains
    /// the error.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,

    /// Log more: -v steps, -vv details, -vvv everything (see also RUST_LOG)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print only warnings and errors: no progress bar, no summary
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl Global {
    /// The settings, completed from the environment and the file.
    pub(crate) fn config(&self) -> txgraph::Result<Config> {
        let (node, run) = (&self.node, &self.run);
        check_config(node.config.as_deref())?;
        let mut sources = node.source.iter().cloned().map(SourceSpec::from);
        let source = sources.next();
        let flags = Config {
            joined: sources.collect(),
            source: source.or_else(|| node.datadir.clone().map(SourceSpec::reth)),
            head: node.head.clone().map(SourceSpec::server),
            static_files: node.static_files.clone(),
            rocksdb: node.rocksdb.clone(),
            chain_id: node.chain_id,
            covers: node.covers.clone(),
            source_columns: node.source_columns.clone(),
            chain: node.chain.clone(),
            threads: run.threads,
            chunk_blocks: run.chunk_blocks,
            memory: run.memory,
            index: run
                .index
                .as_ref()
                .map(|path| IndexChoice::parse(path.as_os_str())),
            check_roots: run.check_roots.then_some(true),
            cache: None,
            token_list: None,
        };
        Config::resolve(flags, node.config.as_deref())
    }

    /// The configuration file, if there is one.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        Config::file(self.node.config.as_deref())
    }

    /// An error whose hint names the configuration file, if that has the setting to leave out.
    pub(crate) fn with_origin(&self, error: Error) -> Error {
        let name = match error.hint {
            Some(Hint::DropSetting(name @ "chain-id")) if self.node.chain_id.is_none() => name,
            Some(Hint::DropSetting(name @ "check-roots")) if !self.run.check_roots => name,
            _ => return error,
        };
        match self.config_file() {
            Some(file) => error.hint(format!("remove `{name}` from {}", file.display())),
            None => error,
        }
    }
}

/// Refuses a configuration file that is not named, in a case: another person can have made it.
fn check_config(named: Option<&Path>) -> txgraph::Result<()> {
    let is_here = |file: &PathBuf| named.is_none() && file.is_relative();
    let Some(file) = Config::file(named).filter(is_here) else {
        return Ok(());
    };
    let here = std::env::current_dir().map_err(|error| Error::io(Path::new("."), error))?;
    match here.ancestors().find(|it| it.join(CASE_FILE).is_file()) {
        None => Ok(()),
        Some(case) => {
            let case = case.display();
            let message =
                format!("this configuration is in the case {case}, which can be of another person");
            let hint = "if it is yours, name it: --config txgraph.toml; else run the command in another folder";
            Err(Error::usage(message).at(file.display()).hint(hint))
        }
    }
}

/// Which transfers.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Which transfers")]
pub(crate) struct SelectionArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) blocks: BlockArgs,

    /// Tokens: addresses, symbols, `eth` or `all` [default: all]
    ///
    /// Symbols are looked up in --token-list, then among well-known tokens. `eth` or `native` is
    /// the native coin. For several tokens, use commas or repeat the option; @FILE reads the first
    /// column of a file.
    #[arg(short, long, value_name = "TOKEN")]
    token: Vec<String>,

    /// Smallest amount: 1e18 smallest units, 1.5 or USDC=100,WETH=0.1 tokens
    ///
    /// A whole number without a unit is in the smallest unit of every token. 1.5 applies to each
    /// token of --token, by its decimals. USDC=100 (or '100 USDC') limits only that token: a symbol
    /// of --token-list or of a well-known token, one that a token of --token claims, an address, or
    /// `eth`. Decimals come from --token-list, else from the token itself.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    min_value: Option<String>,

    /// Only these token ids, decimal or 0x…
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = token_id)]
    token_id: Vec<String>,

    /// Only transfers of these standards
    #[arg(
        long, value_name = "STANDARD", value_delimiter = ',',
        value_parser = words(TokenStandard::ALL, TokenStandard::as_str)
    )]
    standard: Vec<TokenStandard>,

    /// Only transfers of these kinds
    #[arg(
        long, value_name = "KIND", value_delimiter = ',',
        value_parser = words(Kind::ALL, Kind::as_str)
    )]
    kind: Vec<Kind>,

    /// Contracts that wrap the native coin [default: auto]
    ///
    /// Their Deposit and Withdrawal events wrap and unwrap it.
    ///
    /// `auto`: the wrapped coin of the chain (every contract on chains that are not built in);
    /// `any`: every contract; `none`; or addresses.
    #[arg(long, value_name = "auto|any|none|ADDRESS")]
    wrapped_native: Vec<String>,

    /// Also transfers of the native coin by calls inside transactions
    ///
    /// Blocks of Amsterdam have logs of them. Older blocks do not: every transaction is executed again,
    /// which costs many times as much as a scan and needs the state before each block.
    /// `--kind fee,priority` adds fees. Chains of the OP stack are not executed; their fees alone are
    /// computed: `--kind fee,priority,l1-fee,operator-fee`.
    #[arg(long)]
    with_internal: bool,

    /// Accept missing or pruned blocks; the result states the gap
    ///
    /// On stderr and in the metadata of the output. Without this option, missing blocks end the
    /// command with status 3.
    #[arg(long)]
    pub(crate) allow_partial: bool,

    /// Accept addresses with a wrong EIP-55 checksum
    #[arg(long)]
    allow_bad_checksum: bool,
}

/// How to search.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Addresses to start from
    ///
    /// For several, use commas or repeat the option; @FILE reads the first column of a file.
    #[arg(short, long, value_name = "ADDRESS")]
    root: Vec<String>,

    /// How far to follow; 1 is the transfers of the roots [default: 1]
    #[arg(short = 'n', long, value_name = "N|all", allow_negative_numbers = true)]
    hops: Option<Hops>,

    /// Where tokens went (out) or came from (in), or both [default: out]
    #[arg(
        short, long, value_name = "out|in|both", hide_possible_values = true,
        value_parser = words(Direction::ALL, Direction::as_str)
    )]
    direction: Option<Direction>,

    /// Follow a transfer only if it happened after the tokens arrived
    ///
    /// With --direction in: only if it happened before they left.
    #[arg(long)]
    time_respecting: bool,

    /// Do not expand addresses with more counterparties
    ///
    /// They are in the result; roots are always expanded. Counterparties in the direction of the
    /// search count: receivers for `out`, senders for `in`.
    #[arg(long, value_name = "N")]
    max_degree: Option<u32>,

    /// Do not expand the addresses in this file
    ///
    /// They are in the result, with their labels. One address per line, CSV with address,label, or any
    /// format of --labels.
    #[arg(long, value_name = "FILE")]
    stop_at: Option<String>,

    /// Do not expand addresses of these categories, e.g. exchange,mixer
    ///
    /// A category is a word of the files of --labels, or one of sanctioned, scam, mixer, bridge, dex,
    /// exchange, defi, token, user, other.
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',')]
    stop_at_category: Vec<String>,

    /// Largest number of vertices
    #[arg(long, value_name = "N")]
    max_vertices: Option<u64>,

    /// Largest number of edges
    #[arg(long, value_name = "N")]
    max_edges: Option<u64>,

    /// Also expand the zero address, which all mints and burns involve
    #[arg(long)]
    expand_zero: bool,

    #[command(flatten)]
    #[serde(flatten)]
    labels: LabelArgs,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,
}

/// The files of a result.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct OutputArgs {
    /// Output file, or `-`; repeat the option for more [default: stdout]
    ///
    /// One pass writes all of them. A file gets its name when it is complete.
    #[arg(
        short, long, value_name = "FILE", help_heading = "Output",
        value_parser = output_folder::parser()
    )]
    pub(crate) output: Vec<PathBuf>,

    /// Replace files that exist
    #[arg(long, help_heading = "Output")]
    pub(crate) overwrite: bool,
}

/// The files of a result that consists of tables.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct TableOutputArgs {
    #[command(flatten)]
    #[serde(flatten)]
    files: OutputArgs,

    /// Format [default: by extension; on stdout human-readable tables]
    #[arg(
        short, long, value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(AnalysisFormat::words()), help_heading = "Output"
    )]
    format: Option<String>,
}

impl TableOutputArgs {
    /// Reads the outputs. `table`: the one in data files; absent: the main one.
    pub(crate) fn read(&self, table: Option<&str>) -> txgraph::Result<Vec<AnalysisOutput>> {
        self.tables(&self.files.output, table)
    }

    /// The same without the files that are pages for people, and these: `.html`, if no format is given.
    pub(crate) fn read_with_pages(
        &self,
        table: Option<&str>,
    ) -> txgraph::Result<(Vec<AnalysisOutput>, Vec<PathBuf>)> {
        let is_page = |path: &PathBuf| {
            let extension = path.extension().and_then(OsStr::to_str);
            self.format.is_none() && matches!(extension, Some("html" | "htm"))
        };
        let (pages, data): (Vec<_>, Vec<_>) = self.files.output.iter().cloned().partition(is_page);
        let outputs = match data.is_empty() && !pages.is_empty() {
            true => Vec::new(),
            false => self.tables(&data, table)?,
        };
        Ok((outputs, pages))
    }

    /// Whether files that exist are replaced.
    pub(crate) const fn overwrite(&self) -> bool {
        self.files.overwrite
    }

    fn tables(
        &self,
        files: &[PathBuf],
        table: Option<&str>,
    ) -> txgraph::Result<Vec<AnalysisOutput>> {
        let paths = files.iter().cloned();
        let output = Output {
            output: paths.map(crate::name_args::text).collect(),
            format: self.format.clone(),
            overwrite: self.files.overwrite,
        };
        output.tables(table)
    }
}

/// State overrides.
#[derive(Args, Debug)]
pub(crate) struct OverrideArgs {
    /// Override accounts before the execution: a JSON file
    ///
    /// {"state": {"0x…": {"balance": "1000", "nonce": 1, "code": "0x…", "stateDiff": {"0x0": "0x1"}}},
    /// "transaction": {"from": "0x…", "to": "0x…", "input": "0x…", "value": "0", "gas": 1}}; every part
    /// is optional, and only `replay` has a transaction to override. A replay states how it differs from
    /// the run without overrides.
    #[arg(long = "override", value_name = "FILE")]
    pub(crate) overrides: Option<PathBuf>,
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

pub(crate) fn table_formats() -> PossibleValuesParser {
    let people = TerminalFormat::WORDS.iter().take(1).copied();
    PossibleValuesParser::new(people.chain(TableFormat::ALL.iter().map(|format| format.as_str())))
}

pub(crate) fn graph_formats() -> PossibleValuesParser {
    let people = TerminalFormat::WORDS.iter().copied();
    PossibleValuesParser::new(people.chain(GraphFormat::ALL.iter().map(|format| format.as_str())))
}

fn token_id(text: &str) -> Result<String, String> {
    parse_token_id(text)?;
    Ok(text.to_owned())
}

fn amount(text: &str) -> Result<String, String> {
    check_min_value(text)?;
    Ok(text.to_owned())
}
