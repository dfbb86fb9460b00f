//! Reads a data directory into plain lists, without any optimization.

use alloy_consensus::{EthereumReceipt, EthereumTxEnvelope, Header, TxEip4844};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};
use reth_codecs::Compact;
use signet_libmdbx::{DatabaseFlags, Environment, EnvironmentFlags, Mode, SyncMode};
use std::{collections::BTreeMap, path::Path};

pub(crate) type Transaction = EthereumTxEnvelope<TxEip4844>;
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The tables of a database, with their rows in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tables(pub(crate) BTreeMap<String, (bool, Rows)>);

/// Opens an environment for reading, like a tool next to a node.
pub(crate) fn open(folder: &Path) -> Environment {
    let flags = EnvironmentFlags {
        mode: Mode::ReadOnly,
        ..EnvironmentFlags::default()
    };
    Environment::builder()
        .set_flags(flags)
        .set_max_dbs(256)
        .set_max_readers(32_000)
        .open(&folder.join("db"))
        .expect("the database opens for reading")
}

impl Tables {
    pub(crate) fn read(folder: &Path) -> Self {
        Self::of(&open(folder))
    }

    pub(crate) fn of(env: &Environment) -> Self {
        assert!(!matches!(
            env.info().unwrap().mode(),
            Mode::ReadWrite {
                sync_mode: SyncMode::Durable
            }
        ));
        let tx = env.begin_ro_sync().unwrap();
        let main = tx.open_db(None).unwrap();
        let mut names = Vec::new();
        let mut cursor = tx.cursor(main).unwrap();
        let mut row: Option<(Vec<u8>, ())> = cursor.first().unwrap();
        while let Some((name, ())) = row {
            names.push(String::from_utf8(name).unwrap());
            row = cursor.next().unwrap();
        }
        let tables = names.into_iter().map(|name| {
            let db = tx.open_db(Some(&name)).unwrap();
            let flags = tx.db_flags(Some(&name)).unwrap();
            let mut rows = Vec::new();
            let mut cursor = tx.cursor(db).unwrap();
            let mut row: Option<(Vec<u8>, Vec<u8>)> = cursor.first().unwrap();
            while let Some(found) = row {
                rows.push(found);
                row = cursor.next().unwrap();
            }
            (name, (flags.contains(DatabaseFlags::DUP_SORT), rows))
        });
        Self(tables.collect())
    }

    pub(crate) fn rows(&self, table: &str) -> &Rows {
        &self
            .0
            .get(table)
            .unwrap_or_else(|| panic!("table {table} exists"))
            .1
    }

    pub(crate) fn get(&self, table: &str, key: &[u8]) -> Option<&[u8]> {
        let rows = self.rows(table);
        let at = rows
            .binary_search_by(|row| row.0.as_slice().cmp(key))
            .ok()?;
        Some(&rows[at].1)
    }

    pub(crate) fn stage(&self, stage: &str) -> u64 {
        number_of(
            &self
                .get("StageCheckpoints", stage.as_bytes())
                .expect("a stage checkpoint")[1..],
        )
    }
}

