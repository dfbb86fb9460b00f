//! Revert reasons in the forms of Solidity: `Error(string)` and `Panic(uint256)`.

/// The selector of `Error(string)`.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// The selector of `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// Panic codes of Solidity with geth's descriptions.
const PANICS: [(u64, &str); 10] = [
    (0x00, "generic panic"),
    (0x01, "assert(false)"),
    (0x11, "arithmetic underflow or overflow"),
    (0x12, "division or modulo by zero"),
    (0x21, "enum overflow"),
    (0x22, "invalid encoded storage byte array accessed"),
    (
        0x31,
        "out-of-bounds array access; popping on an empty array",
    ),
    (0x32, "out-of-bounds access of an array or bytesN"),
    (0x41, "out of memory"),
    (0x51, "uninitialized function"),
];

/// Returns the reason in the output of a reverted frame, if it has one of these two forms.
pub fn revert_reason(output: &[u8]) -> Option<String> {
    let (selector, data) = output.split_first_chunk()?;
    let reason = match *selector {
        ERROR => string(data)?.to_owned(),
        PANIC => {
            let code = number(data, 0)?;
            let known = PANICS.iter().find(|(known, _)| *known == code);
            known.map_or_else(
                || format!("unknown panic code: {code:#x}"),
                |(_, text)| (*text).to_owned(),
            )
        }
        _ => return None,
    };
    (!reason.trim_matches('\0').is_empty()).then_some(reason)
}

/// Decodes ABI-encoded data that consists of one string.
pub(crate) fn string(data: &[u8]) -> Option<&str> {
    let at = usize::try_from(number(data, 0)?).ok()?;
    let len = usize::try_from(number(data, at)?).ok()?;
    let bytes = data.get(at.checked_add(32)?..)?.get(..len)?;
    std::str::from_utf8(bytes).ok()
}

/// The word at an offset, if it is below 2^64.
fn number(data: &[u8], at: usize) -> Option<u64> {
    let word: &[u8; 32] = data.get(at..)?.first_chunk()?;
    let (high, low) = word.split_last_chunk::<8>()?;
    high.iter()
        .all(|byte| *byte == 0)
        .then(|| u64::from_be_bytes(*low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    #[test]
    fn decodes_errors_and_panics() {
        let mut error = hex!("08c379a0").to_vec();
        error.extend([0; 31]);
        error.push(0x20);
        error.extend([0; 31]);
        error.push(2);
        error.extend(*b"no");
        assert_eq!(
            revert_reason(&error).as_deref(),
            Some("no"),
            "missing padding is accepted"
        );
        error.pop();
        assert_eq!(revert_reason(&error), None, "truncated");

        let mut panic = hex!("4e487b71").to_vec();
        panic.extend([0; 31]);
        panic.push(0x12);
        assert_eq!(
            revert_reason(&panic).as_deref(),
            Some("division or modulo by zero")
        );
        panic[35] = 0x77;
        assert_eq!(
            revert_reason(&panic).as_deref(),
            Some("unknown panic code: 0x77")
        );
    }

    #[test]
    fn rejects_malformed_output() {
        assert_eq!(revert_reason(&[]), None);
        assert_eq!(revert_reason(&hex!("08c379a0")), None);
        let mut far = hex!("08c379a0").to_vec();
        far.extend([0xff; 64]);
        assert_eq!(revert_reason(&far), None);
        let mut far = hex!("08c379a0").to_vec();
        far.extend([0; 24]);
        far.extend([0xff; 8]);
        assert_eq!(revert_reason(&far), None);
    }
}
