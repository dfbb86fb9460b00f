//! Queries as tables of options.

use super::{
    columns::refuse_replaced,
    query::{GraphQuery, TransfersQuery},
    query_analyze::AnalyzeQuery,
};
use crate::{Error, Result, grammar::shortened, options};
use serde::{Serialize, de::DeserializeOwned};

/// A query: a command and its options.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Query {
    /// The transfers of a block range, as a table.
    Transfers(TransfersQuery),
    /// The graph around some addresses.
    Graph(GraphQuery),
    /// A measure of such a graph.
    Analyze(AnalyzeQuery),
}

/// The options of a command, with the names that they have in a file.
pub trait Options: Default + Serialize + DeserializeOwned {
    /// The name of the command.
    const COMMAND: &'static str;

    /// Reads a table of options. An option that the command does not have is an error.
    ///
    /// # Errors
    ///
    /// If an option is unknown, or its value is wrong.
    fn from_table(options: &impl Serialize) -> Result<Self> {
        let mut all = options::all(options)?;
        // serde cannot refuse unknown fields of flattened structs.
        let known = options::all(&Self::default())?;
        if known.contains_key("columns") {
            refuse_replaced(&mut all)?;
        }
        match all.keys().find(|key| !known.contains_key(*key)) {
            None => options::read(options::with_value(all).into()),
            Some(key) => {
                let command = Self::COMMAND;
                Err(Error::usage(format!("`{command}` has no option `{key}`")))
            }
        }
    }
}

impl Options for TransfersQuery {
    const COMMAND: &'static str = "transfers";
}

impl Options for GraphQuery {
    const COMMAND: &'static str = "graph";
}

impl Options for AnalyzeQuery {
    const COMMAND: &'static str = "analyze";
}

impl Query {
    /// The name of the command.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Transfers(_) => TransfersQuery::COMMAND,
            Self::Graph(_) => GraphQuery::COMMAND,
            Self::Analyze(_) => AnalyzeQuery::COMMAND,
        }
    }

    /// Makes a query from a command and a table of its options. An option that the
    /// command does not have is an error.
    ///
    /// # Errors
    ///
    /// If the command or an option is unknown, or a value is wrong.
    pub fn from_table(command: &str, options: &impl Serialize) -> Result<Self> {
        match command {
            TransfersQuery::COMMAND => Options::from_table(options).map(Self::Transfers),
            GraphQuery::COMMAND => Options::from_table(options).map(Self::Graph),
            AnalyzeQuery::COMMAND => Options::from_table(options).map(Self::Analyze),
            other => Err(Error::usage(format!(
                "unknown command `{}`; one of transfers, graph, analyze",
                shortened(other)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hint, options::given};
    use crate::{Hops, Measure};
    use serde_json::{Value, json};
    use txgraph_transfers::TokenStandard;

    fn read(command: &str, options: &str) -> Result<Query> {
        let table: toml::Table = options.parse().unwrap();
        Query::from_table(command, &table)
    }

    #[test]
    fn tables_read_back() {
        let query = read(
            "graph",
            r#"
            root = "0xaa"
            token = ["0xbb", "eth"]
            blocks = 17
            hops = 3
            min-value = 1000
            direction = "in"
            standard = "erc20,erc721"
            time-respecting = true
            output = ["it's.dot", "a.csv"]
            "#,
        )
        .unwrap();
        let Query::Graph(graph) = &query else {
            panic!()
        };
        assert_eq!(graph.search.root, ["0xaa"]);
        assert_eq!(graph.search.selection.blocks, ["17"]);
        assert_eq!(graph.search.hops, Some(Hops::Number(3)));
        assert_eq!(
            graph.search.selection.standard,
            [TokenStandard::Erc20, TokenStandard::Erc721]
        );
        let table = given(&query).unwrap();
        assert_eq!(
            Value::from(table.clone()),
            json!({
                "blocks": ["17"], "direction": "in", "hops": 3, "min-value": "1000",
                "output": ["it's.dot", "a.csv"], "root": ["0xaa"],
                "standard": ["erc20", "erc721"], "time-respecting": true,
                "token": ["0xbb", "eth"],
            })
        );
        assert_eq!(Query::from_table("graph", &table).unwrap(), query);
    }

    #[test]
    fn hops_are_a_number_or_all() {
        for (text, hops) in [
            ("2", Hops::Number(2)),
            ("\"2\"", Hops::Number(2)),
            ("\"all\"", Hops::All),
        ] {
            let query = read("analyze", &format!("measure = \"cycles\"\nhops = {text}")).unwrap();
            let Query::Analyze(query) = query else {
                panic!()
            };
            assert_eq!(
                (query.search.hops, query.measure),
                (Some(hops), Measure::Cycles)
            );
        }
        assert!(read("graph", "hops = \"many\"").is_err());
        assert!(read("graph", "hops = -1").is_err());
    }

    #[test]
    fn unknown_options_are_refused() {
        let error = read("transfers", "hops = 3").unwrap_err();
        assert_eq!(error.message, "`transfers` has no option `hops`");
        assert_eq!(
            read("graph", "rot = \"0x\"").unwrap_err().message,
            "`graph` has no option `rot`"
        );
        assert!(read("graph", "rot = false").is_err());
        assert!(read("search", "").is_err());
        assert!(read("graph", "direction = \"up\"").is_err());
        assert!(read("graph", "kind = \"gift\"").is_err());
    }

    #[test]
    fn empty_words_of_a_list_are_skipped() {
        for list in ["'value,'", "['', 'value']", "' ,value, '"] {
            let query = read("transfers", &format!("columns = {list}")).unwrap();
            let Query::Transfers(query) = query else {
                panic!()
            };
            let columns: Vec<_> = query.columns.iter().map(|it| it.name()).collect();
            assert_eq!(columns, ["value"], "{list}");
        }
        for (option, list) in [("columns", "''"), ("kind", "' , '"), ("standard", "['']")] {
            let error = read("transfers", &format!("{option} = {list}")).unwrap_err();
            assert!(error.message.contains("the list is empty"), "{error}");
        }
        assert!(read("transfers", "columns = []").is_ok());
    }

    #[test]
    fn options_that_columns_replaced_are_refused() {
        for (options, list) in [
            ("schema = 'cryo'", "cryo"),
            ("u256-types = ['f64', 'string']", "all:f64+string"),
            ("hex = true\ntypes = 'rich'", "all:hex+rich"),
            ("types = 'plain'", "all"),
            ("exclude = 'kind,hop'\nschema = 'etl'", "etl,-kind,-hop"),
            (
                "columns = 'value,kind'\nu256-types = 'f64,string'",
                "value:f64+string,kind",
            ),
            (
                "columns = 'value,to_address'\nhex = true",
                "value,to_address:hex",
            ),
        ] {
            for command in ["transfers", "graph"] {
                let error = read(command, options).unwrap_err();
                assert!(
                    error.message.starts_with("the list of columns replaces"),
                    "{error}"
                );
                assert_eq!(error.hint, Some(Hint::WriteColumns(list.to_owned())));
                // The hint works.
                read(command, &format!("columns = '{list}'")).unwrap();
            }
        }
        assert!(read("transfers", "hex = false\nexclude = []").is_ok());
        let error = read("analyze", "measure = 'loops'\nhex = true").unwrap_err();
        assert_eq!(error.message, "`analyze` has no option `hex`");
    }
}
