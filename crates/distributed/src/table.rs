//! The table `transfers` of SQL.

use crate::{
    Result,
    operator::{WorkExec, refused},
    rows::transfers_schema,
    store::Store,
    wire::{Chunk, Mode, Request, Task},
};
use alloy_primitives::Address;
use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::SchemaRef,
    catalog::{Session, TableProvider},
    common::Result as PlanResult,
    logical_expr::{
        BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType, expr::InList,
    },
    physical_plan::ExecutionPlan,
    scalar::ScalarValue,
};
use std::sync::Arc;
use txgraph_transfers::{
    AddressFilter, BlockRange, Direction, ScanRequest, TokenFilter, TransferFilter,
};

/// Positions of columns that cost a read when they are wanted.
const TIMESTAMP: usize = 1;
const HASH: usize = 5;

/// All transfers of a source, as a table.
#[derive(Debug)]
pub(crate) struct TransfersTable {
    /// The data that tasks read, without columns and a request.
    pub(crate) task: Task,
    /// The blocks of the table.
    pub(crate) blocks: BlockRange,
    /// The same blocks, divided, with the hashes at the ends of chunks.
    pub(crate) chunks: Vec<Chunk>,
}

impl TransfersTable {
    /// A plan that returns some columns of the rows that can meet the conditions.
    fn plan(
        &self,
        columns: Option<&Vec<usize>>,
        conditions: &[Expr],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut limits = Limits {
            blocks: Some(self.blocks),
            filter: TransferFilter::default(),
        };
        conditions.iter().for_each(|one| limits.apply(one));
        // A plan needs a partition: the first block, of which no row is wanted.
        let nothing = BlockRange::one(self.blocks.first);
        let blocks = limits.blocks.unwrap_or(nothing);
        let wants = |column| columns.is_none_or(|columns| columns.contains(&column));
        let request = ScanRequest {
            blocks: blocks.into(),
            filter: limits.filter,
            with_times: wants(TIMESTAMP),
            with_hashes: wants(HASH),
            ..ScanRequest::default()
        };
        let chunks = clip(&self.chunks, blocks);
        let store = Store::shared(&self.task.run)?;
        let all = || (0..transfers_schema().fields().len()).collect();
        let task = Task {
            request: Request::new(&request, store.as_ref())?,
            mode: Mode::Rows(columns.cloned().unwrap_or_else(all)),
            ..self.task.clone()
        };
        WorkExec::plan(task, &chunks, None)
    }
}

/// The parts of chunks that are in `blocks`. An end that is cut off has no hash.
fn clip(chunks: &[Chunk], blocks: BlockRange) -> Vec<Chunk> {
    let mut clipped = Vec::new();
    for chunk in chunks {
        let Some(part) = chunk.blocks.intersect(&blocks) else {
            continue;
        };
        let [parent, end] = chunk.hashes;
        clipped.push(Chunk {
            number: clipped.len() as u64,
            blocks: part,
            follows: false,
            hashes: [
                parent.filter(|_| part.first == chunk.blocks.first),
                end.filter(|_| part.last == chunk.blocks.last),
            ],
        });
    }
    clipped
}

