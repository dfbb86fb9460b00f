//! Encodes our operator in plans, next to Ballista's operators.

use crate::operator::{WorkExec, refused};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::{
    common::{Result, exec_err, internal_err},
    execution::TaskContext,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;

/// Before the bytes of our operator. Not the beginning of a message of Ballista: its first byte
/// would be a field with a wire type that does not exist.
const MAGIC: &[u8] = b"\xfftxgraph-2\n";

/// The codec of plans with our operator `WorkExec`.
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
        let work = match serde_json::from_slice(json) {
            Ok(work) => work,
            Err(error) => {
                return exec_err!(
                    "a task of another version of txgraph: {error}; use one version for the \
                     driver, the scheduler and all executors"
                );
            }
        };
        let [input] = inputs else {
            return internal_err!("WorkExec has one input, not {}", inputs.len());
        };
        let operator = WorkExec::new(work, input.clone()).map_err(refused)?;
        Ok(Arc::new(operator))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(operator) = node.downcast_ref::<WorkExec>() else {
            return self.ballista.try_encode(node, bytes, converter);
        };
        bytes.extend_from_slice(MAGIC);
        match serde_json::to_writer(bytes, operator.work()) {
            Ok(()) => Ok(()),
            Err(error) => internal_err!("a task cannot be encoded: {error}"),
        }
    }
}
