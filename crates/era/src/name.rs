//! File names: `<network>-<era>-<hash>[-<profile>…].ere`. They are hints; the content decides.

use std::path::Path;

/// The hexadecimal digits of the hash in a name.
const HASH_DIGITS: usize = 8;

/// The least decimal digits of an era's number.
const ERA_DIGITS: usize = 5;

/// Extensions of archives. Drafts of the `.ere` format had `erae`.
const EXTENSIONS: [&str; 3] = ["ere", "erae", "era1"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    /// The network, e.g. `mainnet`.
    pub(crate) network: String,
}

/// Whether a path has the extension of an archive.
pub(crate) fn has_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| EXTENSIONS.contains(&it))
}

impl FileName {
    /// `None` if the name does not have the form of the specification. Networks may contain `-`.
    pub(crate) fn parse(path: &Path) -> Option<Self> {
        let parts: Vec<&str> = path.file_stem()?.to_str()?.split('-').collect();
        let is_era = |part: &str| {
            part.len() >= ERA_DIGITS && part.bytes().all(|digit| digit.is_ascii_digit())
        };
        let is_hash = |part: &str| {
            part.len() == HASH_DIGITS && part.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        let at = (1..parts.len().checked_sub(1)?)
            .find(|at| is_era(parts[*at]) && is_hash(parts[*at + 1]))?;
        Some(Self {
            network: parts[..at].join("-"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_from_names() {
        let network = |name: &str| FileName::parse(Path::new(name)).map(|name| name.network);
        for (name, expected) in [
            ("mainnet-00000-4bb7de2e.ere", Some("mainnet")),
            (
                "mainnet-00000-4bb7de2e-noproofs-noreceipts.ere",
                Some("mainnet"),
            ),
            ("x/sepolia-00182-a4f0a8a1.era1", Some("sepolia")),
            ("my-net-00007-12345678.ere", Some("my-net")),
            ("mainnet-00000.ere", None),
            ("mainnet.ere", None),
            ("00000-4bb7de2e.ere", None),
            ("", None),
        ] {
            assert_eq!(network(name).as_deref(), expected, "{name}");
        }
        assert!(has_extension(Path::new("a.era1")) && !has_extension(Path::new("a.era")));
    }
}
