//! A local JSON-RPC server with the answers of a real node, and with faults.
//!
//! It speaks HTTP/1.1 on a port of the loopback interface. Answers come from the `blocks`,
//! `receipts` and `call-traces` of a fixture; the logs come from the receipts.

mod chain;
mod contradict;

use crate::fixtures::Fixture;
use chain::{Chain, Refused};
pub use contradict::Contradiction;
use serde_json::{Map, Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Something that goes wrong with one request.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// An HTTP status with this body, and a `Retry-After` in seconds.
    Status(u16, &'static str, Option<u64>),
    /// The connection is closed without an answer.
    Reset,
    /// The answer comes after this time.
    Late(Duration),
    /// The second half of the answer is missing.
    Truncated,
    /// One JSON-RPC error for the whole request.
    Error(i64, &'static str),
    /// An HTTP status with a JSON-RPC error for each query.
    Refusal(u16, i64, &'static str),
    /// A JSON-RPC error for the first query of a batch.
    ItemError(i64, &'static str),
    /// The answers of a batch come in the opposite order.
    Reversed,
    /// The JSON of the answer is changed.
    Edit(fn(&mut Value)),
    /// Before the answer, this block and those after it are replaced.
    Reorganization(u64),
    /// Like [`Fault::Reorganization`], and the new blocks lack the last transaction of the old
    /// ones.
    Shortening(u64),
    /// The server that answers has no blocks from this one on.
    Behind(u64),
    /// The answer is changed at a place that the number chooses.
    Contradiction(Contradiction, u64),
}

/// How batches are refused that are too large.
#[derive(Clone, Copy, Debug, Default)]
pub enum BatchRefusal {
    /// By one JSON-RPC error.
    #[default]
    Error,
    /// By a JSON-RPC error for each query.
    Errors(u16, i64, &'static str),
    /// By a JSON-RPC error for each query that does not fit.
    Rest(i64, &'static str),
    /// By an HTTP status and a page.
    Page(u16, &'static str),
}

/// Requests that the server refuses, or delays.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The most logs of one answer.
    pub logs: Option<usize>,
    /// The most blocks of one `eth_getLogs`.
    pub range: Option<u64>,
    /// The most queries in a batch.
    pub batch: Option<usize>,
    /// How larger batches are refused.
    pub batch_refusal: BatchRefusal,
    /// Methods that the server does not have.
    pub without: Vec<&'static str>,
    /// HTTP status, code and message for ranges that are too large, and for methods that the
    /// server does not have.
    pub refusal: Option<(u16, i64, &'static str)>,
    /// Whether the server has no blocks yet.
    pub syncing: bool,
    /// The finalized block; `None`: the tag is not known.
    pub finalized: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    chain: Chain,
    chain_id: u64,
    limits: Limits,
    /// Another chain, for contradictions.
    foreign: Chain,
    /// The method, how many of its requests are left before the fault, and the fault.
    faults: Vec<(String, usize, Fault)>,
    /// Method and parameters of every query.
    asked: Vec<(String, Value)>,
}

/// A server that is stopped when it is dropped.
#[derive(Debug)]
pub struct RpcServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stopped: Arc<AtomicBool>,
}

impl RpcServer {
    /// Starts a server with the chain of a fixture. All its blocks are final.
    pub fn start(fixture: &Fixture) -> Self {
        let chain = Chain::of(fixture);
        let limits = Limits {
            finalized: Some(chain.blocks.len() as u64 - 1),
            ..Limits::default()
        };
        let state = Arc::new(Mutex::new(State {
            chain,
            chain_id: fixture.chain_id().expect("the fixture has a chain id"),
            limits,
            ..State::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stopped = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (Arc::clone(&state), Arc::clone(&stopped));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let state = Arc::clone(&shared);
                // The client may close its end at any time.
                thread::spawn(move || drop(serve(&stream, &state)));
            }
        });
        Self {
            address,
            state,
            stopped,
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Changes what the server does not do.
    pub fn limit(&self, change: impl FnOnce(&mut Limits)) {
        change(&mut self.state().limits);
    }

    /// Sets the call traces of all blocks.
    pub fn set_traces(&self, traces: impl FnMut(&Value) -> Value) {
        let chain = &mut self.state().chain;
        chain.traces = (0..).zip(chain.blocks.iter().map(traces)).collect();
    }

    /// Sets the chain of which parts are in answers that contradict others.
    pub fn set_foreign(&self, fixture: &Fixture) {
        self.state().foreign = Chain::of(fixture);
    }

    /// Forgets the faults that have not occurred.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Changes its chain ID.
    pub fn set_chain_id(&self, chain_id: u64) {
        self.state().chain_id = chain_id;
    }

    /// Lets the next `times` requests with a method fail.
    pub fn fail(&self, method: &str, times: usize, fault: Fault) {
        let faults = (0..times).map(|_| (method.to_owned(), 0, fault));
        self.state().faults.extend(faults);
    }

    /// Lets one request with a method fail, after `after` requests with it.
    pub fn fail_after(&self, method: &str, after: usize, fault: Fault) {
        self.state().faults.push((method.to_owned(), after, fault));
    }

    /// The number of faults that have not occurred.
    pub fn faults_left(&self) -> usize {
        self.state().faults.len()
    }

    /// Returns the queries since the last call: method and parameters.
    pub fn take_asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.state().asked)
    }

    /// The hash of a block.
    pub fn block_hash(&self, block: usize) -> String {
        self.state().chain.blocks[block]["hash"]
            .as_str()
            .expect("a hash")
            .to_owned()
    }
}

impl Drop for RpcServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(self.address));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(body) = read_request(&mut reader)? {
        let queries: Value = serde_json::from_slice(&body).expect("the client sends JSON");
        let (fault, status, answer) = lock(state).reply(&queries);
        if matches!(fault, Some(Fault::Reset)) {
            return stream.shutdown(Shutdown::Both);
        }
        if let Some(Fault::Late(time)) = fault {
            thread::sleep(time);
        }
        if let Some(Fault::Status(status, page, pause)) = fault {
            let pause = pause.map(|pause| format!("Retry-After: {pause}\r\n"));
            write_response(stream, status, &pause.unwrap_or_default(), page, page.len())?;
            continue;
        }
        let text = match answer {
            // A page.
            Value::String(page) => page,
            json => json.to_string(),
        };
        let sent = match fault {
            Some(Fault::Truncated) => &text[..text.len() / 2],
            _ => &text,
        };
        write_response(stream, status, "", sent, text.len())?;
        if sent.len() < text.len() {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

/// Reads the body of the next request of a connection. `None` if the client has closed it.
pub fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    Ok(read_whole_request(reader)?.map(|(_, body)| body))
}

/// Reads the lines before the body, in lower case, and the body.
pub fn read_whole_request(reader: &mut impl BufRead) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut head, mut length) = (String::new(), 0);
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.is_empty() && !is_first {
            break;
        }
        is_first = false;
        head += &format!("{line}\r\n");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((head, body)))
}

fn write_response(
    mut stream: &TcpStream,
    status: u16,
    header: &str,
    body: &str,
    length: usize,
) -> std::io::Result<()> {
    // At once: the client acknowledges parts after 40 ms.
    let response = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{header}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(response.as_bytes())?;
    stream.flush()
}

impl State {
    /// The answer to a request with its HTTP status, and the fault that it meets.
    fn reply(&mut self, queries: &Value) -> (Option<Fault>, u16, Value) {
        let all = match queries {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let method = all[0]["method"].as_str().expect("a method").to_owned();
        for query in &all {
            self.asked.push((method.clone(), query["params"].clone()));
        }
        let fault = self.next_fault(&method);
        if let Some(Fault::Reorganization(block) | Fault::Shortening(block)) = fault {
            self.chain.replace(block);
        }
        if let Some(Fault::Shortening(block)) = fault {
            self.chain.shorten(block);
        }
        let error = |code, message| json!({"code": code, "message": message});
        let whole = |error| json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut refused = match fault {
            Some(Fault::Error(code, message)) => return (fault, 200, whole(error(code, message))),
            Some(Fault::Refusal(status, code, message)) => Some((status, code, message)),
            _ => None,
        };
        let mut fitting = all.len();
        if let Some(most) = self.limits.batch.filter(|most| all.len() > *most) {
            match self.limits.batch_refusal {
                BatchRefusal::Error => {
                    return (fault, 200, whole(error(-32600, "batch too large")));
                }
                BatchRefusal::Page(status, page) => return (fault, status, page.into()),
                BatchRefusal::Errors(status, code, message) => {
                    refused = refused.or(Some((status, code, message)));
                }
                BatchRefusal::Rest(..) => fitting = most,
            }
        }
        let mut status = refused.map_or(200, |(status, ..)| status);
        let mut answers: Vec<Value> = Vec::new();
        for (at, query) in all.iter().enumerate() {
            let mut answer = Map::new();
            answer.insert("jsonrpc".to_owned(), "2.0".into());
            answer.insert("id".to_owned(), query["id"].clone());
            let result = match (refused, self.limits.batch_refusal) {
                (Some(refused), _) => Err(refused),
                (None, BatchRefusal::Rest(code, message)) if at >= fitting => {
                    Err((200, code, message))
                }
                _ => self.answer_of(fault, &method, &query["params"]),
            };
            match result {
                Ok(result) => answer.insert("result".to_owned(), result),
                Err((of_error, code, message)) => {
                    status = of_error;
                    answer.insert("error".to_owned(), error(code, message))
                }
            };
            answers.push(Value::Object(answer));
        }
        match fault {
            Some(Fault::ItemError(code, message)) => {
                answers[0] = json!({"id": answers[0]["id"], "error": error(code, message)});
            }
            Some(Fault::Reversed) => answers.reverse(),
            _ => {}
        }
        let one_or_all = |mut answers: Vec<Value>| match queries {
            Value::Array(_) => Value::Array(answers),
            _ => answers.remove(0),
        };
        let mut answer = one_or_all(answers);
        match fault {
            Some(Fault::Edit(edit)) => edit(&mut answer),
            // A server that knows a block has all its logs.
            Some(Fault::Contradiction(Contradiction::Drop | Contradiction::Truncate, _))
                if all[0]["params"][0]["blockHash"].is_string() => {}
            Some(Fault::Contradiction(contradiction, seed)) => {
                let of_other = |query: &Value| {
                    let chain = &self.foreign;
                    let id = self.chain_id + 1;
                    let result = chain.answer(id, &self.limits, &method, &query["params"]);
                    json!({"jsonrpc": "2.0", "id": query["id"], "result": result.ok()})
                };
                let other = one_or_all(all.iter().map(of_other).collect());
                contradiction.apply(&method, seed, &mut answer, &other);
            }
            _ => {}
        }
        (fault, status, answer)
    }

    fn answer_of(
        &self,
        fault: Option<Fault>,
        method: &str,
        params: &Value,
    ) -> Result<Value, Refused> {
        match fault {
            Some(Fault::Behind(first)) => {
                let mut chain = self.chain.clone();
                chain
                    .blocks
                    .truncate(usize::try_from(first).expect("small"));
                chain.receipts.truncate(chain.blocks.len());
                chain.answer(self.chain_id, &self.limits, method, params)
            }
            _ => (self.chain).answer(self.chain_id, &self.limits, method, params),
        }
    }

    fn next_fault(&mut self, method: &str) -> Option<Fault> {
        let mut due = None;
        for (at, (of_method, after, _)) in self.faults.iter_mut().enumerate() {
            if of_method == method {
                match after {
                    0 => due = due.or(Some(at)),
                    _ => *after -= 1,
                }
            }
        }
        due.map(|at| self.faults.remove(at).2)
    }
}
