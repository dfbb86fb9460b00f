//! `txgraph replay`.

mod trees;

use super::{Context, difference, disagreement::disagreement};
use crate::{
    args::{AbiArgs, BlockArgs, LabelArgs, OutputArgs, OverrideArgs, words},
    name_args::text as path_text,
    output::{Terminal, number},
    table::thousands,
    transfer_tables::{self, TerminalFormat},
    units::rate,
};
use clap::{Args, Subcommand};
use std::{path::PathBuf, time::Instant};
use trees::CallTrees;
#[cfg(feature = "oracle")]
use txgraph::EngineKind;
use txgraph::{
    Dictionary, Error, Labels, PreparedReplay, Replay, ReplayOutput, ReplaySummary, Result, Source,
    StateOverrides, Target, Trace,
    parse::{self, Checksum, Output},
};

/// Execute past transactions again: verify, trace, internal transfers
///
/// The embedded EVM executes transactions on the past state that the node keeps, and compares the
/// result with what the node stored: status, gas and logs of each receipt; gas, receipts root and
/// bloom filter of each block; and the accounts and slots that each block changed. A difference ends
/// the command with status 1. Blocks of bundles are replayed without a node: `--source bundle:PATH`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Verify(VerifyArgs),
    Trace(Box<TraceArgs>),
    Transfers(Box<TransfersArgs>),
    Balances(BalancesArgs),
    Compare(CompareArgs),
    Bundle(BundleArgs),
}

/// Which transactions.
#[derive(Args, Debug)]
struct ScopeArgs {
    #[command(flatten, next_help_heading = "Which transactions")]
    blocks: BlockArgs,

    /// Only this transaction
    ///
    /// A hash is looked up in the node's index. If that is pruned or missing, the given blocks are
    /// searched, or all blocks backwards from the tip.
    #[arg(
        long,
        value_name = "HASH|BLOCK:INDEX",
        help_heading = "Which transactions"
    )]
    tx: Option<String>,

    /// Engine: `txgraph`, `revm`, or `both`, compared instruction by instruction
    #[cfg(feature = "oracle")]
    #[arg(
        long, value_name = "ENGINE", default_value = "txgraph",
        value_parser = words(EngineKind::ALL, EngineKind::as_str), help_heading = "Which transactions"
    )]
    engine: EngineKind,
}

/// The files to write.
#[derive(Args, Debug)]
struct FileArgs {
    #[command(flatten)]
    files: OutputArgs,

    /// Format [default: by extension; on stdout csv or lines]
    ///
    /// Tables are csv, jsonl, parquet or ipc. On a terminal, transfers are a human-readable `table` with
    /// at most 1,000 rows, and call frames a `tree`. Without a format, call and diff traces are JSON lines, and
    /// gas is written as folded stacks. Struct logs are always JSON lines (EIP-3155).
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    format: Option<String>,
}

/// Compare every block with what the node stored; write nothing
///
/// Also proves the transactions root of each block and the signer of each transaction.
#[derive(Args, Debug)]
struct VerifyArgs {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Write call frames, struct logs, state changes or gas
#[derive(Args, Debug)]
#[command(mut_arg("overrides", |arg| arg.requires("tx")))]
struct TraceArgs {
    /// Kind of trace
    ///
    /// `call`: frames, as callTracer; `struct`: the steps of one transaction (EIP-3155); `diff`:
    /// the changes of the state, as prestateTracer; `gas`: folded stacks, for flame graphs.
    #[arg(value_name = "KIND", value_parser = words(Trace::ALL, |trace| trace.as_str()))]
    trace: Trace,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    changes: OverrideArgs,

    #[command(flatten)]
    functions: AbiArgs,

    #[command(flatten)]
    labels: LabelArgs,

    #[command(flatten)]
    files: FileArgs,
}

/// Write transfers of the native coin inside transactions
///
/// They leave no log before Amsterdam.
#[derive(Args, Debug)]
#[command(mut_arg("overrides", |arg| arg.requires("tx")))]
struct TransfersArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    changes: OverrideArgs,

    /// Also fees: what is burnt, and what the block's beneficiary receives
    #[arg(long, help_heading = "Which transactions")]
    fees: bool,

    #[command(flatten)]
    labels: LabelArgs,

    #[command(flatten)]
    files: FileArgs,
}

/// Write balances of tokens that disagree with the tokens' logs
///
/// Before and after every transaction that calls the token, `balanceOf` is called for both sides of
/// its transfers, the sender, the recipient, and every address in the call frames and their calldata.
/// A balance whose holder occurs nowhere in the transaction is not checked.
#[derive(Args, Debug)]
struct BalancesArgs {
    /// Tokens
    #[arg(value_name = "TOKEN", required = true)]
    tokens: Vec<String>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    files: FileArgs,
}

