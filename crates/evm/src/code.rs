//! Prepared code: padded, with its jump destinations, and decoded once that is worth its cost
//! ([`Decoded`]). A [`CodeCache`] shares it between threads.

use crate::{decode::decode, decoded::Decoded, fork::Fork, jumpdest::Destinations, opcode};
use alloy_primitives::{Address, B256, Bytes, map::HashMap};
use std::sync::{
    Arc, OnceLock, RwLock, RwLockWriteGuard,
    atomic::{AtomicI64, Ordering},
};

/// The bytes before the address of a delegation (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// The number of zeros after the code. Neither the loop nor a `PUSH32` in the last byte needs an
/// end check: they read `STOP`.
const PADDING: usize = 33;

/// Decides when code is decoded: after it has executed this many times its length.
///
/// Decoding costs more than it gains for code that is executed once or rarely, as most code of a
/// block is (`docs/notes/optimizations.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeAfter(u32);

impl DecodeAfter {
    /// Decodes code before its first execution.
    pub const AT_ONCE: Self = Self(0);
    /// Never decodes code.
    pub const NEVER: Self = Self(u32::MAX);

    /// Decodes code that has executed `times` its length.
    pub const fn executed(times: u32) -> Self {
        Self(times)
    }

    /// The number of bytes that code of `len` bytes executes before it is decoded.
    fn bytes(self, len: usize) -> i64 {
        match self {
            Self::AT_ONCE => 0,
            Self::NEVER => i64::MAX / 2,
            Self(times) => i64::from(times) * (len as i64 + 64),
        }
    }
}

impl Default for DecodeAfter {
    fn default() -> Self {
        Self(64)
    }
}

/// The contract that code delegates to (EIP-7702); `None` for any other code.
pub fn delegate(code: &[u8]) -> Option<Address> {
    let address = code.strip_prefix(&DELEGATION)?;
    Some(Address::new(address.try_into().ok()?))
}

/// Prepared code.
#[derive(Debug)]
pub(crate) struct Code {
    /// The code, then [`PADDING`] zeros.
    padded: Bytes,
    /// The code without padding: a part of `padded`.
    bytes: Bytes,
    destinations: Destinations,
    /// The decoded forms, by fork.
    decoded: [OnceLock<Box<Decoded>>; Fork::ALL.len()],
    /// The bytes that are executed before it is decoded ([`DecodeAfter`]). A state takes from it
    /// what it has executed, at its end.
    budget: AtomicI64,
    /// The address to which it delegates, if it is a delegation.
    pub(crate) delegate: Option<Address>,
}

impl Code {
    pub(crate) fn new(bytes: &[u8], decode_after: DecodeAfter) -> Self {
        let mut padded = Vec::with_capacity(bytes.len() + PADDING);
        padded.extend_from_slice(bytes);
        padded.resize(bytes.len() + PADDING, opcode::STOP);
        let padded = Bytes::from(padded);
        Self {
            bytes: padded.slice(..bytes.len()),
            padded,
            destinations: Destinations::new(bytes.len()),
            decoded: [const { OnceLock::new() }; Fork::ALL.len()],
            budget: AtomicI64::new(decode_after.bytes(bytes.len())),
            delegate: delegate(bytes),
        }
    }

    /// Code that delegates to `address` (EIP-7702).
    pub(crate) fn delegation(address: Address) -> Bytes {
        [&DELEGATION[..], address.as_slice()].concat().into()
    }

    /// Bytes that code of `len` bytes uses at most: a copy, and up to 36 bytes for each byte of
    /// the code once it is decoded.
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
    #[inline(always)]
    pub(crate) fn padded(&self) -> &[u8] {
        &self.padded
    }

    #[inline(always)]
    pub(crate) fn is_destination(&self, pc: u64) -> bool {
        self.destinations.contains(&self.bytes, pc)
    }

    /// The form decoded for `fork`, if it exists.
    #[inline(always)]
    pub(crate) fn decoded(&self, fork: Fork) -> Option<&Decoded> {
        self.decoded[fork as usize].get().map(|decoded| &**decoded)
    }

    /// Decodes it for `fork`, unless that was done before.
    pub(crate) fn decode(&self, fork: Fork) -> &Decoded {
        self.decoded[fork as usize]
            .get_or_init(|| Box::new(decode(&self.padded, self.bytes.len(), fork)))
    }

    /// Returns the decoded form, which is created if nothing is left of `budget`.
    #[inline]
    pub(crate) fn begin_run(&self, fork: Fork, budget: i64) -> Option<&Decoded> {
        match self.decoded(fork) {
            None if budget <= 0 => Some(self.decode(fork)),
            decoded => decoded,
        }
    }

    /// The bytes that may be executed before it is decoded.
    pub(crate) fn budget(&self) -> i64 {
        self.budget.load(Ordering::Relaxed)
    }

