//! Shared by driver, scheduler and executors: settings of plans, and functions.

use crate::functions;
use ballista_core::{
    ConfigProducer,
    extension::{EndpointOverrideFn, SessionConfigExt},
    utils::default_session_builder,
};
use datafusion::{
    common::Result,
    execution::{FunctionRegistry, SessionState, SessionStateBuilder},
    prelude::SessionConfig,
};
use std::sync::Arc;

/// The largest message between the processes, in bytes. A plan contains a frontier of up to
/// 65,536 addresses, and one row for each chunk.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 128 << 20;

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

/// The state of a session without functions, which takes less time. Plans that the scheduler and tasks of
/// executors see are our operator only.
pub(crate) fn plain(config: SessionConfig) -> SessionState {
    SessionStateBuilder::new().with_config(config).build()
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
