//! One function per user action, over an open node.

mod analyze;
mod graph;
mod index;
mod info;
mod replay;
mod transfers;

pub use analyze::{Analysis, AnalysisFormat, GraphRequest, analyze, write_analysis};
pub use graph::{GraphAnswer, graph, write_graph};
pub use index::{
    DroppedIndex, IndexBuild, IndexState, index_build, index_drop, index_status, index_update,
    index_verify,
};
pub use info::info;
pub use replay::{
    CallQuery, Called, ReplayQuery, Replayed, TokenNames, Trace, call, replay, token_metadata,
    write_replay,
};
pub use transfers::{TransfersAnswer, transfers, write_transfers};

use crate::{
    Config, DATADIR_ENV, Error, ErrorKind, Protected, Query, Result, Selection, lists,
    lists::parse_amount, outputs::Outputs, parse_blocks,
};
use alloy_primitives::U256;
use serde_json::Value;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};
use txgraph_export::{Metadata, TableFormat, Target, TokenList};
use txgraph_index::Index;
use txgraph_nodedb::NodeDb;
use txgraph_reader::{CancelFlag, NodeSource, Progress, ScanOptions};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, Kind, ScanReport, SourceError, TransferFilter,
    TransferSource, WrappedNative,
};

/// How often a question is asked again when the chain is reorganised under it.
const RESTARTS_MAX: u32 = 3;

/// Kinds of transfers that leave no trace in receipts and transactions.
const FOUND_BY_REPLAY: [Kind; 3] = [Kind::Internal, Kind::Fee, Kind::Priority];

/// Hears one line for each choice that was made.
pub type Explain = Arc<dyn Fn(&dyn std::fmt::Display) + Send + Sync>;

/// How a caller watches and stops what it started.
#[derive(Clone, Default)]
pub struct Control {
    /// Told how far scans have come.
    pub progress: Option<Arc<dyn Progress>>,
    /// Told how the question is going to be answered, and why.
    pub explain: Option<Explain>,
    /// Stops everything when set.
    pub cancel: CancelFlag,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control")
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}

/// An open node: its data directory, and how to use it.
#[derive(Debug)]
pub struct Node {
    db: Arc<NodeDb>,
    source: OnceLock<NodeSource>,
    /// The index, if one is to be used.
    index: OnceLock<Option<Index>>,
    config: Config,
    control: Control,
    protected: Protected,
}

/// Opens the data directory that `config` names, read-only.
pub fn open(config: &Config, control: &Control) -> Result<Node> {
    let Some(root) = &config.datadir else {
        let [ours, reths] = DATADIR_ENV;
        return Err(Error::usage("no data directory is named").hint(format!(
            "give it with --datadir, {ours}, {reths} or a configuration file; a node keeps it at \
             ~/.local/share/reth/<chain> unless told otherwise"
        )));
    };
    let dir = config.data_dir(root);
    tracing::info!(datadir = %root.display(), "opening");
    Ok(Node {
        db: Arc::new(NodeDb::open(&dir)?),
        source: OnceLock::new(),
        index: OnceLock::new(),
        protected: Protected::data_directory(&dir),
        config: config.clone(),
        control: control.clone(),
    })
}

