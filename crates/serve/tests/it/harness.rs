//! A server on a copy of a data directory, and a client that sends exact bytes.

use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::PathBuf,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use txgraph::{BuildOptions, CancelFlag, IndexChoice, Source};
use txgraph_serve::{Limits, Server, Settings};
use txgraph_testkit::fixtures::{self, Fixture, Unpacked};

/// A server in this process.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: CancelFlag,
    thread: Option<JoinHandle<()>>,
    _directory: Option<Unpacked>,
    _index: Option<TempDir>,
}

/// The content of the index of a served chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    pub(crate) transactions: bool,
    /// Transfers and participants of calls inside of transactions.
    pub(crate) inside: bool,
    /// The last block.
    pub(crate) last_block: Option<u64>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// By name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        let mut json = serde_json::Deserializer::from_str(&self.body);
        // Calls nest 1,024 deep.
        json.disable_recursion_limit();
        let value = Value::deserialize(&mut json);
        value.unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The file with the rules of a fixture's chain.
pub(crate) fn chain_file(fixture: &Fixture) -> PathBuf {
    let name = match fixture.full_chain() {
        Some(full) => full.name,
        None => fixture.name.clone(),
    };
    let committed = fixtures::testdata().join(&name).join("genesis.json");
    match committed.is_file() {
        true => committed,
        false => fixtures::root().unwrap().join(name).join("genesis.json"),
    }
}

pub(crate) fn small() -> Fixture {
    let [_v1, v2] = fixtures::committed();
    v2
}

/// The settings of most tests: any port.
pub(crate) fn settings() -> Settings {
    Settings::new((Ipv4Addr::LOCALHOST, 0).into())
}

impl Served {
    pub(crate) fn new(fixture: &Fixture) -> Self {
        Self::with(fixture, settings())
    }

    pub(crate) fn limited(fixture: &Fixture, change: impl FnOnce(&mut Limits)) -> Self {
        let mut settings = settings();
        change(&mut settings.limits);
        Self::with(fixture, settings)
    }

    /// Serves who has the token `a long secret`.
    pub(crate) fn guarded(fixture: &Fixture) -> Self {
        let mut settings = settings();
        settings.token = Some("a long secret".to_owned());
        Self::with(fixture, settings)
    }

    pub(crate) fn with(fixture: &Fixture, settings: Settings) -> Self {
        Self::serve(fixture, settings, None)
    }

    /// A server that answers from an index.
    pub(crate) fn indexed(fixture: &Fixture, contents: Indexed) -> Self {
        Self::serve(fixture, settings(), Some(contents))
    }

    fn serve(fixture: &Fixture, settings: Settings, contents: Option<Indexed>) -> Self {
        let directory = fixture.unpack();
        let index = contents.map(|_| tempfile::tempdir().unwrap());
        let choice = match &index {
            Some(folder) => IndexChoice::At(folder.path().join("index")),
            None => IndexChoice::Off,
        };
        let source = Source::builder(directory.path())
            .threads(2)
            .index(choice)
            .chain_file(chain_file(fixture))
            .open()
            .unwrap();
        if let Some(contents) = contents {
            let options = BuildOptions {
                transactions: contents.transactions,
                last_block: contents.last_block,
                reorg_buffer: 0,
                unit_blocks: Some(16),
                ..BuildOptions::default()
            };
            let built = source.index().unwrap().build(&options, contents.inside);
            built.unwrap();
        }
        let mut served = Self::on(source, settings, Some(directory));
        served._index = index;
        served
    }

