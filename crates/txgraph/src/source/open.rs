//! Opens backends by the names of sources.

use super::bundles::Bundles;
#[cfg(feature = "rpc")]
use super::head::NodeWithHead;
#[cfg(feature = "import")]
use super::import::Import;
#[cfg(feature = "lake")]
use super::lake::LakeFolder;
#[cfg(feature = "rpc")]
use super::rpc::RpcServer;
use super::{
    backend::Backend, era::EraFiles, joined::Joined, reth::RethNode, run_control::RunControl,
};
use crate::{
    Config, Error, Result, SourceSpec,
    kinds::{Opener, check_setting, find},
};

/// Opens one source.
fn open(spec: &SourceSpec, config: &Config, control: &RunControl) -> Result<Box<dyn Backend>> {
    // Wherever it was set: without receipts, nothing would be proved.
    if config.check_roots == Some(true) {
        check_setting("check-roots", &[spec])?;
    }
    Ok(match find(spec)?.opener {
        Opener::Reth => Box::new(RethNode::open(spec, config, control)?),
        Opener::Era => Box::new(EraFiles::open(spec, config, control)?),
        #[cfg(feature = "lake")]
        Opener::Lake => Box::new(LakeFolder::open(spec, config, control)?),
        #[cfg(feature = "rpc")]
        Opener::Rpc => Box::new(RpcServer::open(spec, config, control)?),
        Opener::Bundles => Box::new(Bundles::open(spec, config, control)?),
        #[cfg(feature = "import")]
        Opener::Import => Box::new(Import::open(spec, config, control)?),
    })
}

/// Opens the source of a configuration, joined with its others if there are any.
pub(super) fn open_all(
    spec: &SourceSpec,
    config: &Config,
    control: &RunControl,
) -> Result<(Box<dyn Backend>, SourceSpec)> {
    let open = |spec: &SourceSpec| open(spec, config, control);
    if let Some(head) = &config.head {
        if !config.joined.is_empty() {
            return Err(Error::usage(
                "a node with its head is joined with no other source",
            ));
        }
        let name = SourceSpec::joined(&format!("{spec} + {head}"));
        return Ok((open_head(spec, head, config, control)?, name));
    }
    if config.joined.is_empty() {
        return Ok((open(spec)?, spec.clone()));
    }
    let mut parts = Vec::new();
    for spec in std::iter::once(spec).chain(&config.joined) {
        parts.push((spec.clone(), open(spec)?));
    }
    let names: Vec<_> = parts.iter().map(|(spec, _)| spec.to_string()).collect();
    let joined = Joined::new(parts)?;
    Ok((Box::new(joined), SourceSpec::joined(&names.join(" + "))))
}

#[cfg(feature = "rpc")]
fn open_head(
    spec: &SourceSpec,
    head: &SourceSpec,
    config: &Config,
    control: &RunControl,
) -> Result<Box<dyn Backend>> {
    Ok(Box::new(NodeWithHead::open(spec, head, config, control)?))
}

/// Without servers, the name of their kind is not known.
#[cfg(not(feature = "rpc"))]
fn open_head(
    _: &SourceSpec,
    head: &SourceSpec,
    _: &Config,
    _: &RunControl,
) -> Result<Box<dyn Backend>> {
    find(head)?;
    Err(Error::usage(format!("{head}: this build asks no servers")))
}
