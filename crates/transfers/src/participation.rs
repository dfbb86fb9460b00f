//! Which addresses take part in a transaction, and how.

use alloy_primitives::Address;
use std::ops::{BitOr, BitOrAssign};

/// The roles of an address in a transaction, one or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Roles(u8);

impl Roles {
    /// It sent the transaction.
    pub const SENDER: Self = Self(1);
    /// The transaction was sent to it.
    pub const RECEIVER: Self = Self(2);
    /// The transaction itself creates it, whether it succeeds or not.
    pub const CREATED: Self = Self(4);
    /// It is an end of a call inside of the transaction, has the code that such a call ran, or
    /// received the coins of a contract that was destroyed. Reverted calls count, too.
    pub const INSIDE: Self = Self(8);
    /// A call inside of the transaction created it.
    pub const CREATED_INSIDE: Self = Self(16);

    /// The roles that follow from the transaction alone, without the calls inside of it.
    pub const ENDS: Self = Self(Self::SENDER.0 | Self::RECEIVER.0 | Self::CREATED.0);
    /// The roles of contracts in the transaction that created them.
    pub const CREATIONS: Self = Self(Self::CREATED.0 | Self::CREATED_INSIDE.0);
    /// Every role.
    pub const ALL: Self = Self(Self::ENDS.0 | Self::INSIDE.0 | Self::CREATED_INSIDE.0);

    /// The number of bits of [`Self::bits`].
    pub const BITS: u32 = 5;

    /// The roles as bits, which are fixed: indexes on disk contain them.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The roles with these bits; `None` if there is none, or a bit without a role.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits != 0 && bits & !Self::ALL.0 == 0 {
            true => Some(Self(bits)),
            false => None,
        }
    }

    /// The roles that are `wanted`; `None` if none is.
    pub const fn among(self, wanted: Self) -> Option<Self> {
        Self::from_bits(self.0 & wanted.0)
    }
}

impl BitOr for Roles {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Roles {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// An address that takes part in a transaction. They are ordered as in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Participation {
    /// The block.
    pub block: u64,
    /// The index of the transaction in the block.
    pub transaction: u32,
    /// The address.
    pub address: Address,
    /// Its roles.
    pub roles: Roles,
}

impl Participation {
    /// Says that an address has roles in transaction `transaction` of `block`.
    pub const fn new(block: u64, transaction: u32, address: Address, roles: Roles) -> Self {
        Self {
            block,
            transaction,
            address,
            roles,
        }
    }

    /// Sorts, and joins the roles of an address in a transaction.
    pub fn settle(all: &mut Vec<Self>) {
        // Callers merge a few sorted lists, which a stable sort does in linear time.
        all.sort_by_key(Self::key);
        all.dedup_by(|next, kept| {
            let is_same = next.key() == kept.key();
            if is_same {
                kept.roles |= next.roles;
            }
            is_same
        });
    }

    const fn key(&self) -> (u64, u32, Address) {
        (self.block, self.transaction, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roles_have_bits() {
        let known: Vec<u8> = (0..=255)
            .filter(|bits| Roles::from_bits(*bits).is_some())
            .collect();
        assert_eq!(known, (1..=31).collect::<Vec<u8>>());
        assert_eq!(Roles::ALL.bits() >> Roles::BITS, 0);
        assert_eq!(Roles::from_bits(5), Some(Roles::SENDER | Roles::CREATED));
        assert_eq!(Roles::SENDER.among(Roles::CREATIONS), None);
        assert_eq!(Roles::ENDS.among(Roles::CREATIONS), Some(Roles::CREATED));
    }

    #[test]
    fn roles_of_an_address_in_a_transaction_are_joined() {
        let one = |transaction, byte, roles| {
            Participation::new(7, transaction, Address::repeat_byte(byte), roles)
        };
        let mut all = vec![
            one(1, 2, Roles::RECEIVER),
            one(0, 2, Roles::SENDER),
            one(0, 1, Roles::RECEIVER),
            one(0, 2, Roles::INSIDE),
        ];
        Participation::settle(&mut all);
        let joined = Roles::SENDER | Roles::INSIDE;
        assert_eq!(
            all,
            [
                one(0, 1, Roles::RECEIVER),
                one(0, 2, joined),
                one(1, 2, Roles::RECEIVER)
            ]
        );
    }
}
