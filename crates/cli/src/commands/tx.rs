//! `txgraph tx`.

use super::{Context, token_notes};
use crate::{
    args::LabelArgs,
    output::{print_json, print_page},
    table::thousands,
    units::{COIN_DECIMALS, in_units},
};
use clap::Args;
use std::path::PathBuf;
use txgraph::{
    Address, AmountSum, Asset, BlockRange, Dictionary, Labels, NetChange, Result, Source,
    TokenList, TransactionSummary, Transfer, U256,
    parse::{parse_transaction, utc},
};

/// Show one transaction: transfers, fee, net balance changes
///
/// Prints sender, receiver, method, status and fee, all transfers of tokens and of the native coin,
/// including internal ones, and the net balance change of each address.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TxArgs {
    /// Hash, or block and index
    ///
    /// A hash is looked up in the node's index. Without one, it is searched backwards from the tip.
    #[arg(value_name = "HASH|BLOCK:INDEX")]
    transaction: String,

    /// Symbols and decimals of tokens: Uniswap token list, CSV or JSON
    ///
    /// They take precedence over what the contracts claim.
    #[arg(long, value_name = "FILE")]
    token_list: Vec<PathBuf>,

    #[command(flatten)]
    labels: LabelArgs,

    /// Names of methods: an ABI file, a directory, or lines of signatures
    ///
    /// A line is `0xa9059cbb transfer(address,uint256)`.
    #[arg(long, value_name = "PATH")]
    abi: Vec<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph tx 20:3 --chain testdata/small/v2/genesis.json
    $ txgraph tx 0x456f4003e67602f684dd3ece711df9c3d2b90d4c3bde77aad1171b12afb41112 \\
        --chain testdata/small/v2/genesis.json
";

/// Runs the command.
pub(crate) fn run(args: &TxArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let mut names = Dictionary::common();
    for path in &args.abi {
        for row in names.load(path)?.bad_rows {
            context.terminal.note(format_args!("warning: {row}"));
        }
    }
    let found = source.transaction(parse_transaction(&args.transaction)?)?;
    if let Some(why) = &found.without_internal {
        context.terminal.note(format_args!(
            "warning: transfers inside of the transaction are not known: {why}"
        ));
    }
    let method = found.method(&names);
    if args.json {
        return print_json(&found.to_json(method.as_deref()));
    }
    let labels = args.labels.read(&source)?;
    context.terminal.labels(&labels);
    let page = Page {
        labels,
        chain_id: source.chain()?.chain_id,
        coin: source.native_symbol()?,
        tokens: tokens(&source, &found, args, context)?,
    };
    print_page(&page.text(&found, method.as_deref()))
}

/// The token lists, and what other tokens claim.
fn tokens(
    source: &Source,
    found: &TransactionSummary,
    args: &TxArgs,
    context: &Context<'_>,
) -> Result<TokenList> {
    let mut list = source.token_list(&args.token_list)?.unwrap_or_default();
    let tokens = found.transfers.iter();
    let tokens = tokens.filter_map(|transfer| transfer.token_address);
    let named = source.name_tokens(&mut list, tokens, &BlockRange::one(found.block).into())?;
    token_notes::note(&named, context.terminal);
    Ok(list)
}

/// How a transaction is printed.
struct Page {
    chain_id: u64,
    coin: &'static str,
    tokens: TokenList,
    labels: Labels,
}

impl Page {
    fn text(&self, found: &TransactionSummary, method: Option<&str>) -> String {
        let ether = |wei: U256| format!("{} {}", in_units(wei, COIN_DECIMALS), self.coin);
        let status = match (found.success, &found.reason) {
            (true, _) => "succeeded".to_owned(),
            (false, Some(reason)) => format!("reverted: {reason}"),
            (false, None) => "failed".to_owned(),
        };
        let gas = format!("{} gas", thousands(found.gas_used));
        let fee = match found.fee {
            Some(fee) => format!("{} ({gas})", ether(fee)),
            None => format!("not known ({gas})"),
        };
        let to = match (found.to, found.created) {
            (Some(to), _) => self.named(to),
            (None, Some(created)) => format!("{} (created)", self.named(created)),
            (None, None) => "a contract that was not created".to_owned(),
        };
        let time = utc(found.timestamp);
        let mut text = format!(
            "transaction  {}\nblock        {}:{} of {time}\nfrom         {}\nto           {to}\n",
            found.hash,
            found.block,
            found.index,
            self.named(found.sender)
        );
        if let Some(method) = method {
            text += &format!("method       {method}\n");
        }
        text += &format!(
            "status       {status}\nvalue        {}\nfee          {fee}\nnonce        {}\n",
            ether(found.value),
            found.nonce
        );
        if found.transfers.is_empty() {
            return text + "\nnothing moved\n";
        }
        text += "\nmovements\n";
        for transfer in &found.transfers {
            text += &format!(
                "  {} -> {}  {}  {}\n",
                self.named(transfer.from_address),
                self.named(transfer.to_address),
                self.amount(&asset(transfer), transfer.token_id, transfer.value),
                transfer.kind
            );
        }
        text += if found.is_swap() {
            "\nnet changes without the fee (a swap)\n"
        } else {
            "\nnet changes without the fee\n"
        };
        for change in found.net() {
            let asset = found.transfers.iter().map(asset);
            let asset = asset
                .into_iter()
                .find(|asset| asset.token_address == change.token);
            let Some(asset) = asset else { continue };
            let sign = if change.is_gain { '+' } else { '-' };
            let NetChange {
                address,
                token_id,
                amount,
                ..
            } = change;
            let amount = self.amount(&asset, token_id, amount);
            let role = role(found, address);
            let address = self.named(address);
            text += &format!("  {address}  {sign}{amount}{role}\n");
        }
        text
    }

    /// An address with its name.
    fn named(&self, address: Address) -> String {
        match self.labels.name(address) {
            Some(name) => format!("{address} [{name}]"),
            None => address.to_string(),
        }
    }

    fn amount(&self, asset: &Asset, id: Option<U256>, amount: U256) -> String {
        let sum = AmountSum::from_limbs_slice(amount.as_limbs());
        let text = self.tokens.format_amount(self.chain_id, asset, sum);
        match id {
            Some(id) => format!("{text} (id {id})"),
            None => text,
        }
    }
}

fn asset(transfer: &Transfer) -> Asset {
    Asset {
        token_address: transfer.token_address,
        token_standard: transfer.token_standard,
    }
}

/// Returns the role of an address in the transaction.
fn role(found: &TransactionSummary, address: Address) -> &'static str {
    if address == found.sender {
        "  (sender)"
    } else if found.to == Some(address) {
        "  (called)"
    } else if found.created == Some(address) {
        "  (created)"
    } else {
        ""
    }
}
