//! Entry points to the decoders for property tests and fuzzers. Not a stable interface.

use crate::{
    reply::{Reply, parse},
    secrets::Secrets,
    trace::{CallTraces, FlatTraces},
    wire::{Block, Header, Log, Quantity, Receipt},
};
use serde::de::DeserializeOwned;

/// Reads bytes as the answer of each method. Returns the number of valid items.
pub fn decode(bytes: &[u8]) -> usize {
    let mut valid = 0;
    for count in 1..=2 {
        valid += read::<Quantity>(bytes, count)
            + read::<Option<Header>>(bytes, count)
            + read::<Option<Block>>(bytes, count)
            + read::<Vec<Log>>(bytes, count)
            + read::<Option<Vec<Receipt>>>(bytes, count)
            + read::<CallTraces>(bytes, count)
            + read::<Option<FlatTraces>>(bytes, count);
    }
    valid
}

fn read<T: DeserializeOwned + Send>(bytes: &[u8], count: usize) -> usize {
    match parse::<T>(bytes, count, &Secrets::default()) {
        Reply::Items(items) => items.iter().filter(|item| item.is_ok()).count(),
        Reply::Refused(_) | Reply::Misplaced(_) | Reply::Invalid(_) | Reply::NotJson(_) => 0,
    }
}
