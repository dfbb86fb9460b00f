//! Compact storage for the transfers of a search, about 40 bytes each.

use crate::SearchError;
use alloy_primitives::{Address, U256};
use txgraph_base::Interner;
use txgraph_transfers::{BlockTime, Csr, Direction, Kind, Position, TokenStandard, Transfer};

/// The most rows of a store: twice as many, one for each end, fit a `u32`.
const ROWS_MAX: usize = (1 << 31) - 1;

/// Transfers whose addresses are looked up together.
const CHUNK: usize = 1 << 10;

/// A token and its id, if it has some; `None` for the native coin.
pub(crate) type TokenKey = (Option<Address>, Option<U256>);

/// Values that many transfers share, numbered.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    /// Senders and receivers.
    pub(crate) addresses: Interner<Address>,
    /// Token, standard and kind.
    classes: Interner<(Option<Address>, TokenStandard, Kind)>,
}

impl Interned {
    /// Interns these addresses first, in order.
    pub(crate) fn with_addresses(addresses: &[Address]) -> Result<Self, SearchError> {
        let mut interned = Self::default();
        for address in addresses {
            interned.addresses.intern(*address)?;
        }
        Ok(interned)
    }

    /// Memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.bytes() + self.classes.bytes()
    }
}

/// One transfer in 32 bytes. Following a transfer reads its ends and its position, which
/// one cache line holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Sender, by number.
    pub(crate) from: u32,
    /// Receiver, by number.
    pub(crate) to: u32,
    /// Block, an index into [`RowStore::blocks`].
    block: u32,
    tx: u32,
    /// Only valid with [`HAS_LOG`].
    log: u32,
    class: u32,
    /// Where the amounts start in [`RowStore::words`].
    words: u32,
    /// The fields that are present, and the lengths of the amounts.
    shape: u16,
}

/// Bits of a shape: the transfer has a log.
const HAS_LOG: u16 = 1;
/// Its first word is the sub-index, which is 0 otherwise.
const HAS_SUB: u16 = 1 << 1;
/// It has a token id.
const HAS_ID: u16 = 1 << 2;
/// Shift of three bits: the words of the value, without leading zeros.
const VALUE: u16 = 3;
/// Shift of three bits: the words of the token id.
const ID: u16 = 6;

/// Transfers, in the order they were pushed.
#[derive(Debug, Default)]
pub(crate) struct RowStore {
    rows: Vec<Row>,
    /// Amounts, 64 bits at a time: most values need one or two words, not four.
    words: Vec<u64>,
    /// Number and time of each block that rows refer to.
    blocks: Vec<(u64, Option<BlockTime>)>,
}

impl RowStore {
    /// Appends a transfer without its hash.
    pub(crate) fn push(
        &mut self,
        transfer: &Transfer,
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        let from = interned.addresses.intern(transfer.from_address)?;
        let to = interned.addresses.intern(transfer.to_address)?;
        self.push_between([from, to], transfer, interned)
    }

    /// Appends transfers, as [`Self::push`] does one after the other. Their addresses are
    /// looked up together ([`Interner::intern_all`]).
    pub(crate) fn push_all(
        &mut self,
        transfers: &[&Transfer],
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        let (mut addresses, mut numbers) = (Vec::new(), Vec::new());
        for chunk in transfers.chunks(CHUNK) {
            addresses.clear();
            addresses.extend(chunk.iter().flat_map(|t| [t.from_address, t.to_address]));
            numbers.clear();
            interned.addresses.intern_all(&addresses, &mut numbers)?;
            for (transfer, ends) in chunk.iter().zip(numbers.as_chunks().0) {
                self.push_between(*ends, transfer, interned)?;
            }
        }
        Ok(())
    }

    /// Appends a transfer between addresses with these numbers.
    #[inline]
    fn push_between(
        &mut self,
        [from, to]: [u32; 2],
        transfer: &Transfer,
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        let Transfer {
            token_address,
            token_standard,
            kind,
            ..
        } = *transfer;
        let row = Row {
            from,
            to,
            block: self.block(transfer.block_number, transfer.block_timestamp)?,
            tx: transfer.transaction_index,
            log: transfer.log_index.unwrap_or_default(),
            class: interned
                .classes
                .intern((token_address, token_standard, kind))?,
            words: self.next_words()?,
            shape: 0,
        };
        let mut shape = if transfer.log_index.is_some() {
            HAS_LOG
        } else {
            0
        };
        if transfer.sub_index != 0 {
            shape |= HAS_SUB;
            self.words.push(transfer.sub_index.into());
        }
        shape |= self.push_amount(&transfer.value) << VALUE;
        if let Some(id) = &transfer.token_id {
            shape |= HAS_ID | self.push_amount(id) << ID;
        }
        self.rows.push(Row { shape, ..row });
        Ok(())
    }

