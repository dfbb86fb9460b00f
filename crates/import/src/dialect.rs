//! Dialects: the columns of the tables of other tools, and how they are recognized. To add a table,
//! add a paragraph to `dialect/tables.txt`.

use crate::{Columns, Error, Role};
use std::{path::Path, sync::LazyLock};
use txgraph_base::string_enum;

string_enum! {
    /// Tools with similar tables.
    pub enum Family: "family of files" {
        /// cryo.
        Cryo = "cryo",
        /// ethereum-etl, its tables in BigQuery, and GraphSense.
        Etl = "etl",
        /// Tables of Dune and Allium.
        Dune = "dune",
        /// Tables that txgraph writes, and columns that are chosen by the user.
        Csv = "csv",
    }
}

string_enum! {
    /// The kind of rows of a table.
    pub enum Table: "kind of rows" {
        /// A log.
        Logs = "logs",
        /// A log that was decoded as an ERC-20 transfer.
        Erc20 = "erc20",
        /// A log that was decoded as an ERC-721 transfer.
        Erc721 = "erc721",
        /// A call frame of a transaction.
        Traces = "traces",
        /// A call frame without its type and its result.
        NativeTransfers = "native-transfers",
        /// A transaction.
        Transactions = "transactions",
        /// The outcome of a transaction.
        Receipts = "receipts",
        /// A block.
        Blocks = "blocks",
        /// A trade, which is two transfers.
        Trades = "trades",
        /// A transfer of any standard, as Dune names them.
        AnyTransfers = "any-transfers",
        /// A transfer in the schema of txgraph.
        Transfers = "transfers",
        /// A transfer with the columns that the user chose.
        Chosen = "chosen",
    }
}

/// The columns of one table of one tool.
#[derive(Debug)]
pub struct Dialect {
    /// Tool and table, e.g. "cryo erc20_transfers".
    pub name: &'static str,
    /// The tool.
    pub family: Family,
    /// The kind of rows.
    pub table: Table,
    columns: Vec<Column>,
    /// The columns that show that a file is another table.
    without: Vec<&'static str>,
}

#[derive(Debug)]
struct Column {
    role: Role,
    /// Its names, the preferred one first.
    names: Vec<&'static str>,
    /// Whether a file without it is not this table.
    needed: bool,
}

/// Every table that is recognized, and transfers with columns that the user chose.
static TABLES: LazyLock<(Vec<Dialect>, Dialect)> = LazyLock::new(|| {
    let paragraphs = include_str!("dialect/tables.txt").split("\n\n");
    // The first one describes the others.
    let mut tables: Vec<_> = paragraphs.skip(1).map(parse).collect();
    let chosen = tables.pop().expect("the last paragraph");
    (tables, chosen)
});

/// The word in front of the columns that another table has.
const WITHOUT: &str = "without ";

fn parse(paragraph: &'static str) -> Dialect {
    let mut lines = paragraph.lines();
    let mut head = lines.next().expect("a first line").splitn(3, ' ');
    let [family, table, name] = std::array::from_fn(|_| head.next().expect(paragraph));
    let column = |line: &'static str| {
        let (role, names) = line.split_once(' ').expect(line);
        let optional = role.strip_suffix('?');
        Column {
            role: optional.unwrap_or(role).parse().expect(line),
            names: names.split_whitespace().collect(),
            needed: optional.is_none(),
        }
    };
    let (without, columns): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with(WITHOUT));
    let names = without
        .iter()
        .flat_map(|line| line.split_whitespace().skip(1));
    Dialect {
        name,
        family: family.parse().expect(name),
        table: table.parse().expect(name),
        without: names.collect(),
        columns: columns.into_iter().map(column).collect(),
    }
}

/// A role and the position of its column in a file.
pub(crate) type Slot = (Role, usize);

impl Dialect {
    /// Every table that is recognized.
    pub fn all() -> &'static [Self] {
        &TABLES.0
    }

    /// The name of the table, without the tool.
    pub(crate) fn table_name(&self) -> &'static str {
        self.name
            .rsplit_once(' ')
            .map_or(self.name, |(_, table)| table)
    }

    pub(crate) fn of_etl(table_name: &str) -> Option<&'static Self> {
        let mut tables = Self::all().iter().filter(|it| it.family == Family::Etl);
        tables.find(|it| it.table_name() == table_name)
    }

    /// The columns of a table without rows: all of them, because it lacks nothing.
    pub(crate) fn all_columns(&self) -> Vec<Slot> {
        let roles = self.columns.iter().map(|it| it.role);
        roles.zip(0..).collect()
    }

    /// The number of columns without which a file is not this table.
    fn needed(&self) -> usize {
        self.columns.iter().filter(|it| it.needed).count()
    }

    /// The columns of a file, or the names of those that are missing.
    fn fit(&self, header: &[String]) -> Result<Vec<Slot>, Vec<&'static str>> {
        let find = |name: &&str| position(header, name);
        let mut slots = Vec::new();
        let mut missing = Vec::new();
        for Column {
            role,
            names,
            needed,
        } in &self.columns
        {
            match names.iter().find_map(find) {
                // cryo's `author` only identifies the table.
                Some(at) if !(*role == Role::TransactionCount && *needed) => {
                    slots.push((*role, at))
                }
                None if *needed => missing.extend(names.first()),
                _ => {}
            }
        }
        match missing.is_empty() {
            true => Ok(slots),
            false => Err(missing),
        }
    }
}