impl Node {
    /// The node as a source of transfers, started at the first call.
    pub fn source(&self) -> Result<&NodeSource> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let explain = self.control.explain.clone();
        let options = ScanOptions {
            threads: self.config.threads,
            chunk_blocks: self.config.chunk_blocks,
            verify: self.config.verify.unwrap_or(false),
            explain: explain
                .map(|explain| -> txgraph_reader::Explain { Arc::new(move |plan| explain(plan)) }),
            progress: self.control.progress.clone(),
            cancel: self.control.cancel.clone(),
            ..ScanOptions::default()
        };
        let source = NodeSource::new(self.db.clone(), options, self.config.chain_id)?;
        Ok(self.source.get_or_init(|| source))
    }

    /// Ends what was asked to stop, between steps that do not look themselves.
    fn check_interrupted(&self) -> Result<()> {
        match self.control.cancel.is_cancelled() {
            true => Err(SourceError::Interrupted.into()),
            false => Ok(()),
        }
    }

    /// The chain of the node.
    pub fn chain(&self) -> Result<&ChainInfo> {
        Ok(self.source()?.chain())
    }

    /// The token list that is named, else the configured one.
    pub fn token_list(&self, named: Option<&str>) -> Result<Option<TokenList>> {
        let path = named.map(Path::new).or(self.config.token_list.as_deref());
        Ok(path.map(TokenList::load).transpose()?)
    }

    /// The highest block that can be read now.
    pub fn tip(&self) -> Result<u64> {
        Ok(self.db.snapshot()?.tip())
    }

    /// The blocks a selection names, against the present tip: nothing named means
    /// every block up to it.
    pub fn blocks(&self, selection: &Selection) -> Result<BlockRanges> {
        let Selection {
            blocks,
            from_block,
            to_block,
            ..
        } = selection;
        let bounds = from_block.is_some() || to_block.is_some();
        if bounds && !blocks.is_empty() {
            return Err(Error::usage(
                "blocks are named twice: by ranges and by first and last block",
            )
            .hint("take either --blocks, or --from-block and --to-block"));
        }
        let tip = self.tip()?;
        if bounds || blocks.is_empty() {
            let first = from_block.unwrap_or(0);
            let last = to_block.unwrap_or(tip);
            return match BlockRange::new(first, last) {
                Some(range) => Ok(range.into()),
                None if to_block.is_none() => Err(Error::new(
                    ErrorKind::Unavailable,
                    format!("block {first} is above the tip {tip}"),
                )),
                None => Err(Error::usage(format!(
                    "the first block {first} lies behind the last block {last}"
                ))),
            };
        }
        let mut ranges = Vec::new();
        for text in lists::values(blocks)? {
            for spec in parse_blocks(&text)? {
                ranges.extend(spec.resolve(tip)?.iter());
            }
        }
        if ranges.is_empty() {
            return Err(Error::usage("the list of blocks is empty"));
        }
        Ok(BlockRanges::new(ranges))
    }
}

impl Selection {
    /// Which transfers are wanted, wherever they are.
    fn filter(&self) -> Result<TransferFilter> {
        let mut kinds = self.kind.iter();
        if let Some(kind) = kinds.find(|kind| FOUND_BY_REPLAY.contains(kind))
            && !self.with_internal
        {
            return Err(Error::usage(format!(
                "transfers of kind `{kind}` are found by replaying transactions only"
            ))
            .hint("add --with-internal"));
        }
        Ok(TransferFilter {
            tokens: lists::tokens(&self.token, self.checksum())?,
            touching: None,
            min_value: match &self.min_value {
                Some(text) => {
                    parse_amount(text).map_err(|error| Error::usage(error).at("--min-value"))?
                }
                None => U256::ZERO,
            },
            standards: self.standard.clone(),
            kinds: self.kind.clone(),
            internal: self.with_internal,
        })
    }

    fn wrapped(&self) -> Result<WrappedNative> {
        lists::wrapped_native(&self.wrapped_native, self.checksum())
    }

    const fn checksum(&self) -> crate::Checksum {
        if self.no_checksum {
            crate::Checksum::Ignore
        } else {
            crate::Checksum::Verify
        }
    }
}

/// Asks again when the chain was reorganised meanwhile, as often as is sensible.
fn restarting<T>(mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    for attempt in 1..=RESTARTS_MAX {
        match ask() {
            Err(error) if error.kind == ErrorKind::Reorged => {
                tracing::warn!(attempt, "{error}; starting again");
            }
            done => return done,
        }
    }
    ask()
}