    /// Appends a row of another store with the same [`Interned`]. Returns its number here.
    pub(crate) fn push_from(&mut self, other: &Self, row: u32) -> Result<u32, SearchError> {
        let copied = other.row(row);
        let (number, timestamp) = other.blocks[copied.block as usize];
        let (block, words) = (self.block(number, timestamp)?, self.next_words()?);
        let start = copied.words as usize;
        self.words
            .extend_from_slice(&other.words[start..start + copied.words_len()]);
        self.rows.push(Row {
            block,
            words,
            ..copied
        });
        // There are at most `ROWS_MAX`.
        u32::try_from(self.rows.len() - 1).map_err(|_| SearchError::TooLarge { what: "transfers" })
    }

    /// Returns the row with this number.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> Row {
        self.rows[row as usize]
    }

    /// Returns all rows.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the position of a row in the chain.
    pub(crate) fn position(&self, row: u32) -> Position {
        let row = self.row(row);
        Position {
            block: self.blocks[row.block as usize].0,
            tx: row.tx,
            log: row.log_index(),
            sub: self.sub(row),
        }
    }

    /// Returns the transfer of a row, without its hash.
    pub(crate) fn transfer(&self, row: u32, interned: &Interned) -> Transfer {
        let row = self.row(row);
        let (block_number, block_timestamp) = self.blocks[row.block as usize];
        let (token_address, token_standard, kind) = interned.classes.value(row.class);
        let value_at = row.words as usize + usize::from(row.shape & HAS_SUB != 0);
        let id_at = value_at + row.value_len();
        Transfer {
            block_number,
            block_timestamp,
            transaction_index: row.tx,
            log_index: row.log_index(),
            sub_index: self.sub(row),
            transaction_hash: None,
            token_address,
            from_address: interned.addresses.value(row.from),
            to_address: interned.addresses.value(row.to),
            value: self.amount(value_at, row.value_len()),
            token_id: (row.shape & HAS_ID != 0).then(|| self.amount(id_at, row.id_len())),
            token_standard,
            kind,
        }
    }

    /// Returns the token of a row; `None` for the native coin.
    pub(crate) fn token(&self, row: u32, interned: &Interned) -> Option<Address> {
        interned.classes.value(self.row(row).class).0
    }

    /// Returns the token of a row, and its id.
    pub(crate) fn token_key(&self, row: u32, interned: &Interned) -> TokenKey {
        let shape = self.row(row);
        let id_at =
            shape.words as usize + usize::from(shape.shape & HAS_SUB != 0) + shape.value_len();
        let has_id = shape.shape & HAS_ID != 0;
        let id = has_id.then(|| self.amount(id_at, shape.id_len()));
        (self.token(row, interned), id)
    }

    /// Returns the amount of a row.
    pub(crate) fn value(&self, row: u32) -> U256 {
        let row = self.row(row);
        let at = row.words as usize + usize::from(row.shape & HAS_SUB != 0);
        self.amount(at, row.value_len())
    }

    /// Memory in use. Capacity that is not written yet does not count: the operating
    /// system has not allocated it.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + size_of_val(&self.words[..]) + size_of_val(&self.blocks[..])
    }

    /// Returns the index of a block, which is the last one or new.
    fn block(&mut self, number: u64, timestamp: Option<BlockTime>) -> Result<u32, SearchError> {
        if self.rows.len() >= ROWS_MAX {
            return Err(SearchError::TooLarge { what: "transfers" });
        }
        if self.blocks.last() != Some(&(number, timestamp)) {
            self.blocks.push((number, timestamp));
        }
        // There is at most one block per row.
        u32::try_from(self.blocks.len() - 1).map_err(|_| SearchError::TooLarge { what: "blocks" })
    }

    fn next_words(&self) -> Result<u32, SearchError> {
        u32::try_from(self.words.len()).map_err(|_| SearchError::TooLarge { what: "transfers" })
    }

    /// Appends an amount without its leading zero words. Returns the number of words.
    fn push_amount(&mut self, amount: &U256) -> u16 {
        let len = amount.bit_len().div_ceil(64);
        self.words.extend_from_slice(&amount.as_limbs()[..len]);
        // At most four.
        u16::try_from(len).unwrap_or_default()
    }

    fn amount(&self, at: usize, len: usize) -> U256 {
        U256::from_limbs_slice(&self.words[at..at + len])
    }

    fn sub(&self, row: Row) -> u32 {
        let sub = if row.shape & HAS_SUB != 0 {
            self.words[row.words as usize]
        } else {
            0
        };
        // It was a `u32` when it was pushed.
        u32::try_from(sub).unwrap_or_default()
    }

    /// The numbers of the transfers that can be followed from each address: those that it
    /// sent (`Out`), received (`In`) or both (`Both`; a transfer to itself once).
    pub(crate) fn by_address(&self, direction: Direction, addresses: usize) -> Csr {
        let ends = |row: &Row| match direction {
            Direction::Out => (row.from, None),
            Direction::In => (row.to, None),
            Direction::Both => (row.from, (row.to != row.from).then_some(row.to)),
        };
        Csr::group(addresses, || {
            (0u32..).zip(self.rows()).flat_map(|(number, row)| {
                let (one, other) = ends(row);
                std::iter::once(one)
                    .chain(other)
                    .map(move |end| (end, number))
            })
        })
    }

    /// Memory that [`Self::by_address`] takes.
    pub(crate) fn by_address_bytes(&self, direction: Direction, addresses: usize) -> usize {
        let ends = match direction {
            Direction::Both => 2 * self.len(),
            Direction::Out | Direction::In => self.len(),
        };
        size_of::<u32>() * (addresses + 1 + ends)
    }
}

