//! `txgraph serve`.

use super::Context;
use crate::{
    args::{AbiArgs, NameArgs},
    progress,
};
use clap::Args;
use std::{env, fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use txgraph::{Error, IndexChoice, Result, RunControl, Source};
use txgraph_serve::{AccessLog, Limits, Names, Server, Settings};

/// The token, unless a file has it.
const TOKEN_ENV: &str = "TXGRAPH_SERVE_TOKEN";

/// The memory for the transfers of one search, unless --memory is given.
const MEMORY_BYTES: u64 = 256 << 20;

/// How often to look whether the chain has changed, and the index with it.
const EXTEND_INDEX: Duration = Duration::from_secs(5);

/// Explore in a browser, and answer explorers and wallets over HTTP
///
/// Reads the data directory of a node. Browsers get a page at /. Programs get JSON-RPC (eth, trace, debug,
/// ots) at /, the API of Etherscan at /v2/api and /api, and its own API for graphs, paths and labels at
/// /v1 (described by /v1/openapi.json). `latest` is the newest block that the node has stored. What is not in
/// the data directory is asked from the server of --head. A range that is pruned or missing is an error.
/// An index is extended while the server runs. Ends at Ctrl-C or SIGTERM, after the requests that it works on.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Address and port
    ///
    /// An address that other machines reach needs a token.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8600")]
    listen: SocketAddr,

    /// File with the token that every client must send
    ///
    /// Clients send it as `Authorization: Bearer TOKEN`, or as `apikey=TOKEN` in the URL. Environment:
    /// TXGRAPH_SERVE_TOKEN has the token itself.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Name of this machine that clients may use
    ///
    /// Addresses and `localhost` need no entry.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_host: Vec<String>,

    /// Site whose pages may ask, such as http://localhost:5100
    ///
    /// For browser programs that are served from elsewhere, as Otterscan is. Pages of other sites are refused.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    allow_origin: Vec<String>,

    /// Seconds for one request
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,

    /// Requests that are worked on at a time [default: two for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,

    #[command(flatten)]
    names: NameArgs,

    #[command(flatten)]
    functions: AbiArgs,
}

const EXAMPLES: &str = "\
Examples:
    $ txgraph serve --datadir ~/.local/share/reth/mainnet --head http://localhost:8545
    $ cast logs --rpc-url http://127.0.0.1:8600 'Transfer(address,address,uint256)'
";

pub(crate) fn run(args: &ServeArgs, context: &Context<'_>) -> Result<()> {
    let mut config = context.global.config()?;
    // Blocks above those on the disk are asked from the head as a whole, not joined.
    let head = config.head.take();
    let head = head.map(|head| head.location().to_string_lossy().into_owned());
    // Of each of several requests at a time.
    config.memory.get_or_insert(MEMORY_BYTES);
    let source = Source::with_config(&config, &RunControl::default())?;
    let terminal = context.terminal;
    terminal.stats.protect(&source);
    let names = Names {
        labels: args.names.labels.read(&source, terminal)?,
        tokens: source
            .token_list(&args.names.tokens.token_list)?
            .unwrap_or_default(),
        functions: args.functions.read(terminal)?,
    };
    let wants_index = !matches!(config.index, Some(IndexChoice::Off));
    let lacks_index = wants_index && !source.has_index()?;
    let mut limits = Limits {
        time: Duration::from_secs(args.time_limit),
        ..Limits::default()
    };
    if let Some(workers) = args.workers {
        limits.workers = workers.into();
    }
    let log = || -> AccessLog { Arc::new(|line| progress::say(format_args!("{line}"))) };
    let settings = Settings {
        token: token(args)?,
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
        head,
        names,
        extend_index: wants_index.then_some(EXTEND_INDEX),
        limits,
        access_log: (!context.global.run.quiet).then(log),
        ..Settings::new(args.listen)
    };
    let server = Server::bind(source, settings)?;
    terminal.note(format_args!("listening at http://{}", server.address()));
    if !args.listen.ip().is_loopback() {
        terminal.warn(format_args!(
            "other hosts can connect, and neither answers nor the token are encrypted: put a proxy with TLS \
             in front"
        ));
    }
    if lacks_index {
        terminal.note(format_args!(
            "there is no index: transfers and transactions of an address are found by reading all blocks \
             (`txgraph index build --with-internal --with-transactions`)"
        ));
    }
    server.run(&terminal.cancel)?;
    terminal.note(format_args!("stopped"));
    Ok(())
}

fn token(args: &ServeArgs) -> Result<Option<String>> {
    if let Some(path) = &args.token_file {
        let text = fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        return Ok(Some(text.trim().to_owned()));
    }
    match env::var(TOKEN_ENV) {
        Ok(token) if !token.is_empty() => Ok(Some(token)),
        Ok(_) | Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Error::usage(format!("{TOKEN_ENV} is not text"))),
    }
}
