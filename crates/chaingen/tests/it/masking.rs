//! Hashed state behind the blocks: the rule of a node (`masking.rs`), in directories of real
//! nodes and in directories of the writers.

use crate::raw::{Tables, number_of};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header};
use alloy_primitives::{Address, B256, U256, keccak256};
use std::{collections::BTreeMap, path::Path};
use txgraph_chaingen::{
    Account, Appender, BlockWriter, Changed, Config, Draw, ExecutedBlock, FirstAccount, Layout,
    Storage,
};
use txgraph_testkit::fixtures;

/// An address, or an address and a slot; both hashed in hashed state.
type Key = Vec<u8>;
/// An encoded account or value. Empty: the account does not exist, or the value is zero.
type Value = Vec<u8>;
type Rows = BTreeMap<Key, Value>;

const LAYOUTS: [Layout; 2] = [Layout::V1, Layout::V2];

/// The changes of each block, from block 0 on: values before and after it.
#[derive(Default)]
struct History(Vec<BTreeMap<Key, (Value, Value)>>);

impl History {
    /// Reads change sets and plain state of layout v1.
    fn read(v1: &Path) -> Self {
        let tables = Tables::read(v1);
        let mut values = rows(&tables, ["PlainAccountState", "PlainStorageState"]);
        let mut history = Self::default();
        let mut note = |block: &[u8], key: Key, before: &[u8]| {
            let block = usize::try_from(number_of(block)).unwrap();
            history
                .0
                .resize_with(history.0.len().max(block + 1), BTreeMap::new);
            history.0[block].insert(key, (before.to_vec(), Value::new()));
        };
        for (block, row) in tables.rows("AccountChangeSets") {
            note(block, row[..20].to_vec(), &row[20..]);
        }
        for (key, entry) in tables.rows("StorageChangeSets") {
            let (block, address) = key.split_at(8);
            let (slot, before) = entry.split_at(32);
            note(block, [address, slot].concat(), before);
        }
        for block in history.0.iter_mut().rev() {
            for (key, (before, after)) in block {
                *after = values.remove(key).unwrap_or_default();
                values.insert(key.clone(), before.clone());
            }
        }
        // Change sets begin with block 0.
        assert!(values.values().all(Vec::is_empty));
        history
    }

    /// Changes in blocks after `block`, oldest first: key, value before, value after.
    fn since(&self, block: u64) -> impl DoubleEndedIterator<Item = (&Key, &Value, &Value)> {
        let blocks = self.0.iter().skip(usize::try_from(block + 1).unwrap());
        blocks.flat_map(|changes| {
            changes
                .iter()
                .map(|(key, (before, after))| (key, before, after))
        })
    }

    /// The state after a block, without empty values.
    fn state(&self, block: u64) -> Rows {
        let blocks = self.0.iter().take(usize::try_from(block + 1).unwrap());
        let changes = blocks.flat_map(|it| it.iter().map(|(key, (_, after))| (key, after)));
        present(
            changes
                .map(|(key, after)| (key.clone(), after.clone()))
                .collect(),
        )
    }
}

fn present(mut rows: Rows) -> Rows {
    rows.retain(|_, value| !value.is_empty());
    rows
}

fn hashed_key(key: &Key) -> Key {
    let (address, slot) = key.split_at(20);
    let mut hashed = keccak256(address).to_vec();
    if !slot.is_empty() {
        hashed.extend(keccak256(slot));
    }
    hashed
}

fn hashed(rows: &Rows) -> Rows {
    let rows = rows.iter();
    rows.map(|(key, value)| (hashed_key(key), value.clone()))
        .collect()
}

/// The rows of a table of accounts and of one of slots.
fn rows(tables: &Tables, [accounts, slots]: [&str; 2]) -> Rows {
    let accounts = tables.rows(accounts).iter().cloned();
    let slots = tables.rows(slots).iter().map(|(account, entry)| {
        let (slot, value) = entry.split_at(32);
        ([&account[..], slot].concat(), value.to_vec())
    });
    accounts.chain(slots).collect()
}

fn hashed_rows(folder: &Path) -> Rows {
    rows(&Tables::read(folder), ["HashedAccounts", "HashedStorages"])
}

/// Returns the tip and the block of hashed state, as `Finish` states them. Every stage with
/// state is at the tip.
fn frontier(folder: &Path) -> (u64, u64) {
    let tables = Tables::read(folder);
    let finish = tables.get("StageCheckpoints", b"Finish").unwrap();
    let (block, data) = finish[1..].split_at(usize::from(finish[0] & 0xf));
    let tip = number_of(block);
    for stage in ["Execution", "AccountHashing", "StorageHashing"] {
        assert_eq!(tables.stage(stage), tip, "{stage}");
    }
    if finish[0] & 0x10 == 0 {
        assert!(data.is_empty());
        return (tip, tip);
    }
    let [length, 7, 1, digits, state @ ..] = data else {
        panic!("stage data {data:?}");
    };
    assert_eq!(usize::from(*length), data.len() - 1);
    assert_eq!(usize::from(*digits), state.len());
    (tip, number_of(state))
}

