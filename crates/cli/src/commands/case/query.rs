//! The command of an answer: what it is, what the case adds to it, and how it is asked again.

use super::answer::{FileRecord, LABELS, RECORD, STDERR, STDOUT, is_file_name};
use crate::{
    args::Global,
    argv::{self, Files},
};
use clap::{ArgMatches, Command, FromArgMatches};
use std::{ffi::OsString, path::Path};
use txgraph::{Config, Error, Result, SourceSpec, parse::QueryFile};

/// The commands that answer queries.
const COMMANDS: [&str; 17] = [
    "graph",
    "transfers",
    "analyze",
    "path",
    "common",
    "query",
    "info",
    "address",
    "statement",
    "approvals",
    "holders",
    "tx",
    "token",
    "balance",
    "nonce",
    "code",
    "storage",
];

/// A command that was parsed.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) command: String,
    pub(super) parsed: Command,
    pub(super) matches: ArgMatches,
}

impl Query {
    /// Parses a command, with options of every command in front of it.
    pub(super) fn parse(
        mut program: Command,
        options: &[String],
        words: &[String],
    ) -> Result<Self> {
        let args =
            std::iter::once("txgraph").chain(options.iter().chain(words).map(String::as_str));
        let args = argv::several_blocks(args.map(OsString::from));
        let matches = program.try_get_matches_from_mut(args);
        let matches = matches.map_err(|error| {
            // The text of a help or of the version.
            if !error.use_stderr() {
                return Error::usage("a help is no answer that a case can keep")
                    .hint("ask txgraph for it without `case add`");
            }
            let text = error.render().to_string();
            let text = text.split("\n\n").next().unwrap_or_default();
            let text = text.trim_start_matches("error: ").trim();
            Error::usage(format!("the command of the answer: {text}"))
                .hint("write the command after `--` as after txgraph")
        })?;
        let Some((command, matches)) = matches.subcommand() else {
            return Err(Error::usage("the answer has no command"));
        };
        let query = Self {
            command: command.to_owned(),
            parsed: (program.find_subcommand(command).cloned()).unwrap_or_default(),
            matches: matches.clone(),
        };
        query.check()?;
        Ok(query)
    }

    /// Refuses commands that give no answer.
    fn check(&self) -> Result<()> {
        let command = &self.command;
        if !COMMANDS.contains(&command.as_str()) || self.matches.subcommand().is_some() {
            let known = COMMANDS.join(", ");
            return Err(
                Error::usage(format!("`{command}` gives no answer that a case can keep"))
                    .hint(format!("the commands are {known}")),
            );
        }
        for (id, why) in [
            ("explain", "the query is not run"),
            ("stats", "the case keeps the cost itself"),
            ("list", "no query is run"),
            ("show", "no query is run"),
        ] {
            if self.is_given(id) {
                return Err(Error::usage(format!("with --{id}, {why}")));
            }
        }
        let outputs = self.values("output").into_iter();
        for name in outputs.chain(self.values("vertices")) {
            if [RECORD, STDOUT, STDERR, LABELS].contains(&name.as_str()) {
                return Err(Error::usage(format!(
                    "{name} is a file of every answer; choose another name"
                )));
            }
            if name != "-" && !is_file_name(&name) {
                return Err(Error::usage(format!(
                    "{name}: the case keeps the files of an answer in a folder of its own"
                ))
                .hint("give the name of a file, without a folder"));
            }
        }
        Ok(())
    }

