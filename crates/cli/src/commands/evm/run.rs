//! `txgraph evm run`.

use super::files::{CodeFormat, open, tool_error};
use crate::{
    args::{Global, OverrideArgs},
    commands::Context,
    output::print_page,
};
use alloy_primitives::{Address, Bytes, U256, hex};
use clap::Args;
use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::Instant,
};
use txgraph::{
    Config, Error, Result, RunControl, Source, SourceSpec, StateOverrides, TransactionName,
    parse::{Checksum, last_block, parse_address},
};
use txgraph_block::trace::{Trace, TraceOptions};
use txgraph_evm::{Fork, Inspector, UNTRUSTED_MEMORY_LIMIT};
use txgraph_evm_tools::{
    call::{Call, CallResult, open_state, parse_wei, status_words},
    program::Program,
};

/// Run bytecode, and show outcome, gas and return data
///
/// The code runs as a bare frame: no intrinsic gas, no fees, no nonces. Gas is counted for
/// the frame, before refunds. The time covers the execution alone; with --block, it includes the
/// opening of the state.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, mut_arg("overrides", |arg| {
    // Beside what `block` excludes, `requires` alone would not ask for it.
    arg.requires("block").conflicts_with_all(["program", "state", "fork", "bundle"])
}))]
pub(crate) struct RunArgs {
    /// Bytecode; `-` is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// How the file contains the bytecode
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        requires = "file"
    )]
    code_format: CodeFormat,

    /// Bytecode in hex, instead of a file
    #[arg(long, value_name = "HEX", conflicts_with = "file", value_parser = bytes)]
    code: Option<Bytes>,

    /// A benchmark program instead of code: call and state in one text file
    ///
    /// Lines: to ADDRESS, caller ADDRESS, gas N, value WEI, data HEX, account ADDRESS BALANCE CODE,
    /// slot ADDRESS KEY VALUE; hex, `-` for empty.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "code"])]
    program: Option<PathBuf>,

    /// A transaction of a bundle instead of code
    ///
    /// A bundle contains a block and the state that it reads (`txgraph replay bundle`).
    /// The transactions before it are executed first, and the time includes theirs.
    #[arg(
        long, value_name = "FILE", requires = "tx",
        conflicts_with_all = [
            "file", "code", "program", "calldata", "value", "gas", "fork", "caller", "state", "create",
        ]
    )]
    bundle: Option<PathBuf>,

    /// Index of the transaction in the block of the bundle
    #[arg(
        long, value_name = "INDEX", requires = "bundle",
        conflicts_with_all = ["file", "code", "program"]
    )]
    tx: Option<u32>,

    /// Input of the call
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    calldata: Option<Bytes>,

    /// Value in wei
    ///
    /// A caller that has less gets it, unless an override states its balance.
    #[arg(long, value_name = "WEI", value_parser = parse_wei)]
    value: Option<U256>,

    /// Gas of the frame [default: of the program, else 1,000,000,000]
    #[arg(long, value_name = "N")]
    gas: Option<u64>,

    #[arg(long, value_name = "FORK", help = fork_help())]
    fork: Option<Fork>,

    /// Caller
    #[arg(long, value_name = "ADDRESS", value_parser = checked_address)]
    caller: Option<Address>,

    /// Accounts, as JSON like the `alloc` of a genesis file
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    state: Option<PathBuf>,

    /// Run on the state of a node after this block, or before this UTC date
    ///
    /// With the rules and the environment of the block.
    #[arg(long, value_name = "DATE|N", conflicts_with_all = ["program", "state", "fork", "bundle"])]
    block: Option<String>,

    #[command(flatten)]
    changes: OverrideArgs,

    /// The code is init code: create a contract with it
    #[arg(long, conflicts_with = "program")]
    create: bool,

    /// Memory of all frames in MiB
    ///
    /// Logs, output and storage together can take as much again.
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = UNTRUSTED_MEMORY_LIMIT >> 20,
        value_parser = memory_limit
    )]
    memory_limit: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write EIP-3155 lines, one for each instruction, to stderr or FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    trace: Option<Option<PathBuf>>,

    /// Include memory in the trace
    #[arg(long, requires = "trace")]
    trace_memory: bool,

    /// Replace the trace file if it exists
    #[arg(long, requires = "trace")]
    overwrite: bool,
}

