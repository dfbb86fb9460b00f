//! Statements in SQL, as steps of a run.

use crate::{
    Driver, Error, Result,
    chain::Rows,
    operator::{WorkExec, encode_plan},
    rows,
    run::{self, Committed},
    session,
    table::TransfersTable,
    wire::{Chunk, Mode, Request, Task, put_object},
};
use datafusion::{
    arrow::{array::RecordBatch, datatypes::DataType},
    common::{
        ScalarValue,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    error::DataFusionError,
    execution::context::SQLOptions,
    logical_expr::{Expr, ExprSchemable, LogicalPlan},
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, Partitioning,
        coalesce_partitions::CoalescePartitionsExec, repartition::RepartitionExec,
        replace_children_if_necessary, sorts::sort_preserving_merge::SortPreservingMergeExec,
    },
    prelude::SessionContext,
};
use std::sync::Arc;
use txgraph_transfers::{AddressFilter, BlockRange, Direction, ScanRequest, TransferFilter};

/// Executes a query on the table `transfers`, which has the transfers of some blocks. Passes on its rows,
/// after its columns without a row.
pub(crate) fn query(
    driver: &Driver,
    blocks: BlockRange,
    sql: &str,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let table = |chunks| TransfersTable {
        task: driver.task(Mode::Rows(Vec::new())),
        blocks,
        chunks,
    };
    // A wrong statement is refused before the first job.
    let unlinked = plan(driver, table(driver.divide(&blocks.into())), sql)?;
    if !driver.engine.is_local() {
        encoded(&unlinked)?;
    }
    let plan = plan(driver, table(linked(driver, blocks)?), sql)?;
    let columns = RecordBatch::new_empty(plan.schema());
    let chain_id = driver.info.chain.chain_id;
    let mut statement = Statement {
        driver,
        key: run::key(&(&driver.input, chain_id, blocks, sql))?,
        parts: Vec::new(),
    };
    let plan = match driver.engine.is_local() {
        true => plan,
        false => statement.rest(plan)?,
    };
    let done = statement.step("query", &plan)?;
    for part in &statement.parts {
        driver.run.supersede(part)?;
    }
    let partitions = done.step.chunks.iter();
    let sections = partitions.flat_map(|partition| done.sections(partition, 0));
    let batches = sections.map(|section| rows::of_ipc(&section?));
    for batch in std::iter::once(Ok(columns)).chain(batches) {
        if rows(batch?)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// A statement whose parts are steps of the run, each of one stage: where the tasks of a plan exchange
/// rows, the rows are written, divided as the plan wants, and read by the tasks of the next step.
struct Statement<'a> {
    driver: &'a Driver,
    key: String,
    parts: Vec<Committed>,
}

impl Statement<'_> {
    /// Does the steps of a plan whose rows are exchanged. Returns the rest, which reads their rows.
    fn rest(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let inputs = plan.children().into_iter().cloned();
        let inputs: Result<Vec<_>> = inputs.map(|input| self.rest(input)).collect();
        let plan = replace_children_if_necessary(plan, inputs?)?;
        if let Some(division) = plan.downcast_ref::<RepartitionExec>() {
            return match division.partitioning() {
                // For more tasks only.
                Partitioning::RoundRobinBatch(_) => Ok(division.input().clone()),
                Partitioning::Hash(_, count) if !division.preserve_order() => {
                    self.exchanged(&plan, *count, false)
                }
                _ => Ok(plan),
            };
        }
        let is_merged = plan.downcast_ref::<CoalescePartitionsExec>().is_some()
            || plan.downcast_ref::<SortPreservingMergeExec>().is_some();
        match plan.children().first().map(|input| (*input).clone()) {
            Some(input) if is_merged && partitions(&input) > 1 => {
                let input = self.exchanged(&input, partitions(&input), true)?;
                Ok(replace_children_if_necessary(plan, vec![input])?)
            }
            _ => Ok(plan),
        }
    }

    /// Writes the rows of a plan. Returns a plan that reads them in this number of partitions: the
    /// tasks that wrote them, or others.
    fn exchanged(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        count: usize,
        of_tasks: bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let name = format!("query, part {}", self.parts.len() + 1);
        let done = self.step(&name, plan)?;
        let earlier = done.earlier(0, of_tasks);
        self.parts.push(done);
        let partitions = if of_tasks { 1 } else { count };
        let columns = rows::columns_text(plan.schema())?;
        let task = Task {
            inputs: vec![earlier],
            partitions: u32::try_from(partitions).unwrap_or(u32::MAX),
            ..self.driver.task(Mode::Stored(columns))
        };
        WorkExec::plan(task, &numbered(count), None)
    }

    /// Writes the rows of a plan.
    fn step(&self, name: &str, plan: &Arc<dyn ExecutionPlan>) -> Result<Committed> {
        let driver = self.driver;
        let key = run::key(&(&self.key, self.parts.len()))?;
        let object = match driver.engine.is_local() {
            true => String::new(),
            false => put_object(&driver.run.store, encoded(plan)?)?,
        };
        let task = driver.task(Mode::Statement(object));
        let division = plan.downcast_ref::<RepartitionExec>();
        let tasks = partitions(division.map_or(plan, RepartitionExec::input));
        driver.step_of(&key, name, task, &numbered(tasks), Some(plan))
    }
}

