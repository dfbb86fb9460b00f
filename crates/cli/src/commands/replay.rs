//! `txgraph replay`.

mod call_tree;
mod trees;

use super::Context;
use crate::{
    args::{BlockArgs, LabelArgs, words},
    label_args::text as path_text,
    movements::{self, Form},
    output::{Terminal, number},
    table::thousands,
};
use clap::Args;
use std::{path::PathBuf, time::Instant};
use trees::CallTrees;
use txgraph::{
    EngineKind, Error, ErrorKind, Labels, Mismatch, PreparedReplay, Replay, ReplayOutput,
    ReplaySummary, Result, Source, SourceSpec, Trace, WhatIf,
    text::{self, Checksum},
};

/// Replay transactions: transfers inside them, traces, and verification of receipts
///
/// The embedded EVM executes every transaction on the past state that the node keeps, and compares
/// the result with what the node stored: status, gas and logs of each receipt; gas, receipts root
/// and bloom filter of each block; and the accounts and slots that each block changed. Without
/// --trace, transfers of the native coin inside transactions are written, which leave no log. A
/// difference ends the command with status 1.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    #[command(flatten, next_help_heading = "What")]
    blocks: BlockArgs,

    /// Replay a bundle, or all bundles of a directory, instead of blocks of a node
    ///
    /// A bundle is a file with a block and the state that it reads: accounts and slots, or an
    /// execution witness (docs/bundles.md). For a witness, the state root after the block is compared
    /// with the header. State that a bundle lacks is an error.
    #[arg(
        long, value_name = "PATH", conflicts_with_all = ["datadir", "source"], help_heading = "What"
    )]
    bundle: Option<PathBuf>,

    /// Write bundles of the blocks into a directory, instead of transfers
    ///
    /// Each file, NUMBER.json.zst, contains everything that --bundle needs to replay the block
    /// without the node; with --verify-balances also the balances of these tokens. A file that exists
    /// is replaced with --overwrite only.
    #[arg(
        long, value_name = "DIR",
        conflicts_with_all = [
            "bundle", "tx", "trace", "fees", "verify_only", "against", "output", "format",
        ],
        help_heading = "Output"
    )]
    write_bundle: Option<PathBuf>,

    /// One transaction: its hash, or BLOCK:INDEX
    ///
    /// A hash is looked up in the node's index. If that is pruned or missing, the blocks that are
    /// given are searched, or all blocks backwards from the tip.
    #[arg(long, value_name = "TX", help_heading = "What")]
    tx: Option<String>,

    /// What if it had been different? Changes accounts right before the transaction, or the
    /// transaction itself
    ///
    /// JSON: {"state": {"0x…": {"balance": "1000", "nonce": 1, "code": "0x…", "stateDiff": {"0x0":
    /// "0x1"}}}, "transaction": {"from": "0x…", "to": "0x…", "input": "0x…", "value": "0", "gas": 1}}.
    /// Everything can be absent. Nothing is compared with what the node stored.
    #[arg(
        long = "override", value_name = "FILE", requires = "tx",
        conflicts_with_all = ["verify_only", "against"], help_heading = "What"
    )]
    what_if: Option<PathBuf>,

    /// Write nothing; only compare with what the node stored
    ///
    /// Also proves the transactions root of each block and the signer of each transaction.
    #[arg(long, conflicts_with_all = ["trace", "fees", "output", "format"], help_heading = "What")]
    verify_only: bool,

    /// Instead of transfers, report balances that disagree with the token's logs
    ///
    /// Before and after every transaction that calls the token, `balanceOf` is called for both sides
    /// of its transfers, the sender, the recipient, and every address in the call frames and their
    /// calldata. A balance whose holder occurs nowhere in the transaction is not checked.
    #[arg(
        long, value_name = "TOKEN",
        conflicts_with_all = ["trace", "fees", "verify_only", "against"], help_heading = "What"
    )]
    verify_balances: Vec<String>,

    /// Compare step by step with another client's trace of the transaction: the answer of
    /// debug_traceTransaction (struct logs), or lines of EIP-3155
    #[arg(
        long, value_name = "FILE", requires = "tx",
        conflicts_with_all = ["trace", "fees", "verify_only", "output", "format"],
        help_heading = "What"
    )]
    against: Option<PathBuf>,

    /// Instead of transfers, write `call` frames (like callTracer), `struct` logs of one transaction
    /// (EIP-3155), the `diff` of the state (like prestateTracer), or where the `gas` went (folded
    /// stacks, for flame graphs)
    #[arg(
        long, value_name = "WHAT", value_parser = words(Trace::ALL, |trace| trace.as_str()),
        help_heading = "What"
    )]
    trace: Option<Trace>,

    /// Names for --format tree: an ABI file, a directory of them, or lines such as
    /// `0xa9059cbb transfer(address,uint256)`
    ///
    /// Common functions, events and errors are built in.
    #[arg(long, value_name = "PATH", help_heading = "What")]
    abi: Vec<PathBuf>,

    #[command(flatten)]
    labels: LabelArgs,

    /// Engine: `own`, `revm`, or `both`, compared instruction by instruction
    #[cfg(feature = "oracle")]
    #[arg(
        long, value_name = "ENGINE", default_value = "own",
        value_parser = words(ENGINES, engine_word), help_heading = "What"
    )]
    engine: EngineKind,

    /// Also write fees: what is burnt, and what the beneficiary of the block receives
    #[arg(long, conflicts_with = "trace", help_heading = "What")]
    fees: bool,

    /// File to write, or `-` for stdout; default: stdout. For several, repeat the option
    ///
    /// It gets its name when it is complete.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Vec<PathBuf>,

    /// table, csv, jsonl, parquet or ipc; default: by the file's extension, else CSV. With --trace
    /// call also `tree`, the default on a terminal
    ///
    /// On a terminal, transfers are a table for people with at most 1,000 rows.
    /// Without a format, `call` and `diff` traces are JSON lines, and `gas` is written as folded
    /// stacks, also to files *.txt. `struct` logs are always JSON lines (EIP-3155).
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    format: Option<String>,

    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  Verify everything that the node stores:
    $ txgraph replay --verify-only --chain testdata/small/v2/genesis.json

  Transfers inside the transactions of the last ten blocks, with fees:
    $ txgraph replay --blocks -10: --fees --chain testdata/small/v2/genesis.json

  The same transfers of all blocks, as Parquet:
    $ txgraph replay -o internal.parquet --chain testdata/small/v2/genesis.json

  The call tree of one transaction, with names, events and gas:
    $ txgraph replay --tx 20:3 --trace call --format tree --chain testdata/small/v2/genesis.json

  Do the logs of a token that takes fees account for all changes of balances?
    $ txgraph replay --verify-balances 0x5d0099f6bff140a5de14430d77f1f2faa7aa60df \\
        --chain testdata/small/v2/genesis.json

  Write a block with the state that it reads, and replay it without the node:
    $ txgraph replay --blocks 20 --write-bundle bundles --chain testdata/small/v2/genesis.json
    $ txgraph replay --bundle bundles --verify-only

  Transfers of the native coin, including those inside transactions:
    $ txgraph transfers --with-internal -t eth --chain testdata/small/v2/genesis.json
