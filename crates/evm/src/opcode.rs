//! The opcodes: their bytes, and a table of facts about each.

use crate::fork::Fork;

/// Facts about an opcode that hold at any fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The mnemonic; empty for a byte that is not an opcode.
    pub name: &'static str,
    /// The words that it needs on the stack. With an operand in the code (EIP-8024), the minimum.
    pub inputs: u8,
    /// The words that replace its inputs.
    pub outputs: u8,
    /// The bytes of code after it that are data and not jump destinations. Does not include the
    /// operands of EIP-8024, because a `JUMPDEST` there is valid.
    pub immediate: u8,
    /// The first fork that has it.
    pub since: Fork,
}

impl Facts {
    const NONE: Self = Self {
        name: "",
        inputs: 0,
        outputs: 0,
        immediate: 0,
        since: Fork::Amsterdam,
    };

    /// The change of the stack's height, in words.
    pub const fn change(&self) -> i32 {
        self.outputs as i32 - self.inputs as i32
    }

    /// Whether `fork` has it.
    pub fn exists(&self, fork: Fork) -> bool {
        !self.name.is_empty() && fork >= self.since
    }
}

/// Declares the constants and fills the table from one line per opcode: name, byte, inputs,
/// outputs, first fork.
macro_rules! opcodes {
    ($($name:ident $byte:literal $inputs:literal $outputs:literal $since:ident;)*) => {
        $(
            #[doc = concat!("Byte ", stringify!($byte), ".")]
            pub const $name: u8 = $byte;
        )*

        const fn named() -> [Facts; 256] {
            let mut table = [Facts::NONE; 256];
            $(
                table[$byte] = Facts {
                    name: stringify!($name),
                    inputs: $inputs,
                    outputs: $outputs,
                    immediate: 0,
                    since: Fork::$since,
                };
            )*
            table
        }
    };
}

opcodes! {
    STOP           0x00 0 0 Frontier;
    ADD            0x01 2 1 Frontier;
    MUL            0x02 2 1 Frontier;
    SUB            0x03 2 1 Frontier;
    DIV            0x04 2 1 Frontier;
    SDIV           0x05 2 1 Frontier;
    MOD            0x06 2 1 Frontier;
    SMOD           0x07 2 1 Frontier;
    ADDMOD         0x08 3 1 Frontier;
    MULMOD         0x09 3 1 Frontier;
    EXP            0x0a 2 1 Frontier;
    SIGNEXTEND     0x0b 2 1 Frontier;
    LT             0x10 2 1 Frontier;
    GT             0x11 2 1 Frontier;
    SLT            0x12 2 1 Frontier;
    SGT            0x13 2 1 Frontier;
    EQ             0x14 2 1 Frontier;
    ISZERO         0x15 1 1 Frontier;
    AND            0x16 2 1 Frontier;
    OR             0x17 2 1 Frontier;
    XOR            0x18 2 1 Frontier;
    NOT            0x19 1 1 Frontier;
    BYTE           0x1a 2 1 Frontier;
    SHL            0x1b 2 1 Constantinople;
    SHR            0x1c 2 1 Constantinople;
    SAR            0x1d 2 1 Constantinople;
    CLZ            0x1e 1 1 Osaka;
    KECCAK256      0x20 2 1 Frontier;
    ADDRESS        0x30 0 1 Frontier;
    BALANCE        0x31 1 1 Frontier;
    ORIGIN         0x32 0 1 Frontier;
    CALLER         0x33 0 1 Frontier;
    CALLVALUE      0x34 0 1 Frontier;
    CALLDATALOAD   0x35 1 1 Frontier;
    CALLDATASIZE   0x36 0 1 Frontier;
    CALLDATACOPY   0x37 3 0 Frontier;
    CODESIZE       0x38 0 1 Frontier;
    CODECOPY       0x39 3 0 Frontier;
    GASPRICE       0x3a 0 1 Frontier;
    EXTCODESIZE    0x3b 1 1 Frontier;
    EXTCODECOPY    0x3c 4 0 Frontier;
    RETURNDATASIZE 0x3d 0 1 Byzantium;
    RETURNDATACOPY 0x3e 3 0 Byzantium;
    EXTCODEHASH    0x3f 1 1 Constantinople;
    BLOCKHASH      0x40 1 1 Frontier;
    COINBASE       0x41 0 1 Frontier;
    TIMESTAMP      0x42 0 1 Frontier;
    NUMBER         0x43 0 1 Frontier;
    PREVRANDAO     0x44 0 1 Frontier;
    GASLIMIT       0x45 0 1 Frontier;
    CHAINID        0x46 0 1 Istanbul;
    SELFBALANCE    0x47 0 1 Istanbul;
    BASEFEE        0x48 0 1 London;
    BLOBHASH       0x49 1 1 Cancun;
    BLOBBASEFEE    0x4a 0 1 Cancun;
    SLOTNUM        0x4b 0 1 Amsterdam;
    POP            0x50 1 0 Frontier;
    MLOAD          0x51 1 1 Frontier;
    MSTORE         0x52 2 0 Frontier;
    MSTORE8        0x53 2 0 Frontier;
    SLOAD          0x54 1 1 Frontier;
    SSTORE         0x55 2 0 Frontier;
    JUMP           0x56 1 0 Frontier;
    JUMPI          0x57 2 0 Frontier;
    PC             0x58 0 1 Frontier;
    MSIZE          0x59 0 1 Frontier;
    GAS            0x5a 0 1 Frontier;
    JUMPDEST       0x5b 0 0 Frontier;
    TLOAD          0x5c 1 1 Cancun;
    TSTORE         0x5d 2 0 Cancun;
    MCOPY          0x5e 3 0 Cancun;
    PUSH0          0x5f 0 1 Shanghai;
    LOG0           0xa0 2 0 Frontier;
    LOG1           0xa1 3 0 Frontier;
    LOG2           0xa2 4 0 Frontier;
    LOG3           0xa3 5 0 Frontier;
    LOG4           0xa4 6 0 Frontier;
    DUPN           0xe6 17 18 Amsterdam;
    SWAPN          0xe7 18 18 Amsterdam;
    EXCHANGE       0xe8 3 3 Amsterdam;
    CREATE         0xf0 3 1 Frontier;
    CALL           0xf1 7 1 Frontier;
    CALLCODE       0xf2 7 1 Frontier;
    RETURN         0xf3 2 0 Frontier;
    DELEGATECALL   0xf4 6 1 Homestead;
    CREATE2        0xf5 4 1 Constantinople;
    STATICCALL     0xfa 6 1 Byzantium;
    REVERT         0xfd 2 0 Byzantium;
    INVALID        0xfe 0 0 Frontier;
    SELFDESTRUCT   0xff 1 0 Frontier;
}

