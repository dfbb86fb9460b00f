//! Encodes our operator in plans, next to Ballista's operators.

use crate::{
    operator::{Target, TransfersExec, WriteExec, refused},
    wire::Task,
};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::{
    common::{Result, exec_err, internal_err},
    execution::TaskContext,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Before the bytes of our operator. Not the beginning of a message of Ballista: its first byte
/// would be a field with a wire type that does not exist.
const MAGIC: &[u8] = b"\xfftxgraph-2\n";

/// Our operators, without their inputs.
#[derive(Serialize, Deserialize)]
enum Operator {
    Transfers(Box<Task>),
    Write(Target),
}

/// The codec of plans with [`TransfersExec`] and [`WriteExec`].
#[derive(Debug, Default)]
pub struct PlanCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PlanCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(json) = bytes.strip_prefix(MAGIC) else {
            return self.ballista.try_decode(bytes, inputs, context, converter);
        };
        let operator: Operator = match serde_json::from_slice(json) {
            Ok(operator) => operator,
            Err(error) => {
                return exec_err!(
                    "a task of another version of txgraph: {error}; use one version for the \
                     driver, the scheduler and all executors"
                );
            }
        };
        let [input] = inputs else {
            return internal_err!("our operators have one input, not {}", inputs.len());
        };
        Ok(match operator {
            Operator::Transfers(task) => {
                Arc::new(TransfersExec::new(task.into(), input.clone()).map_err(refused)?)
            }
            Operator::Write(target) => Arc::new(WriteExec::new(target, input.clone())),
        })
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let operator = if let Some(transfers) = node.downcast_ref::<TransfersExec>() {
            Operator::Transfers(Box::new(transfers.task().clone()))
        } else if let Some(write) = node.downcast_ref::<WriteExec>() {
            Operator::Write(write.target().clone())
        } else {
            return self.ballista.try_encode(node, bytes, converter);
        };
        bytes.extend_from_slice(MAGIC);
        match serde_json::to_writer(bytes, &operator) {
            Ok(()) => Ok(()),
            Err(error) => internal_err!("a task cannot be encoded: {error}"),
        }
    }
}
