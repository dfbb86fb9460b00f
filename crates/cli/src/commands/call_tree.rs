//! The call frames of a transaction as an indented tree.

use crate::{
    commands::names::Names,
    table::thousands,
    units::{COIN_DECIMALS, in_units},
};
use alloy_primitives::U256;
use std::collections::BTreeSet;
use txgraph::{Address, Asset, CallFrame, CallLog, Dictionary, Named, TokenStandard, printable};

/// Bytes of unknown data that are shown.
const BYTES_SHOWN: usize = 36;

/// Functions and events of ERC-20 whose `amount` or `value` is an amount of the token.
const MOVES: [&str; 9] = [
    "transfer",
    "transferFrom",
    "approve",
    "permit",
    "withdraw",
    "Transfer",
    "Approval",
    "Deposit",
    "Withdrawal",
];

/// How parts of the tree look on a terminal.
#[derive(Clone, Copy)]
enum Part {
    Name,
    Value,
    Gas,
    Event,
    Error,
}

pub(super) struct CallTree<'a> {
    /// Names of functions, events and errors.
    pub(super) functions: &'a Dictionary,
    /// Names of addresses and tokens.
    pub(super) names: &'a Names,
    /// Tokens of ERC-20, whose amounts are in units.
    pub(super) fungible: &'a BTreeSet<Address>,
    /// The symbol of the native coin.
    pub(super) coin: &'a str,
    /// Whether escape sequences for colors are written.
    pub(super) color: bool,
}

