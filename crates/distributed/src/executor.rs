//! An executor: Ballista's, with our codec, our functions, and a source of its own.

use crate::{
    Error, Result,
    operator::PlanCodec,
    serve, session,
    tls::{Tls, TlsArgs},
};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Args;
use datafusion::prelude::SessionConfig;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::TcpStream,
    signal::unix::{SignalKind, signal},
    time::{sleep, timeout},
};
use txgraph::{Config, SourceSpec};

/// Options of an executor.
#[derive(Args, Clone, Debug)]
pub struct ExecutorArgs {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:15050")]
    pub scheduler: String,

    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub listen: IpAddr,

    /// Its certificates
    #[command(flatten)]
    pub tls: TlsArgs,

    /// Host name at which others reach the executor, if different from --listen
    #[arg(long, value_name = "HOST")]
    pub external_host: Option<String>,

    /// Port for results
    #[arg(long, value_name = "PORT", default_value_t = 15051)]
    pub port: u16,

    /// Port for the scheduler
    #[arg(long, value_name = "PORT", default_value_t = 15052)]
    pub grpc_port: u16,

    /// Source of this executor: KIND:LOCATION, or a data directory of reth
    ///
    /// Without it, the executor reads lakes only. Queries never name it.
    #[arg(long, env = txgraph::SOURCE_ENV, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Genesis file of the chain, to replay chains that are not built in
    #[arg(long, value_name = "FILE")]
    pub chain: Option<PathBuf>,

    /// Tasks at a time; 0: one for each core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub tasks: usize,

    /// Memory of all tasks, in bytes, before joins and aggregates use the disk
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub memory: u64,

    /// Directory for results and spilled data; parts of finished jobs are deleted
    #[arg(long, value_name = "DIR")]
    pub work_dir: PathBuf,

    /// Seconds between signs of life to the scheduler
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub heartbeat: u64,
}

/// Runs an executor until a signal ends the process. It waits for the scheduler, and starts again
/// when the scheduler comes back.
///
/// # Errors
///
/// If the source cannot be opened, a port is taken, or an option is wrong.
pub async fn run(args: &ExecutorArgs) -> Result<()> {
    let source = args.source.as_deref().map(SourceSpec::from);
    let flags = Config {
        source,
        chain: args.chain.clone(),
        // The tasks of an executor run in parallel already.
        threads: Some(1),
        ..Config::default()
    };
    let config = Config::resolve(flags, None).map_err(|error| Error::Usage(error.message))?;
    serve::configure(config)?;
    serve::check()?;
    std::fs::create_dir_all(&args.work_dir).map_err(|error| Error::io(&args.work_dir, error))?;
    let Some((host, port)) = args.scheduler.rsplit_once(':') else {
        return Err(Error::Usage(format!("{} is not HOST:PORT", args.scheduler)));
    };
    let port = port
        .parse()
        .map_err(|_| Error::Usage(format!("{port} is not a port")))?;
    let (tls, bind) = args.tls.load(args.listen)?;
    check_ports(bind, [args.port, args.grpc_port])?;
    if let Some(tls) = &tls {
        for port in [args.port, args.grpc_port] {
            tls.open_gate(SocketAddr::new(args.listen, port)).await?;
        }
    }
    // The scheduler sees the address of its own gate.
    let host_name = tls.as_ref().map(|_| args.listen.to_string());
    let endpoints = tls.as_ref().map(Tls::endpoints);
    let functions = (&session::plain(SessionConfig::new())).into();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let config = ExecutorProcessConfig {
        bind_host: bind.to_string(),
        external_host: args.external_host.clone().or(host_name),
        port: args.port,
        grpc_port: args.grpc_port,
        scheduler_host: host.to_owned(),
        scheduler_port: port,
        scheduler_connect_timeout_seconds: 30,
        vcores: if args.tasks == 0 { cores } else { args.tasks },
        work_dir: Some(args.work_dir.display().to_string()),
        executor_heartbeat_interval_seconds: args.heartbeat,
        memory_pool_size: Some(args.memory),
        grpc_max_decoding_message_size: session::MESSAGE_BYTES_MAX,
        grpc_max_encoding_message_size: session::MESSAGE_BYTES_MAX,
        override_physical_codec: Some(Arc::new(PlanCodec::default())),
        override_function_registry: Some(Arc::new(functions)),
        override_config_producer: endpoints.clone().map(session::tasks),
        override_create_grpc_client_endpoint: endpoints,
        ..ExecutorProcessConfig::default()
    };
    let signalled = watch_signals()?;
    wait_for(&args.scheduler, &signalled).await;
    if signalled.load(Ordering::Relaxed) {
        return Ok(());
    }
    let here = match bind {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    let service = SocketAddr::new(here, args.grpc_port);
    let done = tokio::select! {
        done = start_executor_process(Arc::new(config)) => done,
        () = has_stopped(service, &signalled) => Ok(()),
    };
    let hint = match &tls {
        Some(_) => "",
        None => "; if it requires certificates, name yours with --tls",
    };
    let done = done.map_err(|error| Error::Scheduler {
        address: args.scheduler.clone(),
        message: format!("{error}{hint}"),
    });
    let is_again = std::env::var_os(AGAIN).is_some();
    if signalled.load(Ordering::Relaxed) || (done.is_err() && !is_again) {
        return done;
    }
    // The scheduler was away, or took this executor for lost and asked it to end.
    tracing::warn!(result = ?done, "disconnected from the scheduler; starting again");
    sleep(PAUSE).await;
    match signalled.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(start_again()),
    }
}

