//! Random requests of all kinds: none ends the server, none makes it panic, each has an answer, and its
//! memory stays what it was.
//!
//! `TXGRAPH_SERVE_REQUESTS` is the number of requests (`scripts/serve-stress.sh`), `TXGRAPH_SERVE_SEED`
//! their seed.

use crate::harness::{Response, Served, small};
use serde_json::Value;
use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::Duration,
};
use txgraph_serve::{ACTIONS, METHODS};
use txgraph_testkit::random::Xorshift;

/// The number of requests in an ordinary run.
const FEW: usize = 2_000;
/// Clients at a time.
const CLIENTS: usize = 4;
/// How much more memory the process may have after the requests than after the first tenth of them. It
/// levels off: the allocator keeps for each thread what its largest request needed.
const GROWTH_KIB: u64 = 256 << 10;

const ADDRESS: &str = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";

/// Parameters in JSON.
const WORDS: [&str; 28] = [
    "\"latest\"",
    "\"pending\"",
    "\"0x1\"",
    "\"0x\"",
    "\"0x0\"",
    "\"0x28\"",
    "\"0x29\"",
    "null",
    "[]",
    "{}",
    "-1",
    "1e99",
    "0.1",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "true",
    "\"0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529\"",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "{\"fromBlock\":\"earliest\",\"toBlock\":\"0x5\"}",
    "{\"blockHash\":\"0x0000000000000000000000000000000000000000000000000000000000000001\"}",
    "{\"fromAddress\":[\"0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529\"],\"after\":1,\"count\":3}",
    "[[[]]]",
    "\"0xffffffffffffffff\"",
    "\"0x0000000000000000000000000000000000000000000000000000000000000001\"",
    "{\"tracer\":\"callTracer\",\"tracerConfig\":{\"withLog\":true}}",
    "{\"tracer\":\"prestateTracer\",\"tracerConfig\":{\"diffMode\":true}}",
    "{\"to\":null,\"data\":\"0x600a80600a3d393df3fe\",\"gas\":\"0xffffffffff\"}",
];

/// Values of a query.
const VALUES: [&str; 22] = [
    "",
    "0",
    "1",
    "40",
    "-1",
    "99999999999999999999",
    "0x",
    "0x5",
    "%00",
    "latest",
    "desc",
    "%ff%fe",
    "%",
    "%zz",
    "a,b",
    "1.5",
    "and",
    "or",
    ADDRESS,
    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    "%3Cscript%3E",
    "..%2f..%2fetc%2fpasswd",
];

/// Names of a query.
const NAMES: [&str; 19] = [
    "address",
    "ContractAddress",
    "startblock",
    "endblock",
    "fromBlock",
    "toBlock",
    "page",
    "offset",
    "sort",
    "tag",
    "txhash",
    "topic0",
    "topic0_1_opr",
    "blockno",
    "timestamp",
    "closest",
    "contractaddresses",
    "data",
    "%61ddress",
];

const PATHS: [&str; 20] = [
    "/",
    "//",
    "/x",
    "/../../../../etc/passwd",
    "/api/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/..%5c..%5cetc/passwd",
    "/api/%00",
    "/api;x=1",
    "/api/",
    "/API",
    "/v2/api/../../metrics",
    "/health/..",
    "/metrics?x=%ff",
    "/%c0%ae%c0%ae/etc/passwd",
    "/~root",
    "/.env",
    "/static/../Cargo.toml",
    "/\u{7f}",
];

/// Lines of a head.
const LINES: [&str; 24] = [
    "host: localhost",
    "host: evil.example",
    "Host: [::1]:99999",
    "content-length: 0",
    "content-length: 5",
    "content-length: -1",
    "content-length: 18446744073709551616",
    "transfer-encoding: chunked",
    "transfer-encoding: chunked, identity",
    "content-type: application/json",
    "content-type: application/x-www-form-urlencoded",
    "content-type: \u{e9}",
    "content-encoding: gzip",
    "expect: 100-continue",
    "connection: upgrade",
    "upgrade: websocket",
    "origin: null",
    "sec-fetch-site: cross-site",
    "if-none-match: \"x",
    "authorization: Bearer",
    "x-empty:",
    "no colon",
    " folded: line",
    "x-nul: a\u{0}b",
];

