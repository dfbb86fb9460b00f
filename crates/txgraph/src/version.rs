//! The version of this build.

use txgraph_nodedb::NEWEST_TESTED;

/// The version of this build, its commit, and the newest release of reth that was tested:
/// `0.2.0 (b7c024e, tested with reth 2.5.1)`. Without a repository of git the commit is `unknown`.
pub fn version() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("TXGRAPH_COMMIT"));
    format!("{version} ({commit}, tested with reth {NEWEST_TESTED})")
}