/// Compare a transaction step by step with another client's trace
///
/// Position, opcode, gas, cost, depth and stack of each step. The outcome in the trace is not read: the
/// replay is compared with the stored receipt. A transaction without code has no steps.
#[derive(Args, Debug)]
struct CompareArgs {
    /// The trace: struct logs of debug_traceTransaction, or EIP-3155 lines
    #[arg(value_name = "FILE")]
    reference: PathBuf,

    #[command(flatten)]
    scope: ScopeArgs,
}

/// Write blocks with the state that they read
///
/// They are replayed without a node. Each file, NUMBER.json.zst, contains everything that
/// `--source bundle:PATH` needs to replay the block (docs/bundles.md).
#[derive(Args, Debug)]
struct BundleArgs {
    /// Directory for the files
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Also the state for `replay balances` of this token; repeat it for more
    #[arg(long, value_name = "TOKEN", help_heading = "Output")]
    balances: Vec<String>,

    /// Replace files that exist
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  Verify everything that the node stores:
    $ txgraph replay verify

  Transfers inside the transactions of the last ten blocks, with fees:
    $ txgraph replay transfers --blocks -10: --fees

  The same transfers of all blocks, as Parquet:
    $ txgraph replay transfers -o internal.parquet

  The call tree of one transaction, with names, events and gas:
    $ txgraph replay trace call --tx 20:3 --format tree

  Do the logs of a token that takes fees account for all changes of balances?
    $ txgraph replay balances 0x5d0099f6bff140a5de14430d77f1f2faa7aa60df

  Write a block with the state that it reads, and replay it without the node:
    $ txgraph replay bundle bundles --blocks 20
    $ txgraph replay verify --source bundle:bundles

  Transfers of the native coin, including those inside transactions:
    $ txgraph transfers --with-internal -t eth
";

pub(crate) fn run(args: &ReplayArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    let prepare = |query| prepare(query, terminal);
    let (scope, summary) = match &args.action {
        Action::Verify(args) => {
            let query = prepare(args.scope.of(&source)?.verify_only())?;
            (&args.scope, query.write(&[])?)
        }
        Action::Compare(args) => {
            let query = prepare(args.scope.of(&source)?.against(&args.reference))?;
            (&args.scope, query.write(&[])?)
        }
        Action::Bundle(args) => {
            let query = with_balances(args.scope.of(&source)?, &args.balances)?;
            let summary = prepare(query)?.write_bundles(&args.directory, args.overwrite)?;
            terminal.note(format_args!(
                "wrote {} into {}",
                number(summary.report.blocks, "bundle", "bundles"),
                args.directory.display()
            ));
            if !args.balances.is_empty() {
                note_compared(&summary, terminal);
            }
            (&args.scope, summary)
        }
        Action::Balances(args) => {
            let query = prepare(with_balances(args.scope.of(&source)?, &args.tokens)?)?;
            let summary = query.write(&args.files.read(false, terminal)?)?;
            note_compared(&summary, terminal);
            (&args.scope, summary)
        }
        Action::Trace(args) => {
            let query = with_overrides(args.scope.of(&source)?, &args.changes)?;
            let query = query.trace(args.trace);
            if let Some(trees) = CallTrees::wanted(args, &source, terminal)? {
                return trees.print(query, &source, terminal);
            }
            let files = args.files.read(true, terminal)?;
            (&args.scope, prepare(query)?.write(&files)?)
        }
        Action::Transfers(args) => {
            let mut query = with_overrides(args.scope.of(&source)?, &args.changes)?;
            if args.fees {
                query = query.fees();
            }
            let form = args.files.form(Some(TerminalFormat::Table), terminal)?;
            let summary = if form == Some(TerminalFormat::Table) {
                terminal.check_stdout([&Target::Stdout])?;
                let labels = args.labels.read(&source, terminal)?;
                let summary = show(&prepare(query)?, &source, &labels, terminal)?;
                if let Some(found) = &summary.difference {
                    difference::print(found, &Dictionary::common(), labels, &source, terminal)?;
                }
                summary
            } else {
                let files = args.files.read(false, terminal)?;
                prepare(query)?.write(&files)?
            };
            if summary
                .written
                .first()
                .is_some_and(|written| written.rows == Some(0))
            {
                terminal.note(format_args!(
                    "no native coin moved inside of transactions; transfers of tokens: `txgraph \
                     transfers`"
                ));
            }
            (&args.scope, summary)
        }
    };
    report(summary, scope, start, &source, terminal)
}

/// Prepares a query, and prints its blocks.
fn prepare<'s>(query: Replay<'s>, terminal: &Terminal) -> Result<PreparedReplay<'s>> {
    let query = query.prepare()?;
    if let Some(blocks) = query.blocks() {
        terminal.blocks(blocks);
    }
    Ok(query)
}

