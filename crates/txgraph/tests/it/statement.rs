//! Statements of accounts: against all transfers of a chain, and against its state.

use crate::executed;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{
    AccountStatement, Address, Entry, Kind, Source, Table, TokenList, Transfer, U256,
    Value as TableValue, widen,
};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// The chains that were executed, each with its genesis beside it.
fn chains() -> Vec<(Fixture, fixtures::Unpacked)> {
    let chains = ["dev-v1", "dev-v2", "long-v2", "masked/v1", "masked/v2"].into_iter();
    chains
        .filter_map(fixtures::fixture)
        .map(|fixture| {
            let folder = fixture.unpack();
            (fixture, folder)
        })
        .collect()
}

/// All movements of a chain, with fees.
fn everything(source: &Source) -> Vec<Transfer> {
    let mut query = source.transfers().internal();
    for kind in Kind::ALL {
        query = query.kind(*kind);
    }
    query.collect().unwrap()
}

/// A row: block, transaction, log, kind, token and id, what was received and what was sent.
type Row = (
    u64,
    Option<u32>,
    Option<u32>,
    &'static str,
    String,
    String,
    String,
);

/// The rows that the transfers of an account are, in any order.
fn wanted(all: &[Transfer], address: Address) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fees: BTreeMap<(u64, u32), _> = BTreeMap::new();
    for it in all {
        let [from, to] = [it.from_address, it.to_address].map(|end| end == address);
        let place = (it.block_number, it.transaction_index);
        let amount = |is: bool| {
            if is {
                it.value.to_string()
            } else {
                String::new()
            }
        };
        let token = format!("{:?} {:?}", it.token_address, it.token_id);
        let index = (it.kind != Kind::Withdrawal).then_some(it.transaction_index);
        let mut row = |from, to| {
            let (received, sent) = (amount(to), amount(from));
            let kind = it.kind.as_str();
            rows.push((
                place.0,
                index,
                it.log_index,
                kind,
                token.clone(),
                received,
                sent,
            ));
        };
        match it.kind.is_fee() {
            true => {
                if from {
                    *fees.entry(place).or_default() += widen(it.value);
                }
                if to {
                    row(false, true);
                }
            }
            false if from || to => row(from, to),
            false => {}
        }
    }
    rows.extend(
        fees.into_iter()
            .map(|((block, index), fee): (_, txgraph::AmountSum)| {
                let coin = "None None".to_owned();
                (
                    block,
                    Some(index),
                    None,
                    "fee",
                    coin,
                    String::new(),
                    fee.to_string(),
                )
            }),
    );
    rows.sort();
    rows
}

fn rows(statement: &AccountStatement<'_>) -> Vec<Row> {
    let rows = statement.rows.iter();
    let rows = rows.filter(|row| matches!(row.entry, Entry::Transfer(_) | Entry::Fee));
    let mut rows: Vec<Row> = rows
        .map(|row| {
            let amount = |it: Option<txgraph::AmountSum>| it.map(|it| it.to_string());
            (
                row.block,
                row.transaction.map(|(index, _)| index),
                row.log_index,
                row.entry.as_str(),
                format!("{:?} {:?}", row.asset.token_address, row.token_id),
                amount(row.received).unwrap_or_default(),
                amount(row.sent).unwrap_or_default(),
            )
        })
        .collect();
    rows.sort();
    rows
}

/// The opening balances and the rows give the closing balances, and every row of the coin has a reason.
fn check(statement: &AccountStatement<'_>) {
    for it in &statement.balances {
        if let (Some(opening), Some(closing)) = (it.opening, it.closing) {
            let had = widen(opening) + it.received + it.unexplained_received;
            let has = widen(closing) + it.sent + it.unexplained_sent;
            assert_eq!(had, has, "{} {:?}", statement.address, it.asset);
        }
    }
    let coin = &statement.balances[0];
    assert_eq!(coin.asset.token_address, None);
    let unexplained = (coin.unexplained_received, coin.unexplained_sent);
    assert_eq!(unexplained, Default::default(), "{}", statement.address);
}

