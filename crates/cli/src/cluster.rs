//! `--cluster`: a query for the executors of a cluster.
//!
//! The plain program does not contain the cluster. It replaces itself with the driver
//! `txgraph-cluster`, a second program over this library that opens sources with a [`Cluster`].

use clap::Args;
use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process,
};
use txgraph::{Config, Error, ErrorKind, Result, RunControl, Source};

/// The environment variable with the scheduler of a cluster, as `HOST:PORT`.
pub(crate) const CLUSTER_ENV: &str = "TXGRAPH_CLUSTER";

/// The file name of the driver.
const DRIVER: &str = "txgraph-cluster";

/// A cluster that runs the query.
#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    /// Scheduler of a cluster that runs the query
    ///
    /// Needs the program txgraph-cluster, next to txgraph or on PATH. Environment: TXGRAPH_CLUSTER.
    #[arg(
        long,
        value_name = "HOST:PORT",
        value_parser = scheduler,
        help_heading = "Cluster"
    )]
    pub(crate) cluster: Option<String>,

    /// Directory that keeps a run on a cluster: query, hops, result
    ///
    /// The same command continues a run that was interrupted. Only with a cluster.
    #[arg(long, value_name = "DIR", help_heading = "Cluster")]
    pub(crate) run: Option<PathBuf>,
}

/// Opens sources whose queries a cluster answers.
pub trait Cluster: fmt::Debug {
    /// Opens the source of `config` on the cluster.
    ///
    /// The threads of `config` are not in `control` yet: [`Source::with_backend_and`] adds them.
    ///
    /// # Errors
    ///
    /// Whatever prevents the cluster from answering the query.
    fn open(&self, query: &ClusterQuery, config: &Config, control: &RunControl) -> Result<Source>;
}

/// A command line for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterQuery {
    /// The scheduler, as `HOST:PORT`.
    pub scheduler: String,
    /// The folder that keeps the run, from `--run`.
    pub run: Option<PathBuf>,
    /// The arguments as typed, without the name of the program. Bytes that are not UTF-8 are
    /// replaced.
    pub args: Vec<String>,
}

impl ClusterQuery {
    /// Returns the query for the cluster, or `None` for one that this machine runs.
    pub(crate) fn new(asked: &ClusterArgs, args: &[OsString]) -> Result<Option<Self>> {
        let run = asked.run.clone();
        let scheduler = match &asked.cluster {
            Some(scheduler) => Some(scheduler.clone()),
            None => from_env()?,
        };
        match scheduler {
            Some(scheduler) => Ok(Some(Self {
                scheduler,
                run,
                args: args
                    .iter()
                    .map(|arg| arg.to_string_lossy().into_owned())
                    .collect(),
            })),
            None if run.is_some() => Err(Error::usage(format!(
                "--run needs a cluster: pass --cluster HOST:PORT, or set {CLUSTER_ENV}"
            ))),
            None => Ok(None),
        }
    }
}

fn from_env() -> Result<Option<String>> {
    let Some(value) = env::var_os(CLUSTER_ENV).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let scheduler = scheduler(&value.to_string_lossy());
    scheduler
        .map(Some)
        .map_err(|error| Error::usage(format!("{CLUSTER_ENV}: {error}")))
}

/// Parses `HOST:PORT`.
pub(crate) fn scheduler(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':');
    match parts.map(|(host, port)| (host, port.parse::<u16>())) {
        Some((host, Ok(port))) if !host.is_empty() && port > 0 => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is not HOST:PORT")),
    }
}

/// Replaces this process with the driver, which gets the same arguments. Returns only an error.
pub(crate) fn hand_over(args: &[OsString]) -> Error {
    let executable = env::current_exe().ok();
    let folder = executable.as_deref().and_then(Path::parent);
    let path = env::var_os("PATH").unwrap_or_default();
    match find(folder, &path) {
        Ok(driver) => {
            let error = process::Command::new(&driver).args(args).exec();
            let message = format!("cannot start {}", driver.display());
            Error::new(ErrorKind::Failed, message).because(error)
        }
        Err(error) => error,
    }
}

/// Finds the driver in `folder`, or in the folders of `path`, which has the form of `PATH`.
fn find(folder: Option<&Path>, path: &OsStr) -> Result<PathBuf> {
    let next_to = folder.map(|folder| folder.join(DRIVER));
    if let Some(driver) = next_to.iter().find(|file| is_executable(file)) {
        return Ok(driver.clone());
    }
    let on_path = env::split_paths(path)
        .filter(|folder| !folder.as_os_str().as_bytes().is_empty())
        .map(|folder| folder.join(DRIVER));
    for file in on_path {
        if is_executable(&file) {
            return Ok(file);
        }
    }
    let looked = match next_to {
        Some(file) => format!("as {} and on PATH", file.display()),
        None => "on PATH".to_owned(),
    };
    Err(Error::usage(format!(
        "--cluster needs the program {DRIVER}, which was looked for {looked}"
    ))
    .hint(
        "build it with `cargo build -p txgraph-distributed --release`; docs/cluster.md describes \
         clusters",
    ))
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn schedulers_are_host_and_port() {
        for text in ["localhost:50050", "10.0.0.1:1", "[::1]:50050"] {
            assert_eq!(scheduler(text).unwrap(), text);
        }
        for text in ["localhost", ":50050", "host:", "host:0", "host:70000", ""] {
            assert_eq!(
                scheduler(text).unwrap_err(),
                format!("`{text}` is not HOST:PORT")
            );
        }
    }

    #[test]
    fn driver_next_to_the_program_is_preferred_to_one_on_path() {
        let place = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| place.path().join(name));
        for folder in [&near, &far] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(DRIVER), "").unwrap();
        }
        let allow = |folder: &Path| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.join(DRIVER), mode).unwrap();
        };
        // Files that cannot be executed are not the driver.
        assert!(find(Some(&near), far.as_os_str()).is_err());
        allow(&far);
        assert_eq!(
            find(Some(&near), far.as_os_str()).unwrap(),
            far.join(DRIVER)
        );
        allow(&near);
        assert_eq!(
            find(Some(&near), far.as_os_str()).unwrap(),
            near.join(DRIVER)
        );
        // An empty entry of PATH is the current directory in a shell, and nothing here.
        assert!(find(None, OsStr::new(":")).is_err());
    }
}
