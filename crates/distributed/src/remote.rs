//! The scheduler of a cluster, as the driver reaches it: directly, or by a tunnel.

use crate::{
    Error, Result, Settings,
    tls::{TLS_ENV, Tls},
};
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use serde::Deserialize;
use std::{
    fmt,
    net::{TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Runtime;

/// The largest answer of the REST interface.
const ANSWER_BYTES_MAX: u64 = 1 << 30;
/// How long an executor may take to accept a connection.
const REACHABLE_WITHIN: Duration = Duration::from_secs(2);

/// A scheduler.
#[derive(Debug)]
pub(crate) struct Remote {
    address: String,
    tls: Option<Tls>,
    runtime: Runtime,
    /// The bytes that came from it and from executors.
    received: AtomicU64,
}

impl Remote {
    /// Names a scheduler by its address, `HOST:PORT`.
    pub(crate) fn new(address: &str, settings: &Settings) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Error::Plan(format!("threads for the network: {error}")))?;
        let tls = settings.certificates.as_deref().map(Tls::load);
        Ok(Self {
            address: address.to_owned(),
            tls: tls.transpose()?,
            runtime,
            received: AtomicU64::new(0),
        })
    }

    /// Counts bytes that came from executors.
    pub(crate) fn receive(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The bytes that came from the scheduler and from executors.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The address to connect to: its own, or a tunnel to it.
    pub(crate) fn route(&self) -> Result<String> {
        let Some(tls) = &self.tls else {
            return Ok(self.address.clone());
        };
        let _runtime = self.runtime.enter();
        match tls.tunnel(&self.address) {
            Ok(tunnel) => Ok(tunnel.to_string()),
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Makes connections to executors use tunnels, if there are certificates.
    pub(crate) fn endpoints(&self) -> Option<Arc<BallistaConfigGrpcEndpoint>> {
        let tls = self.tls.as_ref()?;
        Some(Arc::new(BallistaConfigGrpcEndpoint::new(tls.endpoints())))
    }

    /// The error for a scheduler that does not answer, or not as expected.
    pub(crate) fn unreachable(&self, message: impl ToString) -> Error {
        let mut message = message.to_string();
        if let Some(failure) = self.tls.as_ref().and_then(Tls::failure) {
            message = format!("{message} ({failure})");
        }
        let address = self.address.clone();
        Error::Scheduler { address, message }
    }

    /// The error for a connection that failed.
    pub(crate) fn refused(&self, message: impl fmt::Display) -> Error {
        match &self.tls {
            Some(_) => self.unreachable(message),
            None => self.unreachable(format!(
                "{message}; if it requires certificates, name yours in {TLS_ENV}"
            )),
        }
    }

    /// Asks the REST interface.
    pub(crate) fn get(&self, path: &str) -> Result<String> {
        let url = format!("http://{}{path}", self.route()?);
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(10)))
            .build()
            .into();
        let answer = agent.get(&url).call();
        let mut answer = answer.map_err(|error| self.refused(error))?;
        // A job of 100,000 tasks is described in some 50 MB.
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let text = text.read_to_string();
        let text = text.map_err(|error| self.unreachable(error))?;
        self.receive(text.len() as u64);
        Ok(text)
    }

    /// The executors that are registered.
    pub(crate) fn members(&self) -> Result<Vec<Member>> {
        let path = "/api/executors";
        serde_json::from_str(&self.get(path)?)
            .map_err(|error| self.unreachable(format!("{path}: {error}")))
    }

    /// The tasks that the executors execute at a time.
    pub(crate) fn slots(&self) -> Result<usize> {
        let members = self.members()?;
        match members
            .iter()
            .map(|one| one.specification.vcores)
            .sum::<usize>()
        {
            0 => Err(self.unreachable("it has no executor; start one with `txgraph-executor`")),
            slots => Ok(slots),
        }
    }
}

/// An executor, as the scheduler describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    host: String,
    port: u16,
    specification: Specification,
}

#[derive(Debug, Deserialize)]
struct Specification {
    /// The tasks that it executes at a time.
    vcores: usize,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "executor {}:{}", self.host, self.port)
    }
}

impl Member {
    /// Whether it accepts connections.
    fn is_reachable(&self) -> bool {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        addresses.is_ok_and(|mut addresses| {
            addresses.any(|address| TcpStream::connect_timeout(&address, REACHABLE_WITHIN).is_ok())
        })
    }
}

/// Divides executors into those that accept connections and the others.
pub(crate) fn divide(members: Vec<Member>) -> (Vec<Member>, Vec<Member>) {
    let are_up: Vec<bool> = std::thread::scope(|scope| {
        let tries: Vec<_> = members
            .iter()
            .map(|member| scope.spawn(|| member.is_reachable()))
            .collect();
        let done = tries.into_iter().map(|one| one.join().unwrap_or(false));
        done.collect()
    });
    let mut are_up = are_up.into_iter();
    members
        .into_iter()
        .partition(|_| are_up.next().unwrap_or(false))
}
