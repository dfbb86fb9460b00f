//! A small server in the place of the node.

use serde_json::{Value, json};
use std::{
    io::{BufReader, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use txgraph_testkit::rpc::read_whole_request;

/// The number of the chain of the small fixture, and the hash of its genesis block.
const CHAIN: (u64, &str) = (
    735_703,
    "0xe1e1e99386dc34f3332d6acf0f9308e3199440b12795955d080565cbfb83551b",
);

/// How the node treats a request.
pub(crate) enum Reply {
    /// An answer with this body.
    Body(Vec<u8>),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, until the node is released.
    Hang,
}

/// A request that the node got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    /// The lines before the body.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// A server in the place of the node.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    pub(crate) got: Arc<Mutex<Vec<Got>>>,
    /// The number of its chain.
    pub(crate) chain: Arc<AtomicU64>,
    released: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// A node that answers as `reply` says, on any port.
    pub(crate) fn new(reply: impl Fn(&Got) -> Reply + Send + Sync + 'static) -> Self {
        Self::at(0, reply)
    }

    pub(crate) fn at(port: u16, reply: impl Fn(&Got) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let released = Arc::new(AtomicBool::new(false));
        let ends = Arc::new(AtomicBool::new(false));
        let (all, reply) = (Arc::clone(&got), Arc::new(reply));
        let chain = Arc::new(AtomicU64::new(CHAIN.0));
        let id = Arc::clone(&chain);
        let (opens, stops) = (Arc::clone(&released), Arc::clone(&ends));
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let open = Arc::clone(&connections);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stops.load(Ordering::SeqCst) {
                    break;
                }
                let (all, reply, opens) = (all.clone(), reply.clone(), opens.clone());
                let id = id.clone();
                let stream = stream.unwrap();
                open.lock().unwrap().push(stream.try_clone().unwrap());
                thread::spawn(move || serve(&stream, &all, &*reply, &opens, &id));
            }
        });
        Self {
            address,
            got,
            chain,
            released,
            ends,
            connections,
            thread: Some(thread),
        }
    }

    /// A node whose result for each method is the name of the method.
    pub(crate) fn echo() -> Self {
        Self::new(|got| Reply::Body(result(got["method"].clone()).into_bytes()))
    }

    /// A node that answers everything with this body.
    pub(crate) fn with_body(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::new(move |_| Reply::Body(body.clone()))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The methods and parameters that it got.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        let got = self.got.lock().unwrap();
        let call = |got: &Got| {
            let method = got.body["method"].as_str().unwrap().to_owned();
            (method, got.body["params"].clone())
        };
        got.iter().map(call).collect()
    }

    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.release();
        self.ends.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl std::ops::Index<&str> for Got {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        &self.body[name]
    }
}

/// Answers the requests of a connection.
fn serve(
    stream: &TcpStream,
    all: &Mutex<Vec<Got>>,
    reply: &dyn Fn(&Got) -> Reply,
    released: &AtomicBool,
    chain: &AtomicU64,
) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    while let Ok(Some((head, body))) = read_whole_request(&mut reader) {
        let body = serde_json::from_slice(&body).unwrap();
        let got = Got { head, body };
        // Before its first question, a server asks for the chain.
        if let Some(known) = chain_of(&got.body, chain) {
            let body = result(known);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = writer.write_all((head + &body).as_bytes());
            continue;
        }
        all.lock().unwrap().push(got.clone());
        let body = match reply(&got) {
            Reply::Body(body) => body,
            Reply::Raw(bytes) => {
                let _ = writer.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
            Reply::Hang => {
                while !released.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(5));
                }
                result(json!("late")).into_bytes()
            }
        };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ = writer.write_all(&[head.as_bytes(), &body].concat());
    }
}

/// The answers to questions about the chain of the small fixture.
fn chain_of(call: &Value, chain: &AtomicU64) -> Option<Value> {
    match call["method"].as_str()? {
        "eth_chainId" => Some(json!(format!("{:#x}", chain.load(Ordering::SeqCst)))),
        "eth_getBlockByNumber" if call["params"] == json!(["0x0", false]) => {
            Some(json!({ "hash": CHAIN.1 }))
        }
        _ => None,
    }
}

/// A response with this result.
pub(crate) fn result(value: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "result": value }).to_string()
}