/// The first of 32: `PUSHn` is `PUSH1 + n - 1`.
pub const PUSH1: u8 = 0x60;
/// The last push.
pub const PUSH32: u8 = 0x7f;
/// The first of 16: `DUPn` is `DUP1 + n - 1`.
pub const DUP1: u8 = 0x80;
/// The last duplication.
pub const DUP16: u8 = 0x8f;
/// The first of 16: `SWAPn` is `SWAP1 + n - 1`.
pub const SWAP1: u8 = 0x90;
/// The last swap.
pub const SWAP16: u8 = 0x9f;

/// Facts by byte.
pub const FACTS: [Facts; 256] = with_families(named());

const NUMBERED: [[&str; 32]; 3] = [
    [
        "PUSH1", "PUSH2", "PUSH3", "PUSH4", "PUSH5", "PUSH6", "PUSH7", "PUSH8", "PUSH9", "PUSH10",
        "PUSH11", "PUSH12", "PUSH13", "PUSH14", "PUSH15", "PUSH16", "PUSH17", "PUSH18", "PUSH19",
        "PUSH20", "PUSH21", "PUSH22", "PUSH23", "PUSH24", "PUSH25", "PUSH26", "PUSH27", "PUSH28",
        "PUSH29", "PUSH30", "PUSH31", "PUSH32",
    ],
    [
        "DUP1", "DUP2", "DUP3", "DUP4", "DUP5", "DUP6", "DUP7", "DUP8", "DUP9", "DUP10", "DUP11",
        "DUP12", "DUP13", "DUP14", "DUP15", "DUP16", "", "", "", "", "", "", "", "", "", "", "",
        "", "", "", "", "",
    ],
    [
        "SWAP1", "SWAP2", "SWAP3", "SWAP4", "SWAP5", "SWAP6", "SWAP7", "SWAP8", "SWAP9", "SWAP10",
        "SWAP11", "SWAP12", "SWAP13", "SWAP14", "SWAP15", "SWAP16", "", "", "", "", "", "", "", "",
        "", "", "", "", "", "", "", "",
    ],
];