/// A generator of requests, the same in every run.
struct Random(Xorshift);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below(limit as u64)).unwrap()
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A JSON-RPC call.
    fn call(&mut self) -> String {
        let method = match self.below(8) {
            0 => self.pick(&["eth_gasPrice", "admin_addPeer", "eth_newFilter", "x", ""]),
            _ => self.pick(METHODS),
        };
        let params: Vec<_> = (0..self.below(5)).map(|_| self.pick(&WORDS)).collect();
        let params = params.join(",");
        let id = self.pick(&["1", "\"\\n\"", "null", "[1]", "-1e5", "{}"]);
        let fields = match self.below(16) {
            0 => format!("\"id\":{id}"),
            1 => format!(
                "\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"a\":[{params}]}}"
            ),
            2 => format!("\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":[{params}]"),
            _ => format!(
                "\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":[{params}]"
            ),
        };
        format!("{{{fields}}}")
    }

    /// A body of JSON-RPC, which may be damaged.
    fn body(&mut self) -> Vec<u8> {
        let mut body = match self.below(8) {
            0 => {
                let calls: Vec<_> = (0..self.below(6)).map(|_| self.call()).collect();
                format!("[{}]", calls.join(","))
            }
            1 => {
                let depth = self.below(3000);
                let (open, close) = (self.pick(&["[", "{\"a\":"]), self.pick(&["]", "}"]));
                format!("{}{}", open.repeat(depth), close.repeat(depth))
            }
            _ => self.call(),
        }
        .into_bytes();
        if self.one_in(3) {
            self.damage(&mut body);
        }
        body
    }

    /// A query of Etherscan's interface.
    fn query(&mut self) -> String {
        let (module, action) = self.pick(ACTIONS).split_once('.').unwrap();
        let mut query = match self.below(12) {
            0 => String::new(),
            1 => format!("module={module}"),
            2 => format!("action={action}&module={module}&module=x"),
            3 => format!("MODULE={}&Action={action}", module.to_uppercase()),
            _ => format!("module={module}&action={action}"),
        };
        for _ in 0..self.below(6) {
            query += &format!("&{}={}", self.pick(&NAMES), self.pick(&VALUES));
        }
        if self.one_in(4) {
            query += &format!("&chainid={}", self.pick(&["735703", "1", "x", ""]));
        }
        query
    }

    /// Changes, removes, repeats and adds bytes.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let byte = u8::try_from(self.below(256)).unwrap();
            let at = self.below(bytes.len() + 1);
            match self.below(5) {
                0 => bytes.insert(at, byte),
                1 => bytes.truncate(at),
                2 => bytes.extend_from_within(at..),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
            bytes.truncate(1 << 16);
        }
    }

    /// The head of a request with any lines.
    fn head(&mut self) -> String {
        let method = self.pick(&[
            "GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "get", "CONNECT", "\u{e9}",
        ]);
        let path = match self.below(3) {
            0 => self.pick(&PATHS).to_owned(),
            1 => format!("/api?{}", self.query()),
            _ => format!("http://localhost{}", self.pick(&PATHS)),
        };
        let version = self.pick(&["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", ""]);
        let mut head = format!("{method} {path} {version}\r\n");
        if !self.one_in(4) {
            head += "host: localhost\r\n";
        }
        for _ in 0..self.below(6) {
            head += &format!(
                "{}{}",
                self.pick(&LINES),
                self.pick(&["\r\n", "\r\n", "\r\n", "\n", "\r"])
            );
        }
        if self.one_in(50) {
            head += &format!("x-long: {}\r\n", "x".repeat(self.below(100_000)));
        }
        head + "\r\n"
    }

    /// Bytes that need not be a request.
    fn bytes(&mut self) -> Vec<u8> {
        match self.below(4) {
            0 => (0..self.below(300))
                .map(|_| u8::try_from(self.below(256)).unwrap())
                .collect(),
            1 => {
                let mut bytes = self.head().into_bytes();
                self.damage(&mut bytes);
                bytes
            }
            2 => {
                // With a length that is right, too long or too short, and a request after it.
                let body = self.body();
                let length = (body.len() + self.below(3)).saturating_sub(self.below(3));
                let head = format!(
                    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
                );
                [head.as_bytes(), &body, self.head().as_bytes()].concat()
            }
            _ => {
                let body = self.body();
                [self.head().as_bytes(), &body].concat()
            }
        }
    }
}

/// A client that keeps its connection.
struct Client<'a> {
    served: &'a Served,
    stream: Option<BufReader<TcpStream>>,
}

impl<'a> Client<'a> {
    fn new(served: &'a Served) -> Self {
        Self {
            served,
            stream: None,
        }
    }

