//! Rows of internal transfers, balances, traces and gas profiles.

use super::{Trace, difference::RunDifference};
use crate::{Error, Result, options::Options, outputs::Planned};
use txgraph_export::{
    Column, ColumnType, LineWriter, Metadata, TableFormat, TableWriter, Target,
    TransferTableOptions, Value, Written, json_value,
};
use txgraph_replay::{
    BalanceDifference, BlockReplay, GasProfile, NativeTransfer, SignedAmount, TransactionReplay,
};
use txgraph_transfers::BlockTime;

/// Where a replay is written, and how.
#[derive(Clone, Debug)]
pub struct ReplayOutput {
    /// The file, or standard output.
    pub target: Target,
    /// The format of the table. `None`: CSV of transfers and balances, JSON lines of traces,
    /// folded stacks of gas. [`Trace::Struct`] has no other format than JSON lines.
    pub format: Option<TableFormat>,
    /// Whether a file that exists is replaced.
    pub overwrite: bool,
}

impl Planned for ReplayOutput {
    fn targets(&self) -> Vec<(&Target, bool)> {
        let side = self.format.is_some_and(TableFormat::has_metadata_file);
        vec![(&self.target, side)]
    }

    fn overwrite(&self) -> bool {
        self.overwrite
    }
}

const TRANSFERS: &[TransferAttribute] = {
    use ColumnType::{Address, Amount, Hash, Indices, Text, U32, U64};
    &[
        ("block_number", U64, |it| it.transfer.block_number.into()),
        ("block_timestamp", U64, |it| {
            it.transfer.block_timestamp.map(BlockTime::seconds).into()
        }),
        ("transaction_index", U32, |it| {
            it.transfer.transaction_index.into()
        }),
        ("sub_index", U32, |it| it.transfer.sub_index.into()),
        ("transaction_hash", Hash, |it| {
            it.transfer.transaction_hash.into()
        }),
        ("trace_address", Indices, |it| {
            it.trace_address.as_slice().into()
        }),
        ("cause", Text, |it| it.cause.as_str().into()),
        ("from_address", Address, |it| {
            it.transfer.from_address.into()
        }),
        ("to_address", Address, |it| it.transfer.to_address.into()),
        ("value", Amount, |it| it.transfer.value.into()),
        ("kind", Text, |it| it.transfer.kind.as_str().into()),
    ]
};

type TransferAttribute = (&'static str, ColumnType, fn(&NativeTransfer) -> Value<'_>);

/// Columns of an account whose balance differs, and of its transaction.
const BALANCES: &[BalanceAttribute] = {
    use ColumnType::{Address, Amount, Hash, SignedAmount, U32, U64};
    &[
        ("block_number", U64, |(replay, _)| replay.block.into()),
        ("transaction_index", U32, |(replay, _)| replay.index.into()),
        ("transaction_hash", Hash, |(replay, _)| replay.hash.into()),
        ("token_address", Address, |(_, it)| it.token.into()),
        ("holder_address", Address, |(_, it)| it.holder.into()),
        ("logged_change", SignedAmount, |(_, it)| signed(it.logged())),
        ("actual_change", SignedAmount, |(_, it)| signed(it.actual())),
        ("balance_before", Amount, |(_, it)| it.before.into()),
        ("balance_after", Amount, |(_, it)| it.after.into()),
    ]
};

type BalanceAttribute = (
    &'static str,
    ColumnType,
    fn((&TransactionReplay, &BalanceDifference)) -> Value<'static>,
);

/// The output for each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Its internal transfers.
    Transfers { fees: bool },
    /// Balances that differ from the logs.
    Balances,
    /// A trace.
    Trace(Trace),
}

