//! A cache of code by hash, shared by all threads: most calls go to few contracts.

use alloy_primitives::{B256, Bytes, map::B256HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Two generations, each with half of the limit. When the young generation is full it
/// replaces the old one. Code that was not used since then is dropped.
#[derive(Debug)]
pub(crate) struct CodeCache {
    generations: Mutex<Generations>,
    young_bytes_max: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: B256HashMap<Bytes>,
    young_bytes: usize,
    old: B256HashMap<Bytes>,
}

impl CodeCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            generations: Mutex::default(),
            young_bytes_max: bytes_max / 2,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // The maps are consistent after every statement.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<Bytes> {
        let mut generations = self.lock();
        if let Some(code) = generations.young.get(hash) {
            return Some(code.clone());
        }
        let code = generations.old.remove(hash)?;
        generations.insert(*hash, code.clone(), self.young_bytes_max);
        Some(code)
    }

    pub(crate) fn insert(&self, hash: B256, code: Bytes) {
        self.lock().insert(hash, code, self.young_bytes_max);
    }
}

impl Generations {
    fn insert(&mut self, hash: B256, code: Bytes, bytes_max: usize) {
        if code.len() > bytes_max {
            return;
        }
        if self.young_bytes + code.len() > bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        let len = code.len();
        if self.young.insert(hash, code).is_none() {
            self.young_bytes += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_code_that_is_used() {
        let cache = CodeCache::new(200);
        let code = |byte| Bytes::from(vec![byte; 40]);
        let hash = B256::repeat_byte;
        for byte in 0..50 {
            cache.insert(hash(byte), code(byte));
            assert_eq!(cache.get(&hash(0)), Some(code(0)), "after {byte}");
            let generations = cache.lock();
            assert!(generations.young_bytes <= 100);
            assert!(generations.young.len() + generations.old.len() <= 5);
        }
        assert_eq!(cache.get(&hash(10)), None);
        cache.insert(hash(99), vec![1; 101].into());
        assert_eq!(cache.get(&hash(99)), None, "larger than the cache");
    }
}
