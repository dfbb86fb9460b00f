//! The length of data after compression with FastLZ (level 1), without the output. Fjord
//! estimates with it what a transaction adds to a batch (`fjord/exec-engine.md`). The result is part
//! of the consensus, so it follows the reference to the byte (`FlzCompressLen` of op-geth).

/// Entries of the table of positions by the hash of three bytes.
const TABLE: usize = 1 << 13;
/// The largest distance of a match.
const DISTANCE_MAX: u32 = 0x1fff;
/// The longest run of literals with one byte before it.
const LITERALS_MAX: u32 = 32;
/// The longest match with one code.
const MATCH_MAX: u32 = 262;
/// The last bytes, in which no match begins.
const TAIL: u32 = 13;

struct Positions(Box<[u32; TABLE]>);

impl Positions {
    /// Stores a position, and returns the one that was stored for the same hash; 0 if there was none.
    fn replace(&mut self, bytes: u32, position: u32) -> u32 {
        let hash = bytes.wrapping_mul(2_654_435_769) >> 19;
        std::mem::replace(&mut self.0[hash as usize % TABLE], position)
    }
}

/// Returns the compressed length of `data`. Lengths from 2^32 on do not occur in a block; their
/// excess is ignored.
pub(crate) fn compressed_len(data: &[u8]) -> u32 {
    let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let three = |at: u32| {
        let at = at as usize;
        u32::from_le_bytes([data[at], data[at + 1], data[at + 2], 0])
    };
    let mut positions = Positions(Box::new([0; TABLE]));
    let end = len.saturating_sub(TAIL);
    let (mut written, mut literals_from, mut at) = (0, 0, 2);
    while at < end {
        let bytes = three(at);
        let earlier = positions.replace(bytes, at);
        let matches = at - earlier <= DISTANCE_MAX && bytes == three(earlier);
        // The last position before the tail is not used, as in the reference.
        if !matches || at + 1 >= end {
            at += 1;
            continue;
        }
        written += literals(at - literals_from);
        let matched = common(data, earlier + 3, at + 3, end + 9);
        written += copied(matched);
        at += matched;
        for _ in 0..2 {
            positions.replace(three(at), at);
            at += 1;
        }
        literals_from = at;
    }
    written + literals(len - literals_from)
}

/// The number of bytes from `earlier` and from `at` on that are equal before `end`, plus one if a
/// different byte ended the comparison.
fn common(data: &[u8], earlier: u32, at: u32, end: u32) -> u32 {
    let before = &data[earlier as usize..];
    let pairs = before.iter().zip(&data[at as usize..end as usize]);
    let equal = pairs.take_while(|(one, other)| one == other).count();
    let equal = u32::try_from(equal).unwrap_or(u32::MAX);
    if equal < end - at { equal + 1 } else { equal }
}

/// The bytes of a run of literals: itself, and one before each [`LITERALS_MAX`].
const fn literals(run: u32) -> u32 {
    run + run.div_ceil(LITERALS_MAX)
}

/// The bytes of the codes of a match.
const fn copied(matched: u32) -> u32 {
    let rest = matched.saturating_sub(1);
    let last = if rest % MATCH_MAX >= 6 { 3 } else { 2 };
    rest / MATCH_MAX * 3 + last
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;
    use proptest::prelude::*;

    /// The lengths of op-geth's `TestFlzCompressLen`.
    #[test]
    fn lengths_are_those_of_op_geth() {
        assert_eq!(compressed_len(&[]), 0);
        assert_eq!(compressed_len(&[1; 1000]), 21);
        assert_eq!(compressed_len(&[0; 1000]), 21);
        // https://optimistic.etherscan.io/tx/0x8eb9dd4eb6d33f4dc25fb015919e4b1e9f7542f9b0322bf6622e268cd116b594
        let call = hex!(
            "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb87"
            "0151bd62fd12adb8e41ef24f3f000000000000000000000000000000000000000000000000000000"
            "000000006e000000000000000000000000af88d065e77c8cc2239327c5edb3a432268e5831000000"
            "000000000000000000000000000000000000000000000000000003c1e50000000000000000000000"
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
            "000000000000000000000000a0000000000000000000000000000000000000000000000000000000"
            "00000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a0"
            "33fd89cb37c31b2cba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e2383"
            "92693019b4092f610222e71b7cec06449cb922b93b6a12744e"
        );
        assert_eq!(compressed_len(&call), 202);
    }

    #[test]
    fn short_data_are_literals() {
        for len in 1..=TAIL + 2 {
            assert_eq!(compressed_len(&vec![7; len as usize]), len + 1);
        }
        assert_eq!(literals(32), 33);
        assert_eq!(literals(33), 35);
    }

    proptest! {
        /// No data make it panic, and no data grow by more than the bytes before literals.
        #[test]
        fn any_data_have_a_length(data in prop::collection::vec(0..4u8, 0..2_000)) {
            let len = u32::try_from(data.len()).unwrap();
            prop_assert!(compressed_len(&data) <= literals(len) + 2);
        }
    }
}
