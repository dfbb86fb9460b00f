//! The error for a replay that differs from what the node stored.

use crate::{output::number, units::thousands};
use txgraph::{Error, ErrorKind, Mismatch};

const DIFFERENCES_LISTED: usize = 10;

/// The error for a replay with differences: the first of them, one per line.
pub(super) fn disagreement(count: u64, mismatches: &[Mismatch], is_sample: bool) -> Error {
    if is_sample {
        return Error::new(
            ErrorKind::Failed,
            format!(
                "the replay disagrees with the node in {}: this is a sample chain, whose blocks \
                 were not executed when it was written",
                number(count, "place", "places")
            ),
        )
        .hint("`execgen` writes sample chains that can be replayed");
    }
    let mut text = format!(
        "the replay disagrees with the node in {}:",
        number(count, "place", "places")
    );
    let listed = mismatches.iter().take(DIFFERENCES_LISTED);
    let mut more = count;
    for mismatch in listed {
        text += &format!("\n{mismatch}");
        more = more.saturating_sub(1);
    }
    if more > 0 {
        text += &format!("\nand {} more", thousands(more));
    }
    Error::new(ErrorKind::Failed, text).hint(
        "the database is damaged, the rules are those of another chain (--chain), or txgraph is \
         wrong: please report it with the block",
    )
}