#[async_trait]
impl TableProvider for TransfersTable {
    fn schema(&self) -> SchemaRef {
        transfers_schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        // Addresses are written while this thread waits.
        tokio::task::block_in_place(|| self.plan(projection, filters)).map_err(refused)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        // They restrict what is read. The engine applies them again.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// The limits that conditions set.
struct Limits {
    /// `None` if no block can meet them.
    blocks: Option<BlockRange>,
    filter: TransferFilter,
}

impl Limits {
    /// Applies a condition as far as it is of a known form. Others restrict nothing.
    fn apply(&mut self, condition: &Expr) {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), op) {
                (left, Operator::And) => {
                    self.apply(left);
                    self.apply(right);
                }
                (Expr::Column(column), op) => match (literal(right), op) {
                    (Some(value), Operator::Eq) if column.name == "block_number" => {
                        self.at_least(number(value));
                        self.at_most(number(value));
                    }
                    (Some(value), op) if column.name == "block_number" => {
                        self.compare_block(*op, number(value));
                    }
                    (Some(value), Operator::Eq) => self.one_of(&column.name, &[value]),
                    _ => {}
                },
                _ => {}
            },
            Expr::Between(between) if !between.negated => {
                if let Expr::Column(column) = between.expr.as_ref()
                    && column.name == "block_number"
                {
                    self.at_least(literal(&between.low).and_then(number));
                    self.at_most(literal(&between.high).and_then(number));
                }
            }
            Expr::InList(InList {
                expr,
                list,
                negated: false,
            }) => {
                if let Expr::Column(column) = expr.as_ref() {
                    let values: Option<Vec<_>> = list.iter().map(literal).collect();
                    if let Some(values) = values {
                        self.one_of(&column.name, &values);
                    }
                }
            }
            _ => {}
        }
    }

    fn compare_block(&mut self, op: Operator, value: Option<u64>) {
        match (op, value) {
            (Operator::GtEq, value) => self.at_least(value),
            (Operator::Gt, Some(value)) => match value.checked_add(1) {
                Some(next) => self.at_least(Some(next)),
                None => self.blocks = None,
            },
            (Operator::LtEq, value) => self.at_most(value),
            (Operator::Lt, Some(value)) => match value.checked_sub(1) {
                Some(before) => self.at_most(Some(before)),
                None => self.blocks = None,
            },
            _ => {}
        }
    }

    fn at_least(&mut self, block: Option<u64>) {
        if let (Some(blocks), Some(block)) = (self.blocks, block) {
            self.blocks = BlockRange::new(blocks.first.max(block), blocks.last);
        }
    }

    fn at_most(&mut self, block: Option<u64>) {
        if let (Some(blocks), Some(block)) = (self.blocks, block) {
            self.blocks = BlockRange::new(blocks.first, blocks.last.min(block));
        }
    }

    /// Restricts a column with addresses. Only the first such condition on an asset, and the
    /// first on an end, is used.
    fn one_of(&mut self, column: &str, values: &[&ScalarValue]) {
        let addresses: Option<Vec<_>> = values.iter().map(|value| address(value)).collect();
        let Some(addresses) = addresses else { return };
        let direction = match column {
            "from_address" => Direction::Out,
            "to_address" => Direction::In,
            "token_address" => {
                if matches!(self.filter.tokens, TokenFilter::All) {
                    self.filter.tokens = TokenFilter::only(addresses);
                }
                return;
            }
            _ => return,
        };
        let addresses = addresses.into_iter().collect();
        self.filter.touching.get_or_insert(AddressFilter {
            addresses,
            direction,
        });
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn number(value: &ScalarValue) -> Option<u64> {
    match value {
        ScalarValue::UInt64(value) => *value,
        ScalarValue::Int64(Some(value)) => u64::try_from(*value).ok(),
        _ => None,
    }
}

fn address(value: &ScalarValue) -> Option<Address> {
    match value {
        ScalarValue::FixedSizeBinary(20, Some(bytes))
        | ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes)) => Address::try_from(bytes.as_slice()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use datafusion::prelude::{col, lit};

    fn limits(condition: Expr) -> Limits {
        let mut limits = Limits {
            blocks: BlockRange::new(5, 100),
            filter: TransferFilter::default(),
        };
        limits.apply(&condition);
        limits
    }

    #[test]
    fn conditions_on_blocks_restrict_what_is_read() {
        let block = || col("block_number");
        for (condition, expected) in [
            (block().eq(lit(7u64)), BlockRange::new(7, 7)),
            (block().gt(lit(7u64)), BlockRange::new(8, 100)),
            (block().gt_eq(lit(1u64)), BlockRange::new(5, 100)),
            (block().lt(lit(7u64)), BlockRange::new(5, 6)),
            (block().lt_eq(lit(700u64)), BlockRange::new(5, 100)),
            (block().lt(lit(0u64)), None),
            (block().gt(lit(u64::MAX)), None),
            (
                block().between(lit(9u64), lit(11u64)),
                BlockRange::new(9, 11),
            ),
            (block().not_eq(lit(9u64)), BlockRange::new(5, 100)),
            (block().gt(lit(7u64)).and(block().lt(lit(8u64))), None),
            (
                block().gt(lit(7u64)).or(block().lt(lit(8u64))),
                BlockRange::new(5, 100),
            ),
        ] {
            let text = condition.to_string();
            assert_eq!(limits(condition).blocks, expected, "{text}");
        }
    }

    #[test]
    fn chunks_are_clipped() {
        let hash = |byte| Some(B256::repeat_byte(byte));
        let chunk = |number, first, last, hashes| Chunk {
            number,
            blocks: BlockRange { first, last },
            follows: false,
            hashes,
        };
        let chunks = [
            chunk(0, 0, 9, [None, hash(9)]),
            chunk(1, 10, 19, [hash(9), hash(19)]),
            chunk(2, 20, 29, [hash(19), hash(29)]),
        ];
        let clipped = |first, last| clip(&chunks, BlockRange { first, last });
        assert_eq!(clipped(0, 29), chunks);
        assert_eq!(
            clipped(15, 24),
            [
                chunk(0, 15, 19, [None, hash(19)]),
                chunk(1, 20, 24, [hash(19), None])
            ]
        );
        assert_eq!(clipped(10, 10), [chunk(0, 10, 10, [hash(9), None])]);
        assert_eq!(clipped(30, 40), []);
    }

    #[test]
    fn conditions_on_addresses_restrict_what_is_read() {
        let bytes = |byte: u8| lit(ScalarValue::Binary(Some(vec![byte; 20])));
        let from = limits(col("from_address").eq(bytes(1)))
            .filter
            .touching
            .unwrap();
        assert_eq!(from.direction, Direction::Out);
        assert_eq!(from.addresses.len(), 1);
        let to = col("to_address").in_list(vec![bytes(1), bytes(2)], false);
        let to = limits(to).filter.touching.unwrap();
        assert_eq!((to.direction, to.addresses.len()), (Direction::In, 2));
        let none = col("to_address").in_list(vec![bytes(1)], true);
        assert!(limits(none).filter.touching.is_none());
        let token = limits(col("token_address").eq(bytes(3))).filter.tokens;
        assert!(!token.matches(None) && token.matches(Some(&Address::repeat_byte(3))));
        let short = lit(ScalarValue::Binary(Some(vec![1; 19])));
        assert!(
            limits(col("from_address").eq(short))
                .filter
                .touching
                .is_none()
        );
    }
}
