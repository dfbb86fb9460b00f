//! Taint as tables, and as JSON.

use super::{Taint, TaintMethod, TaintSink, TaintedSwap};
use crate::{
    ColumnType, MeasureResult, Table, ratio::share, table::transaction_name,
    transfer_json::TransferJson,
};
use alloy_primitives::{Address, B256};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::collections::BTreeMap;
use txgraph_graph::{AmountSum, Swap, widen};
use txgraph_transfers::Transfer;

fn transaction(transfer: &Transfer) -> String {
    transaction_name(transfer.block_number, transfer.transaction_index)
}

impl Taint {
    /// Where the tokens are, with the share of each address.
    fn ends(&self) -> Table {
        use ColumnType::{Address, Amount, F64, Text, U64};
        Table::of(
            "ends",
            self.title(),
            self.shares(),
            &[
                ("address", Address, |(end, _)| end.address.into()),
                ("token_address", Address, |(end, _)| {
                    end.token_address.into()
                }),
                ("token_standard", Text, |(end, _)| end.token_standard.into()),
                ("token_id", Text, |(end, _)| {
                    end.token_id.map(|id| id.to_string()).into()
                }),
                ("amount", Amount, |(end, _)| end.amount.into()),
                ("share", F64, |(_, share)| share.into()),
                ("end", Text, |(end, _)| end.end.as_str().into()),
                ("hop", U64, |(end, _)| end.hop.into()),
                ("transfers", U64, |(end, _)| end.transfers.into()),
                ("first_block", U64, |(end, _)| end.first_block.into()),
                ("last_block", U64, |(end, _)| end.last_block.into()),
            ],
        )
    }

    /// The ends, each with its share of all tokens of its kind and id. Upper bounds have none, because they
    /// overlap.
    fn shares(&self) -> impl Iterator<Item = (&TaintSink, Option<f64>)> {
        let asset = |end: &TaintSink| (end.token_address, end.token_standard, end.token_id);
        let are_parts = self.method != TaintMethod::Poison;
        let assets = self.ends.chunk_by(move |a, b| asset(a) == asset(b));
        assets.flat_map(move |ends| {
            let total: AmountSum = ends.iter().map(|end| end.amount).sum();
            let share_of = move |end: &TaintSink| share(end.amount, total).filter(|_| are_parts);
            ends.iter().map(move |end| (end, share_of(end)))
        })
    }

    /// The meaning of the amounts, and the unknown parts.
    fn title(&self) -> String {
        let mut title = match self.method {
            TaintMethod::Poison => {
                "Where tokens can be (poison: upper bounds, which overlap)".to_owned()
            }
            method => format!("Where the tokens are ({})", method.as_str()),
        };
        for (count, what) in [
            (self.unknown_balances, "balances that are not known"),
            (
                self.unexplained,
                "transfers of more than is known to have been there",
            ),
            (self.uncompared, "held amounts not compared with a balance"),
            (self.unresolved_swaps, "swaps that are not resolved"),
            (self.beyond_slots, "payments of more than storage slots say"),
        ] {
            if count > 0 {
                title += &format!("; {what}: {count}");
            }
        }
        title
    }

    /// The transfers of the roots.
    fn sources(&self) -> Table {
        use ColumnType::{Address, Amount, Hash, Text, U64};
        Table::of(
            "sources",
            "Transfers of the roots",
            (1u64..).zip(&self.sources),
            &[
                ("source", U64, |(number, _)| number.into()),
                ("transaction", Text, |(_, it)| transaction(it).into()),
                ("token_address", Address, |(_, it)| it.token_address.into()),
                ("token_standard", Text, |(_, it)| it.token_standard.into()),
                ("from_address", Address, |(_, it)| it.from_address.into()),
                ("to_address", Address, |(_, it)| it.to_address.into()),
                ("amount", Amount, |(_, it)| widen(it.value).into()),
                ("transaction_hash", Hash, |(_, it)| {
                    it.transaction_hash.into()
                }),
            ],
        )
    }

    /// Every tainted part of every transfer.
    fn ledger(&self) -> Table {
        use ColumnType::{Address, Amount, Hash, Text, U32, U64};
        Table::of(
            "ledger",
            "Tainted parts of transfers",
            self.rows.iter().map(|row| (&row.transfer, row)),
            &[
                ("block_number", U64, |(it, _)| it.block_number.into()),
                ("block_timestamp", U64, |(it, _)| {
                    it.block_timestamp.map(|time| time.seconds()).into()
                }),
                ("transaction_index", U32, |(it, _)| {
                    it.transaction_index.into()
                }),
                ("log_index", U32, |(it, _)| it.log_index.into()),
                ("sub_index", U32, |(it, _)| it.sub_index.into()),
                ("transaction_hash", Hash, |(it, _)| {
                    it.transaction_hash.into()
                }),
                ("token_address", Address, |(it, _)| it.token_address.into()),
                ("token_standard", Text, |(it, _)| it.token_standard.into()),
                ("token_id", Text, |(it, _)| {
                    it.token_id.map(|id| id.to_string()).into()
                }),
                ("from_address", Address, |(it, _)| it.from_address.into()),
                ("to_address", Address, |(it, _)| it.to_address.into()),
                ("value", Amount, |(it, _)| widen(it.value).into()),
                ("source", U64, |(_, row)| (row.source + 1).into()),
                ("amount", Amount, |(_, row)| widen(row.amount).into()),
                ("hop", U32, |(_, row)| row.hop.into()),
                ("rule", Text, |(_, row)| row.rule.as_str().into()),
            ],
        )
    }

