//! Names of opcodes for output and for the assembler: every byte that a fork executes. Names come from the interpreter's table; this module adds older ones.

use txgraph_evm::{Fork, opcode::FACTS};

/// Returns how many bytes after `opcode` belong to it: 1 to 32 for `PUSH1` to `PUSH32`.
pub fn immediate_bytes(opcode: u8) -> usize {
    match opcode {
        0x60..=0x7f => usize::from(opcode - 0x5f),
        _ => 0,
    }
}

/// Returns the mnemonic, or `None` for a byte that no fork executes.
pub fn name(opcode: u8) -> Option<&'static str> {
    let name = FACTS[usize::from(opcode)].name;
    (!name.is_empty()).then_some(name)
}

/// Returns the mnemonic at a fork. Opcodes of a fork after the latest one of mainnet have names only
/// there; all others have their names at every fork, as in the traces of other clients.
pub fn name_at(opcode: u8, fork: Fork) -> Option<&'static str> {
    let exists = is_on_mainnet(opcode) || FACTS[usize::from(opcode)].exists(fork);
    name(opcode).filter(|_| exists)
}

/// Whether mainnet executes the opcode. Clients disagree about the names of others.
pub fn is_on_mainnet(opcode: u8) -> bool {
    FACTS[usize::from(opcode)].exists(Fork::LATEST)
}

/// Returns the opcode of a mnemonic in capitals. Accepts older names too.
pub fn by_name(mnemonic: &str) -> Option<u8> {
    let mnemonic = match mnemonic {
        "SHA3" => "KECCAK256",
        "DIFFICULTY" | "RANDOM" => "PREVRANDAO",
        "SUICIDE" => "SELFDESTRUCT",
        current => current,
    };
    (0..=u8::MAX).find(|opcode| name(*opcode) == Some(mnemonic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_opcodes_are_one_to_one() {
        let known: Vec<u8> = (0..=u8::MAX)
            .filter(|opcode| name(*opcode).is_some())
            .collect();
        // The opcodes of Amsterdam and INVALID.
        assert_eq!(known.len(), 154);
        for opcode in &known {
            assert_eq!(by_name(name(*opcode).unwrap()), Some(*opcode));
        }
        // The opcodes of Osaka and INVALID.
        assert_eq!(known.into_iter().filter(|o| is_on_mainnet(*o)).count(), 150);
    }

    #[test]
    fn opcodes_of_later_forks_are_named_there_only() {
        for (opcode, mnemonic) in [
            (0x4b, "SLOTNUM"),
            (0xe6, "DUPN"),
            (0xe7, "SWAPN"),
            (0xe8, "EXCHANGE"),
        ] {
            assert_eq!(name_at(opcode, Fork::LATEST), None);
            assert_eq!(name_at(opcode, Fork::Amsterdam), Some(mnemonic));
        }
        assert_eq!(name_at(0x5f, Fork::Frontier), Some("PUSH0"));
        assert_eq!(name_at(0x0c, Fork::Amsterdam), None);
    }

    #[test]
    fn well_known_opcodes_have_their_bytes() {
        for (opcode, mnemonic) in [
            (0x0b, "SIGNEXTEND"),
            (0x1e, "CLZ"),
            (0x3f, "EXTCODEHASH"),
            (0x4a, "BLOBBASEFEE"),
            (0x4b, "SLOTNUM"),
            (0x5f, "PUSH0"),
            (0x7f, "PUSH32"),
            (0x8f, "DUP16"),
            (0x9f, "SWAP16"),
            (0xa4, "LOG4"),
            (0xe6, "DUPN"),
            (0xe7, "SWAPN"),
            (0xe8, "EXCHANGE"),
            (0xf5, "CREATE2"),
            (0xff, "SELFDESTRUCT"),
        ] {
            assert_eq!(name(opcode), Some(mnemonic));
        }
    }
}
