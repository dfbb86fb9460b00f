//! Imported files as stored blocks.

use crate::{
    Error, Family, ImportedFiles, Role, Table, assemble::assemble, file::ImportedFile,
    files::is_op_stack, metadata::Metadata, plan, rows::Rows,
};
use txgraph_stored::{StoredBlocks, StoredChunk};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, Kind, ScanRequest, SourceError, SourceFailure, TokenFilter,
    TokenStandard, Transfer,
};

/// The transfers of a kind, in words.
const ERC20: &str = "erc20";

/// The first block of Ethereum with withdrawals (EIP-4895).
const SHANGHAI: u64 = 17_034_870;

/// The rows of a chunk. Their memory is used again for the next one.
#[derive(Debug, Default)]
pub struct Scratch(Rows);

/// The kinds of transfers that the tables of a source can contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    erc20: bool,
    erc721: bool,
    erc1155: bool,
    /// The values of transactions.
    native: bool,
    withdrawals: bool,
    internal: bool,
}

impl ImportedFiles {
    fn contents(&self) -> Contents {
        let mut all = Contents::default();
        let has_receipts = self.used().any(|(_, file)| file.table() == Table::Receipts);
        for (_, file) in self.used() {
            let it = contents_of(file, has_receipts);
            all = Contents {
                erc20: all.erc20 || it.erc20,
                erc721: all.erc721 || it.erc721,
                erc1155: all.erc1155 || it.erc1155,
                native: all.native || it.native,
                withdrawals: all.withdrawals || it.withdrawals,
                internal: all.internal || it.internal,
            };
        }
        all
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
        self.contents().internal && self.stated().all(Metadata::has_internal)
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
            (ERC20, is_token(TokenStandard::Erc20), contents.erc20),
            ("erc721", is_token(TokenStandard::Erc721), contents.erc721),
            (
                "erc1155",
                is_token(TokenStandard::Erc1155),
                contents.erc1155,
            ),
            (
                "native",
                moved.any(|kind| filter.matches_native(*kind)),
                contents.native,
            ),
            (
                "withdrawal",
                filter.needs_withdrawals() && has_validators,
                contents.withdrawals,
            ),
        ];
        let wanted = all.iter().filter(|(_, is_wanted, _)| *is_wanted);
        let (present, absent): (Vec<_>, Vec<_>) = wanted.partition(|(.., is_there)| *is_there);
        let names = |all: Vec<&(&'static str, bool, bool)>| all.iter().map(|it| it.0).collect();
        (names(present), names(absent))
    }
}

/// Whether transfers of a kind are of the native coin.
fn is_native(kind: &Kind) -> bool {
    matches!(kind, Kind::Value | Kind::Internal | Kind::Withdrawal) || kind.is_fee()
}

fn contents_of(file: &ImportedFile, has_receipts: bool) -> Contents {
    let none = Contents::default();
    match file.table() {
        Table::Logs => Contents {
            erc20: true,
            erc721: true,
            erc1155: true,
            ..none
        },
        Table::Erc20 | Table::Trades => Contents {
            erc20: true,
            ..none
        },
        Table::Erc721 => Contents {
            erc721: true,
            ..none
        },
        Table::Traces | Table::NativeTransfers => Contents {
            native: true,
            internal: true,
            ..none
        },
        Table::Transactions => Contents {
            native: file.has(Role::Status) || has_receipts,
            ..none
        },
        Table::Receipts => none,
        Table::Blocks => Contents {
            withdrawals: file.has(Role::Withdrawals),
            ..none
        },
        Table::AnyTransfers | Table::Transfers => Contents {
            erc20: true,
            erc721: true,
            erc1155: true,
            native: true,
            withdrawals: true,
            internal: true,
        },
        Table::Chosen => Contents {
            erc20: file.has(Role::Token),
            erc721: file.has(Role::TokenId),
            erc1155: file.has(Role::TokenId) && file.has(Role::Value),
            native: true,
            withdrawals: true,
            ..none
        },
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
                        return Err(Error::WrongChain {
                            path: file.path.clone(),
                            found,
                            expected: self.chain.chain_id,
                            from: format!("before row {}", row.number + 1),
                        });
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
