//! The conversion of rows, by table.

mod cells;

use super::{At, Direct, Header, Log, Place, Receipt, Rows, Trace, Transaction, Tx};
use crate::{
    Role, Table,
    cell::{Cell, WrongCell, parse_number},
    error::Problem,
    format::Row,
};
use alloy_primitives::{Address, B256, U256, b256};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;
use txgraph_transfers::{
    DEPOSIT, EIP7708_LOG_ADDRESS, FrameKind, Kind, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE,
    TokenStandard, Transfer, TransferFilter, WITHDRAWAL, WithdrawalView,
};

impl Rows {
    pub(super) fn convert(
        &mut self,
        table: Table,
        cells: &Cells<'_>,
        block: u64,
        at: At,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let place = cells.place(block, at)?;
        let hash = cells.optional(Role::BlockHash, |cell| cell.hash())?;
        self.stated.add(block, at, hash, place.time);
        match table {
            Table::Logs => self.log(cells, place, filter),
            Table::Erc20 | Table::Erc721 => {
                self.decoded(cells, place, table == Table::Erc721, filter)
            }
            Table::Traces => self.trace(cells, place),
            Table::NativeTransfers => self.native(cells, place),
            Table::Transactions => self.transaction(cells, place),
            Table::Receipts => {
                let created = cells.optional(Role::Created, |cell| cell.address())?;
                self.receipts.push(Receipt {
                    place,
                    success: cells.optional(Role::Status, |cell| cell.flag())?,
                    creates: created.is_some(),
                });
                Ok(())
            }
            Table::Blocks => self.header(cells, place),
            Table::Trades => self.trade(cells, place),
            Table::AnyTransfers => self.any_transfer(cells, place, filter),
            Table::Transfers => self.transfer(cells, place, filter),
            Table::Chosen => self.chosen(cells, place, filter),
        }
    }

    fn log(
        &mut self,
        cells: &Cells<'_>,
        place: Place,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let index = cells.get(Role::Log, |cell| cell.u32())?;
        let address = cells.get(Role::Emitter, |cell| cell.address())?;
        let (topics, topic_count) = cells.topics()?;
        place.of_transaction()?;
        self.log_indices.push((place.block, index));
        if let Some(hashes) = &mut self.hashes {
            let bloom = self.blooms.entry(place.block).or_default();
            hashes.add(bloom, address.as_slice());
            for topic in &topics[..topic_count] {
                hashes.add(bloom, topic);
            }
        }
        // The same conditions as the decoder's. Without an index, a row also counts
        // transactions.
        let native = address == EIP7708_LOG_ADDRESS && filter.tokens.matches(None);
        let wanted = filter.tokens.matches(Some(&address)) || native;
        let known = topic_count > 0 && SIGNATURES.iter().any(|known| known.0 == topics[0]);
        if place.tx.index.is_some() && !(wanted && known) {
            return Ok(());
        }
        let start = self.data.len();
        // Only a transfer of ERC-721 has no data.
        let is_empty = topics[0] == TRANSFER.0 && topic_count == 4;
        if known && !is_empty && cells.cell(Role::Data).is_null() {
            return Err(wrong(Role::Data, "no value instead of bytes".into()));
        }
        cells.get(Role::Data, |cell| cell.append_bytes(&mut self.data))?;
        let data = start..self.data.len();
        self.logs.push(Log {
            place,
            index,
            address,
            topics,
            topic_count,
            data,
        });
        Ok(())
    }

