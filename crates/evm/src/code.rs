//! Prepared code: padded, with its jump destinations, and decoded on demand ([`Decoded`]). A
//! [`CodeCache`] shares it between threads.

use crate::{decode::Decoded, fork::Fork, opcode};
use alloy_primitives::{Address, B256, Bytes, map::HashMap};
use std::sync::{
    Arc, OnceLock, RwLock,
    atomic::{AtomicU32, Ordering},
};

/// The bytes before the address of a delegation (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// The number of zeros after the code. Neither the loop nor a `PUSH32` in the last byte needs an
/// end check: they read `STOP`.
const PADDING: usize = 33;

/// Prepared code.
#[derive(Debug)]
pub(crate) struct Code {
    /// The code, then [`PADDING`] zeros.
    padded: Box<[u8]>,
    /// The code without padding.
    bytes: Bytes,
    /// One bit per byte of the code: set for a `JUMPDEST` that is not data.
    destinations: Box<[u64]>,
    /// The decoded forms, by fork.
    decoded: [OnceLock<Box<Decoded>>; Fork::ALL.len()],
    /// How often it ran, until it was decoded.
    runs: AtomicU32,
    /// The address to which it delegates, if it is a delegation.
    pub(crate) delegate: Option<Address>,
}

impl Code {
    pub(crate) fn new(bytes: Bytes) -> Self {
        let mut padded = Vec::with_capacity(bytes.len() + PADDING);
        padded.extend_from_slice(&bytes);
        padded.resize(bytes.len() + PADDING, opcode::STOP);
        let delegate = match bytes.strip_prefix(&DELEGATION) {
            Some(address) if address.len() == 20 => Some(Address::from_slice(address)),
            _ => None,
        };
        Self {
            destinations: jump_destinations(&bytes),
            padded: padded.into(),
            bytes,
            decoded: [const { OnceLock::new() }; Fork::ALL.len()],
            runs: AtomicU32::new(0),
            delegate,
        }
    }

    /// Code that delegates to `address` (EIP-7702).
    pub(crate) fn delegation(address: Address) -> Bytes {
        [&DELEGATION[..], address.as_slice()].concat().into()
    }

    /// Bytes that code of `len` bytes uses at most: two copies, and up to 36 bytes for each byte
    /// of the code once it is decoded.
    pub(crate) const fn footprint_of(len: usize) -> usize {
        OVERHEAD + 40 * len
    }

    pub(crate) fn footprint(&self) -> usize {
        Self::footprint_of(self.bytes.len())
    }

    /// The code without padding.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The code with padding.
    pub(crate) fn padded(&self) -> &[u8] {
        &self.padded
    }

    #[inline(always)]
    pub(crate) fn is_destination(&self, pc: u64) -> bool {
        pc < self.bytes.len() as u64 && self.destinations[(pc / 64) as usize] >> (pc % 64) & 1 == 1
    }

    /// The form decoded for `fork`, if it exists.
    #[inline(always)]
    pub(crate) fn decoded(&self, fork: Fork) -> Option<&Decoded> {
        self.decoded[fork as usize].get().map(|decoded| &**decoded)
    }

    /// Decodes it for `fork`, unless that was done before.
    pub(crate) fn decode(&self, fork: Fork) -> &Decoded {
        self.decoded[fork as usize].get_or_init(|| Box::new(Decoded::new(self, fork)))
    }

    /// Counts a run, and decodes the code on its second run. Decoding is not worth its cost for
    /// code that runs once, such as init code and most contracts of a block.
    pub(crate) fn begin_run(&self, fork: Fork) -> Option<&Decoded> {
        if let Some(decoded) = self.decoded(fork) {
            return Some(decoded);
        }
        let runs = self.runs.load(Ordering::Relaxed);
        self.runs.store(runs.saturating_add(1), Ordering::Relaxed);
        (runs > 0).then(|| self.decode(fork))
    }

    /// The number of backward jumps after which a first run is decoded. Decoding costs about as
    /// much as executing one instruction per byte of code.
    pub(crate) fn jumps_before_decoding(&self) -> u32 {
        u32::try_from(self.bytes.len() / 8).unwrap_or(u32::MAX) + 16
    }
}