/// Returns a number without leading zero bytes.
pub(crate) fn number_of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// One jar, as its `.conf` describes it.
#[derive(Debug)]
pub(crate) struct Jar {
    pub(crate) blocks: Option<(u64, u64)>,
    pub(crate) txs: Option<(u64, u64)>,
    /// Rows of cells, decompressed.
    pub(crate) rows: Vec<Vec<Vec<u8>>>,
    /// Number of rows of each block, for change sets.
    pub(crate) changes: Vec<(u64, u64)>,
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        let (byte, rest) = self.0.split_first().unwrap();
        self.0 = rest;
        *byte
    }
    fn u32(&mut self) -> u32 {
        let (bytes, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u32::from_le_bytes(*bytes)
    }
    fn u64(&mut self) -> u64 {
        let (bytes, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u64::from_le_bytes(*bytes)
    }
    fn range(&mut self) -> Option<(u64, u64)> {
        (self.byte() == 1).then(|| (self.u64(), self.u64()))
    }
}

fn read(path: &Path, extension: &str) -> Vec<u8> {
    let mut name = path.as_os_str().to_owned();
    name.push(extension);
    std::fs::read(&name).unwrap_or_else(|e| panic!("{}: {e}", name.display()))
}

/// The jars of a segment, ascending.
pub(crate) fn jars(folder: &Path, segment: &str) -> Vec<Jar> {
    let prefix = format!("static_file_{segment}_");
    let mut files: Vec<(u64, std::path::PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder.join("static_files")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(range) = name.strip_prefix(&prefix) else {
            continue;
        };
        let Some((start, end)) = range.split_once('_') else {
            continue;
        };
        // A file without its `.conf` was only just created.
        let conf = path.with_file_name(format!("{name}.conf"));
        if end.parse::<u64>().is_ok() && conf.exists() {
            files.push((start.parse().unwrap(), path));
        }
    }
    files.sort();
    files
        .into_iter()
        .map(|(start, path)| jar(start, &path))
        .collect()
}

fn jar(start: u64, path: &Path) -> Jar {
    let conf = read(path, ".conf");
    let mut conf = Cursor(&conf);
    assert_eq!(conf.u64(), 1, "version");
    assert_eq!(conf.u64(), start, "start of the reserved range");
    conf.u64();
    let (blocks, txs, segment) = (conf.range(), conf.range(), conf.u32());
    let records = if segment >= 4 { conf.u64() } else { 0 };
    let (columns, rows) = (conf.u64() as usize, conf.u64() as usize);
    let compressed = conf.byte() == 1;
    assert_eq!(compressed, segment == 0);
    assert!(!compressed || conf.u32() == 1, "LZ4");
    let max_row = conf.u64() as usize;
    assert!(conf.0.is_empty(), "trailing bytes in the .conf");

    let (offsets, data) = (read(path, ".off"), read(path, ""));
    assert_eq!(offsets[0], 8);
    let offsets: Vec<usize> = offsets[1..]
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()) as usize)
        .collect();
    assert!(offsets.len() > rows * columns, "offsets of all cells");
    let cell = |at: usize| {
        let bytes = &data[offsets[at]..offsets[at + 1]];
        if compressed {
            lz4_flex::block::decompress(bytes, max_row).expect("LZ4")
        } else {
            bytes.to_vec()
        }
    };
    let rows: Vec<Vec<_>> = (0..rows)
        .map(|row| (row * columns..(row + 1) * columns).map(cell).collect())
        .collect();
    let widest = rows
        .iter()
        .map(|row| row.iter().map(Vec::len).sum::<usize>())
        .max();
    assert!(
        widest.unwrap_or(0) <= max_row,
        "a row is longer than the longest"
    );

    let changes = if segment >= 4 {
        let bytes = read(path, ".csoff");
        assert!(bytes.len() >= 16 * records as usize);
        let mut cursor = Cursor(&bytes);
        (0..records).map(|_| (cursor.u64(), cursor.u64())).collect()
    } else {
        Vec::new()
    };
    Jar {
        blocks,
        txs,
        rows,
        changes,
    }
}

/// A decoded block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) header: Header,
    pub(crate) hash: B256,
    pub(crate) first_tx: u64,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) receipts: Vec<EthereumReceipt>,
    pub(crate) senders: Vec<Address>,
    pub(crate) withdrawals: Vec<Withdrawal>,
}

/// A decoded account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
    pub(crate) code: bool,
}

pub(crate) fn account(bytes: &[u8]) -> Account {
    let flags = u16::from_le_bytes([bytes[0], bytes[1]]);
    let nonce = 2 + usize::from(flags & 15);
    let balance = nonce + usize::from(flags >> 4 & 63);
    let code = flags >> 10 == 1;
    assert_eq!(bytes.len(), balance + if code { 32 } else { 0 });
    Account {
        nonce: number_of(&bytes[2..nonce]),
        balance: U256::from_be_slice(&bytes[nonce..balance]),
        code,
    }
}

/// A whole decoded data directory.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) tables: Tables,
    /// All blocks up to the tip. Receipts exist from `receipts_from` on.
    pub(crate) blocks: Vec<Block>,
    /// The previous accounts of every block; `None` if the account did not exist.
    pub(crate) before: Vec<Vec<(Address, Option<Account>)>>,
}

/// Cells of a transaction segment by transaction number.
fn cells(folder: &Path, segment: &str) -> BTreeMap<u64, Vec<u8>> {
    let mut all = BTreeMap::new();
    for jar in jars(folder, segment) {
        let count = jar.rows.len() as u64;
        let Some((first, last)) = jar.txs else {
            assert_eq!(count, 0, "rows without transaction numbers");
            continue;
        };
        assert_eq!(count, last - first + 1);
        all.extend(
            (first..)
                .zip(jar.rows)
                .map(|(tx, mut row)| (tx, row.remove(0))),
        );
    }
    all
}

