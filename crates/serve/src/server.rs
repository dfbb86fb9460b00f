//! Connections, from the first to the last.

use crate::{
    access::Access,
    head::{self, Head},
    index,
    metrics::Metrics,
    routes::{App, Peer, router},
    rpc::Filters,
    settings::{Limits, Settings},
    unsent::Unsent,
    workers::{Pool, Workers},
};
use axum::Router;
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};
use tokio::{
    runtime,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use txgraph::{CancelFlag, Capability, Error, ErrorKind, Result, RunControl, Source};

/// How often the server looks whether it shall stop.
const POLL: Duration = Duration::from_millis(50);

/// How long requests may go on after the server was asked to stop.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Bytes of the head of a request.
const HEAD_BYTES: usize = 64 << 10;

/// The stack of a thread: the calls of a transaction nest 1,024 deep.
const STACK_BYTES: usize = 16 << 20;

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    /// The source whose index is extended, and how often to look.
    keeper: Option<(Source, Duration)>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the port. Nothing is answered before [`Self::run`].
    ///
    /// # Errors
    ///
    /// If the source is not the data directory of a node, if it would listen to other machines without a
    /// token, or if the port cannot be opened.
    pub fn bind(source: Source, settings: Settings) -> Result<Self> {
        let Settings {
            listen,
            token,
            hosts,
            origins,
            head,
            names,
            extend_index,
            limits,
            access_log,
        } = settings;
        source.require(Capability::Blocks)?;
        source.tip_block()?;
        if token.as_deref().is_some_and(|token| token.trim().len() < 8) {
            return Err(Error::usage("a token has at least 8 characters"));
        }
        if !listen.ip().is_loopback() && token.is_none() {
            return Err(Error::usage(format!(
                "{listen} is not an address of this machine only: other machines need a token"
            )));
        }
        let is_origin = |it: &&String| it.starts_with("http://") || it.starts_with("https://");
        if let Some(wrong) = origins.iter().find(|it| !is_origin(it)) {
            return Err(Error::usage(format!(
                "`{wrong}` is no site: a site is written as in `http://localhost:5100`"
            )));
        }
        let metrics = Arc::new(Metrics::default());
        let chain = source.chain()?;
        let head = head.map(|url| Head::new(&url, chain, limits.answer_bytes, metrics.clone()));
        let head = head.transpose().map_err(Error::usage)?.map(Arc::new);
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Failed, format!("cannot listen at {listen}")).because(error)
        };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let own_handle = || source.with_control(&RunControl::default());
        let keeper = extend_index.map(|interval| Ok::<_, Error>((own_handle()?, interval)));
        let keeper = keeper.transpose()?;
        let app = Arc::new(App {
            workers: Workers::new(source, &limits, metrics.clone()),
            passing: Pool::new(head::CALLS, &limits, metrics.clone()),
            access: Access::new(token.map(|it| it.trim().to_owned()), &hosts, &origins),
            unsent: Unsent::new(limits.unsent_bytes),
            head,
            names,
            filters: Filters::default(),
            limits,
            metrics,
            access_log,
        });
        Ok(Self {
            listener,
            address,
            app,
            keeper,
        })
    }

    /// Where it listens. The port is chosen by the system if the settings name port 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is set. Then no more connections are accepted, and requests that are worked
    /// on have ten seconds to end.
    ///
    /// # Errors
    ///
    /// If threads cannot be started.
    pub fn run(self, stop: &CancelFlag) -> Result<()> {
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Failed, "cannot start the server").because(error)
        };
        let limits = self.app.limits.clone();
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(limits.workers.max(1) + head::CALLS)
            .thread_name("txgraph-serve")
            .thread_stack_size(STACK_BYTES)
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let metrics = self.app.metrics.clone();
        let over = CancelFlag::new();
        thread::scope(|scope| {
            if let Some((source, interval)) = &self.keeper {
                let (metrics, over) = (&metrics, &over);
                thread::Builder::new()
                    .name("txgraph-index".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, move || index::keep(source, *interval, metrics, over))
                    .map_err(failed)?;
            }
            let done = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(self.listener)?;
                let router = router(self.app);
                accept(&listener, &router, &limits, &metrics, (stop, &over)).await;
                Ok(())
            });
            over.cancel();
            // Ends what did not stop in time.
            runtime.shutdown_timeout(Duration::from_secs(1));
            done.map_err(failed)
        })
    }
}

/// Accepts connections until `stop` is set. Then sets `over`, and waits for those that are open.
async fn accept(
    listener: &tokio::net::TcpListener,
    router: &Router,
    limits: &Limits,
    metrics: &Arc<Metrics>,
    (stop, over): (&CancelFlag, &CancelFlag),
) {
    let connections = Arc::new(Semaphore::new(limits.connections.max(1)));
    let graceful = GracefulShutdown::new();
    while !stop.is_canceled() {
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            sleep(POLL).await;
            continue;
        };
        let (stream, peer) = match timeout(POLL, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(error)) => {
                // For example too many open files.
                tracing::warn!(%error, "a connection was not accepted");
                sleep(POLL).await;
                continue;
            }
            Err(_) => continue,
        };
        let _ = stream.set_nodelay(true);
        // A client that stops reading would keep its connection.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.send_time));
        let routed = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            routed.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.rest_time)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        let watch = Watch(metrics.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let _watch = watch;
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "a connection ended");
            }
        });
    }
    over.cancel();
    if timeout(SHUTDOWN, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still worked on at the end");
    }
}

/// Counts the panic that ends a connection.
struct Watch(Arc<Metrics>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.note_panic();
    }
}
