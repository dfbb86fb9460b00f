//! One file of a source.

use crate::{
    Columns, Dialect, Error, Family, Role,
    cell::WrongCell,
    dialect::{Slot, Table, detect},
    format::{Format, Piece, Row, wrong_cell},
    metadata::Metadata,
    path_facts::{PathFacts, etl_table, facts},
};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_base::KnownChain;
use txgraph_transfers::BlockRange;

/// A file with a table.
#[derive(Debug)]
pub(crate) struct ImportedFile {
    pub(crate) path: PathBuf,
    pub(crate) dialect: &'static Dialect,
    pub(crate) facts: PathFacts,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) slots: Vec<Slot>,
    /// A doubt that its bytes raise, in words.
    pub(crate) doubt: Option<String>,
    format: Format,
}

impl ImportedFile {
    /// Opens a file. `None` if its extension belongs to no format.
    pub(crate) fn open(
        path: &Path,
        family: Family,
        chosen: Option<&Columns>,
    ) -> Result<Option<Self>, Error> {
        let Some(mut format) = Format::open(path)? else {
            return Ok(None);
        };
        let (dialect, slots, pieces) = match format.header() {
            [] => {
                let dialect = match chosen {
                    Some(_) => None,
                    None => dialect_of_nothing(path, &format, family)?,
                };
                let dialect = dialect.ok_or_else(|| Error::damaged(path, format.lacks()))?;
                (dialect, dialect.all_columns(), Vec::new())
            }
            header => {
                let (mut dialect, mut slots) = detect(path, header, family, chosen)?;
                check_columns(path, header, &slots)?;
                let known = header.len();
                let pieces = format.pieces(path, &slots)?;
                if format.header().len() > known {
                    (dialect, slots) = detect(path, format.header(), family, chosen)?;
                }
                (dialect, slots, pieces)
            }
        };
        Ok(Some(Self {
            doubt: format.doubt(path)?,
            facts: facts(path),
            path: path.to_path_buf(),
            dialect,
            pieces,
            slots,
            format,
        }))
    }

    /// The metadata in the file, if txgraph wrote it.
    pub(crate) fn stated(&self) -> Option<&str> {
        match &self.format {
            Format::Parquet(file) => file.stated(),
            Format::Csv(_) | Format::Json(_) => None,
        }
    }

    pub(crate) const fn table(&self) -> Table {
        self.dialect.table
    }

    pub(crate) fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.rows).sum()
    }

    /// The blocks between the lowest and the highest row.
    pub(crate) fn span(&self) -> Option<BlockRange> {
        let pieces = self.pieces.iter().map(|piece| piece.blocks);
        pieces.reduce(|one, other| one.hull(&other))
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.slots.iter().any(|(known, _)| *known == role)
    }

    /// Calls `visit` for each row of a piece.
    pub(crate) fn read(
        &self,
        piece: &Piece,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.format.read(&self.path, piece, &self.slots, visit)
    }

    /// The same with some columns only. Other cells have no value.
    fn read_columns(
        &self,
        piece: &Piece,
        roles: &[Role],
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let slots = self.slots.iter().copied();
        let slots: Vec<_> = slots.filter(|(role, _)| roles.contains(role)).collect();
        self.format.read(&self.path, piece, &slots, visit)
    }

    /// Calls `visit` with the block of each row of a piece.
    pub(crate) fn read_blocks(
        &self,
        piece: &Piece,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        self.read_columns(piece, &[Role::Block], &mut |row| {
            visit(self.checked(row, Role::Block, row.cell(Role::Block).u64())?);
            Ok(())
        })
    }

    /// The chain ID in the first row, or in the name of the file.
    pub(crate) fn chain_id(&self) -> Result<Option<u64>, Error> {
        let Some(piece) = self.pieces.first() else {
            return Ok(self.facts.chain_id);
        };
        if !self.has(Role::Chain) && !self.has(Role::ChainName) {
            return Ok(self.facts.chain_id);
        }
        let mut found = ControlFlow::Continue(());
        let read = self.read_columns(piece, &[Role::Chain, Role::ChainName], &mut |row| {
            found = ControlFlow::Break(self.chain_of(row)?);
            // Ends the reading.
            Err(Error::Options(String::new()))
        });
        match (found, read) {
            (ControlFlow::Break(chain), _) => Ok(chain.or(self.facts.chain_id)),
            (ControlFlow::Continue(()), Err(error)) => Err(error),
            (ControlFlow::Continue(()), Ok(())) => Ok(self.facts.chain_id),
        }
    }

    /// The chain ID of a row, if it has one.
    pub(crate) fn chain_of(&self, row: &Row<'_>) -> Result<Option<u64>, Error> {
        let cell = row.cell(Role::Chain);
        if !cell.is_null() {
            return self.checked(row, Role::Chain, cell.u64()).map(Some);
        }
        let cell = row.cell(Role::ChainName);
        if cell.is_null() {
            return Ok(None);
        }
        let name = self.checked(row, Role::ChainName, cell.text())?;
        let known = KnownChain::ALL.iter().find(|chain| is_chain(chain, name));
        Ok(known.map(|chain| chain.id))
    }

    /// Adds the place of a wrong cell.
    pub(crate) fn checked<T>(
        &self,
        row: &Row<'_>,
        role: Role,
        result: Result<T, crate::error::Problem>,
    ) -> Result<T, Error> {
        result.map_err(|problem| self.wrong(row.number, WrongCell { role, problem }))
    }

    pub(crate) fn wrong(&self, row: u64, WrongCell { role, problem }: WrongCell) -> Error {
        let column = self.slots.iter().find(|(known, _)| *known == role);
        let column = column.map_or(role.as_str(), |(_, at)| self.format.header()[*at].as_str());
        wrong_cell(&self.path, row, column, problem)
    }
}

/// Refuses amounts that are not exact, and columns that are there twice.
fn check_columns(path: &Path, header: &[String], slots: &[Slot]) -> Result<(), Error> {
    for (role, column) in slots {
        let name = &header[*column];
        let is_double = name.to_ascii_lowercase().ends_with("_f64");
        if matches!(role, Role::Value | Role::TokenId) && is_double {
            let reason = format_args!("column {name}: {}", crate::cell::FLOAT);
            return Err(Error::damaged(path, reason));
        }
        let is_same = |other: &&String| other.eq_ignore_ascii_case(name);
        if header.iter().filter(is_same).count() > 1 {
            return Err(Error::damaged(path, format_args!("two columns `{name}`")));
        }
    }
    Ok(())
}

/// The table of a file without anything in it, which ethereum-etl and txgraph write if there are no
/// rows. Its name or its metadata states table and blocks.
fn dialect_of_nothing(
    path: &Path,
    format: &Format,
    family: Family,
) -> Result<Option<&'static Dialect>, Error> {
    let dialect = match Metadata::beside(path)? {
        // CSV of txgraph always has a header.
        Some(metadata) if metadata.is_of_transfers() && matches!(format, Format::Json(_)) => {
            let mut all = Dialect::all().iter();
            all.find(|it| it.table == Table::Transfers)
        }
        Some(_) => None,
        None => etl_table(path),
    };
    Ok(dialect.filter(|it| family == Family::Csv || it.family == family))
}

/// Whether Dune calls a chain by this name: `ethereum`, `base`, `unichain`, `optimism`.
fn is_chain(chain: &KnownChain, name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    match chain.id {
        1 => name == "ethereum",
        10 => name == "optimism",
        480 => name == "worldchain",
        _ => chain
            .name
            .is_some_and(|known| known.to_ascii_lowercase().replace(' ', "_") == name),
    }
}