/// Finds the dialect of a file by its header.
pub(crate) fn detect(
    path: &Path,
    header: &[String],
    family: Family,
    chosen: Option<&Columns>,
) -> Result<(&'static Dialect, Vec<Slot>), Error> {
    if let Some(columns) = chosen {
        return choose(path, header, columns);
    }
    // `csv:` is for files of any tool.
    let allowed = |dialect: &&Dialect| family == Family::Csv || dialect.family == family;
    let mut closest: Option<(&Dialect, Vec<&str>)> = None;
    let mut elsewhere = None;
    let is_other = |name: &&str| position(header, name).is_some();
    for dialect in Dialect::all()
        .iter()
        .filter(|it| !it.without.iter().any(is_other))
    {
        match dialect.fit(header) {
            Ok(slots) if allowed(&dialect) => return Ok((dialect, slots)),
            Ok(_) => elsewhere = elsewhere.or(Some(dialect)),
            // Nothing of the table is there.
            Err(missing) if missing.len() == dialect.needed() => {}
            // A table of txgraph that lacks a column may look like another table.
            Err(missing) if allowed(&dialect) || dialect.table == Table::Transfers => {
                let share = |dialect: &Dialect, missing: &[&str]| {
                    missing.len() * 1000 / dialect.columns.len().max(1)
                };
                let nearer = closest
                    .as_ref()
                    .is_none_or(|(other, others)| share(dialect, &missing) < share(other, others));
                if nearer {
                    closest = Some((dialect, missing));
                }
            }
            Err(_) => {}
        }
    }
    let reason = match (elsewhere, closest) {
        (Some(dialect), _) => {
            let (name, family) = (dialect.name, dialect.family);
            format!("this is {name}, which is a source `{family}:`")
        }
        (None, Some((dialect, missing))) => format!(
            "the columns {} fit no known table; for {} the columns {} are missing",
            shown(header),
            dialect.name,
            missing.join(", ")
        ),
        (None, None) => {
            let one = match header {
                [one] => one.contains([';', '|', '\t', ',']),
                _ => false,
            };
            let remedy = match one {
                true => "separate them by commas, or by tabs in a file .tsv",
                false => "state which ones have block, sender, receiver and amount",
            };
            format!("the columns {} fit no known table; {remedy}", shown(header))
        }
    };
    Err(Error::UnknownColumns {
        path: path.to_path_buf(),
        reason,
        has_header: !header.iter().any(|name| is_value(name)),
    })
}

