//! Data of the block and the transaction.

use crate::{
    fork::Fork,
    frame::{Context, Fault, Frame},
    stack::Operands,
    word::Word,
};

/// `BLOCKHASH`: the hash of one of the 256 blocks before this one; zero for others.
pub(crate) fn block_hash(
    cx: &mut Context<'_>,
    _: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    let now = cx.block.number;
    let hash = match operands.at(0).to_u64() {
        Some(number) if number < now && now - number <= 256 => {
            cx.journal.block_hash(cx.source, number)?.into()
        }
        _ => Word::ZERO,
    };
    operands.put(0, hash);
    Ok(())
}

/// `DIFFICULTY`; since Paris `PREVRANDAO` (EIP-4399).
pub(crate) fn prevrandao(cx: &Context<'_>) -> Word {
    if cx.fork >= Fork::Paris {
        cx.block.prevrandao.into()
    } else {
        cx.block.difficulty.into()
    }
}

/// `BLOBHASH` (EIP-4844); zero beyond the last.
pub(crate) fn blob_hash(cx: &Context<'_>, index: Word) -> Word {
    let index = usize::try_from(index.saturating_u64()).unwrap_or(usize::MAX);
    cx.blob_hashes
        .get(index)
        .map_or(Word::ZERO, |hash| (*hash).into())
}
