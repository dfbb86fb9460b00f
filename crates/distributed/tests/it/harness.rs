//! Starts clusters, and runs the driver.

use std::{
    fs,
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use txgraph_distributed::{CLUSTER_CONFIG_ENV, TLS_ENV};
pub(crate) use txgraph_testkit::program::{Run, run};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    program::bare,
};

/// The longest time that a process needs to start, or to notice that another one is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The transfers of a chain.
pub(crate) const TRANSFERS: &str = "transfers -q --format csv -o -";

/// An address of the committed chain.
pub(crate) const ROOT: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";

/// A scheduler and executors. They end with this value.
pub(crate) struct Cluster {
    pub(crate) folder: TempDir,
    pub(crate) scheduler: Process,
    pub(crate) executors: Vec<Process>,
    port: u16,
    /// Seconds without a sign of life after which an executor is lost.
    timeout: u64,
    started: Mutex<usize>,
    certificates: Option<PathBuf>,
}

/// A process that is killed with this value.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Ends it as a loss of power would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The most memory that it had, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"));
        let words: Vec<_> = line.unwrap().split_whitespace().collect();
        words[1].parse().unwrap()
    }

    /// Stops or continues it.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let done = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(done.success());
    }
}

/// A port that nothing uses at the moment, and that this process did not give before. It is below
/// the ports that the system chooses for connections.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + std::process::id() % 20_000;
    loop {
        let port = u16::try_from(first).unwrap() + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Options that name the source of an executor, and its chain.
fn source_options(source: Option<&Path>) -> Vec<String> {
    let Some(source) = source else {
        return Vec::new();
    };
    let mut options = vec!["--source".to_owned(), source.display().to_string()];
    let genesis = source.join("genesis.json");
    if genesis.exists() {
        options.extend(["--chain".to_owned(), genesis.display().to_string()]);
    }
    options
}

/// The address of processes. With certificates it is not the address behind their gates.
pub(crate) fn host(certificates: Option<&Path>) -> &'static str {
    match certificates {
        Some(_) => "127.0.0.3",
        None => "127.0.0.1",
    }
}

fn tls_options(certificates: Option<&Path>) -> Vec<String> {
    let folder = certificates.map(|folder| folder.display().to_string());
    folder.map_or_else(Vec::new, |folder| vec!["--tls".to_owned(), folder])
}

fn start(program: &str, log: PathBuf, args: &[String]) -> Process {
    let file = File::create(&log).unwrap();
    let child = bare(program, log.parent().unwrap())
        .args(args)
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .unwrap();
    Process { child, log }
}

impl Cluster {
    /// Starts a scheduler, and executors with the committed chain, whose files live as long as the fixture.
    pub(crate) fn small(executors: usize) -> (Fixture, Self) {
        let [_, v2] = fixtures::committed();
        let cluster = Self::start(&vec![Some(v2.path()); executors]);
        (v2, cluster)
    }

    /// Starts a scheduler, and an executor for each source; `None` is an executor without one.
    pub(crate) fn start(sources: &[Option<&Path>]) -> Self {
        Self::start_with(sources, 6, None)
    }

    /// The same, with a time after which silent executors are lost, and with the certificates of a
    /// folder.
    pub(crate) fn start_with(
        sources: &[Option<&Path>],
        timeout: u64,
        certificates: Option<&Path>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let scheduler = Self::start_scheduler(folder.path(), port, timeout, certificates);
        let mut cluster = Self {
            folder,
            scheduler,
            executors: Vec::new(),
            port,
            timeout,
            started: Mutex::new(0),
            certificates: certificates.map(Path::to_owned),
        };
        for source in sources {
            cluster.add(*source);
        }
        cluster.wait(sources.len());
        cluster
    }

    pub(crate) fn start_scheduler(
        folder: &Path,
        port: u16,
        timeout: u64,
        certificates: Option<&Path>,
    ) -> Process {
        let program = env!("CARGO_BIN_EXE_txgraph-scheduler");
        let mut args = vec![
            "--listen".to_owned(),
            format!("{}:{port}", host(certificates)),
            "--executor-timeout".to_owned(),
            timeout.to_string(),
        ];
        args.extend(tls_options(certificates));
        start(program, folder.join("scheduler.log"), &args)
    }

    /// Starts the scheduler again, at the same address.
    pub(crate) fn restart_scheduler(&mut self) {
        let (folder, certificates) = (self.folder.path(), self.certificates.as_deref());
        self.scheduler = Self::start_scheduler(folder, self.port, self.timeout, certificates);
    }

    /// Starts another executor.
    pub(crate) fn add(&mut self, source: Option<&Path>) {
        let work = format!("work-{}", self.next());
        let work = self.folder.path().join(work);
        self.add_as(source, &work, &[]);
    }

    fn next(&self) -> usize {
        let mut started = self.started.lock().unwrap();
        *started += 1;
        *started
    }

