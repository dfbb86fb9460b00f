//! Rejects nearly every address that is not in a set, at the cost of one load.

use alloy_primitives::Address;

/// The number of bits, one for each value of the last two bytes of an address. 8 KiB fit the
/// first-level cache, and with a set of 1,000 addresses 98 % of all others are rejected.
const BITS: usize = 1 << 16;

/// The values of the last two bytes that occur in a set of addresses.
///
/// Most logs are not wanted, and for those a lookup in a hash table would cost more than all
/// other work on the log. Addresses are hashes, so their last bytes are as good as any hash of
/// them. (Addresses that were mined for zeros have the zeros at the front.)
pub(crate) struct AddressPrefilter(Box<[u64; BITS / 64]>);

impl std::fmt::Debug for AddressPrefilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        f.debug_struct("AddressPrefilter")
            .field("bits", &bits)
            .finish()
    }
}

impl AddressPrefilter {
    pub(crate) fn new<'a>(addresses: impl IntoIterator<Item = &'a Address>) -> Self {
        let mut bits = Box::new([0; BITS / 64]);
        for address in addresses {
            let (word, bit) = position(address);
            bits[word] |= bit;
        }
        Self(bits)
    }

    /// Whether `address` may be in the set. `false` is certain.
    #[inline]
    pub(crate) fn may_hold(&self, address: &Address) -> bool {
        let (word, bit) = position(address);
        self.0[word] & bit != 0
    }
}

#[inline]
fn position(address: &Address) -> (usize, u64) {
    let [.., high, low] = address.0.0;
    let number = usize::from(u16::from_be_bytes([high, low]));
    (number / 64, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn accepts_every_member(
            members in proptest::collection::hash_set(any::<[u8; 20]>(), 0..50),
            others in proptest::collection::vec(any::<[u8; 20]>(), 50),
        ) {
            let set: AddressSet = members.iter().map(Address::from).collect();
            let prefilter = AddressPrefilter::new(&set);
            prop_assert!(set.iter().all(|address| prefilter.may_hold(address)));
            for other in others.iter().map(Address::from) {
                let alike = set.iter().any(|member| member[18..] == other[18..]);
                prop_assert_eq!(prefilter.may_hold(&other), alike);
            }
        }
    }
}