/// The fork of a benchmark program, unless one is given.
const PROGRAM_FORK: Fork = Fork::Cancun;

fn fork_help() -> String {
    format!(
        "Fork, e.g. London or Cancun [default: {}, for programs {PROGRAM_FORK}]",
        Fork::LATEST
    )
}

const EXAMPLES: &str = "\
Exit status: 0 when the code ran, also when it reverted or halted; 2 when it cannot be read.

Examples:
    $ txgraph evm run --code 0x60016002015f5260205ff3
    $ txgraph evm run --code 5f356008575f5ffd5b00 --calldata 0x01 --fork Shanghai --trace
    $ echo 60016002015f5260205ff3 | txgraph evm run - --json
    $ txgraph evm run --bundle testdata/bundles/20.json.zst --tx 0

On the state of a node: txgraph evm run --code 435f5260205ff3 --block 19_000_000
";

pub(crate) fn run(args: RunArgs, context: &Context<'_>) -> Result<()> {
    let global = context.global;
    let memory = args.trace_memory;
    let (json, trace, overwrite) = (args.json, args.trace.clone(), args.overwrite);
    let execute = match (&args.bundle, args.tx) {
        (Some(path), Some(index)) => Execution::Bundled(Box::new(bundle(path, global)?), index),
        _ => match &args.block {
            Some(block) => {
                let source = context.open()?;
                let block = last_block(&source, block)?;
                let overrides = args.changes.overrides.as_deref();
                let overrides = overrides.map(StateOverrides::open_for_call);
                Execution::OnState(Box::new(OnState {
                    source,
                    block,
                    call: call(args)?.0,
                    overrides: overrides.transpose()?.unwrap_or_default(),
                }))
            }
            None => Execution::Call(call(args)?),
        },
    };
    let options = TraceOptions {
        memory,
        return_data: false,
        fork: execute.fork(),
    };
    let ran = match trace {
        None => execute.run(None)?,
        Some(None) => {
            let stderr = BufWriter::with_capacity(1 << 16, io::stderr().lock());
            traced(execute, stderr, Path::new("standard error"), options)?.0
        }
        Some(Some(path)) => {
            let file = open(&path, overwrite)?;
            let (ran, file) = traced(execute, file, &path, options)?;
            file.finish()?;
            ran
        }
    };
    let text = if json {
        format!("{:#}\n", ran.to_json())
    } else {
        page(&ran)
    };
    print_page(&text)
}

/// The frame or transaction that is executed.
enum Execution {
    /// A bare frame.
    Call((Call, Fork)),
    /// A bare frame on the state of a node.
    OnState(Box<OnState>),
    /// A transaction of the block of a bundle.
    Bundled(Box<Source>, u32),
}

/// A bare frame on the state of a node.
struct OnState {
    source: Source,
    block: u64,
    call: Call,
    overrides: StateOverrides,
}

impl Execution {
    /// The fork whose opcodes a trace names. No block in a bundle has later ones.
    const fn fork(&self) -> Fork {
        match self {
            Self::Call((_, fork)) => *fork,
            Self::OnState(_) | Self::Bundled(..) => Fork::LATEST,
        }
    }

    fn run(self, inspector: Option<&mut dyn Inspector>) -> Result<CallResult> {
        let (source, index) = match self {
            Self::Call((call, fork)) => {
                let ran = call.run(fork, inspector);
                return ran.map_err(|error| Error::usage("the state").because(error));
            }
            Self::OnState(execution) => return execution.run(inspector),
            Self::Bundled(source, index) => (source, index),
        };
        let block = source.tip()?;
        if source.default_range()?.first != block {
            return Err(Error::usage("there are several bundles").hint("name the file of one"));
        }
        let start = Instant::now();
        let name = TransactionName::Position { block, index };
        let (replay, _) = source.replay().transaction(name).one(inspector)?;
        Ok(CallResult {
            outcome: replay.outcome,
            time: start.elapsed(),
        })
    }
}

