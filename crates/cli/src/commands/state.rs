//! `txgraph balance`, `nonce`, `code` and `storage`: the state at the end of a block.

use super::{Context, names::Names, token_notes};
use crate::{
    args::{BlockArgs, StateBlockArgs, TableOutputArgs},
    output::{number, print_data, print_json, print_page},
    units::{COIN_DECIMALS, in_units},
};
use clap::Args;
use serde_json::{Value, json};
use txgraph::{
    Address, AnalysisFormat, Asset, BlockRange, BlockState, Error, Hint, Labels, Result, SlotState,
    Source, TokenList, TokenNames, TokenStandard, U256,
    parse::{self, Checksum, addresses},
    printable,
};

/// Where the state is read, and how it is printed.
#[derive(Args, Debug)]
struct StateArgs {
    #[command(flatten)]
    block: StateBlockArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print balances of the native coin and of tokens
///
/// The token itself states its decimals. --json also has the amounts in the smallest unit.
#[derive(Args, Debug)]
#[command(after_long_help = BALANCE)]
pub(crate) struct BalanceArgs {
    /// Addresses; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    addresses: Vec<String>,

    /// Tokens, instead of the native coin; `eth` is the native coin
    ///
    /// Addresses, or symbols of well-known tokens and of the token list in txgraph.toml.
    #[arg(short, long, value_name = "TOKEN", value_delimiter = ',')]
    token: Vec<String>,

    #[command(flatten)]
    state: StateArgs,
}

const BALANCE: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph balance 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --block 20
    $ txgraph balance 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        -t eth,0xd601451207128971898aab8654521699f35222e2
";

/// Print the nonces of accounts
///
/// The nonce of an account is the number of transactions that it sent. The nonce of a contract is the
/// number of contracts that it created, plus one.
#[derive(Args, Debug)]
#[command(after_long_help = NONCE)]
pub(crate) struct NonceArgs {
    /// Addresses; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    addresses: Vec<String>,

    #[command(flatten)]
    state: StateArgs,
}

const NONCE: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph nonce 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --block 20
";

/// Print the code of a contract, in hex
#[derive(Args, Debug)]
#[command(after_long_help = CODE)]
pub(crate) struct CodeArgs {
    /// Contract
    #[arg(value_name = "ADDRESS")]
    address: String,

    #[command(flatten)]
    state: StateArgs,
}

const CODE: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph code 0xd601451207128971898aab8654521699f35222e2 --block 20
";

/// Print slots of the storage of a contract, or the history of one
///
/// With --history: every change of the slot, with the values before and after, by the change sets
/// of the node. A value that a block writes and replaces again is no change.
#[derive(Args, Debug)]
#[command(
    after_long_help = STORAGE,
    mut_arg("blocks", |arg| arg.requires("history").conflicts_with("block")),
    mut_arg("since", |arg| arg.requires("history").conflicts_with("block")),
    mut_arg("until", |arg| arg.requires("history").conflicts_with("block")),
    mut_arg("output", |arg| arg.requires("history").conflicts_with("block")),
    mut_arg("format", |arg| arg.requires("history").conflicts_with("block"))
)]
pub(crate) struct StorageArgs {
    /// Contract
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// Slots, in decimal or hex
    #[arg(required = true, value_name = "SLOT")]
    slots: Vec<String>,

    #[command(flatten)]
    state: StateArgs,

    /// Every change of the slot in the blocks
    #[arg(long, conflicts_with_all = ["block", "json"])]
    history: bool,

    #[command(flatten)]
    blocks: BlockArgs,

    #[command(flatten)]
    files: TableOutputArgs,
}

const STORAGE: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph storage 0xd601451207128971898aab8654521699f35222e2 0 1 --block 20
    $ txgraph storage 0xe6f6d16088d808c83d4a56dabd507f96f7a281bc 0 --history
    $ txgraph storage 0xe6f6d16088d808c83d4a56dabd507f96f7a281bc 0 --history -b 10:30 -f csv
";

