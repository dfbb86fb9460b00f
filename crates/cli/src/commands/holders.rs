//! `txgraph holders`: who has how much of a token.

use super::{Context, names::Names};
use crate::{
    args::{BlockArgs, NameArgs, TableOutputArgs},
    output::number,
};
use clap::Args;
use txgraph::{
    AmountFilter, AnalysisFormat, Error, Result, U256,
    parse::{assets, parse_token_id},
};

/// Who holds a token, and how much
///
/// Adds up all transfers of the token, and then asks the token itself what the largest holders have
/// after the last block. Data have all holders unless --limit is given.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct HoldersArgs {
    /// The token: an address or a symbol
    ///
    /// Symbols are looked up in --token-list and among well-known tokens.
    #[arg(value_name = "TOKEN")]
    token: String,

    /// Only these ids of an ERC-721 or ERC-1155 token, decimal or 0x…
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = parse_token_id)]
    token_id: Vec<U256>,

    /// Holders to list, the largest first [default: 100 on stdout, all in data]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    blocks: BlockArgs,

    /// Accept missing or pruned blocks; the result states the gap
    #[arg(long)]
    allow_partial: bool,

    #[command(flatten)]
    files: TableOutputArgs,

    #[command(flatten)]
    names: NameArgs,
}

const EXAMPLES: &str = "\
--blocks :N lists the holders at the end of block N-1. Blocks that do not begin with the first one
give what addresses gained in them.

Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph holders 0xd601451207128971898aab8654521699f35222e2
    $ txgraph holders 0xd601451207128971898aab8654521699f35222e2 --blocks :20 -o holders.csv
";

/// Holders on a human-readable page.
const SHOWN: usize = 100;

pub(crate) fn run(args: &HoldersArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    let list = source.token_list(&args.names.tokens.token_list)?;
    let token = match assets(std::slice::from_ref(&args.token), &source, list.as_ref())?[..] {
        [Some(token)] => token,
        _ => {
            return Err(Error::usage(
                "holders are of one token; the native coin has no list of its holders",
            ));
        }
    };
    let outputs = args.files.read(None)?;
    let is_shown = (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables);
    let only_shown = (outputs.iter()).all(|output| output.format == AnalysisFormat::Tables);
    let mut query = source.holders(token);
    if let Some(limit) = args.limit.or(only_shown.then_some(SHOWN)) {
        query = query.limit(limit);
    }
    if !args.token_id.is_empty() {
        query = query.amounts(AmountFilter::new([], args.token_id.clone()));
    }
    for blocks in args.blocks.read()? {
        query = query.blocks(blocks);
    }
    if args.allow_partial {
        query = query.allow_partial();
    }
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    query.check(&outputs)?;
    let labels = args.names.labels.read(&source, terminal)?;
    let found = query.run()?;
    terminal.stats.phase("read");
    terminal.blocks(&found.blocks);
    terminal.gaps(&found.scan);
    terminal.notes(&found.notes);
    terminal.written(&found.write(&outputs)?);
    if is_shown {
        let lists = &args.names.tokens;
        let names = Names::read(lists, labels, &source, [token], &found.blocks, terminal)?;
        names.print(&[&found.table], terminal)?;
    }
    let transfers = number(found.transfers, "transfer", "transfers");
    let more = match found.more {
        0 => String::new(),
        more => format!(
            "; {} not listed",
            number(more, "more holder is", "more holders are")
        ),
    };
    terminal.note(format_args!("by {transfers}{more}"));
    Ok(())
}
