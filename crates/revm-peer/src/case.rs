//! Random but meaningful cases: a few contracts that call, create and destroy each other,
//! and transactions that call them.

#![expect(
    clippy::cast_possible_truncation,
    reason = "choices are small numbers of any width"
)]

use alloy_primitives::{Address, B256, Bytes, U256};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use txgraph_evm::{
    AccessListItem, Authorization, Block, BlockGas, Fork, MemoryState, Transaction,
    TransactionType, opcode,
};

/// The chain id of all cases.
pub const CHAIN_ID: u64 = 1;

/// One execution for a comparison.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed that reproduces the case.
    pub seed: u64,
    /// The fork.
    pub fork: Fork,
    /// The state before the first transaction.
    pub state: MemoryState,
    /// The block of the transactions.
    pub block: Block,
    /// The transactions. Some are invalid.
    pub transactions: Vec<Transaction>,
}

/// All forks that revm implements, which are those up to Osaka except Constantinople.
const FORKS: [Fork; 14] = [
    Fork::Frontier,
    Fork::Homestead,
    Fork::TangerineWhistle,
    Fork::SpuriousDragon,
    Fork::Byzantium,
    Fork::Petersburg,
    Fork::Istanbul,
    Fork::Berlin,
    Fork::London,
    Fork::Paris,
    Fork::Shanghai,
    Fork::Cancun,
    Fork::Prague,
    Fork::Osaka,
];

const CONTRACTS: u8 = 4;

/// The address of contract `n` of four.
pub fn contract(n: u8) -> Address {
    Address::with_last_byte(0xc0 + n)
}

fn sender(n: u8) -> Address {
    Address::with_last_byte(0xa0 + n)
}

/// Generates a case. The same seed gives the same case.
pub fn case(seed: u64) -> Case {
    Make::new(seed, Fork::Frontier).case(seed)
}

pub(crate) struct Make {
    random: SmallRng,
    pub(crate) code: Vec<u8>,
    /// The height of the stack if no instruction fails.
    pub(crate) height: usize,
    fork: Fork,
}

