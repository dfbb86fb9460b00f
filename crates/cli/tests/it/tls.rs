//! JSON-RPC over TLS, with certificates of an authority that the test makes.

use crate::harness::{Run, Sample, bare, run};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};
use std::{
    fs,
    io::{BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};
use txgraph_testkit::rpc::{RpcServer, read_request};

/// Makes an authority with this name, and a certificate of it for this host. Returns the certificate of the
/// authority as PEM.
fn certificates(name: &str, host: &str) -> (String, ServerConfig) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.key_usages.push(KeyUsagePurpose::KeyCertSign);
    let authority_key = KeyPair::generate().unwrap();
    let root = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::from_params(&authority, &authority_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (root.pem(), config)
}

/// Passes requests over TLS on to a server without it. Returns the URL. The thread ends with the
/// test.
fn start(config: ServerConfig, server: &RpcServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let plain = server.url().replace("http://", "");
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, plain) = (Arc::clone(&config), plain.clone());
            // Clients that do not trust the certificate end the connection.
            thread::spawn(move || drop(serve(stream, config, &plain)));
        }
    });
    url
}

/// Answers one request.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, plain: &str) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut client = BufReader::new(StreamOwned::new(connection, stream));
    let Some(body) = read_request(&mut client)? else {
        return Ok(());
    };
    let mut server = TcpStream::connect(plain)?;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: plain\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    server.write_all(&[head.as_bytes(), &body].concat())?;
    server.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    server.read_to_string(&mut answer)?;
    let answer = answer.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let client = client.get_mut();
    client.write_all(answer.as_bytes())?;
    client.conn.send_close_notify();
    client.flush()
}

/// Asks for transfers, with these certificates in place of the certificates of the system.
fn ask(sample: &Sample, url: &str, certificates: &str) -> Run {
    let path = sample.path("roots.pem");
    fs::write(&path, certificates).unwrap();
    let mut command = bare(sample.folder.path());
    command.args(["transfers", "-q", "--source"]);
    command.arg(format!("rpc:{url}/KEY"));
    command.env("SSL_CERT_FILE", &path);
    command.env_remove("SSL_CERT_DIR");
    run(&mut command)
}

#[test]
fn queries_over_tls_need_a_trusted_certificate() {
    let sample = Sample::small();
    let expected = sample.ok("transfers -q").stdout;
    let server = RpcServer::start(&sample.fixture);
    let (root, config) = certificates("one", "127.0.0.1");
    let url = start(config, &server);
    let answer = ask(&sample, &url, &root).ended(0);
    assert!(answer.stdout == expected);
    assert!(!server.take_asked().is_empty());

    // Another authority is trusted.
    let (other, _) = certificates("two", "127.0.0.1");
    let refused = ask(&sample, &url, &other).ended(1);
    for part in [
        &format!("{url}/…: eth_chainId"),
        "the certificate of this host is not trusted",
        "SSL_CERT_FILE",
    ] {
        refused.says(part);
    }
    assert!(!refused.stderr.contains("KEY"), "{refused:?}");
    assert!(!refused.stderr.contains("attempts"), "{refused:?}");

    // A certificate of another host.
    let (root, config) = certificates("three", "other.example");
    let url = start(config, &server);
    let refused = ask(&sample, &url, &root).ended(1);
    for part in ["the certificate of this host is not valid", "127.0.0.1"] {
        refused.says(part);
    }
    // No query was sent without trust.
    assert!(server.take_asked().is_empty());
}
