//! What a caller decides.

use std::path::PathBuf;

/// Limits and choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOptions {
    /// How the past is found.
    pub history: History,
    /// Code kept between blocks; all threads share it.
    pub code_cache_bytes_max: usize,
    /// Changes between a range and the tip that are kept in memory. A walk may take a
    /// block's worth more.
    pub overlay_bytes_max: usize,
    /// Where more than that goes; without it, more is an error.
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

/// How the first block that changed something is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// By the node's indices; ranges walk the change sets where those cannot be used.
    #[default]
    Index,
    /// Ranges always walk the change sets: for a range close to the tip that costs less.
    Walk,
}

/// Temporary files of an overlay. They have no name, and vanish with the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spill {
    /// Should not be a file system in memory.
    pub directory: PathBuf,
    /// While sorting they take up to twice the room of what they hold.
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
