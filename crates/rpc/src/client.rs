//! Calls and answers over HTTP: batches, retries, limits.

use crate::{
    endpoint::Endpoint,
    error::{Error, Meaning, Place, Refusal, Result, shown},
    pace::{Adaptive, Pace},
    reply::{Reply, parse},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    io::{ErrorKind, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use txgraph_work::{Attempts, CancelFlag, Retry, RetryStep};
use ureq::{
    Agent, RequestBuilder,
    tls::{Certificate, RootCerts, TlsConfig},
    typestate::WithBody,
};

/// The attempts at a request, within 31 s and half as long again: servers limit the rate for
/// seconds, and restart within a minute.
pub(crate) const REQUEST: Retry = Retry {
    attempts: 7,
    backoff: Duration::from_millis(500),
};

/// The longest pause that a server may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(120);

/// Bytes of an answer with an HTTP error that are read.
const ERROR_BYTES: u64 = 1 << 16;

/// Bytes of an answer that a message is made of.
const SHOWN_BYTES: usize = 1 << 16;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The parameters, an array.
    pub(crate) params: Value,
    /// The block or transaction of the request, for messages.
    pub(crate) place: Place,
    /// Whether the caller can ask for less if the answer takes too long.
    pub(crate) divisible: bool,
    /// Whether the server may lack the block. Otherwise it has the block after a moment: servers
    /// behind one URL may be a few blocks apart.
    pub(crate) may_lack: bool,
}

impl Call {
    /// A call that cannot be divided.
    pub(crate) const fn new(params: Value, place: Place) -> Self {
        Self {
            params,
            place,
            divisible: false,
            may_lack: false,
        }
    }
}

/// Asks a server. Shared between threads.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    agent: Agent,
    pace: Pace,
    batch: Adaptive,
    retry: Retry,
    /// Whether the server has answered a request. One that was never reached may be named wrongly.
    is_reached: AtomicBool,
    pub(crate) cancel: CancelFlag,
}

/// Why a request has no answer.
enum Trouble {
    /// The answer is too large or late.
    TooMuch(String),
    /// A later attempt may succeed. With the pause that the server asked for.
    Again(String, Duration),
    /// The server does not have a block yet, or not at all.
    NoBlock(String),
    /// Other attempts would fail, too.
    Fatal(Error),
}

/// The calls of one request.
struct Group<'a> {
    method: &'static str,
    calls: &'a [&'a Call],
}

impl Group<'_> {
    fn place(&self) -> Place {
        let places = self.calls.iter().map(|call| call.place);
        places.reduce(Place::join).unwrap_or(Place::Chain)
    }
}

impl Client {
    pub(crate) fn new(endpoint: Endpoint, retry: Retry, cancel: CancelFlag) -> Self {
        let settings = &endpoint.settings;
        Self {
            pace: Pace::new(settings.rate, settings.connections),
            batch: Adaptive::new(settings.batch, settings.batch),
            agent: agent(&endpoint, endpoint.settings.connections),
            endpoint,
            retry,
            is_reached: AtomicBool::new(false),
            cancel,
        }
    }