    /// The swaps of tainted tokens, two rows each: what was given by whom, and what was got by whom.
    fn swaps(&self) -> Table {
        use ColumnType::{Address, Amount, Hash, Text};
        let hashes = self.hashes();
        let sides = self.swaps.iter().flat_map(|it| {
            let hash = hashes.get(&it.place()).copied();
            let Swap {
                address,
                to,
                given,
                got,
                ..
            } = it.swap;
            [
                (
                    "given",
                    it,
                    address,
                    it.swap.given_token,
                    given,
                    it.tainted_given,
                    hash,
                ),
                ("got", it, to, it.swap.got_token, got, it.tainted_got, hash),
            ]
        });
        Table::of(
            "swaps",
            match self.follows_swaps {
                true => "Swaps of tainted tokens",
                false => "Swaps of tainted tokens, not followed to what was got",
            },
            sides,
            &[
                ("transaction", Text, |(_, it, ..)| {
                    transaction_name(it.block_number, it.transaction_index).into()
                }),
                ("side", Text, |(side, ..)| side.into()),
                ("address", Address, |(_, _, address, ..)| address.into()),
                ("token_address", Address, |(.., token, _, _, _)| {
                    token.into()
                }),
                ("value", Amount, |(.., value, _, _)| widen(value).into()),
                ("amount", Amount, |(.., amount, _)| amount.into()),
                ("transaction_hash", Hash, |(.., hash)| hash.into()),
            ],
        )
    }
}

impl Taint {
    /// The hashes of the transactions in which tainted tokens moved.
    fn hashes(&self) -> BTreeMap<(u64, u32), B256> {
        let transfers = self.rows.iter().map(|row| &row.transfer);
        transfers
            .filter_map(|it| Some((it.transaction(), it.transaction_hash?)))
            .collect()
    }

    /// The storage slots of contracts that say whose the tainted tokens are.
    fn slots(&self) -> Table {
        // Amounts in slots are in units of the contract, such as shares of a vault.
        use ColumnType::{Address, Hash, Text};
        Table::of(
            "slots",
            match self.method {
                TaintMethod::Execution => "Storage slots that tainted tokens were paid for",
                _ => "Storage slots, which only the method `execution` reads",
            },
            &self.slots,
            &[
                ("contract", Address, |it| it.contract.into()),
                ("slot", Hash, |it| B256::from(it.slot).into()),
                ("key", Address, |it| it.key.into()),
                ("token_address", Address, |it| it.token_address.into()),
                ("value", Text, |it| it.value.to_string().into()),
                ("tainted", Text, |it| it.tainted.to_string().into()),
            ],
        )
    }
}

impl MeasureResult for Taint {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.ends(),
            self.sources(),
            self.ledger(),
            self.swaps(),
            self.slots(),
        ]
    }
}

/// A swap in JSON.
#[derive(Serialize)]
struct SwapJson {
    block_number: u64,
    transaction_index: u32,
    transaction_hash: Option<B256>,
    address: Address,
    to_address: Address,
    given_token_address: Option<Address>,
    given: String,
    tainted_given: String,
    got_token_address: Option<Address>,
    got: String,
    tainted_got: String,
}

impl SwapJson {
    fn new(it: &TaintedSwap, transaction_hash: Option<B256>) -> Self {
        Self {
            block_number: it.block_number,
            transaction_index: it.transaction_index,
            transaction_hash,
            address: it.swap.address,
            to_address: it.swap.to,
            given_token_address: it.swap.given_token,
            given: it.swap.given.to_string(),
            tainted_given: it.tainted_given.to_string(),
            got_token_address: it.swap.got_token,
            got: it.swap.got.to_string(),
            tainted_got: it.tainted_got.to_string(),
        }
    }
}

#[derive(Serialize)]
struct EndJson<'a> {
    #[serde(flatten)]
    end: &'a TaintSink,
    share: Option<f64>,
}

impl Serialize for Taint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sources: Vec<_> = self.sources.iter().map(TransferJson).collect();
        let mut json = serializer.serialize_struct("Taint", 10)?;
        json.serialize_field("method", &self.method)?;
        json.serialize_field("unexplained", &self.unexplained)?;
        json.serialize_field("unknown_balances", &self.unknown_balances)?;
        json.serialize_field("uncompared", &self.uncompared)?;
        json.serialize_field("unresolved_swaps", &self.unresolved_swaps)?;
        json.serialize_field("follows_swaps", &self.follows_swaps)?;
        let ends = self.shares().map(|(end, share)| EndJson { end, share });
        json.serialize_field("ends", &ends.collect::<Vec<_>>())?;
        json.serialize_field("sources", &sources)?;
        json.serialize_field("ledger", &self.rows)?;
        let hashes = self.hashes();
        let swaps = self.swaps.iter();
        let swaps = swaps.map(|it| SwapJson::new(it, hashes.get(&it.place()).copied()));
        let swaps: Vec<SwapJson> = swaps.collect();
        json.serialize_field("swaps", &swaps)?;
        if self.method == TaintMethod::Execution {
            json.serialize_field("beyond_slots", &self.beyond_slots)?;
            json.serialize_field("slots", &self.slots)?;
        }
        json.end()
    }
}