impl Chain {
    pub(crate) fn read(folder: &Path, v2: bool) -> Self {
        // Tables first, then files, which then contain what the tables refer to.
        Self::with_tables(folder, v2, Tables::read(folder))
    }

    pub(crate) fn with_tables(folder: &Path, v2: bool, tables: Tables) -> Self {
        let tip = tables.stage("Finish");
        let mut headers = Vec::new();
        for jar in jars(folder, "headers") {
            if let Some((first, _)) = jar.blocks {
                assert_eq!(first as usize, headers.len(), "a gap between headers");
            }
            headers.extend(jar.rows);
        }
        let (transactions, receipts) = (cells(folder, "transactions"), cells(folder, "receipts"));
        let senders = if v2 {
            cells(folder, "transaction-senders")
        } else {
            let rows = tables.rows("TransactionSenders").iter();
            rows.map(|(key, value)| (number_of(key), value.clone()))
                .collect()
        };
        let blocks = (0..=tip).map(|number| {
            let row = &headers[number as usize];
            let header = Header::from_compact(&row[0], row[0].len()).0;
            assert_eq!(row[1], [0], "total difficulty is not zero");
            let (first_tx, count) =
                body_indices(tables.get("BlockBodyIndices", &be(number)).unwrap());
            let txs = first_tx..first_tx + count;
            let decode_tx = |tx: u64| {
                let cell = &transactions[&tx];
                Transaction::from_compact(cell, cell.len()).0
            };
            let decode_receipt = |tx: u64| {
                let cell = receipts.get(&tx)?;
                Some(EthereumReceipt::from_compact(cell, cell.len()).0)
            };
            let withdrawals = tables.get("BlockWithdrawals", &be(number));
            Block {
                hash: B256::from_slice(&row[2]),
                first_tx,
                transactions: txs.clone().map(decode_tx).collect(),
                receipts: txs.clone().filter_map(decode_receipt).collect(),
                senders: txs.map(|tx| Address::from_slice(&senders[&tx])).collect(),
                withdrawals: withdrawals.map(decode_withdrawals).unwrap_or_default(),
                header,
            }
        });
        Self {
            blocks: blocks.collect(),
            before: before(folder, v2, &tables, tip),
            tables,
        }
    }
}

pub(crate) fn be(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn body_indices(bytes: &[u8]) -> (u64, u64) {
    let (first, count) = (usize::from(bytes[0] & 15), usize::from(bytes[0] >> 4));
    assert_eq!(bytes.len(), 1 + first + count);
    (number_of(&bytes[1..=first]), number_of(&bytes[1 + first..]))
}

fn decode_withdrawals(bytes: &[u8]) -> Vec<Withdrawal> {
    let count = bytes[0];
    let mut rest = &bytes[1..];
    let withdrawals = (0..count).map(|_| {
        let (item, after) = rest[1..].split_at(usize::from(rest[0]));
        rest = after;
        let (index, validator) = (usize::from(item[0] & 15), usize::from(item[0] >> 4));
        let (item, flags) = (&item[2..], item[1]);
        let address = index + validator;
        assert_eq!(item.len(), address + 20 + usize::from(flags));
        Withdrawal {
            index: number_of(&item[..index]),
            validator_index: number_of(&item[index..address]),
            address: Address::from_slice(&item[address..address + 20]),
            amount: number_of(&item[address + 20..]),
        }
    });
    let withdrawals = withdrawals.collect();
    assert!(rest.is_empty());
    withdrawals
}

fn before(
    folder: &Path,
    v2: bool,
    tables: &Tables,
    tip: u64,
) -> Vec<Vec<(Address, Option<Account>)>> {
    let mut rows: Vec<Vec<Vec<u8>>> = vec![Vec::new(); tip as usize + 1];
    if v2 {
        for jar in jars(folder, "account-change-sets") {
            let Some((first, _)) = jar.blocks else {
                continue;
            };
            for (block, (row, count)) in (first..=tip).zip(jar.changes) {
                let of_block = &jar.rows[row as usize..(row + count) as usize];
                rows[block as usize].extend(of_block.iter().map(|row| row[0].clone()));
            }
        }
    } else {
        for (key, value) in tables.rows("AccountChangeSets") {
            rows[number_of(key) as usize].push(value.clone());
        }
    }
    let decode = |row: &Vec<u8>| {
        let (address, rest) = row.split_at(20);
        (
            Address::from_slice(address),
            (!rest.is_empty()).then(|| account(rest)),
        )
    };
    rows.iter()
        .map(|rows| rows.iter().map(decode).collect())
        .collect()
}