/// What stands beside an answer: the question without where it was written to.
fn metadata(query: &Query, chain: &ChainInfo, blocks: &BlockRanges, scan: &ScanReport) -> Metadata {
    let mut options = query.to_table();
    for key in ["output", "format", "overwrite", "vertices"] {
        options.remove(key);
    }
    let said = |value: &toml::Value| match value {
        toml::Value::Boolean(flag) => *flag,
        toml::Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    let question = options.into_iter().filter(|(_, value)| said(value));
    let question =
        question.map(|(key, value)| (key, serde_json::to_value(value).unwrap_or_default()));
    let mut metadata = Metadata::new(query.command(), Value::Object(question.collect()));
    metadata.chain = Some(chain.clone());
    metadata.requested = blocks.clone();
    metadata.scan = scan.clone();
    metadata
}

/// Whether a format for rows holds no metadata, so that a second file must.
const fn has_side_file(format: TableFormat) -> bool {
    matches!(format, TableFormat::Csv | TableFormat::Jsonl)
}

/// The formats of several outputs: `format` if it is given, else by extension. Each is
/// checked and added to `outputs`.
fn formats<F: Copy + std::str::FromStr<Err = txgraph_base::UnknownWord>>(
    output: &crate::Output,
    outputs: &mut Outputs<'_>,
    default: F,
    from_extension: impl Fn(&Path) -> Option<F>,
    table: impl Fn(F) -> Option<TableFormat>,
    known: impl Fn() -> String,
) -> Result<Vec<(F, Target)>> {
    let given = match &output.format {
        Some(word) => Some(
            word.parse()
                .map_err(|e: F::Err| Error::usage(e.to_string()))?,
        ),
        None => None,
    };
    if output.output.is_empty() {
        outputs.add(&Target::Stdout, false)?;
        return Ok(vec![(given.unwrap_or(default), Target::Stdout)]);
    }
    let mut targets: Vec<(F, Target)> = Vec::new();
    for path in &output.output {
        let target = Target::from(std::path::PathBuf::from(path));
        let format = match target.path() {
            None => given.unwrap_or(default),
            Some(path) => given.or_else(|| from_extension(path)).ok_or_else(|| {
                Error::usage(format!("{}: its name tells no format", path.display()))
                    .hint(format!("give --format, or an extension: {}", known()))
            })?,
        };
        let side = table(format).is_some_and(has_side_file);
        outputs.add(&target, side)?;
        targets.push((format, target));
    }
    if given.is_some() && targets.len() > 1 {
        return Err(
            Error::usage("one format cannot be meant for several outputs")
                .hint("leave --format out: extensions tell the formats of files"),
        );
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reorged() -> Error {
        SourceError::Reorged { block: 7 }.into()
    }

    #[test]
    fn a_reorganisation_starts_the_question_again() {
        for (failures, asked, right) in [(0, 1, true), (3, 4, true), (4, 4, false), (9, 4, false)] {
            let mut count = 0;
            let answer = restarting(|| {
                count += 1;
                if count <= failures {
                    Err(reorged())
                } else {
                    Ok(())
                }
            });
            assert_eq!((count, answer.is_ok()), (asked, right));
        }
        // Nothing else does.
        let mut count = 0;
        let answer: Result<()> = restarting(|| {
            count += 1;
            Err(SourceError::Interrupted.into())
        });
        assert_eq!(
            (count, answer.unwrap_err().kind),
            (1, ErrorKind::Interrupted)
        );
    }

    #[test]
    fn metadata_holds_the_question_not_the_place() {
        let options =
            "root = '0xaa'\nhops = 2\noutput = '/home/me/x.csv'\nformat = 'csv'\noverwrite = true";
        let query = Query::from_options("graph", options).unwrap();
        let chain = ChainInfo {
            chain_id: 1,
            genesis_hash: Default::default(),
            name: None,
        };
        let about = metadata(
            &query,
            &chain,
            &BlockRanges::default(),
            &ScanReport::default(),
        );
        assert_eq!(about.question.to_string(), r#"{"hops":2,"root":["0xaa"]}"#);
    }
}