    /// A row that was decoded from a log: encoded again, so that the one decoder decides.
    fn decoded(
        &mut self,
        cells: &Cells<'_>,
        place: Place,
        is_erc721: bool,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let index = cells.get(Role::Log, |cell| cell.u32())?;
        let address = cells.get(Role::Token, |cell| cell.address())?;
        let (from, to) = cells.ends()?;
        let wanted = filter.tokens.matches(Some(&address)) && filter.matches_ends(&from, &to);
        if place.tx.index.is_some() && !wanted {
            return Ok(());
        }
        let last = match is_erc721 {
            true => cells.token_id()?,
            false => cells.get(Role::Value, |cell| cell.number())?,
        };
        let last = last.to_be_bytes::<32>();
        let start = self.data.len();
        if !is_erc721 {
            self.data.extend_from_slice(&last);
        }
        self.logs.push(Log {
            place,
            index,
            address,
            topics: [TRANSFER.0, from.into_word().0, to.into_word().0, last],
            topic_count: 3 + usize::from(is_erc721),
            data: start..self.data.len(),
        });
        Ok(())
    }

    fn trace(&mut self, cells: &Cells<'_>, place: Place) -> Result<(), WrongCell> {
        let (word, path) = match cells.optional(Role::TraceId, |cell| cell.text())? {
            Some(id) => {
                // TYPE_HASH_PATH
                let mut parts = id.splitn(3, '_');
                let (word, _, path) = (parts.next(), parts.next(), parts.next());
                (word.unwrap_or_default(), Some(path.unwrap_or_default()))
            }
            None => {
                let path = cells.optional(Role::TraceAddress, |cell| cell.text())?;
                (cells.get(Role::TraceType, |cell| cell.text())?, path)
            }
        };
        let kind = match word {
            "call" => match cells.get(Role::CallType, |cell| cell.text())? {
                "call" | "none" | "authcall" | "auth_call" => FrameKind::Call,
                "callcode" | "call_code" | "delegatecall" | "delegate_call" | "staticcall"
                | "static_call" => FrameKind::Borrow,
                other => return Err(wrong(Role::CallType, format!("unknown call `{other}`"))),
            },
            "create" | "create2" => FrameKind::Create,
            "suicide" | "selfdestruct" | "self_destruct" => FrameKind::Destroy,
            // Not part of a transaction.
            "reward" | "genesis" | "daofork" => return Ok(()),
            other => return Err(wrong(Role::TraceType, format!("unknown trace `{other}`"))),
        };
        place.of_transaction()?;
        let error = cells.optional(Role::Error, |cell| cell.text())?;
        let status = cells.optional(Role::Status, |cell| cell.flag())?;
        let failed = error.is_some_and(|error| !error.is_empty()) || status == Some(false);
        let created = match kind {
            FrameKind::Create => cells.optional(Role::Created, |cell| cell.address())?,
            _ => None,
        };
        let to = match created {
            Some(created) => Some(created),
            None => cells.optional(Role::To, |cell| cell.address())?,
        };
        let value = match kind {
            FrameKind::Borrow => U256::ZERO,
            // Without ends and value, of a contract that names itself: see `FrameMovements`.
            FrameKind::Destroy if to.is_none() => cells
                .optional(Role::Value, |cell| cell.number())?
                .unwrap_or_default(),
            _ => cells.get(Role::Value, |cell| cell.number())?,
        };
        let needs_receiver = match kind {
            FrameKind::Call | FrameKind::Create => true,
            FrameKind::Borrow | FrameKind::Destroy => !value.is_zero(),
        };
        if to.is_none() && !failed && needs_receiver {
            return Err(wrong(Role::To, "no receiver".into()));
        }
        let order = cells.optional(Role::TraceIndex, |cell| cell.u64())?;
        let role = match cells.cell(Role::TraceId).is_null() {
            true => Role::TraceAddress,
            false => Role::TraceId,
        };
        let path = self.add_path(role, path.unwrap_or_default())?;
        let from = match kind {
            FrameKind::Destroy if value.is_zero() => {
                let from = cells.optional(Role::From, |cell| cell.address())?;
                from.unwrap_or_default()
            }
            _ => cells.get(Role::From, |cell| cell.address())?,
        };
        self.traces.push(Trace {
            place,
            kind,
            from,
            to: to.unwrap_or_default(),
            value,
            failed,
            order,
            path: Some(path),
            children: cells.optional(Role::Subtraces, |cell| cell.u32())?,
        });
        Ok(())
    }

