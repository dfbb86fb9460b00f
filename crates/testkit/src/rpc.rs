//! A local JSON-RPC server with the answers of a real node, and with faults.
//!
//! It speaks HTTP/1.1 on a port of the loopback interface. Answers come from the `blocks`,
//! `receipts` and `call-traces` of a fixture; the logs are those of the receipts.

use crate::fixtures::Fixture;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
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
    /// A JSON-RPC error for the first question of a batch.
    ItemError(i64, &'static str),
    /// The answers of a batch come in the opposite order.
    Reversed,
    /// The JSON of the answer is changed.
    Edit(fn(&mut Value)),
    /// Before the answer, this block and those after it are replaced.
    Reorganisation(u64),
}

/// What the server does not do, or not at once.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The most logs of one answer.
    pub logs: Option<usize>,
    /// The most blocks of one `eth_getLogs`.
    pub range: Option<u64>,
    /// The most questions in a batch.
    pub batch: Option<usize>,
    /// Methods that the server does not have.
    pub without: Vec<&'static str>,
    /// The finalized block; `None`: the tag is not known.
    pub finalized: Option<u64>,
}

/// The chain of a server.
#[derive(Clone, Debug, Default)]
struct Chain {
    blocks: Vec<Value>,
    receipts: Vec<Value>,
    traces: BTreeMap<u64, Value>,
}

#[derive(Debug, Default)]
struct State {
    chain: Chain,
    chain_id: u64,
    limits: Limits,
    /// The method, how many of its requests are left before the fault, and the fault.
    faults: Vec<(String, usize, Fault)>,
    /// Method and parameters of every question.
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
        let receipts = fixture.lines("receipts");
        let mut chain = Chain {
            blocks: fixture.lines("blocks").collect(),
            receipts: receipts.map(|mut line| line["receipts"].take()).collect(),
            traces: BTreeMap::new(),
        };
        if fixture.has("call-traces") {
            for mut line in fixture.lines("call-traces") {
                let block = line["block"].as_u64().expect("a block number");
                chain.traces.insert(block, line["result"].take());
            }
        }
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

    /// Returns the questions since the last call: method and parameters.
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
        let questions: Value = serde_json::from_slice(&body).expect("the client sends JSON");
        let (fault, answer) = lock(state).reply(&questions);
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
        let text = answer.to_string();
        let sent = match fault {
            Some(Fault::Truncated) => &text[..text.len() / 2],
            _ => &text,
        };
        write_response(stream, 200, "", sent, text.len())?;
        if sent.len() < text.len() {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = 0;
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
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(body))
}

fn write_response(
    mut stream: &TcpStream,
    status: u16,
    header: &str,
    body: &str,
    length: usize,
) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{header}\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    stream.flush()
}

