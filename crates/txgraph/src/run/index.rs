//! The index: making it, keeping it, and answering from it.

use super::Node;
use crate::{Error, IndexChoice, Result, lists};
use serde::Serialize;
use std::{ffi::OsString, path::PathBuf};
use txgraph_index::{
    BuildOptions, BuildReport, Index, Indexed, Origin, Status, VerifyReport, Work,
};
use txgraph_reader::NodeSource;
use txgraph_replay::{Internal, WithInternal};
use txgraph_transfers::{Indexable, InternalSource, TransferFilter, TransferSource};
use txgraph_work::Threads;

/// What an index is to hold; `None` stands for the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexBuild {
    /// The lowest block.
    pub from_block: Option<u64>,
    /// The highest block.
    pub to_block: Option<u64>,
    /// Blocks of a full segment.
    pub segment_blocks: Option<u64>,
    /// Newest blocks that are left to the node.
    pub reorg_buffer: Option<u64>,
    /// Whose wraps it tells, in the words of a question.
    pub wrapped_native: Vec<String>,
    /// Whether it is to hold what moves inside of transactions, found by replaying them.
    pub internal: bool,
    /// Bytes that segments under way may take.
    pub memory: Option<u64>,
}

/// An index beside its node.
#[derive(Clone, Debug, Serialize)]
pub struct IndexState {
    /// The index.
    #[serde(flatten)]
    pub status: Status,
    /// The tip of the node.
    pub tip: u64,
    /// Blocks from the index's last to the tip.
    pub behind_blocks: u64,
    /// Blocks of it that are no longer canonical; `update` undoes their segments.
    pub replaced_blocks: u64,
}

impl Node {
    /// Where the index is, or would be. Never inside of the data directory, which is
    /// not ours to write into.
    pub fn index_folder(&self) -> Result<PathBuf> {
        match &self.config.index {
            Some(IndexChoice::At(path)) => return Ok(path.clone()),
            Some(IndexChoice::Off) => return Err(Error::usage("the index is switched off")),
            Some(IndexChoice::Auto) | None => {}
        }
        let Some(cache) = &self.config.cache else {
            return Err(
                Error::usage("there is no usual place for an index: HOME is not set")
                    .hint("name a directory with --index"),
            );
        };
        let chain = self.chain()?;
        let genesis: String = chain
            .genesis_hash
            .to_string()
            .chars()
            .skip(2)
            .take(16)
            .collect();
        Ok(cache
            .join("txgraph/index")
            .join(format!("{}-{genesis}", chain.chain_id)))
    }

    /// The index to answer from, opened at the first call. One that was not named is
    /// only used if it is there and fits.
    fn index(&self) -> Result<Option<&Index>> {
        if let Some(index) = self.index.get() {
            return Ok(index.as_ref());
        }
        let opened = match &self.config.index {
            Some(IndexChoice::Off) => None,
            Some(IndexChoice::At(path)) => Some(Index::open(path, self.chain()?)?),
            Some(IndexChoice::Auto) | None => match self.index_folder() {
                Err(_) => None,
                Ok(folder) => match Index::open(&folder, self.chain()?) {
                    Ok(index) => Some(index),
                    Err(txgraph_index::Error::NotAnIndex { .. }) => None,
                    Err(error) => {
                        tracing::warn!("answering without the index: {error}");
                        None
                    }
                },
            },
        };
        if let Some(index) = &opened {
            let (path, blocks) = (index.path().display(), index.blocks());
            tracing::info!(%path, %blocks, "answering from the index");
        }
        Ok(self.index.get_or_init(|| opened).as_ref())
    }

    /// What answers questions: the node, with the index before it if there is one (the
    /// answers are the same), and a replay where that is asked for.
    pub fn answering(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + '_>> {
        let node = self.source()?;
        // An index holds what was read once; to verify is to read.
        let index = match self.config.verify {
            Some(true) => None,
            _ => self.index()?,
        };
        if let (Some(explain), Some(index)) = (&self.control.explain, index) {
            let (path, blocks) = (index.path().display(), index.blocks());
            let others = match filter.internal {
                false => "others are scanned",
                true if index.covers_filter(filter) => "others are replayed",
                true => "all are replayed for what no log tells",
            };
            explain(&format_args!(
                "blocks {blocks} are answered from the index {path}; {others}"
            ));
        }
        Ok(match (index, filter.internal) {
            (None, false) => Box::new(node),
            (Some(index), false) => Box::new(Indexed::new(index, node).on(index_work(node)?)),
            (Some(index), true) if index.covers_filter(filter) => {
                let rest = WithInternal::new(node, self.internal()?);
                Box::new(Indexed::with_rest(index, node, rest).on(index_work(node)?))
            }
            (Some(index), true) => Box::new(WithInternal::new(
                Indexed::new(index, node).on(index_work(node)?),
                self.internal()?,
            )),
            (None, true) => Box::new(WithInternal::new(node, self.internal()?)),
        })
    }
}