impl Content {
    /// The format of its table, if one is `given` or not. `None`: it is not written as a
    /// table, but as lines of another form (folded stacks, EIP-3155).
    pub(super) fn table_format(self, given: Option<TableFormat>) -> Result<Option<TableFormat>> {
        Ok(match (self, given) {
            (Self::Trace(Trace::Struct), None | Some(TableFormat::Jsonl)) => None,
            (Self::Trace(Trace::Struct), Some(format)) => {
                return Err(Error::usage(format!(
                    "instructions are written as JSON lines (EIP-3155), not as {format}"
                )));
            }
            (Self::Trace(Trace::Gas), None) => None,
            (Self::Trace(Trace::Call | Trace::Diff), None) => Some(TableFormat::Jsonl),
            (Self::Transfers { .. } | Self::Balances, None) => Some(TableFormat::Csv),
            (_, given) => given,
        })
    }

    /// The command, and its options, for the metadata.
    pub(super) fn described(self) -> (&'static str, Options) {
        let mut options = Options::new();
        let command = match self {
            Self::Transfers { fees } => {
                options.extend(fees.then(|| ("fees".to_owned(), true.into())));
                "replay transfers"
            }
            Self::Balances => "replay balances",
            Self::Trace(trace) => {
                options.insert("trace".into(), trace.as_str().into());
                "replay trace"
            }
        };
        (command, options)
    }

    /// The columns, with one for the difference from the run without overrides if `is_compared`.
    fn columns(self, is_compared: bool) -> Vec<Column> {
        use ColumnType::{Hash, Json, Text, U32, U64};
        match self {
            Self::Transfers { .. } => Column::of(TRANSFERS),
            Self::Balances => Column::of(BALANCES),
            Self::Trace(Trace::Gas) => vec![Column::new("stack", Text), Column::new("gas", U64)],
            // The names of the node's `debug_traceBlock`, and the transaction's position.
            Self::Trace(Trace::Call | Trace::Diff | Trace::Struct) => {
                let mut columns = vec![
                    Column::new("block", U64),
                    Column::new("index", U32),
                    Column::new("txHash", Hash),
                    Column::new("result", Json),
                ];
                if is_compared {
                    columns.push(Column::new("difference", Json));
                }
                columns
            }
        }
    }
}

/// Writes one kind of content. Dropped, it leaves no file.
pub(super) struct Rows<'a> {
    content: Content,
    /// Whether the transaction is compared with its run without overrides.
    is_compared: bool,
    output: &'a ReplayOutput,
    /// A stream is opened at the first block: a query that is refused prints nothing, not
    /// even a header.
    writer: Option<Writer>,
    rows: u64,
    profile: GasProfile,
}

enum Writer {
    Table(TableWriter),
    Lines(LineWriter),
}

impl<'a> Rows<'a> {
    /// Opens a file, so that a target that cannot be written fails before the replay. The
    /// format of the output was chosen by [`Content::table_format`].
    pub(super) fn new(
        content: Content,
        is_compared: bool,
        output: &'a ReplayOutput,
    ) -> Result<Self> {
        let mut rows = Self {
            content,
            is_compared,
            output,
            writer: None,
            rows: 0,
            profile: GasProfile::default(),
        };
        if output.target != Target::Stdout {
            rows.writer()?;
        }
        Ok(rows)
    }

