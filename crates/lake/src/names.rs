//! The names of files and folders.

use alloy_primitives::B256;
use txgraph_transfers::BlockRange;

/// The name of the manifest.
pub(crate) const FILE: &str = "manifest.json";
pub(crate) const PARTITIONS: &str = "partitions";
/// The file of a partition with the checksums of its other files.
pub(crate) const CHECKSUMS: &str = "checksums.json";
/// The prefix of a partition that is being written.
pub(crate) const UNFINISHED: &str = "tmp-";

/// Returns the name of a partition's folder. The hash distinguishes two branches.
pub(crate) fn partition_folder(blocks: BlockRange, last_hash: B256, generation: u64) -> String {
    let BlockRange { first, last } = blocks;
    let [a, b, c, d, ..] = last_hash.0;
    format!("{first:010}-{last:010}-{a:02x}{b:02x}{c:02x}{d:02x}-{generation}")
}

/// The generation in the name of a published partition.
pub(crate) fn generation_of(name: &str) -> Option<u64> {
    let name = (!name.starts_with(UNFINISHED)).then_some(name)?;
    name.rsplit('-').next()?.parse().ok()
}

/// Whether a name in the folder of the partitions is one that this crate gives.
pub(crate) fn is_ours(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_hash = |part: &str| part.len() == 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = name.split('-').collect();
    name.strip_prefix(UNFINISHED).is_some_and(is_number)
        || matches!(parts[..], [first, last, hash, generation]
            if [first, last, generation].into_iter().all(is_number) && is_hash(hash))
}
