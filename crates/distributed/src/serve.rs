//! Executors: how a task reads a chunk.

use crate::{
    Error, Result,
    error::{Refusal, RefusalKind},
    measure::{self, TaskTables},
    parts::{self, Heartbeat, PartWriter},
    rows::{self, BATCH_ROWS, TransferRecord},
    store::Store,
    wire::{Chunk, ChunkReport, Input, Mode, SourceInfo, Task},
};
use datafusion::arrow::array::RecordBatch;
use serde::Serialize;
use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use txgraph::{Config, ErrorKind, RunControl, Source, SourceSpec};
use txgraph_analysis::partitioned::{self, ScanTask, Stage};
use txgraph_transfers::{
    FailureKind, ScanReport, ScanRequest, SourceError, Transfer, TransferFilter, TransferSource,
};

/// Receives the batches that a task returns to its engine.
pub(crate) trait Consumer {
    /// Passes on a batch. Breaks if the receiver is gone.
    fn send(&self, batch: RecordBatch) -> ControlFlow<()>;

    /// Whether the receiver is gone: the task was canceled.
    fn is_gone(&self) -> bool;
}

/// Transfers of a first frontier that a task keeps until it knows their hashes: about 60 MiB.
const FOUND_MAX: usize = 1 << 18;

/// Transfers of a chunk that a first scan keeps for the later scans of its search: about 5 MiB.
pub(crate) const KEPT_MAX: usize = 1 << 16;

/// The table of them.
pub(crate) const KEPT: u32 = 1;

/// Sources that stay open, of this many runs.
const OPEN_MAX: usize = 4;

/// The settings with which this process opens sources. Set once, when an executor starts.
static CONFIG: OnceLock<Config> = OnceLock::new();

/// Chooses the source of this executor, and how it reads.
///
/// # Errors
///
/// If it was chosen before.
pub(crate) fn configure(config: Config) -> Result<()> {
    let again = |_| Error::Usage("the source of this process was chosen before".to_owned());
    CONFIG.set(config).map_err(again)
}

/// Opens the source of this executor, if it has one, to see that tasks can read it.
///
/// # Errors
///
/// If it cannot be opened.
pub(crate) fn check() -> Result<()> {
    let Some(config) = CONFIG.get().filter(|config| config.source.is_some()) else {
        return Ok(());
    };
    match Source::with_config(config, &RunControl::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Usage(with_advice(&error))),
    }
}

/// The host and process, for messages.
pub(crate) fn executor_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let host = host.map_or_else(|_| "unknown host".to_owned(), |name| name.trim().to_owned());
    format!("{host} (process {})", std::process::id())
}

/// Opens what a task reads, or returns what another task of the run opened.
fn open(task: &Task) -> txgraph::Result<Arc<Source>> {
    static OPEN: Mutex<Vec<(Input, String, Arc<Source>)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(input, run, _): &(Input, String, _)| *input == task.input && *run == task.run;
    if let Some(at) = open.iter().position(same) {
        return Ok(open[at].2.clone());
    }
    let own = CONFIG.get().cloned().unwrap_or_default();
    let config = match &task.input {
        Input::Executors => own,
        Input::Lake(path) => Config {
            source: Some(SourceSpec::from(format!("lake:{}", path.display()))),
            threads: own.threads,
            ..Config::default()
        },
    };
    let source = Arc::new(Source::with_config(&config, &RunControl::default())?);
    if open.len() == OPEN_MAX {
        open.remove(0);
    }
    open.push((task.input.clone(), task.run.clone(), source.clone()));
    Ok(source)
}

/// Reads a chunk.
pub(crate) fn chunk(task: &Task, chunk: &Chunk, to: &dyn Consumer) -> Result<(), Refusal> {
    let done = match &task.mode {
        Mode::Describe => describe(task, to),
        Mode::BlockAt(seconds) => block_at(task, *seconds, to),
        Mode::Measure(stage) if !task.inputs.is_empty() => step(task, stage, chunk, to),
        Mode::Stored(_) => stored(task, chunk, to),
        _ => read(task, chunk, to),
    };
    done.map_err(|Stop(kind, message)| {
        match kind {
            // The query has all rows that it wants.
            RefusalKind::Interrupted => tracing::debug!(blocks = %chunk.blocks, "{message}"),
            _ => tracing::error!(blocks = %chunk.blocks, "{message}"),
        }
        Refusal {
            executor: executor_name(),
            kind,
            message: format!("blocks {} of {}: {message}", chunk.blocks, task.input),
        }
    })
}

