//! Options of a [`StateDb`](crate::StateDb).

use std::path::PathBuf;

/// Options of a [`StateDb`](crate::StateDb).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOptions {
    /// How previous values are found.
    pub history: History,
    /// Bytes of code that are cached, for all threads together.
    pub code_cache_bytes_max: usize,
    /// Bytes of changes between a range and the tip that are kept in memory, about. Reading may
    /// exceed it by the changes of a few blocks.
    pub overlay_bytes_max: usize,
    /// Temporary files for more changes than that. `None`: more is an error.
    pub spill: Option<Spill>,
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            history: History::Index,
            code_cache_bytes_max: 64 << 20,
            overlay_bytes_max: 1 << 30,
            spill: Some(Spill::default()),
        }
    }
}

/// How the first later block that changed an account or slot is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// With the node's indices. Ranges read the change sets where there is no usable index.
    #[default]
    Index,
    /// Ranges always read the change sets, which is cheaper for a range close to the tip.
    Walk,
}

/// Temporary files of an overlay. They have no name and disappear with the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spill {
    /// The directory; it should not be a file system in memory.
    pub directory: PathBuf,
    /// The limit in bytes. Sorting needs up to twice the size of the rows.
    pub bytes_max: u64,
}

impl Default for Spill {
    fn default() -> Self {
        Self {
            directory: std::env::temp_dir(),
            bytes_max: 64 << 30,
        }
    }
}
