//! Random blocks of Amsterdam, with what its proposals changed: state gas, new prices, deep stack
//! access, large code, logs of transfers, requests of builders.

#![expect(
    clippy::cast_possible_truncation,
    reason = "choices are small numbers of any width"
)]

use crate::case::{CHAIN_ID, Make, contract};
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use txgraph_evm::{
    AccessListItem, Authorization, Block, BlockGas, Fork, MemoryState, Transaction,
    TransactionType, opcode,
};

/// The addresses of the private keys 1 to 5.
const KEYS: [Address; 5] = [
    address!("7e5f4552091a69125d5dfcb7b8c2659029395bdf"),
    address!("2b5ad5c4795c026514f8317c7a215e218dccd6cf"),
    address!("6813eb9362372eef6200f3b1dbc3f819671cba69"),
    address!("1eff47bc3a10a45d4b230b5d10e37751fe6aa718"),
    address!("e1ab8145f7e55dc933d51a18c793f901a3a0b276"),
];

/// The contracts that receive requests, with the length of a request (EIP-7002, 7251, 8282).
const REQUESTS: [(Address, usize); 4] = [
    (address!("00000961ef480eb55e80d19ad83579a64c007002"), 56),
    (address!("0000bbddc7ce488642fb579f8b00f3a590007251"), 96),
    (address!("0000bff46984e3725691fa540a8c7589300d8282"), 184),
    (address!("000064d678505ad48f8ccb093bc65613800e8282"), 48),
];

/// The factory of EIP-7997.
const FACTORY: Address = address!("4e59b44847b379578588920ca78fbf26c0b4956c");

/// A block with the state before it.
#[derive(Clone, Debug)]
pub struct BlockCase {
    /// The seed that reproduces the case.
    pub seed: u64,
    /// The state before the block.
    pub state: MemoryState,
    /// The environment of the block.
    pub block: Block,
    /// The transactions. Some are invalid, and are left out when they are executed.
    pub transactions: Vec<Transaction>,
    /// Withdrawals as address and gwei.
    pub withdrawals: Vec<(Address, u64)>,
    /// The hash of the parent block.
    pub parent_hash: B256,
    /// The beacon root of the parent.
    pub beacon_root: B256,
}

/// The private key of an authority, which is its own number.
pub fn key_of(authority: Address) -> Option<u64> {
    let at = KEYS.iter().position(|address| *address == authority)?;
    Some(at as u64 + 1)
}

/// The hash of an earlier block.
pub fn block_hash(number: u64) -> B256 {
    keccak256(number.to_be_bytes())
}

/// Generates a block. The same seed gives the same block. `system` are the system contracts with
/// their code.
pub fn block_case(seed: u64, system: &[(Address, Bytes)]) -> BlockCase {
    Make::new(seed, Fork::Amsterdam).block_case(seed, system)
}

impl Make {
    fn block_case(&mut self, seed: u64, system: &[(Address, Bytes)]) -> BlockCase {
        let mut state = self.state(system);
        let number = 300;
        state.block_hashes = (number - 256..number)
            .map(|number| (number, block_hash(number)))
            .collect();
        let ether = U256::from(10u64).pow(U256::from(18));
        for (n, key) in KEYS.into_iter().enumerate() {
            let code = match self.below(4) {
                // The senders are not contracts.
                0 if n > 1 => self.contract_code(),
                1 => delegation(self.delegate()),
                _ => Bytes::new(),
            };
            let nonce = match self.below(3) {
                _ if !code.is_empty() => 1,
                0 => 1,
                _ => 0,
            };
            let balance = match n {
                0 | 1 => ether * U256::from(1_000_000),
                _ => U256::from(self.below(2) as u64),
            };
            if n < 2 || nonce > 0 || !balance.is_zero() {
                state.insert(key, balance, nonce, code);
            }
        }
        let gas_limit = [36_000_000, 60_000_000, 200_000_000, 1_000_000_000][self.below(4)];
        let mut nonces: [u64; 2] = [0, 1].map(|n| state.accounts[&KEYS[n]].nonce);
        let transactions = (0..1 + self.below(4))
            .map(|_| {
                let sender = self.below(2);
                let nonce = nonces[sender] + u64::from(self.chance(40));
                let transaction = self.amsterdam_transaction(sender, nonce, gas_limit);
                // Right unless the transaction is invalid, or its authorizations use the nonce.
                nonces[sender] += 1;
                transaction
            })
            .collect();
        let withdrawals = (0..self.below(3))
            .map(|_| (self.any_address(), self.below(2) as u64 * 1_000))
            .collect();
        BlockCase {
            seed,
            state,
            block: Block {
                number,
                timestamp: 1_800_000_000,
                beneficiary: Address::with_last_byte(0xbe),
                gas_limit,
                gas_used: BlockGas::default(),
                base_fee: U256::from(7),
                difficulty: U256::ZERO,
                prevrandao: B256::repeat_byte(0x77),
                blob_base_fee: U256::from(1),
                blobs_max: 21,
                slot_number: 0x0123_4567_89ab,
            },
            transactions,
            withdrawals,
            parent_hash: block_hash(number - 1),
            beacon_root: B256::repeat_byte(0xbb),
        }
    }