/// The rule, as plainly as possible.
#[derive(Default)]
struct Model {
    rows: Rows,
    tip: u64,
    state: u64,
}

impl Model {
    /// Complete state of a block.
    fn complete(history: &History, tip: u64) -> Self {
        Self {
            rows: history.state(tip),
            tip,
            state: tip,
        }
    }

    /// A commit of all blocks of the history.
    fn save(&mut self, history: &History, state: u64) {
        let mut newest = history.state(state);
        let mut after = BTreeMap::<_, Vec<_>>::new();
        for (key, _, value) in history.since(state) {
            after.entry(key).or_default().push(value);
        }
        let tip = history.0.len() as u64 - 1;
        for (number, block) in (0..).zip(&history.0) {
            if number <= self.state || number > state {
                continue;
            }
            for key in block.keys() {
                let value = newest.entry(key.clone()).or_default();
                if after.get(key).is_none_or(|later| later.contains(&&*value)) {
                    self.rows.insert(key.clone(), value.clone());
                }
            }
        }
        (self.tip, self.state) = (tip, state);
    }

    /// Removes the newest blocks of the history.
    fn unwind(&mut self, history: &History, to: u64) {
        for (key, before, _) in history.since(to).rev() {
            self.rows.insert(key.clone(), before.clone());
        }
        (self.tip, self.state) = (to, self.state.min(to));
    }
}

/// Asserts that hashed state gives the state after every block up to `state`: what a later
/// block changed has the value before the first change, and all else the hashed one. Returns
/// how many rows are not of block `state`.
fn assert_exact(history: &History, found: &Rows, state: u64) -> usize {
    // The values after each block, forward.
    let mut states = vec![Rows::new()];
    for changes in &history.0 {
        let mut values = states.last().cloned().unwrap_or_default();
        for (key, (_, after)) in changes {
            values.insert(key.clone(), after.clone());
        }
        states.push(present(values));
    }
    states.remove(0);
    let keys = history.since(0).map(|(key, ..)| key);
    let keys = keys
        .chain(history.0[0].keys())
        .map(|key| (hashed_key(key), key.clone()));
    let keys: Rows = keys.collect();
    let found = found
        .iter()
        .map(|(hashed, value)| (keys[hashed].clone(), value.clone()));
    let mut answers: Rows = found.collect();
    let newest = &states[usize::try_from(state).unwrap()];
    let stale = keys.values();
    let stale = stale
        .filter(|key| answers.get(*key) != newest.get(*key))
        .count();
    // Backward, from the hashed values.
    for (block, changes) in history.0.iter().enumerate().rev() {
        if block as u64 <= state {
            assert_eq!(answers, states[block], "after block {block}");
        }
        for (key, (before, _)) in changes {
            answers.insert(key.clone(), before.clone());
        }
        answers = present(answers);
    }
    stale
}

/// The two directories of a node that was killed: at block 80 it was stopped and started
/// again, so all state was written. Then it wrote blocks up to 126, and state up to 96.
#[test]
fn real_nodes_follow_the_rule() {
    let masked = ["masked/v1", "masked/v2"].map(fixtures::fixture);
    let [Some(v1), Some(v2)] = masked else {
        return;
    };
    let history = History::read(v1.path());
    assert_eq!(history.0.len(), 127);
    let mut model = Model::complete(&history, 80);
    model.save(&history, 96);
    for fixture in [v1, v2] {
        assert_eq!(frontier(fixture.path()), (126, 96));
        let found = hashed_rows(fixture.path());
        assert_eq!(
            found,
            hashed(&present(model.rows.clone())),
            "{}",
            fixture.name
        );
        assert_eq!(assert_exact(&history, &found, 96), 45);
    }
}

/// Blocks without transactions that change few accounts and slots again and again.
struct Blocks {
    draw: Draw,
    /// The chain with its state after each block, from block 0 on.
    chain: Vec<(ExecutedBlock, Values)>,
}

type Values = (BTreeMap<Address, Account>, BTreeMap<(Address, B256), U256>);

impl Blocks {
    fn new(seed: u64) -> Self {
        let block = ExecutedBlock {
            header: txgraph_chaingen::first_header(EMPTY_ROOT_HASH, 30_000_000),
            ..ExecutedBlock::default()
        };
        Self {
            draw: Draw::new(seed, "masking", &[]),
            chain: vec![(block, Values::default())],
        }
    }

