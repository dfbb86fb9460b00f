//! Functions of SQL that the driver, the scheduler and the executors know.

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

/// The aggregate functions.
pub(crate) fn aggregates() -> Vec<Arc<AggregateUDF>> {
    Vec::new()
}

/// The scalar functions.
pub(crate) fn scalars() -> Vec<Arc<ScalarUDF>> {
    Vec::new()
}
