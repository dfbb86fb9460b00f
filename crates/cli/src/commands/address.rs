//! `txgraph address`: who is this?

mod json;

use super::{Context, names::Names};
use crate::{
    args::{BlockArgs, NameArgs, StateBlockArgs},
    json_args::JsonArgs,
    output::{number, print_page},
    table::{self, Page, View, thousands},
    transfer_tables,
};
use clap::Args;
use std::time::Instant;
use txgraph::{
    Activity, Address, AddressProfile, AmountSum, Asset, BlockRanges, BlockTime, ColumnType,
    Counterparty, Creation, FirstSent, HeldItem, MovedAsset, Result, ScanReport, Table,
    TokenStandard, Transfer, U256, Unrecorded,
    parse::{Checksum, assets, parse_address, utc},
    printable,
};

/// Items of a token that are listed.
const ITEMS_SHOWN: usize = 20;

/// Show one address: creator, first funder, balances, counterparties
///
/// Reads all transfers of the address: in milliseconds from an index (`txgraph index build`), else
/// by a scan of the blocks.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AddressArgs {
    /// The address
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// Tokens whose balances are read [default: the ten most transferred]
    ///
    /// Addresses, or symbols of --token-list and of well-known tokens. The balance of the native coin is
    /// read in any case; with `eth` alone, it is the only one.
    #[arg(short, long, value_name = "TOKEN")]
    token: Vec<String>,

    #[command(flatten)]
    block: StateBlockArgs,

    /// Counterparties listed in each direction, by number of transfers
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    #[command(flatten)]
    blocks: BlockArgs,

    /// Also transfers inside transactions
    ///
    /// Every transaction is executed again, which costs many times as much as a scan and needs the
    /// state before each block.
    #[arg(long)]
    with_internal: bool,

    /// Accept missing or pruned blocks; the result states the gap
    #[arg(long)]
    allow_partial: bool,

    #[command(flatten)]
    names: NameArgs,

    #[command(flatten)]
    output: JsonArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph address 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0
    $ txgraph address 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c -o address.json
";

pub(crate) fn run(args: &AddressArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    let address = parse_address(&args.address, Checksum::Verify)?;
    let mut query = source.profile(address).top(args.limit);
    for blocks in args.blocks.read()? {
        query = query.blocks(blocks);
    }
    if args.allow_partial {
        query = query.allow_partial();
    }
    if args.with_internal {
        query = query.internal();
    }
    let list = source.token_list(&args.names.tokens.token_list)?;
    for token in assets(&args.token, &source, list.as_ref())? {
        query = query.token(token);
    }
    if let Some(block) = args.block.read(&source)? {
        query = query.block(block);
    }
    let labels = args.names.labels.read(&source, terminal)?;
    let outputs = args.output.open(&source.protected_paths())?;
    let found = query.run()?;
    terminal.stats.phase("read");
    terminal.blocks(&found.request.blocks);
    terminal.gaps(&found.scan);
    for sentence in unknown(&found) {
        terminal.note(format_args!("{sentence}"));
    }
    let tokens = found.balances.iter().filter_map(|(token, _)| *token);
    let first = found.first_sent.iter();
    let first = first.filter_map(|first| first.transfer.token_address);
    let facts = found
        .contract
        .iter()
        .flat_map(|facts| facts.tokens(address));
    let sides = found.received.top.iter().chain(&found.sent.top);
    let assets = sides.filter_map(|it| it.assets.first()?.asset.token_address);
    let items = found.items.iter().map(|it| it.token);
    let tokens = tokens.chain(first).chain(facts).chain(assets).chain(items);
    let blocks = &found.request.blocks;
    let lists = &args.names.tokens;
    let view = Shown(Names::read(
        lists, labels, &source, tokens, blocks, terminal,
    )?);
    let document = || -> Result<_> {
        let mut metadata = found.metadata(&source)?;
        metadata.add_names(Some(&view.0.tokens), Some(&view.0.labels));
        Ok(view.as_json(&found, &metadata))
    };
    if outputs.write(document, terminal)? {
        print_page(&view.text(&found))?;
        let tables = view.tables(&found, terminal.width());
        if !tables.text.is_empty() {
            print_page("\n")?;
            transfer_tables::print_with(&tables, "--json", terminal)?;
        }
    }
    let is_indexed = source.is_indexed(&found.request);
    terminal.scanned(&found.scan, start.elapsed(), is_indexed);
    Ok(())
}