    fn native(&mut self, cells: &Cells<'_>, place: Place) -> Result<(), WrongCell> {
        // Block rewards belong to no transaction.
        if place.tx == Tx::default() {
            return Ok(());
        }
        let value = cells.get(Role::Value, |cell| cell.number())?;
        // A failed creation has 32 zero bytes as its receiver.
        let to = match cells.cell(Role::To).hash() {
            Ok(B256::ZERO) => None,
            _ => Some(cells.get(Role::To, |cell| cell.address())?),
        };
        self.traces.push(Trace {
            place,
            kind: FrameKind::Call,
            from: cells.get(Role::From, |cell| cell.address())?,
            failed: to.is_none(),
            to: to.unwrap_or_default(),
            value,
            order: Some(cells.get(Role::TraceIndex, |cell| cell.u64())?),
            path: None,
            children: None,
        });
        Ok(())
    }

    fn transaction(&mut self, cells: &Cells<'_>, place: Place) -> Result<(), WrongCell> {
        // Of all tables, at least this one knows the hashes.
        cells.get(Role::Transaction, |cell| cell.hash())?;
        let from = cells.get(Role::From, |cell| cell.address())?;
        let receiver = cells.optional(Role::To, |cell| cell.address())?;
        let receiver = match receiver {
            None => cells.optional(Role::Created, |cell| cell.address())?,
            receiver => receiver,
        };
        let to = match receiver {
            Some(to) => to,
            None => from.create(cells.get(Role::Nonce, |cell| cell.u64())?),
        };
        self.transactions.push(Transaction {
            place,
            from,
            to,
            value: cells.get(Role::Value, |cell| cell.number())?,
            success: cells.optional(Role::Status, |cell| cell.flag())?,
            lacks_receiver: receiver.is_none(),
        });
        Ok(())
    }

    fn header(&mut self, cells: &Cells<'_>, place: Place) -> Result<(), WrongCell> {
        cells.get(Role::Time, |cell| cell.time())?;
        let withdrawals = cells.optional(Role::Withdrawals, |cell| cell.text())?;
        let withdrawals = withdrawals.map_or(Ok(Vec::new()), parse_withdrawals);
        let role = Role::Withdrawals;
        let withdrawals = withdrawals.map_err(|problem| WrongCell { role, problem })?;
        let root = cells.optional(Role::WithdrawalsRoot, |cell| cell.hash())?;
        let bloom = match self.hashes.is_some() {
            true => cells.optional(Role::Bloom, |cell| cell.bloom())?,
            false => None,
        };
        self.headers.push(Header {
            place,
            hash: cells.optional(Role::BlockHash, |cell| cell.hash())?,
            parent_hash: cells.optional(Role::ParentHash, |cell| cell.hash())?,
            transactions: cells.optional(Role::TransactionCount, |cell| cell.u32())?,
            lacks_withdrawals: withdrawals.is_empty()
                && root.is_some_and(|root| root != EMPTY_ROOT),
            withdrawals,
            bloom: bloom.map(Box::new),
        });
        Ok(())
    }

    /// Sold tokens go to the pool, bought tokens come from it.
    fn trade(&mut self, cells: &Cells<'_>, place: Place) -> Result<(), WrongCell> {
        let taker = cells.get(Role::Taker, |cell| cell.address())?;
        let pool = cells.get(Role::Pool, |cell| cell.address())?;
        let log = cells.optional(Role::Log, |cell| cell.u32())?;
        for (from, to, token, value) in [
            (taker, pool, Role::Token, Role::Value),
            (pool, taker, Role::BoughtToken, Role::BoughtValue),
        ] {
            let token = cells.get(token, |cell| cell.address())?;
            let value = cells.get(value, |cell| cell.number())?;
            let transfer = token_transfer(token, from, to, value, TokenStandard::Erc20);
            self.unnumbered(place, transfer, log);
        }
        Ok(())
    }