    /// Asks; on a new connection if the server closed the old one.
    fn ask(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Response {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        for _ in 0..2 {
            let served = self.served;
            let stream = self
                .stream
                .get_or_insert_with(|| BufReader::new(served.connect()));
            let _ = stream.get_mut().write_all(&request);
            match read_one(stream) {
                Some(response) => return response,
                None => self.stream = None,
            }
        }
        panic!("no answer: {}", String::from_utf8_lossy(&request));
    }
}

/// Reads a response by its length.
fn read_one(stream: &mut BufReader<TcpStream>) -> Option<Response> {
    let mut response = Response {
        status: 0,
        headers: std::collections::BTreeMap::new(),
        body: String::new(),
    };
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if response.status == 0 {
            response.status = line.split(' ').nth(1)?.parse().ok()?;
        } else if let Some((name, value)) = line.split_once(": ") {
            response.headers.insert(name.to_owned(), value.to_owned());
        } else {
            break;
        }
    }
    let length = response
        .headers
        .get("content-length")
        .map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    response.body = String::from_utf8(body).unwrap();
    Some(response)
}

/// Sends bytes, and returns all that comes back until the connection ends.
fn exchange(served: &Served, bytes: &[u8]) -> String {
    let mut stream = served.connect();
    // The server may have closed already.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Makes one request, and checks its answer.
fn one(client: &mut Client<'_>, random: &mut Random) {
    let served = client.served;
    match random.below(8) {
        0..3 => {
            let body = random.body();
            let response = client.ask("POST", "/", "application/json", &body);
            let text = String::from_utf8_lossy(&body);
            assert_eq!(response.status, 200, "{text}: {response:?}");
            // Notifications have none.
            if response.body.is_empty() {
                return;
            }
            let answers = match response.json() {
                Value::Array(all) => all,
                one => vec![one],
            };
            for answer in answers {
                let is_whole = answer.get("result").is_some() != answer["error"].is_object();
                assert!(is_whole, "{text}: {answer}");
            }
        }
        3..6 => {
            let query = random.query();
            let path = random.pick(&["/api", "/v2/api"]);
            let response = match random.one_in(4) {
                true => {
                    let kind = "application/x-www-form-urlencoded";
                    client.ask("POST", path, kind, query.as_bytes())
                }
                false => client.ask("GET", &format!("{path}?{query}"), "text/plain", b""),
            };
            assert_eq!(response.status, 200, "{query}: {response:?}");
            assert!(response.json().is_object(), "{query}");
            assert_eq!(response.headers["content-type"], "application/json");
        }
        6 => {
            let path = random.pick(&PATHS);
            let answer = exchange(
                served,
                format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes(),
            );
            check(&answer, path.as_bytes());
        }
        _ => {
            let bytes = random.bytes();
            check(&exchange(served, &bytes), &bytes);
        }
    }
}

/// Whether the server understood or refused, and did not fail.
fn check(answer: &str, request: &[u8]) {
    let request = String::from_utf8_lossy(request);
    assert!(!answer.contains("root:"), "{request}: {answer}");
    assert!(
        !answer.to_ascii_lowercase().contains("\naccess-control"),
        "{request}: {answer}"
    );
    let statuses = answer.lines().filter(|line| line.starts_with("HTTP/1."));
    for status in statuses.filter_map(|line| line.split(' ').nth(1)) {
        // A version that does not exist is 505.
        assert!(
            !status.starts_with('5') || status == "505",
            "{request}: {answer}"
        );
    }
}

/// The memory of this process in KiB, the client and the server.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn setting(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
    )
}

#[test]
fn random_requests_are_answered() {
    let asked = setting("TXGRAPH_SERVE_REQUESTS");
    let count = asked.map_or(FEW, |count| usize::try_from(count).unwrap());
    let seed = setting("TXGRAPH_SERVE_SEED").unwrap_or(1);
    // Bytes that begin a request end at once, because the client ends its half of the connection.
    let time = Duration::from_secs(60);
    let served = Served::limited(&small(), |limits| limits.send_time = time);
    let run = |count: usize, seed: u64| {
        thread::scope(|scope| {
            for number in 0..CLIENTS as u64 {
                let served = &served;
                scope.spawn(move || {
                    let seed = 0x2545_f491_4f6c_dd1d ^ (seed << 8 | number);
                    let mut random = Random(Xorshift(seed));
                    let mut client = Client::new(served);
                    for _ in 0..count / CLIENTS {
                        one(&mut client, &mut random);
                    }
                });
            }
        });
    };
    let first = count / 10;
    run(first, seed);
    let before = memory();
    run(count - first, seed + 1);
    let after = memory();
    let _ = writeln!(
        io::stderr(),
        "{count} random requests, seed {seed}: memory {before} KiB after {first}, {after} KiB at the end"
    );
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("\ntxgraph_panics_total 0\n"), "{metrics}");
    assert!(metrics.contains("\ntxgraph_running 0\n"), "{metrics}");
    // Other tests share the process in an ordinary run.
    if asked.is_some() {
        assert!(
            after < before + GROWTH_KIB,
            "memory grew from {before} to {after} KiB"
        );
    }
}
