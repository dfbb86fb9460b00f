//! Instructions that reach deep into the stack (EIP-8024).

use crate::opcode;

/// Which words an operand names, counted from the top, the deeper one last; `None`: it
/// is no operand. `DUPN` names one, `SWAPN` the top and another, `EXCHANGE` two.
pub(crate) const fn depths(opcode: u8, operand: u8) -> Option<(u8, u8)> {
    match (opcode, operand) {
        // A jump destination or a push must not be taken for an operand.
        (opcode::EXCHANGE, 82..=127) | (_, 91..=127) => None,
        (opcode::EXCHANGE, _) => {
            let (q, r) = ((operand ^ 0x8f) / 16, (operand ^ 0x8f) % 16);
            Some(if q < r {
                (q + 1, r + 1)
            } else {
                (r + 1, 29 - q)
            })
        }
        (opcode::SWAPN, _) => Some((0, operand.wrapping_add(145))),
        _ => {
            let at = operand.wrapping_add(145) - 1;
            Some((at, at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::{DUPN, EXCHANGE, SWAPN};

    #[test]
    fn operands_are_those_of_the_proposal() {
        assert_eq!(depths(SWAPN, 0), Some((0, 145)));
        assert_eq!(depths(SWAPN, 128), Some((0, 17)));
        assert_eq!(depths(DUPN, 128), Some((16, 16)));
        assert_eq!(depths(DUPN, 90), Some((234, 234)));
        assert_eq!(depths(EXCHANGE, 0x9d), Some((2, 3)));
        assert_eq!(depths(EXCHANGE, 0x50), Some((14, 16)));
        for opcode in [DUPN, SWAPN, EXCHANGE] {
            assert_eq!(depths(opcode, 0x5b), None);
        }
    }

    /// Every pair has one operand, every operand a pair.
    #[test]
    fn pairs_are_whole() {
        let found: std::collections::BTreeSet<_> =
            (0..=u8::MAX).filter_map(|x| depths(EXCHANGE, x)).collect();
        let pairs = (1..30u8).flat_map(|n| (n + 1..30).map(move |m| (n, m)));
        assert_eq!(found, pairs.filter(|(n, m)| n + m <= 30).collect());
    }
}