impl OnState {
    fn run(self, inspector: Option<&mut dyn Inspector>) -> Result<CallResult> {
        let Self {
            source,
            block,
            mut call,
            mut overrides,
        } = self;
        let (_, balances) = source.balances(Some(block), &[(call.caller, None)])?;
        let caller = overrides.accounts.entry(call.caller).or_default();
        // An override says what the caller has.
        let balance = balances.first().copied().flatten().unwrap_or_default();
        if caller.balance.is_none() && balance < call.value {
            caller.balance = Some(call.value);
        }
        let code = call.state.remove(&call.to).unwrap_or_default().code;
        let query = if call.create {
            source.call(None).data([code, call.data].concat())
        } else {
            overrides.accounts.entry(call.to).or_default().code = Some(code);
            source.call(call.to).data(call.data)
        };
        let query = query.from(call.caller).value(call.value).gas(call.gas);
        let start = Instant::now();
        let ran = query
            .block(block)
            .overrides(overrides)
            .inspected(inspector)?;
        Ok(CallResult {
            outcome: ran.outcome,
            time: start.elapsed(),
        })
    }
}

fn bundle(path: &Path, global: &Global) -> Result<Source> {
    let config = Config {
        source: Some(SourceSpec::bundle(path)),
        ..global.config()?
    };
    Source::with_config(&config, &RunControl::default())
}

/// The call that the arguments describe, and its fork.
fn call(args: RunArgs) -> Result<(Call, Fork)> {
    let (mut call, default_fork) = match &args.program {
        Some(path) => (Program::open(path).map_err(tool_error)?.call, PROGRAM_FORK),
        None => (of_code(&args)?, Fork::LATEST),
    };
    let fork = args.fork.unwrap_or(default_fork);
    call.create = args.create;
    call.memory_limit = Some(args.memory_limit << 20);
    call.data = args.calldata.unwrap_or(std::mem::take(&mut call.data));
    call.value = args.value.unwrap_or(call.value);
    call.gas = args.gas.unwrap_or(call.gas);
    call.caller = args.caller.unwrap_or(call.caller);
    Ok((call, fork))
}

fn of_code(args: &RunArgs) -> Result<Call> {
    let code = match (&args.code, &args.file) {
        (Some(code), _) => code.clone(),
        (None, Some(path)) => args.code_format.read(path)?,
        (None, None) => {
            return Err(Error::usage("no bytecode is given").hint(
                "name a file (`-` is standard input), or pass --code HEX, --program FILE or \
                 --bundle FILE",
            ));
        }
    };
    let state = match &args.state {
        Some(path) => open_state(path).map_err(tool_error)?,
        None => Default::default(),
    };
    Ok(Call::of_code(code, state))
}

fn traced<W: Write>(
    execution: Execution,
    out: W,
    path: &Path,
    options: TraceOptions,
) -> Result<(CallResult, W)> {
    let mut trace = Trace::new(out, options);
    let ran = execution.run(Some(&mut trace))?;
    let out = trace.finish(&ran.outcome);
    Ok((ran, out.map_err(|error| Error::io(path, error))?))
}

/// The human-readable page.
fn page(ran: &CallResult) -> String {
    let outcome = &ran.outcome;
    let (status, reason) = status_words(outcome.status);
    let mut text = match reason {
        Some(reason) => format!("{:<13} {status}: {reason}\n", "outcome"),
        None => format!("{:<13} {status}\n", "outcome"),
    };
    let mut line = |name: &str, value: String| text += &format!("{name:<13} {value}\n");
    line("gas used", outcome.gas_used.to_string());
    if outcome.gas_refunded > 0 {
        line("gas refunded", outcome.gas_refunded.to_string());
    }
    if let Some(created) = outcome.created {
        line("created", created.to_string());
    }
    line("return data", outcome.output.to_string());
    for log in &outcome.logs {
        let topics: Vec<String> = log.data.topics().iter().map(ToString::to_string).collect();
        line(
            "log",
            format!("{} [{}] {}", log.address, topics.join(", "), log.data.data),
        );
    }
    line("time", format!("{:?}", ran.time));
    text
}

/// MiB that are a number of bytes, too.
fn memory_limit(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(mib) if mib <= usize::MAX >> 20 => Ok(mib),
        Ok(mib) => Err(format!("{mib} MiB are too many bytes")),
        Err(error) => Err(error.to_string()),
    }
}

fn checked_address(text: &str) -> Result<Address, String> {
    parse_address(text, Checksum::Verify).map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<Bytes, String> {
    hex::decode(text)
        .map(Bytes::from)
        .map_err(|error| format!("not hex: {error}"))
}
