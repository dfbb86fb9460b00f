//! The kinds of sources. A new kind is one crate, a line in `Cargo.toml`, an entry here, and a
//! [`Backend`](crate::Backend).

use crate::{Error, Hint, Result, SourceSpec};

/// A kind of source.
#[derive(Clone, Copy, Debug)]
pub struct SourceKind {
    /// The word before the colon in a [`SourceSpec`].
    pub word: &'static str,
    /// The description of the location after the colon.
    pub location: &'static str,
    /// Whether the location is a path.
    pub is_path: bool,
    /// The settings that it reads, of those that some kinds do not read.
    pub(crate) settings: &'static [&'static str],
    pub(crate) opener: Opener,
}

/// Selects the function that opens a source.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opener {
    Reth,
    Era,
    #[cfg(feature = "lake")]
    Lake,
    #[cfg(feature = "rpc")]
    Rpc,
    Bundles,
    #[cfg(feature = "import")]
    Import,
}

/// Every kind of source that this build can open.
const KINDS: &[SourceKind] = &[
    SourceKind {
        word: "reth",
        location: "data directory of a reth node",
        is_path: true,
        settings: &[
            "static-files",
            "rocksdb",
            "chain-id",
            "chain",
            "index",
            "check-roots",
        ],
        opener: Opener::Reth,
    },
    SourceKind {
        word: "era",
        location: "file with archived blocks (.ere, .era1), or directory of such files",
        is_path: true,
        settings: &["chain-id", "check-roots"],
        opener: Opener::Era,
    },
    #[cfg(feature = "lake")]
    SourceKind {
        word: "lake",
        location: "directory of a lake, made by `lake build`",
        is_path: true,
        settings: &["chain-id"],
        opener: Opener::Lake,
    },
    #[cfg(feature = "rpc")]
    SourceKind {
        word: "rpc",
        location: "URL of a JSON-RPC server; without a URL, the one in ETH_RPC_URL",
        is_path: false,
        settings: &["chain-id", "check-roots"],
        opener: Opener::Rpc,
    },
    SourceKind {
        word: "bundle",
        location: "file with a block and the state that it reads, or directory of such files",
        is_path: true,
        settings: &["chain", "check-roots"],
        opener: Opener::Bundles,
    },
    #[cfg(feature = "import")]
    import("cryo", "file or directory that cryo wrote"),
    #[cfg(feature = "import")]
    import(
        "etl",
        "file or directory of ethereum-etl, BigQuery or GraphSense",
    ),
    #[cfg(feature = "import")]
    import("dune", "file or directory of Dune or Allium"),
    #[cfg(feature = "import")]
    import("csv", "CSV, JSON or Parquet files with transfers"),
];

/// Files that another tool wrote.
#[cfg(feature = "import")]
const fn import(word: &'static str, location: &'static str) -> SourceKind {
    SourceKind {
        word,
        location,
        is_path: true,
        settings: &["chain-id", "covers", "source-columns"],
        opener: Opener::Import,
    }
}

/// Every kind of source that this build can open.
pub const fn source_kinds() -> &'static [SourceKind] {
    KINDS
}

/// Finds the kind of a source.
pub(crate) fn find(spec: &SourceSpec) -> Result<&'static SourceKind> {
    let kind = KINDS.iter().find(|kind| kind.word == spec.kind());
    kind.ok_or_else(|| {
        let known = KINDS
            .iter()
            .map(|kind| format!("{}:… ({})", kind.word, kind.location));
        Error::usage(format!(
            "unknown kind of source `{}`; known are {}",
            spec.kind(),
            known.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// Refuses a setting that none of these sources reads.
pub(crate) fn check_setting(name: &'static str, sources: &[&SourceSpec]) -> Result<()> {
    for source in sources {
        if find(source)?.settings.contains(&name) {
            return Ok(());
        }
    }
    let readers = KINDS.iter().filter(|kind| kind.settings.contains(&name));
    let readers = readers.map(|kind| kind.word).collect::<Vec<_>>().join(", ");
    let sources = sources.iter().map(ToString::to_string).collect::<Vec<_>>();
    let message = format!(
        "{} does not use the setting `{name}`; kinds of sources that use it: {readers}",
        sources.join(" + ")
    );
    Err(Error::usage(message).with_hint(Hint::DropSetting(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_setting_is_refused_if_no_source_reads_it() {
        let [archive, node] = ["era:e", "reth:n"].map(SourceSpec::from);
        check_setting("rocksdb", &[&archive, &node]).unwrap();
        let error = check_setting("rocksdb", &[&archive]).unwrap_err();
        assert_eq!(error.hint, Some(Hint::DropSetting("rocksdb")));
        assert!(error.message.starts_with("era:e does not use"), "{error}");
        assert!(error.message.ends_with("use it: reth"), "{error}");
    }

    #[test]
    fn unknown_kinds_are_refused_with_a_list() {
        let error = find(&"nowhere:x".into()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.message.contains("`nowhere`"), "{error}");
        assert!(error.message.contains("reth:"), "{error}");
        assert!(find(&"some/path".into()).is_ok());
    }
}