/// Says what could not be read, and why.
fn unknown(found: &AddressProfile) -> impl Iterator<Item = String> {
    let all = found.unknown();
    all.map(|(what, why)| format!("{what} is not known: {why}"))
}

/// The blocks that were read, unless they are all from the first one on.
fn partly(scan: &ScanReport) -> Option<&BlockRanges> {
    let read = &scan.covered;
    let is_partly = read.iter().len() != 1 || read.span().is_some_and(|read| read.first > 1);
    is_partly.then_some(read)
}

/// A profile as it is shown.
struct Shown(Names);

impl Shown {
    fn text(&self, found: &AddressProfile) -> String {
        let mut text = format!("address       {}\n", self.named(found.address));
        let mut line = |name: &str, value: String| text += &format!("{name:<14}{value}\n");
        if let Some(state) = &found.state {
            let account = &state.account;
            line(
                "account",
                match (state.delegate, state.code_bytes) {
                    (Some(contract), _) => format!("delegates to {}", self.named(contract)),
                    (None, 0) if !account.exists => "does not exist".to_owned(),
                    (None, 0) => "no contract".to_owned(),
                    (None, bytes) => format!(
                        "contract of {}, code hash {}",
                        number(bytes as u64, "byte", "bytes"),
                        account.code_hash
                    ),
                },
            );
            line("nonce", account.nonce.to_string());
        }
        if let Some(creation) = &found.creation {
            line("created", self.creation(creation));
        }
        for (name, fact) in self.facts(found) {
            line(name, fact);
        }
        if let Some(blocks) = partly(&found.scan) {
            line("transfers", format!("of blocks {blocks} only"));
        }
        line("first funder", self.funder(found));
        if let Some(FirstSent {
            transfer,
            gas_payer,
        }) = &found.first_sent
        {
            line(
                "first sent",
                format!(
                    "{} to {} in {}",
                    self.amount(transfer),
                    self.named(transfer.to_address),
                    place(transfer)
                ),
            );
            line(
                "signed by",
                match gas_payer {
                    Some(payer) if *payer == found.address => "itself".to_owned(),
                    Some(payer) => {
                        let signer = self.named(*payer);
                        match transfer.token_address {
                            // A contract can log any transfer.
                            Some(_) => format!("{signer}, so the address may not have made it"),
                            None => signer,
                        }
                    }
                    None => "not known".to_owned(),
                },
            );
        }
        for (name, activity) in [("received", &found.received), ("sent", &found.sent)] {
            line(name, summary(activity));
        }
        if let Some(state) = &found.state {
            text += &format!(
                "\nbalances at the end of block {}\n",
                thousands(state.block)
            );
            for (token, balance) in &found.balances {
                text += &format!("  {}\n", self.balance(*token, *balance));
            }
        }
        text += &self.items(&found.items);
        if let Some(unrecorded) = found.unrecorded {
            let hint = if found.request.filter.internal {
                ""
            } else {
                " (--with-internal)"
            };
            let native = |amount| self.native(amount);
            text += &match unrecorded {
                Unrecorded::Left(amount) => format!(
                    "{} left the contract without one of these transfers{hint}\n",
                    native(amount)
                ),
                Unrecorded::Arrived(amount) => format!(
                    "{} arrived at the contract without one of these transfers{hint}\n",
                    native(amount)
                ),
            };
        }
        text
    }

