//! Prices: one [`Schedule`] per fork, each the one before it plus its differences.

use crate::{fork::Fork, opcode::*};

/// Part of a block's gas that a cold account costs beyond a warm one (EIP-2929).
pub(crate) const COLD_ACCOUNT_EXTRA: i64 = 2_500;
/// The same for a slot.
pub(crate) const COLD_SLOT_EXTRA: i64 = 2_000;
/// A slot's first access in a transaction by `SSTORE` (EIP-2929).
pub(crate) const COLD_SLOT: i64 = 2_100;
/// Anything already accessed (EIP-2929).
pub(crate) const WARM_ACCESS: i64 = 100;
/// A slot from zero to something else.
pub(crate) const SSTORE_SET: i64 = 20_000;
/// What `SSTORE` must leave untouched, so that a stipend cannot write (EIP-2200).
pub(crate) const CALL_STIPEND: i64 = 2_300;
/// A message with value.
pub(crate) const CALL_VALUE: i64 = 9_000;
/// Per word copied.
pub(crate) const COPY_WORD: i64 = 3;
/// Per word hashed.
pub(crate) const KECCAK_WORD: i64 = 6;
/// Per byte logged.
pub(crate) const LOG_BYTE: i64 = 8;
/// Per word of init code (EIP-3860).
pub(crate) const INIT_CODE_WORD: i64 = 2;
/// `SELFDESTRUCT` of an account, once, before London (EIP-3529).
pub(crate) const SELFDESTRUCT_REFUND: i64 = 24_000;

/// Of any transaction.
pub(crate) const TRANSACTION: u64 = 21_000;
/// Per zero byte of calldata.
pub(crate) const CALLDATA_ZERO_BYTE: u64 = 4;
/// Per address of an access list (EIP-2930).
pub(crate) const ACCESS_LIST_ADDRESS: u64 = 2_400;
/// Per slot of an access list (EIP-2930).
pub(crate) const ACCESS_LIST_SLOT: u64 = 1_900;
/// Of any transaction, at most (EIP-7825); its regular gas, since EIP-8037.
pub(crate) const TRANSACTION_GAS_CAP: u64 = 1 << 24;
/// Per blob (EIP-4844).
pub(crate) const BLOB: u64 = 1 << 17;
/// Of a call by the protocol (EIP-4788).
pub(crate) const SYSTEM_CALL: u64 = 30_000_000;

/// Bytes of state that an account is (EIP-8037).
pub(crate) const ACCOUNT_STATE_BYTES: i64 = 112;
/// Bytes of state that a slot is (EIP-8037).
pub(crate) const SLOT_STATE_BYTES: i64 = 32;
/// Bytes of state that a delegation is (EIP-8037).
pub(crate) const DELEGATION_STATE_BYTES: i64 = 23;

/// How `SSTORE` is priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SstoreRule {
    /// By the present value alone.
    Simple,
    /// EIP-1283 and EIP-2200: net of the value before the transaction.
    Net {
        /// Nothing changes, or the slot changed before.
        dirty: i64,
        /// First change of a slot that is zero.
        set: i64,
        /// First change of a slot that is not zero.
        reset: i64,
        /// What clearing gives back.
        clear_refund: i64,
        /// Nothing is written on the last 2,300 gas (EIP-2200).
        stipend_guard: bool,
    },
}