pub(crate) fn balance(args: &BalanceArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let holders = addresses(&args.addresses, Checksum::Verify)?;
    let list = source.token_list(&[""; 0])?;
    let assets = parse::assets(&args.token, &source, list.as_ref());
    let mut assets = assets.map_err(|error| match error.hint {
        Some(Hint::NameTokenList) => {
            error.hint("name it by its address, or set `token-list` in txgraph.toml")
        }
        _ => error,
    })?;
    if assets.is_empty() {
        assets.push(None);
    }
    let mut tokens = source.tokens(assets.iter().copied().flatten());
    let block = args.state.block.read(&source)?;
    if let Some(block) = block {
        tokens = tokens.block(block);
    }
    let names = if assets.iter().any(Option::is_some) {
        tokens.run()?
    } else {
        Default::default()
    };
    let native = source.native_symbol()?;
    let wanted: Vec<_> = (holders.iter())
        .flat_map(|holder| assets.iter().map(|asset| (*holder, *asset)))
        .collect();
    let (block, balances) = source.balances(block, &wanted)?;
    note(block, context);
    for token in assets.iter().copied().flatten() {
        context.warn_empty(&source, token, block)?;
    }
    let mut rows = Vec::new();
    for ((holder, asset), balance) in wanted.into_iter().zip(balances) {
        let unit = match &asset {
            None => Some((native.to_owned(), COIN_DECIMALS)),
            Some(token) => names.get(token).and_then(unit),
        };
        let amount = balance.ok_or_else(|| not_a_token(asset.unwrap_or_default()))?;
        rows.push((holder, asset, amount, unit));
    }
    if args.state.json {
        let rows = rows.into_iter().map(|(holder, asset, amount, unit)| {
            json!({
                "address": holder,
                "token_address": asset,
                "value": amount.to_string(),
                "amount": unit.as_ref().map(|(_, decimals)| in_units(amount, *decimals)),
                "symbol": unit.map(|(symbol, _)| symbol),
            })
        });
        return print_answer(&source, block, "balances", rows.collect());
    }
    let tokens = assets.iter().copied().flatten();
    let list = token_notes::named(
        list,
        &source,
        tokens,
        &BlockRange {
            first: block,
            last: block,
        }
        .into(),
        context.terminal,
    )?;
    let chain_id = source.chain()?.chain_id;
    let lines = rows.into_iter().map(|(holder, asset, amount, unit)| {
        let amount = match (asset, unit) {
            (Some(token), Some((_, decimals))) => {
                let name = list.format_asset(
                    chain_id,
                    &Asset {
                        token_address: Some(token),
                        token_standard: TokenStandard::Erc20,
                    },
                );
                format!("{} {name}", in_units(amount, decimals))
            }
            (None, Some((symbol, decimals))) => format!("{} {symbol}", in_units(amount, decimals)),
            (token, None) => format!("{amount} units of {}", token.unwrap_or_default()),
        };
        format!("{holder}  {}\n", printable(&amount))
    });
    print_page(&lines.collect::<String>())
}

pub(crate) fn nonce(args: &NonceArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let mut rows = Vec::new();
    let block = read(&source, &args.state, context, |state| {
        for address in addresses(&args.addresses, Checksum::Verify)? {
            rows.push((address, state.account(address)?.nonce));
        }
        Ok(())
    })?;
    if args.state.json {
        let rows = rows.into_iter();
        let rows = rows.map(|(address, nonce)| json!({ "address": address, "nonce": nonce }));
        return print_answer(&source, block, "nonces", rows.collect());
    }
    let lines = rows.into_iter();
    let lines = lines.map(|(address, nonce)| format!("{address}  {nonce}\n"));
    print_page(&lines.collect::<String>())
}

pub(crate) fn code(args: &CodeArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let address = parse::parse_address(&args.address, Checksum::Verify)?;
    let mut found = None;
    let block = read(&source, &args.state, context, |state| {
        found = Some((state.account(address)?, state.code(address)?));
        Ok(())
    })?;
    let Some((account, code)) = found else {
        return Ok(());
    };
    if args.state.json {
        let row = json!({
            "address": address,
            "code_hash": account.code_hash,
            "bytes": code.len(),
            "code": code,
        });
        return print_answer(&source, block, "codes", vec![row]);
    }
    if code.is_empty() {
        let what = if account.exists {
            "has no code"
        } else {
            "does not exist"
        };
        return Err(Error::new(
            txgraph::ErrorKind::Failed,
            format!("{address} {what} at the end of block {block}"),
        ));
    }
    print_data(format!("{code}\n").as_bytes())
}

