//! How a transaction with overrides differs from its run without them, as text.

use super::names::Names;
use crate::{
    name_args::TokenListArgs,
    output::{Terminal, print_page},
    table::thousands,
    units::{COIN_DECIMALS, in_units},
};
use txgraph::{
    BlockRange, Bytes, Dictionary, FieldChange, Labels, Result, RunDifference, RunParts, Source,
    Transfer, U256, printable,
};

/// Prints the parts that only one of the runs has: lines with `-` for the run without overrides, lines
/// with `+` for the run with them.
pub(super) fn print(
    difference: &RunDifference,
    functions: &Dictionary,
    labels: Labels,
    source: &Source,
    terminal: &Terminal,
) -> Result<()> {
    if difference.is_empty() {
        return print_page("does not differ from the run without overrides\n");
    }
    let blocks = difference.transfers().map(|it| it.block_number);
    let names = Names::read(
        &TokenListArgs::default(),
        labels,
        source,
        difference.transfers().filter_map(|it| it.token_address),
        &blocks.map(BlockRange::one).collect(),
        terminal,
    )?;
    let lines = Lines {
        transfers: &difference.transfers().collect::<Vec<_>>(),
        functions,
        names: &names,
        coin: source.native_symbol()?,
    };
    print_page(&lines.text(difference))
}

/// The parts of a run, in the order in which they are printed.
const PARTS: [&str; 7] = [
    "status", "gas", "output", "movement", "event", "net", "state",
];

/// How the parts are printed.
struct Lines<'a> {
    /// The transfers of both runs.
    transfers: &'a [&'a Transfer],
    functions: &'a Dictionary,
    names: &'a Names,
    coin: &'a str,
}

impl Lines<'_> {
    fn text(&self, difference: &RunDifference) -> String {
        let mut text =
            "differs from the run without overrides: - without, + with them\n".to_owned();
        let runs = [("-", &difference.without), ("+", &difference.with)];
        let runs = runs.map(|(sign, run)| (sign, self.of(run)));
        for part in PARTS {
            for (sign, lines) in &runs {
                for (_, line) in lines.iter().filter(|(of, _)| *of == part) {
                    text += &format!("  {sign} {part:<10}{}\n", printable(line));
                }
            }
        }
        text
    }

    /// The parts of a run, a line each.
    fn of(&self, run: &RunParts) -> Vec<(&'static str, String)> {
        let names = self.names;
        let mut lines = Vec::new();
        lines.extend(run.status.iter().map(|it| ("status", it.clone())));
        lines.extend(run.gas_used.map(|it| ("gas", thousands(it))));
        lines.extend(run.output.iter().map(|it| ("output", it.to_string())));
        let transfers = run.transfers.iter();
        lines.extend(transfers.map(|it| ("movement", names.movement(it))));
        lines.extend(run.logs.iter().map(|log| {
            let named = self.functions.event(log.topics(), &log.data.data);
            let event = named.map_or_else(
                || {
                    let topic = log.topics().first();
                    let topic = topic.map_or_else(String::new, |topic| format!("{topic} "));
                    format!("{topic}{}", log.data.data)
                },
                |named| named.to_string(),
            );
            ("event", format!("{}  {event}", names.contract(log.address)))
        }));
        let net = run.net.iter();
        let moved = || self.transfers.iter().copied();
        lines.extend(net.map(|it| ("net", names.net_change(it, moved()))));
        lines.extend(run.state.iter().map(|it| {
            let account = names.contract(it.address);
            let change = change_text(&it.change, self.coin);
            ("state", format!("{account}  {change}"))
        }));
        lines
    }
}

/// A change of a field of an account.
pub(super) fn change_text(change: &FieldChange, coin: &str) -> String {
    let ether = |wei: U256| format!("{} {coin}", in_units(wei, COIN_DECIMALS));
    let bytes = |code: &Bytes| match code.len() {
        0 => "none".to_owned(),
        len => format!("{} bytes", thousands(len as u64)),
    };
    let (field, before, after) = match change {
        FieldChange::Destroyed => return "destroyed".to_owned(),
        FieldChange::Balance { before, after } => {
            ("balance".to_owned(), ether(*before), ether(*after))
        }
        FieldChange::Nonce { before, after } => {
            ("nonce".to_owned(), before.to_string(), after.to_string())
        }
        FieldChange::Code { before, after } => ("code".to_owned(), bytes(before), bytes(after)),
        FieldChange::Slot {
            slot,
            before,
            after,
        } => {
            let [slot, before, after] =
                [slot, before, after].map(|it| format!("{:#x}", U256::from_be_bytes(it.0)));
            (format!("slot {slot} "), before, after)
        }
    };
    format!("{field:<9}{before} -> {after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph::{Address, Asset, Kind, NetChange, TokenList, TokenStandard};

    /// One run makes a transfer more, so the other one has none of its own that names the token.
    #[test]
    fn changes_of_both_runs_are_in_units_of_the_token() {
        let [from, to, token] = [1, 2, 3].map(Address::repeat_byte);
        let change = |address, is_gain, amount: u64| NetChange {
            address,
            token: Some(token),
            token_id: None,
            is_gain,
            amount: U256::from(amount),
        };
        let without = RunParts {
            net: vec![change(from, false, 5)],
            ..RunParts::default()
        };
        let with = RunParts {
            transfers: vec![Transfer {
                block_number: 7,
                block_timestamp: None,
                transaction_index: 0,
                log_index: Some(0),
                sub_index: 0,
                transaction_hash: None,
                token_address: Some(token),
                from_address: from,
                to_address: to,
                value: U256::from(4),
                token_id: None,
                token_standard: TokenStandard::Erc20,
                kind: Kind::Transfer,
            }],
            net: vec![change(from, false, 9)],
            ..RunParts::default()
        };
        let difference = RunDifference { without, with };
        let names = Names {
            chain_id: 1,
            tokens: TokenList::default(),
            labels: Labels::default(),
        };
        let lines = Lines {
            transfers: &difference.transfers().collect::<Vec<_>>(),
            functions: &Dictionary::common(),
            names: &names,
            coin: "ETH",
        };
        let amount = |amount: u64| {
            let asset = Asset::of(&difference.with.transfers[0]);
            names.amount(&asset, U256::from(amount))
        };
        let expected = format!(
            "differs from the run without overrides: - without, + with them\n  \
             + movement  {from} -> {to}  {}  transfer\n  \
             - net       {from}  -{}\n  \
             + net       {from}  -{}\n",
            amount(4),
            amount(5),
            amount(9)
        );
        assert_eq!(lines.text(&difference), expected);
    }
}