    /// Takes executed bytes from the [`budget`](Self::budget).
    pub(crate) fn spend(&self, bytes: i64) {
        self.budget.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The bytes that the [`CodeCache`] counts for each code in addition to its bytes: tables, also of
/// the decoded form, a place in the map. For the shortest codes, of which a chain may have
/// millions, this is nearly everything.
const OVERHEAD: usize = 1 << 10;

/// Prepared code by hash, for any number of [`Evm`](crate::Evm)s on any number of threads. It
/// holds a limited number of bytes.
#[derive(Debug)]
pub struct CodeCache {
    codes: RwLock<Entries>,
    bytes_max: usize,
    decode_after: DecodeAfter,
}

/// Code in two generations. When the younger one has half of all bytes, the older one is dropped and
/// the younger one takes its place. Code that is used again is moved to the younger one, so that
/// it stays.
#[derive(Debug, Default)]
struct Entries {
    young: HashMap<B256, Arc<Code>>,
    old: HashMap<B256, Arc<Code>>,
    /// The bytes of the younger generation.
    bytes: usize,
}

impl Entries {
    /// Finds code, which is in the younger generation afterwards.
    fn take(&mut self, hash: &B256, bytes_max: usize) -> Option<Arc<Code>> {
        if let Some(code) = self.young.get(hash) {
            return Some(Arc::clone(code));
        }
        let code = self.old.remove(hash)?;
        self.insert(*hash, Arc::clone(&code), bytes_max);
        Some(code)
    }

    fn insert(&mut self, hash: B256, code: Arc<Code>, bytes_max: usize) {
        let bytes = code.bytes.len() + OVERHEAD;
        if self.bytes + bytes > bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(hash, code);
    }
}

impl CodeCache {
    /// Holds code of `bytes_max` bytes at most, each with a kilobyte for its tables, and
    /// counted before decoding (which makes up to 36 times as much of it).
    pub fn new(bytes_max: usize) -> Self {
        Self {
            codes: RwLock::default(),
            bytes_max,
            decode_after: DecodeAfter::default(),
        }
    }

    /// Changes when code is decoded. Results are the same at any setting.
    pub fn with_decode_after(self, decode_after: DecodeAfter) -> Self {
        Self {
            decode_after,
            ..self
        }
    }

    /// Prepares code that is not cached, for example init code.
    pub(crate) fn prepare(&self, bytes: &[u8]) -> Code {
        Code::new(bytes, self.decode_after)
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<Arc<Code>> {
        let entries = self.codes.read().unwrap_or_else(|e| e.into_inner());
        if let Some(code) = entries.young.get(hash) {
            return Some(Arc::clone(code));
        }
        if !entries.old.contains_key(hash) {
            return None;
        }
        drop(entries);
        self.write().take(hash, self.bytes_max)
    }

    /// Inserts code, unless another thread has inserted it in the meantime.
    pub(crate) fn insert(&self, hash: B256, code: Code) -> Arc<Code> {
        let mut entries = self.write();
        if let Some(known) = entries.take(&hash, self.bytes_max) {
            return known;
        }
        let code = Arc::new(code);
        entries.insert(hash, Arc::clone(&code), self.bytes_max);
        code
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.codes.write().unwrap_or_else(|e| e.into_inner())
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
    fn delegations_have_23_bytes() {
        let to = Address::repeat_byte(7);
        let delegate = |code: &[u8]| Code::new(code, DecodeAfter::default()).delegate;
        assert_eq!(delegate(&Code::delegation(to)), Some(to));
        let longer = [&Code::delegation(to)[..], &[0]].concat();
        assert_eq!(delegate(&longer), None);
    }

    #[test]
    fn full_cache_keeps_what_is_used() {
        let bytes_max = 8 * OVERHEAD;
        let cache = CodeCache::new(bytes_max);
        let hash = B256::repeat_byte;
        for number in 1..=100 {
            let first = cache.insert(hash(number), cache.prepare(&[number; 6]));
            let again = cache.insert(hash(number), cache.prepare(&[number; 6]));
            assert!(Arc::ptr_eq(&first, &again), "the first one stays");
            assert!(cache.get(&hash(1)).is_some(), "used in every round");
            assert!(cache.get(&hash(number)).is_some());
            let entries = cache.codes.read().unwrap();
            let kept = entries.young.values().chain(entries.old.values());
            let bytes: usize = kept.map(|code| code.bytes.len() + OVERHEAD).sum();
            assert!(bytes <= bytes_max, "{bytes}");
        }
        assert!(cache.get(&hash(50)).is_none(), "not used for long");
    }

    /// Code that grows most when it is decoded.
    #[test]
    fn decoded_code_is_within_its_footprint() {
        for piece in [
            &[opcode::JUMPI][..],
            &[opcode::CALL],
            &[opcode::JUMPDEST, opcode::GAS],
            &[opcode::JUMPDEST],
            &[opcode::PUSH1 + 4, 1, 1, 1, 1, 1],
            &[opcode::SLOAD],
        ] {
            let bytes = piece.repeat(6_000 / piece.len());
            let footprint = Code::footprint_of(bytes.len());
            let code = Code::new(&bytes, DecodeAfter::default());
            let decoded = code.decode(Fork::Amsterdam);
            let used = code.padded.len() + code.destinations.footprint() + decoded.footprint();
            assert!(
                used <= footprint,
                "{piece:?}: {used} bytes, counted {footprint}"
            );
        }
    }

    #[test]
    fn decoded_once_the_budget_is_spent() {
        let code = Code::new(&[0x00], DecodeAfter::default());
        assert!(code.begin_run(Fork::Cancun, code.budget()).is_none());
        assert!(code.begin_run(Fork::Cancun, 0).is_some());
        assert!(code.decoded(Fork::London).is_none());
        let budget = |after| Code::new(&[0x00], after).budget();
        assert_eq!(budget(DecodeAfter::AT_ONCE), 0);
        assert!(budget(DecodeAfter::NEVER) > 1 << 60);
    }
}
