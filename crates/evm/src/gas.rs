//! Prices: one [`Schedule`] per fork, defined by its difference from the fork before.

use crate::{fork::Fork, opcode::*};

/// The gas that a cold slot costs in addition to a warm one (EIP-2929).
pub(crate) const COLD_SLOT_EXTRA: i64 = 2_000;
/// The first access of a slot in a transaction (EIP-2929).
const COLD_SLOT: i64 = 2_100;
/// An access to a warm account or slot (EIP-2929).
pub(crate) const WARM_ACCESS: i64 = 100;
/// A write that changes a slot from zero.
pub(crate) const SSTORE_SET: i64 = 20_000;
/// The gas that a callee receives with a value. `SSTORE` halts if no more is left (EIP-2200).
pub(crate) const CALL_STIPEND: i64 = 2_300;
/// Per copied word.
pub(crate) const COPY_WORD: i64 = 3;
/// Per hashed word.
pub(crate) const KECCAK_WORD: i64 = 6;
/// Per byte of a log's data.
pub(crate) const LOG_BYTE: i64 = 8;
/// Per word of init code (EIP-3860).
pub(crate) const INIT_CODE_WORD: i64 = 2;
/// The refund for `SELFDESTRUCT`, once per account, before London (EIP-3529).
pub(crate) const SELFDESTRUCT_REFUND: i64 = 24_000;

/// Per zero byte of calldata.
pub(crate) const CALLDATA_ZERO_BYTE: u64 = 4;
/// The maximum gas of a transaction (EIP-7825); since EIP-8037 the maximum of its regular gas.
pub(crate) const TRANSACTION_GAS_CAP: u64 = 1 << 24;
/// The maximum gas of a transaction since Amsterdam, with state gas. Only geth has this limit, and
/// only blocks with more gas than that can contain such a transaction.
pub(crate) const TRANSACTION_TOTAL_CAP: u64 = (1 << 32) - 1;
/// Per blob (EIP-4844).
pub(crate) const BLOB: u64 = 1 << 17;
/// The gas of a system call (EIP-4788).
pub(crate) const SYSTEM_CALL: u64 = 30_000_000;
/// The new slots that a system call has state gas for (EIP-8037).
pub(crate) const SYSTEM_CALL_SLOTS: i64 = 16;

/// The bytes of state of an account (EIP-8037).
pub(crate) const ACCOUNT_STATE_BYTES: i64 = 120;
/// The bytes of state of a slot (EIP-8037).
pub(crate) const SLOT_STATE_BYTES: i64 = 64;
/// The bytes of state of a delegation (EIP-8037).
pub(crate) const DELEGATION_STATE_BYTES: i64 = 23;

/// How `SSTORE` is priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SstoreRule {
    /// By the present and the new value alone.
    Simple,
    /// Also by the value before the transaction (EIP-1283, EIP-2200).
    Net {
        /// The value stays, or the slot was changed before.
        dirty: i64,
        /// In addition, for the first access of the slot in a transaction (EIP-2929).
        cold: i64,
        /// The first change of a slot that is zero.
        set: i64,
        /// The first change of a slot that is not zero.
        reset: i64,
        /// The refund for clearing a slot.
        clear_refund: i64,
        /// Halts if at most 2,300 gas are left (EIP-2200).
        stipend_guard: bool,
    },
}

/// The prices of a fork, and its limits of gas and size.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The static gas of each opcode. Opcodes that do not exist cost nothing; the check before the
    /// instruction refuses them.
    pub(crate) base: [u16; 256],
    pub(crate) sstore: SstoreRule,
    /// Per byte of an exponent (EIP-160).
    pub(crate) exp_byte: i64,
    /// The additional cost of a cold account (EIP-2929).
    pub(crate) cold_account: i64,
    /// A message with a value.
    pub(crate) call_value: i64,
    /// A message that creates an account.
    pub(crate) new_account: i64,
    /// A destruction that creates its beneficiary.
    pub(crate) new_beneficiary: i64,
    /// Per byte of deployed code.
    pub(crate) code_byte: i64,
    /// Per word of deployed code (EIP-8037).
    pub(crate) code_word: i64,
    /// The maximum length of deployed code in bytes (EIP-170). For init code it is twice as much
    /// (EIP-3860).
    pub(crate) code_max: usize,
    /// State gas per byte of state; zero before EIP-8037.
    pub(crate) state_byte: i64,
    /// Every transaction.
    pub(crate) transaction: u64,
    /// In addition, for a recipient that is not the sender (EIP-2780).
    pub(crate) recipient: u64,
    /// In addition, for a value that is sent to it (EIP-2780).
    pub(crate) value: u64,
    /// In addition, for a transaction that creates a contract (EIP-2).
    pub(crate) create: u64,
    /// Per byte of calldata that is not zero (EIP-2028).
    pub(crate) calldata_byte: u64,
    /// The floor per byte of calldata (EIP-7623): zeros, others.
    pub(crate) floor_bytes: (u64, u64),
    /// Whether the floor contains all that a transaction costs without data (EIP-2780). Otherwise
    /// it contains the price of every transaction.
    pub(crate) floor_has_recipient: bool,
    /// Per address of an access list (EIP-2930).
    pub(crate) access_list_address: u64,
    /// Per slot of an access list (EIP-2930).
    pub(crate) access_list_slot: u64,
    /// Per byte of an access list, also for the floor (EIP-7981).
    pub(crate) access_list_byte: u64,
    /// Per authorization (EIP-7702).
    pub(crate) authorization: u64,
    /// The part of it that is refunded if the account exists.
    pub(crate) authorization_refund: i64,
    /// The maximum refund is the gas used, divided by this (EIP-3529).
    pub(crate) refund_quotient: u64,
}