    fn writer(&mut self) -> Result<&mut Writer> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        Ok(self.writer.insert(writer))
    }

    fn open(&self) -> Result<Writer> {
        let ReplayOutput {
            target,
            format,
            overwrite,
        } = self.output;
        let Some(format) = *format else {
            return Ok(Writer::Lines(LineWriter::new(target, *overwrite)?));
        };
        // The chain id is a column of other tables only.
        let options = TransferTableOptions::new(0);
        let columns = self.content.columns(self.is_compared);
        let table = TableWriter::new(format, columns, &options, target, *overwrite)?;
        Ok(Writer::Table(table))
    }

    pub(super) fn block(&mut self, block: &BlockReplay) -> Result<()> {
        self.writer()?;
        let mut transactions = block.transactions.iter();
        transactions.try_for_each(|replay| self.transaction(replay, &block.environment, None))
    }

    pub(super) fn transaction(
        &mut self,
        replay: &TransactionReplay,
        environment: &txgraph_evm::Block,
        difference: Option<&RunDifference>,
    ) -> Result<()> {
        match self.content {
            Content::Transfers { fees } => self.transfers(replay, environment, fees),
            Content::Balances => {
                let checks = replay.balances.iter();
                let mut differing = checks.flat_map(|check| &check.differing);
                differing.try_for_each(|difference| {
                    self.push(&Value::row(BALANCES, (replay, difference)))
                })
            }
            // Written while the transaction runs.
            Content::Trace(Trace::Struct) => Ok(()),
            Content::Trace(Trace::Gas) => {
                self.profile.add(replay);
                Ok(())
            }
            Content::Trace(Trace::Call) => {
                self.trace(replay, json_value(&replay.call_trace(true))?, difference)
            }
            Content::Trace(Trace::Diff) => {
                self.trace(replay, json_value(&replay.state_diff())?, difference)
            }
        }
    }

    /// Writes what is known after all transactions, and gives a file its name. `metadata` describes
    /// the replay; the number of transfers is added.
    pub(super) fn finish(mut self, metadata: &Metadata) -> Result<Written> {
        let profile = std::mem::take(&mut self.profile);
        for (path, gas) in profile.paths() {
            match self.writer()? {
                Writer::Table(table) => table.push(&[path.into(), gas.into()])?,
                Writer::Lines(lines) => lines.push(&format!("{path} {gas}"))?,
            }
        }
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        let mut metadata = metadata.clone();
        if matches!(self.content, Content::Transfers { .. }) {
            metadata.scan.counts.transfers = self.rows;
        }
        Ok(match writer {
            Writer::Table(table) => table.finish(Some(&metadata))?,
            Writer::Lines(lines) => lines.finish()?,
        })
    }

    /// Ends the output after an error. Rows of text that were complete before it stay on a
    /// stream.
    pub(super) fn abandon(self) -> Result<()> {
        let is_text = self.output.format.is_none_or(TableFormat::is_text);
        match self.writer {
            Some(Writer::Table(table)) if is_text && self.output.target == Target::Stdout => {
                Ok(table.finish(None).map(drop)?)
            }
            Some(Writer::Lines(lines)) if self.output.target == Target::Stdout => {
                Ok(lines.finish().map(drop)?)
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.rows += 1;
        match self.writer()? {
            Writer::Table(table) => Ok(table.push(row)?),
            // Lines of another form are not made of rows.
            Writer::Lines(_) => Ok(()),
        }
    }

    fn transfers(
        &mut self,
        replay: &TransactionReplay,
        environment: &txgraph_evm::Block,
        fees: bool,
    ) -> Result<()> {
        let movements = movements(replay, environment, fees);
        let mut movements = movements.iter();
        movements.try_for_each(|movement| self.push(&Value::row(TRANSFERS, movement)))
    }

    fn trace(
        &mut self,
        replay: &TransactionReplay,
        result: Value<'_>,
        difference: Option<&RunDifference>,
    ) -> Result<()> {
        let (block, index) = (replay.block, replay.index);
        let mut row = vec![block.into(), index.into(), replay.hash.into(), result];
        if let Some(difference) = difference {
            row.push(json_value(&difference.to_json())?);
        }
        self.push(&row)
    }
}

/// The transfers inside a transaction, and its fees.
pub(super) fn movements(
    replay: &TransactionReplay,
    environment: &txgraph_evm::Block,
    fees: bool,
) -> Vec<NativeTransfer> {
    let mut movements = replay.internal_transfers(environment.timestamp);
    if fees {
        // After the transaction's value, which is number 0.
        let before = movements.last().map_or(0, |last| last.transfer.sub_index);
        movements.extend(replay.fees(environment, before + 1));
    }
    movements
}

const fn signed(amount: SignedAmount) -> Value<'static> {
    Value::SignedAmount {
        is_negative: amount.is_negative,
        magnitude: amount.magnitude,
    }
}