    /// The contracts, and the system contracts.
    fn state(&mut self, system: &[(Address, Bytes)]) -> MemoryState {
        let mut state = MemoryState::default();
        for (address, code) in system {
            state.insert(*address, U256::ZERO, 1, code.clone());
        }
        self.insert_contracts(&mut state);
        state
    }

    /// A contract, a precompiled contract, a key, a delegated key or an account that does not
    /// exist.
    fn delegate(&mut self) -> Address {
        match self.below(6) {
            0 => Address::with_last_byte(1 + self.below(4) as u8),
            1 => KEYS[self.below(KEYS.len())],
            2 => Address::with_last_byte(0xd0),
            _ => contract(self.below(4) as u8),
        }
    }

    pub(crate) fn amsterdam_address(&mut self) -> Address {
        match self.below(8) {
            0..3 => KEYS[self.below(KEYS.len())],
            3 => REQUESTS[self.below(REQUESTS.len())].0,
            4 => FACTORY,
            // Accounts that do not exist, unless a transaction creates them.
            _ => Address::with_last_byte(0xd0 + self.below(4) as u8),
        }
    }

    fn bytes(&mut self, len: usize) -> Bytes {
        let zeros = self.chance(3);
        (0..len)
            .map(|_| if zeros { 0 } else { self.below(256) as u8 })
            .collect()
    }

    fn amsterdam_transaction(
        &mut self,
        sender: usize,
        nonce: u64,
        block_gas_limit: u64,
    ) -> Transaction {
        let caller = KEYS[sender];
        let mut value = U256::from(self.below(2) as u64 * 5);
        let (to, input) = match self.below(16) {
            0..2 => (None, self.init_code()),
            2 => {
                let (to, len) = REQUESTS[self.below(4)];
                value = match self.below(3) {
                    0 => U256::from(1),
                    1 => U256::from(3_000_000_000_000_000_000u64),
                    _ => U256::ZERO,
                };
                (Some(to), self.request(to, len))
            }
            3 => {
                let mut input = B256::with_last_byte(self.below(3) as u8).to_vec();
                input.extend(self.init_code());
                (Some(FACTORY), input.into())
            }
            4 => (Some(caller), Bytes::new()),
            5 => {
                let len = self.below(9_000);
                (Some(self.any_address()), self.bytes(len))
            }
            6..8 => (Some(self.any_address()), Bytes::new()),
            _ => {
                let len = self.below(100);
                (Some(contract(self.below(4) as u8)), self.bytes(len))
            }
        };
        let gas_limit = match self.below(8) {
            0 => 12_000 + self.below(40_000) as u64,
            1 => 50_000 + self.below(300_000) as u64,
            2 => 200_000 + self.below(800_000) as u64,
            3 => (1 << 24) - 100_000 + self.below(400_000) as u64,
            4 => 20_000_000,
            5 => (block_gas_limit / 3).min(300_000_000),
            _ => 4_000_000,
        };
        let mut transaction = Transaction {
            caller,
            to,
            nonce,
            gas_limit,
            max_fee_per_gas: U256::from(10),
            value,
            input,
            chain_id: Some(CHAIN_ID),
            ..Transaction::default()
        };
        if self.chance(3) {
            transaction.transaction_type = TransactionType::AccessList;
            transaction.access_list = (0..self.below(4))
                .map(|_| AccessListItem {
                    address: self.any_address(),
                    storage_keys: (0..self.below(4))
                        .map(|_| B256::with_last_byte(self.below(4) as u8))
                        .collect(),
                })
                .collect();
        }
        if self.chance(3) {
            transaction.transaction_type = TransactionType::DynamicFee;
            transaction.max_priority_fee_per_gas = Some(U256::from(self.below(3) as u64));
        }
        if to.is_some() && self.chance(8) {
            transaction.transaction_type = TransactionType::Blob;
            transaction.max_priority_fee_per_gas = Some(U256::from(1));
            transaction.max_fee_per_blob_gas = U256::from(3);
            let mut hash = B256::with_last_byte(9);
            hash.0[0] = 1;
            transaction.blob_hashes = vec![hash; 1 + self.below(7)];
        } else if to.is_some() && self.chance(3) {
            transaction.transaction_type = TransactionType::SetCode;
            transaction.max_priority_fee_per_gas = Some(U256::from(1));
            transaction.authorizations = (0..=self.below(4))
                .map(|_| self.signed_authorization())
                .collect();
        }
        transaction
    }

