//! Clusters with certificates.

use crate::harness::{Cluster, driver, free_port, host, ok, run};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use std::{fs, net::TcpStream, path::Path, process::Command, thread::sleep, time::Duration};
use txgraph_distributed::TLS_ENV;
use txgraph_testkit::fixtures;

/// An authority.
struct Authority {
    params: CertificateParams,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages.push(KeyUsagePurpose::KeyCertSign);
        let key = KeyPair::generate().unwrap();
        Self { params, key }
    }

    /// Writes a certificate with this name that ends in a year, and the certificate of `trusted`.
    fn write(&self, folder: &Path, (name, year): (&str, i32), trusted: &Self) {
        let issuer = Issuer::from_params(&self.params, &self.key);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let root = trusted.params.self_signed(&trusted.key).unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("ca.pem"), root.pem()).unwrap();
        fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    }
}

const GOOD: (&str, i32) = ("txgraph.cluster", 2100);
const QUERY: &str = "transfers -q --format csv";

#[test]
fn only_certificates_of_the_cluster_are_admitted() {
    let place = tempfile::tempdir().unwrap();
    let [node, _] = fixtures::committed();
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let folder = |name: &str| place.path().join(name);
    ours.write(&folder("ours"), GOOD, &ours);
    ours.write(&folder("expired"), (GOOD.0, 2020), &ours);
    ours.write(&folder("name"), ("localhost", 2100), &ours);
    // It trusts the cluster, and is not trusted.
    other.write(&folder("foreign"), GOOD, &ours);
    other.write(&folder("distrustful"), GOOD, &other);
    let cluster = Cluster::start_with(&[Some(node.path()); 2], 6, Some(&folder("ours")));

    let local = format!("{QUERY} --datadir {}", node.path().display());
    let local = ok(place.path(), &local);
    assert!(local.stdout.lines().count() > 100, "{local:?}");
    assert_eq!(cluster.ok(QUERY).stdout, local.stdout);

    let with = |certificates: Option<&str>| {
        let mut command = cluster.driver(QUERY);
        match certificates {
            Some(name) => command.env(TLS_ENV, folder(name)),
            None => command.env_remove(TLS_ENV),
        };
        run(&mut command)
    };
    for (certificates, why) in [
        (Some("expired"), "CertificateExpired"),
        (Some("foreign"), "UnknownCA"),
        (Some("distrustful"), "UnknownIssuer"),
        (None, TLS_ENV),
    ] {
        let refused = with(certificates).ended(1);
        refused.says(&cluster.address());
        refused.says(why);
        assert!(refused.stdout.is_empty(), "{refused:?}");
    }
    let mut executor = Command::new(env!("CARGO_BIN_EXE_txgraph-executor"));
    executor.args(["--scheduler", &cluster.address(), "--work-dir"]);
    executor.arg(folder("work")).env_remove(TLS_ENV);
    let ports = [free_port(), free_port()].map(|port| port.to_string());
    executor.args(["--port", &ports[0], "--grpc-port", &ports[1]]);
    run(&mut executor).ended(1).says("name yours with --tls");

    // A client with another name is admitted; a server needs the name of the cluster.
    assert_eq!(with(Some("name")).ended(0).stdout, local.stdout);
    let (port, name) = (free_port(), folder("name"));
    let _scheduler = Cluster::start_scheduler(place.path(), port, 6, Some(&name));
    let address = format!("{}:{port}", host(Some(&name)));
    let listens = || TcpStream::connect(&address).is_ok();
    assert!((0..600).any(|_| listens() || {
        sleep(Duration::from_millis(100));
        false
    }));
    let mut asked = driver(place.path(), &format!("{QUERY} --cluster {address}"));
    let refused = run(asked.env(TLS_ENV, folder("ours"))).ended(1);
    refused.says(&address);
    refused.says("certificate not valid for name");

    let missing = with(Some("nowhere")).ended(2);
    missing.says("ca.pem");
    // It still answers after all of these.
    assert_eq!(cluster.ok(QUERY).stdout, local.stdout);
}

#[test]
fn servers_without_certificates_stay_on_loopback() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    let certificates = place.path().join("ours");
    authority.write(&certificates, GOOD, &authority);
    let certificates = certificates.display();
    let work = place.path().join("work").display().to_string();
    for (program, line, why) in [
        (
            "scheduler",
            "--listen 0.0.0.0:0".to_owned(),
            "cluster-certs.sh",
        ),
        (
            "executor",
            format!("--listen 192.0.2.1 --work-dir {work}"),
            "cluster-certs.sh",
        ),
        (
            "scheduler",
            format!("--listen 0.0.0.0:0 --tls {certificates}"),
            "0.0.0.0",
        ),
    ] {
        let path = match program {
            "scheduler" => env!("CARGO_BIN_EXE_txgraph-scheduler"),
            _ => env!("CARGO_BIN_EXE_txgraph-executor"),
        };
        let mut command = Command::new(path);
        let refused = run(command.args(line.split_whitespace()).env_remove(TLS_ENV)).ended(2);
        refused.says(why);
    }
}