impl State {
    /// The answer to a request, and the fault that it meets.
    fn reply(&mut self, questions: &Value) -> (Option<Fault>, Value) {
        let all = match questions {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let method = all[0]["method"].as_str().expect("a method").to_owned();
        for question in &all {
            self.asked
                .push((method.clone(), question["params"].clone()));
        }
        let fault = self.next_fault(&method);
        if let Some(Fault::Reorganisation(block)) = fault {
            self.chain.replace(block);
        }
        if self.limits.batch.is_some_and(|most| all.len() > most) {
            let error = json!({"code": -32600, "message": "batch too large"});
            return (fault, json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
        let error = |code, message| json!({"code": code, "message": message});
        if let Some(Fault::Error(code, message)) = fault {
            let answer = json!({"jsonrpc": "2.0", "id": null, "error": error(code, message)});
            return (fault, answer);
        }
        let mut answers: Vec<Value> = Vec::new();
        for question in &all {
            let mut answer = Map::new();
            answer.insert("jsonrpc".to_owned(), "2.0".into());
            answer.insert("id".to_owned(), question["id"].clone());
            match self.answer(&method, &question["params"]) {
                Ok(result) => answer.insert("result".to_owned(), result),
                Err((code, message)) => answer.insert("error".to_owned(), error(code, message)),
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
        let mut answer = match questions {
            Value::Array(_) => Value::Array(answers),
            _ => answers.remove(0),
        };
        if let Some(Fault::Edit(edit)) = fault {
            edit(&mut answer);
        }
        (fault, answer)
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

    fn answer(&self, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
        if self.limits.without.contains(&method) {
            return Err((-32601, "the method does not exist"));
        }
        let chain = &self.chain;
        let tip = chain.blocks.len() as u64 - 1;
        let hex = |number: u64| Value::from(format!("{number:#x}"));
        Ok(match method {
            "eth_chainId" => hex(self.chain_id),
            "eth_blockNumber" => hex(tip),
            "eth_getBlockByNumber" => {
                let number = match params[0].as_str() {
                    Some("finalized") => match self.limits.finalized {
                        Some(number) => number,
                        None => return Err((-32602, "finalized block not found")),
                    },
                    _ => number(&params[0]),
                };
                let mut block = chain.block(number);
                if params[1] == false && block.is_object() {
                    let transactions = block["transactions"].as_array().expect("transactions");
                    let hashes = transactions.iter().map(|it| it["hash"].clone()).collect();
                    block["transactions"] = Value::Array(hashes);
                }
                block
            }
            "eth_getBlockReceipts" => at(&chain.receipts, number(&params[0])),
            "eth_getTransactionReceipt" => {
                let all = chain
                    .receipts
                    .iter()
                    .flat_map(|it| it.as_array().expect("receipts"));
                let mut all = all.filter(|receipt| receipt["transactionHash"] == params[0]);
                all.next().cloned().unwrap_or_default()
            }
            "eth_getTransactionByHash" => {
                let all = chain
                    .blocks
                    .iter()
                    .flat_map(|it| it["transactions"].as_array().expect("transactions"));
                let mut all = all.filter(|transaction| transaction["hash"] == params[0]);
                all.next().cloned().unwrap_or_default()
            }
            "eth_getLogs" => self.logs(&params[0])?,
            "debug_traceBlockByNumber" => chain
                .traces
                .get(&number(&params[0]))
                .cloned()
                .unwrap_or_else(|| json!([])),
            "trace_block" => chain.flat_traces(number(&params[0])),
            _ => return Err((-32601, "the method does not exist")),
        })
    }

    fn logs(&self, filter: &Value) -> Result<Value, (i64, &'static str)> {
        let (first, last) = (number(&filter["fromBlock"]), number(&filter["toBlock"]));
        if self.limits.range.is_some_and(|most| last - first >= most) {
            return Err((-32602, "block range exceeds the limit"));
        }
        let listed = |list: &Value, value: &Value| {
            list.is_null() || list.as_array().is_some_and(|list| list.contains(value))
        };
        let blocks = self
            .chain
            .receipts
            .iter()
            .skip(usize::try_from(first).expect("small"));
        let blocks = blocks.take(usize::try_from(last - first + 1).expect("small"));
        let logs = blocks
            .flat_map(|receipts| receipts.as_array().expect("receipts"))
            .flat_map(|receipt| receipt["logs"].as_array().expect("logs"))
            .filter(|log| listed(&filter["address"], &log["address"]))
            .filter(|log| {
                let topic = &log["topics"][0];
                !topic.is_null() && listed(&filter["topics"][0], topic)
            });
        let logs: Vec<Value> = logs.cloned().collect();
        match self.limits.logs.is_some_and(|most| logs.len() > most) {
            true => Err((-32005, "query returned more than 10000 results")),
            false => Ok(Value::Array(logs)),
        }
    }
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().expect("a number in hexadecimal");
    let digits = text.strip_prefix("0x").expect("0x");
    u64::from_str_radix(digits, 16).expect("hexadecimal digits")
}

fn at(values: &[Value], index: u64) -> Value {
    let index = usize::try_from(index).expect("small");
    values.get(index).cloned().unwrap_or_default()
}

impl Chain {
    fn block(&self, number: u64) -> Value {
        at(&self.blocks, number)
    }

    /// Gives a block and those after it other hashes.
    fn replace(&mut self, first: u64) {
        let first = usize::try_from(first).expect("small");
        for block in first..self.blocks.len() {
            let hash = self.blocks[block]["hash"]
                .as_str()
                .expect("a hash")
                .to_owned();
            let other: String = hash.chars().rev().take(64).collect();
            let other = format!("0x{other}");
            let receipts = self.receipts[block..].iter_mut();
            for value in self.blocks[block..].iter_mut().chain(receipts) {
                let text = value.to_string().replace(&hash, &other);
                *value = serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    /// The call traces of a block in the form of `trace_block`.
    fn flat_traces(&self, number: u64) -> Value {
        let block = self.block(number);
        let mut traces = Vec::new();
        let of_block = self.traces.get(&number).and_then(Value::as_array);
        for (position, traced) in of_block.into_iter().flatten().enumerate() {
            let about = json!({
                "blockHash": block["hash"],
                "transactionHash": block["transactions"][position]["hash"],
                "transactionPosition": position,
            });
            flatten(&traced["result"], &mut Vec::new(), &about, &mut traces);
        }
        Value::Array(traces)
    }
}

fn flatten(frame: &Value, address: &mut Vec<usize>, about: &Value, traces: &mut Vec<Value>) {
    let kind = frame["type"].as_str().expect("a type").to_lowercase();
    let mut trace = about.clone();
    trace["traceAddress"] = json!(address);
    if !frame["error"].is_null() {
        trace["error"] = frame["error"].clone();
    }
    let (from, to, value) = (&frame["from"], &frame["to"], &frame["value"]);
    match kind.as_str() {
        "create" | "create2" => {
            trace["type"] = "create".into();
            trace["action"] = json!({"from": from, "value": value});
            trace["result"] = json!({"address": to});
        }
        "selfdestruct" => {
            trace["type"] = "suicide".into();
            trace["action"] = json!({"address": from, "refundAddress": to, "balance": value});
        }
        _ => {
            trace["type"] = "call".into();
            trace["action"] = json!({"callType": kind, "from": from, "to": to, "value": value});
        }
    }
    traces.push(trace);
    for (index, call) in frame["calls"].as_array().into_iter().flatten().enumerate() {
        address.push(index);
        flatten(call, address, about, traces);
        address.pop();
    }
}