    /// The first funder, as far as it is known, with what was not read.
    fn funder(&self, found: &AddressProfile) -> String {
        let mut unread = Vec::new();
        let funder = match (&found.first_funding, found.balance_before) {
            (_, Some((block, balance))) if !balance.is_zero() => {
                let balance = self.native(balance);
                return match block {
                    0 => format!("the genesis, with {balance}"),
                    block => format!(
                        "not in these blocks: it had {balance} at the end of block {}",
                        thousands(block)
                    ),
                };
            }
            (Some(funding), _) => format!(
                "{} with {} in {}",
                self.named(funding.from_address),
                self.amount(funding),
                place(funding)
            ),
            (None, _) => "none found".to_owned(),
        };
        if let Some(blocks) = partly(&found.scan) {
            unread.push(format!("in blocks {blocks} only"));
        } else if found.balance_before.is_none() {
            unread.push("what the genesis allocated is not known".to_owned());
        }
        if !found.request.filter.internal {
            unread.push("transfers inside transactions were not read: --with-internal".to_owned());
        }
        if unread.is_empty() {
            funder
        } else {
            format!("{funder} ({})", unread.join("; "))
        }
    }

    /// Returns lines that say what a contract is, by its code, its storage and its own answers.
    fn facts(&self, found: &AddressProfile) -> Vec<(&'static str, String)> {
        let Some(facts) = &found.contract else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if let Some(implementation) = facts.implementation {
            lines.push(("proxy of", self.0.contract(implementation)));
        }
        if let Some(supply) = facts.total_supply {
            let asset = erc20(found.address);
            let mut text = self.0.tokens.format_asset(self.0.chain_id, &asset);
            if let Some(name) = &facts.names.name {
                text += &format!(", {}", printable(name));
            }
            match facts.names.decimals {
                Some(decimals) => text += &format!(", {decimals} decimals"),
                None => text += ", without decimals",
            }
            text += &format!(", supply {}", self.0.amount(&asset, supply));
            lines.push(("token", text));
        }
        if let Some((one, other)) = facts.pair {
            let pair = [one, other].map(|token| self.0.contract(token));
            lines.push(("pool of", pair.join(" and ")));
        }
        if let Some(owner) = facts.owner {
            lines.push(("owner", self.named(owner)));
        }
        if let Some((owners, threshold)) = &facts.signers {
            let names = owners.iter().map(|owner| self.named(*owner));
            let names: Vec<_> = names.collect();
            let text = format!("{threshold} of {}: {}", owners.len(), names.join(", "));
            lines.push(("signers", text));
        }
        lines
    }