pub(crate) fn storage(args: &StorageArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let address = parse::parse_address(&args.address, Checksum::Verify)?;
    let mut slots = Vec::new();
    for slot in &args.slots {
        slots.push(parse::parse_slot(slot).map_err(Error::usage)?);
    }
    if args.history {
        return match slots[..] {
            [slot] => history(args, &source, address, slot, context),
            _ => Err(Error::usage("a history is about one slot")),
        };
    }
    let mut rows = Vec::new();
    let block = read(&source, &args.state, context, |state| {
        for slot in slots {
            rows.push((slot, state.storage(address, slot)?));
        }
        Ok(())
    })?;
    for caveat in rows.iter().filter_map(|(_, found)| found.caveat.as_ref()) {
        context.terminal.warn(format_args!("{caveat}"));
    }
    if args.state.json {
        let word = |number: U256| format!("{number:#066x}");
        let rows = rows.into_iter().map(|(slot, SlotState { value, caveat })| {
            let mut row = json!({ "address": address, "slot": word(slot), "value": word(value) });
            if let Some(caveat) = caveat {
                row["caveat"] = caveat.into();
            }
            row
        });
        return print_answer(&source, block, "slots", rows.collect());
    }
    let lines = rows.into_iter();
    let lines = lines.map(|(slot, found)| format!("{slot:#x}  {:#066x}\n", found.value));
    print_page(&lines.collect::<String>())
}

fn history(
    args: &StorageArgs,
    source: &Source,
    address: Address,
    slot: U256,
    context: &Context<'_>,
) -> Result<()> {
    let terminal = context.terminal;
    let mut query = source.slot_history(address, slot);
    for blocks in args.blocks.read()? {
        query = query.blocks(blocks);
    }
    let outputs = args.files.read(None)?;
    query.check(&outputs)?;
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    let found = query.run()?;
    terminal.stats.phase("read");
    terminal.blocks(&found.blocks.into());
    terminal.notes(&found.notes);
    terminal.written(&found.write(&outputs)?);
    if (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables) {
        let names = Names {
            chain_id: source.chain()?.chain_id,
            tokens: TokenList::default(),
            labels: Labels::default(),
        };
        names.print(&[&found.table], terminal)?;
    }
    terminal.note(format_args!(
        "{} in blocks {}; before them, the value was {:#x}",
        number(found.changes.len() as u64, "change", "changes"),
        found.blocks,
        found.opening.value
    ));
    Ok(())
}

/// Reads the state, and says which it is. Returns the block.
fn read(
    source: &Source,
    args: &StateArgs,
    context: &Context<'_>,
    ask: impl FnOnce(&BlockState<'_>) -> Result<()>,
) -> Result<u64> {
    let block = args.block.read(source)?;
    let block = source.with_state(block, |state| ask(state).map(|()| state.block()))?;
    note(block, context);
    Ok(block)
}

fn note(block: u64, context: &Context<'_>) {
    let terminal = context.terminal;
    terminal.note(format_args!("at the end of block {block}"));
}

/// Prints rows with the block after which they are the state.
fn print_answer(source: &Source, block: u64, name: &str, rows: Vec<Value>) -> Result<()> {
    print_json(&json!({
        "tool": format!("txgraph {}", txgraph::version()),
        "chain": source.chain()?,
        "block": block,
        "block_hash": source.block_hash(block)?,
        name: rows,
    }))
}

fn not_a_token(token: Address) -> Error {
    Error::new(
        txgraph::ErrorKind::Failed,
        format!("{token} is no ERC-20 or ERC-721 token: it does not answer balanceOf"),
    )
}

/// Symbol and decimals, if the token states both.
fn unit(names: &TokenNames) -> Option<(String, u8)> {
    Some((names.symbol.clone()?, names.decimals?))
}
