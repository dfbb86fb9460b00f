//! The parameters of a request, read by the table of endpoints.

use super::endpoint::{Endpoint, Kind, Parameter};
use crate::{
    ask::parse_hash,
    fault::{Answer, Fault},
};
use alloy_primitives::{Address, B256, U256};
use txgraph::{
    BlockSpec,
    parse::{Checksum, parse_address, parse_blocks},
};

/// Characters of a value. The longest are block ranges.
const VALUE_MAX: usize = 1_000;

/// Values of a parameter that can be given several times.
const VALUES_MAX: usize = 100;

/// The parameters of a request. All values are of the kinds that the endpoint states.
#[derive(Debug)]
pub(super) struct Given {
    values: Vec<(&'static Parameter, Value)>,
    parameters: &'static [Parameter],
}

/// A value of a parameter.
#[derive(Clone, Debug)]
enum Value {
    Address(Address),
    Hash(B256),
    Block(String),
    Blocks(String, Vec<BlockSpec>),
    Token(Option<Address>),
    Amount(U256),
    Number(u64),
    Flag(bool),
    Word(&'static str),
    Text(String),
}

impl Given {
    /// Reads the query of a URL. A name that the endpoint does not have is refused; one without a
    /// value is as if it were absent.
    pub(super) fn parse(endpoint: &'static Endpoint, query: &str) -> Answer<Self> {
        let parameters = endpoint.parameters;
        let mut values: Vec<(&'static Parameter, Value)> = Vec::new();
        for (name, text) in form_urlencoded::parse(query.as_bytes()) {
            // The token of the server, which was checked before.
            if name.eq_ignore_ascii_case("apikey") {
                continue;
            }
            let parameter = parameters.iter().find(|it| it.name == name);
            let Some(parameter) = parameter else {
                let path = endpoint.path;
                let names: Vec<_> = parameters.iter().map(|it| it.name).collect();
                let known = match names.is_empty() {
                    true => "it has none".to_owned(),
                    false => format!("it has {}", names.join(", ")),
                };
                return Err(Fault::Params(format!(
                    "{path} has no parameter `{name:.40}`: {known}"
                )));
            };
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let given = values.iter().filter(|(it, _)| it.name == parameter.name);
            let given = given.count();
            if given > 0 && !parameter.repeats {
                return Err(Fault::Params(format!("`{name}` is given twice")));
            }
            if given == VALUES_MAX {
                return Err(Fault::Params(format!(
                    "`{name}` is given more than {VALUES_MAX} times"
                )));
            }
            values.push((parameter, read(parameter, text)?));
        }
        let missing = parameters
            .iter()
            .find(|it| it.is_required && !values.iter().any(|(given, _)| given.name == it.name));
        match missing {
            None => Ok(Self { values, parameters }),
            Some(it) => Err(Fault::Params(format!(
                "`{}` is missing: {}",
                it.name, it.about
            ))),
        }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &Value> {
        debug_assert!(
            self.parameters.iter().any(|it| it.name == name),
            "the endpoint has no parameter {name}"
        );
        let all = self.values.iter().filter(move |(it, _)| it.name == name);
        all.map(|(_, value)| value)
    }

    /// The addresses of a parameter, each once.
    pub(super) fn addresses(&self, name: &str) -> Vec<Address> {
        let mut all = Vec::new();
        for value in self.all(name) {
            match value {
                Value::Address(address) if !all.contains(address) => all.push(*address),
                _ => {}
            }
        }
        all
    }

    /// The first address.
    pub(super) fn address(&self, name: &str) -> Option<Address> {
        self.all(name).find_map(|value| match value {
            Value::Address(address) => Some(*address),
            _ => None,
        })
    }

    /// An address that the endpoint requires.
    pub(super) fn required_address(&self, name: &str) -> Answer<Address> {
        let address = self.address(name);
        address.ok_or_else(|| Fault::Params(format!("`{name}` is missing")))
    }

    /// A hash.
    pub(super) fn hash(&self, name: &str) -> Option<B256> {
        self.all(name).find_map(|value| match value {
            Value::Hash(hash) => Some(*hash),
            _ => None,
        })
    }

    /// A text, or the name of a block.
    pub(super) fn text(&self, name: &str) -> &str {
        let mut all = self.all(name);
        let text = all.find_map(|value| match value {
            Value::Text(text) | Value::Block(text) => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or_default()
    }

    /// The ranges of blocks, as text and as they were read.
    pub(super) fn blocks(&self) -> Option<(&str, &[BlockSpec])> {
        self.all("blocks").find_map(|value| match value {
            Value::Blocks(text, specs) => Some((text.as_str(), specs.as_slice())),
            _ => None,
        })
    }

    /// Whether `token`, if there is any, names the native coin.
    pub(super) fn wants_coins(&self) -> bool {
        let tokens = match self.knows("token") {
            true => self.tokens(),
            false => Vec::new(),
        };
        tokens.is_empty() || tokens.contains(&None)
    }

    /// The tokens, each once; `None` for the native coin.
    pub(super) fn tokens(&self) -> Vec<Option<Address>> {
        let mut all = Vec::new();
        for value in self.all("token") {
            match value {
                Value::Token(token) if !all.contains(token) => all.push(*token),
                _ => {}
            }
        }
        all
    }

    /// An amount.
    pub(super) fn amount(&self, name: &str) -> Option<U256> {
        self.all(name).find_map(|value| match value {
            Value::Amount(amount) => Some(*amount),
            _ => None,
        })
    }

    /// A number, or its default.
    pub(super) fn number(&self, name: &str) -> u64 {
        let given = self.all(name).find_map(|value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        });
        given.unwrap_or_else(|| match self.kind(name) {
            Some(Kind::Number { default, .. }) => default,
            _ => 0,
        })
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.all(name)
            .any(|value| matches!(value, Value::Flag(true)))
    }

    /// A word, or its default.
    pub(super) fn word(&self, name: &str) -> &'static str {
        let given = self.all(name).find_map(|value| match value {
            Value::Word(word) => Some(*word),
            _ => None,
        });
        given.unwrap_or_else(|| match self.kind(name) {
            Some(Kind::Word(words)) => words.first().copied().unwrap_or_default(),
            _ => "",
        })
    }

    /// Whether the endpoint has a parameter.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.kind(name).is_some()
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        let parameter = self.parameters.iter().find(|it| it.name == name);
        parameter.map(|it| it.kind)
    }
}

/// Reads a value.
fn read(parameter: &Parameter, text: &str) -> Answer<Value> {
    let name = parameter.name;
    let wrong = |why: String| Fault::Params(format!("`{name}`: {why}"));
    if text.chars().count() > VALUE_MAX {
        return Err(wrong(format!("it has more than {VALUE_MAX} characters")));
    }
    let address = |text: &str| {
        parse_address(text, Checksum::Verify).map_err(|error| wrong(error.to_string()))
    };
    Ok(match parameter.kind {
        Kind::Address => Value::Address(address(text)?),
        Kind::Hash => {
            let why = || wrong("not `0x` and 64 hex digits".to_owned());
            Value::Hash(parse_hash(text).ok_or_else(why)?)
        }
        Kind::Block => Value::Block(text.to_owned()),
        Kind::Blocks => {
            let specs = parse_blocks(text).map_err(|error| wrong(error.to_string()))?;
            Value::Blocks(text.to_owned(), specs)
        }
        Kind::Token => Value::Token(match text {
            "native" | "eth" => None,
            text => Some(address(text)?),
        }),
        Kind::Amount => {
            let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
            let amount = U256::from_str_radix(text, 10).ok().filter(|_| is_decimal);
            let why = || wrong("not a whole number in the smallest unit".to_owned());
            Value::Amount(amount.ok_or_else(why)?)
        }
        Kind::Number { least, most, .. } => {
            let number = text.parse().ok();
            let number = number.filter(|number| (least..=most).contains(number));
            let why = || wrong(format!("not a number from {least} to {most}"));
            Value::Number(number.ok_or_else(why)?)
        }
        Kind::Flag => Value::Flag(match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(wrong("not `true` or `false`".to_owned())),
        }),
        Kind::Word(words) => {
            let word = words.iter().find(|word| **word == text);
            let why = || wrong(format!("one of {}", words.join(", ")));
            Value::Word(word.ok_or_else(why)?)
        }
        Kind::Text => Value::Text(text.to_owned()),
    })
}