";

#[cfg(feature = "oracle")]
const ENGINES: &[EngineKind] = &[EngineKind::Own, EngineKind::Revm, EngineKind::Both];

#[cfg(feature = "oracle")]
const fn engine_word(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Own => "own",
        EngineKind::Revm => "revm",
        EngineKind::Both => "both",
    }
}

/// Runs the command.
pub(crate) fn run(args: &ReplayArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = match &args.bundle {
        Some(path) => context.open_source(SourceSpec::bundle(path))?,
        None => context.open()?,
    };
    let labels = args.labels.read(&source)?;
    terminal.labels(&labels);
    if let Some(trees) = CallTrees::wanted(args, &labels, terminal)? {
        return trees.print(question(args, &source)?, &source, terminal);
    }
    let (question, outputs) = prepare(args, &source)?;
    let writes_bundles = args.write_bundle.is_some();
    if !writes_bundles && !args.verify_only && args.against.is_none() {
        terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    }
    if let Some(blocks) = question.blocks() {
        terminal.blocks(blocks);
    }
    let ReplaySummary {
        report,
        mismatches,
        steps,
        written,
    } = match &args.write_bundle {
        Some(directory) => question.write_bundles(directory, args.overwrite)?,
        None if is_table(args, terminal)? => show(&question, &source, &labels, terminal)?,
        None => question.write(&outputs)?,
    };
    terminal.stats.phase("replay");
    for (name, count) in [
        ("blocks", report.blocks),
        ("transactions", report.transactions),
        ("gas", report.gas_used),
    ] {
        terminal.stats.count(name, count);
    }
    terminal.written(&written);
    if let Some(directory) = &args.write_bundle {
        terminal.note(format_args!(
            "wrote {} into {}",
            number(report.blocks, "bundle", "bundles"),
            directory.display()
        ));
    }
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = report.gas_used as f64 / 1e6 / seconds.max(1e-9);
    let transactions = number(report.transactions, "transaction", "transactions");
    let replayed = match args.tx {
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
    if writes_transfers(args) && written.first().is_some_and(|written| written.rows == 0) {
        terminal.note(format_args!(
            "no native coin moved inside of transactions; transfers of tokens: `txgraph transfers`"
        ));
    }
    if let Some(steps) = steps {
        let steps = number(steps, "step agrees", "steps agree");
        terminal.note(format_args!("{steps} with the trace"));
    }
    if question.compares_balances() {
        let compared = number(report.balances_compared, "balance", "balances");
        terminal.note(format_args!("compared {compared} with the logs"));
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
            terminal.note(format_args!("warning: {}", number(count, one, many)));
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

/// Whether the answer is transfers.
fn writes_transfers(args: &ReplayArgs) -> bool {
    args.trace.is_none()
        && args.verify_balances.is_empty()
        && !args.verify_only
        && args.against.is_none()
}

/// Whether transfers are shown to people.
fn is_table(args: &ReplayArgs, terminal: &Terminal) -> Result<bool> {
    let is_transfers = writes_transfers(args);
    let asked = args.format.as_deref() == Some(Form::WORDS[0]);
    let is_stdout = (args.output.iter()).all(|path| path.as_os_str() == "-");
    match (asked, is_transfers && is_stdout) {
        (true, false) => Err(Error::usage(
            "a table for people has transfers, and goes to standard output",
        )),
        (true, true) => Ok(true),
        (false, is_possible) => {
            let is_default = args.format.is_none() && args.output.is_empty();
            Ok(is_possible && is_default && terminal.is_seen())
        }
    }
}

/// Shows the first transfers.
fn show(
    question: &PreparedReplay<'_>,
    source: &Source,
    labels: &Labels,
    terminal: &Terminal,
) -> Result<ReplaySummary> {
    let found = question.first_transfers(movements::ROWS_MAX)?;
    let none: [&std::path::Path; 0] = [];
    let tokens = source.token_list(&none)?.unwrap_or_default();
    let view = movements::view(&tokens, labels, source.chain()?.chain_id, terminal);
    movements::print(&movements::transfers(&found.transfers, &view), terminal)?;
    if found.count > found.transfers.len() as u64 {
        movements::note_stopped(terminal, "transfers");
    }
    Ok(found.summary)
}

/// Differences that an error lists.
const DIFFERENCES_LISTED: usize = 10;

/// The error for a replay with differences: the first of them, one per line.
fn disagreement(count: u64, mismatches: &[Mismatch], is_sample: bool) -> Error {
    if is_sample {
        return Error::new(
            ErrorKind::Failed,
            format!(
                "the replay disagrees with the node in {}: this is a sample chain, whose blocks \
                 were not executed when it was written",
                number(count, "place", "places")
            ),
        )
        .hint("`execgen` writes sample chains that can be replayed");
    }
    let mut text = format!(
        "the replay disagrees with the node in {}:",
        number(count, "place", "places")
    );
    let listed = mismatches.iter().take(DIFFERENCES_LISTED);
    let mut more = count;
    for mismatch in listed {
        text += &format!("\n{mismatch}");
        more = more.saturating_sub(1);
    }
    if more > 0 {
        text += &format!("\nand {} more", thousands(more));
    }
    Error::new(ErrorKind::Failed, text).hint(
        "the database is damaged, the rules are those of another chain (--chain), or txgraph is \
         wrong: please report it with the block",
    )
}

/// Reads the question.
fn question<'s>(args: &ReplayArgs, source: &'s Source) -> Result<Replay<'s>> {
    let mut question = source.replay().engine(engine(args));
    for blocks in args.blocks.read()? {
        question = question.blocks(blocks);
    }
    if let Some(name) = &args.tx {
        question = question.transaction(text::parse_transaction(name)?);
    }
    if let Some(path) = &args.what_if {
        question = question.what_if(WhatIf::open(path)?);
    }
    if let Some(trace) = args.trace {
        question = question.trace(trace);
    }
    if args.fees {
        question = question.fees();
    }
    if args.verify_only {
        question = question.verify_only();
    }
    let tokens = text::addresses(&args.verify_balances, Checksum::Verify)?;
    if tokens.is_empty() && !args.verify_balances.is_empty() {
        return Err(Error::usage("the list of tokens is empty"));
    }
    for token in tokens {
        question = question.balances(token);
    }
    if let Some(trace) = &args.against {
        question = question.against(trace);
    }
    Ok(question)
}

/// Reads the arguments, and prepares the question and its outputs.
fn prepare<'s>(
    args: &ReplayArgs,
    source: &'s Source,
) -> Result<(PreparedReplay<'s>, Vec<ReplayOutput>)> {
    let question = question(args, source)?;
    // A table for people is not written as data.
    let format = (args.format.clone()).filter(|word| *word != Form::WORDS[0]);
    let given = text::Output {
        output: args.output.iter().cloned().map(path_text).collect(),
        format,
        overwrite: args.overwrite,
    };
    let outputs = text::replay_outputs(&given, args.trace.is_some())?;
    Ok((question.prepare()?, outputs))
}

#[cfg(feature = "oracle")]
const fn engine(args: &ReplayArgs) -> EngineKind {
    args.engine
}

#[cfg(not(feature = "oracle"))]
const fn engine(_: &ReplayArgs) -> EngineKind {
    EngineKind::Own
}
