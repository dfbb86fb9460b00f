//! Facts in the paths of files: blocks, chain, table.

use crate::{Dialect, format::is_compressed};
use std::path::Path;
use txgraph_transfers::BlockRange;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathFacts {
    /// The blocks that the tool exported into the file.
    pub(crate) blocks: Option<BlockRange>,
    /// The chain ID, if the network is named.
    pub(crate) chain_id: Option<u64>,
}

/// Reads the names of cryo (`ethereum__logs__15000000_to_15000999.parquet`) and of
/// ethereum-etl (`start_block=00000000/end_block=00099999/logs_00000000_00099999.csv`). Both
/// include the last block.
pub(crate) fn facts(path: &Path) -> PathFacts {
    let stem = stem(path);
    if let Some(facts) = cryo(stem) {
        return facts;
    }
    PathFacts {
        blocks: etl_folders(path).or_else(|| Some(etl_name(stem)?.1)),
        chain_id: None,
    }
}

fn cryo(stem: &str) -> Option<PathFacts> {
    let mut parts = stem.split("__");
    let network = parts.next()?;
    let blocks = parts.find_map(|part| {
        let (first, last) = part.split_once("_to_")?;
        BlockRange::new(number(first)?, number(last)?)
    })?;
    let chain_id = match network {
        "ethereum" => Some(1),
        network => network.strip_prefix("network_").and_then(number),
    };
    Some(PathFacts {
        blocks: Some(blocks),
        chain_id,
    })
}

fn etl_folders(path: &Path) -> Option<BlockRange> {
    let value = |key: &str| {
        let parts = path.iter().filter_map(|part| part.to_str());
        let mut values = parts.filter_map(|part| number(part.strip_prefix(key)?));
        values.next_back()
    };
    BlockRange::new(value("start_block=")?, value("end_block=")?)
}

/// The table of ethereum-etl that the name of a file states, if it states blocks, too.
pub(crate) fn etl_table(path: &Path) -> Option<&'static Dialect> {
    etl_name(stem(path)).map(|(table, _)| table)
}

/// The name of a file without its extension, and without the extension of a compression.
fn stem(path: &Path) -> &str {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.unwrap_or_default();
    match is_compressed(path) {
        true => stem.rsplit_once('.').map_or(stem, |(stem, _)| stem),
        false => stem,
    }
}

/// Names of ethereum-etl are the one of a table, and two numbers of eight digits. After another name,
/// these may be dates.
fn etl_name(stem: &str) -> Option<(&'static Dialect, BlockRange)> {
    let mut parts = stem.rsplitn(3, '_');
    let (last, first, table) = (parts.next()?, parts.next()?, parts.next()?);
    let padded = first.len() == last.len() && first.len() >= 8;
    let table = Dialect::of_etl(table).filter(|_| padded)?;
    Some((table, BlockRange::new(number(first)?, number(last)?)?))
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_networks_are_read_from_paths() {
        for (path, blocks, chain_id) in [
            (
                "a/ethereum__erc20_transfers__15000000_to_15000999.parquet",
                Some((15_000_000, 15_000_999)),
                Some(1),
            ),
            (
                "network_130__logs__label__0_to_9.csv",
                Some((0, 9)),
                Some(130),
            ),
            ("base__logs__0_to_9.csv", Some((0, 9)), None),
            ("ethereum__logs__0_to_9.csv.ZST", Some((0, 9)), Some(1)),
            ("logs_00000100_00000199.csv.gz", Some((100, 199)), None),
            (
                "start_block=00000000/end_block=00099999/logs_00000000_00099999.csv",
                Some((0, 99_999)),
                None,
            ),
            (
                "token_transfers_00000100_00000199.csv",
                Some((100, 199)),
                None,
            ),
            ("x/logs_1_2.csv", None, None),
            ("usd_20240101_20240131.csv", None, None),
            ("2024_2025.csv", None, None),
            ("ethereum__logs__9_to_0.parquet", None, None),
            ("transfers.csv", None, None),
        ] {
            let found = facts(Path::new(path));
            let blocks = blocks.map(|(first, last)| BlockRange { first, last });
            assert_eq!(found, PathFacts { blocks, chain_id }, "{path}");
        }
    }
}