const FRONTIER: Schedule = Schedule {
    base: frontier_base(),
    sstore: SstoreRule::Simple,
    exp_byte: 10,
    cold_account: 2_500,
    call_value: 9_000,
    new_account: 25_000,
    new_beneficiary: 25_000,
    code_byte: 200,
    code_word: 0,
    code_max: usize::MAX / 2,
    state_byte: 0,
    transaction: 21_000,
    recipient: 0,
    value: 0,
    create: 0,
    calldata_byte: 68,
    floor_bytes: (0, 0),
    floor_has_recipient: false,
    access_list_address: 2_400,
    access_list_slot: 1_900,
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

/// EIP-1283 and EIP-1052.
const CONSTANTINOPLE: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: 200,
        cold: 0,
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
        cold: 0,
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

/// EIP-2929. These are the prices of warm accesses; cold ones pay more.
const BERLIN: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: WARM_ACCESS,
        cold: COLD_SLOT,
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
        cold: COLD_SLOT,
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

/// A write to an account (EIP-8038).
pub(crate) const ACCOUNT_WRITE: i64 = 9_000;
/// The first write to a slot (EIP-8038).
const SLOT_WRITE: i64 = 10_000;
/// The creation of a contract (EIP-8038): access and write of its account.
const CREATE_ACCESS: u16 = 12_000;

/// EIP-2780, 7954, 7976, 7981, 8037 and 8038.
const AMSTERDAM: Schedule = Schedule {
    sstore: SstoreRule::Net {
        dirty: WARM_ACCESS,
        cold: COLD_SLOT - WARM_ACCESS,
        set: WARM_ACCESS + SLOT_WRITE,
        reset: WARM_ACCESS + SLOT_WRITE,
        clear_refund: 11_616,
        stipend_guard: true,
    },
    cold_account: 3_000 - WARM_ACCESS,
    call_value: ACCOUNT_WRITE + CALL_STIPEND,
    new_account: 0,
    new_beneficiary: ACCOUNT_WRITE,
    code_byte: 0,
    code_word: KECCAK_WORD,
    code_max: 65_536,
    state_byte: 1_530,
    transaction: 12_000,
    recipient: 3_000,
    value: 6_000,
    create: CREATE_ACCESS as u64,
    floor_bytes: (64, 64),
    floor_has_recipient: true,
    access_list_address: 2_900,
    access_list_slot: 2_000,
    access_list_byte: 64,
    authorization: 7_816,
    authorization_refund: 0,
    ..PRAGUE
        .price(CREATE, CREATE_ACCESS)
        .price(CREATE2, CREATE_ACCESS)
        // Two reads of the database.
        .price(EXTCODESIZE, 200)
        .price(EXTCODECOPY, 200)
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
            // Later opcodes already have their price.
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

/// The first price of each opcode, including opcodes of later forks.
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

/// The number of 32-byte words for `bytes` bytes, rounded up.
#[inline(always)]
pub(crate) const fn words(bytes: u64) -> i64 {
    // At most 2^59.
    bytes.div_ceil(32) as i64
}

/// The total cost of memory of `words` words: a linear and a quadratic part.
#[inline(always)]
pub(crate) const fn memory(words: i64) -> i64 {
    3 * words + words * words / 512
}

/// All gas except one 64th (EIP-150).
#[inline(always)]
pub(crate) const fn all_but_one_64th(gas: i64) -> i64 {
    gas - gas / 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::FACTS;

    #[test]
    fn every_opcode_has_a_price() {
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
    fn prices_change_with_forks() {
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
        assert_eq!(history(EXTCODESIZE), [20, 700, 100, 200]);
        assert_eq!(history(CREATE), [32_000, 12_000]);
        assert_eq!(history(LOG4), [1875]);
    }

    #[test]
    fn memory_cost_matches_the_yellow_paper() {
        assert_eq!(memory(0), 0);
        assert_eq!(memory(1), 3);
        assert_eq!(memory(724), 3 * 724 + 1023);
        assert_eq!(words(0), 0);
        assert_eq!(words(33), 2);
    }
}
