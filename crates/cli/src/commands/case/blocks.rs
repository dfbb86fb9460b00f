//! The blocks of a command, so that it asks the same query when the chain has grown.

use super::{answer::Blocks, query::Query};
use crate::{args::BlockArgs, argv};
use clap::FromArgMatches;
use txgraph::{BlockRange, Capability, Error, Result, Source};

/// Options that choose blocks.
const BLOCKS: [&str; 6] = ["blocks", "from_block", "to_block", "since", "until", "year"];

impl Query {
    /// The arguments that fix the blocks of a command that names none, so that it is the same
    /// query when the chain has grown.
    pub(super) fn fixed(&self, source: &Source) -> Result<Vec<String>> {
        let asks = |ids: &[&str]| ids.iter().any(|id| self.is_given(id));
        // The history of a slot has blocks, its value a block.
        let is_history = self.knows("history").then(|| self.is_given("history"));
        let has_blocks =
            self.knows("blocks") && is_history != Some(false) && !asks(&BLOCKS) && !asks(&["tx"]);
        let has_state = self.knows("block") && is_history != Some(true) && !self.is_given("block");
        let mut words = Vec::new();
        if has_blocks {
            let BlockRange { first, last } = source.default_range()?;
            words.push(format!("--blocks={first}:{}", last.saturating_add(1)));
        }
        // The state ends with the blocks on disk.
        if has_state && source.head()?.is_none() && source.require(Capability::State).is_ok() {
            words.push(format!("--block={}", source.tip()?));
        }
        Ok(words)
    }

    /// The blocks that the command names, if they depend on the tip. Asked for by number, files with
    /// metadata are the same again when the chain has grown.
    pub(super) fn at_tip(&self, source: &Source) -> Result<Vec<Blocks>> {
        // With a head, the newest blocks depend on the command.
        if !self.follows_tip(false) || source.head()?.is_some() {
            return Ok(Vec::new());
        }
        let args = BlockArgs::from_arg_matches(&self.matches);
        let args = args.map_err(|error| Error::usage(error.to_string()))?;
        let blocks = source.resolve_blocks(&args.read()?)?;
        let blocks = blocks.iter();
        let blocks = blocks.map(|BlockRange { first, last }| Blocks { first, last });
        Ok(blocks.collect())
    }

    /// Whether the blocks that the command names depend on the tip. `at_tip`: whether the blocks of its
    /// answer end there, as dates in the future do.
    pub(super) fn follows_tip(&self, at_tip: bool) -> bool {
        let is_open = |text: &str| text.starts_with(['-', ':', '@']) || text.ends_with(':');
        let blocks = self.values("blocks");
        blocks.iter().flat_map(|text| text.split(',')).any(is_open)
            || (self.is_given("since") && !self.is_given("until"))
            || (at_tip && (self.is_given("until") || self.is_given("year")))
            || (self.is_given("from_block") && !self.is_given("to_block"))
    }

    /// The command of an answer with what the case added to it. With `ranges`, it asks for these
    /// blocks. Options of every command are left out.
    pub(super) fn again(&self, added: &[String], ranges: &[Blocks]) -> Vec<String> {
        let mut words = vec![self.command.clone()];
        words.extend(argv::given(&self.parsed, &self.matches, |arg| {
            let id = arg.get_id().as_str();
            !arg.is_global_set() && (ranges.is_empty() || !BLOCKS.contains(&id))
        }));
        words.extend(ranges.iter().map(|range| format!("--blocks={range}")));
        words.extend(added.iter().cloned());
        for arg in self.parsed.get_positionals() {
            let id = arg.get_id().as_str();
            let values = self.is_given(id).then(|| self.values(id));
            words.extend(values.into_iter().flatten());
        }
        words
    }
}