    /// Whether the command has this option.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.parsed.get_arguments().any(|arg| arg.get_id() == id)
    }

    /// Whether the option is on the command line.
    pub(super) fn is_given(&self, id: &str) -> bool {
        let known = self.matches.try_contains_id(id).unwrap_or_default();
        known && self.matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine)
    }

    pub(super) fn values(&self, id: &str) -> Vec<String> {
        let values = self.matches.try_get_raw(id).ok().flatten();
        let values = values.into_iter().flatten();
        values.map(|it| it.to_string_lossy().into_owned()).collect()
    }

    /// Refuses a command line with a URL that may contain a key: it is not shown as it is.
    pub(super) fn check_keys(&self) -> Result<()> {
        let sources = self.values("source").into_iter().map(SourceSpec::from);
        let heads = self.values("head").into_iter().map(SourceSpec::server);
        let is_masked = |source: &SourceSpec| {
            let whole = format!("{}:{}", source.kind(), source.location().display());
            source.to_string().trim_end_matches('/') != whole.trim_end_matches('/')
        };
        let sources = sources.map(|source| (source, "`--source rpc:` with the URL in ETH_RPC_URL"));
        let heads = heads.map(|head| (head, "the URL in TXGRAPH_HEAD, without `--head`"));
        match sources.chain(heads).find(|(source, _)| is_masked(source)) {
            None => Ok(()),
            Some((source, instead)) => {
                let message = format!(
                    "{source}: the URL may contain a key or a password, and the case keeps the \
                     command line"
                );
                Err(Error::usage(message).hint(format!("use {instead}")))
            }
        }
    }

    /// The settings of the command: its source, and how to run.
    pub(super) fn config(&self) -> Result<Config> {
        self.global()?.config()
    }

    fn global(&self) -> Result<Global> {
        let global = Global::from_arg_matches(&self.matches);
        global.map_err(|error| Error::usage(error.to_string()))
    }

    /// The outputs that are kept if the command names none, and the labels of the case.
    pub(super) fn additions(&self, has_labels: bool) -> Result<Vec<String>> {
        let mut words = Vec::new();
        let is_chosen = ["output", "format", "vertices", "json"]
            .iter()
            .any(|id| self.is_given(id));
        if !is_chosen {
            words.extend(self.outputs(has_labels)?);
        }
        if has_labels && self.knows("labels") {
            words.extend(["--labels", LABELS].map(str::to_owned));
        }
        Ok(words)
    }

    fn outputs(&self, has_labels: bool) -> Result<Vec<String>> {
        let mut command = self.command.clone();
        if command == "query" {
            let name = self.values("file").pop().unwrap_or_default();
            let set = self.matches.get_many::<(String, String)>("set");
            let set: Vec<_> = set.into_iter().flatten().cloned().collect();
            let query = QueryFile::open(&name)?.resolve(&set)?;
            query.command().clone_into(&mut command);
        }
        let document = format!("{command}.json");
        let files: &[&str] = match command.as_str() {
            "graph" => &["graph.svg", "graph.csv"],
            "transfers" => &["transfers.csv"],
            "analyze" => &["analysis.json", "-"],
            "path" | "common" | "address" | "statement" | "approvals" | "holders" => {
                &[document.as_str(), "-"]
            }
            _ => &[],
        };
        let words = files.iter().flat_map(|file| ["-o", file]);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        let has_columns = ["graph", "transfers"].contains(&command.as_str());
        if has_columns && !self.is_given("columns") && !self.is_given("merge") {
            let labels = if has_labels {
                ",from_label,to_label"
            } else {
                ""
            };
            words.push(format!("--columns=all,amount,symbol{labels}"));
        }
        Ok(words)
    }

    /// The files that the command line names, the configuration file, and the files that it names.
    pub(super) fn inputs(&self) -> Result<Vec<FileRecord>> {
        let global = self.global()?;
        let config = global.config()?;
        let is_listed = self.is_given("token_list");
        let list = config.token_list.filter(|_| !is_listed);
        let paths = [global.config_file(), list, config.chain];
        let paths = paths.into_iter().flatten();
        let paths = paths.chain(Files::of(&self.parsed, &self.matches).read);
        let mut names: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        names.sort();
        names.dedup();
        let files = names.iter().filter(|name| Path::new(name).is_file());
        files
            .map(|name| FileRecord::of(Path::new(name), name))
            .collect()
    }

    /// The options of every command that the command line has.
    pub(super) fn shared(&self) -> Vec<String> {
        argv::given(&self.parsed, &self.matches, |arg| arg.is_global_set())
    }
}
