//! Shared by driver, scheduler and executors: settings of plans, codec and
//! functions.

use crate::{functions, operator::PlanCodec};
use ballista_core::{
    ConfigProducer,
    extension::{EndpointOverrideFn, SessionConfigExt},
    registry::BallistaFunctionRegistry,
    utils::default_session_builder,
};
use datafusion::{
    common::Result, execution::FunctionRegistry, execution::SessionState, prelude::SessionConfig,
};
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use std::sync::Arc;

/// The largest message between the processes, in bytes. A plan contains a frontier of up to
/// 65,536 addresses, and one row for each chunk.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 128 << 20;

/// The codec of plans.
pub(crate) fn codec() -> Arc<dyn PhysicalExtensionCodec> {
    Arc::new(PlanCodec::default())
}

/// The settings of a plan. The scheduler does not change plans while they run: jobs with several stages then
/// often never end after an executor is lost (Ballista issues 1986 and 2150).
pub(crate) fn config(partitions: usize) -> SessionConfig {
    SessionConfig::new_with_ballista()
        .with_target_partitions(partitions)
        // The other one looks into its inputs.
        .set_bool("datafusion.optimizer.prefer_existing_union", true)
        .with_ballista_adaptive_query_planner(false)
        .with_ballista_grpc_client_max_message_size(MESSAGE_BYTES_MAX as usize)
        // A task reads one chunk, so that little is repeated after a failure.
        .set_usize("ballista.scheduler.max_partitions_per_task", 1)
}

/// The settings of the tasks of an executor that reaches others through `endpoints`.
pub(crate) fn tasks(endpoints: EndpointOverrideFn) -> ConfigProducer {
    Arc::new(move || {
        SessionConfig::new_with_ballista()
            .with_ballista_override_create_grpc_client_endpoint(endpoints.clone())
    })
}

/// The state of a session, with our functions.
pub(crate) fn state(config: SessionConfig) -> Result<SessionState> {
    let mut state = default_session_builder(config)?;
    for function in functions::aggregates() {
        state.register_udaf(function)?;
    }
    for function in functions::scalars() {
        state.register_udf(function)?;
    }
    Ok(state)
}

/// The functions of executors.
pub(crate) fn registry() -> BallistaFunctionRegistry {
    let mut registry = BallistaFunctionRegistry::default();
    for function in functions::aggregates() {
        registry
            .aggregate_functions
            .insert(function.name().to_owned(), function);
    }
    for function in functions::scalars() {
        registry
            .scalar_functions
            .insert(function.name().to_owned(), function);
    }
    registry
}