    /// A server on a source, whose directory may be kept until the end.
    pub(crate) fn on(source: Source, settings: Settings, directory: Option<Unpacked>) -> Self {
        let server = Server::bind(source, settings).unwrap();
        let (address, stop) = (server.address(), CancelFlag::new());
        let flag = stop.clone();
        Self {
            address,
            stop,
            thread: Some(thread::spawn(move || server.run(&flag).unwrap())),
            _directory: directory,
            _index: None,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Sends bytes and reads the answer, of a connection that ends with it.
    pub(crate) fn raw(&self, request: &[u8]) -> Response {
        let mut stream = self.connect();
        // A server may answer and close before it has read everything.
        let _ = stream.write_all(request);
        read_response(&mut stream).unwrap_or_else(|_| Response {
            status: 0,
            headers: BTreeMap::new(),
            body: String::new(),
        })
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.raw(request.as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "")
    }

    /// Sends a JSON-RPC body on a connection that stays open, and does not wait for the answer.
    pub(crate) fn begin(&self, body: &str) -> TcpStream {
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Waits until the metrics have this line.
    pub(crate) fn wait_for(&self, line: &str) {
        let started = Instant::now();
        loop {
            let metrics = self.get("/metrics").body;
            if metrics.contains(&format!("\n{line}\n")) {
                return;
            }
            let waited = started.elapsed();
            assert!(waited < Duration::from_secs(100), "{line}: {metrics}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a JSON-RPC body.
    pub(crate) fn post(&self, body: &str) -> Response {
        self.send("POST", "/", &[("content-type", "application/json")], body)
    }

    /// The whole answer to a method.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        let request = call(7, method, params.clone());
        let answer = self.post(&request.to_string()).json();
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    }

    /// The result of a method.
    pub(crate) fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, &params);
        assert!(
            answer.get("result").is_some(),
            "{method} {params}: {answer}"
        );
        answer["result"].clone()
    }

    /// The error of a method: its code and its message.
    pub(crate) fn error(&self, method: &str, params: Value) -> (i64, String) {
        let answer = self.ask(method, &params);
        let error = &answer["error"];
        assert!(error.is_object(), "{method} {params}: {answer}");
        let message = error["message"].as_str().unwrap().to_owned();
        (error["code"].as_i64().unwrap(), message)
    }

    /// Asserts the result of a method.
    #[track_caller]
    pub(crate) fn answers(&self, method: &str, params: Value, expected: impl Into<Value>) {
        assert_eq!(self.result(method, params), expected.into(), "{method}");
    }

    /// Asserts the code of the error of a method.
    #[track_caller]
    pub(crate) fn refuses(&self, method: &str, params: Value, code: i64) {
        assert_eq!(self.error(method, params).0, code, "{method}");
    }

    /// The document of a query to Etherscan's interface.
    pub(crate) fn query(&self, query: &str) -> Value {
        let response = self.get(&format!("/api?{query}"));
        assert_eq!(response.status, 200, "{}", response.body);
        response.json()
    }

    /// The rows of a query.
    pub(crate) fn rows(&self, query: &str) -> Vec<Value> {
        let document = self.query(query);
        match document["status"].as_str() {
            Some("1") => {
                assert_eq!(document["message"], "OK");
                document["result"].as_array().unwrap().clone()
            }
            _ => {
                let message = document["message"].as_str().unwrap();
                assert!(message.starts_with("No "), "{query}: {document}");
                assert_eq!(document["result"], json!([]));
                Vec::new()
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Reads an answer up to the end of its connection.
pub(crate) fn read_response(stream: &mut TcpStream) -> io::Result<Response> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        // What was read before the connection broke is the answer.
        Err(error) if bytes.is_empty() => return Err(error),
        _ => {}
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    Ok(Response {
        status: status.unwrap_or(0),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect(),
        body: body.to_owned(),
    })
}

/// A call of JSON-RPC.
pub(crate) fn call(id: usize, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A batch of calls that differ in their numbers only.
pub(crate) fn batch(count: usize, method: &str, params: Value) -> String {
    let calls = (0..count).map(|id| call(id, method, params.clone()));
    Value::from(calls.collect::<Vec<_>>()).to_string()
}

/// The ids of the responses to a batch.
pub(crate) fn ids(answers: &Value) -> Value {
    let answers = answers.as_array().unwrap().iter();
    answers.map(|it| it["id"].clone()).collect()
}

/// A number that JSON-RPC writes.
pub(crate) fn number(value: &Value) -> u128 {
    let text = value.as_str().unwrap_or_else(|| panic!("no text: {value}"));
    let digits = text.strip_prefix("0x").unwrap();
    u128::from_str_radix(digits, 16).unwrap()
}