/// Why a chunk was not read.
struct Stop(RefusalKind, String);

impl From<txgraph::Error> for Stop {
    fn from(error: txgraph::Error) -> Self {
        Self(kind_of(&error), with_advice(&error))
    }
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Self(kind_of_scan(&error), error.to_string())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Interrupted => RefusalKind::Interrupted,
            _ => RefusalKind::Failed,
        };
        Self(kind, error.to_string())
    }
}

fn with_advice(error: &txgraph::Error) -> String {
    let mut message = error.message.clone();
    if let Some(cause) = std::error::Error::source(error) {
        message = format!("{message}: {cause}");
    }
    match &error.hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message,
    }
}

fn kind_of(error: &txgraph::Error) -> RefusalKind {
    match error.kind {
        ErrorKind::Usage | ErrorKind::Unsupported(_) => RefusalKind::Options,
        ErrorKind::Unavailable => RefusalKind::Missing,
        ErrorKind::Interrupted => RefusalKind::Interrupted,
        _ => RefusalKind::Failed,
    }
}

fn kind_of_scan(error: &SourceError) -> RefusalKind {
    match error {
        SourceError::Unavailable { missing, available } => RefusalKind::Unavailable {
            missing: missing.clone(),
            available: available.clone(),
        },
        SourceError::Reorged { block } => RefusalKind::Reorged { block: *block },
        SourceError::Unsupported { .. } => RefusalKind::Options,
        SourceError::Interrupted => RefusalKind::Interrupted,
        SourceError::Failed(failure) => match failure.kind {
            FailureKind::Missing => RefusalKind::Missing,
            FailureKind::Replaced => RefusalKind::Reorged { block: 0 },
            FailureKind::Options => RefusalKind::Options,
            _ => RefusalKind::Failed,
        },
        _ => RefusalKind::Failed,
    }
}

/// Describes the source of the executor.
fn describe(task: &Task, to: &dyn Consumer) -> Result<(), Stop> {
    /// Whether the source of this process, which stays the same, has transfers inside of transactions. To find
    /// out takes longer than the rest.
    static INTERNAL: AtomicBool = AtomicBool::new(false);
    let source = open(task)?;
    let is_own = task.input == Input::Executors;
    let internal = is_own && INTERNAL.load(Ordering::Relaxed)
        || source
            .transfer_source(&TransferFilter::with_internal(true))
            .is_ok();
    if is_own {
        INTERNAL.store(internal, Ordering::Relaxed);
    }
    let everything = source.default_range()?;
    let info = SourceInfo {
        executor: executor_name(),
        chain: source.chain()?.clone(),
        tip: source.tip()?,
        everything,
        // What the source does not have limits no range of dates.
        times: [everything.first, everything.last]
            .map(|block| source.block_time(block).ok().flatten()),
        internal,
    };
    report(&info, to)
}

/// Finds the block of a time.
fn block_at(task: &Task, seconds: u64, to: &dyn Consumer) -> Result<(), Stop> {
    let source = open(task)?;
    check_chain(task, &source)?;
    report(&source.block_at(seconds)?, to)
}

/// Returns a result that is not rows.
fn report(answer: &impl Serialize, to: &dyn Consumer) -> Result<(), Stop> {
    let _ = to.send(rows::encode_report(answer)?);
    Ok(())
}

/// Does a step of a measure on files of earlier steps.
fn step(task: &Task, stage: &Stage, chunk: &Chunk, to: &dyn Consumer) -> Result<(), Stop> {
    let mut tables = TaskTables::new(task, chunk)?;
    partitioned::run_task(stage, &mut tables)?;
    let written = tables.finish()?;
    let covered = ScanReport::default();
    report(
        &ChunkReport::new(chunk.number, executor_name(), written, covered, None),
        to,
    )
}