    /// Starts another executor, which has a file system of its own at a path. Returns false if this
    /// process may not mount one.
    pub(crate) fn add_with_own(&mut self, source: Option<&Path>, at: &Path, options: &str) -> bool {
        fs::create_dir_all(at).unwrap();
        let mount = format!("mount -t tmpfs -o {options} tmpfs {}", at.display());
        let mut can = Command::new("unshare");
        can.args(["-m", "sh", "-c", &mount]).stderr(Stdio::null());
        if !can.status().is_ok_and(|status| status.success()) {
            println!("skipped: this process may not mount a file system");
            return false;
        }
        let script = format!("{mount} && exec \"$@\"");
        let prefix = ["unshare", "-m", "sh", "-c", &script, "sh"].map(str::to_owned);
        let work = self.folder.path().join(format!("work-{}", self.next()));
        self.add_as(source, &work, &prefix);
        true
    }

    /// Starts another executor by a command in front of it.
    fn add_as(&mut self, source: Option<&Path>, work: &Path, prefix: &[String]) {
        let program = env!("CARGO_BIN_EXE_txgraph-executor").to_owned();
        let mut words = prefix.iter().cloned().chain([program]);
        let program = words.next().unwrap();
        let mut args: Vec<_> = words.collect();
        args.extend(source_options(source));
        args.extend([
            "--scheduler".to_owned(),
            self.address(),
            "--port".to_owned(),
            free_port().to_string(),
            "--grpc-port".to_owned(),
            free_port().to_string(),
            "--work-dir".to_owned(),
            work.display().to_string(),
            "--tasks".to_owned(),
            "2".to_owned(),
            "--heartbeat".to_owned(),
            "1".to_owned(),
            "--memory".to_owned(),
            (512 << 20).to_string(),
            "--listen".to_owned(),
            host(self.certificates.as_deref()).to_owned(),
        ]);
        args.extend(tls_options(self.certificates.as_deref()));
        let log = format!("executor-{}.log", self.next());
        let log = self.folder.path().join(log);
        self.executors.push(start(&program, log, &args));
    }

    /// The address of the scheduler.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", host(self.certificates.as_deref()), self.port)
    }

    /// Waits until this many executors are registered.
    pub(crate) fn wait(&self, executors: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.registered();
            if found == Some(executors) {
                return;
            }
            assert!(
                Instant::now() < end,
                "{found:?} executors instead of {executors}; {}",
                self.logs()
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn registered(&self) -> Option<usize> {
        // Behind its gate, if it has one.
        let url = format!("http://127.0.0.1:{}/api/executors", self.port);
        let text = ureq::get(&url).call().ok()?.body_mut().read_to_string();
        let list: Vec<serde_json::Value> = serde_json::from_str(&text.ok()?).ok()?;
        Some(list.len())
    }

    /// The output of the processes.
    pub(crate) fn logs(&self) -> String {
        let processes = std::iter::once(&self.scheduler).chain(&self.executors);
        let log = |process: &Process| {
            let text = fs::read_to_string(&process.log).unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(30).collect();
            let lines: Vec<_> = lines.into_iter().rev().collect();
            format!("{}:\n{}\n", process.log.display(), lines.join("\n"))
        };
        processes.map(log).collect()
    }

    /// The driver with a query for the cluster.
    pub(crate) fn driver(&self, line: &str) -> Command {
        let mut command = driver(self.folder.path(), line);
        command.arg("--cluster").arg(self.address());
        if let Some(folder) = &self.certificates {
            command.env(TLS_ENV, folder);
        }
        command
    }

    /// Sets how later drivers use the cluster.
    pub(crate) fn configure(&self, settings: &str) {
        let path = self.folder.path().join(SETTINGS);
        fs::write(path, format!("[driver]\n{settings}\n")).unwrap();
    }

    /// Kills an executor, and starts another one in its place.
    pub(crate) fn replace_executor(&mut self, at: usize, source: Option<&Path>) {
        drop(self.executors.remove(at));
        self.add(source);
    }

    /// Asks the cluster.
    pub(crate) fn ask(&self, line: &str) -> Run {
        run(&mut self.driver(line))
    }

    /// Asks the cluster, and asserts success.
    pub(crate) fn ok(&self, line: &str) -> Run {
        let run = self.ask(line);
        assert_eq!(run.status, 0, "{line}: {run:?}\n{}", self.logs());
        run
    }
}

/// The settings of drivers, in the folder in which they run.
const SETTINGS: &str = "cluster.toml";

/// The driver, which without `--cluster` is the local program.
pub(crate) fn driver(folder: &Path, line: &str) -> Command {
    let mut command = bare(env!("CARGO_BIN_EXE_txgraph-cluster"), folder);
    command.args(line.split_whitespace());
    if folder.join(SETTINGS).exists() {
        command.env(CLUSTER_CONFIG_ENV, SETTINGS);
    }
    command
}

/// Runs the driver, and asserts success.
#[track_caller]
pub(crate) fn ok(folder: &Path, line: &str) -> Run {
    run(&mut driver(folder, line)).ended(0)
}
