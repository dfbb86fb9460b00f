//! Imported files as stored blocks.

use crate::{
    Error, Family, ImportedFiles, Role, Table, assemble::assemble, file::ImportedFile, plan,
    rows::Rows,
};
use txgraph_stored::{StoredBlocks, StoredChunk};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, ScanRequest, SourceError, SourceFailure, TokenFilter,
    TokenStandard, Transfer, TransferFilter,
};

/// The rows of a chunk. Their memory is used again for the next one.
#[derive(Debug, Default)]
pub struct Scratch(Rows);

/// The kinds of transfers that the tables of a source can contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    erc20: bool,
    erc721: bool,
    erc1155: bool,
    native: bool,
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
                internal: all.internal || it.internal,
            };
        }
        all
    }

    /// Whether the files contain movements inside of transactions.
    pub fn has_internal(&self) -> bool {
        self.contents().internal
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

    /// The wanted standards that the files contain, and those that they do not.
    fn split(&self, filter: &TransferFilter) -> (Vec<TokenStandard>, Vec<TokenStandard>) {
        let contents = self.contents();
        let tokens = match &filter.tokens {
            TokenFilter::All => true,
            TokenFilter::Only { tokens, .. } => !tokens.is_empty(),
        };
        let wanted = |standard: &TokenStandard| {
            let named = filter.standards.is_empty() || filter.standards.contains(standard);
            named
                && match standard {
                    TokenStandard::Native => filter.tokens.matches(None),
                    _ => tokens,
                }
        };
        let wanted = TokenStandard::ALL.iter().copied().filter(wanted);
        wanted.partition(|standard| match standard {
            TokenStandard::Erc20 => contents.erc20,
            TokenStandard::Erc721 => contents.erc721,
            TokenStandard::Erc1155 => contents.erc1155,
            TokenStandard::Native => contents.native,
        })
    }
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
            native: file.has(Role::Withdrawals),
            ..none
        },
        Table::AnyTransfers | Table::Transfers => Contents {
            erc20: true,
            erc721: true,
            erc1155: true,
            native: true,
            internal: true,
        },
        Table::Chosen => Contents {
            erc20: file.has(Role::Token),
            erc721: file.has(Role::TokenId),
            native: true,
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
        let has_fees = |file: &ImportedFile| file.table() == Table::Transfers;
        if request.filter.needs_fees() && !self.used().any(|(_, file)| has_fees(file)) {
            return Err(SourceError::Unsupported {
                what: "a request for fees",
                reason: "no table of other tools that is read contains them",
            });
        }
        match self.split(&request.filter) {
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
        let (present, absent) = self.split(&request.filter);
        let words: Vec<_> = absent.iter().map(|standard| standard.as_str()).collect();
        let missing = match words.is_empty() {
            true => None,
            false => Some(format!(
                "the files have no tables of {} transfers",
                words.join(", ")
            )),
        };
        let is_decoded = |file: &ImportedFile| matches!(file.table(), Table::Erc20 | Table::Erc721);
        let decoded = self.used().find(|(_, file)| is_decoded(file));
        let partial = decoded.filter(|_| present.contains(&TokenStandard::Erc20));
        let partial = partial.map(|(_, file)| {
            format!(
                "{} has no wrapped coins and no events without indexed addresses; logs do",
                file.dialect.name
            )
        });
        missing
            .into_iter()
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
                    rows.push(file, number, row, chunk, &request.filter)
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