    /// Items by token.
    fn items(&self, items: &[HeldItem]) -> String {
        let mut text = String::new();
        for of_token in items.chunk_by(|one, other| one.token == other.token) {
            let Some(first) = of_token.first() else {
                continue;
            };
            let token = self.0.contract(first.token);
            let ids = of_token.iter().take(ITEMS_SHOWN);
            let ids = ids.map(|item| match item.amount == AmountSum::from(1) {
                true => item.id.to_string(),
                false => format!("{} ({} of it)", item.id, item.amount),
            });
            let ids: Vec<_> = ids.collect();
            let more = match of_token.len().saturating_sub(ITEMS_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            text += &format!("  {token}: id {}{more}\n", ids.join(", "));
        }
        match text.is_empty() {
            true => text,
            false => format!("\nitems received and not sent on\n{text}"),
        }
    }

    fn native(&self, amount: U256) -> String {
        self.0.amount(&Asset::NATIVE, amount)
    }

    fn creation(&self, creation: &Creation) -> String {
        let block = thousands(creation.block);
        match &creation.by {
            _ if creation.block == 0 => "in the genesis".to_owned(),
            None => {
                let why = creation.without_creator.as_deref().unwrap_or("not known");
                format!("in block {block}; by whom is not known: {why}")
            }
            Some(by) if by.creator == by.sender => format!(
                "by {} in transaction {}:{}",
                self.named(by.creator),
                creation.block,
                by.index
            ),
            Some(by) => format!(
                "by contract {} in transaction {}:{} of {}",
                self.named(by.creator),
                creation.block,
                by.index,
                self.named(by.sender)
            ),
        }
    }

    fn named(&self, address: Address) -> String {
        self.0.address(address)
    }

    fn amount(&self, transfer: &Transfer) -> String {
        self.0.amount(&Asset::of(transfer), transfer.value)
    }

    fn balance(&self, token: Option<Address>, balance: Option<U256>) -> String {
        match (token, balance) {
            (Some(token), None) => format!("{token} does not answer balanceOf"),
            (token_address, balance) => {
                let asset = token_address.map_or(Asset::NATIVE, erc20);
                self.0.amount(&asset, balance.unwrap_or_default())
            }
        }
    }

    /// The counterparties in both directions.
    fn tables(&self, found: &AddressProfile, width: Option<u16>) -> Page {
        let names = &self.0;
        let view = View::measures(&names.tokens, &names.labels, names.chain_id, width);
        let sides = [
            ("received-from", "Received from", &found.received),
            ("sent-to", "Sent to", &found.sent),
        ];
        let pages = sides
            .into_iter()
            .filter(|(.., activity)| !activity.top.is_empty())
            .map(|(id, title, activity)| table::draw(&counterparties(id, title, activity), &view));
        Page::join(pages.collect())
    }
}

/// A token of ERC-20.
const fn erc20(address: Address) -> Asset {
    Asset {
        token_address: Some(address),
        token_standard: TokenStandard::Erc20,
    }
}

/// A transfer's block, index of its transaction and time.
fn place(transfer: &Transfer) -> String {
    let (block, index) = transfer.transaction();
    let place = match transfer.transaction_hash {
        Some(_) => format!("transaction {block}:{index}"),
        None => format!("block {block}"),
    };
    match transfer.block_timestamp {
        Some(time) => format!("{place} of {}", utc(time.seconds())),
        None => place,
    }
}

fn summary(activity: &Activity) -> String {
    let (Some(first), Some(last)) = (&activity.first, &activity.last) else {
        return "nothing".to_owned();
    };
    let day = |transfer: &Transfer| match transfer.block_timestamp {
        Some(time) => utc(time.seconds()),
        None => format!("block {}", transfer.block_number),
    };
    format!(
        "{}, {}, from {} to {}",
        number(activity.transfers, "transfer", "transfers"),
        number(activity.counterparties, "counterparty", "counterparties"),
        day(first),
        day(last)
    )
}

fn counterparties(id: &'static str, title: &str, activity: &Activity) -> Table {
    use ColumnType::{Address, Amount, Text, U64};
    fn most(it: &Counterparty) -> Option<&MovedAsset> {
        it.assets.first()
    }
    let more = activity.counterparties - activity.top.len() as u64;
    let title = match more {
        0 => title.to_owned(),
        more => format!("{title} (and {} more)", thousands(more)),
    };
    Table::of(
        id,
        title,
        &activity.top,
        &[
            ("counterparty", Address, |it| it.address.into()),
            ("transfers", U64, |it| it.transfers.into()),
            ("moved_most_often", Amount, |it| {
                most(it).map(|it| it.amount).into()
            }),
            ("token_address", Address, |it| {
                most(it).and_then(|it| it.asset.token_address).into()
            }),
            ("token_standard", Text, |it| {
                most(it).map(|it| it.asset.token_standard.as_str()).into()
            }),
            ("assets", U64, |it| (it.assets.len() as u64).into()),
            ("first_timestamp", U64, |it| {
                it.first.map(BlockTime::seconds).into()
            }),
            ("last_timestamp", U64, |it| {
                it.last.map(BlockTime::seconds).into()
            }),
        ],
    )
}