/// Adds `PUSH1` to `PUSH32`, `DUP1` to `DUP16` and `SWAP1` to `SWAP16`.
const fn with_families(mut table: [Facts; 256]) -> [Facts; 256] {
    let mut n = 1;
    while n <= 32 {
        table[PUSH1 as usize + n - 1] = Facts {
            name: NUMBERED[0][n - 1],
            inputs: 0,
            outputs: 1,
            immediate: n as u8,
            since: Fork::Frontier,
        };
        n += 1;
    }
    n = 1;
    while n <= 16 {
        table[DUP1 as usize + n - 1] = Facts {
            name: NUMBERED[1][n - 1],
            inputs: n as u8,
            outputs: n as u8 + 1,
            immediate: 0,
            since: Fork::Frontier,
        };
        table[SWAP1 as usize + n - 1] = Facts {
            name: NUMBERED[2][n - 1],
            inputs: n as u8 + 1,
            outputs: n as u8 + 1,
            immediate: 0,
            since: Fork::Frontier,
        };
        n += 1;
    }
    table
}

/// The depths of the stack words that the operand byte of `DUPN`, `SWAPN` or `EXCHANGE`
/// selects (EIP-8024), counted from the top, the deeper one last. `None`: the byte is not a
/// valid operand. `DUPN` selects one word, `SWAPN` the top and another, `EXCHANGE` two.
pub const fn operand_depths(opcode: u8, operand: u8) -> Option<(u8, u8)> {
    match (opcode, operand) {
        // A jump destination or a push is never an operand.
        (EXCHANGE, 82..=127) | (_, 91..=127) => None,
        (EXCHANGE, _) => {
            let (q, r) = ((operand ^ 0x8f) / 16, (operand ^ 0x8f) % 16);
            Some(if q < r {
                (q + 1, r + 1)
            } else {
                (r + 1, 29 - q)
            })
        }
        (SWAPN, _) => Some((0, operand.wrapping_add(145))),
        _ => {
            let depth = operand.wrapping_add(145) - 1;
            Some((depth, depth))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_match_the_yellow_paper() {
        assert_eq!(FACTS[usize::from(PUSH32)].name, "PUSH32");
        assert_eq!(FACTS[usize::from(PUSH32)].immediate, 32);
        assert_eq!(FACTS[usize::from(SWAP16)].inputs, 17);
        assert_eq!(FACTS[usize::from(DUP16)].change(), 1);
        assert_eq!(FACTS[usize::from(CALL)].change(), -6);
        assert_eq!(FACTS[0x0c].name, "");
        let known = |fork| FACTS.iter().filter(|facts| facts.exists(fork)).count();
        // Frontier had 0x00 to 0xf3 and SELFDESTRUCT; INVALID is EIP-141.
        assert_eq!(known(Fork::Frontier), 129 + 1);
        assert_eq!(known(Fork::Cancun), 149);
        assert_eq!(known(Fork::Osaka), 150);
    }

    #[test]
    fn operands_select_the_depths_of_eip_8024() {
        assert_eq!(operand_depths(SWAPN, 0), Some((0, 145)));
        assert_eq!(operand_depths(SWAPN, 128), Some((0, 17)));
        assert_eq!(operand_depths(DUPN, 128), Some((16, 16)));
        assert_eq!(operand_depths(DUPN, 90), Some((234, 234)));
        assert_eq!(operand_depths(EXCHANGE, 0x9d), Some((2, 3)));
        assert_eq!(operand_depths(EXCHANGE, 0x50), Some((14, 16)));
        for opcode in [DUPN, SWAPN, EXCHANGE] {
            assert_eq!(operand_depths(opcode, 0x5b), None);
        }
    }

    /// Every pair has exactly one operand, and every operand a pair.
    #[test]
    fn each_exchange_pair_has_one_operand() {
        let found: std::collections::BTreeSet<_> = (0..=u8::MAX)
            .filter_map(|x| operand_depths(EXCHANGE, x))
            .collect();
        let pairs = (1..30u8).flat_map(|n| (n + 1..30).map(move |m| (n, m)));
        assert_eq!(found, pairs.filter(|(n, m)| n + m <= 30).collect());
    }
}
