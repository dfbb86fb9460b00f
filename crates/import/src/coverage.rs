//! The blocks that files cover completely.
//!
//! Files of transfers do not show which blocks without rows they cover. Tools state it in file
//! names, txgraph in the metadata of its tables, and a table of blocks by its rows. Otherwise
//! the user states it; if the user does not either, the blocks between the first and the last row
//! are taken, and the answer says so.

use crate::{Error, Table, file::ImportedFile, metadata::Metadata};
use std::collections::BTreeMap;
use txgraph_transfers::{BlockRange, BlockRanges};

/// The coverage of a set of files.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The blocks that are complete.
    pub(crate) blocks: BlockRanges,
    /// Restrictions of the results, in words.
    pub(crate) caveats: Vec<String>,
}

impl Coverage {
    /// Determines the blocks that all tables cover. `covers` are the blocks that the user
    /// states.
    pub(crate) fn of(
        files: &[(&ImportedFile, Option<&Metadata>)],
        covers: Option<&BlockRanges>,
    ) -> Result<Self, Error> {
        if let Some(covers) = covers {
            return Ok(Self {
                blocks: covers.clone(),
                caveats: Vec::new(),
            });
        }
        let stated = blocks_of_headers(files)?;
        // Blocks by table; `None` where a file does not state its own.
        let mut tables: BTreeMap<Table, Vec<BlockRange>> = BTreeMap::new();
        let mut observed: Option<BlockRange> = None;
        let mut undeclared: Vec<Table> = Vec::new();
        for (file, metadata) in files
            .iter()
            .filter(|(file, _)| file.table() != Table::Blocks)
        {
            let blocks = tables.entry(file.table()).or_default();
            match (metadata, file.facts.blocks) {
                (Some(metadata), _) => blocks.extend(metadata.covered().iter()),
                (None, Some(named)) => {
                    check_rows(file, named)?;
                    blocks.push(named);
                }
                (None, None) => {
                    undeclared.push(file.table());
                    observed = join(observed, file.span());
                }
            }
        }
        let mut caveats = Vec::new();
        for table in undeclared {
            let blocks = tables.entry(table).or_default();
            match &stated {
                Some(stated) => blocks.extend(stated.iter()),
                None => blocks.extend(observed),
            }
        }
        if let (None, Some(observed)) = (&stated, observed) {
            caveats.push(format!(
                "the files do not state which blocks they cover; {observed} are those between \
                 their first and last row"
            ));
        }
        let mut tables = tables.into_values().map(BlockRanges::new);
        let first = tables.next().or(stated).unwrap_or_default();
        let blocks = tables.fold(first.clone(), |all, blocks| all.intersect(&blocks));
        if blocks != first {
            caveats.push(format!("only {blocks} are in all tables"));
        }
        Ok(Self { blocks, caveats })
    }
}

fn join(one: Option<BlockRange>, other: Option<BlockRange>) -> Option<BlockRange> {
    let ranges = one.into_iter().chain(other);
    ranges.reduce(|one, other| one.hull(&other))
}

/// Refuses rows outside of the blocks in the name of their file.
fn check_rows(file: &ImportedFile, named: BlockRange) -> Result<(), Error> {
    match file.span() {
        Some(span) if named.intersect(&span) != Some(span) => Err(Error::damaged(
            &file.path,
            format_args!("its name states blocks {named}, but it has rows of {span}"),
        )),
        _ => Ok(()),
    }
}

/// The blocks in tables of blocks. `None` without such a table.
fn blocks_of_headers(
    files: &[(&ImportedFile, Option<&Metadata>)],
) -> Result<Option<BlockRanges>, Error> {
    let mut ranges: Option<Vec<BlockRange>> = None;
    for (file, _) in files
        .iter()
        .filter(|(file, _)| file.table() == Table::Blocks)
    {
        let ranges = ranges.get_or_insert_default();
        for piece in &file.pieces {
            file.read_blocks(piece, &mut |block| match ranges.last_mut() {
                Some(range) if range.last.checked_add(1) == Some(block) => range.last = block,
                _ => ranges.push(BlockRange::one(block)),
            })?;
        }
    }
    Ok(ranges.map(BlockRanges::new))
}
