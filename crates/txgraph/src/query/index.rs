//! The index of a node: building it, keeping it, and checking it.

use super::build_source::hint_for_build;
use crate::{
    Capability, Error, Hint, IndexChoice, Result, Source,
    source::{Backend, RethNode},
};
use serde::Serialize;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};
use txgraph_index::{Index, Status};
use txgraph_stored::{Additions, BuildOptions, BuildReport, StoreError, VerifyReport};
use txgraph_transfers::{ScanRequest, TransferSource};

/// An index compared with its node.
#[derive(Clone, Debug, Serialize)]
pub struct IndexState {
    /// The index.
    #[serde(flatten)]
    pub status: Status,
    /// The tip of the node.
    pub tip: u64,
    /// The number of blocks from the index's last to the tip.
    pub behind_blocks: u64,
    /// The number of its blocks in segments that a reorganization replaced; `update` builds
    /// them again.
    pub replaced_blocks: u64,
}

impl RethNode {
    /// The directory of the index, which need not exist.
    pub(crate) fn index_directory(&self) -> Result<PathBuf> {
        match &self.config.index {
            Some(IndexChoice::At(path)) => return Ok(path.clone()),
            Some(IndexChoice::Off) => return Err(Error::usage("the index is switched off")),
            Some(IndexChoice::Auto) | None => {}
        }
        let Some(cache) = &self.config.cache else {
            return Err(Error::usage(
                "there is no default directory for an index: HOME is not set",
            )
            .with_hint(Hint::NameIndex));
        };
        let chain = self.chain()?;
        let genesis: String = (chain.genesis_hash.to_string().chars())
            .skip(2)
            .take(16)
            .collect();
        Ok(cache
            .join("txgraph/index")
            .join(format!("{}-{genesis}", chain.chain_id)))
    }

    /// The index to answer from, opened at the first call. Later calls of this handle get the same
    /// one, also if it was extended since.
    pub(crate) fn open_index(&self) -> Result<Option<&Index>> {
        if let Some(index) = self.index.get() {
            return Ok(index.as_deref());
        }
        let mut newest = (self.newest_index.lock()).unwrap_or_else(PoisonError::into_inner);
        let index = match &*newest {
            Some(index) => index.clone(),
            None => newest.insert(self.find_index(None)?.map(Arc::new)).clone(),
        };
        drop(newest);
        Ok(self.index.get_or_init(|| index).as_deref())
    }

    /// Lets handles that are made from now on answer from the index as it is now.
    fn reopen_index(&self) -> Result<()> {
        let newest = || self.newest_index.lock();
        let before = newest().unwrap_or_else(PoisonError::into_inner).clone();
        let index = self.find_index(before.flatten().as_deref())?;
        *newest().unwrap_or_else(PoisonError::into_inner) = Some(index.map(Arc::new));
        Ok(())
    }

    /// Opens the index. One in the default directory is used only if it exists and is of this
    /// chain. `before` is the index as it was opened before.
    fn find_index(&self, before: Option<&Index>) -> Result<Option<Index>> {
        let chain = self.chain()?;
        let open = |path: &Path| Index::open_after(path, chain, before);
        let opened = match &self.config.index {
            Some(IndexChoice::Off) => None,
            Some(IndexChoice::At(path)) => Some(open(path)?),
            Some(IndexChoice::Auto) | None => match self.index_directory() {
                Err(_) => None,
                Ok(directory) => match open(&directory) {
                    Ok(index) => Some(index),
                    Err(StoreError::NotAStore { .. }) => None,
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
        Ok(opened)
    }
}

impl Source {
    /// Whether queries are answered from an index, as far as it goes.
    ///
    /// # Errors
    ///
    /// If the index that is named cannot be read.
    pub fn has_index(&self) -> Result<bool> {
        match self.reth() {
            Some(node) => Ok(node.open_index()?.is_some()),
            None => Ok(false),
        }
    }

    /// Whether the index has the transfers inside of transactions.
    ///
    /// # Errors
    ///
    /// As [`Self::has_index`].
    pub fn index_has_internal(&self) -> Result<bool> {
        match self.reth() {
            Some(node) => Ok(node.open_index()?.is_some_and(Index::has_internal)),
            None => Ok(false),
        }
    }

    /// Whether the last query with this request was answered from an index alone. The node may
    /// still have scanned blocks that a reorganization replaced.
    pub fn is_indexed(&self, request: &ScanRequest) -> bool {
        let index = self.reth().and_then(|node| node.index.get());
        let Some(index) = index.and_then(Option::as_ref) else {
            return false;
        };
        let found = index.blocks().intersect(&request.blocks);
        index.covers(request) && found.blocks() == request.blocks.blocks()
    }
}

/// An index that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedIndex {
    /// Its directory, which is deleted, too, if nothing else is in it.
    pub directory: PathBuf,
    /// The names in the directory that are left because they do not belong to the index.
    pub foreign: Vec<OsString>,
}

/// The index of a source. See [`Source::index`].
#[derive(Clone, Copy, Debug)]
pub struct IndexHandle<'s> {
    source: &'s Source,
    node: &'s RethNode,
}

impl Source {
    /// The index of this source.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it cannot have one.
    pub fn index(&self) -> Result<IndexHandle<'_>> {
        Ok(IndexHandle {
            source: self,
            node: self.node(Capability::Index)?,
        })
    }
}