/// Returns the rows of an earlier part of a statement.
fn stored(task: &Task, chunk: &Chunk, to: &dyn Consumer) -> Result<(), Stop> {
    let mut heartbeat = Heartbeat::new(Store::shared(&task.run)?);
    TaskTables::new(task, chunk)?.sections(0, |_, section| {
        heartbeat.beat();
        match to.send(rows::of_ipc(section)?) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted),
        }
    })?;
    Ok(())
}

/// Refuses queries about another chain.
fn check_chain(task: &Task, source: &Source) -> Result<(), Stop> {
    let ours = source.chain()?;
    if let Some(theirs) = &task.chain
        && (ours.chain_id, ours.genesis_hash) != (theirs.chain_id, theirs.genesis_hash)
    {
        return Err(Stop(
            RefusalKind::Options,
            format!(
                "{} is of chain {} (genesis {}), and the query of chain {} (genesis {}); start \
             this executor with a source of that chain",
                source.spec(),
                ours.chain_id,
                ours.genesis_hash,
                theirs.chain_id,
                theirs.genesis_hash
            ),
        ));
    }
    Ok(())
}

/// Writes the transfers of a chunk, or passes them on as rows.
fn read(task: &Task, chunk: &Chunk, to: &dyn Consumer) -> Result<(), Stop> {
    let source = open(task)?;
    check_chain(task, &source)?;
    let request = task.request.of(chunk.blocks, &task.run)?;
    let from = source.transfer_source(&request.filter)?;
    let [parent_expected, last_expected] = chunk.hashes;
    let parent = match chunk.follows || parent_expected.is_some() {
        true => chunk.blocks.first.checked_sub(1),
        false => None,
    };
    let parent_hash = || parent.map_or(Ok(None), |block| from.canonical_hash(block));
    let before = parent_hash()?;
    if let (Some(block), Some(_)) = (parent, parent_expected)
        && before != parent_expected
    {
        return Err(SourceError::Reorged { block }.into());
    }

    let mut output = match &task.mode {
        Mode::Rows(columns) => Output::Rows(Heartbeat::new(Store::shared(&task.run)?), columns),
        Mode::Measure(stage) => {
            let none = || Error::Plan("a task of a measure has no input".to_owned());
            let scan = ScanTask::new(stage, &request.filter).ok_or_else(none)?;
            Output::Merged(Box::new(scan), TaskTables::new(task, chunk)?)
        }
        _ => Output::Parts(PartWriter::new(&task.run, &task.step)?, Vec::new()),
    };
    let mut failed = None;
    let mut stopped = false;
    let mut send = |transfers: &[Transfer]| {
        let sent = output.send(transfers, to);
        stopped = matches!(sent, Ok(ControlFlow::Break(())));
        sent.unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    };
    let mut kept = None;
    let report = match &task.mode {
        Mode::FirstScan => first_scan(&*from, &request, &mut kept, &mut send)?,
        _ => match kept_scan(task, chunk, &*from, &request)? {
            Some((transfers, report)) => {
                let _ = send(&transfers);
                report
            }
            None => from.scan(&request, &mut |batch| send(&batch.transfers))?,
        },
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    if stopped {
        return Err(SourceError::Interrupted.into());
    }
    // The blocks before the chunk may have been replaced while it was read.
    if let (Some(block), true) = (parent, before != parent_hash()?) {
        return Err(SourceError::Reorged { block }.into());
    }
    if last_expected.is_some() && report.last_block_hash != last_expected {
        let block = chunk.blocks.last;
        return Err(SourceError::Reorged { block }.into());
    }
    let written = match output {
        Output::Rows(..) => return Ok(()),
        Output::Parts(mut writer, records) => {
            measure::write(&mut writer, 0, &records)?;
            for some in kept.iter().flat_map(|all| all.chunks(BATCH_ROWS)) {
                let records: Vec<_> = some.iter().map(rows::to_record).collect();
                measure::write(&mut writer, KEPT, &records)?;
            }
            (writer.finish()?, kept.map(|all| all.len()).into())
        }
        Output::Merged(scan, mut tables) => {
            scan.finish(&mut tables)?;
            tables.finish()?
        }
    };
    let of_chunk = ChunkReport::new(chunk.number, executor_name(), written, report, before);
    self::report(&of_chunk, to)
}

/// Where the transfers of a chunk go.
enum Output<'a> {
    /// To the next operator.
    Rows(Heartbeat, &'a [usize]),
    /// Into the store, some at a time.
    Parts(PartWriter, Vec<TransferRecord>),
    /// Into partial results, which go into the store.
    Merged(Box<ScanTask>, TaskTables<'a>),
}

impl Output<'_> {
    fn send(&mut self, transfers: &[Transfer], to: &dyn Consumer) -> Result<ControlFlow<()>> {
        if to.is_gone() {
            return Ok(ControlFlow::Break(()));
        }
        match self {
            Self::Rows(heartbeat, columns) => {
                heartbeat.beat();
                for part in transfers.chunks(BATCH_ROWS) {
                    if to.send(rows::encode(part, columns)?).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Parts(writer, records) => {
                writer.beat();
                for transfer in transfers {
                    records.push(rows::to_record(transfer));
                    if records.len() == BATCH_ROWS {
                        measure::write(writer, 0, records)?;
                        records.clear();
                    }
                }
            }
            Self::Merged(scan, tables) => {
                tables.beat();
                scan.add(transfers)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Scans for the first frontier of a search. Returns the report on the request without it, and keeps
/// all transfers of that, if they are few.
fn first_scan(
    from: &dyn TransferSource,
    request: &ScanRequest,
    kept: &mut Option<Vec<Transfer>>,
    send: &mut dyn FnMut(&[Transfer]) -> ControlFlow<()>,
) -> Result<ScanReport, Stop> {
    let whole = ScanRequest {
        filter: TransferFilter {
            touching: None,
            ..request.filter.clone()
        },
        ..request.clone()
    };
    if let Some(prepared) = from.by_frontier(&whole)? {
        let report = prepared
            .source
            .scan(request, &mut |batch| send(&batch.transfers))?;
        return Ok(prepared.report.unwrap_or(report));
    }
    // A scan of everything costs no more than one of few addresses, except for hashes.
    let whole = ScanRequest {
        with_hashes: false,
        ..whole
    };
    let mut found = Some(Vec::new());
    *kept = Some(Vec::new());
    let report = from.scan(&whole, &mut |mut batch| {
        if let Some(all) = &mut found {
            let some = batch.transfers.iter();
            all.extend(some.filter(|one| is_wanted(request, one)).cloned());
        }
        if let Some(all) = kept {
            all.append(&mut batch.transfers);
        }
        found.take_if(|all| all.len() > FOUND_MAX);
        kept.take_if(|all| all.len() > KEPT_MAX);
        send(&[])
    })?;
    match found {
        Some(mut found) => {
            if request.with_hashes {
                from.fill_hashes(&mut found, &report.anchors)?;
            }
            let _ = send(&found);
        }
        None => {
            let again = from.scan(request, &mut |batch| send(&batch.transfers))?;
            if again.last_block_hash != report.last_block_hash {
                let block = report.covered.span().map_or(0, |blocks| blocks.last);
                return Err(SourceError::Reorged { block }.into());
            }
        }
    }
    Ok(report)
}

/// Whether a transfer that was kept is of the addresses of a request.
pub(crate) fn is_wanted(request: &ScanRequest, one: &Transfer) -> bool {
    (request.filter).matches_ends(&one.from_address, &one.to_address)
}

/// Finds transfers among those that the first scan of a search kept. `None` if it kept none.
fn kept_scan(
    task: &Task,
    chunk: &Chunk,
    from: &dyn TransferSource,
    request: &ScanRequest,
) -> Result<Option<(Vec<Transfer>, ScanReport)>, Stop> {
    let Some(first) = task.inputs.first() else {
        return Ok(None);
    };
    let store = Store::shared(&task.run)?;
    let step = measure::earlier(&store, first)?;
    let number = usize::try_from(chunk.number).unwrap_or(usize::MAX);
    let known = step.chunks.get(number);
    let Some(known) = known.filter(|chunk| chunk.facts.is_u64()) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for part in &known.parts {
        for section in parts::read(&store, &first.folder, part, first.table..first.table + 1)? {
            measure::each_row(&section?, |record| {
                let transfer = rows::of_record(&record)?;
                if is_wanted(request, &transfer) {
                    found.push(transfer);
                }
                Ok(())
            })?;
        }
    }
    let report = known.clone().into_report();
    from.fill_hashes(&mut found, &report.anchors)?;
    Ok(Some((found, report)))
}