impl Make {
    pub(crate) fn new(seed: u64, fork: Fork) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            code: Vec::new(),
            height: 0,
            fork,
        }
    }

    pub(crate) fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_ratio(1, one_in)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    fn case(&mut self, seed: u64) -> Case {
        self.fork = *FORKS
            .choose(&mut self.random)
            .expect("the list is not empty");
        let mut state = MemoryState::default();
        self.insert_contracts(&mut state);
        for n in 0..2 {
            state.insert(
                sender(n),
                U256::from(10u64).pow(U256::from(24)),
                0,
                Bytes::new(),
            );
        }
        let transactions = (0..2).map(|n| self.transaction(sender(n))).collect();
        let base_fee = if self.fork >= Fork::London { 7 } else { 0 };
        Case {
            seed,
            fork: self.fork,
            state,
            block: Block {
                number: 300,
                timestamp: 1_700_000_000,
                beneficiary: Address::with_last_byte(0xbe),
                gas_limit: 30_000_000,
                gas_used: BlockGas::default(),
                base_fee: U256::from(base_fee),
                difficulty: U256::from(131_072),
                prevrandao: B256::repeat_byte(0x77),
                blob_base_fee: U256::from(1),
                blobs_max: 6,
                slot_number: 0,
            },
            transactions,
        }
    }

    pub(crate) fn insert_contracts(&mut self, state: &mut MemoryState) {
        for n in 0..CONTRACTS {
            let code = self.contract_code();
            let balance = U256::from(self.below(3) as u64 * 1000);
            state.insert(contract(n), balance, 1, code);
            for key in 0..3u64 {
                if self.chance(2) {
                    let value = U256::from(self.below(3) as u64);
                    state.set_storage(contract(n), U256::from(key), value);
                }
            }
        }
    }

    fn transaction(&mut self, caller: Address) -> Transaction {
        let to = match self.below(12) {
            0 => None,
            1 => Some(self.any_address()),
            n => Some(contract(n as u8 % CONTRACTS)),
        };
        let input = match to {
            None => self.contract_code(),
            Some(_) => {
                let len = self.below(100);
                (0..len)
                    .map(|_| self.random.random::<u8>())
                    .collect::<Vec<_>>()
                    .into()
            }
        };
        // Often too little, so that frames fail half-way.
        let gas_limit = match self.below(4) {
            0 => 60_000 + self.below(60_000) as u64,
            1 => 100_000 + self.below(400_000) as u64,
            _ => 2_000_000,
        };
        let mut transaction = Transaction {
            caller,
            to,
            nonce: 0,
            gas_limit,
            max_fee_per_gas: U256::from(10),
            value: U256::from(self.below(2) as u64 * 5),
            input,
            chain_id: Some(CHAIN_ID),
            ..Transaction::default()
        };
        if self.fork < Fork::SpuriousDragon {
            transaction.chain_id = None;
        }
        if self.fork >= Fork::Berlin && self.chance(2) {
            transaction.transaction_type = TransactionType::AccessList;
            transaction.access_list = vec![AccessListItem {
                address: contract(self.below(4) as u8),
                storage_keys: vec![B256::with_last_byte(self.below(3) as u8)],
            }];
        }
        if self.fork >= Fork::London && self.chance(3) {
            transaction.transaction_type = TransactionType::DynamicFee;
            transaction.max_priority_fee_per_gas = Some(U256::from(self.below(3) as u64));
        }
        if self.fork >= Fork::Cancun && to.is_some() && self.chance(4) {
            transaction.transaction_type = TransactionType::Blob;
            transaction.max_priority_fee_per_gas = Some(U256::from(1));
            transaction.max_fee_per_blob_gas = U256::from(3);
            transaction.blob_hashes = vec![B256::with_last_byte(9) | B256::repeat_byte(1)];
            transaction.blob_hashes[0].0[0] = 1;
        }
        if self.fork >= Fork::Prague && to.is_some() && self.chance(3) {
            transaction.transaction_type = TransactionType::SetCode;
            transaction.max_priority_fee_per_gas = Some(U256::from(1));
            transaction.blob_hashes.clear();
            transaction.max_fee_per_blob_gas = U256::ZERO;
            transaction.authorizations =
                (0..=self.below(2)).map(|_| self.authorization()).collect();
        }
        transaction
    }

    fn authorization(&mut self) -> Authorization {
        Authorization {
            chain_id: U256::from(self.below(3) as u64),
            address: match self.below(4) {
                0 => Address::ZERO,
                1 => Address::with_last_byte(1),
                n => contract(n as u8),
            },
            nonce: self.below(2) as u64,
            authority: match self.below(5) {
                0 => None,
                1 => Some(contract(0)),
                2 => Some(sender(1)),
                _ => Some(Address::with_last_byte(0xe0)),
            },
        }
    }

    pub(crate) fn any_address(&mut self) -> Address {
        if self.fork >= Fork::Amsterdam && self.chance(3) {
            return self.amsterdam_address();
        }
        match self.below(12) {
            0..6 => contract(self.below(4) as u8),
            6..9 => Address::with_last_byte(self.below(0x14) as u8),
            9 => sender(self.below(2) as u8),
            10 => Address::with_last_byte(0xe0 + self.below(2) as u8),
            _ => Address::with_last_byte(0xbe),
        }
    }

    pub(crate) fn contract_code(&mut self) -> Bytes {
        self.code.clear();
        self.height = 0;
        let pieces = 4 + self.below(40);
        for _ in 0..pieces {
            self.piece();
        }
        if self.chance(3) {
            self.end();
        }
        std::mem::take(&mut self.code).into()
    }

    pub(crate) fn op(&mut self, byte: u8) {
        let facts = opcode::FACTS[usize::from(byte)];
        let inputs = usize::from(facts.inputs);
        // Usually with enough operands.
        while self.height < inputs && !self.chance(200) {
            self.push_any();
        }
        self.code.push(byte);
        self.height = self.height.saturating_sub(inputs) + usize::from(facts.outputs);
    }

    pub(crate) fn push(&mut self, value: U256) {
        let bytes = value.to_be_bytes_trimmed_vec();
        let len = bytes.len().max(1);
        self.code.push(opcode::PUSH1 + len as u8 - 1);
        self.code.resize(self.code.len() + len - bytes.len(), 0);
        self.code.extend(bytes);
        self.height += 1;
    }

    pub(crate) fn push_number(&mut self, value: usize) {
        self.push(U256::from(value));
    }

    pub(crate) fn push_any(&mut self) {
        let value = match self.below(10) {
            0 => U256::MAX - U256::from(self.below(3)),
            1 => U256::from(1) << self.below(256),
            2 => (U256::from(1) << self.below(256)) - U256::from(1),
            3 => U256::from_limbs(self.random.random()),
            4 => U256::from(self.random.random::<u64>()),
            _ => U256::from(self.below(70)),
        };
        self.push(value);
    }

    /// Usually small enough to pay for.
    fn push_offset(&mut self) {
        match self.below(60) {
            0 => self.push_any(),
            1 => self.push_number(100_000),
            n => self.push_number(n * 7),
        }
    }

    pub(crate) fn push_len(&mut self) {
        match self.below(40) {
            0 => self.push_any(),
            1..8 => self.push_number(0),
            8..16 => self.push_number(64),
            n => self.push_number(n),
        }
    }

    pub(crate) fn push_key(&mut self) {
        let key = self.below(4);
        self.push_number(key);
    }

    pub(crate) fn push_address(&mut self) {
        let address = self.any_address();
        self.push(U256::from_be_slice(address.as_slice()));
    }

    pub(crate) fn one_of(&mut self, bytes: &[u8]) -> u8 {
        *bytes
            .choose(&mut self.random)
            .expect("the list is not empty")
    }

    fn piece(&mut self) {
        use opcode::*;
        if self.fork >= Fork::Amsterdam && self.chance(6) {
            return self.amsterdam_piece();
        }
        match self.below(30) {
            0..6 => {
                let op = self.one_of(&[
                    ADD, MUL, SUB, DIV, SDIV, MOD, SMOD, ADDMOD, MULMOD, SIGNEXTEND, LT, GT, SLT,
                    SGT, EQ, ISZERO, AND, OR, XOR, NOT, BYTE, SHL, SHR, SAR, CLZ, EXP,
                ]);
                if self.chance(2) {
                    self.push_any();
                }
                if self.chance(3) {
                    self.push_any();
                    self.op(SWAP1);
                }
                self.op(op);
            }
            6..8 => {
                let deepest = if self.chance(8) { 16 } else { 4 };
                let n = self.below(deepest) as u8;
                let family = self.one_of(&[DUP1, SWAP1]);
                self.op(family + n);
                if self.chance(2) {
                    let n = self.below(4) as u8;
                    let family = self.one_of(&[DUP1, SWAP1]);
                    self.op(family + n);
                }
            }
            8 => {
                self.op(POP);
                if self.chance(2) {
                    self.op(POP);
                }
            }
            9..12 => self.memory(),
            12..15 => self.storage(),
            15..17 => self.environment(),
            17..19 => self.jump(),
            19..22 => self.call(),
            22 => self.create(),
            23 => self.log(),
            24 => {
                // Stores the gas left, so that a difference of one unit is visible.
                self.op(GAS);
                self.push_key();
                self.op(SSTORE);
            }
            25 => self.push_any(),
            26 => self.count_down_loop(),
            27 => self.copy(),
            28 if self.chance(3) => self.end(),
            29 if self.chance(6) => {
                let byte = self.random.random::<u8>();
                self.code.push(byte);
            }
            _ => {
                self.op(GAS);
                self.op(POP);
            }
        }
    }

    fn memory(&mut self) {
        use opcode::*;
        match self.below(6) {
            0 => {
                self.push_offset();
                self.op(MLOAD);
            }
            1 => {
                self.push_any();
                self.push_offset();
                self.op(MSTORE8);
            }
            2 => {
                self.push_len();
                self.push_offset();
                self.op(KECCAK256);
            }
            3 => self.op(MSIZE),
            4 if self.height > 0 => {
                let n = self.below(self.height.min(16)) as u8;
                self.op(DUP1 + n);
                self.push_offset();
                self.op(MSTORE);
            }
            _ => {
                self.push_any();
                self.push_offset();
                self.op(MSTORE);
            }
        }
    }

    fn copy(&mut self) {
        use opcode::*;
        let op = self.one_of(&[CALLDATACOPY, CODECOPY, EXTCODECOPY, RETURNDATACOPY, MCOPY]);
        if op == RETURNDATACOPY && self.chance(2) {
            self.push_number(0);
        } else {
            self.push_len();
        }
        if op == RETURNDATACOPY {
            self.push_number(0);
        } else {
            self.push_offset();
        }
        self.push_offset();
        if op == EXTCODECOPY {
            self.push_address();
        }
        self.op(op);
    }

    fn storage(&mut self) {
        use opcode::*;
        match self.below(8) {
            0 | 1 => {
                self.push_key();
                self.op(SLOAD);
            }
            2 => {
                self.push_key();
                self.op(TLOAD);
            }
            3 => {
                self.push_any();
                self.push_key();
                self.op(TSTORE);
            }
            _ => {
                let value = self.below(3);
                self.push_number(value);
                self.push_key();
                self.op(SSTORE);
            }
        }
    }

    fn environment(&mut self) {
        use opcode::*;
        let op = self.one_of(&[
            ADDRESS,
            BALANCE,
            ORIGIN,
            CALLER,
            CALLVALUE,
            CALLDATALOAD,
            CALLDATASIZE,
            CODESIZE,
            GASPRICE,
            EXTCODESIZE,
            RETURNDATASIZE,
            EXTCODEHASH,
            BLOCKHASH,
            COINBASE,
            TIMESTAMP,
            NUMBER,
            PREVRANDAO,
            GASLIMIT,
            CHAINID,
            SELFBALANCE,
            BASEFEE,
            BLOBHASH,
            BLOBBASEFEE,
            PC,
            PUSH0,
            0x0c,
            INVALID,
        ]);
        match op {
            INVALID | 0x0c if !self.chance(8) => return,
            BALANCE | EXTCODESIZE | EXTCODEHASH => self.push_address(),
            BLOCKHASH => {
                let number = 40 + self.below(300);
                self.push_number(number);
            }
            CALLDATALOAD => self.push_offset(),
            _ => {}
        }
        self.op(op);
    }

    /// A jump over a few pieces, conditional or not.
    fn jump(&mut self) {
        use opcode::*;
        let conditional = self.chance(2);
        if conditional {
            match self.below(4) {
                0 => self.op(ISZERO),
                1 => {
                    self.op(LT);
                    self.op(ISZERO);
                }
                2 => {
                    let op = self.one_of(&[LT, GT, SLT, SGT, EQ]);
                    self.op(op);
                }
                _ => {
                    self.op(DUP1);
                    let number = self.below(4);
                    self.push_number(number);
                    self.op(EQ);
                }
            }
        }
        // PUSH2, filled in below.
        let at = self.code.len();
        self.code.extend([PUSH1 + 1, 0, 0]);
        self.height += 1;
        self.op(if conditional { JUMPI } else { JUMP });
        let height = self.height;
        for _ in 0..self.below(3) {
            self.piece();
        }
        self.height = if conditional {
            self.height.min(height)
        } else {
            height
        };
        let target = if self.chance(30) {
            self.below(200)
        } else {
            self.code.len()
        };
        let [high, low] = (target as u16).to_be_bytes();
        self.code[at + 1..at + 3].copy_from_slice(&[high, low]);
        self.code.push(JUMPDEST);
        if self.chance(4) {
            self.code.push(JUMPDEST);
        }
    }

    /// A loop with its counter on the stack.
    fn count_down_loop(&mut self) {
        use opcode::*;
        let rounds = match self.below(4) {
            0 => 200,
            _ => 1 + self.below(6),
        };
        self.push_number(rounds);
        let start = self.code.len();
        self.code.push(JUMPDEST);
        let height = self.height;
        for _ in 0..self.below(3) {
            let op = self.one_of(&[ADD, MUL, XOR, GAS, MSIZE]);
            self.op(op);
        }
        while self.height > height {
            self.op(POP);
        }
        self.push_number(1);
        self.op(SWAP1);
        self.op(SUB);
        self.op(DUP1);
        self.push_number(start);
        self.op(JUMPI);
        self.op(POP);
    }

    fn call(&mut self) {
        use opcode::*;
        let op = self.one_of(&[CALL, CALL, CALLCODE, DELEGATECALL, STATICCALL]);
        self.push_len();
        self.push_offset();
        self.push_len();
        self.push_offset();
        if op == CALL || op == CALLCODE {
            let value = match self.below(12) {
                0 => 5_000,
                n => n / 8,
            };
            self.push_number(value);
        }
        self.push_address();
        match self.below(4) {
            0 => self.op(GAS),
            1 => self.push_any(),
            _ => {
                let gas = self.below(60_000);
                self.push_number(gas);
            }
        }
        self.op(op);
        if self.chance(3) {
            self.push_key();
            self.op(SSTORE);
        }
        if self.chance(4) {
            self.op(RETURNDATASIZE);
            self.push_number(0);
            self.push_offset();
            self.op(RETURNDATACOPY);
        }
    }

    /// A create with init code from memory or from the code of the contract.
    fn create(&mut self) {
        use opcode::*;
        match self.below(3) {
            0 => {
                // The code of the contract as init code.
                self.op(CODESIZE);
                self.push_number(0);
                self.push_number(0);
                self.op(CODECOPY);
            }
            1 => {
                // Returns one byte: 00, ef, ff…
                let byte = self.one_of(&[0x00, 0xef, 0xff, 0x5b]);
                let init = [0x60, byte, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xf3];
                let mut word = [0; 32];
                word[..init.len()].copy_from_slice(&init);
                self.push(U256::from_be_bytes(word));
                self.push_number(0);
                self.op(MSTORE);
            }
            _ => {}
        }
        let op = self.one_of(&[CREATE, CREATE2]);
        if op == CREATE2 {
            let salt = self.below(2);
            self.push_number(salt);
        }
        self.push_len();
        self.push_number(0);
        let value = self.below(3) / 2;
        self.push_number(value);
        self.op(op);
        if self.chance(2) {
            self.push_key();
            self.op(SSTORE);
        }
    }

    fn log(&mut self) {
        let topics = self.below(5) as u8;
        for _ in 0..topics {
            self.push_any();
        }
        self.push_len();
        self.push_offset();
        self.op(opcode::LOG0 + topics);
    }

    fn end(&mut self) {
        use opcode::*;
        let op = self.one_of(&[STOP, RETURN, RETURN, REVERT, SELFDESTRUCT]);
        match op {
            RETURN | REVERT => {
                self.push_len();
                self.push_offset();
            }
            SELFDESTRUCT => self.push_address(),
            _ => {}
        }
        self.op(op);
    }
}