    /// Makes one call whose answer must not be refused.
    pub(crate) fn ask_one<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        call: Call,
    ) -> Result<T> {
        let place = call.place;
        let mut answers = self.ask(method, &[call])?;
        match answers.pop() {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(refusal)) => Err(self.refused(method, place, &refusal)),
            None => Err(self.invalid(method, place, "there is no answer")),
        }
    }

    /// Makes calls, in batches. Returns an answer or a refusal for each, in their order.
    ///
    /// Repeats what fails for a while. Refusals that mean that the server is busy are repeated,
    /// too.
    pub(crate) fn ask<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        calls: &[Call],
    ) -> Result<Vec<Result<T, Refusal>>> {
        let mut answers: Vec<Option<Result<T, Refusal>>> = calls.iter().map(|_| None).collect();
        let mut waiting: Vec<usize> = (0..calls.len()).collect();
        let mut attempts = self.retry.start();
        while !waiting.is_empty() {
            let size = usize::try_from(self.batch.get()).unwrap_or(usize::MAX);
            let asked: Vec<usize> = waiting.iter().copied().take(size).collect();
            let of_group: Vec<&Call> = asked.iter().map(|at| &calls[*at]).collect();
            let group = Group {
                method,
                calls: &of_group,
            };
            let trouble = match self.post::<T>(&group) {
                Ok(items) => {
                    let (mut busy, mut large) = (None, None);
                    for (at, item) in asked.iter().zip(items) {
                        let call = &calls[*at];
                        match item {
                            Err(refusal) => match refusal.meaning {
                                Meaning::Busy => busy = Some(refusal),
                                Meaning::NoBlock if !call.may_lack => busy = Some(refusal),
                                Meaning::Batch => large = Some(refusal),
                                Meaning::TooMuch if !call.divisible => large = Some(refusal),
                                _ => answers[*at] = Some(Err(refusal)),
                            },
                            answer => answers[*at] = Some(answer),
                        }
                    }
                    waiting.retain(|at| answers[*at].is_none());
                    match (large, busy) {
                        (Some(refusal), _) => Trouble::TooMuch(refusal.to_string()),
                        (None, Some(refusal)) if refusal.meaning == Meaning::NoBlock => {
                            Trouble::NoBlock(refusal.to_string())
                        }
                        (None, Some(refusal)) => {
                            Trouble::Again(refusal.to_string(), Duration::ZERO)
                        }
                        (None, None) => {
                            attempts = self.retry.start();
                            self.batch.grow(asked.len() as u64);
                            continue;
                        }
                    }
                }
                Err(trouble) => trouble,
            };
            match trouble {
                Trouble::TooMuch(what) if asked.len() > 1 => {
                    tracing::debug!(method, calls = asked.len(), what, "smaller batches");
                    self.batch.shrink(asked.len() as u64);
                }
                Trouble::TooMuch(what) if calls[asked[0]].divisible => {
                    answers[asked[0]] = Some(Err(Refusal::too_much(&what)));
                    waiting.retain(|at| *at != asked[0]);
                }
                Trouble::TooMuch(what) => {
                    self.pause(&group, &mut attempts, what, Duration::ZERO)?
                }
                Trouble::Again(what, least) => self.pause(&group, &mut attempts, what, least)?,
                Trouble::NoBlock(what) => self
                    .pause(&group, &mut attempts, what, Duration::ZERO)
                    .map_err(Error::into_missing)?,
                Trouble::Fatal(error) => return Err(error),
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Pauses before another attempt, or fails after the last.
    fn pause(
        &self,
        group: &Group<'_>,
        attempts: &mut Attempts,
        what: String,
        least: Duration,
    ) -> Result<()> {
        let method = group.method;
        let made = attempts.number();
        tracing::debug!(method, attempt = made, what, "no answer");
        if !least.is_zero() {
            // Other threads would only be refused, too.
            self.pace.pause(least);
        }
        match attempts.next_spread(least, &|| self.cancel.is_canceled()) {
            RetryStep::Retry => Ok(()),
            RetryStep::Stopped => Err(Error::Interrupted),
            RetryStep::Exhausted => Err(Error::Failed {
                endpoint: self.endpoint.to_string(),
                method,
                place: group.place(),
                attempts: made,
                what,
            }),
        }
    }

    fn post<T: DeserializeOwned + Send>(
        &self,
        group: &Group<'_>,
    ) -> Result<Vec<Result<T, Refusal>>, Trouble> {
        let call = |(id, call): (usize, &&Call)| json!({"jsonrpc": "2.0", "id": id, "method": group.method, "params": call.params});
        let mut calls: Vec<Value> = group.calls.iter().enumerate().map(call).collect();
        let is_batch = calls.len() > 1;
        let body = match calls.pop() {
            Some(one) if !is_batch => one,
            last => {
                calls.extend(last);
                Value::Array(calls)
            }
        };
        let count = u32::try_from(group.calls.len()).unwrap_or(u32::MAX);
        let running = self.pace.start(count, &|| self.cancel.is_canceled());
        let Some(_running) = running else {
            return Err(Trouble::Fatal(Error::Interrupted));
        };
        let (status, pause, bytes) = self.exchange(group, body.to_string().as_bytes())?;
        self.understand(group, status, pause, &bytes)
    }

    /// Sends a body, and returns the HTTP status, the pause that the server asks for, and the
    /// answer.
    fn exchange(
        &self,
        group: &Group<'_>,
        body: &[u8],
    ) -> Result<(u16, Duration, Vec<u8>), Trouble> {
        let request = post(&self.agent, &self.endpoint);
        let mut response = request.send(body).map_err(|error| match error {
            ureq::Error::Timeout(_) => Trouble::TooMuch(self.late()),
            error => match certificate_problem(&error) {
                Some(what) => Trouble::Fatal(self.failed(group, what)),
                None if is_refused(&error) && !self.is_reached.load(Relaxed) => {
                    let what = format!("no server listens there: {}", self.masked(&error));
                    Trouble::Fatal(self.failed(group, what))
                }
                None => Trouble::Again(self.masked(&error), Duration::ZERO),
            },
        })?;
        self.is_reached.store(true, Relaxed);
        let status = response.status().as_u16();
        let pause = response.headers().get("retry-after");
        let pause = pause.and_then(|pause| pause.to_str().ok()?.trim().parse().ok());
        let pause = pause
            .map_or(Duration::ZERO, Duration::from_secs)
            .min(PAUSE_MAX);
        let limit = match status {
            200..300 => self.endpoint.settings.response_bytes,
            _ => ERROR_BYTES,
        };
        let mut bytes = Vec::new();
        // The length of a compressed answer is not known before.
        let mut reader = response
            .body_mut()
            .as_reader()
            .take(limit.saturating_add(1));
        if let Err(error) = reader.read_to_end(&mut bytes) {
            let is_late = error.kind() == ErrorKind::TimedOut
                || matches!(inner(&error), Some(ureq::Error::Timeout(_)));
            return Err(match is_late {
                true => Trouble::TooMuch(self.late()),
                false => {
                    let what = format!("the answer ends early: {}", shown(&error.to_string()));
                    Trouble::Again(what, Duration::ZERO)
                }
            });
        }
        if bytes.len() as u64 > limit && status < 300 {
            return Err(Trouble::TooMuch(format!(
                "the answer has more than {limit} bytes"
            )));
        }
        Ok((status, pause, bytes))
    }

    /// Reads an answer.
    fn understand<T: DeserializeOwned + Send>(
        &self,
        group: &Group<'_>,
        status: u16,
        pause: Duration,
        bytes: &[u8],
    ) -> Result<Vec<Result<T, Refusal>>, Trouble> {
        let count = group.calls.len();
        let page = || {
            let text = &bytes[..bytes.len().min(SHOWN_BYTES)];
            let text = self.endpoint.secrets.masked(&String::from_utf8_lossy(text));
            match (status, text.trim().is_empty()) {
                (301 | 302 | 307 | 308, _) => {
                    format!("HTTP status {status}: name the URL that this one redirects to")
                }
                (_, true) => format!("HTTP status {status}"),
                (_, false) => format!("HTTP status {status}: {}", shown(&text)),
            }
        };
        let is_success = matches!(status, 200..300);
        let by_status = match status {
            413 | 504 | 524 => Meaning::TooMuch,
            408 | 425 | 429 | 500..600 => Meaning::Busy,
            // Gateways that do not allow batches.
            400 | 403 | 405 | 415 | 422 if count > 1 => Meaning::Batch,
            _ => Meaning::Other,
        };
        match parse::<T>(bytes, count, &self.endpoint.secrets) {
            // Providers refuse single calls with a status of their own.
            Reply::Items(mut items) => {
                for refusal in items.iter_mut().filter_map(|item| item.as_mut().err()) {
                    if refusal.meaning == Meaning::Other {
                        refusal.meaning = by_status;
                    }
                }
                Ok(items)
            }
            Reply::Refused(refusal) => {
                let meaning = match refusal.meaning {
                    Meaning::Other => by_status,
                    known => known,
                };
                match meaning {
                    Meaning::Busy => Err(Trouble::Again(refusal.to_string(), pause)),
                    _ if count > 1 => Err(Trouble::TooMuch(refusal.to_string())),
                    meaning => Ok(vec![Err(Refusal { meaning, ..refusal })]),
                }
            }
            Reply::Misplaced(what) if is_success && count > 1 => Err(Trouble::TooMuch(what)),
            Reply::Misplaced(what) if is_success => Err(Trouble::Again(what, pause)),
            Reply::Invalid(what) if is_success => {
                let invalid = self.invalid(group.method, group.place(), what);
                Err(Trouble::Fatal(invalid))
            }
            Reply::NotJson(what) if is_success => {
                Err(Trouble::Again(format!("{what}: {}", page()), pause))
            }
            _ => Err(match by_status {
                Meaning::TooMuch | Meaning::Batch => Trouble::TooMuch(page()),
                Meaning::Busy => Trouble::Again(page(), pause),
                _ => Trouble::Fatal(self.failed(group, page())),
            }),
        }
    }

    /// The error for a request that other attempts do not help.
    fn failed(&self, group: &Group<'_>, what: String) -> Error {
        Error::Failed {
            endpoint: self.endpoint.to_string(),
            method: group.method,
            place: group.place(),
            attempts: 1,
            what,
        }
    }

    fn late(&self) -> String {
        let timeout = self.endpoint.settings.timeout.as_secs();
        format!("there was no answer within {timeout} s")
    }

    /// The text of an error of the HTTP client, which may contain the URL.
    fn masked(&self, error: &ureq::Error) -> String {
        shown(&self.endpoint.secrets.masked(&error.to_string()))
    }

    /// The error for a refusal that the caller cannot handle.
    pub(crate) fn refused(&self, method: &'static str, place: Place, refusal: &Refusal) -> Error {
        let endpoint = self.endpoint.to_string();
        let what = refusal.to_string();
        match refusal.meaning {
            Meaning::NoData => Error::Missing {
                endpoint,
                method,
                place,
                what,
            },
            _ => Error::Failed {
                endpoint,
                method,
                place,
                attempts: 1,
                what,
            },
        }
    }

    /// The error for data that the server cannot have.
    pub(crate) fn unknown(&self, what: impl Into<String>) -> Error {
        let (endpoint, what) = (self.endpoint.to_string(), what.into());
        Error::Unknown { endpoint, what }
    }

    /// The error for an answer that is not valid.
    pub(crate) fn invalid(
        &self,
        method: &'static str,
        place: Place,
        what: impl Into<String>,
    ) -> Error {
        Error::Invalid {
            endpoint: self.endpoint.to_string(),
            method,
            place,
            what: what.into(),
        }
    }
}

/// The error of the HTTP client inside an error of reading.
fn inner(error: &std::io::Error) -> Option<&ureq::Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether nothing listens at the address.
fn is_refused(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused)
}

/// The problem with the server's certificate, if it made the request fail.
fn certificate_problem(error: &ureq::Error) -> Option<String> {
    let error = match error {
        ureq::Error::Rustls(error) => error,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref()?,
        _ => return None,
    };
    match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => Some(
            "the certificate of this host is not trusted, because its issuer is not among the \
             certificates of the system. Add the issuer to them, or name a file with its \
             certificate (PEM) in the environment variable SSL_CERT_FILE"
                .to_owned(),
        ),
        rustls::Error::InvalidCertificate(problem) => Some(format!(
            "the certificate of this host is not valid: {problem}"
        )),
        _ => None,
    }
}

/// The client that connects to a server, and keeps this many idle connections.
pub(crate) fn agent(endpoint: &Endpoint, idle: usize) -> Agent {
    let settings = &endpoint.settings;
    let mut config = Agent::config_builder()
        .timeout_global(Some(settings.timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(idle)
        .max_idle_connections_per_host(idle)
        .user_agent(concat!("txgraph/", env!("CARGO_PKG_VERSION")));
    if endpoint.url.starts_with("https:") {
        config = config.tls_config(tls());
    }
    config.build().new_agent()
}

/// A request with JSON to a server.
pub(crate) fn post(agent: &Agent, endpoint: &Endpoint) -> RequestBuilder<WithBody> {
    let request = agent
        .post(&endpoint.url)
        .header("content-type", "application/json")
        .header("accept", "application/json");
    match &endpoint.authorization {
        Some(authorization) => request.header("authorization", authorization),
        None => request,
    }
}

/// TLS with the certificates of the system. The environment variable `SSL_CERT_FILE` names others.
fn tls() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a certificate of the system was not read");
    }
    let certificates: Vec<_> = found
        .certs
        .iter()
        .map(|der| Certificate::from_der(der.as_ref()).to_owned())
        .collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
