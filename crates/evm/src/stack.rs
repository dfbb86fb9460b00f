//! The stack of a frame, and the memory of all stacks.
//!
//! Each call depth owns a chunk of 1,024 words. The chunk is allocated when the depth is first
//! reached and is never zeroed: every word is written before it is read. Chunks are aligned to
//! 64 KiB, so the low 16 bits of the top's address are the height in bytes, and one comparison
//! of them covers underflow and overflow.

use crate::word::Word;
use std::{
    alloc::{self, Layout},
    ptr::NonNull,
};

/// The maximum number of words on a stack.
pub(crate) const STACK_WORDS: usize = 1024;

const CHUNK_BYTES: usize = STACK_WORDS * size_of::<Word>();
const CHUNK_ALIGN: usize = 1 << 16;

/// The top of a stack: the place of the next word. It is a plain pointer that is copied freely.
///
/// The loop checks the height once for all words of an instruction or a block. The accesses
/// below therefore check nothing, and are `unsafe`; debug builds assert the height again. They
/// all require that the [`StackChunk`] from which the top was made is alive, and that nothing
/// else reads or writes its words at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack(*mut Word);

#[expect(
    unsafe_code,
    reason = "the loop has checked the height once for all words of an instruction or block"
)]
impl Stack {
    /// The height in bytes.
    #[inline(always)]
    pub(crate) fn height_bytes(self) -> usize {
        self.0.addr() % CHUNK_ALIGN
    }

    /// The height in words.
    #[inline(always)]
    pub(crate) fn height(self) -> usize {
        self.height_bytes() / size_of::<Word>()
    }

    /// Reads word `n` counted from the top, 0 being the topmost.
    ///
    /// # Safety
    /// - The chunk is alive and not accessed by anything else.
    /// - `n` is below the height, and every word below the top was written.
    #[inline(always)]
    pub(crate) unsafe fn at(self, n: usize) -> Word {
        debug_assert!(n < self.height(), "read below the stack");
        // SAFETY: by the contract, `n + 1` written words are below the top; a chunk is aligned.
        unsafe { Word::load(self.0.sub(n + 1)) }
    }

    /// Overwrites word `n` counted from the top.
    ///
    /// # Safety
    /// - The chunk is alive and not accessed by anything else.
    /// - `n` is below the height.
    #[inline(always)]
    pub(crate) unsafe fn put(self, n: usize, word: Word) {
        debug_assert!(n < self.height(), "write below the stack");
        // SAFETY: by the contract, `n + 1` words are below the top; a chunk is aligned.
        unsafe { word.store(self.0.sub(n + 1)) }
    }

    /// Writes word `n` above the top, 0 being the next. The top stays.
    ///
    /// # Safety
    /// - The chunk is alive and not accessed by anything else.
    /// - The height plus `n` is below [`STACK_WORDS`].
    #[inline(always)]
    pub(crate) unsafe fn push_at(self, n: usize, word: Word) {
        debug_assert!(self.height() + n < STACK_WORDS, "write above the stack");
        // SAFETY: by the contract, the word is within the chunk, which is aligned.
        unsafe { word.store(self.0.add(n)) }
    }

    /// The top after `change` words were added or removed.
    ///
    /// # Safety
    /// - The chunk is alive.
    /// - The height plus `change` is at least 0 and at most [`STACK_WORDS`].
    /// - Every word below the new top is written before it is read.
    #[inline(always)]
    pub(crate) unsafe fn moved(self, change: isize) -> Self {
        debug_assert!(
            self.height()
                .checked_add_signed(change)
                .is_some_and(|height| height <= STACK_WORDS),
            "the top leaves the stack"
        );
        // SAFETY: by the contract, the new top is within the chunk or at its end.
        Self(unsafe { self.0.offset(change) })
    }