    fn signed_authorization(&mut self) -> Authorization {
        Authorization {
            chain_id: U256::from(self.below(9) as u64 / 4),
            address: match self.below(4) {
                0 => Address::ZERO,
                _ => self.delegate(),
            },
            nonce: match self.below(12) {
                0 => u64::MAX,
                n => n as u64 / 4,
            },
            authority: match self.below(12) {
                0 => None,
                n => Some(KEYS[n % KEYS.len()]),
            },
        }
    }

    /// Calldata of a request. A deposit of a builder contains the amount.
    fn request(&mut self, to: Address, len: usize) -> Bytes {
        let len = match self.below(8) {
            0 => 0,
            1 => len + 1,
            _ => len,
        };
        let mut request = self.bytes(len).to_vec();
        if to == REQUESTS[2].0 && len == 184 {
            let gwei = 1_000_000_000 + self.below(3) as u64 * 999_999_999;
            request[80..88].copy_from_slice(&gwei.to_be_bytes());
        }
        request.into()
    }

    /// Init code that deploys code, or does something else.
    fn init_code(&mut self) -> Bytes {
        match self.below(5) {
            0 => self.contract_code(),
            1 => self.deploys_zeros().into(),
            2 => self.deploys_destruction().into(),
            3 => self.destroys_itself().into(),
            _ => {
                // Writes a slot, and deploys one byte.
                let value = self.below(2) as u8;
                vec![0x60, value, 0x60, 1, 0x55, 0x60, 1, 0x60, 0, 0xf3].into()
            }
        }
    }

    /// `RETURN(0, len)`: lengths around the limits, and short ones.
    fn deploys_zeros(&mut self) -> Vec<u8> {
        let len = match self.below(6) {
            0 => 24_576 + self.below(3),
            1 => 65_535 + self.below(3),
            2 => 2_000,
            _ => self.below(200),
        };
        let [_, high, middle, low] = (len as u32).to_be_bytes();
        vec![0x62, high, middle, low, 0x60, 0, 0xf3]
    }

    /// Deploys `SELFDESTRUCT` to the caller, to itself or to the argument.
    fn deploys_destruction(&mut self) -> Vec<u8> {
        let who = self.one_of(&[opcode::CALLER, opcode::ADDRESS, opcode::COINBASE]);
        // MSTORE8(0, who), MSTORE8(1, SELFDESTRUCT), RETURN(0, 2)
        vec![
            0x60, who, 0x60, 0, 0x53, 0x60, 0xff, 0x60, 1, 0x53, 0x60, 2, 0x60, 0, 0xf3,
        ]
    }