    fn next(&mut self) -> ExecutedBlock {
        let (parent, (mut accounts, mut slots)) = self.chain.last().unwrap().clone();
        let mut block = ExecutedBlock {
            header: Header {
                number: parent.header.number + 1,
                parent_hash: parent.header.hash_slow(),
                ommers_hash: EMPTY_OMMER_ROOT_HASH,
                transactions_root: EMPTY_ROOT_HASH,
                receipts_root: EMPTY_ROOT_HASH,
                // Branches differ.
                timestamp: self.draw.below(1 << 40),
                ..Header::default()
            },
            ..ExecutedBlock::default()
        };
        for _ in 0..self.draw.between(0, 4) {
            let address = Address::repeat_byte(u8::try_from(self.draw.rank(60)).unwrap());
            let before = accounts.get(&address).copied();
            let after = self.draw.permille(800).then(|| Account {
                balance: U256::from(self.draw.below(4)),
                ..Account::default()
            });
            if before != after {
                match after {
                    Some(after) => drop(accounts.insert(address, after)),
                    None => drop(accounts.remove(&address)),
                }
                let changed = block.accounts.entry(address);
                changed.or_insert(Changed { before, after }).after = after;
            }
            let slot = (
                address,
                B256::with_last_byte(u8::try_from(self.draw.below(3)).unwrap()),
            );
            let before = slots.get(&slot).copied().unwrap_or_default();
            let after = U256::from(self.draw.below(3));
            if before != after {
                slots.insert(slot, after);
                let changed = block.slots.entry(slot);
                changed.or_insert(Changed { before, after }).after = after;
            }
        }
        block.accounts.retain(|_, it| it.before != it.after);
        block.slots.retain(|_, it| it.before != it.after);
        self.chain.push((block.clone(), (accounts, slots)));
        block
    }
}

/// Takes `steps` steps, and returns the model of the directory.
fn random_steps(folder: &Path, layout: Layout, seed: u64, steps: u64) -> (Model, [u64; 4]) {
    let storage = Storage {
        masking_blocks: 9,
        finality: 40,
        blocks_per_file: 16,
        ..layout.into()
    };
    let mut blocks = Blocks::new(seed);
    let header = blocks.chain[0].0.header.clone();
    let accounts: BTreeMap<Address, FirstAccount> = BTreeMap::new();
    let mut writer = BlockWriter::create(folder, storage, 7, header, &accounts).unwrap();
    let (mut model, mut kinds) = (Model::default(), [0; 4]);
    let mut history = History(vec![BTreeMap::new()]);
    let mut draw = Draw::new(seed, "steps", &[]);
    for _ in 0..steps {
        let finalized = model.tip.saturating_sub(40);
        if draw.permille(350) && model.tip > finalized {
            let to = draw.between(finalized.max(model.tip.saturating_sub(14)), model.tip - 1);
            kinds[usize::from(to < model.state)] += 1;
            let gone = writer.unwind(to).unwrap();
            assert_eq!(gone.len() as u64, model.tip - to);
            model.unwind(&history, to);
            blocks.chain.truncate(usize::try_from(to + 1).unwrap());
            history.0.truncate(usize::try_from(to + 1).unwrap());
        } else {
            let new: Vec<_> = (0..draw.between(1, 25)).map(|_| blocks.next()).collect();
            history.0.extend(new.iter().map(encoded));
            let tip = history.0.len() as u64 - 1;
            if draw.permille(150) {
                kinds[2] += 1;
                writer.flush(new).unwrap();
                model.save(&history, tip);
            } else {
                kinds[3] += 1;
                writer.append(new).unwrap();
                model.save(&history, model.state.max(tip.saturating_sub(9)));
            }
        }
        assert_eq!(writer.tip().number, model.tip);
        assert_eq!(writer.state_block(), model.state);
    }
    drop(writer);
    let found = hashed_rows(folder);
    assert_eq!(
        found,
        hashed(&present(model.rows.clone())),
        "after {steps} steps"
    );
    assert_eq!(frontier(folder), (model.tip, model.state));
    assert_exact(&history, &found, model.state);
    if layout == Layout::V1 {
        let plain = ["PlainAccountState", "PlainStorageState"];
        let plain = rows(&Tables::read(folder), plain);
        assert_eq!(plain, history.state(model.tip));
    }
    (model, kinds)
}

