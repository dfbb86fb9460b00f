//! The kinds of stores, and what the tests do with them.

use crate::support::work;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_index::{Index, Indexed, drop_index};
use txgraph_lake::{Lake, LakeSource, compact};
use txgraph_reader::NodeSource;
use txgraph_stored::{BuildOptions, BuildReport, BuildSource, StoreResult, VerifyReport};
use txgraph_testkit::{fixtures::files_below, queries::range};
use txgraph_transfers::{BlockRanges, TransferSource};

pub(crate) struct Kind {
    pub(crate) build: fn(&Path, BuildSource<'_>, &BuildOptions) -> StoreResult<BuildReport>,
    pub(crate) update: fn(&Path, BuildSource<'_>, &BuildOptions) -> StoreResult<BuildReport>,
    pub(crate) open: fn(&Path, &NodeSource) -> StoreResult<Open>,
    /// Joins small units, if it is not done by an update. Returns how many were replaced.
    pub(crate) settle: Option<fn(&Path) -> StoreResult<usize>>,
    /// Writes in another way than to build and to update.
    pub(crate) write_otherwise: fn(&Path) -> StoreResult<()>,
    /// The name of the manifest.
    pub(crate) manifest: &'static str,
    /// Changes of a manifest, and what the error says then.
    pub(crate) changes: &'static [(&'static str, &'static str, &'static str)],
}

pub(crate) const INDEX: Kind = Kind {
    build: |place, origin, options| txgraph_index::build(place, origin, options),
    update: |place, origin, options| txgraph_index::update(place, origin, options),
    open: |place, node| Index::open(place, node.chain()).map(Open::Index),
    settle: None,
    write_otherwise: |place| drop_index(place).map(drop),
    manifest: "MANIFEST",
    changes: &[
        ("txgraph-index 5", "txgraph-index 3", "has version 3"),
        ("txgraph-index 5", "txgraph-index 6", "has version 6"),
        ("txgraph-index 5", "txgraph-index 4", "its version is that"),
        ("\"segments\"", "\"segment\"", "its checksum"),
        ("txgraph-index", "something", "it does not start with"),
    ],
};

pub(crate) const LAKE: Kind = Kind {
    build: |place, origin, options| txgraph_lake::build(place, origin, options),
    update: |place, origin, options| txgraph_lake::append(place, origin, options),
    open: |place, _| Lake::open(place).map(Open::Lake),
    settle: Some(|place| Ok(compact(place, &work())?.replaced)),
    write_otherwise: |place| compact(place, &work()).map(drop),
    manifest: "manifest.json",
    changes: &[
        ("\"version\": 1", "\"version\": 9", "has version 9"),
        ("txgraph-lake", "other", "its format is not"),
        ("_blocks\": 32", "_blocks\": 33", "its checksum"),
        ("{", "<html>", "expected"),
    ],
};

impl Kind {
    /// Opens a store that is not damaged.
    pub(crate) fn opened(&self, place: &Path, node: &NodeSource) -> Open {
        (self.open)(place, node).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Joins small units. Returns how many were replaced.
    pub(crate) fn settled(&self, place: &Path) -> usize {
        self.settle.map_or(0, |settle| settle(place).unwrap())
    }

    /// Checks every transfer of a store that is not damaged. Returns its blocks.
    pub(crate) fn verified(&self, place: &Path, node: &NodeSource) -> BlockRanges {
        let open = self.opened(place, node);
        open.verify(node, false).unwrap();
        open.blocks()
    }

    /// Checks that a folder has the files of its manifest, and no others but the lock.
    pub(crate) fn assert_tidy(&self, place: &Path, node: &NodeSource) {
        let mut listed = self.opened(place, node).files();
        listed.extend([self.manifest.into(), "LOCK".into()]);
        listed.sort();
        let found: Vec<_> = files(place).into_keys().collect();
        assert_eq!(found, listed);
    }
}

/// All files in a folder with their contents, by their names in it.
pub(crate) fn files(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(place).into_iter().map(|path| {
        let name = path.strip_prefix(place).unwrap().to_owned();
        (name, fs::read(path).unwrap())
    });
    files.collect()
}

pub(crate) enum Open {
    Index(Index),
    Lake(Lake),
}

impl Open {
    /// The store as a source. If it answers other blocks, they are read from the node.
    pub(crate) fn source<'a>(&'a self, node: &'a NodeSource) -> Box<dyn TransferSource + 'a> {
        match self {
            Self::Index(index) => Box::new(Indexed::with_rest(index, node, node)),
            Self::Lake(lake) => Box::new(LakeSource::new(lake, work())),
        }
    }

    pub(crate) fn blocks(&self) -> BlockRanges {
        match self {
            Self::Index(index) => index.blocks(),
            Self::Lake(lake) => lake.blocks().clone(),
        }
    }

    /// The blocks that the source answers.
    pub(crate) fn answered(&self, tip: u64) -> BlockRanges {
        match self {
            Self::Index(_) => range(0, tip).into(),
            Self::Lake(lake) => lake.blocks().clone(),
        }
    }

    pub(crate) fn units(&self) -> usize {
        match self {
            Self::Index(index) => index.segments().len(),
            Self::Lake(lake) => lake.partitions().len(),
        }
    }

    /// If `quick`, only the store itself is checked.
    pub(crate) fn verify<'a>(
        &self,
        origin: impl Into<BuildSource<'a>>,
        quick: bool,
    ) -> StoreResult<VerifyReport> {
        match self {
            Self::Index(index) => txgraph_index::verify(index, origin, quick),
            Self::Lake(lake) if quick => txgraph_lake::check(lake, &work()),
            Self::Lake(lake) => txgraph_lake::verify(lake, origin),
        }
    }

    /// The names of the files that the manifest lists.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        match self {
            Self::Index(index) => {
                files.extend(index.segments().iter().map(|it| it.file.clone().into()))
            }
            Self::Lake(lake) => {
                for partition in lake.partitions() {
                    let folder = Path::new("partitions").join(&partition.folder);
                    files.extend(partition.files.iter().map(|file| folder.join(&file.name)));
                    files.push(folder.join("checksums.json"));
                }
            }
        }
        files
    }
}
