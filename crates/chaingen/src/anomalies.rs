//! Anomalous logs that break careless readers, with their intended transfers, if any.

use super::{
    contracts::{TOPICS, Token, TokenKind},
    events::{Events, batch_data, word, words},
    intent::Intent,
    scene::Scene,
};
use alloy_primitives::{Address, B256, U256};

/// Generates a transaction with one to three anomalous logs.
pub(super) fn anomalous(scene: &mut Scene<'_>) -> Intent {
    let (from, to) = (scene.holder(), scene.receiver());
    let arguments = [word(from), word(to)];
    let emitter = scene.draw.pick(&scene.world.contracts.anomalies);
    let mut intent = scene
        .blank()
        .call(emitter, "odd(address,address)", &arguments, 0);
    for _ in 0..scene.draw.between(1, 3) {
        one(scene, &mut intent.events, emitter, from, to);
    }
    let bytes: usize = intent
        .events
        .logs
        .iter()
        .map(|log| log.data.data.len())
        .sum();
    intent.gas_used = 30_000 + 2_000 * intent.events.logs.len() as u64 + 8 * bytes as u64;
    intent
}

fn one(scene: &mut Scene<'_>, events: &mut Events, emitter: Address, from: Address, to: Address) {
    let draw = &mut *scene.draw;
    let value = draw.amount(70);
    let id = U256::from(draw.below(1000));
    let (topic, from_word, to_word) = (TOPICS.transfer, word(from), word(to));
    let value_word: B256 = value.into();
    let ends = [from, from, to];
    match draw.below(28) {
        // Valid transfers in spite of their form.
        0 => events.erc20(emitter, from, to, value, 0),
        1 => events.erc20(emitter, from, to, value, 1),
        2 => events.erc20(emitter, from, to, U256::MAX - id, 2),
        3 => events.erc20(emitter, from, to, U256::ZERO, 2),
        4 => events.erc20(emitter, from, from, value, 2),
        5 => events.erc20(emitter, Address::ZERO, Address::ZERO, value, 2),
        6 => events.dirty_erc20(emitter, (from, to), value, draw.word()),
        // Any contract may log transfers of other tokens, but only under its own address.
        7 => {
            let token = Token {
                kind: TokenKind::Standard,
                ..scene.world.contracts.token(draw)
            };
            let spoof = Token {
                address: scene.world.contracts.spoof,
                ..token
            };
            events.transfer(spoof, from, to, value);
        }
        8 => events.erc721(emitter, from, to, U256::MAX),
        9 => events.single(emitter, ends, (id, value), false),
        10 => events.single(emitter, ends, (id, U256::ZERO), true),
        11 => events.batch(emitter, ends, &[]),
        12 => {
            let count = draw.between(1, 40);
            let items: Vec<_> = (0..count).map(|n| (U256::from(n), value)).collect();
            events.batch(emitter, ends, &items);
        }
        13 => events.batch(emitter, ends, &[(id, U256::MAX), (id, U256::MAX)]),
        14 => events.duplicate_wrap(emitter, to, value, draw.permille(500)),
        // Transfer logs of no standard.
        15 => events.malformed(emitter, &[topic, from_word, to_word], Vec::new()),
        16 => {
            let data = vec![7; draw.pick(&[1, 31, 33, 63])];
            events.malformed(emitter, &[topic, from_word, to_word], data);
        }
        17 => {
            let data = words(&vec![value_word; draw.pick(&[2, 3, 40])]);
            events.malformed(emitter, &[topic, from_word, to_word], data);
        }
        18 => {
            let all = [topic, from_word, to_word, id.into()];
            events.malformed(emitter, &all, words(&[value_word]));
        }
        19 => events.malformed(emitter, &[topic], Vec::new()),
        20 => events.malformed(emitter, &[topic, from_word], words(&[to_word])),
        // ERC-1155 logs of no standard.
        21 => {
            let all = [TOPICS.transfer_single, from_word, to_word];
            let data = words(&[to_word, id.into(), value_word]);
            events.malformed_erc1155(emitter, &all, data);
        }
        22 => {
            let all = [TOPICS.transfer_batch, from_word, from_word, to_word];
            let data = batch_data(&[id, id], &[value]);
            events.malformed_erc1155(emitter, &all, data);
        }
        23 => {
            // An array that ends or begins far outside the data.
            let mut data = batch_data(&[id], &[value]);
            let (at, byte) = draw.pick(&[(0, 0x80), (31, 0xe0), (32, 0xff), (94, 1), (64, 0xff)]);
            data[at] = byte;
            let all = [TOPICS.transfer_batch, from_word, from_word, to_word];
            events.malformed_erc1155(emitter, &all, data);
        }
        24 => {
            let all = [TOPICS.transfer_single, from_word, from_word, to_word];
            events.malformed_erc1155(emitter, &all, words(&[id.into()]));
        }
        // Other logs, which are not transfers.
        25 => events.log(emitter, &[], words(&[from_word, to_word, value_word])),
        26 => events.log(
            emitter,
            &[TOPICS.deposit, from_word],
            words(&[value_word; 3]),
        ),
        _ => {
            let data = vec![0xab; draw.index(12_000)];
            events.log(emitter, &[draw.word(), from_word], data);
        }
    }
}