#[test]
fn statements_have_every_movement() {
    for (fixture, folder) in chains() {
        let source = executed(folder.path(), &fixture.name);
        let all = everything(&source);
        let ends = all.iter().flat_map(|it| [it.from_address, it.to_address]);
        let accounts: BTreeSet<Address> = ends.filter(|it| !it.is_zero()).collect();
        let accounts: Vec<Address> = accounts.into_iter().collect();
        let mut left_out = 0;
        // Addresses are hashes: every n-th is a random one.
        let some = accounts.iter().step_by(accounts.len() / 200);
        for (number, address) in some.enumerate() {
            let statement = source.statement(*address).run().unwrap();
            check(&statement);
            let wanted = wanted(&all, *address);
            let found = rows(&statement);
            if number % 50 == 0 {
                let every = source.statement(*address).every_block().run().unwrap();
                check(&every);
                assert_eq!(rows(&every), wanted, "{address}");
            }
            // Coins that came and went within a block that left the account as it was.
            let mut rest = wanted;
            for row in found {
                let at = rest.iter().position(|it| *it == row);
                rest.remove(at.unwrap_or_else(|| panic!("{address} has no {row:?}")));
            }
            left_out += rest.len();
            assert!(
                rest.iter().all(|row| row.4 == "None None"),
                "{address}: {rest:?}"
            );
        }
        assert!(left_out < 2_000, "{}: {left_out}", fixture.name);
    }
}

#[test]
fn a_statement_of_some_blocks_continues_the_one_before() {
    let [(fixture, folder), ..] = &chains()[..] else {
        return;
    };
    let source = executed(folder.path(), &fixture.name);
    let tip = source.tip().unwrap();
    for name in ["weth", "usd6"] {
        let address = fixture.truth["contracts"][name].as_str().unwrap();
        let address: Address = address.parse().unwrap();
        let whole = source.statement(address).run().unwrap();
        let first = source.statement(address).blocks(0..tip / 2).run().unwrap();
        let second = source.statement(address).blocks(tip / 2..).run().unwrap();
        assert_eq!(first.balances[0].closing, second.balances[0].opening);
        assert_eq!(whole.balances[0].closing, second.balances[0].closing);
        assert_eq!(whole.rows.len(), first.rows.len() + second.rows.len());
    }
}

#[test]
fn rewards_of_blocks_and_ommers_are_rows() {
    let root = or_skip!(fixtures::require_root());
    let folder = fixtures::unpack(&root.join("odd/import-v2.tar.zst"));
    let genesis = root.join("odd/import-genesis.json");
    let source = Source::builder(folder.path()).chain_file(genesis);
    let source = source.open().unwrap();
    // The zero address mined all blocks of this chain.
    let statement = source.statement(Address::ZERO).run().unwrap();
    check(&statement);
    let rewards = statement.rows.iter();
    let rewards = rewards.filter(|row| row.entry == Entry::Reward).count();
    assert_eq!(rewards, 54);
}