fn partitions(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.output_partitioning().partition_count()
}

/// Chunks that stand for partitions.
fn numbered(count: usize) -> Vec<Chunk> {
    let chunk = |number| Chunk::new(number, BlockRange::one(number));
    (0..count as u64).map(chunk).collect()
}

/// The bytes of a plan, for executors.
fn encoded(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
    encode_plan(plan).map_err(|error| {
        tracing::debug!("{error}");
        let reason = "a cluster cannot execute a part of this statement, such as a recursive query: \
                      run it without --cluster";
        Error::Usage(reason.to_owned())
    })
}

/// Divides blocks into chunks, with the hashes that their ends have at the beginning of the run. All
/// parts of a statement read these blocks, or fail.
fn linked(driver: &Driver, blocks: BlockRange) -> Result<Vec<Chunk>> {
    let mut chunks = driver.divide(&blocks.into());
    let end = |chunk: &Chunk| Chunk {
        blocks: BlockRange::one(chunk.blocks.last),
        follows: false,
        ..*chunk
    };
    let ends: Vec<_> = chunks.iter().map(end).collect();
    // Transfers of no address: a report with the hash of the last block, and no row.
    let touching = AddressFilter::new([], Direction::default());
    let request = ScanRequest {
        blocks: blocks.into(),
        filter: TransferFilter {
            touching: Some(touching),
            ..TransferFilter::default()
        },
        ..ScanRequest::default()
    };
    let task = Task {
        request: Request::new(&request, &driver.run.store)?,
        ..driver.task(Mode::Scan)
    };
    let done = driver.step("hashes at the ends of chunks", task, &ends)?;
    let mut before = None;
    for (chunk, end) in chunks.iter_mut().zip(&done.step.chunks) {
        let last = end.report.last_block_hash;
        chunk.hashes = [before.filter(|_| chunk.follows), last];
        before = last;
    }
    Ok(chunks)
}

fn plan(driver: &Driver, table: TransfersTable, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    let context = SessionContext::new_with_state(session::state(driver.engine.config().clone())?);
    context.register_table("transfers", Arc::new(table))?;
    // Queries only: nothing creates tables or writes files.
    let queries = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::Plan(format!("threads: {error}")))?;
    runtime.block_on(async {
        let frame = context.sql_with_options(sql, queries).await;
        let frame = frame.map_err(|error| Error::Usage(error.to_string()))?;
        check_lengths(frame.logical_plan())?;
        // Alone, it becomes a sum of groups.
        let optimized = frame.clone().into_optimized_plan();
        if has_distinct_sum(&optimized.map_err(planning_error)?)? {
            return Err(Error::Usage(
                "sum_u256(DISTINCT …) beside other aggregates: sum the amounts of a subquery with \
                 SELECT DISTINCT"
                    .to_owned(),
            ));
        }
        let plan = frame.create_physical_plan().await;
        plan.map_err(planning_error)
    })
}

/// Most statements that cannot be planned compare values of different types.
fn planning_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::Plan(message) | DataFusionError::NotImplemented(message) => {
            Error::Usage(format!(
                "{message}; addresses, hashes and amounts are bytes: X'…' with all 20 or 32 of them"
            ))
        }
        _ => error.into(),
    }
}

/// Refuses to compare a column with bytes of another length: a part of an address is equal to none.
fn check_lengths(plan: &LogicalPlan) -> Result<()> {
    let mut wrong = None;
    plan.apply_with_subqueries(|node| {
        let length = |expr: &Expr| {
            let inputs = node.inputs().into_iter();
            let mut types = inputs.filter_map(|input| expr.get_type(input.schema()).ok());
            types.find_map(|it| match it {
                DataType::FixedSizeBinary(length) => usize::try_from(length).ok(),
                _ => None,
            })
        };
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                let pairs: Vec<(&Expr, &Expr)> = match expr {
                    Expr::BinaryExpr(it) => vec![(&it.left, &it.right), (&it.right, &it.left)],
                    Expr::InList(it) => it.list.iter().map(|item| (&*it.expr, item)).collect(),
                    Expr::Between(it) => vec![(&it.expr, &it.low), (&it.expr, &it.high)],
                    _ => Vec::new(),
                };
                for (column, literal) in pairs {
                    let Expr::Literal(ScalarValue::Binary(Some(bytes)), _) = literal else {
                        continue;
                    };
                    let wanted = length(column).filter(|wanted| *wanted != bytes.len());
                    if let Some(wanted) = wanted {
                        wrong = Some((column.to_string(), wanted, bytes.len()));
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    match wrong {
        Some((column, wanted, found)) => Err(Error::Usage(format!(
            "{column} has {wanted} bytes, and X'…' has {found}"
        ))),
        None => Ok(()),
    }
}

/// Whether a plan needs a sum of different amounts, which `sum_u256` is not.
fn has_distinct_sum(plan: &LogicalPlan) -> Result<bool> {
    let mut is_found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                is_found |= matches!(expr, Expr::AggregateFunction(it)
                    if it.params.distinct && it.func.name() == "sum_u256");
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(is_found)
}