/// The changes of a block as they are stored.
fn encoded(block: &ExecutedBlock) -> BTreeMap<Key, (Value, Value)> {
    let account = |account: &Option<Account>| {
        account.as_ref().map_or_else(Value::new, |account| {
            // Flags: lengths of nonce and balance, then the balance.
            let balance = account.balance.to_be_bytes_trimmed_vec();
            let flags = u16::try_from(balance.len()).unwrap() << 4;
            [&flags.to_le_bytes()[..], &balance].concat()
        })
    };
    let accounts = block.accounts.iter().map(|(address, it)| {
        let values = (account(&it.before), account(&it.after));
        (address.to_vec(), values)
    });
    let value = |value: &U256| value.to_be_bytes_trimmed_vec();
    let slots = block.slots.iter().map(|((address, slot), it)| {
        let values = (value(&it.before), value(&it.after));
        ([address.as_slice(), slot.as_slice()].concat(), values)
    });
    accounts.chain(slots).collect()
}

/// After any number of commits, reorganizations and clean stops, hashed state equals what the rule
/// says, and gives the exact state after each block that it covers.
#[test]
fn block_writer_follows_the_rule() {
    let mut kinds = [0; 4];
    for layout in LAYOUTS {
        for seed in 0..8 {
            for steps in [2, 5, 12, 30] {
                let folder = tempfile::tempdir().unwrap();
                let (_, done) = random_steps(folder.path(), layout, seed, steps);
                kinds = std::array::from_fn(|at| kinds[at] + done[at]);
            }
        }
    }
    assert!(kinds.iter().all(|count| *count > 50), "{kinds:?}");
}

/// The same chain with and without masking: `Appender`, with reorganizations above and below
/// the block of hashed state.
#[test]
fn appender_follows_the_rule() {
    let write = |folder: &Path, layout, masking_blocks| {
        let config = Config {
            masking_blocks,
            ..Config::small(3, layout)
        };
        let mut chain = Appender::create(folder, config).unwrap();
        chain.append(60).unwrap();
        chain.append(20).unwrap();
        assert_eq!(chain.state_block(), 80 - masking_blocks);
        chain.unwind(70).unwrap();
        chain.append(30).unwrap();
        chain.unwind(50).unwrap();
        assert_eq!(chain.state_block(), 50);
        chain.append(40).unwrap();
        chain.append(7).unwrap().hash
    };
    let twin = tempfile::tempdir().unwrap();
    let hash = write(twin.path(), Layout::V1, 0);
    assert_eq!(frontier(twin.path()), (97, 97));
    let history = History::read(twin.path());
    assert_eq!(assert_exact(&history, &hashed_rows(twin.path()), 97), 0);
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(folder.path(), layout, 20), hash);
        assert_eq!(frontier(folder.path()), (97, 77));
        let stale = assert_exact(&history, &hashed_rows(folder.path()), 77);
        assert!(stale > 10, "{stale}");
        if layout == Layout::V1 {
            assert_eq!(History::read(folder.path()).0, history.0);
        }
    }
}

/// Executed chains with blocks in memory, by the defaults of reth.
#[cfg(feature = "executed")]
#[test]
fn executed_chains_follow_the_rule() {
    use txgraph_chaingen::execgen::{Chain, MASKING_BLOCKS, Memory, Plan};

    /// Takes the same steps with and without masking. Returns head, tip and block of state
    /// after each step.
    fn steps(chain: &mut Chain) -> Vec<(u64, u64, u64)> {
        let mut done = Vec::new();
        let mut step = |chain: &mut Chain, appended: u64, to: Option<u64>| {
            if let Some(to) = to {
                chain.unwind(to).unwrap();
            }
            chain.append(appended).unwrap();
            done.push((chain.head(), chain.tip().number, chain.state_block()));
        };
        step(chain, 50, None);
        step(chain, 1, None);
        step(chain, 46, None);
        // In memory, above and below the block of hashed state.
        step(chain, 0, Some(95));
        step(chain, 0, Some(80));
        step(chain, 0, Some(50));
        step(chain, 60, None);
        done
    }
    let plan = |layout| Plan::new(11, layout, 400_000);
    let twin = tempfile::tempdir().unwrap();
    let folder = twin.path().join("node");
    let mut chain = Chain::create(&folder, plan(Layout::V1)).unwrap();
    steps(&mut chain);
    chain.unwind(96).unwrap();
    drop(chain);
    let history = History::read(&folder);
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("node");
        let mut plan = plan(layout);
        plan.memory = Memory::RETH;
        plan.storage.masking_blocks = MASKING_BLOCKS;
        let mut chain = Chain::create(&folder, plan).unwrap();
        let expected = [
            (50, 0, 0),
            (51, 46, 16),
            (97, 92, 62),
            (95, 92, 62),
            (80, 80, 62),
            (50, 50, 50),
            (110, 96, 66),
        ];
        assert_eq!(steps(&mut chain), expected);
        drop(chain);
        assert_eq!(frontier(&folder), (96, 66));
        let stale = assert_exact(&history, &hashed_rows(&folder), 66);
        assert!(stale > 50, "{stale}");
        if layout == Layout::V1 {
            assert_eq!(History::read(&folder).0, history.0);
        }
    }
}
