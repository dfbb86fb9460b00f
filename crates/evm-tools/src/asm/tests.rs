use super::*;
use alloy_primitives::hex;
use proptest::prelude::*;

const ALL: [Listing; 4] = [
    Listing {
        labels: false,
        offsets: false,
    },
    Listing {
        labels: false,
        offsets: true,
    },
    Listing {
        labels: true,
        offsets: false,
    },
    Listing {
        labels: true,
        offsets: true,
    },
];

fn bytes(source: &str) -> String {
    hex::encode(assemble(source).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn assembles_the_example_of_the_manual() {
    let source = "
        ; Counts down from ten.
        FROM = 10                 // a constant
                PUSH FROM
        again:                    # a label
                JUMPDEST
                PUSH1 1
                swap1 SUB DUP1
                PUSH again JUMPI
                PUSH end-again
        end:    STOP
                DATA 0xdeadbeef DATA \"hi\"";
    assert_eq!(bytes(source), "600a5b6001900380600257600b00deadbeef6869");
}

#[test]
fn pushes_use_the_shortest_width() {
    assert_eq!(
        bytes("PUSH 0 PUSH 255 PUSH 256 PUSH0 PUSH3 1"),
        "600060ff6101005f62000001"
    );
    // The label is above 255 only because the push before it grew.
    let source = format!("PUSH end {} end: JUMPDEST", "STOP ".repeat(254));
    assert_eq!(&bytes(&source)[..6], "610101");
    assert_eq!(bytes("A = B+1\nB = 0x0f\nPUSH A+B-1"), "601e");
    assert_eq!(bytes("SHA3 DIFFICULTY SUICIDE"), "2044ff");
}

#[test]
fn errors_have_line_and_column() {
    for (source, line, column, what) in [
        ("ADD\n  PUHS1 1", 2, 3, "did you mean PUSH1?"),
        ("PUSH1 256", 1, 7, "needs 2 bytes"),
        ("PUSH1", 1, 6, "missing"),
        ("PUSH1 ADD", 1, 7, "expected a number"),
        ("PUSH nowhere", 1, 6, "no label or constant nowhere"),
        ("a:\n a:", 2, 2, "already defined in line 1"),
        ("add:", 1, 1, "mnemonic"),
        ("A = A\nPUSH A", 1, 5, "in terms of itself"),
        ("A = 1\nPUSH A-2", 2, 8, "below zero"),
        ("A = 1 STOP", 1, 7, "ends with its line"),
        ("DATA 12", 1, 6, "not bytes"),
        ("DATA 0x123", 1, 6, "0x123"),
        ("DATA \"x", 1, 6, "closing"),
        ("DATA", 1, 1, "needs bytes"),
        ("PUSH 0x", 1, 6, "no digits"),
        ("1 ADD", 1, 1, "expected a mnemonic"),
        ("STOP §", 1, 6, "unexpected character"),
        ("étage: PUSH é", 1, 13, "no label"),
    ] {
        let error = assemble(source).unwrap_err();
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{source}: {error}"
        );
        assert!(error.what.contains(what), "{source}: {error}");
        assert!(error.to_string().ends_with('^'));
    }
}

#[test]
fn constant_jumps_get_labels() {
    let code = hex::decode("6003565b6003575b00").unwrap();
    let text = disassemble(
        &code,
        Listing {
            labels: true,
            offsets: false,
        },
    );
    assert_eq!(
        text,
        "    PUSH1 L_03\n    JUMP\nL_03:\n    JUMPDEST\n    PUSH1 L_03\n    JUMPI\n    JUMPDEST\n    STOP\n"
    );
    assert_eq!(assemble(&text).unwrap(), code);
}

/// EIP-8024: an operand is shown as data, and a byte that is none as its own instruction.
#[test]
fn operands_of_amsterdam_opcodes_are_data() {
    let code = [0xe6, 0x80, 0xe7, 0x00, 0xe8, 0x9d, 0x4b, 0xe6, 0x5b, 0xe7];
    let text = disassemble(&code, Listing::default());
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "DUPN",
            "DATA 0x80 ; operand of DUPN",
            "SWAPN",
            "DATA 0x00 ; operand of SWAPN",
            "EXCHANGE",
            "DATA 0x9d ; operand of EXCHANGE",
            "SLOTNUM",
            "DUPN",
            "JUMPDEST",
            "SWAPN",
        ]
    );
    assert_eq!(assemble(&text).unwrap(), code);
}

#[test]
fn single_bytes_round_trip() {
    for byte in 0..=u8::MAX {
        for listing in ALL {
            let text = disassemble(&[byte], listing);
            assert_eq!(assemble(&text).unwrap(), [byte], "{text}");
        }
    }
}

proptest! {
    #[test]
    fn random_code_round_trips(code in proptest::collection::vec(any::<u8>(), 0..400), which in 0..4usize) {
        let text = disassemble(&code, ALL[which]);
        prop_assert_eq!(assemble(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), code);
    }

    /// Jumps are rare in random bytes.
    #[test]
    fn code_with_many_jumps_round_trips(
        parts in proptest::collection::vec((0..6usize, any::<u8>()), 0..300), which in 0..4usize
    ) {
        let mut code = Vec::new();
        for (part, byte) in parts {
            match part {
                0 => code.extend([0x60, byte]),
                1 => code.extend([0x60, byte, 0x56]),
                2 => code.extend([0x61, byte & 1, byte, 0x57]),
                3 | 4 => code.push(0x5b),
                _ => code.push(byte),
            }
        }
        let text = disassemble(&code, ALL[which]);
        prop_assert_eq!(assemble(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), code);
    }

    #[test]
    fn random_text_never_panics(text in "[ -~\n\tπ]{0,200}") {
        if let Err(error) = assemble(&text) {
            prop_assert!(error.to_string().contains("column"));
        }
    }
}