impl IndexBuild {
    fn options(&self, node: &Node) -> Result<BuildOptions> {
        let default = BuildOptions::default();
        Ok(BuildOptions {
            wrapped_native: lists::wrapped_native(&self.wrapped_native, crate::Checksum::Verify)?,
            first_block: self.from_block.unwrap_or(default.first_block),
            last_block: self.to_block,
            segment_blocks: self.segment_blocks.unwrap_or(default.segment_blocks),
            reorg_buffer: self.reorg_buffer.unwrap_or(default.reorg_buffer),
            memory_bytes_max: self
                .memory
                .or(node.config.memory)
                .unwrap_or(default.memory_bytes_max),
        })
    }
}

/// Makes an index, or goes on with one that was not finished.
pub fn index_build(node: &Node, build: &IndexBuild) -> Result<BuildReport> {
    let folder = node.index_folder()?;
    node.protected.check(&folder)?;
    let internal = build.internal.then(|| node.internal()).transpose()?;
    let origin = origin(node, internal.as_ref())?;
    Ok(txgraph_index::build(
        &folder,
        origin,
        &build.options(node)?,
    )?)
}

/// Brings an index up to the tip of the node.
pub fn index_update(node: &Node, build: &IndexBuild) -> Result<BuildReport> {
    let folder = node.index_folder()?;
    node.protected.check(&folder)?;
    let internal = internal_of(&Index::open(&folder, node.chain()?)?, node)?;
    let origin = origin(node, internal.as_ref())?;
    Ok(txgraph_index::update(
        &folder,
        origin,
        &build.options(node)?,
    )?)
}

/// What the index holds, and how it stands to the node.
pub fn index_status(node: &Node) -> Result<IndexState> {
    let index = Index::open(&node.index_folder()?, node.chain()?)?;
    let source = node.source()?;
    let tip = node.tip()?;
    let mut replaced_blocks = 0;
    for segment in index.segments().iter().rev() {
        if source.canonical_hash(segment.blocks.last)? == Some(segment.last_hash) {
            break;
        }
        replaced_blocks += segment.blocks.blocks();
    }
    let status = index.status();
    let last = status.blocks.span().map(|span| span.last);
    Ok(IndexState {
        tip,
        behind_blocks: last.map_or(tip.saturating_add(1), |last| tip.saturating_sub(last)),
        replaced_blocks,
        status,
    })
}

/// Checks the index against itself and, unless `quick`, against the database.
pub fn index_verify(node: &Node, quick: bool) -> Result<VerifyReport> {
    let index = Index::open(&node.index_folder()?, node.chain()?)?;
    let internal = match quick {
        true => None,
        false => internal_of(&index, node)?,
    };
    let origin = origin(node, internal.as_ref())?;
    Ok(txgraph_index::verify(&index, origin, quick)?)
}

/// What replays, if an index holds what that finds.
fn internal_of<'a>(index: &Index, node: &'a Node) -> Result<Option<Internal<'a>>> {
    let internal = index.has_internal().then(|| node.internal());
    internal.transpose()
}

/// What an index is made from.
fn origin<'a>(node: &'a Node, internal: Option<&'a Internal<'_>>) -> Result<Origin<'a>> {
    let source = node.source()?;
    Ok(Origin {
        source,
        internal: internal.map(|internal| -> &dyn InternalSource { internal }),
        work: index_work(source)?,
    })
}

/// Threads, cancellation and progress of a source, for its index.
fn index_work(source: &NodeSource) -> Result<Work> {
    let options = source.options();
    Ok(Work {
        threads: Threads::new(source.threads()).map_err(|error| Error::usage(error.to_string()))?,
        cancel: options.cancel.clone(),
        progress: options.progress.clone(),
    })
}

/// An index that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedIndex {
    /// Its directory, which is deleted, too, if nothing else is in it.
    pub folder: PathBuf,
    /// The names in the directory that are left because they do not belong to the index.
    pub foreign: Vec<OsString>,
}

/// Deletes the index.
pub fn index_drop(node: &Node) -> Result<DroppedIndex> {
    let folder = node.index_folder()?;
    node.protected.check(&folder)?;
    let foreign = txgraph_index::drop_index(&folder)?;
    Ok(DroppedIndex { folder, foreign })
}