    /// A transfer without an index in its log.
    fn unnumbered(&mut self, place: Place, transfer: Transfer, log: Option<u32>) {
        self.direct.push(Direct {
            place,
            transfer,
            log,
            has_sub: false,
        });
    }

    /// Parses the path of a call, and returns where it is.
    fn add_path(&mut self, role: Role, text: &str) -> Result<Range<usize>, WrongCell> {
        let start = self.paths.len();
        parse_path(text, &mut self.paths).map_err(|problem| WrongCell { role, problem })?;
        Ok(start..self.paths.len())
    }

    fn any_transfer(
        &mut self,
        cells: &Cells<'_>,
        place: Place,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let standard = cells.get(Role::Standard, |cell| cell.text())?;
        match standard.trim().to_ascii_lowercase().as_str() {
            "erc20" | "bep20" => self.decoded(cells, place, false, filter),
            "erc721" => self.decoded(cells, place, true, filter),
            "erc1155" => {
                let (from, to) = cells.ends()?;
                let token = cells.get(Role::Token, |cell| cell.address())?;
                let value = cells.get(Role::Value, |cell| cell.number())?;
                let mut transfer = token_transfer(token, from, to, value, TokenStandard::Erc1155);
                transfer.token_id = Some(cells.token_id()?);
                transfer.log_index = Some(cells.get(Role::Log, |cell| cell.u32())?);
                let log = transfer.log_index;
                self.unnumbered(place, transfer, log);
                Ok(())
            }
            "native" => {
                let (from, to) = cells.ends()?;
                let path = cells.optional(Role::TraceAddress, |cell| cell.text())?;
                let path = self.add_path(Role::TraceAddress, path.unwrap_or_default())?;
                self.traces.push(Trace {
                    place,
                    kind: FrameKind::Call,
                    from,
                    to,
                    value: cells.get(Role::Value, |cell| cell.number())?,
                    failed: false,
                    order: None,
                    path: Some(path),
                    children: None,
                });
                Ok(())
            }
            other => Err(wrong(
                Role::Standard,
                format!("unknown token standard `{other}`"),
            )),
        }
    }

    fn transfer(
        &mut self,
        cells: &Cells<'_>,
        place: Place,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let (from_address, to_address) = cells.ends()?;
        let mut place = place;
        let kind = cells.get(Role::Kind, word::<Kind>)?;
        // Withdrawals have no hash. Earlier versions wrote zero.
        if kind == Kind::Withdrawal {
            place.tx.hash = None;
        }
        let transfer = Transfer {
            log_index: cells.optional(Role::Log, |cell| cell.u32())?,
            sub_index: cells.get(Role::Sub, |cell| cell.u32())?,
            token_address: cells.optional(Role::Token, |cell| cell.address())?,
            from_address,
            to_address,
            value: cells.get(Role::Value, |cell| cell.number())?,
            token_id: cells.optional(Role::TokenId, |cell| cell.number())?,
            token_standard: cells.get(Role::Standard, word::<TokenStandard>)?,
            kind,
            ..Transfer::first_of(0)
        };
        // Without an index, a row also counts transactions.
        if place.tx.index.is_some() && !filter.matches(&transfer) {
            return Ok(());
        }
        self.direct.push(Direct {
            place,
            transfer,
            log: None,
            has_sub: true,
        });
        Ok(())
    }

