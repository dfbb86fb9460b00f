//! The L1 attributes: the calldata of the first transaction of a block.

use crate::{
    Error, Result,
    rules::{FeeRules, Fork},
};
use alloy_primitives::{U256, hex};

/// The time after a fork in which a block may have the attributes of the fork before: the first
/// block does. No known chain has more seconds between blocks.
const FIRST_BLOCK_SECONDS: u64 = 2;

/// The layouts of the calldata (`deposits.md`, and `l1-attributes.md` of the forks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// `setL1BlockValues`: eight words after the selector.
    Bedrock,
    /// `setL1BlockValuesEcotone`: packed fields.
    Ecotone,
    /// `setL1BlockValuesIsthmus`: also the parameters of the operator fee.
    Isthmus,
    /// `setL1BlockValuesJovian`: also a scalar that limits blocks and that no fee uses.
    Jovian,
}

impl Layout {
    const ALL: [Self; 4] = [Self::Bedrock, Self::Ecotone, Self::Isthmus, Self::Jovian];

    const fn selector(self) -> [u8; 4] {
        match self {
            Self::Bedrock => [0x01, 0x5d, 0x8e, 0xb9],
            Self::Ecotone => [0x44, 0x0a, 0x5e, 0x20],
            Self::Isthmus => [0x09, 0x89, 0x99, 0xbe],
            Self::Jovian => [0x3d, 0xb6, 0xbe, 0x2b],
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::Bedrock => 260,
            Self::Ecotone => 164,
            Self::Isthmus => 176,
            Self::Jovian => 178,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bedrock => "the layout of Bedrock",
            Self::Ecotone => "the layout of Ecotone",
            Self::Isthmus => "the layout of Isthmus",
            Self::Jovian => "the layout of Jovian",
        }
    }

    fn of(calldata: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|it| calldata.starts_with(&it.selector()) && calldata.len() == it.len())
    }

    /// The layout at a fork, and the one in its first block.
    const fn at(fork: Fork) -> (Self, Self) {
        match fork {
            Fork::Bedrock => (Self::Bedrock, Self::Bedrock),
            Fork::Ecotone => (Self::Ecotone, Self::Bedrock),
            Fork::Fjord => (Self::Ecotone, Self::Ecotone),
            Fork::Isthmus => (Self::Isthmus, Self::Ecotone),
            Fork::Jovian => (Self::Jovian, Self::Isthmus),
        }
    }
}

/// The prices and parameters of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Base fee of the parent chain in wei.
    pub(crate) base_fee: U256,
    pub(crate) scalars: Scalars,
    pub(crate) operator_scalar: u32,
    pub(crate) operator_constant: u64,
}

/// The factors of the parent chain's prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// Gas that is added to the data's gas, and a factor in millionths.
    Bedrock { overhead: U256, scalar: U256 },
    /// Factors in millionths, for data as calldata and for data in blobs.
    Ecotone {
        base_fee_scalar: u32,
        blob_base_fee: U256,
        blob_base_fee_scalar: u32,
    },
}

impl Attributes {
    /// Decodes the calldata of a block at this time.
    pub(crate) fn decode(rules: &FeeRules, timestamp: u64, calldata: &[u8]) -> Result<Self> {
        let (fork, since) = rules.fork(timestamp);
        let (expected, in_first_block) = Layout::at(fork);
        let found = Layout::of(calldata);
        let is_first = timestamp - since < FIRST_BLOCK_SECONDS;
        match found {
            Some(layout) if layout == expected => Self::read(layout, calldata),
            Some(layout) if is_first && layout == in_first_block => Self::read(layout, calldata),
            _ => Err(Error::Layout {
                found: match found {
                    Some(layout) => layout.name().to_owned(),
                    None => format!(
                        "the selector 0x{} and {} bytes",
                        hex::encode(calldata.get(..4).unwrap_or(calldata)),
                        calldata.len()
                    ),
                },
                expected: expected.name(),
                fork: fork.name(),
                timestamp,
            }),
        }
    }