/// Returns when Ballista has ended its service, but not the executor. Without a scheduler, it drops the running
/// tasks and then waits for their ends (`tasks_drained` in `ballista-executor/src/executor_process.rs`).
async fn has_stopped(service: SocketAddr, signalled: &AtomicBool) {
    let mut has_begun = false;
    loop {
        sleep(PAUSE).await;
        let answers = TcpStream::connect(service).await.is_ok();
        has_begun |= answers;
        if has_begun && !answers && !signalled.load(Ordering::Relaxed) {
            // An executor without tasks ends by itself.
            sleep(PAUSE).await;
            return;
        }
    }
}

/// Refuses ports that are taken. Ballista would register the executor first, and then end: queries
/// would be sent to it in the meantime, and each new start would repeat that.
fn check_ports(host: IpAddr, ports: [u16; 2]) -> Result<()> {
    let listen = |port| {
        let address = SocketAddr::new(host, port);
        std::net::TcpListener::bind(address)
            .map_err(|error| Error::Usage(format!("cannot listen on {address}: {error}")))
    };
    // At the same time, so that one port for both is refused, too.
    let _listeners = [listen(ports[0])?, listen(ports[1])?];
    Ok(())
}

/// Waits until a scheduler accepts connections, or a signal came.
async fn wait_for(scheduler: &str, signalled: &AtomicBool) {
    let mut tries = 0_u32;
    while !signalled.load(Ordering::Relaxed) {
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(scheduler)).await;
        if matches!(connected, Ok(Ok(_))) {
            return;
        }
        if tries.is_multiple_of(60) {
            tracing::warn!(scheduler, "it cannot be reached yet; waiting for it");
        }
        tries += 1;
        sleep(PAUSE).await;
    }
}

/// Set for an executor that started again.
const AGAIN: &str = "TXGRAPH_EXECUTOR_AGAIN";
/// The time for one attempt to reach the scheduler.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before an executor starts or looks for the scheduler again.
const PAUSE: Duration = Duration::from_secs(1);

/// Replaces this process with a new executor. Ballista keeps the end of an executor in a global
/// variable, so it cannot start again in the same process. Returns only an error.
fn start_again() -> Error {
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_default();
    let path = std::env::current_exe().unwrap_or_else(|_| program.into());
    let error = Command::new(&path).args(args).env(AGAIN, "1").exec();
    Error::io(&path, error)
}

/// Returns a flag that SIGINT and SIGTERM set.
fn watch_signals() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals =
            signal(kind).map_err(|error| Error::Plan(format!("cannot watch signals: {error}")))?;
        let flag = flag.clone();
        tokio::spawn(async move {
            signals.recv().await;
            flag.store(true, Ordering::Relaxed);
        });
    }
    Ok(flag)
}