impl Row {
    /// Returns the end that is not `address`; for a self-transfer `address`.
    #[inline]
    pub(crate) fn other_end(self, address: u32) -> u32 {
        if self.from == address {
            self.to
        } else {
            self.from
        }
    }

    fn log_index(self) -> Option<u32> {
        (self.shape & HAS_LOG != 0).then_some(self.log)
    }

    fn value_len(self) -> usize {
        usize::from(self.shape >> VALUE & 7)
    }

    fn id_len(self) -> usize {
        usize::from(self.shape >> ID & 7)
    }

    fn words_len(self) -> usize {
        usize::from(self.shape & HAS_SUB != 0) + self.value_len() + self.id_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn check(text: &str, direction: Direction, expected: &str) {
        let (mut interned, mut store) = Default::default();
        for transfer in testing::transfers(text) {
            RowStore::push(&mut store, &transfer, &mut interned).unwrap();
        }
        let csr = store.by_address(direction, interned.addresses.len());
        assert_eq!(csr.keys(), interned.addresses.len());
        let mut found: Vec<_> = (0..u32::try_from(interned.addresses.len()).unwrap())
            .map(|id| {
                format!(
                    "{}{:?}",
                    testing::name(interned.addresses.value(id)),
                    csr.of(id)
                )
            })
            .collect();
        found.sort();
        assert_eq!(found.join(" "), expected, "{text} {direction:?}");
    }

    #[test]
    fn groups_rows_by_direction() {
        check("a>b c>b a>a b>a", Direction::Out, "a[0, 2] b[3] c[1]");
        check("a>b c>b a>a b>a", Direction::In, "a[2, 3] b[0, 1] c[]");
        check(
            "a>b c>b a>a b>a",
            Direction::Both,
            "a[0, 2, 3] b[0, 1, 3] c[1]",
        );
        check("", Direction::Both, "");
    }

    fn amount() -> impl Strategy<Value = U256> {
        (any::<[u64; 4]>(), 0u32..=256).prop_map(|(limbs, shift)| {
            U256::from_limbs(limbs)
                .checked_shr(shift as usize)
                .unwrap_or_default()
        })
    }

    fn transfer() -> impl Strategy<Value = Transfer> {
        let ends = (
            "[a-d]",
            "[a-d0]",
            prop_oneof![Just("T"), Just("U"), Just("eth")],
        );
        let position = (
            0u64..4,
            any::<u32>(),
            any::<Option<u32>>(),
            prop_oneof![Just(0), any::<u32>()],
        );
        (ends, position, amount(), proptest::option::of(amount())).prop_map(
            |((from, to, token), (block, tx, log_index, sub_index), value, token_id)| {
                let (from, to) = (testing::address(&from), testing::address(&to));
                let transfer = testing::transfer((block, tx), token, from, to, value);
                Transfer {
                    log_index,
                    sub_index,
                    token_id,
                    transaction_hash: None,
                    ..transfer
                }
            },
        )
    }

    proptest! {
        #[test]
        fn rows_read_back(
            transfers in proptest::collection::vec(transfer(), 0..40),
            together in 0usize..40,
        ) {
            let (mut interned, mut store, mut copy) = Default::default();
            // The first ones together, the others one by one.
            let (first, rest) = transfers.split_at(together.min(transfers.len()));
            let first: Vec<_> = first.iter().collect();
            RowStore::push_all(&mut store, &first, &mut interned).unwrap();
            for transfer in rest {
                RowStore::push(&mut store, transfer, &mut interned).unwrap();
            }
            // In reverse, so that blocks and words have other indices in the copy.
            for row in (0..u32::try_from(store.len()).unwrap()).rev() {
                RowStore::push_from(&mut copy, &store, row).unwrap();
            }
            for (row, transfer) in (0..).zip(&transfers) {
                let mirrored = u32::try_from(store.len()).unwrap() - 1 - row;
                prop_assert_eq!(&store.transfer(row, &interned), transfer);
                prop_assert_eq!(&copy.transfer(mirrored, &interned), transfer);
                prop_assert_eq!(store.position(row), transfer.position());
                let row = store.row(row);
                prop_assert_eq!(interned.addresses.value(row.from), transfer.from_address);
                prop_assert_eq!(interned.addresses.value(row.to), transfer.to_address);
            }
        }
    }

    #[test]
    fn a_row_has_32_bytes() {
        assert_eq!(size_of::<Row>(), 32);
    }
}