impl IndexHandle<'_> {
    /// Its directory, which need not exist.
    ///
    /// # Errors
    ///
    /// If no directory is set and there is no default, or the index is switched off.
    pub fn directory(&self) -> Result<PathBuf> {
        self.node.index_directory()
    }

    /// The directory, outside the data directory.
    fn writable(&self) -> Result<PathBuf> {
        let directory = self.directory()?;
        self.source.protected_paths().check(&directory)?;
        Ok(directory)
    }

    /// Builds the index, or continues a build that was interrupted. If `internal`, it contains the
    /// transfers inside of transactions, found by replaying them, and with
    /// [transactions](BuildOptions::transactions) also those in whose calls an address takes part.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the directory cannot be written.
    pub fn build(&self, options: &BuildOptions, internal: bool) -> Result<BuildReport> {
        let directory = self.writable()?;
        let additions = Additions {
            internal,
            participations: options.transactions,
        };
        self.node.with_build_source(additions, |origin| {
            let options = self.with_memory(options);
            txgraph_index::build(&directory, origin, &options).map_err(hint_for_build)
        })
    }

    /// Extends the index to the tip of the node. [Handles](Source::with_control) of the source that
    /// are made later answer from it.
    ///
    /// # Errors
    ///
    /// As [`Self::build`], and if there is no index.
    pub fn update(&self, options: &BuildOptions) -> Result<BuildReport> {
        let directory = self.writable()?;
        let additions = Index::open(&directory, self.source.chain()?)?.additions();
        let report = self.node.with_build_source(additions, |origin| {
            let options = self.with_memory(options);
            Ok(txgraph_index::update(&directory, origin, &options)?)
        })?;
        self.node.reopen_index()?;
        Ok(report)
    }

    /// Lets [handles](Source::with_control) of the source that are made later answer from the index
    /// as it is now, after another process has built, extended or deleted it.
    ///
    /// # Errors
    ///
    /// If the index that is named cannot be read.
    pub fn reopen(&self) -> Result<()> {
        self.node.reopen_index()
    }

    /// The newest block that the index has; `None` if there is no index, or nothing in it.
    ///
    /// # Errors
    ///
    /// If the index that is named cannot be read.
    pub fn last_block(&self) -> Result<Option<u64>> {
        let index = self.node.open_index()?;
        Ok(index.and_then(|index| Some(index.blocks().span()?.last)))
    }

    /// Describes the index, and compares it with the node.
    ///
    /// # Errors
    ///
    /// If there is no index, or one of them cannot be read.
    pub fn status(&self) -> Result<IndexState> {
        let index = self.open()?;
        let node = self.node.source()?;
        let tip = self.source.stored_tip()?;
        let mut replaced_blocks = 0;
        for segment in index.segments().iter().rev() {
            if node.canonical_hash(segment.blocks.last)? == Some(segment.last_hash) {
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

    /// Checks every byte of the index and, unless `quick`, every transfer against the node.
    ///
    /// # Errors
    ///
    /// At the first fault.
    pub fn verify(&self, quick: bool) -> Result<VerifyReport> {
        let index = self.open()?;
        let additions = match quick {
            true => Additions::default(),
            false => index.additions(),
        };
        self.node.with_build_source(additions, |origin| {
            Ok(txgraph_index::verify(&index, origin, quick)?)
        })
    }

    /// Deletes the index.
    ///
    /// # Errors
    ///
    /// If the directory contains no index, or cannot be written.
    pub fn delete(&self) -> Result<DeletedIndex> {
        let directory = self.writable()?;
        let foreign = txgraph_index::drop_index(&directory)?;
        Ok(DeletedIndex { directory, foreign })
    }

    fn open(&self) -> Result<Index> {
        Ok(Index::open(&self.directory()?, self.source.chain()?)?)
    }

    /// The options with the memory of the source, unless they state another.
    fn with_memory(&self, options: &BuildOptions) -> BuildOptions {
        BuildOptions {
            memory_bytes_max: options.memory_bytes_max.or(self.source.config.memory),
            ..options.clone()
        }
    }
}
