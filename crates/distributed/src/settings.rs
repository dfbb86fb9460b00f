//! Settings of the driver.

use crate::{Error, Result, tls::TLS_ENV};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Names the file with the settings.
pub const CLUSTER_CONFIG_ENV: &str = "TXGRAPH_CLUSTER_CONFIG";

/// How the driver uses a cluster. `configs/cluster.toml` describes each setting.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The number of chunks into which the blocks of a query are divided; 0: four for each task
    /// that the cluster executes at a time.
    pub chunks: u64,
    /// A search on a lake with fewer addresses than this in a hop reads it in the driver.
    pub local_frontier: usize,
    /// Seconds after which a job is canceled if no task reads, writes or ends.
    pub stall_seconds: u64,
    /// The number of partitions of a shuffle; 0: one for each task that the cluster executes at a
    /// time.
    pub partitions: usize,
    /// The folder with the certificates of the driver, from [`TLS_ENV`].
    #[serde(skip)]
    pub certificates: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chunks: 0,
            local_frontier: 1000,
            stall_seconds: 600,
            partitions: 0,
            certificates: None,
        }
    }
}

impl Settings {
    /// The settings of the file that [`CLUSTER_CONFIG_ENV`] names, or the defaults.
    pub fn load() -> Result<Self> {
        let settings = match std::env::var_os(CLUSTER_CONFIG_ENV) {
            Some(path) => Self::of_file(Path::new(&path))?,
            None => Self::default(),
        };
        Ok(Self {
            certificates: std::env::var_os(TLS_ENV).map(PathBuf::from),
            ..settings
        })
    }

    fn of_file(path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            driver: Settings,
        }
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        let file: File = toml::from_str(&text)
            .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        Ok(file.driver)
    }

    /// The number of chunks on a cluster that executes this many tasks at a time.
    pub(crate) fn chunks(&self, slots: usize) -> u64 {
        match self.chunks {
            0 => 4 * slots as u64,
            chunks => chunks,
        }
    }

    /// The number of partitions on such a cluster.
    pub(crate) fn partitions(&self, slots: usize) -> usize {
        match self.partitions {
            0 => slots,
            partitions => partitions,
        }
    }

    pub(crate) const fn stall_limit(&self) -> Duration {
        Duration::from_secs(self.stall_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn shipped_file_has_every_setting_with_its_default() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/cluster.toml");
        assert_eq!(Settings::of_file(&path).unwrap(), Settings::default());
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text.matches(" = ").count(), 4);
    }

    #[test]
    fn work_is_divided_by_the_slots_of_the_cluster() {
        let settings = Settings::default();
        assert_eq!(
            (settings.chunks(400), settings.partitions(400)),
            (1600, 400)
        );
        let settings = Settings {
            chunks: 7,
            partitions: 3,
            ..settings
        };
        assert_eq!((settings.chunks(400), settings.partitions(400)), (7, 3));
    }

    #[test]
    fn refuses_unknown_settings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cluster.toml");
        for text in [
            "[driver]\nchunk = 1\n",
            "[driver]\nchunks = -1\n",
            "driver = 1\n",
        ] {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(Settings::of_file(&path), Err(Error::Usage(_))),
                "{text}"
            );
        }
    }
}
