//! Addresses with the capitals of EIP-55. A checksum costs a keccak, so it is found once
//! for each vertex, several at a time, and kept as 40 bits.

use crate::line::Line;
use alloy_primitives::{Address, B256, hex};
use std::ops::ControlFlow;
use txgraph_graph::TransferGraph;
use txgraph_keccak::{LANES_MAX, keccak256_each};
use txgraph_work::{CancelFlag, Threads, ThreadsError, ordered};

/// Which of the 40 digits of an address are capitals, the first in the lowest bit.
#[derive(Clone, Copy, Default)]
pub(super) struct Capitals(u64);

impl Capitals {
    /// A letter is a capital where the same digit of the keccak of the text is above 7.
    fn new(text: &[u8; 40], hash: &B256) -> Self {
        let bit = |(at, character): (usize, &u8)| {
            let digit = hash[at / 2] >> (4 * (1 - at % 2));
            u64::from(character.is_ascii_lowercase() && digit & 8 != 0) << at
        };
        Self(text.iter().enumerate().map(bit).sum())
    }

    /// Finds the capitals of several addresses at once, at most [`LANES_MAX`].
    fn of_each<'a>(addresses: impl Iterator<Item = &'a Address>, places: &mut [Self]) {
        let mut texts = [[0; 40]; LANES_MAX];
        let count = places.len().min(LANES_MAX);
        for (text, address) in texts.iter_mut().zip(addresses.take(count)) {
            let encoded = hex::encode_to_slice(address, text);
            debug_assert!(encoded.is_ok(), "the text is twice the bytes");
        }
        let mut hashes = [B256::ZERO; LANES_MAX];
        let messages = texts.each_ref().map(|text| &text[..]);
        keccak256_each(&messages[..count], &mut hashes[..count]);
        for (place, (text, hash)) in places.iter_mut().zip(texts.iter().zip(&hashes)) {
            *place = Self::new(text, hash);
        }
    }

    /// Appends the address.
    #[inline]
    pub(super) fn push(self, line: &mut Line, address: Address) {
        line.text(b"0x");
        line.hex_with_capitals(&address, self.0);
    }
}

/// The capitals of every vertex, in order, found by up to `threads` threads.
pub(super) fn all_capitals(
    graph: &TransferGraph,
    threads: &Threads,
) -> Result<Vec<Capitals>, ThreadsError> {
    /// Fewer vertices are not worth a thread.
    const PART: usize = 4096;
    let vertices = graph.graph.raw_nodes();
    let mut capitals = vec![Capitals::default(); vertices.len()];
    let part = vertices.len().div_ceil(threads.count()).max(PART);
    let find = |number: usize, capitals: &mut [Capitals]| {
        let places = capitals.chunks_mut(LANES_MAX);
        for (places, vertices) in places.zip(vertices[number * part..].chunks(LANES_MAX)) {
            let addresses = vertices.iter().map(|vertex| &vertex.weight.address);
            Capitals::of_each(addresses, places);
        }
    };
    if vertices.len() <= part {
        find(0, &mut capitals);
        return Ok(capitals);
    }
    ordered(
        threads,
        threads.count(),
        &CancelFlag::new(),
        capitals.chunks_mut(part).enumerate(),
        || (),
        |(), (number, capitals)| {
            find(number, capitals);
            ControlFlow::Continue(())
        },
        |()| ControlFlow::<()>::Continue(()),
    )?;
    Ok(capitals)
}
