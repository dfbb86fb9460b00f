//! A small invented chain, and the tables that tools export of it.

use alloy_primitives::{Address, B256, Bloom, BloomInput, U256, hex, keccak256};
use rand::{Rng, rngs::StdRng};
use txgraph_transfers::TRANSFER;

pub(crate) const FIRST: u64 = 100;

/// Whose columns the tables have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// ethereum-etl with the outcomes of BigQuery.
    Etl,
    /// ethereum-etl with a table of receipts, and without traces.
    EtlReceipts,
    /// cryo with traces, and with bloom filters of blocks.
    Cryo,
}

pub(crate) const LAYOUTS: [Layout; 3] = [Layout::Etl, Layout::EtlReceipts, Layout::Cryo];

/// A table: the name of its file, its columns, and rows of text.
#[derive(Clone, Debug)]
pub(crate) struct TableText {
    pub(crate) name: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl TableText {
    fn new(name: &str, header: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            header: header.split(' ').collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of cells, which are separated by spaces. An empty cell is null.
    fn push(&mut self, cells: &str) {
        let cells = cells.split(' ').map(str::to_owned);
        let cells: Vec<_> = cells
            .map(|it| Some(it).filter(|it| !it.is_empty()))
            .collect();
        assert_eq!(cells.len(), self.header.len(), "{}", self.name);
        self.rows.push(cells);
    }
}

/// A call frame below the outermost one: path, sender, receiver, value, failed.
struct Frame(Vec<u32>, Address, Address, u64, bool);

fn address(random: &mut StdRng) -> Address {
    Address::from(random.random::<[u8; 20]>())
}

/// The tables of a few blocks. Chains of other seeds have the same numbers of blocks.
pub(crate) fn tables(random: &mut StdRng, layout: Layout, blocks: u64) -> Vec<TableText> {
    let is_cryo = layout == Layout::Cryo;
    let name = |table: &str| match is_cryo {
        true => format!("ethereum__{table}__{FIRST}_to_{}", FIRST + blocks - 1),
        false => table.to_owned(),
    };
    let mut headers = TableText::new(
        &name("blocks"),
        match is_cryo {
            true => "block_number block_hash parent_hash author timestamp logs_bloom chain_id",
            false => {
                "number hash parent_hash timestamp transaction_count logs_bloom withdrawals_root \
                 withdrawals"
            }
        },
    );
    let mut transactions = TableText::new(
        &name("transactions"),
        match layout {
            Layout::Cryo => {
                "block_number transaction_index transaction_hash nonce from_address to_address \
                 value success chain_id"
            }
            Layout::Etl => {
                "hash nonce block_hash block_number transaction_index from_address to_address \
                 value receipt_status receipt_contract_address"
            }
            Layout::EtlReceipts => {
                "hash nonce block_hash block_number transaction_index from_address to_address value"
            }
        },
    );
    let mut receipts = TableText::new(
        &name("receipts"),
        "transaction_hash transaction_index block_hash block_number contract_address status",
    );
    let mut logs = TableText::new(
        &name("logs"),
        match is_cryo {
            true => {
                "block_number block_hash transaction_index log_index transaction_hash address \
                 topic0 topic1 topic2 topic3 data chain_id"
            }
            false => {
                "log_index transaction_hash transaction_index block_hash block_number address data \
                 topics"
            }
        },
    );
    let mut traces = TableText::new(
        &name("traces"),
        match is_cryo {
            true => {
                "block_number block_hash transaction_index transaction_hash action_from action_to \
                 action_value action_type action_call_type trace_address subtraces error \
                 result_address chain_id"
            }
            false => {
                "block_number transaction_hash transaction_index from_address to_address value \
                 trace_type call_type subtraces trace_address error status"
            }
        },
    );
    let mut parent = B256::ZERO;
    for number in FIRST..FIRST + blocks {
        let hash = keccak256(random.random::<[u8; 32]>());
        let count = random.random_range(0..4u32);
        let mut bloom = Bloom::ZERO;
        let mut log_index = 0;
        for index in 0..count {
            let tx = keccak256(random.random::<[u8; 32]>());
            let (from, other) = (address(random), address(random));
            let success = random.random_ratio(4, 5);
            let value = random.random_range(1..1000u64);
            let nonce = random.random_range(0..9u64);
            let is_creation = random.random_ratio(1, 6);
            let to = if is_creation {
                from.create(nonce)
            } else {
                other
            };
            let show = |it: &Address| format!("{it:#x}");
            let (receiver, created) = match is_creation {
                true => (String::new(), show(&to)),
                false => (show(&to), String::new()),
            };
            let status = u8::from(success);
            let sent = format!("{tx} {nonce} {hash} {number} {index} {from:#x} {receiver} {value}");
            match layout {
                Layout::Cryo => transactions.push(&format!(
                    "{number} {index} {tx} {nonce} {from:#x} {receiver} {value} {success} 1"
                )),
                Layout::Etl => transactions.push(&format!("{sent} {status} {created}")),
                Layout::EtlReceipts => {
                    transactions.push(&sent);
                    receipts.push(&format!("{tx} {index} {hash} {number} {created} {status}"));
                }
            }
            let count = if success {
                random.random_range(0..3)
            } else {
                0
            };
            for _ in 0..count {
                let token = address(random);
                let word = |it: Address| it.into_word();
                let topics = [TRANSFER, word(address(random)), word(address(random))];
                let data =
                    hex::encode_prefixed(U256::from(random.random::<u64>()).to_be_bytes::<32>());
                bloom.accrue(BloomInput::Raw(token.as_slice()));
                for topic in &topics {
                    bloom.accrue(BloomInput::Raw(topic.as_slice()));
                }
                let [a, b, c] = topics.map(|topic| topic.to_string());
                logs.push(&match is_cryo {
                    true => format!(
                        "{number} {hash} {index} {log_index} {tx} {token:#x} {a} {b} {c}  {data} 1"
                    ),
                    false => format!(
                        "{log_index} {tx} {index} {hash} {number} {token:#x} {data} {a},{b},{c}"
                    ),
                });
                log_index += 1;
            }
            let mut frames = Vec::new();
            for child in 0..random.random_range(0..3u32) {
                let (inner, failed) = (address(random), random.random_ratio(1, 5));
                let value = random.random_range(1..1000);
                frames.push(Frame(vec![child], to, inner, value, failed));
                for below in 0..random.random_range(0..2u32) {
                    let value = random.random_range(1..1000);
                    frames.push(Frame(
                        vec![child, below],
                        inner,
                        address(random),
                        value,
                        false,
                    ));
                }
            }
            frames.insert(0, Frame(Vec::new(), from, to, value, !success));
            for Frame(path, from, to, value, failed) in &frames {
                let inside = |it: &&Frame| it.0.len() == path.len() + 1 && it.0.starts_with(path);
                let subtraces = frames.iter().filter(inside).count();
                let creates = path.is_empty() && is_creation;
                let (kind, call) = if creates {
                    ("create", "")
                } else {
                    ("call", "call")
                };
                let error = if *failed { "Reverted" } else { "" };
                let (from, to) = (show(from), show(to));
                let (receiver, created) = match creates {
                    true => ("", to.as_str()),
                    false => (to.as_str(), ""),
                };
                let path: Vec<_> = path.iter().map(u32::to_string).collect();
                traces.push(&match is_cryo {
                    true => format!(
                        "{number} {hash} {index} {tx} {from} {receiver} {value} {kind} {call} {} \
                         {subtraces} {error} {created} 1",
                        path.join("_")
                    ),
                    false => format!(
                        "{number} {tx} {index} {from} {to} {value} {kind} {call} {subtraces} {} \
                         {error} {}",
                        path.join(","),
                        u8::from(!*failed)
                    ),
                });
            }
        }
        let time = 1_700_000_000 + number * 12 + random.random_range(0..3);
        let withdrawals = match random.random() {
            true => format!(
                r#"[{{"index":1,"address":"{:#x}","amount":"7"}}]"#,
                address(random)
            ),
            false => "[]".to_owned(),
        };
        let root = match withdrawals.as_str() {
            "[]" => "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421".to_owned(),
            list => keccak256(list).to_string(),
        };
        let bloom = hex::encode_prefixed(bloom);
        headers.push(&match is_cryo {
            true => format!("{number} {hash} {parent} 0x {time} {bloom} 1"),
            false => {
                format!("{number} {hash} {parent} {time} {count} {bloom} {root} {withdrawals}")
            }
        });
        parent = hash;
    }
    match layout {
        Layout::EtlReceipts => vec![headers, transactions, receipts, logs],
        Layout::Etl | Layout::Cryo => vec![headers, transactions, logs, traces],
    }
}
