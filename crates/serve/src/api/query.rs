//! One request to the API, and the answer that is found for it.

use super::given::Given;
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
};
use serde_json::{Map, Value};
use txgraph::{
    Address, BlockSpec, LimitHit, MeasureAnswer, ScanReport, Selection, TokenFilter, U256,
    limit_words, number,
};

/// Gaps that are listed.
const GAPS_MAX: usize = 10;

/// A query: the parameters of a request, and what answers them.
pub(super) struct Query<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) given: &'a Given,
}

impl Query<'_> {
    /// Which blocks are asked for: all up to the one that the answer is about, unless a range is named.
    pub(super) fn blocks(&self) -> Vec<BlockSpec> {
        let tip = self.ask.tip.number;
        let mut blocks = Vec::new();
        match self.given.blocks() {
            None => blocks.push(BlockSpec::through(0, tip)),
            Some((_, specs)) => {
                for spec in specs {
                    // Up to the block that the answer is about. Dates are found later, and a range
                    // that is wrong is refused then.
                    match spec.resolve(tip) {
                        Ok(ranges) => blocks.extend(
                            ranges
                                .iter()
                                .map(|range| BlockSpec::through(range.first, range.last)),
                        ),
                        Err(_) => blocks.push(spec.clone()),
                    }
                }
            }
        }
        blocks
    }

    /// Which transfers are asked for: the parameters that most endpoints have.
    pub(super) fn selection(&self) -> Selection {
        let given = self.given;
        let tokens = match given.knows("token") {
            true => given.tokens(),
            false => Vec::new(),
        };
        Selection {
            blocks: self.blocks(),
            tokens: match tokens.is_empty() {
                true => TokenFilter::All,
                false => TokenFilter::Only {
                    native: tokens.contains(&None),
                    tokens: tokens.into_iter().flatten().collect(),
                },
            },
            min_value: match given.knows("min") {
                true => given.amount("min").unwrap_or_default(),
                false => U256::ZERO,
            },
            internal: given.knows("internal") && given.flag("internal"),
            allow_partial: given.flag("partial"),
            ..Selection::default()
        }
    }

    /// A command line with the options of [`Self::selection`].
    pub(super) fn command(&self, begin: &str) -> Command {
        let given = self.given;
        let mut command = Command(format!("txgraph {begin}"));
        if given.knows("token") {
            for token in given.tokens() {
                command.option("-t", &token.map_or("eth".to_owned(), hex));
            }
        }
        if given.knows("blocks")
            && let Some((text, _)) = given.blocks()
        {
            command.option("--blocks", text);
        }
        if given.knows("min")
            && let Some(amount) = given.amount("min")
        {
            command.option("--min-value", &amount.to_string());
        }
        if given.knows("internal") && given.flag("internal") {
            command.word("--with-internal");
        }
        if given.knows("partial") && given.flag("partial") {
            command.word("--allow-partial");
        }
        command
    }
}

/// An address in lower case.
pub(super) fn hex(address: Address) -> String {
    format!("{address:#x}")
}

/// A command line of the program.
#[derive(Clone, Debug)]
pub(super) struct Command(String);

impl Command {
    /// Adds a word.
    pub(super) fn word(&mut self, word: &str) {
        self.0.push(' ');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:,+/@%=-".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => self.0.push_str(word),
            false => {
                self.0.push('\'');
                self.0.push_str(&word.replace('\'', r"'\''"));
                self.0.push('\'');
            }
        }
    }

    /// Adds a program that reads the output so far.
    pub(super) fn then(&mut self, program: &str) {
        self.0.push_str(" | ");
        self.0.push_str(program);
    }

    /// Adds an option with its value.
    pub(super) fn option(&mut self, name: &str, value: &str) {
        self.word(name);
        self.word(value);
    }
}

/// The parts of an answer that were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    fields: Map<String, Value>,
    command: Option<String>,
    incomplete: Vec<String>,
    beyond: Vec<String>,
}

impl Found {
    /// An answer that begins with these fields.
    pub(super) fn of(fields: Map<String, Value>) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }

    /// Adds a field.
    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// Adds the result of a measure.
    pub(super) fn result(&mut self, result: &MeasureAnswer) -> Answer<()> {
        let value = serde_json::to_value(result);
        self.put(
            "result",
            value.map_err(|error| Fault::Failed(error.to_string()))?,
        );
        Ok(())
    }

    /// States the command line that gives the same.
    pub(super) fn command(&mut self, command: Command) {
        self.command = Some(command.0);
    }

    /// Says what the answer does not contain.
    pub(super) fn lacks(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.incomplete.contains(&what) {
            self.incomplete.push(what);
        }
    }

    /// Says which rows the limit and the offset of the request leave out. A client that shows one page
    /// after the other need not repeat that.
    pub(super) fn lacks_rows(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.lacks(what.clone());
        self.beyond.push(what);
    }

    /// Says which blocks a scan did not read, and what else is not sure.
    pub(super) fn scan(&mut self, report: &ScanReport) {
        for gap in report.missing.iter().take(GAPS_MAX) {
            self.lacks(format!("blocks {} are missing: {}", gap.blocks, gap.reason));
        }
        if let Some(more @ 1..) = report.missing.len().checked_sub(GAPS_MAX) {
            self.lacks(number(
                more as u64,
                "more range of blocks is missing",
                "more ranges of blocks are missing",
            ));
        }
        for caveat in &report.caveats {
            self.lacks(caveat.clone());
        }
    }

    /// Says that transfers inside of transactions were not read, if there can be any in the answer: they
    /// move coins, which a search through swaps meets, too.
    pub(super) fn internal(&mut self, given: &Given) {
        let meets_coins = given.wants_coins() || (given.knows("swaps") && given.flag("swaps"));
        if meets_coins && !given.flag("internal") {
            self.lacks("coins that move inside of transactions were not read");
        }
    }

    /// Says what the limits of a search left out.
    pub(super) fn limits(&mut self, limits: &[LimitHit]) {
        for limit in limits {
            self.lacks(format!("not followed: {}", limit_words(limit)));
        }
    }

    /// The answer as an object.
    pub(super) fn into_value(self) -> Value {
        let mut fields = self.fields;
        fields.insert("command".to_owned(), self.command.into());
        fields.insert("incomplete".to_owned(), self.incomplete.into());
        fields.insert("beyond".to_owned(), self.beyond.into());
        fields.into()
    }
}

/// The answer of an endpoint.
pub(super) type Reply = Answer<Found>;
