//! Reads from the source. An execution witness contains only what the protocol reads, so
//! any other read would be an error.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, bytes};
use std::collections::BTreeSet;
use txgraph_evm::{
    AccessListItem, Account, Block, Evm, Fork, Halt, MemoryState, MemoryStateError, Message,
    Outcome, State, StateSource, Status, Transaction, TransactionType,
};

const SENDER: Address = Address::repeat_byte(0xaa);
const MINER: Address = Address::repeat_byte(0xbb);
const CONTRACT: Address = Address::repeat_byte(0xcc);
const OTHER: Address = Address::repeat_byte(0xdd);

/// Something that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

/// A state that records what is read.
#[derive(Clone, Debug, Default)]
struct Recorded {
    state: MemoryState,
    reads: BTreeSet<Read>,
}

impl StateSource for Recorded {
    type Error = MemoryStateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, MemoryStateError> {
        self.reads.insert(Read::Account(address));
        self.state.account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, MemoryStateError> {
        self.reads.insert(Read::Slot(address, key));
        self.state.storage(address, key)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, MemoryStateError> {
        self.reads.insert(Read::Code(code_hash));
        self.state.code(code_hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, MemoryStateError> {
        self.state.block_hash(number)
    }
}

/// A sender with an ether, and a contract with this code.
fn state(code: Bytes) -> State<Recorded> {
    let mut source = Recorded::default();
    source
        .state
        .insert(SENDER, U256::from(10).pow(U256::from(18)), 0, Bytes::new());
    source.state.insert(CONTRACT, U256::ZERO, 1, code);
    source.state.insert(OTHER, U256::ZERO, 1, bytes!("00"));
    State::new(source)
}

fn block() -> Block {
    Block {
        number: 1,
        gas_limit: 30_000_000,
        beneficiary: MINER,
        ..Block::default()
    }
}

fn execute(state: &mut State<Recorded>, fork: Fork, transaction: &Transaction) -> Outcome {
    let mut evm = Evm::new(fork, 1);
    let outcome = evm.execute_transaction(state, &block(), transaction);
    outcome.unwrap()
}

fn transaction(nonce: u64) -> Transaction {
    Transaction {
        caller: SENDER,
        to: Some(CONTRACT),
        nonce,
        gas_limit: 100_000,
        ..Transaction::default()
    }
}

fn with_access_list(nonce: u64, items: &[(Address, u64)]) -> Transaction {
    let items = items.iter().map(|(address, key)| AccessListItem {
        address: *address,
        storage_keys: vec![B256::from(U256::from(*key))],
    });
    Transaction {
        transaction_type: TransactionType::AccessList,
        chain_id: Some(1),
        access_list: items.collect(),
        ..transaction(nonce)
    }
}

fn addresses(state: &State<Recorded>) -> Vec<Address> {
    let reads = state.source().reads.iter();
    reads
        .filter_map(|read| match read {
            Read::Account(address) => Some(*address),
            Read::Slot(..) | Read::Code(_) => None,
        })
        .collect()
}

#[test]
fn entries_of_access_list_are_read_when_they_are_used() {
    // SLOAD(1)
    let mut state = state(bytes!("60015400"));
    let list = [(OTHER, 7), (CONTRACT, 1), (CONTRACT, 2)];
    execute(&mut state, Fork::Berlin, &with_access_list(0, &list));
    assert_eq!(addresses(&state), [SENDER, MINER, CONTRACT]);
    let reads = &state.source().reads;
    assert!(reads.contains(&Read::Slot(CONTRACT, U256::from(1))));
    assert!(!reads.contains(&Read::Slot(CONTRACT, U256::from(2))));
}

/// The costs of EIP-2930 do not depend on what was read before.
#[test]
fn entries_of_access_list_are_warm() {
    // SLOAD(1), EXTCODEHASH(OTHER)
    let mut code = bytes!("60015473").to_vec();
    code.extend(OTHER);
    code.extend(bytes!("3f00"));
    let run = 21_000 + 3 + 100 + 3 + 100;
    let list = [(OTHER, 7), (CONTRACT, 1)];
    let mut state = state(code.into());
    // At first nothing was read, then everything was.
    for nonce in 0..3 {
        let listed = execute(
            &mut state,
            Fork::Berlin,
            &with_access_list(nonce * 2, &list),
        );
        assert_eq!(
            listed.gas_used,
            run + 2 * (2_400 + 1_900),
            "transaction {nonce}"
        );
        let cold = execute(&mut state, Fork::Berlin, &transaction(nonce * 2 + 1));
        assert_eq!(cold.gas_used, run + 2_000 + 2_500, "transaction {nonce}");
    }
}

#[test]
fn system_call_reads_neither_its_caller_nor_the_beneficiary() {
    let mut state = state(bytes!("60015400"));
    let outcome =
        Evm::new(Fork::Prague, 1).system_call(&mut state, &block(), CONTRACT, Bytes::new());
    assert!(outcome.unwrap().is_success());
    assert_eq!(addresses(&state), [CONTRACT]);
}

#[test]
fn message_with_value_reads_its_caller() {
    let mut state = state(bytes!("00"));
    let message = Message {
        caller: SENDER,
        to: Some(CONTRACT),
        value: U256::from(5),
        moves_value: true,
        gas_limit: 100_000,
        ..Message::default()
    };
    let outcome = Evm::new(Fork::Prague, 1).call(&mut state, &block(), &message);
    assert!(outcome.unwrap().is_success());
    let balance = |state: &mut State<Recorded>, address| {
        let account = state.account(address).unwrap();
        account.unwrap().balance
    };
    assert_eq!(balance(&mut state, CONTRACT), U256::from(5));
    assert_eq!(
        balance(&mut state, SENDER),
        U256::from(10).pow(U256::from(18)) - U256::from(5)
    );
}

#[test]
fn what_a_frame_cannot_pay_is_not_read() {
    // BALANCE(OTHER) and SLOAD(1), each with 2,000 gas.
    let mut balance = bytes!("73").to_vec();
    balance.extend(OTHER);
    balance.extend(bytes!("3100"));
    for code in [balance.into(), bytes!("60015400")] {
        let mut state = state(code);
        let outcome = execute(
            &mut state,
            Fork::Berlin,
            &Transaction {
                gas_limit: 23_000,
                ..transaction(0)
            },
        );
        assert_eq!(outcome.status, Status::Halt(Halt::OutOfGas));
        assert_eq!(addresses(&state), [SENDER, MINER, CONTRACT]);
        let reads = &state.source().reads;
        assert!(!reads.contains(&Read::Slot(CONTRACT, U256::from(1))));
    }
}

/// Calls `OTHER` with one wei, which the contract does not have.
#[test]
fn code_of_refused_call_is_not_read() {
    let mut code = bytes!("6000600060006000600173").to_vec();
    code.extend(OTHER);
    code.extend(bytes!("5af100"));
    let mut state = state(code.into());
    assert!(execute(&mut state, Fork::Cancun, &transaction(0)).is_success());
    let hash = state.source().state.accounts[&OTHER].code_hash;
    assert!(!state.source().reads.contains(&Read::Code(hash)));
    assert!(addresses(&state).contains(&OTHER));
}

#[test]
fn empty_copy_does_not_read_code() {
    // EXTCODECOPY(OTHER, 0, 0, 0)
    let mut code = bytes!("60006000600073").to_vec();
    code.extend(OTHER);
    code.extend(bytes!("3c00"));
    let mut state = state(code.into());
    assert!(execute(&mut state, Fork::Cancun, &transaction(0)).is_success());
    let hash = state.source().state.accounts[&OTHER].code_hash;
    assert!(!state.source().reads.contains(&Read::Code(hash)));
}

/// Block 11,114,732 of mainnet: an account destroys itself, is created again by a later
/// transaction, and writes the value that a slot had before the block.
#[test]
fn slot_written_again_after_destruction_is_a_change() {
    // If there is calldata SELFDESTRUCT(SENDER), else SSTORE(1, 53).
    let mut runtime = bytes!("3615601b5773").to_vec();
    runtime.extend(SENDER);
    runtime.extend(bytes!("ff5b603560015500"));
    assert_eq!(runtime[0x1b], 0x5b);
    // Returns the runtime code, which begins at byte 12 of the init code.
    let len = u8::try_from(runtime.len()).expect("short code");
    let mut init = vec![0x60, len, 0x60, 12, 0x60, 0, 0x39];
    init.extend([0x60, len, 0x60, 0, 0xf3]);
    init.extend(&runtime);
    // CALLDATACOPY(0, 0, size), CREATE2(0, 0, size, salt 0)
    let mut state = state(bytes!("36600060003760003660006000f500"));
    let target = CONTRACT.create2_from_code(B256::ZERO, &init);
    let source = state.source_mut();
    source
        .state
        .insert(target, U256::ZERO, 1, runtime.clone().into());
    for (key, value) in [(1, 53), (2, 9)] {
        (source.state).set_storage(target, U256::from(key), U256::from(value));
    }
    let calls = [
        (target, bytes!("01")),
        (CONTRACT, init.into()),
        (target, Bytes::new()),
    ];
    for (nonce, (to, input)) in (0..).zip(calls) {
        let transaction = Transaction {
            to: Some(to),
            gas_limit: 500_000,
            input,
            ..transaction(nonce)
        };
        assert!(execute(&mut state, Fork::Istanbul, &transaction).is_success());
    }
    assert_eq!(state.code(target).unwrap(), runtime);
    let changes = state.changes();
    let change = changes.iter().find(|change| change.address == target);
    let change = change.unwrap();
    assert!(change.storage_cleared);
    assert_eq!(change.slots.len(), 1);
    let mut after = state.source().state.clone();
    after.apply(&changes);
    assert_eq!(
        after.storage[&target],
        [(U256::from(1), U256::from(53))].into()
    );
    assert_ne!(after.accounts[&target].code_hash, KECCAK256_EMPTY);
}
