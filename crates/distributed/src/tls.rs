//! TLS between the processes of a cluster, in which both sides show a certificate.
//!
//! Ballista's servers have no authentication. With certificates they listen on a loopback address, and
//! each process has a gate at its public address: the gate accepts TLS from holders of a certificate of
//! the cluster, and passes the bytes on. Connections to other processes go through a tunnel, which
//! listens on a loopback address of its own. So every connection of Ballista between hosts is
//! encrypted, and a program without a certificate reaches no server. Users of one host are not separated.

use crate::{Error, Result};
use ballista_core::{extension::EndpointOverrideFn, utils::create_grpc_client_endpoint};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{
    collections::HashMap,
    fmt,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Names the folder with the certificates, for all programs of a cluster.
pub const TLS_ENV: &str = "TXGRAPH_CLUSTER_TLS";

/// The name in all certificates of a cluster. Hosts have none of their own: each process may use
/// every other one, and their addresses change.
const NAME: &str = "txgraph.cluster";

/// How long the other side may take to show its certificate.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// The pause after the system refused another connection, for lack of file descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// The certificates of a process.
#[derive(clap::Args, Clone, Debug)]
pub struct TlsArgs {
    /// Folder with `ca.pem`, `cert.pem` and `key.pem`. Only holders of a certificate of this
    /// authority can connect. Required unless --listen is a loopback address
    #[arg(long, value_name = "DIR", env = TLS_ENV)]
    pub tls: Option<PathBuf>,
}

impl TlsArgs {
    /// Loads the certificates for a process that listens on `public`. Returns them with the address
    /// on which its servers listen.
    ///
    /// # Errors
    ///
    /// If the files cannot be used, or if there are none and other hosts can reach the process.
    pub(crate) fn load(&self, public: IpAddr) -> Result<(Option<Tls>, IpAddr)> {
        match &self.tls {
            Some(folder) if public.is_unspecified() => Err(Error::Usage(format!(
                "with the certificates of {}, listen on the address of one network, not on {public}",
                folder.display()
            ))),
            Some(folder) => Ok((Some(Tls::load(folder)?), Tls::behind(public))),
            None if public.is_loopback() => Ok((None, public)),
            None => Err(Error::Usage(format!(
                "other hosts can reach {public}, and anyone who does can read all data and run \
                 plans: name a folder with certificates (scripts/cluster-certs.sh makes them), or \
                 listen on 127.0.0.1"
            ))),
        }
    }
}

/// Certificates, and the tunnels that use them.
#[derive(Clone)]
pub(crate) struct Tls(Arc<Inner>);

struct Inner {
    accept: TlsAcceptor,
    connect: TlsConnector,
    /// The tunnel to each address, `HOST:PORT`.
    tunnels: Mutex<HashMap<String, SocketAddr>>,
    /// The last connection that failed, and why.
    failure: Mutex<Option<String>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads `ca.pem`, `cert.pem` and `key.pem`.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let bad = |name: &str, error: &dyn fmt::Display| {
            Error::Usage(format!("{}: {error}", folder.join(name).display()))
        };
        let certificates = |name: &str| {
            CertificateDer::pem_file_iter(folder.join(name))
                .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
                .map_err(|error| bad(name, &error))
        };
        let mut roots = RootCertStore::empty();
        for root in certificates("ca.pem")? {
            roots.add(root).map_err(|error| bad("ca.pem", &error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates("cert.pem")?;
        let key = PrivateKeyDer::from_pem_file(folder.join("key.pem"))
            .map_err(|error| bad("key.pem", &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build();
        let clients = clients.map_err(|error| bad("ca.pem", &error))?;
        let versions = &[&rustls::version::TLS13];
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .and_then(|server| {
                server
                    .with_client_cert_verifier(clients)
                    .with_single_cert(chain.clone(), key.clone_key())
            })
            .map_err(|error| bad("cert.pem", &error))?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .and_then(|client| {
                client
                    .with_root_certificates(roots)
                    .with_client_auth_cert(chain, key)
            })
            .map_err(|error| bad("cert.pem", &error))?;
        Ok(Self(Arc::new(Inner {
            accept: Arc::new(server).into(),
            connect: Arc::new(client).into(),
            tunnels: Mutex::default(),
            failure: Mutex::default(),
        })))
    }

    /// The address on which a server listens behind a gate at `public`: the same port on loopback.
    fn behind(public: IpAddr) -> IpAddr {
        match public == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            // Linux routes all of 127.0.0.0/8 to the host.
            true => Ipv4Addr::new(127, 0, 0, 2).into(),
            false => Ipv4Addr::LOCALHOST.into(),
        }
    }

    /// Opens a gate at `public`, to the server behind it.
    pub(crate) async fn open_gate(&self, public: SocketAddr) -> Result<()> {
        let server = SocketAddr::new(Self::behind(public.ip()), public.port());
        let listener = TcpListener::bind(public)
            .await
            .map_err(|error| Error::Usage(format!("cannot listen on {public}: {error}")))?;
        let tls = self.clone();
        tokio::spawn(async move {
            loop {
                let Some((stream, peer)) = next(&listener).await else {
                    continue;
                };
                let tls = tls.clone();
                tokio::spawn(async move {
                    if let Err(error) = tls.admit(stream, server).await {
                        tracing::warn!(%peer, %error, "a connection was not admitted");
                    }
                });
            }
        });
        Ok(())
    }

    async fn admit(&self, stream: TcpStream, server: SocketAddr) -> io::Result<()> {
        let accept = self.0.accept.accept(stream).into_fallible();
        let mut client = match timeout(HANDSHAKE_WITHIN, accept).await? {
            Ok(client) => client,
            // A probe, which connected and sent nothing.
            Err((error, _)) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err((error, mut stream)) => {
                // The other side does not see why if the connection is closed before its bytes
                // are read.
                let rest = async {
                    stream.shutdown().await?;
                    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
                };
                let _ = timeout(HANDSHAKE_WITHIN, rest).await;
                return Err(error);
            }
        };
        pipe(&mut client, &mut TcpStream::connect(server).await?).await
    }

    /// Returns an address of this host from which bytes go to the gate at `remote`, `HOST:PORT`.
    /// Call it in the runtime of the process.
    pub(crate) fn tunnel(&self, remote: &str) -> io::Result<SocketAddr> {
        let mut tunnels = lock(&self.0.tunnels);
        if let Some(address) = tunnels.get(remote) {
            return Ok(*address);
        }
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let (tls, remote) = (self.clone(), remote.to_owned());
        tunnels.insert(remote.clone(), address);
        tokio::spawn(async move {
            loop {
                let Some((stream, _)) = next(&listener).await else {
                    continue;
                };
                let (tls, remote) = (tls.clone(), remote.clone());
                tokio::spawn(async move { tls.pass(stream, &remote).await });
            }
        });
        Ok(address)
    }

    async fn pass(&self, mut stream: TcpStream, remote: &str) {
        let connect = async {
            let gate = TcpStream::connect(remote).await?;
            let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
            self.0.connect.connect(name, gate).await
        };
        let done = match timeout(HANDSHAKE_WITHIN, connect).await {
            Ok(Ok(mut gate)) => pipe(&mut stream, &mut gate).await,
            Ok(Err(error)) => Err(error),
            Err(late) => Err(late.into()),
        };
        // It is known before the other end of `stream` notices.
        if let Err(error) = done {
            tracing::warn!(remote, %error, "a connection failed");
            *lock(&self.0.failure) = Some(format!("{remote}: {error}"));
        }
    }

    /// The last connection that failed, and why.
    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.0.failure).clone()
    }

    /// Makes Ballista's connections to other processes use tunnels.
    pub(crate) fn endpoints(&self) -> EndpointOverrideFn {
        let tls = self.clone();
        Arc::new(move |endpoint| {
            let authority = endpoint.uri().authority();
            let remote = authority.ok_or("an address without a host")?;
            let address = tls.tunnel(remote.as_str())?;
            Ok(create_grpc_client_endpoint(
                format!("http://{address}"),
                None,
            )?)
        })
    }
}

/// Copies bytes in both directions until both sides have ended. A side that closes its connection
/// without a notice, as killed processes do, is an end.
async fn pipe(
    one: &mut (impl AsyncRead + AsyncWrite + Unpin),
    other: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<()> {
    let ended = [
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
        ErrorKind::NotConnected,
    ];
    match copy_bidirectional(one, other).await {
        Err(error) if !ended.contains(&error.kind()) => Err(error),
        _ => Ok(()),
    }
}

/// The next connection; `None` after a failure, for example if there are too many open files.
async fn next(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(REFUSED_PAUSE).await;
            None
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
