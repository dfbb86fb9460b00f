//! Real transactions with the L1 fees that nodes report, and transactions with computed ones.

use super::*;
use crate::SEQUENCER_FEE_VAULT;
use alloy_primitives::hex;
use txgraph_base::KnownChain;

/// The second of OP Mainnet block 118,024,092 (Ecotone),
/// 0xa75ef696bf67439b4d5b61da85de9f3ceaa2e145abe982212101b244b63749c2.
const OP_ECOTONE: &[u8] = &hex!(
    "02f8b30a832253fc8402d11f39842c8a46398301388094dc6ff44d5d932cbd77b52e5612ba0529dc6226f180b844a905"
    "9cbb000000000000000000000000d43e02db81f4d46cdf8521f623d21ea0ec7562a50000000000000000000000000000"
    "000000000000000000008ac7230489e80000c001a02947e24750723b48f886931562c55d9e07f856d8e06468e719755e"
    "18bbc3a570a0784da9ce59fd7754ea5be6e17a86b348e441348cd48ace59d174772465eadbd1"
);

/// The second of OP Mainnet block 124,665,056 (Fjord),
/// 0x1059e8004daff32caa1f1b1ef97fe3a07a8cf40508f5b835b66d9420d87c4a4a, and the attributes.
const OP_FJORD: &[u8] = &hex!(
    "02f904940a8303fba78401d6d2798401db2b6d830493e0943e6f4f7866654c18f536170780344aa8772950b680b90424"
    "6a761202000000000000000000000000087000a300de7200382b55d40045000000e5d60e000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000001400000000000000000000000000000000000000000000000000000000000000001000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000003a0000000000000000000000000"
    "000000000000000000000000000000000000022482ad56cb000000000000000000000000000000000000000000000000"
    "000000000000002000000000000000000000000000000000000000000000000000000000000000020000000000000000"
    "000000000000000000000000000000000000000000000040000000000000000000000000000000000000000000000000"
    "0000000000000120000000000000000000000000dc6ff44d5d932cbd77b52e5612ba0529dc6226f10000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000600000000000000000000000000000000000000000000000000000000000000044095ea7b300000000"
    "000000000000000021c4928109acb0659a88ae5329b5374a3024694c0000000000000000000000000000000000000000"
    "000000049b9ca9a694340000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000021c4928109acb0659a88ae5329b5374a3024694c000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000600000000000000000"
    "000000000000000000000000000000000000000000000024b6b55f250000000000000000000000000000000000000000"
    "000000049b9ca9a694340000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000415ec214a3950bea839a7e6fbb0ba1540ac2076acd50820e2d5ef83d0902cdffb24a47aff7de5190290769c4f0"
    "a9c6fabf63012986a0d590b1b571547a8c7050ea1b000000000000000000000000000000000000000000000000000000"
    "00000000c080a06db770e6e25a617fe9652f0958bd9bd6e49281a53036906386ed39ec48eadf63a07f47cf51a4a40b44"
    "94cf26efc686709a9b03939e20ee27e59682f5faa536667e"
);
const OP_FJORD_ATTRIBUTES: &[u8] = &hex!(
    "440a5e200000146b000f79c500000000000000040000000066d052e700000000013ad8a3000000000000000000000000"
    "000000000000000000000000000000003ef1278700000000000000000000000000000000000000000000000000000000"
    "000000012fdf87b89884a61e74b322bbcf60386f543bfae7827725efaaf0ab1de2294a59000000000000000000000000"
    "6887246668a3b87f54deb3b94ba47a6f63f32985"
);

/// A transaction of Base block 21,713,817 (Fjord),
/// 0xf9420cbaf66a2dda75a015488d37262cbfd4abd0aad7bb2be8a63e14b1fa7a94, and the attributes.
const BASE_FJORD: &[u8] = &hex!(
    "02f86c8221058034839a4ae283021528942f16386bb37709016023232523ff6d9daf444be380841249c58bc080a001b9"
    "27eda2af9b00b52a57be0885e0303c39dd2831732e14051c2336470fd468a0681bf120baf562915841a48601c2b54a67"
    "42511e535cf8f71c95115af7ff63bd"
);
const BASE_FJORD_ATTRIBUTES: &[u8] = &hex!(
    "440a5e20000008dd00101c120000000000000004000000006721035b0000000001418996000000000000000000000000"
    "0000000000000000000000000000000349b4dcdc00000000000000000000000000000000000000000000000000000000"
    "4ef9325cc5991ce750960f636ca2ffbb6e209bb3ba91412f21dd78c14ff154d1930f1f9a000000000000000000000000"
    "5050f69a9786f081509234f1a7f4684b5e5b76c9"
);

const ECOTONE: u64 = 1_710_374_401;
const JOVIAN: u64 = 1_764_691_201;

fn rules(chain_id: u64) -> FeeRules {
    FeeRules(KnownChain::by_id(chain_id).unwrap().fees.unwrap())
}

fn header(timestamp: u64) -> Header {
    Header {
        timestamp,
        base_fee: 7,
        beneficiary: SEQUENCER_FEE_VAULT,
    }
}

/// The L1 fee of a transaction in a block with these attributes.
fn l1_fee(chain_id: u64, timestamp: u64, attributes: &[u8], envelope: &[u8]) -> U256 {
    let block = BlockFees::new(&rules(chain_id), header(timestamp), attributes).unwrap();
    block.l1_fee(envelope).unwrap()
}