    /// The `count` words below the first `skip`, the topmost last.
    ///
    /// # Safety
    /// - The chunk is alive and not accessed by anything else while the slice is in use.
    /// - `skip + count` is at most the height, and every word below the top was written.
    pub(crate) unsafe fn words(&self, skip: usize, count: usize) -> &[Word] {
        debug_assert!(skip + count <= self.height(), "read below the stack");
        // SAFETY: by the contract, that many words were written; a chunk is aligned.
        unsafe { std::slice::from_raw_parts(self.0.sub(skip + count), count) }
    }

    /// The topmost `N` words, for an instruction that reads and writes these only.
    ///
    /// # Safety
    /// - The chunk is alive and not accessed by anything else while the operands are in use.
    /// - `N` is at most the height, and every word below the top was written.
    #[inline(always)]
    pub(crate) unsafe fn operands<const N: usize>(self) -> Operands<N> {
        debug_assert!(N <= self.height(), "operands below the stack");
        Operands(self)
    }
}

/// The topmost `N` words of a stack, which are known to exist ([`Stack::operands`]).
///
/// Indices are constants almost everywhere, so that the compiler removes their checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands<const N: usize>(Stack);

#[expect(
    unsafe_code,
    reason = "`Stack::operands` established that the words exist"
)]
impl<const N: usize> Operands<N> {
    /// Reads word `n` counted from the top, 0 being the topmost.
    #[inline(always)]
    pub(crate) fn at(self, n: usize) -> Word {
        assert!(n < N, "the instruction has no such operand");
        // SAFETY: the contract of `Stack::operands`; `n` is below `N`.
        unsafe { self.0.at(n) }
    }

    /// Overwrites word `n` counted from the top.
    #[inline(always)]
    pub(crate) fn put(self, n: usize, word: Word) {
        assert!(n < N, "the instruction has no such operand");
        // SAFETY: the contract of `Stack::operands`; `n` is below `N`.
        unsafe { self.0.put(n, word) }
    }
}

/// The memory of one stack.
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

    /// The top of the empty stack.
    pub(crate) fn bottom(&self) -> Stack {
        Stack(self.0.as_ptr())
    }
}

#[expect(unsafe_code, reason = "frees the allocation of `new`")]
impl Drop for StackChunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, dropped once.
        unsafe { alloc::dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

// SAFETY: the chunk owns its memory. The only other pointers to it are tops, which the loop
// that borrows the chunk's owner uses.
#[expect(unsafe_code, reason = "a box of words")]
unsafe impl Send for StackChunk {}

#[cfg(test)]
#[expect(unsafe_code, reason = "the accesses that are tested are unsafe")]
mod tests {
    use super::*;

    #[test]
    fn written_words_are_read_back() {
        let chunk = StackChunk::new();
        let mut top = chunk.bottom();
        assert_eq!(top.height(), 0);
        for n in 0..STACK_WORDS as u64 {
            // SAFETY: the chunk is alive and has room for 1,024 words.
            unsafe {
                top.push_at(0, Word::new(n));
                top = top.moved(1);
            }
        }
        assert_eq!(top.height(), STACK_WORDS);
        // SAFETY: all 1,024 words of the chunk were written, and it is alive.
        unsafe {
            assert_eq!(top.at(0), Word::new(1023));
            assert_eq!(top.at(1023), Word::ZERO);
            top.put(5, Word::MAX);
            assert_eq!(top.words(0, 1024)[1018], Word::MAX);
            assert_eq!(top.words(4, 3)[1..], [Word::MAX, Word::new(1019)]);
            let operands = top.operands::<2>();
            operands.put(1, Word::ONE);
            assert_eq!(
                (operands.at(0), operands.at(1)),
                (Word::new(1023), Word::ONE)
            );
        }
    }

    #[test]
    #[should_panic(expected = "no such operand")]
    fn operands_beyond_the_declared_number_are_refused() {
        let chunk = StackChunk::new();
        // SAFETY: two words are written before the top is above them.
        let operands = unsafe {
            chunk.bottom().push_at(0, Word::ZERO);
            chunk.bottom().push_at(1, Word::ZERO);
            chunk.bottom().moved(2).operands::<1>()
        };
        operands.at(1);
    }
}