/// What one fork charges, and its limits that depend on gas or size.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// By opcode: gas whatever the operands are. What does not exist costs nothing
    /// and is caught by its body.
    pub(crate) base: [u16; 256],
    pub(crate) sstore: SstoreRule,
    /// Per byte of an exponent (EIP-160).
    pub(crate) exp_byte: i64,
    /// A message, or a destruction, that makes an account exist.
    pub(crate) new_account: i64,
    /// Per byte of deployed code.
    pub(crate) code_byte: i64,
    /// Per word of deployed code (EIP-8037).
    pub(crate) code_word: i64,
    /// Bytes of deployed code at most (EIP-170); of init code twice as many (EIP-3860).
    pub(crate) code_max: usize,
    /// Of a transaction that creates a contract, more (EIP-2).
    pub(crate) create: u64,
    /// Per byte of calldata that is not zero (EIP-2028).
    pub(crate) calldata_byte: u64,
    /// Per byte of calldata at least (EIP-7623): zeros, and others.
    pub(crate) floor_bytes: (u64, u64),
    /// Per byte of an access list, also at least (EIP-7981).
    pub(crate) access_list_byte: u64,
    /// Per authorization (EIP-7702)…
    pub(crate) authorization: u64,
    /// …of which this is given back when the account exists.
    pub(crate) authorization_refund: i64,
    /// A part of gas used that may be given back: one over this (EIP-3529).
    pub(crate) refund_quotient: u64,
}

const FRONTIER: Schedule = Schedule {
    base: frontier_base(),
    sstore: SstoreRule::Simple,
    exp_byte: 10,
    new_account: 25_000,
    code_byte: 200,
    code_word: 0,
    code_max: usize::MAX / 2,
    create: 0,
    calldata_byte: 68,
    floor_bytes: (0, 0),
    access_list_byte: 0,
    authorization: 25_000,
    authorization_refund: 12_500,
    refund_quotient: 2,
};

/// EIP-2.
const HOMESTEAD: Schedule = Schedule {
    create: 32_000,
    ..FRONTIER
};

/// EIP-150.
const TANGERINE_WHISTLE: Schedule = HOMESTEAD
    .price(BALANCE, 400)
    .price(EXTCODESIZE, 700)
    .price(EXTCODECOPY, 700)
    .price(SLOAD, 200)
    .price(CALL, 700)
    .price(CALLCODE, 700)
    .price(DELEGATECALL, 700)
    .price(STATICCALL, 700)
    .price(SELFDESTRUCT, 5_000);

/// EIP-160 and EIP-170.
const SPURIOUS_DRAGON: Schedule = Schedule {
    exp_byte: 50,
    code_max: 24_576,
    ..TANGERINE_WHISTLE
};

/// EIP-1283, and what EIP-1052 adds.
const CONSTANTINOPLE: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: 200,
        set: SSTORE_SET,
        reset: 5_000,
        clear_refund: 15_000,
        stipend_guard: false,
    },
    ..PETERSBURG
};

/// Without EIP-1283.
const PETERSBURG: Schedule = SPURIOUS_DRAGON.price(EXTCODEHASH, 400);

/// EIP-1884, EIP-2028 and EIP-2200.
const ISTANBUL: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: 800,
        set: SSTORE_SET,
        reset: 5_000,
        clear_refund: 15_000,
        stipend_guard: true,
    },
    calldata_byte: 16,
    ..PETERSBURG
        .price(BALANCE, 700)
        .price(EXTCODEHASH, 700)
        .price(SLOAD, 800)
};

/// EIP-2929: the price of what is warm; the rest is charged when it is cold.
const BERLIN: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: WARM_ACCESS,
        set: SSTORE_SET,
        reset: 5_000 - COLD_SLOT,
        clear_refund: 15_000,
        stipend_guard: true,
    },
    ..ISTANBUL
        .price(BALANCE, 100)
        .price(EXTCODESIZE, 100)
        .price(EXTCODECOPY, 100)
        .price(EXTCODEHASH, 100)
        .price(SLOAD, 100)
        .price(CALL, 100)
        .price(CALLCODE, 100)
        .price(DELEGATECALL, 100)
        .price(STATICCALL, 100)
};

/// EIP-3529.
const LONDON: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: WARM_ACCESS,
        set: SSTORE_SET,
        reset: 5_000 - COLD_SLOT,
        clear_refund: 4_800,
        stipend_guard: true,
    },
    refund_quotient: 5,
    ..BERLIN
};

/// EIP-7623.
const PRAGUE: Schedule = Schedule {
    floor_bytes: (10, 40),
    ..LONDON
};

