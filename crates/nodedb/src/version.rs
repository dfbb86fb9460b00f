//! Compares the version of the node that wrote a directory with the tested ones.

use crate::{Info, Snapshot, info::Writer};

/// The newest release of reth whose directories were tested (`docs/compatibility.md`).
pub const NEWEST_TESTED: &str = "2.5.1";
/// The newest release of reth whose release notes were read for changes of the format.
pub const NEWEST_KNOWN: &str = "2.11.0";

impl Info {
    /// Returns the version that last began to write the directory, if it is newer than
    /// [`NEWEST_TESTED`]. Its files may have parts that are not known here.
    pub fn untested_version(&self) -> Option<&str> {
        untested(&self.written_by)
    }
}

impl Snapshot<'_> {
    /// The end of a message about content that is not understood: which untested version wrote
    /// to the directory. Empty if none did.
    #[cold]
    pub(crate) fn newest_writer(&self) -> String {
        let writers = self.written_by().unwrap_or_default();
        untested(&writers).map_or_else(String::new, |version| {
            format!(
                " (reth {version} wrote to this directory, {NEWEST_TESTED} is the newest tested \
                 version)"
            )
        })
    }
}

fn untested(writers: &[Writer]) -> Option<&str> {
    let newest = writers.iter().map(|writer| writer.version.as_str());
    let newest = newest.max_by_key(|version| numbers(version))?;
    (numbers(newest) > numbers(NEWEST_TESTED)).then_some(newest)
}

/// Whether the release notes of a version were read for changes of the format.
pub fn is_known_version(version: &str) -> bool {
    numbers(version) <= numbers(NEWEST_KNOWN)
}

/// Returns the three numbers of a version such as `2.5.1` or `v2.6.0-rc.1`. Zeros for text that
/// is not a version.
fn numbers(version: &str) -> [u64; 3] {
    let core = version.trim_start_matches('v');
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(numbers("2.5.1"), [2, 5, 1]);
        assert_eq!(numbers("v1.11.3-dev+abc"), [1, 11, 3]);
        assert_eq!(numbers("unknown"), [0, 0, 0]);
        assert_eq!(numbers(""), [0, 0, 0]);
        assert!(numbers("2.10.0") > numbers(NEWEST_TESTED));
        assert!(numbers("2.5.1-dev") == numbers(NEWEST_TESTED));
        assert!(numbers("1.99.99") < numbers(NEWEST_TESTED));
        assert!(is_known_version("2.10.1") && !is_known_version("2.12.0"));
    }
}
