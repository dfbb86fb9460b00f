//! `txgraph transfers --malformed`: the logs that look like transfers and are none.

use super::{Context, names::Names, transfers::TransfersArgs};
use crate::output::number;
use std::collections::BTreeSet;
use txgraph::{
    AnalysisFormat, Error, Result, TokenFilter,
    parse::{Options, TransfersQuery},
};

pub(crate) fn run(args: &TransfersArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let source = context.open()?;
    let query = TransfersQuery::from_table(args)?;
    let outputs = query.output.tables(None)?;
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    let list = source.token_list(&query.token_list)?;
    let selection = query.selection.read(&source, list.as_ref())?;
    let contracts: BTreeSet<_> = match selection.tokens {
        TokenFilter::All => BTreeSet::new(),
        TokenFilter::Only { tokens, .. } if tokens.is_empty() => {
            let why = "the native coin moves without logs, so none of them is malformed";
            return Err(Error::usage(why));
        }
        TokenFilter::Only { tokens, .. } => tokens.into_iter().collect(),
    };
    let labels = args.labels().read(&source, terminal)?;
    let found = source.malformed_logs(&contracts, &selection.blocks)?;
    terminal.stats.phase("read");
    terminal.written(&found.write(&outputs)?);
    if (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables) {
        let names = Names {
            chain_id: source.chain()?.chain_id,
            tokens: list.unwrap_or_default(),
            labels,
        };
        names.print(&[&found.table], terminal)?;
    }
    let count = number(
        found.logs.len() as u64,
        "log looks like a transfer and is",
        "logs look like transfers and are",
    );
    terminal.note(format_args!("{count} none"));
    Ok(())
}
