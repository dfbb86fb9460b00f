//! The cells of a row by what they mean.

use super::{Cells, wrong};
use crate::{
    Role,
    cell::{Cell, WrongCell},
    error::Problem,
    rows::{At, Place, Tx},
};
use alloy_primitives::{Address, U256};

impl<'a> Cells<'a> {
    pub(super) fn cell(&self, role: Role) -> Cell<'a> {
        self.0.cell(role)
    }

    pub(super) fn get<T>(
        &self,
        role: Role,
        convert: impl FnOnce(Cell<'a>) -> Result<T, Problem>,
    ) -> Result<T, WrongCell> {
        convert(self.cell(role)).map_err(|problem| WrongCell { role, problem })
    }

    pub(super) fn optional<T>(
        &self,
        role: Role,
        convert: impl FnOnce(Cell<'a>) -> Result<T, Problem>,
    ) -> Result<Option<T>, WrongCell> {
        match self.cell(role) {
            Cell::Null => Ok(None),
            _ => self.get(role, convert).map(Some),
        }
    }

    pub(super) fn place(&self, block: u64, at: At) -> Result<Place, WrongCell> {
        Ok(Place {
            block,
            tx: Tx {
                index: self.optional(Role::TransactionIndex, |cell| cell.u32())?,
                hash: self.optional(Role::Transaction, |cell| cell.hash())?,
            },
            time: self.optional(Role::Time, |cell| cell.time())?,
            at,
        })
    }

    pub(super) fn ends(&self) -> Result<(Address, Address), WrongCell> {
        Ok((
            self.get(Role::From, |cell| cell.address())?,
            self.get(Role::To, |cell| cell.address())?,
        ))
    }

    /// Some tables have the token ID in the column of the amount.
    pub(super) fn token_id(&self) -> Result<U256, WrongCell> {
        match self.optional(Role::TokenId, |cell| cell.number())? {
            Some(id) => Ok(id),
            None => self.get(Role::Value, |cell| cell.number()),
        }
    }

    pub(super) fn topics(&self) -> Result<([[u8; 32]; 4], usize), WrongCell> {
        let mut topics = [[0; 32]; 4];
        let mut count = 0;
        let joined = self.optional(Role::Topics, |cell| cell.text())?;
        if let Some(joined) = joined {
            let joined = joined.trim().trim_start_matches('[').trim_end_matches(']');
            let words = joined
                .split(|c: char| matches!(c, ',' | ';') || c.is_whitespace())
                .map(|word| word.trim_matches(['"', '\'']));
            for word in words.filter(|word| !word.is_empty()) {
                let hash = self.get(Role::Topics, |_| Cell::Text(word).hash())?;
                match topics.get_mut(count) {
                    Some(topic) => *topic = hash.0,
                    None => return Err(wrong(Role::Topics, "more than 4 topics".into())),
                }
                count += 1;
            }
            return Ok((topics, count));
        }
        for role in [Role::Topic0, Role::Topic1, Role::Topic2, Role::Topic3] {
            let Some(hash) = self.optional(role, |cell| cell.hash())? else {
                continue;
            };
            if count != role as usize - Role::Topic0 as usize {
                return Err(wrong(role, "a topic after one that is missing".into()));
            }
            topics[count] = hash.0;
            count += 1;
        }
        Ok((topics, count))
    }
}
