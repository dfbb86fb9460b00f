//! The scheduler: Ballista's, with our codec.

use crate::{
    Error, Result,
    operator::PlanCodec,
    session,
    tls::{Tls, TlsArgs},
};
use ballista_scheduler::{
    cluster::BallistaCluster,
    config::{SchedulerConfig, TaskDistributionPolicy},
    scheduler_process::start_server,
};
use clap::Args;
use std::{net::SocketAddr, sync::Arc};

/// How long the data of a job is kept whose driver did not delete it.
const RETENTION_SECONDS: u64 = 24 * 3600;

/// Options of a scheduler.
#[derive(Args, Clone, Debug)]
pub struct SchedulerArgs {
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:15050")]
    pub listen: SocketAddr,

    /// Its certificates
    #[command(flatten)]
    pub tls: TlsArgs,

    /// Host name at which executors reach the scheduler, if different from --listen
    #[arg(long, value_name = "HOST")]
    pub external_host: Option<String>,

    /// Seconds without a sign of life after which an executor is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub executor_timeout: u64,
}

/// Runs a scheduler until the process ends.
///
/// # Errors
///
/// If the address is not free, or an option is wrong.
pub async fn run(args: &SchedulerArgs) -> Result<()> {
    let public = args.listen;
    let (tls, inner) = args.tls.load(public.ip())?;
    let address = SocketAddr::new(inner, public.port());
    let config = SchedulerConfig {
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        external_host: match &args.external_host {
            Some(host) => host.clone(),
            None => public.ip().to_string(),
        },
        override_create_grpc_client_endpoint: tls.as_ref().map(Tls::endpoints),
        executor_timeout_seconds: args.executor_timeout,
        expire_dead_executor_interval_seconds: (args.executor_timeout / 3).max(1),
        // Tasks go to all executors, not to as few as possible.
        task_distribution: TaskDistributionPolicy::RoundRobin,
        finished_job_data_clean_up_interval_seconds: RETENTION_SECONDS,
        finished_job_state_clean_up_interval_seconds: RETENTION_SECONDS,
        no_executors_grace_period_seconds: args.executor_timeout,
        grpc_server_max_decoding_message_size: session::MESSAGE_BYTES_MAX,
        grpc_server_max_encoding_message_size: session::MESSAGE_BYTES_MAX,
        grpc_client_max_message_size: session::MESSAGE_BYTES_MAX,
        override_physical_codec: Some(Arc::new(PlanCodec::default())),
        override_session_builder: Some(Arc::new(|config| Ok(session::plain(config)))),
        ..SchedulerConfig::default()
    };
    let failed = |error: ballista_core::error::BallistaError| Error::Scheduler {
        address: public.to_string(),
        message: error.to_string(),
    };
    let cluster = BallistaCluster::new_from_config(&config)
        .await
        .map_err(failed)?;
    if let Some(tls) = tls {
        tls.open_gate(public).await?;
    }
    start_server(cluster, address, Arc::new(config))
        .await
        .map_err(failed)
}
