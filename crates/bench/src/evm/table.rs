//! The table of results in Markdown.

use super::measure::{Times, geometric_mean};
use serde::Serialize;
use std::fmt::Write;

/// The kind of work of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Deployed contracts that mostly compute.
    Realistic,
    /// Deployed contracts that mostly read and write state, call and log.
    State,
    /// One instruction, repeated.
    Synthetic,
    /// Each run executes code that no run executed before.
    Once,
    /// Transactions that execute no code.
    Overhead,
}

impl Kind {
    /// All kinds in the order of the table.
    pub(crate) const ALL: [Self; 5] = [
        Self::Realistic,
        Self::State,
        Self::Synthetic,
        Self::Once,
        Self::Overhead,
    ];

    /// Returns the kind of a program by its name.
    pub(crate) fn of(name: &str) -> Self {
        const STATE: [&str; 6] = [
            "bench-erc20",
            "real-",
            "sstore",
            "erc20",
            "weth",
            "transfer",
        ];
        const SYNTHETIC: [&str; 8] = [
            "ips-JUMPDEST",
            "ips-loop",
            "ips-memory_grow",
            "ips-signextend",
            "loop1m",
            "arithmix",
            "mcopy",
            "memsweep",
        ];
        // Deployed contracts that compute and use little state.
        const COMPUTE: [&str; 2] = ["real-bswap64", "real-onchain-lm"];
        let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
        if begins(&SYNTHETIC) {
            Self::Synthetic
        } else if begins(&STATE) && !begins(&COMPUTE) {
            Self::State
        } else {
            Self::Realistic
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Realistic => "Realistic, computing",
            Self::State => "Realistic, state-heavy",
            Self::Synthetic => "Synthetic",
            Self::Once => "Code that runs once",
            Self::Overhead => "Overhead of a transaction",
        }
    }
}

/// A program with the times of the engines.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Name of the program.
    pub(crate) name: String,
    /// Kind of work.
    pub(crate) kind: Kind,
    /// Gas of the transaction.
    pub(crate) gas_used: u64,
    /// Times by engine in the order of the columns: own, revm, own frame.
    pub(crate) engines: Vec<(String, Times)>,
}

impl Row {
    /// Time of revm divided by our time, both of the fastest round.
    pub(crate) fn ratio(&self) -> f64 {
        match &self.engines[..] {
            [(_, own), (_, peer), ..] => peer.min_ns / own.min_ns,
            _ => 1.0,
        }
    }
}

/// Formats all rows in Markdown, with geometric means.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n### {}\n\n| program | gas | own | revm | revm ÷ own | medians | own, frame | spread |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
            kind.title()
        );
        for row in &rows {
            let times: Vec<&Times> = row.engines.iter().map(|(_, times)| times).collect();
            let medians = times[1].median_ns / times[0].median_ns;
            let frame = times
                .get(2)
                .map_or("–".to_owned(), |times| duration(times.min_ns));
            let spread = times.iter().map(|times| times.spread).fold(0.0, f64::max);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | **{:.2}** | {medians:.2} | {frame} | {:.0} % |",
                row.name,
                row.gas_used,
                duration(times[0].min_ns),
                duration(times[1].min_ns),
                row.ratio(),
                spread * 100.0
            );
        }
        let mean = geometric_mean(rows.iter().map(|row| row.ratio()));
        let _ = writeln!(text, "| geometric mean | | | | **{mean:.2}** | | | |");
    }
    let mean = |wanted: &[Kind]| {
        let rows = rows.iter().filter(|row| wanted.contains(&row.kind));
        geometric_mean(rows.map(Row::ratio))
    };
    let realistic = mean(&[Kind::Realistic, Kind::State]);
    let all = mean(&[Kind::Realistic, Kind::State, Kind::Synthetic]);
    let slowest = rows.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let _ = write!(
        text,
        "\nGeometric mean, revm ÷ own: **{realistic:.2}** over the realistic programs, **{all:.2}** over all programs."
    );
    if let Some(row) = slowest {
        let _ = write!(text, " Lowest: {:.2} ({}).", row.ratio(), row.name);
    }
    text.push('\n');
    text
}

/// Formats nanoseconds with a unit.
pub(crate) fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        ns if ns >= 1e3 => format!("{:.2} µs", ns / 1e3),
        ns => format!("{ns:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_name() {
        for (name, kind) in [
            ("real-weth", Kind::State),
            ("real-bswap64", Kind::Realistic),
            ("bench-snailtracer", Kind::Realistic),
            ("ips-memory_grow_mload-by1", Kind::Synthetic),
            ("sstore2k", Kind::State),
            ("fact100", Kind::Realistic),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn ratios_are_revm_divided_by_own() {
        let times = |min_ns| Times {
            min_ns,
            median_ns: min_ns,
            ..Times::default()
        };
        let row = Row {
            name: "x".to_owned(),
            kind: Kind::Realistic,
            gas_used: 1,
            engines: vec![
                ("own".to_owned(), times(10.0)),
                ("revm".to_owned(), times(25.0)),
            ],
        };
        assert_eq!(row.ratio(), 2.5);
        assert!(markdown(&[row]).contains("| x | 1 | 10 ns | 25 ns | **2.50** |"));
    }
}
