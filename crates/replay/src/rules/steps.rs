//! Parameters that change at a block or at a time.

/// The last of `steps` that begins at or before `now`.
pub(super) fn last<T: Copy>(steps: &[(u64, T)], now: u64) -> Option<T> {
    let begun = steps.partition_point(|(begin, _)| *begin <= now);
    begun.checked_sub(1).map(|at| steps[at].1)
}
