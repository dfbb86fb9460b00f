//! SQL on a cluster: a query as a step of a run.

use crate::{
    Driver, Error, Result, chain,
    engine::Job,
    run::{self, Committed},
    table::TransfersTable,
    wire::Mode,
};
use datafusion::{
    arrow::datatypes::DataType,
    common::{
        ScalarValue,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    error::DataFusionError,
    execution::context::SQLOptions,
    logical_expr::{Expr, ExprSchemable, LogicalPlan},
    physical_plan::ExecutionPlan,
    prelude::SessionContext,
};
use std::sync::Arc;
use txgraph_transfers::BlockRange;

/// Executes a query on the table `transfers`, which has the transfers of some blocks.
pub(crate) fn query(driver: &Driver, blocks: BlockRange, sql: &str) -> Result<Committed> {
    let table = TransfersTable {
        task: driver.task(Mode::Rows),
        blocks,
        chunks: chain::linked(driver, blocks)?,
    };
    let chain_id = driver.info.chain.chain_id;
    let key = run::key(&(&driver.input, chain_id, blocks, sql))?;
    let plan = plan(driver, table, sql)?;
    driver.run.step(&key, &driver.control.cancel, |folder| {
        let job = Job {
            name: "query".to_owned(),
            plan: plan.clone(),
            blocks: blocks.blocks(),
            cancel: &driver.control.cancel,
            progress: driver.control.progress.as_deref(),
            written: &|| driver.run.written(folder),
        };
        run::write_rows(driver.engine.as_ref(), job, driver.run.target(folder))
    })
}

fn plan(driver: &Driver, table: TransfersTable, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    let context = SessionContext::new_with_state(driver.engine.session().clone());
    context.register_table("transfers", Arc::new(table))?;
    // Queries only: nothing creates tables or writes files.
    let queries = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
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
