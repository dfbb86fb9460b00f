//! Imported files as stored blocks.

use crate::{
    Error, Family, ImportedFiles, Role, Table, assemble::assemble, file::ImportedFile,
    files::is_op_stack, metadata::Metadata, plan, rows::Rows,
};
use std::collections::BTreeSet;
use txgraph_stored::{StoredBlocks, StoredChunk};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, Kind, ScanRequest, SourceError, SourceFailure, TokenFilter,
    TokenStandard, Transfer,
};

// Kinds of transfers, in words.
const ERC20: &str = "erc20";
const ERC721: &str = "erc721";
const ERC1155: &str = "erc1155";
/// The values of transactions.
const NATIVE: &str = "native";
const WITHDRAWAL: &str = "withdrawal";
const INTERNAL: &str = "internal";

/// The first block of Ethereum with withdrawals (EIP-4895).
const SHANGHAI: u64 = 17_034_870;

/// The rows of a chunk. Their memory is used again for the next one.
#[derive(Debug, Default)]
pub struct Scratch(Rows);

impl ImportedFiles {
    /// The kinds of transfers that the tables can contain, in words.
    fn contents(&self) -> BTreeSet<&'static str> {
        let has_receipts = self.used().any(|(_, file)| file.table() == Table::Receipts);
        let all = self.used();
        all.flat_map(|(_, file)| contents_of(file, has_receipts))
            .collect()
    }

    /// The tables of transfers that txgraph wrote, with what it stated about them.
    fn written(&self) -> impl Iterator<Item = &Option<Metadata>> {
        let used = self.used();
        let own = used.filter(|(_, file)| file.table() == Table::Transfers);
        own.map(|(number, _)| &self.metadata[number])
    }

    /// The statements of txgraph about the tables of transfers that it wrote.
    fn stated(&self) -> impl Iterator<Item = &Metadata> {
        self.written().flatten()
    }

    /// Whether the files contain movements inside of transactions.
    pub fn has_internal(&self) -> bool {
        self.contents().contains(INTERNAL) && self.stated().all(Metadata::has_internal)
    }

    /// The tables that the files have instead of tables with movements inside of transactions, and
    /// which to add. For refusals.
    pub fn tables_without_internal(&self) -> String {
        let mut found: Vec<_> = self.files.iter().map(|file| file.dialect.name).collect();
        found.sort_unstable();
        found.dedup();
        let add = match self.family {
            Family::Cryo => "cryo traces, or cryo native_transfers",
            Family::Etl => "ethereum-etl traces, or GraphSense traces",
            Family::Dune => {
                "tables of traces, which neither Dune nor Allium has here: export them with cryo or \
                 ethereum-etl and name both sources"
            }
            Family::Csv => "a table of traces, or transfers of txgraph that include internal ones",
        };
        format!(
            "no table has transfers inside of transactions; found: {}. Add for the same blocks: {add}",
            found.join(", ")
        )
    }

    /// The wanted kinds of transfers that the files contain, and those that they do not.
    fn split(&self, request: &ScanRequest) -> (Vec<&'static str>, Vec<&'static str>) {
        let (filter, contents) = (&request.filter, self.contents());
        let tokens = match &filter.tokens {
            TokenFilter::All => true,
            TokenFilter::Only { tokens, .. } => !tokens.is_empty(),
        };
        let tokens = tokens && (filter.kinds.is_empty() || !filter.kinds.iter().all(is_native));
        let is_token = |standard: TokenStandard| {
            tokens && (filter.standards.is_empty() || filter.standards.contains(&standard))
        };
        let is_moved = |kind: &&Kind| **kind != Kind::Withdrawal && is_native(kind);
        let mut moved = Kind::ALL.iter().filter(is_moved);
        let last = request.blocks.span().map_or(0, |blocks| blocks.last);
        let has_validators = match self.chain.chain_id {
            1 => last >= SHANGHAI,
            id => !is_op_stack(id),
        };
        let all = [
            (ERC20, is_token(TokenStandard::Erc20)),
            (ERC721, is_token(TokenStandard::Erc721)),
            (ERC1155, is_token(TokenStandard::Erc1155)),
            (NATIVE, moved.any(|kind| filter.matches_native(*kind))),
            (WITHDRAWAL, filter.needs_withdrawals() && has_validators),
        ];
        let wanted = all.into_iter().filter(|(_, is_wanted)| *is_wanted);
        wanted
            .map(|(kind, _)| kind)
            .partition(|kind| contents.contains(kind))
    }
}

/// Whether transfers of a kind are of the native coin.
fn is_native(kind: &Kind) -> bool {
    matches!(kind, Kind::Value | Kind::Internal | Kind::Withdrawal) || kind.is_fee()
}

