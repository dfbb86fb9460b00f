//! Names of opcodes, for people: every byte that any fork up to Osaka executes.
//! Whether a given fork knows it is the interpreter's question.

/// Bytes after `opcode` that belong to it: 1 to 32 for `PUSH1` to `PUSH32`.
pub fn immediate_bytes(opcode: u8) -> usize {
    match opcode {
        0x60..=0x7f => usize::from(opcode - 0x5f),
        _ => 0,
    }
}

/// The mnemonic; nothing for bytes that no fork executes.
pub fn name(opcode: u8) -> Option<&'static str> {
    NAMES[usize::from(opcode)]
}

/// The opcode of a mnemonic in capitals; older names are known too.
pub fn by_name(mnemonic: &str) -> Option<u8> {
    let mnemonic = match mnemonic {
        "SHA3" => "KECCAK256",
        "DIFFICULTY" | "RANDOM" => "PREVRANDAO",
        "SUICIDE" => "SELFDESTRUCT",
        current => current,
    };
    (0..=u8::MAX).find(|opcode| name(*opcode) == Some(mnemonic))
}

const NAMES: [Option<&str>; 256] = {
    let mut names = [None; 256];
    // First opcode of a run, and the mnemonics of the run.
    let runs: [(usize, &[&'static str]); 14] = [
        (
            0x00,
            &[
                "STOP",
                "ADD",
                "MUL",
                "SUB",
                "DIV",
                "SDIV",
                "MOD",
                "SMOD",
                "ADDMOD",
                "MULMOD",
                "EXP",
                "SIGNEXTEND",
            ],
        ),
        (
            0x10,
            &[
                "LT", "GT", "SLT", "SGT", "EQ", "ISZERO", "AND", "OR", "XOR", "NOT", "BYTE", "SHL",
                "SHR", "SAR", "CLZ",
            ],
        ),
        (0x20, &["KECCAK256"]),
        (
            0x30,
            &[
                "ADDRESS",
                "BALANCE",
                "ORIGIN",
                "CALLER",
                "CALLVALUE",
                "CALLDATALOAD",
                "CALLDATASIZE",
                "CALLDATACOPY",
                "CODESIZE",
                "CODECOPY",
                "GASPRICE",
                "EXTCODESIZE",
                "EXTCODECOPY",
                "RETURNDATASIZE",
                "RETURNDATACOPY",
                "EXTCODEHASH",
            ],
        ),
        (
            0x40,
            &[
                "BLOCKHASH",
                "COINBASE",
                "TIMESTAMP",
                "NUMBER",
                "PREVRANDAO",
                "GASLIMIT",
                "CHAINID",
                "SELFBALANCE",
                "BASEFEE",
                "BLOBHASH",
                "BLOBBASEFEE",
            ],
        ),
        (
            0x50,
            &[
                "POP", "MLOAD", "MSTORE", "MSTORE8", "SLOAD", "SSTORE", "JUMP", "JUMPI", "PC",
                "MSIZE", "GAS", "JUMPDEST", "TLOAD", "TSTORE", "MCOPY", "PUSH0",
            ],
        ),
        (
            0x60,
            &[
                "PUSH1", "PUSH2", "PUSH3", "PUSH4", "PUSH5", "PUSH6", "PUSH7", "PUSH8", "PUSH9",
                "PUSH10", "PUSH11", "PUSH12", "PUSH13", "PUSH14", "PUSH15", "PUSH16",
            ],
        ),
        (
            0x70,
            &[
                "PUSH17", "PUSH18", "PUSH19", "PUSH20", "PUSH21", "PUSH22", "PUSH23", "PUSH24",
                "PUSH25", "PUSH26", "PUSH27", "PUSH28", "PUSH29", "PUSH30", "PUSH31", "PUSH32",
            ],
        ),
        (
            0x80,
            &[
                "DUP1", "DUP2", "DUP3", "DUP4", "DUP5", "DUP6", "DUP7", "DUP8", "DUP9", "DUP10",
                "DUP11", "DUP12", "DUP13", "DUP14", "DUP15", "DUP16",
            ],
        ),
        (
            0x90,
            &[
                "SWAP1", "SWAP2", "SWAP3", "SWAP4", "SWAP5", "SWAP6", "SWAP7", "SWAP8", "SWAP9",
                "SWAP10", "SWAP11", "SWAP12", "SWAP13", "SWAP14", "SWAP15", "SWAP16",
            ],
        ),
        (0xa0, &["LOG0", "LOG1", "LOG2", "LOG3", "LOG4"]),
        (
            0xf0,
            &[
                "CREATE",
                "CALL",
                "CALLCODE",
                "RETURN",
                "DELEGATECALL",
                "CREATE2",
            ],
        ),
        (0xfa, &["STATICCALL"]),
        (0xfd, &["REVERT", "INVALID", "SELFDESTRUCT"]),
    ];
    let mut run = 0;
    while run < runs.len() {
        let (first, mnemonics) = runs[run];
        let mut index = 0;
        while index < mnemonics.len() {
            names[first + index] = Some(mnemonics[index]);
            index += 1;
        }
        run += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_opcodes_are_one_to_one() {
        let known: Vec<u8> = (0..=u8::MAX)
            .filter(|opcode| name(*opcode).is_some())
            .collect();
        // Osaka: 149 of EIP-7939's predecessors and CLZ, with INVALID and both PUSH0 and MCOPY.
        assert_eq!(known.len(), 150);
        for opcode in known {
            assert_eq!(by_name(name(opcode).unwrap()), Some(opcode));
        }
    }

    #[test]
    fn well_known_ones_stand_where_they_should() {
        for (opcode, mnemonic) in [
            (0x0b, "SIGNEXTEND"),
            (0x1e, "CLZ"),
            (0x3f, "EXTCODEHASH"),
            (0x4a, "BLOBBASEFEE"),
            (0x5f, "PUSH0"),
            (0x7f, "PUSH32"),
            (0x8f, "DUP16"),
            (0x9f, "SWAP16"),
            (0xa4, "LOG4"),
            (0xf5, "CREATE2"),
            (0xff, "SELFDESTRUCT"),
        ] {
            assert_eq!(name(opcode), Some(mnemonic));
        }
    }
}