    /// Destroys itself, with wei to itself, to the creator or to an account that does not exist.
    fn destroys_itself(&mut self) -> Vec<u8> {
        let mut code = Vec::new();
        if self.chance(2) {
            // SSTORE(2, 1)
            code.extend([0x60, 1, 0x60, 2, 0x55]);
        }
        match self.below(3) {
            0 => code.push(opcode::ADDRESS),
            1 => code.push(opcode::CALLER),
            _ => code.extend([0x60, 0xd0 + self.below(4) as u8]),
        }
        code.push(opcode::SELFDESTRUCT);
        code
    }

    pub(crate) fn amsterdam_piece(&mut self) {
        use opcode::*;
        match self.below(8) {
            0 => {
                self.op(SLOTNUM);
                self.push_key();
                self.op(SSTORE);
            }
            1 | 2 => self.deep_access(),
            3 => self.create_and_call(),
            4 => {
                let op = self.one_of(&[EXTCODESIZE, EXTCODEHASH, BALANCE]);
                self.push_address();
                self.op(op);
            }
            5 => {
                self.push_address();
                self.op(EXTCODESIZE);
                self.push_key();
                self.op(SSTORE);
            }
            6 => {
                // Sets and clears a slot, here or in a callee.
                let value = self.below(2);
                for value in [1, value] {
                    self.push_number(value);
                    self.push_number(3);
                    self.op(SSTORE);
                }
            }
            _ => self.call_with_value(),
        }
    }

    /// `DUPN`, `SWAPN` or `EXCHANGE`, usually with enough words.
    fn deep_access(&mut self) {
        use opcode::*;
        let op = self.one_of(&[DUPN, SWAPN, EXCHANGE]);
        let operand = match self.below(6) {
            0 => self.below(256) as u8,
            // The depths 17 to 24.
            1..4 if op != EXCHANGE => 128 + self.below(8) as u8,
            _ => self.one_of(&[0x8e, 0x9d, 0x50, 0x80, 0xff, 0x12]),
        };
        let words = match operand_depths(op, operand) {
            Some((_, deeper)) if deeper < 40 => usize::from(deeper) + 1,
            _ => 0,
        };
        while self.height < words && !self.chance(300) {
            let number = self.height;
            self.push_number(number);
        }
        self.code.extend([op, operand]);
        if op == DUPN {
            self.height += 1;
        }
    }

    fn call_with_value(&mut self) {
        use opcode::*;
        for _ in 0..4 {
            self.push_number(0);
        }
        let value = match self.below(8) {
            0 => 5_000,
            _ => 1,
        };
        self.push_number(value);
        self.push_address();
        let gas = match self.below(3) {
            0 => 0,
            _ => self.below(500_000),
        };
        self.push_number(gas);
        let op = self.one_of(&[CALL, CALL, CALLCODE]);
        self.op(op);
    }

    /// Creates a contract, and often calls it with a value.
    fn create_and_call(&mut self) {
        use opcode::*;
        let init = match self.below(3) {
            0 => self.deploys_zeros(),
            1 => self.deploys_destruction(),
            _ => self.destroys_itself(),
        };
        let mut word = [0; 32];
        word[..init.len()].copy_from_slice(&init);
        self.push(U256::from_be_bytes(word));
        self.push_number(0);
        self.op(MSTORE);
        let op = self.one_of(&[CREATE, CREATE2]);
        if op == CREATE2 {
            let salt = self.below(2);
            self.push_number(salt);
        }
        self.push_number(init.len());
        self.push_number(0);
        let value = self.below(2);
        self.push_number(value);
        self.op(op);
        for _ in 0..self.below(3) {
            // CALL(gas, created, value, nothing in, nothing out)
            for _ in 0..4 {
                self.push_number(0);
            }
            let value = self.below(2);
            self.push_number(value);
            self.op(DUP1 + 5);
            self.op(GAS);
            self.op(CALL);
            self.op(POP);
        }
    }
}

/// The code of an account that delegates to another (EIP-7702).
fn delegation(to: Address) -> Bytes {
    [&[0xef, 0x01, 0x00], to.as_slice()].concat().into()
}