    fn read(layout: Layout, calldata: &[u8]) -> Result<Self> {
        let number = |from: usize, to: usize| U256::from_be_slice(&calldata[from..to]);
        let narrow = |from| number(from, from + 4).saturating_to::<u32>();
        if layout == Layout::Bedrock {
            // Words 2, 6 and 7.
            return Ok(Self {
                base_fee: number(68, 100),
                scalars: Scalars::Bedrock {
                    overhead: number(196, 228),
                    scalar: number(228, 260),
                },
                operator_scalar: 0,
                operator_constant: 0,
            });
        }
        let (base_fee_scalar, blob_base_fee_scalar) = (narrow(4), narrow(8));
        let blob_base_fee = number(68, 100);
        // Nodes take this for the first block of Ecotone and use older parameters. The blob base
        // fee of the parent chain is never zero.
        if (base_fee_scalar, blob_base_fee_scalar) == (0, 0) && blob_base_fee.is_zero() {
            return Err(Error::NoPrices);
        }
        let has_operator = layout != Layout::Ecotone;
        Ok(Self {
            base_fee: number(36, 68),
            scalars: Scalars::Ecotone {
                base_fee_scalar,
                blob_base_fee,
                blob_base_fee_scalar,
            },
            operator_scalar: if has_operator { narrow(164) } else { 0 },
            operator_constant: if has_operator {
                number(168, 176).saturating_to()
            } else {
                0
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use txgraph_base::KnownChain;

    const ECOTONE: u64 = 1_710_374_401;
    const FJORD: u64 = 1_720_627_201;
    const ISTHMUS: u64 = 1_746_806_401;
    const JOVIAN: u64 = 1_764_691_201;

    fn rules() -> FeeRules {
        FeeRules(KnownChain::by_id(10).unwrap().fees.unwrap())
    }

    /// Calldata of a layout, whose bytes after the selector are 1, 2, 3 ….
    fn calldata(layout: Layout) -> Vec<u8> {
        let mut calldata = layout.selector().to_vec();
        calldata.extend((1..=u8::MAX).cycle().take(layout.len() - 4));
        calldata
    }

    #[test]
    fn fields_are_read_from_their_places() {
        let jovian = Attributes::decode(&rules(), JOVIAN + 2, &calldata(Layout::Jovian)).unwrap();
        assert_eq!(jovian.operator_scalar, 0xa1a2_a3a4);
        assert_eq!(jovian.operator_constant, 0xa5a6_a7a8_a9aa_abac);
        let Scalars::Ecotone {
            base_fee_scalar,
            blob_base_fee,
            blob_base_fee_scalar,
        } = jovian.scalars
        else {
            panic!("{jovian:?}");
        };
        assert_eq!(
            (base_fee_scalar, blob_base_fee_scalar),
            (0x0102_0304, 0x0506_0708)
        );
        assert_eq!(jovian.base_fee.byte(31), 33);
        assert_eq!(blob_base_fee.byte(31), 65);
        let bedrock = Attributes::decode(&rules(), 1, &calldata(Layout::Bedrock)).unwrap();
        let Scalars::Bedrock { overhead, scalar } = bedrock.scalars else {
            panic!("{bedrock:?}");
        };
        assert_eq!(bedrock.base_fee.byte(31), 65);
        assert_eq!((overhead.byte(31), scalar.byte(31)), (193, 225));
    }

    #[test]
    fn layouts_belong_to_their_forks() {
        for (time, allowed) in [
            (ECOTONE - 1, &[Layout::Bedrock][..]),
            (ECOTONE, &[Layout::Bedrock, Layout::Ecotone]),
            (ECOTONE + 2, &[Layout::Ecotone]),
            (FJORD, &[Layout::Ecotone]),
            (ISTHMUS - 1, &[Layout::Ecotone]),
            (ISTHMUS + 1, &[Layout::Ecotone, Layout::Isthmus]),
            (ISTHMUS + 2, &[Layout::Isthmus]),
            (JOVIAN, &[Layout::Isthmus, Layout::Jovian]),
            (JOVIAN + 2, &[Layout::Jovian]),
        ] {
            for layout in Layout::ALL {
                let decoded = Attributes::decode(&rules(), time, &calldata(layout));
                assert_eq!(
                    decoded.is_ok(),
                    allowed.contains(&layout),
                    "{time} {layout:?}"
                );
            }
        }
    }

    #[test]
    fn unknown_layouts_are_refused_by_selector_and_length() {
        let mut longer = calldata(Layout::Jovian);
        longer.push(0);
        let error = Attributes::decode(&rules(), JOVIAN + 9, &longer).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the L1 attributes have the selector 0x3db6be2b and 179 bytes, but Jovian applies \
                 at time {} and expects the layout of Jovian",
                JOVIAN + 9
            )
        );
        let mut zero = calldata(Layout::Ecotone);
        zero[4..].fill(0);
        let error = Attributes::decode(&rules(), FJORD, &zero).unwrap_err();
        assert_eq!(error, Error::NoPrices);
    }

    proptest! {
        #[test]
        fn any_calldata_are_decoded_or_refused(
            time in prop::sample::select(vec![0, ECOTONE, FJORD, ISTHMUS, JOVIAN, u64::MAX]),
            layout in 0..4usize,
            rest in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = Layout::ALL[layout].selector().to_vec();
            bytes.extend(rest);
            let _ = Attributes::decode(&rules(), time, &bytes);
            let _ = Attributes::decode(&rules(), time, &bytes[..3]);
        }
    }
}
