//! A cache of the lines of second-group points that were used last.

use super::g2::Line;
use std::sync::Arc;

/// The encoding of a point of the second group.
pub(super) type Key = [u8; 128];

/// The maximum number of points. Each takes 11 KB, so a cache takes 0.7 MB at most. A proof usually
/// has three points of its key and one of its own.
const ENTRIES: usize = 64;

/// The lines of the latest points, which took more time to compute than the rest of their pairing.
/// Contains only points that were checked.
#[derive(Debug, Default)]
pub(crate) struct LineCache {
    entries: Vec<Entry>,
    /// The number of lookups.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    lines: Arc<[Line]>,
    /// The number of the last lookup that found the entry.
    used: u64,
}

impl LineCache {
    /// Returns the lines of a point. If they are not known, `compute` returns them, or `None` if
    /// the point is not valid. They replace the entry that was not used for longest.
    pub(super) fn get_or_compute(
        &mut self,
        key: &Key,
        compute: impl FnOnce() -> Option<Box<[Line]>>,
    ) -> Option<Arc<[Line]>> {
        self.clock += 1;
        let used = self.clock;
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == *key) {
            entry.used = used;
            return Some(Arc::clone(&entry.lines));
        }
        let lines: Arc<[Line]> = compute()?.into();
        let entry = Entry {
            key: *key,
            lines: Arc::clone(&lines),
            used,
        };
        if self.entries.len() < ENTRIES {
            self.entries.push(entry);
        } else if let Some(oldest) = self.entries.iter_mut().min_by_key(|entry| entry.used) {
            *oldest = entry;
        }
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    fn key(n: usize) -> Key {
        let mut key = [0; 128];
        key[120..].copy_from_slice(&n.to_be_bytes());
        key
    }

    /// Whether a lookup computes.
    fn misses(cache: &mut LineCache, n: usize) -> bool {
        let mut missed = false;
        let lines = cache.get_or_compute(&key(n), || {
            missed = true;
            Some(iter::empty().collect())
        });
        assert!(lines.is_some());
        missed
    }

    #[test]
    fn replaces_the_entry_unused_for_longest() {
        let mut cache = LineCache::default();
        for n in 0..ENTRIES {
            assert!(misses(&mut cache, n));
        }
        assert!(!misses(&mut cache, 0));
        assert!(misses(&mut cache, ENTRIES));
        assert_eq!(cache.entries.len(), ENTRIES);
        assert!(!misses(&mut cache, 0));
        assert!(misses(&mut cache, 1));
        assert!(!misses(&mut cache, 3));
    }

    #[test]
    fn invalid_points_are_not_kept() {
        let mut cache = LineCache::default();
        assert!(cache.get_or_compute(&key(1), || None).is_none());
        assert!(misses(&mut cache, 1));
    }
}
