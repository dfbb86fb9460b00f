//! `txgraph tx`.

mod trace;

use super::{
    Context,
    names::{Names, moved_asset},
};
use crate::{
    args::{AbiArgs, NameArgs},
    output::{print_json, print_page},
    table::thousands,
    units::{COIN_DECIMALS, in_units},
};
use clap::Args;
use serde_json::json;
use trace::Executed;
use txgraph::{
    Address, ApprovalKind, Asset, BlockRange, Netting, Result, TokenStandard, TransactionSummary,
    U256,
    parse::{parse_transaction, utc},
};

/// Show one transaction: transfers, fee, swaps, approvals, net changes
///
/// Prints sender, receiver, method, status and fee, all transfers of tokens and of the native coin,
/// including internal ones, in the order of execution, who swapped what, approvals, and the net balance
/// change of each address.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TxArgs {
    /// Hash, or block and index
    ///
    /// A hash is looked up in the node's index. Without one, it is searched backwards from the tip.
    #[arg(value_name = "HASH|BLOCK:INDEX")]
    transaction: String,

    #[command(flatten)]
    names: NameArgs,

    #[command(flatten)]
    functions: AbiArgs,

    /// Also print all calls, and what changed in the state
    ///
    /// The transaction is executed again, and compared with its receipt.
    #[arg(long)]
    trace: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph tx 20:3
    $ txgraph tx 20:3 --trace
    $ txgraph tx 0x456f4003e67602f684dd3ece711df9c3d2b90d4c3bde77aad1171b12afb41112
";

pub(crate) fn run(args: &TxArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    let functions = args.functions.read(context.terminal)?;
    let found = source.transaction(parse_transaction(&args.transaction)?)?;
    if let Some(why) = &found.without_internal {
        context.terminal.warn(format_args!(
            "transfers inside of the transaction are not known: {why}"
        ));
    }
    if found.approvals.is_none() {
        context.terminal.note(format_args!(
            "approvals are not known: the logs of a server are checked for transfers only"
        ));
    }
    let executed = match args.trace {
        true => Some(Executed::new(&source, &found)?),
        false => None,
    };
    let method = found.method(&functions);
    if args.json {
        let mut json = found.to_json(method.as_deref());
        json["tool"] = format!("txgraph {}", txgraph::version()).into();
        json["chain"] = json!(source.chain()?);
        for (key, value) in executed.iter().flat_map(Executed::json) {
            json[key] = value;
        }
        return print_json(&json);
    }
    let tokens = found.transfers.iter();
    let tokens = tokens.filter_map(|transfer| transfer.token_address);
    let approved = found.approvals.iter().flatten().map(|it| it.token);
    let tokens = tokens.chain(approved);
    let page = Page {
        coin: source.native_symbol()?,
        names: Names::read(
            &args.names.tokens,
            args.names.labels.read(&source, context.terminal)?,
            &source,
            tokens,
            &BlockRange::one(found.block).into(),
            context.terminal,
        )?,
    };
    let mut text = page.text(&found, method.as_deref());
    if let Some(executed) = executed {
        let is_seen = context.terminal.is_seen();
        text += &executed.text(&found, &functions, &page.names, page.coin, is_seen);
    }
    print_page(&text)
}

/// How a transaction is printed.
struct Page {
    coin: &'static str,
    names: Names,
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
        let approvals = self.approvals(found);
        if found.transfers.is_empty() {
            let approved = found.approvals.iter().flatten().map(|it| it.token);
            return text + "\nnothing moved\n" + &approvals + &self.names.claims(approved);
        }
        text += "\nmovements\n";
        for transfer in found.executed() {
            text += &format!("  {}\n", self.names.movement(transfer));
        }
        text += &self.swaps(found);
        text += &approvals;
        text += "\nnet changes without the fee\n";
        for change in found.net() {
            let role = role(found, change.address);
            let change = self.names.net_change(&change, &found.transfers);
            text += &format!("  {change}{role}\n");
        }
        let approved = found.approvals.iter().flatten().map(|it| it.token);
        let moved = found.transfers.iter().filter_map(|it| it.token_address);
        text + &self.names.claims(moved.chain(approved))
    }

    /// The swaps, and the addresses of which the transfers do not say what they swapped.
    fn swaps(&self, found: &TransactionSummary) -> String {
        let Netting {
            swaps, unresolved, ..
        } = found.swaps();
        let swaps = swaps.iter().map(|swap| {
            let amount = |token, amount| {
                let asset = moved_asset(&found.transfers, token);
                self.names.amount(&asset, amount)
            };
            let receiver = match swap.to == swap.address {
                true => String::new(),
                false => format!(" to {}", self.named(swap.to)),
            };
            format!(
                "  {} gives {} for {}{receiver}\n",
                self.named(swap.address),
                amount(swap.given_token, swap.given),
                amount(swap.got_token, swap.got)
            )
        });
        let mut lines: String = swaps.collect();
        if !unresolved.is_empty() {
            let traders = unresolved.iter().map(|address| self.named(*address));
            let traders: Vec<_> = traders.collect();
            lines += "  the transfers do not say what these gave for what, because several tokens or addresses \
                      gave or got, or what was got was passed on: ";
            lines += &(traders.join(", ") + "\n");
        }
        match lines.is_empty() {
            true => lines,
            false => format!("\nswaps\n{lines}"),
        }
    }

    /// The approvals that were granted and revoked.
    fn approvals(&self, found: &TransactionSummary) -> String {
        let approvals = found.approvals.iter().flatten().map(|it| {
            let standard = match it.kind {
                ApprovalKind::Allowance | ApprovalKind::Permit2 => TokenStandard::Erc20,
                ApprovalKind::Item | ApprovalKind::Operator => TokenStandard::Erc721,
            };
            let asset = Asset {
                token_address: Some(it.token),
                token_standard: standard,
            };
            let token = self.names.tokens.format_asset(self.names.chain_id, &asset);
            let amount = it.amount.unwrap_or_default();
            let all = match (it.token_id, standard) {
                (Some(id), _) => format!("item {id} of {token}"),
                (None, TokenStandard::Erc20) if it.kind.is_unlimited(amount) => {
                    format!("unlimited {token}")
                }
                (None, TokenStandard::Erc20) => self.names.amount(&asset, amount),
                (None, _) => format!("all items of {token}"),
            };
            let [owner, spender] = [it.owner, it.spender].map(|address| self.named(address));
            match (it.amount, it.token_id) {
                (None, _) => {
                    format!("  {owner} lets {spender} take an unknown amount of {token}\n")
                }
                (Some(_), Some(_)) if it.spender.is_zero() => {
                    format!("  {owner} lets no other address take {all}\n")
                }
                (Some(U256::ZERO), _) => {
                    format!("  {owner} no longer lets {spender} take {token}\n")
                }
                (Some(_), _) => format!("  {owner} lets {spender} take {all}\n"),
            }
        });
        let lines: String = approvals.collect();
        match lines.is_empty() {
            true => lines,
            false => format!("\napprovals\n{lines}"),
        }
    }

    fn named(&self, address: Address) -> String {
        self.names.address(address)
    }
}

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
