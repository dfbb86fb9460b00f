//! txgraph's queries on Apache DataFusion Ballista, with the same answers.
//!
//! ```text
//!  txgraph-cluster (driver)                      txgraph-executor, on each host
//!  query ─► façade ─► search ─► request       WorkExec ──────► source of the executor,
//!                 ▲                  │ job            │           or a lake
//!                 │ rows             ▼                │ a report for each chunk
//!          step of the run ◄── engine: scheduler ◄────┤
//!                 ▲                                   │ rows
//!                 └───────────────────────────────────┘
//! ```
//!
//! The driver runs the same search as the local engine. Its source of transfers turns each
//! request into a job: a plan of our operator over one row for each chunk of
//! blocks. Executors read the chunks with the readers of the local engine, write the rows into
//! the folder of the run, and report what they wrote. The driver checks the reports, and passes
//! the rows to the search. So a query has the same answer on a cluster, and a run that was
//! interrupted continues after its last step.
//!
//! Modules, each using only those before it: error, tls, functions, engine, rows,
//! settings, store, wire, parts, measure, serve, session, operator, run, chunks, table,
//! remote, ballista, executor, local, scheduler, backend, chain, source, sql, output, driver.

mod backend;
mod ballista;
mod chain;
mod chunks;
pub mod driver;
mod engine;
mod error;
pub mod executor;
mod functions;
mod local;
mod measure;
mod operator;
mod output;
mod parts;
mod remote;
mod rows;
pub mod run;
pub mod scheduler;
mod serve;
mod session;
mod settings;
mod source;
mod sql;
mod store;
mod table;
mod tls;
mod wire;

pub use backend::Driver;
pub use error::{Error, Refusal, RefusalKind, Result};
pub use rows::transfers_schema;
pub use run::Step;
pub use settings::{CLUSTER_CONFIG_ENV, Settings};
pub use tls::{TLS_ENV, TlsArgs};

use std::{
    future::Future,
    io::{self, IsTerminal},
    process::ExitCode,
};

/// Runs a scheduler or an executor as a process: with a log on stderr, and an exit status.
#[expect(clippy::print_stderr, reason = "the last words of a process")]
pub fn process(work: impl Future<Output = Result<()>>) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn,txgraph=info,ballista=info".into()))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(Error::Plan(format!("threads of the process: {error}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            match error {
                Error::Usage(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
