//! `txgraph replay`.

use crate::{
    args::{BlockArgs, output, words},
    output::Terminal,
    table::thousands,
};
use clap::Args;
use std::{path::PathBuf, time::Instant};
use txgraph::{EngineKind, Error, ErrorKind, Node, ReplayQuery, Replayed, Result, Trace};

/// Execute transactions again: what moved inside of them, traces, and proof of the receipts
///
/// Every transaction is executed by the embedded EVM on the state that the node keeps of the past,
/// and held against what the node stored: status, gas and logs of each receipt; gas, receipts root
/// and bloom filter of each block; and the accounts and slots that each block changed. Without
/// --trace the movements of the coin of the chain inside of transactions are written, which leave no
/// log. A difference ends the command with status 1.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    #[command(flatten, next_help_heading = "What")]
    blocks: BlockArgs,

    /// One transaction: its hash, or BLOCK:INDEX
    ///
    /// A hash is looked up in the node's index. Builds without RocksDB cannot read the index of
    /// layout v2: they search backwards from the tip, or in the blocks that are given.
    #[arg(long, value_name = "TX", help_heading = "What")]
    tx: Option<String>,

    /// Write nothing: only compare with what the node stored
    ///
    /// Also proves the transactions root of each block and the signer of each transaction.
    #[arg(long, conflicts_with_all = ["trace", "fees", "output", "format"], help_heading = "What")]
    verify_only: bool,

    /// In place of transfers: where balances of these tokens did not change as their logs say
    ///
    /// Around every transaction that calls the token, `balanceOf` is asked for the ends of its
    /// transfers, the sender, the recipient, and every address in the call frames and their
    /// calldata. Balances that change although nobody names their holder are not seen.
    #[arg(
        long, value_name = "TOKEN",
        conflicts_with_all = ["trace", "fees", "verify_only", "against"], help_heading = "What"
    )]
    verify_balances: Vec<String>,

    /// Compare with a trace of the transaction by another client, step by step: the answer of
    /// debug_traceTransaction (struct logs), or lines of EIP-3155
    #[arg(
        long, value_name = "FILE", requires = "tx",
        conflicts_with_all = ["trace", "fees", "verify_only", "output", "format"],
        help_heading = "What"
    )]
    against: Option<PathBuf>,

    /// In place of transfers: `call` frames (as callTracer tells them), `struct` logs of one
    /// transaction (EIP-3155), the `diff` of the state (as prestateTracer tells it), or where the
    /// `gas` went (folded stacks, for flame graphs)
    #[arg(
        long, value_name = "WHAT", value_parser = words(Trace::ALL, |trace| trace.as_str()),
        help_heading = "What"
    )]
    trace: Option<Trace>,

    /// What executes: `own`, `revm`, or `both`, compared instruction by instruction
    #[cfg(feature = "oracle")]
    #[arg(
        long, value_name = "ENGINE", default_value = "own",
        value_parser = words(ENGINES, engine_word), help_heading = "What"
    )]
    engine: EngineKind,

    /// Also fees: what is burnt, and what the beneficiary of the block gets
    #[arg(long, conflicts_with = "trace", help_heading = "What")]
    fees: bool,

    /// File to write, or `-` for stdout; default: stdout
    ///
    /// It gets its name when it is complete.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// csv or jsonl; default: by the file's extension, CSV on stdout; traces are JSON lines
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    format: Option<String>,

    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
  Prove everything the node holds:
    $ txgraph replay --verify-only --chain testdata/small/v2/genesis.json

  What moved inside of the transactions of the last ten blocks, with fees:
    $ txgraph replay --blocks -10: --fees --chain testdata/small/v2/genesis.json

  The call tree of one transaction:
    $ txgraph replay --tx 20:3 --trace call --chain testdata/small/v2/genesis.json

  Whether the logs of a token that takes fees tell all that it moved:
    $ txgraph replay --verify-balances 0x5d0099f6bff140a5de14430d77f1f2faa7aa60df \
        --chain testdata/small/v2/genesis.json

  Transfers of all kinds, those inside of transactions among them:
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

impl From<ReplayArgs> for ReplayQuery {
    fn from(args: ReplayArgs) -> Self {
        Self {
            blocks: args.blocks.blocks,
            from_block: args.blocks.from_block,
            to_block: args.blocks.to_block,
            transaction: args.tx,
            trace: args.trace,
            fees: args.fees,
            verify_only: args.verify_only,
            verify_balances: args.verify_balances,
            against: args.against,
            #[cfg(feature = "oracle")]
            engine: args.engine,
            #[cfg(not(feature = "oracle"))]
            engine: EngineKind::Own,
            output: output(
                args.output.into_iter().collect(),
                args.format,
                args.overwrite,
            ),
        }
    }
}

/// Runs the command.
pub(crate) fn run(node: &Node, query: &ReplayQuery, terminal: &Terminal) -> Result<()> {
    let start = Instant::now();
    if query.transaction.is_none() {
        terminal.blocks(&query.blocks(node)?);
    }
    let Replayed {
        report,
        mismatches,
        steps,
        written,
    } = txgraph::write_replay(node, query)?;
    terminal.written(written.as_slice());
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = report.gas_used as f64 / 1e6 / seconds.max(1e-9);
    terminal.note(format_args!(
        "replayed {} blocks, {} transactions, {} gas; {seconds:.1} s, {rate:.0} Mgas/s",
        thousands(report.blocks),
        thousands(report.transactions),
        thousands(report.gas_used),
    ));
    if let Some(steps) = steps {
        terminal.note(format_args!(
            "{} steps agree with the trace",
            thousands(steps)
        ));
    }
    if !query.verify_balances.is_empty() {
        let compared = thousands(report.balances_compared);
        terminal.note(format_args!("compared {compared} balances with the logs"));
    }
    for (count, what) in [
        (
            report.without_receipt,
            "transactions without a stored receipt to compare with",
        ),
        (
            report.without_changes,
            "blocks without change sets to compare with",
        ),
        (
            report.balances_unanswered,
            "balances that the token would not tell",
        ),
    ] {
        if count > 0 {
            terminal.note(format_args!("warning: {} {what}", thousands(count)));
        }
    }
    if report.mismatches == 0 {
        return Ok(());
    }
    let told: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    Err(Error::new(
        ErrorKind::Failed,
        format!(
            "the replay disagrees with the node in {} places: {}",
            thousands(report.mismatches),
            told.join("; ")
        ),
    )
    .hint(
        "the database is damaged, the rules are those of another chain (--chain), or txgraph is \
         wrong: please report it with the block",
    ))
}
