//! The stack of a frame, and the pool of all of them.
//!
//! Each depth owns a chunk of 1,024 words that is made when that depth is first
//! reached, and never zeroed: a word is written before it is read. Chunks are aligned
//! to 64 KiB, so that the low 16 bits of the top's address are the height in bytes,
//! and one comparison of them covers underflow and overflow.

use crate::word::Word;
use std::{
    alloc::{self, Layout},
    ptr::NonNull,
};

/// Words on the stack at most.
pub(crate) const STACK_WORDS: usize = 1024;

const CHUNK_BYTES: usize = STACK_WORDS * size_of::<Word>();
const CHUNK_ALIGN: usize = 1 << 16;

/// The top of a stack: where the next word goes. Copied freely; instructions read and
/// write below and at it, and the loop moves it by the number that the opcode's facts
/// say.
///
/// Made by [`StackChunk::bottom`] only, and moved by the loop only after it checked
/// the height; that is the argument of all accesses below. Debug builds check again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack(*mut Word);

#[expect(
    unsafe_code,
    reason = "the loop has checked the height once for all words of an instruction or block"
)]
impl Stack {
    /// Bytes above the bottom.
    #[inline(always)]
    pub(crate) fn height_bytes(self) -> usize {
        self.0.addr() % CHUNK_ALIGN
    }

    /// Words above the bottom.
    #[inline(always)]
    pub(crate) fn height(self) -> usize {
        self.height_bytes() / size_of::<Word>()
    }

    /// Word `n` counted from the top, 0 being the topmost.
    #[inline(always)]
    pub(crate) fn at(self, n: usize) -> Word {
        debug_assert!(n < self.height(), "reads below the stack");
        // SAFETY: `n` words and one more are on the stack (see the type).
        unsafe { Word::load(self.0.sub(n + 1)) }
    }

    /// Overwrites word `n` counted from the top.
    #[inline(always)]
    pub(crate) fn put(self, n: usize, word: Word) {
        debug_assert!(n < self.height(), "writes below the stack");
        // SAFETY: as in `at`.
        unsafe { word.store(self.0.sub(n + 1)) }
    }

    /// Writes the word above the top; the loop moves the top.
    #[inline(always)]
    pub(crate) fn push(self, word: Word) {
        self.push_at(0, word);
    }

    /// Writes the `n`-th word above the top, 0 being the next.
    #[inline(always)]
    pub(crate) fn push_at(self, n: usize, word: Word) {
        debug_assert!(self.height() + n < STACK_WORDS, "writes above the stack");
        // SAFETY: there is room (see the type).
        unsafe { word.store(self.0.add(n)) }
    }

    /// The top after `change` words came or went.
    #[inline(always)]
    pub(crate) fn moved(self, change: isize) -> Self {
        debug_assert!(
            self.height()
                .checked_add_signed(change)
                .is_some_and(|height| height <= STACK_WORDS),
            "the top leaves the stack"
        );
        // SAFETY: the new top is within the chunk or at its end (see the type).
        Self(unsafe { self.0.offset(change) })
    }

    /// All words, the top last.
    pub(crate) fn words(&self) -> &[Word] {
        let height = self.height();
        // SAFETY: that many words below the top have been written.
        unsafe { std::slice::from_raw_parts(self.0.sub(height), height) }
    }
}

/// Room for one stack.
#[derive(Debug)]
pub(crate) struct StackChunk(NonNull<Word>);

#[expect(unsafe_code, reason = "an allocation with an alignment of its own")]
impl StackChunk {
    const LAYOUT: Layout = match Layout::from_size_align(CHUNK_BYTES, CHUNK_ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("the size is a multiple of a power of two"),
    };

    pub(crate) fn new() -> Self {
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc::alloc(Self::LAYOUT) };
        match NonNull::new(memory.cast()) {
            Some(memory) => Self(memory),
            None => alloc::handle_alloc_error(Self::LAYOUT),
        }
    }

    /// Top of the empty stack.
    pub(crate) fn bottom(&self) -> Stack {
        Stack(self.0.as_ptr())
    }
}

#[expect(unsafe_code, reason = "what was allocated above")]
impl Drop for StackChunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, dropped once.
        unsafe { alloc::dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

// SAFETY: owns its memory; nothing else points there but tops, which the loop that
// borrows the chunk's owner holds.
#[expect(unsafe_code, reason = "a box of words")]
unsafe impl Send for StackChunk {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let chunk = StackChunk::new();
        let mut top = chunk.bottom();
        assert_eq!(top.height(), 0);
        for n in 0..STACK_WORDS as u64 {
            top.push(Word::new(n));
            top = top.moved(1);
        }
        assert_eq!(top.height(), STACK_WORDS);
        assert_eq!(top.at(0), Word::new(1023));
        assert_eq!(top.at(1023), Word::ZERO);
        top.put(5, Word::MAX);
        assert_eq!(top.words()[1018], Word::MAX);
    }
}