/// Says what was replayed. Differences are an error.
fn report(
    summary: ReplaySummary,
    scope: &ScopeArgs,
    start: Instant,
    source: &Source,
    terminal: &Terminal,
) -> Result<()> {
    let ReplaySummary {
        report,
        mismatches,
        steps,
        written,
        ..
    } = summary;
    terminal.stats.phase("replay");
    for (name, count) in [
        ("blocks", report.blocks),
        ("transactions", report.transactions),
        ("gas", report.gas_used),
    ] {
        terminal.stats.count(name, count);
    }
    terminal.written(&written);
    let seconds = start.elapsed().as_secs_f64();
    let rate = rate(report.gas_used, seconds) / 1e6;
    let transactions = number(report.transactions, "transaction", "transactions");
    let replayed = match scope.tx {
        Some(_) => transactions,
        None => format!(
            "{}, {transactions}",
            number(report.blocks, "block", "blocks")
        ),
    };
    terminal.note(format_args!(
        "replayed {replayed}, {} gas; {seconds:.1} s, {rate:.0} Mgas/s",
        thousands(report.gas_used),
    ));
    if let Some(steps) = steps {
        let steps = number(steps, "step agrees", "steps agree");
        terminal.note(format_args!("{steps} with the trace"));
    }
    for (count, one, many) in [
        (
            report.without_receipt,
            "transaction without a stored receipt to compare with",
            "transactions without a stored receipt to compare with",
        ),
        (
            report.without_changes,
            "block whose changes could not be compared: no change sets or trie nodes are there",
            "blocks whose changes could not be compared: no change sets or trie nodes are there",
        ),
        (
            report.balances_unanswered,
            "balance for which the token did not answer balanceOf",
            "balances for which the token did not answer balanceOf",
        ),
    ] {
        if count > 0 {
            terminal.warn(format_args!("{}", number(count, one, many)));
        }
    }
    if report.mismatches == 0 {
        return Ok(());
    }
    Err(disagreement(
        report.mismatches,
        &mismatches,
        source.is_sample_chain()?,
    ))
}

/// Shows the first transfers.
fn show(
    query: &PreparedReplay<'_>,
    source: &Source,
    labels: &Labels,
    terminal: &Terminal,
) -> Result<ReplaySummary> {
    let found = query.first_transfers(transfer_tables::ROWS_MAX)?;
    let none: [&std::path::Path; 0] = [];
    let tokens = source.token_list(&none)?.unwrap_or_default();
    let view = transfer_tables::view(&tokens, labels, source.chain()?.chain_id, terminal);
    let page = transfer_tables::transfers(&found.transfers, None, &view);
    let has_more = found.count > found.transfers.len() as u64;
    transfer_tables::print_first(page, has_more, "transfers", terminal)?;
    Ok(found.summary)
}

impl ScopeArgs {
    /// A replay of the transactions.
    fn of<'s>(&self, source: &'s Source) -> Result<Replay<'s>> {
        let mut query = source.replay();
        #[cfg(feature = "oracle")]
        {
            query = query.engine(self.engine);
        }
        for blocks in self.blocks.read()? {
            query = query.blocks(blocks);
        }
        if let Some(name) = &self.tx {
            query = query.transaction(parse::parse_transaction(name)?);
        }
        Ok(query)
    }
}

impl FileArgs {
    fn given(&self) -> Output {
        Output {
            output: self.files.output.iter().cloned().map(path_text).collect(),
            format: self.format.clone(),
            overwrite: self.files.overwrite,
        }
    }

    /// The form for people, if that is asked for.
    fn form(
        &self,
        default: Option<TerminalFormat>,
        terminal: &Terminal,
    ) -> Result<Option<TerminalFormat>> {
        TerminalFormat::of(&self.given(), default, terminal)
    }

    /// The files of a table, or of a trace.
    fn read(&self, is_trace: bool, terminal: &Terminal) -> Result<Vec<ReplayOutput>> {
        let outputs = parse::replay_outputs(&self.given(), is_trace)?;
        terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
        Ok(outputs)
    }
}

fn with_overrides<'s>(query: Replay<'s>, given: &OverrideArgs) -> Result<Replay<'s>> {
    Ok(match &given.overrides {
        Some(path) => query.overrides(StateOverrides::open(path)?),
        None => query,
    })
}

fn note_compared(summary: &ReplaySummary, terminal: &Terminal) {
    let compared = number(summary.report.balances_compared, "balance", "balances");
    terminal.note(format_args!("compared {compared} with the logs"));
}

/// Adds the tokens whose balances are compared.
fn with_balances<'s>(mut query: Replay<'s>, tokens: &[String]) -> Result<Replay<'s>> {
    let read = parse::addresses(tokens, Checksum::Verify)?;
    if read.is_empty() && !tokens.is_empty() {
        return Err(Error::usage("the list of tokens is empty"));
    }
    for token in read {
        query = query.balances(token);
    }
    Ok(query)
}