/// The packed layouts, of which Ecotone is the shortest.
fn packed(selector: [u8; 4], prices: (u64, u64), scalars: (u32, u32), more: &[u8]) -> Vec<u8> {
    let word = |value: u64| U256::from(value).to_be_bytes::<32>();
    let (base_fee, blob_base_fee) = prices;
    [
        selector.as_slice(),
        &scalars.0.to_be_bytes(),
        &scalars.1.to_be_bytes(),
        &[0; 24],
        &word(base_fee),
        &word(blob_base_fee),
        &[0; 64],
        more,
    ]
    .concat()
}

/// The receipts of these transactions, from the tests of op-reth and op-revm (block explorers).
#[test]
fn l1_fees_are_those_of_real_receipts() {
    let of_118024092 = packed(
        [0x44, 0x0a, 0x5e, 0x20],
        (47_036_678_951, 57_422_457_042),
        (1_368, 810_949),
        &[],
    );
    for (chain_id, timestamp, attributes, envelope, fee) in [
        (
            10,
            1_711_603_765,
            &of_118024092[..],
            OP_ECOTONE,
            7_306_020_222_001u64,
        ),
        (
            10,
            1_724_928_889,
            OP_FJORD_ATTRIBUTES,
            OP_FJORD,
            24_681_034_813,
        ),
        (
            8_453,
            1_730_216_981,
            BASE_FJORD_ATTRIBUTES,
            BASE_FJORD,
            191_150_293_412,
        ),
    ] {
        let found = l1_fee(chain_id, timestamp, attributes, envelope);
        assert_eq!(found, U256::from(fee), "{timestamp}");
    }
    assert_eq!(data_gas(OP_ECOTONE), U256::from(2_456));
}

/// The formula before Ecotone, with the numbers of op-geth's `TestBedrockL1CostFunc`: 480 gas of
/// data and 50 of overhead.
#[test]
fn bedrock_fees_include_the_overhead() {
    let mut attributes = vec![0; 260];
    attributes[..4].copy_from_slice(&[0x01, 0x5d, 0x8e, 0xb9]);
    for (word, value) in [(2, 1_000_000_000u64), (6, 50), (7, 7_000_000)] {
        let end = 4 + 32 * (word + 1);
        attributes[end - 8..end].copy_from_slice(&value.to_be_bytes());
    }
    // In the first block of Ecotone, too.
    for timestamp in [ECOTONE - 2, ECOTONE] {
        let fee = l1_fee(10, timestamp, &attributes, &[1; 30]);
        assert_eq!(fee, U256::from(3_710_000_000_000u64));
    }
    // Four zeros cost as much as another byte.
    let fee = l1_fee(10, 1, &attributes, &[&[1; 29][..], &[0; 4]].concat());
    assert_eq!(fee, U256::from(3_710_000_000_000u64));
}

#[test]
fn a_transaction_pays_four_vaults() {
    let operator = [
        &2_000_000u32.to_be_bytes()[..],
        &5u64.to_be_bytes(),
        &[1, 0x90],
    ]
    .concat();
    let attributes = packed(
        [0x3d, 0xb6, 0xbe, 0x2b],
        (1_000, 1_000),
        (1_000, 1_000),
        &operator,
    );
    let block = BlockFees::new(&rules(10), header(JOVIAN + 2), &attributes).unwrap();
    let paid = Paid {
        envelope: &hex!("facade"),
        price: 10,
        gas_used: 21_000,
    };
    let payments: Vec<_> = block.payments(&paid).unwrap().collect();
    // op-revm's `test_calculate_tx_l1_cost_fjord`: the minimum of 100 bytes at 17 wei each.
    assert_eq!(
        payments,
        [
            (BASE_FEE_VAULT, 147_000, Kind::Fee),
            (SEQUENCER_FEE_VAULT, 63_000, Kind::Priority),
            (L1_FEE_VAULT, 1_700, Kind::L1Fee),
            (OPERATOR_FEE_VAULT, 4_200_000_000_005, Kind::OperatorFee),
        ]
        .map(|(to, value, kind): (_, u64, _)| Payment {
            to,
            value: U256::from(value),
            kind,
        })
    );
    let error = block
        .payments(&Paid { price: 6, ..paid })
        .map(drop)
        .unwrap_err();
    assert_eq!(error.to_string(), "the gas price 6 is below the base fee 7");
    // Parts of zero are left out.
    let payments: Vec<_> = block
        .payments(&Paid { price: 7, ..paid })
        .unwrap()
        .collect();
    assert_eq!(payments.len(), 3);
}

#[test]
fn prices_beyond_256_bits_are_refused() {
    let mut attributes = packed([0x44, 0x0a, 0x5e, 0x20], (1, 1), (u32::MAX, 1), &[]);
    attributes[36..68].fill(0xff);
    let block = BlockFees::new(&rules(10), header(ECOTONE + 2), &attributes).unwrap();
    let paid = Paid {
        envelope: &[1],
        price: u128::MAX,
        gas_used: u64::MAX,
    };
    assert_eq!(
        block.payments(&paid).map(drop).unwrap_err(),
        Error::Overflow
    );
}