/// EIP-7954, EIP-7976, EIP-7981, and of EIP-8037 what is no gas for state.
const AMSTERDAM: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: WARM_ACCESS,
        set: 5_000 - COLD_SLOT,
        reset: 5_000 - COLD_SLOT,
        clear_refund: 4_800,
        stipend_guard: true,
    },
    new_account: 0,
    code_byte: 0,
    code_word: KECCAK_WORD,
    code_max: 32_768,
    create: CALL_VALUE.cast_unsigned(),
    floor_bytes: (64, 64),
    access_list_byte: 64,
    authorization: 7_500,
    authorization_refund: 0,
    ..PRAGUE
        .price(CREATE, CALL_VALUE as u16)
        .price(CREATE2, CALL_VALUE as u16)
};

impl Schedule {
    pub(crate) const fn of(fork: Fork) -> &'static Self {
        match fork {
            Fork::Frontier => &FRONTIER,
            Fork::Homestead => &HOMESTEAD,
            Fork::TangerineWhistle => &TANGERINE_WHISTLE,
            Fork::SpuriousDragon | Fork::Byzantium => &SPURIOUS_DRAGON,
            Fork::Constantinople => &CONSTANTINOPLE,
            Fork::Petersburg => &PETERSBURG,
            Fork::Istanbul => &ISTANBUL,
            Fork::Berlin => &BERLIN,
            // What came later has a price from the start.
            Fork::London | Fork::Paris | Fork::Shanghai | Fork::Cancun => &LONDON,
            Fork::Prague | Fork::Osaka => &PRAGUE,
            Fork::Amsterdam => &AMSTERDAM,
        }
    }

    const fn price(mut self, opcode: u8, gas: u16) -> Self {
        self.base[opcode as usize] = gas;
        self
    }
}

/// Also of instructions that came later, with their first price.
const fn frontier_base() -> [u16; 256] {
    const GROUPS: [(u16, &[u8]); 13] = [
        (1, &[JUMPDEST]),
        (
            2,
            &[
                ADDRESS,
                ORIGIN,
                CALLER,
                CALLVALUE,
                CALLDATASIZE,
                CODESIZE,
                GASPRICE,
                COINBASE,
                TIMESTAMP,
                NUMBER,
                PREVRANDAO,
                GASLIMIT,
                POP,
                PC,
                MSIZE,
                GAS,
                RETURNDATASIZE,
                CHAINID,
                BASEFEE,
                BLOBBASEFEE,
                SLOTNUM,
                PUSH0,
            ],
        ),
        (
            3,
            &[
                ADD,
                SUB,
                LT,
                GT,
                SLT,
                SGT,
                EQ,
                ISZERO,
                AND,
                OR,
                XOR,
                NOT,
                BYTE,
                SHL,
                SHR,
                SAR,
                CALLDATALOAD,
                CALLDATACOPY,
                CODECOPY,
                RETURNDATACOPY,
                MCOPY,
                MLOAD,
                MSTORE,
                MSTORE8,
                BLOBHASH,
                DUPN,
                SWAPN,
                EXCHANGE,
            ],
        ),
        (
            5,
            &[MUL, DIV, SDIV, MOD, SMOD, SIGNEXTEND, CLZ, SELFBALANCE],
        ),
        (8, &[ADDMOD, MULMOD, JUMP]),
        (10, &[EXP, JUMPI]),
        (
            20,
            &[BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, BLOCKHASH],
        ),
        (30, &[KECCAK256]),
        (40, &[CALL, CALLCODE, DELEGATECALL, STATICCALL]),
        (50, &[SLOAD]),
        (100, &[TLOAD, TSTORE]),
        (375, &[LOG0]),
        (32_000, &[CREATE, CREATE2]),
    ];
    let mut base = [0; 256];
    let mut g = 0;
    while g < GROUPS.len() {
        let (gas, opcodes) = GROUPS[g];
        let mut i = 0;
        while i < opcodes.len() {
            base[opcodes[i] as usize] = gas;
            i += 1;
        }
        g += 1;
    }
    let mut opcode = PUSH1 as usize;
    while opcode <= SWAP16 as usize {
        base[opcode] = 3;
        opcode += 1;
    }
    let mut topics = 1;
    while topics <= 4 {
        base[LOG0 as usize + topics] = 375 * (topics as u16 + 1);
        topics += 1;
    }
    base
}