/// The position of a column. Some exporters write all names in upper case.
fn position(header: &[String], name: &str) -> Option<usize> {
    let mut names = header.iter();
    names.position(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a name of a column is a value: the file has no header.
fn is_value(name: &str) -> bool {
    name.starts_with("0x") || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The characters of a header that are shown.
const SHOWN_CHARS: usize = 1000;

/// The names of the columns.
fn shown(header: &[String]) -> String {
    let names = header.join(", ");
    match names.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &names[..at]),
        None => names,
    }
}

fn choose(
    path: &Path,
    header: &[String],
    Columns(columns): &Columns,
) -> Result<(&'static Dialect, Vec<Slot>), Error> {
    let wrong = |reason: String| {
        Err(Error::UnknownColumns {
            path: path.to_path_buf(),
            reason,
            has_header: true,
        })
    };
    let chosen = &TABLES.1;
    let mut slots = Vec::new();
    for (role, name) in columns {
        if !chosen.columns.iter().any(|column| column.role == *role) {
            let known = chosen.columns.iter().map(|column| column.role.as_str());
            return wrong(format!(
                "a transfer has no column `{role}`; one of {}",
                known.collect::<Vec<_>>().join(", ")
            ));
        }
        match header.iter().position(|known| known == name) {
            Some(at) => match slots.iter().find(|(_, known)| *known == at) {
                Some((other, _)) => {
                    return wrong(format!(
                        "the column `{name}` is named for both {other} and {role}; name it for one of them"
                    ));
                }
                None => slots.push((*role, at)),
            },
            None => {
                return wrong(format!(
                    "there is no column `{name}` among {}",
                    shown(header)
                ));
            }
        }
    }
    // Other columns keep their usual names.
    let find = |name: &&str| position(header, name);
    let mut missing = Vec::new();
    for Column {
        role,
        names,
        needed,
    } in &chosen.columns
    {
        if slots.iter().any(|(known, _)| known == role) {
            continue;
        }
        let mut places = names.iter().filter_map(find);
        match places.find(|at| !slots.iter().any(|(_, known)| known == at)) {
            Some(at) => slots.push((*role, at)),
            // One piece of an ERC-721 token moves.
            None if *role == Role::Value && slots.iter().any(|(it, _)| *it == Role::TokenId) => {}
            None if *needed => missing.push(role.as_str()),
            None => {}
        }
    }
    match missing.is_empty() {
        true => Ok((chosen, slots)),
        false => wrong(format!("columns for {} are not named", missing.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_testkit::says;

    fn header(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn every_table_is_recognized_by_its_own_columns() {
        for dialect in Dialect::all() {
            let names = dialect.columns.iter().filter(|column| column.needed);
            let header: Vec<_> = names.map(|column| column.names[0].to_owned()).collect();
            let (found, slots) = detect(Path::new("f"), &header, dialect.family, None).unwrap();
            assert_eq!(found.name, dialect.name);
            assert!(slots.len() + 1 >= header.len());
        }
    }

    #[test]
    fn real_headers_are_recognized() {
        for (text, name) in [
            (
                "block_number,block_hash,transaction_index,log_index,transaction_hash,erc20,\
                 from_address,to_address,value_binary,value_string,value_f64,chain_id",
                "cryo erc20_transfers",
            ),
            (
                "token_address,from_address,to_address,value,transaction_hash,log_index,block_number",
                "ethereum-etl token_transfers",
            ),
            (
                "tx_from,tx_to,tx_hash,block_number,token_sold_address,token_sold_amount_raw,\
                 token_bought_address,token_bought_amount_raw,amount_usd",
                "Dune dex.trades",
            ),
            (
                "TOKEN_ADDRESS,FROM_ADDRESS,TO_ADDRESS,VALUE,TRANSACTION_HASH,LOG_INDEX,BLOCK_NUMBER",
                "ethereum-etl token_transfers",
            ),
        ] {
            let (found, _) = detect(Path::new("f"), &header(text), Family::Csv, None).unwrap();
            assert_eq!(found.name, name);
        }
    }

    #[test]
    fn unknown_headers_are_described() {
        let refused = |text: &str, family| {
            detect(Path::new("f.csv"), &header(text), family, None)
                .unwrap_err()
                .to_string()
        };
        let error = refused(
            "token_address,from_address,to_address,value,log_index",
            Family::Etl,
        );
        says(&error, "token_transfers");
        says(&error, "block_number");
        let trades = "tx_from,tx_to,tx_hash,block_number,token_sold_address,\
                      token_sold_amount_raw,token_bought_address,token_bought_amount_raw";
        let error = refused(trades, Family::Cryo);
        says(&error, "Dune dex.trades");
        says(&error, "`dune:`");
        // No table is near.
        let error = refused("a,b", Family::Csv);
        says(
            &error,
            "f.csv: the columns a, b fit no known table; state which",
        );
        let error = refused("block_number;from_address;to_address", Family::Csv);
        says(&error, "fit no known table; separate them by commas");
    }

    /// Rows of ERC-721 would be amounts, and wrapped coins would be mints.
    #[test]
    fn tables_of_txgraph_that_lack_a_column_are_no_other_table() {
        let whole = "block_number,block_timestamp,transaction_index,log_index,sub_index,\
                     transaction_hash,token_address,from_address,to_address,value,token_id,\
                     token_standard,kind,chain_id";
        let raw = whole.replace(",value", ",raw_amount");
        for missing in ["sub_index", "token_id", "token_standard", "kind"] {
            for (all, lacks) in [
                (whole, missing.to_owned()),
                (&whole.replace("token_address", "erc20"), missing.to_owned()),
                (&raw, format!("value, {missing}")),
            ] {
                let text = all.replace(&format!(",{missing}"), "");
                for family in [Family::Csv, Family::Etl, Family::Dune] {
                    let error = detect(Path::new("t.csv"), &header(&text), family, None);
                    let error = error.unwrap_err().to_string();
                    let part = lacks.split(", ");
                    says(&error, "for txgraph transfers the columns ");
                    part.for_each(|name| says(&error, name));
                }
            }
        }
    }

    #[test]
    fn chosen_columns_replace_the_dialect() {
        let columns = Columns::parse("from=a,to=b,value=c").unwrap();
        let found = |text: &str, columns: &Columns| {
            detect(Path::new("f"), &header(text), Family::Csv, Some(columns))
        };
        let (dialect, slots) = found("a,b,c,block_number", &columns).unwrap();
        assert_eq!((dialect.table, slots.len()), (Table::Chosen, 4));
        for (text, columns, message) in [
            (
                "a,b,c",
                "from=a,to=b,value=c",
                "columns for block are not named",
            ),
            ("a,b", "from=x", "no column `x` among a, b"),
            ("a,b", "topics=a", "has no column `topics`"),
        ] {
            let error = found(text, &Columns::parse(columns).unwrap()).unwrap_err();
            says(&error, message);
        }
    }
}