fn contents_of(file: &ImportedFile, has_receipts: bool) -> Vec<&'static str> {
    match file.table() {
        Table::Logs => vec![ERC20, ERC721, ERC1155],
        Table::Erc20 | Table::Trades => vec![ERC20],
        Table::Erc721 => vec![ERC721],
        Table::Traces | Table::NativeTransfers => vec![NATIVE, INTERNAL],
        Table::Transactions if file.has(Role::Status) || has_receipts => vec![NATIVE],
        Table::Blocks if file.has(Role::Withdrawals) => vec![WITHDRAWAL],
        Table::Transactions | Table::Blocks | Table::Receipts => Vec::new(),
        Table::AnyTransfers | Table::Transfers => {
            vec![ERC20, ERC721, ERC1155, NATIVE, WITHDRAWAL, INTERNAL]
        }
        Table::Chosen => {
            let mut all = vec![NATIVE, WITHDRAWAL];
            let has_id = file.has(Role::TokenId);
            all.extend(file.has(Role::Token).then_some(ERC20));
            all.extend(has_id.then_some(ERC721));
            all.extend((has_id && file.has(Role::Value)).then_some(ERC1155));
            all
        }
    }
}

impl StoredBlocks for ImportedFiles {
    type Scratch = Scratch;

    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn available(&self) -> BlockRanges {
        self.available.clone()
    }

    fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        if request.filter.internal && !self.has_internal() {
            return Err(SourceError::Unsupported {
                what: "a request for internal transfers",
                reason: "no table has transfers inside of transactions",
            });
        }
        let has_fees = self.written().next().is_some() && self.stated().all(Metadata::has_fees);
        if request.filter.needs_fees() && !has_fees {
            return Err(SourceError::Unsupported {
                what: "a request for fees",
                reason: "only tables of txgraph that were asked for them contain any",
            });
        }
        let chain_id = self.chain.chain_id;
        let wrapped = request.wrapped_native.resolved(chain_id);
        let mut stated = self.stated().map(Metadata::wrapped_native);
        if stated.any(|it| it.resolved(chain_id) != wrapped) {
            return Err(SourceError::Unsupported {
                what: "a request with this choice of wrapped coins",
                reason: "the files were written with another choice",
            });
        }
        match self.split(request) {
            (present, absent) if present.is_empty() && !absent.is_empty() => {
                Err(SourceError::Unsupported {
                    what: "a request for transfers of these tokens and standards",
                    reason: "no table of the files contains any",
                })
            }
            _ => Ok(()),
        }
    }

    fn caveats(&self, request: &ScanRequest) -> Vec<String> {
        let (present, absent) = self.split(request);
        let missing = match absent.is_empty() {
            true => None,
            false => Some(format!(
                "the files have no tables of {} transfers",
                absent.join(", ")
            )),
        };
        let is_decoded = |file: &ImportedFile| matches!(file.table(), Table::Erc20 | Table::Erc721);
        let decoded = self.used().find(|(_, file)| is_decoded(file));
        let partial = decoded.filter(|_| present.contains(&ERC20));
        let has_positions = self
            .used()
            .any(|(_, file)| file.rows() > 0 && file.has(Role::TransactionIndex));
        let partial = partial.into_iter().flat_map(|(_, file)| {
            let name = file.dialect.name;
            let is_etl = file.dialect.family == Family::Etl;
            let lacking =
                format!("{name} has no wrapped coins and no events without indexed addresses; logs do");
            // Its exporter takes every log with four words for an ERC-20 transfer.
            let mixed = is_etl.then(|| {
                format!("transfers of ERC-721 are in {name} with their token ID as amount")
            });
            let unnumbered = (!has_positions).then(|| {
                format!(
                    "positions of transactions are not in {name}: they are numbered by their first log"
                )
            });
            [Some(lacking), mixed, unnumbered].into_iter().flatten()
        });
        let asks_more = request.filter.internal || request.filter.needs_fees();
        let unstated = asks_more && self.written().any(Option::is_none);
        let unstated = unstated.then(|| {
            "the files do not state whether they have transfers inside of transactions, and fees"
                .to_owned()
        });
        missing
            .into_iter()
            .chain(unstated)
            .chain(partial)
            .chain(Self::caveats(self).iter().cloned())
            .collect()
    }

    fn notes(&self) -> &[String] {
        Self::notes(self)
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        _: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let pieces = self.used().flat_map(|(_, file)| &file.pieces);
        Ok(plan::chunks(pieces, blocks, self.rows_max))
    }

    fn read(
        &self,
        Scratch(rows): &mut Scratch,
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        rows.clear();
        rows.hashes = match self.tables.blooms {
            true => Some(rows.hashes.take().unwrap_or_default()),
            false => None,
        };
        for (number, file) in self.used() {
            for piece in &file.pieces {
                if piece.blocks.intersect(&chunk).is_none() {
                    continue;
                }
                file.read(piece, &mut |row| {
                    let found = file.chain_of(row)?;
                    if let Some(found) = found.filter(|found| *found != self.chain.chain_id) {
                        let (expected, row) = (self.chain.chain_id, row.number + 1);
                        let reason = format!("chain id {found}, but {expected} before row {row}");
                        return Err(Error::path(&file.path, reason));
                    }
                    rows.push(file, number, piece, row, chunk, &request.filter)
                })?;
            }
        }
        Ok(assemble(
            rows,
            &self.files,
            self.tables,
            self.chain.chain_id,
            chunk,
            request,
        )?)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceFailure> {
        Ok(self.fill(transfers)?)
    }
}