    fn chosen(
        &mut self,
        cells: &Cells<'_>,
        place: Place,
        filter: &TransferFilter,
    ) -> Result<(), WrongCell> {
        let token = cells.optional(Role::Token, |cell| cell.address())?;
        let token_id = cells.optional(Role::TokenId, |cell| cell.number())?;
        let log = cells.optional(Role::Log, |cell| cell.u32())?;
        let amount = cells.optional(Role::Value, |cell| cell.number())?;
        let standard = match (token_id, amount) {
            (None, _) => TokenStandard::Erc20,
            (Some(_), None | Some(U256::ONE)) => TokenStandard::Erc721,
            // Only tokens of ERC-1155 have an ID and an amount.
            (Some(_), Some(_)) => TokenStandard::Erc1155,
        };
        let is_erc721 = standard == TokenStandard::Erc721;
        if token.is_some() && log.is_some() && standard != TokenStandard::Erc1155 {
            return self.decoded(cells, place, is_erc721, filter);
        }
        let (from, to) = cells.ends()?;
        let value = match token.is_some() && is_erc721 {
            true => U256::ONE,
            false => cells.get(Role::Value, |cell| cell.number())?,
        };
        let transfer = match token {
            Some(token) => Transfer {
                log_index: log,
                token_id,
                ..token_transfer(token, from, to, value, standard)
            },
            None => Transfer {
                from_address: from,
                to_address: to,
                value,
                ..Transfer::first_of(0)
            },
        };
        self.unnumbered(place, transfer, log);
        Ok(())
    }
}

/// The signatures of logs that can be transfers.
const SIGNATURES: [B256; 5] = [
    TRANSFER,
    TRANSFER_SINGLE,
    TRANSFER_BATCH,
    DEPOSIT,
    WITHDRAWAL,
];

/// The root of an empty list.
const EMPTY_ROOT: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

fn token_transfer(
    token: Address,
    from: Address,
    to: Address,
    value: U256,
    standard: TokenStandard,
) -> Transfer {
    Transfer {
        token_address: Some(token),
        from_address: from,
        to_address: to,
        value,
        token_standard: standard,
        kind: Kind::of_token(&from, &to),
        ..Transfer::first_of(0)
    }
}

const fn wrong(role: Role, problem: String) -> WrongCell {
    WrongCell {
        role,
        problem: Problem::Owned(problem),
    }
}

fn word<T: std::str::FromStr<Err: std::fmt::Display>>(cell: Cell<'_>) -> Result<T, Problem> {
    let word = cell.text()?.trim();
    word.parse()
        .map_err(|error: T::Err| Problem::Owned(error.to_string()))
}

/// Appends the numbers of `0_2_1`, `0,2,1` or `[0, 2, 1]`.
fn parse_path(text: &str, out: &mut Vec<u32>) -> Result<(), Problem> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    for part in text
        .split(|c: char| matches!(c, ',' | '_' | ';') || c.is_whitespace())
        .filter(|part| !part.is_empty())
    {
        match part.parse() {
            Ok(number) => out.push(number),
            Err(_) => {
                return Err(format!("`{}` is not a path of calls", text.escape_debug()).into());
            }
        }
    }
    Ok(())
}

fn parse_withdrawals(text: &str) -> Result<Vec<WithdrawalView>, Problem> {
    #[derive(Deserialize)]
    struct Item<'a> {
        address: &'a str,
        #[serde(borrow)]
        amount: &'a RawValue,
    }
    // ethereum-etl writes CSV without the brackets.
    let text = text.trim();
    let list = match text.starts_with('{') {
        true => format!("[{text}]"),
        false => text.to_owned(),
    };
    let items: Vec<Item<'_>> = match list.as_str() {
        "" => Vec::new(),
        text => serde_json::from_str(text)
            .map_err(|error| Problem::Owned(format!("not a JSON array of withdrawals: {error}")))?,
    };
    let items = items.iter().map(|item| {
        let amount = parse_number(item.amount.get().trim_matches('"'))?;
        Ok(WithdrawalView {
            address: Cell::Text(item.address).address()?,
            amount_gwei: u64::try_from(amount)
                .map_err(|_| Problem::Borrowed("an amount of Gwei above 2^64"))?,
        })
    });
    items.collect()
}

impl Place {
    /// Refuses a row that belongs to no transaction.
    fn of_transaction(&self) -> Result<(), WrongCell> {
        match self.tx == Tx::default() {
            true => Err(wrong(Role::Transaction, "no transaction".into())),
            false => Ok(()),
        }
    }
}

/// The cells of a row, with the conversions that several tables need.
pub(super) struct Cells<'a>(pub(super) &'a Row<'a>);