/// An item of a frame, in the order of execution.
enum Item<'a> {
    Call(&'a CallFrame),
    Log(&'a CallLog),
    End(String),
}

impl CallTree<'_> {
    pub(super) fn lines(&self, root: &CallFrame) -> String {
        let mut text = self.head(root) + "\n";
        self.children(root, "", &mut text);
        text
    }

    pub(super) fn named(&self, address: Address) -> String {
        self.names.contract(address)
    }

    /// A line for the call itself.
    fn head(&self, frame: &CallFrame) -> String {
        let target = match frame.to {
            Some(to) => self.named(to),
            None => "a new contract".to_owned(),
        };
        let mut line = format!("{} {target}", frame.kind);
        if frame.kind != "SELFDESTRUCT" && !frame.kind.starts_with("CREATE") {
            line += " ";
            line += &self.paint(Part::Name, &self.call(frame));
        }
        if let Some(value) = frame.value.filter(|value| !value.is_zero()) {
            let value = in_units(value, COIN_DECIMALS);
            line += &self.paint(Part::Value, &format!(" {value} {}", self.coin));
        }
        if frame.kind != "SELFDESTRUCT" {
            let gas = thousands(frame.gas_used.to());
            line += &self.paint(Part::Gas, &format!(" [{gas} gas]"));
        }
        line
    }

    /// The function and its arguments, or the selector.
    fn call(&self, frame: &CallFrame) -> String {
        if frame.input.is_empty() {
            return "()".to_owned();
        }
        let target = frame.to.unwrap_or_default();
        match self.functions.call(&frame.input) {
            Some(named) => self.in_units(target, named).to_string(),
            None => shortened(&frame.input),
        }
    }

    fn children(&self, frame: &CallFrame, indent: &str, text: &mut String) {
        let mut items = Vec::new();
        let mut logs = frame.logs.iter().peekable();
        for (number, call) in frame.calls.iter().enumerate() {
            while let Some(log) = logs.next_if(|log| log.position.to::<usize>() <= number) {
                items.push(Item::Log(log));
            }
            items.push(Item::Call(call));
        }
        items.extend(logs.map(Item::Log));
        items.extend(self.end(frame).map(Item::End));
        let count = items.len();
        for (number, item) in items.into_iter().enumerate() {
            let is_last = number + 1 == count;
            let branch = if is_last { "└─ " } else { "├─ " };
            *text += &format!("{indent}{branch}");
            match item {
                Item::Log(log) => *text += &self.event(log),
                Item::End(end) => *text += &end,
                Item::Call(call) => {
                    *text += &self.head(call);
                    *text += "\n";
                    let below = if is_last { "   " } else { "│  " };
                    self.children(call, &format!("{indent}{below}"), text);
                    continue;
                }
            }
            *text += "\n";
        }
    }

    fn event(&self, log: &CallLog) -> String {
        let named = self.functions.event(&log.topics, &log.data);
        let text = named.map_or_else(
            || match log.topics.first() {
                Some(topic) => format!("{topic} {}", shortened(&log.data)),
                None => shortened(&log.data),
            },
            |named| self.in_units(log.address, named).to_string(),
        );
        self.paint(Part::Event, &format!("event {text}"))
    }

    /// The result of the call, or why it failed. `None` if there is nothing to say.
    fn end(&self, frame: &CallFrame) -> Option<String> {
        let output: &[u8] = frame.output.as_ref().map_or(&[], |output| output);
        if let Some(error) = &frame.error {
            let reason = match (&frame.revert_reason, self.functions.error(output)) {
                (Some(reason), _) => format!(": {reason}"),
                (None, Some(named)) => format!(": {named}"),
                (None, None) if output.is_empty() => String::new(),
                (None, None) => format!(": {}", shortened(output)),
            };
            return Some(self.paint(Part::Error, &format!("{error}{reason}")));
        }
        if output.is_empty() || frame.kind.starts_with("CREATE") {
            return None;
        }
        let target = frame.to.unwrap_or_default();
        let called = self.functions.call(&frame.input);
        if called.is_some_and(|it| it.name == "balanceOf")
            && self.fungible.contains(&target)
            && let Some(amount) = U256::try_from_be_slice(output)
        {
            return Some(format!("returned {}", self.amount(target, amount)));
        }
        let values = self.functions.returned(&frame.input, output);
        let values = values.map_or_else(|| shortened(output), |values| values.join(", "));
        Some(format!("returned {}", printable(&values)))
    }

    /// The amounts of a call to a token, or of its event, in units.
    fn in_units(&self, token: Address, mut named: Named) -> Named {
        if !self.fungible.contains(&token) || !MOVES.contains(&named.name.as_str()) {
            return named;
        }
        for (name, value) in &mut named.values {
            if ["amount", "value"].contains(&name.as_str())
                && let Ok(amount) = value.parse::<U256>()
            {
                *value = match amount == U256::MAX {
                    true => "unlimited".to_owned(),
                    false => self.amount(token, amount),
                };
            }
        }
        named
    }

    /// An amount of a token of ERC-20.
    fn amount(&self, token: Address, amount: U256) -> String {
        let asset = Asset {
            token_address: Some(token),
            token_standard: TokenStandard::Erc20,
        };
        printable(&self.names.amount(&asset, amount)).into_owned()
    }

    /// A text that a contract may have chosen, in the color of its part.
    fn paint(&self, part: Part, text: &str) -> String {
        let text = printable(text);
        if !self.color {
            return text.into_owned();
        }
        let code = match part {
            Part::Name => "36",
            Part::Value => "33",
            Part::Gas => "2",
            Part::Event => "35",
            Part::Error => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The first bytes, in hex, and how many there are.
fn shortened(bytes: &[u8]) -> String {
    let shown = bytes.get(..BYTES_SHOWN).unwrap_or(bytes);
    let hex = alloy_primitives::hex::encode_prefixed(shown);
    match bytes.len() {
        len if len > BYTES_SHOWN => format!("{hex}… ({} bytes)", thousands(len as u64)),
        _ => hex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{B256, Bytes, U64};
    use txgraph::{Labels, Method, TokenList};
    use txgraph_testkit::says;

    fn frame(kind: &'static str, to: u8, input: Vec<u8>) -> CallFrame {
        CallFrame {
            from: Address::repeat_byte(1),
            gas: U64::from(100_000),
            gas_used: U64::from(21_000),
            to: Some(Address::repeat_byte(to)),
            input: input.into(),
            output: None,
            error: None,
            revert_reason: None,
            calls: Vec::new(),
            logs: Vec::new(),
            value: None,
            kind,
        }
    }

    #[test]
    fn a_tree_interleaves_calls_and_events() {
        let transfer = Method::parse("transfer(address,uint256)").unwrap();
        let to = Address::repeat_byte(9).to_string();
        let topic = Method::parse("Transfer(address,address,uint256)").unwrap();
        let topic = alloy_primitives::keccak256(topic.signature());
        let one = B256::with_last_byte(1);
        let log = |position: u64| CallLog {
            address: Address::repeat_byte(2),
            topics: vec![topic, one, one],
            data: Bytes::from(B256::with_last_byte(7).to_vec()),
            position: U64::from(position),
            index: U64::ZERO,
        };
        let mut inner = frame("DELEGATECALL", 3, vec![0xde, 0xad, 0xbe, 0xef]);
        inner.error = Some("execution reverted".to_owned());
        inner.revert_reason = Some("no\u{1b}[2Jmoney".to_owned());
        let mut root = frame("CALL", 2, transfer.encode(&[to.as_str(), "5"]).unwrap());
        root.value = Some(U256::from(1_500_000_000_000_000_000u64));
        root.output = Some(one.to_vec().into());
        root.calls = vec![inner];
        root.logs = vec![log(0), log(1)];
        let mut labels = Labels::default();
        labels.add(
            Address::repeat_byte(3),
            txgraph::Label::named("library\u{1b}"),
        );
        let names = Names {
            chain_id: 1,
            tokens: TokenList::default(),
            labels,
        };
        let tree = CallTree {
            functions: &Dictionary::common(),
            names: &names,
            fungible: &BTreeSet::new(),
            coin: "ETH",
            color: false,
        };
        let text = tree.lines(&root);
        let expected = [
            "CALL 0x0202020202020202020202020202020202020202 transfer(to: \
             0x0909090909090909090909090909090909090909, amount: 5) 1.5 ETH [21,000 gas]",
            "├─ event Transfer(from: 0x0000000000000000000000000000000000000001, to: \
             0x0000000000000000000000000000000000000001, value: 7)",
            "├─ DELEGATECALL 0x0303030303030303030303030303030303030303 [library\u{fffd}] 0xdeadbeef \
             [21,000 gas]",
        ];
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..3], expected);
        assert!(
            lines[3].starts_with("│  └─ execution reverted: no"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(lines[4].starts_with("├─ event Transfer"), "{text}");
        assert_eq!(lines[5..], ["└─ returned true"]);
        let colored = CallTree {
            color: true,
            ..tree
        }
        .lines(&root);
        says(&colored, "\u{1b}[31mexecution reverted");
    }
}