/// State gas per byte of state, by the gas limit of the block (EIP-8037): as much as
/// lets the state grow by 100 GiB a year, in steps. Zero before Amsterdam.
pub(crate) fn state_byte(fork: Fork, block_gas_limit: u64) -> i64 {
    const BLOCKS_A_YEAR: u128 = 2_628_000;
    const BYTES_A_YEAR: u128 = 100 << 30;
    const SIGNIFICANT_BITS: u32 = 5;
    const OFFSET: u128 = 9_578;
    if fork < Fork::Amsterdam {
        return 0;
    }
    // At half of the limit.
    let exact = (u128::from(block_gas_limit) * BLOCKS_A_YEAR).div_ceil(2 * BYTES_A_YEAR);
    let shifted = exact + OFFSET;
    let cut = (u128::BITS - shifted.leading_zeros()).saturating_sub(SIGNIFICANT_BITS);
    // Below 2^48, whatever the limit is.
    ((shifted >> cut << cut).saturating_sub(OFFSET)).max(1) as i64
}

/// Words of 32 bytes that `bytes` fill.
#[inline(always)]
pub(crate) const fn words(bytes: u64) -> i64 {
    // At most 2^59.
    bytes.div_ceil(32) as i64
}

/// What memory of so many words costs in all: linear, then quadratic.
#[inline(always)]
pub(crate) const fn memory(words: i64) -> i64 {
    3 * words + words * words / 512
}

/// All but one 64th (EIP-150).
#[inline(always)]
pub(crate) const fn all_but_one_64th(gas: i64) -> i64 {
    gas - gas / 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::FACTS;

    #[test]
    fn a_price_for_everything_that_exists() {
        let free = [STOP, RETURN, REVERT, INVALID, SSTORE, SELFDESTRUCT];
        let schedule = Schedule::of(Fork::Osaka);
        for (opcode, facts) in (0..=u8::MAX).zip(FACTS) {
            let priced = schedule.base[usize::from(opcode)] != 0;
            let expected =
                !facts.name.is_empty() && (opcode == SELFDESTRUCT || !free.contains(&opcode));
            assert_eq!(priced, expected, "0x{opcode:02x} {}", facts.name);
        }
    }

    #[test]
    fn prices_moved_with_the_forks() {
        let history = |opcode: u8| {
            let mut prices = Fork::ALL
                .map(|fork| Schedule::of(fork).base[usize::from(opcode)])
                .to_vec();
            prices.dedup();
            prices
        };
        assert_eq!(history(SLOAD), [50, 200, 800, 100]);
        assert_eq!(history(BALANCE), [20, 400, 700, 100]);
        assert_eq!(history(CALL), [40, 700, 100]);
        assert_eq!(history(LOG4), [1875]);
    }

    /// The table of EIP-8037.
    #[test]
    fn bytes_of_state_by_the_limit_of_the_block() {
        let million = 1_000_000;
        for (limit, gas) in [(60, 662), (100, 1_174), (200, 2_198), (300, 3_222)] {
            assert_eq!(state_byte(Fork::Amsterdam, limit * million), gas);
        }
        assert_eq!(state_byte(Fork::Amsterdam, million), 1);
        assert_eq!(state_byte(Fork::Osaka, 60 * million), 0);
        assert!(state_byte(Fork::Amsterdam, u64::MAX) > 0);
    }

    #[test]
    fn memory_of_the_yellow_paper() {
        assert_eq!(memory(0), 0);
        assert_eq!(memory(1), 3);
        assert_eq!(memory(724), 3 * 724 + 1023);
        assert_eq!(words(0), 0);
        assert_eq!(words(33), 2);
    }
}