/// See [`Code::destinations`].
fn jump_destinations(code: &[u8]) -> Box<[u64]> {
    let mut bits = vec![0u64; code.len().div_ceil(64)].into_boxed_slice();
    let mut pc = 0;
    while let Some(&byte) = code.get(pc) {
        if byte == opcode::JUMPDEST {
            bits[pc / 64] |= 1 << (pc % 64);
        } else if let opcode::PUSH1..=opcode::PUSH32 = byte {
            pc += usize::from(byte - opcode::PUSH1) + 1;
        }
        pc += 1;
    }
    bits
}

/// The bytes that the [`CodeCache`] counts for each code in addition to its bytes: tables, those of
/// the decoded form, a place in the map. For the shortest codes, of which a chain may have
/// millions, this is nearly everything.
const OVERHEAD: usize = 1 << 10;

/// Prepared code by hash, for any number of [`Evm`](crate::Evm)s on any number of threads. It
/// holds a limited number of bytes; a full cache is emptied.
#[derive(Debug)]
pub struct CodeCache {
    codes: RwLock<Entries>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Entries {
    by_hash: HashMap<B256, Arc<Code>>,
    bytes: usize,
}

impl CodeCache {
    /// Holds code of `bytes_max` bytes at most, each with a kilobyte for its tables, and
    /// counted before decoding (which makes up to 36 times as much of it).
    pub fn new(bytes_max: usize) -> Self {
        Self {
            codes: RwLock::default(),
            bytes_max,
        }
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<Arc<Code>> {
        let entries = self.codes.read().unwrap_or_else(|e| e.into_inner());
        entries.by_hash.get(hash).cloned()
    }

    /// Inserts code, unless another thread has inserted it in the meantime.
    pub(crate) fn insert(&self, hash: B256, code: Code) -> Arc<Code> {
        let mut entries = self.codes.write().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = entries.by_hash.get(&hash) {
            return Arc::clone(known);
        }
        let code = Arc::new(code);
        let bytes = code.bytes.len() + OVERHEAD;
        if entries.bytes + bytes > self.bytes_max {
            *entries = Entries::default();
        }
        entries.bytes += bytes;
        entries.by_hash.insert(hash, Arc::clone(&code));
        code
    }
}

impl Default for CodeCache {
    /// A cache of 64 MiB of code: some thousand contracts.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_destinations_exclude_data() {
        let code = Code::new(Bytes::from_static(&[0x5b, 0x61, 0x5b, 0x5b, 0x5b, 0x60]));
        let found: Vec<_> = (0..50).filter(|pc| code.is_destination(*pc)).collect();
        assert_eq!(found, [0, 4]);
        assert!(!code.is_destination(u64::MAX));
    }

    #[test]
    fn delegations_have_23_bytes() {
        let to = Address::repeat_byte(7);
        assert_eq!(Code::new(Code::delegation(to)).delegate, Some(to));
        let longer = [&Code::delegation(to)[..], &[0]].concat();
        assert_eq!(Code::new(longer.into()).delegate, None);
    }

    #[test]
    fn full_cache_is_emptied() {
        let cache = CodeCache::new(2 * OVERHEAD + 10);
        let code = |byte| Code::new(Bytes::from(vec![byte; 6]));
        cache.insert(B256::repeat_byte(1), code(1));
        assert!(cache.get(&B256::repeat_byte(1)).is_some());
        cache.insert(B256::repeat_byte(2), code(2));
        assert!(cache.get(&B256::repeat_byte(1)).is_none());
        assert!(cache.get(&B256::repeat_byte(2)).is_some());
    }

    /// Code that grows most when it is decoded.
    #[test]
    fn decoded_code_is_within_its_footprint() {
        for piece in [
            &[opcode::JUMPI][..],
            &[opcode::CALL],
            &[opcode::JUMPDEST, opcode::GAS],
            &[opcode::PUSH1 + 4, 1, 1, 1, 1, 1],
            &[opcode::SLOAD],
        ] {
            let bytes = piece.repeat(6_000 / piece.len());
            let footprint = Code::footprint_of(bytes.len());
            let code = Code::new(bytes.into());
            let fork = Fork::Amsterdam;
            let used =
                2 * code.padded.len() + 8 * code.destinations.len() + code.decode(fork).footprint();
            assert!(
                used <= footprint,
                "{piece:?}: {used} bytes, counted {footprint}"
            );
        }
    }

    #[test]
    fn second_run_is_decoded() {
        let code = Code::new(Bytes::from_static(&[0x00]));
        assert!(code.begin_run(Fork::Cancun).is_none());
        assert!(code.begin_run(Fork::Cancun).is_some());
        assert!(code.decoded(Fork::London).is_none());
    }
}