#[test]
fn a_damaged_row_is_named() {
    let [_, fixture] = fixtures::committed();
    let source = executed(fixture.path(), "small/v2");
    let account: Address = "0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c"
        .parse()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statement.json");
    let output = txgraph::parse::Output {
        output: vec![path.to_str().unwrap().to_owned()],
        ..Default::default()
    };
    let statement = source.statement(account).run().unwrap();
    statement.write(&output.tables(None).unwrap()).unwrap();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(source.verify_statement(&text).unwrap().difference, None);

    let written: Value = serde_json::from_slice(&text).unwrap();
    let difference = |change: &dyn Fn(&mut Value)| {
        let mut changed = written.clone();
        change(&mut changed);
        let text = serde_json::to_vec(&changed).unwrap();
        source
            .verify_statement(&text)
            .map(|it| it.difference.unwrap())
    };
    let amount = difference(&|it| it["movements"][1]["sent"] = "7".into()).unwrap();
    let expected =
        "row 2 of `movements`: `sent` is \"7\" in the file, and \"100000000000000\" in the source";
    assert_eq!(amount, expected);
    let missing = difference(&|it| drop(it["movements"].as_array_mut().unwrap().pop())).unwrap();
    assert_eq!(
        missing,
        "`movements` has 1 row in the file, and 2 in the source"
    );
    let balance = difference(&|it| it["balances"][0]["closing"] = "1".into()).unwrap();
    assert!(
        balance.starts_with("row 1 of `balances`: `closing`"),
        "{balance}"
    );
    let branch = difference(&|it| it["metadata"]["scan"]["last_block_hash"] = "0x12".into());
    assert!(branch.unwrap().starts_with("the last block has the hash"));
    let chain = difference(&|it| it["metadata"]["chain"]["chain_id"] = 5.into());
    assert!(chain.unwrap_err().message.contains("another chain"));
    let error = source.verify_statement(b"{}").unwrap_err();
    assert!(error.message.contains("no statement"), "{error}");
}

/// A number with at most 18 decimals, in units of the last of them.
fn units(text: &str) -> U256 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<18}").parse().unwrap()
}

/// The sums of a column by the column with its currency.
fn sums(table: &Table, amount: &str, currency: &str) -> BTreeMap<String, U256> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let (amount, currency) = (place(amount).unwrap(), place(currency).unwrap());
    let mut sums = BTreeMap::new();
    for row in &table.rows {
        if let (TableValue::Text(amount), TableValue::Text(currency)) =
            (&row[amount], &row[currency])
        {
            *sums.entry(currency.to_string()).or_default() += units(amount);
        }
    }
    sums
}

#[test]
fn accounting_programs_get_the_same_sums() {
    let [_, (fixture, folder), ..] = &chains()[..] else {
        return;
    };
    let source = executed(folder.path(), &fixture.name);
    let mut rows = 0;
    for account in fixture.truth["accounts"].as_object().unwrap().values() {
        let Some(address) = account.as_str() else {
            continue;
        };
        let mut statement = source.statement(address.parse().unwrap()).run().unwrap();
        // Without names of tokens, these tables have coins only.
        let notes = statement.add_accounting(&TokenList::default()).unwrap();
        let tokens = statement
            .rows
            .iter()
            .filter(|row| row.asset.token_address.is_some());
        let has_note = notes.iter().any(|it| it.contains("known decimals"));
        assert_eq!(has_note, tokens.count() > 0);
        let coin = &statement.balances[0];
        let total = |it: txgraph::AmountSum| it.to::<U256>();
        let [koinly, rotki] = &statement.tables[2..] else {
            panic!("two tables");
        };
        let of = |table: &Table, amount: &str, currency: &str| {
            sums(table, amount, currency)
                .remove("ETH")
                .unwrap_or_default()
        };
        // Transfers to itself are in neither.
        let own = statement.rows.iter();
        let own = own.filter(|row| row.asset.token_address.is_none() && row.received == row.sent);
        let own: txgraph::AmountSum = own.filter_map(|row| row.sent).sum();
        let sent = total(coin.sent + coin.unexplained_sent - own);
        let received = total(coin.received + coin.unexplained_received - own);
        let paid =
            of(koinly, "Sent Amount", "Sent Currency") + of(koinly, "Fee Amount", "Fee Currency");
        assert_eq!(paid, sent, "{address}");
        assert_eq!(
            of(koinly, "Received Amount", "Received Currency"),
            received,
            "{address}"
        );
        let moved = of(rotki, "Amount", "Currency");
        assert_eq!(moved, sent + received, "{address}");
        rows += rotki.rows.len();
    }
    assert!(rows > 100, "{rows}");
}
