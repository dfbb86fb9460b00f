//! One change of the set of files, a record of the manifest (`db/version_edit.cc`).

use crate::{
    bytes::{Input, split_internal},
    error::{Decoded, Fault},
};
use std::sync::Arc;

/// Unknown tags with this bit, and their strings, may be ignored.
const IGNORABLE: u32 = 1 << 13;
/// Unknown fields of a file with this bit may not be ignored.
const NOT_IGNORABLE_FIELD: u32 = 1 << 6;
/// More than any database has; RocksDB's default is 7.
const LEVELS_MAX: u32 = 64;

/// A table, as the manifest describes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileMeta {
    /// The number in its name.
    pub(crate) number: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// The first internal key.
    pub(crate) smallest: Vec<u8>,
    /// The last internal key, inclusive.
    pub(crate) largest: Vec<u8>,
}

impl FileMeta {
    pub(crate) fn smallest_user(&self) -> &[u8] {
        user(&self.smallest)
    }

    pub(crate) fn largest_user(&self) -> &[u8] {
        user(&self.largest)
    }
}

fn user(key: &[u8]) -> &[u8] {
    split_internal(key).map_or(key, |(user, _)| user)
}

/// One record of a manifest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The name of the order of keys.
    pub(crate) comparator: Option<String>,
    /// Logs with a lower number have no rows of this column family that are not in tables.
    pub(crate) log_number: Option<u64>,
    /// The same for all column families.
    pub(crate) min_log_number: Option<u64>,
    /// The number of the column family.
    pub(crate) family: u32,
    /// The name of a new column family.
    pub(crate) add: Option<String>,
    pub(crate) drop: bool,
    /// Level and number of files. They are removed before others are added.
    pub(crate) deleted: Vec<(u32, u64)>,
    pub(crate) added: Vec<(u32, Arc<FileMeta>)>,
    /// How many edits follow that must be applied together with this one.
    pub(crate) group: Option<u32>,
}

impl Edit {
    pub(crate) fn decode(record: &[u8]) -> Decoded<Self> {
        let mut input = Input(record);
        let mut edit = Self::default();
        while !input.is_empty() {
            let tag = input.varint32().ok_or_else(|| bad("a tag"))?;
            edit.field(tag, &mut input)?;
        }
        Ok(edit)
    }

    fn field(&mut self, tag: u32, input: &mut Input<'_>) -> Decoded<()> {
        match tag {
            1 => self.comparator = Some(text(input.prefixed(), "the comparator")?),
            2 => self.log_number = Some(number(input.varint64(), "a log number")?),
            // The next file number, the last sequence number.
            3 | 4 => drop(number(input.varint64(), "a number")?),
            // Where the next compaction begins.
            5 => {
                level(input)?;
                internal_key(input)?;
            }
            6 => {
                let level = level(input)?;
                let file = number(input.varint64(), "a deleted file")?;
                self.deleted.push((level, file));
            }
            103 => {
                let added = self.file(input)?;
                self.added.push(added);
            }
            9 => match number(input.varint64(), "a log number")? {
                0 => {}
                _ => return Err(Fault::unsupported("a previous log (kPrevLogNumber)")),
            },
            10 => self.min_log_number = Some(number(input.varint64(), "a log number")?),
            200 => self.family = number(input.varint32(), "a column family")?,
            201 => self.add = Some(text(input.prefixed(), "the name of a column family")?),
            202 => self.drop = true,
            203 => drop(number(input.varint32(), "the highest column family")?),
            300 => self.group = Some(number(input.varint32(), "an atomic group")?),
            // Twice, because the numbers changed.
            400 | 401 | 0x2002 | 0x2003 => {
                return Err(Fault::unsupported("blob files (kBlobFileAddition)"));
            }
            // Without length, unlike later ones.
            0x2004 | 0x2005 => return Err(Fault::unsupported("sizes of logs (kWalAddition)")),
            tag if tag & IGNORABLE != 0 => drop(number(input.prefixed(), "an ignored field")?),
            tag => {
                return Err(Fault::unsupported(format!(
                    "manifest records with tag {tag}"
                )));
            }
        }
        Ok(())
    }

    /// A new file: kNewFile4.
    fn file(&mut self, input: &mut Input<'_>) -> Decoded<(u32, Arc<FileMeta>)> {
        let level = level(input)?;
        let file = FileMeta {
            number: number(input.varint64(), "the number of a file")?,
            size: number(input.varint64(), "the size of a file")?,
            smallest: internal_key(input)?,
            largest: internal_key(input)?,
        };
        number(input.varint64(), "the lowest sequence number")?;
        number(input.varint64(), "the highest sequence number")?;
        self.file_fields(input)?;
        Ok((level, Arc::new(file)))
    }

    fn file_fields(&mut self, input: &mut Input<'_>) -> Decoded<()> {
        loop {
            let tag = number(input.varint32(), "the field of a file")?;
            if tag == 1 {
                return Ok(());
            }
            let value = number(input.prefixed(), "the field of a file")?;
            match tag {
                3 => {
                    let fixed = Input(value).fixed64();
                    self.min_log_number = Some(number(fixed, "a log number")?);
                }
                // kUserDefinedTimestampsPersisted is written only if it is false.
                16 => return Err(Fault::unsupported("user-defined timestamps in memory only")),
                65 => match *value {
                    [0] => {}
                    [_] => {
                        return Err(Fault::unsupported("tables in other directories (db_paths)"));
                    }
                    _ => return Err(bad("the path of a file")),
                },
                tag if tag & NOT_IGNORABLE_FIELD != 0 => {
                    return Err(Fault::unsupported(format!("files with field {tag}")));
                }
                // Times, epochs, checksums of whole files, hints for compactions.
                _ => {}
            }
        }
    }
}

fn level(input: &mut Input<'_>) -> Decoded<u32> {
    let level = input.varint32().filter(|level| *level < LEVELS_MAX);
    level.ok_or_else(|| bad("a level"))
}

fn internal_key(input: &mut Input<'_>) -> Decoded<Vec<u8>> {
    let key = input.prefixed().filter(|key| key.len() >= 8);
    Ok(key.ok_or_else(|| bad("a key"))?.to_vec())
}

fn text(value: Option<&[u8]>, what: &str) -> Decoded<String> {
    let value = value.and_then(|value| std::str::from_utf8(value).ok());
    Ok(value.ok_or_else(|| bad(what))?.to_owned())
}

fn number<T>(value: Option<T>, what: &str) -> Decoded<T> {
    value.ok_or_else(|| bad(what))
}

#[cold]
fn bad(what: &str) -> Fault {
    Fault::damaged(format!("{what} is invalid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
    }

    /// Records that RocksDB 10.4.2 wrote for reth.
    #[test]
    fn decodes_real_records() {
        let edit = Edit::decode(&bytes(
            "011a6c6576656c64622e4279746577697365436f6d70617261746f72020403060400c80102c9010f4163\
             636f756e7473486973746f7279894001 01",
        ));
        let expected = Edit {
            comparator: Some("leveldb.BytewiseComparator".into()),
            log_number: Some(4),
            family: 2,
            add: Some("AccountsHistory".into()),
            ..Edit::default()
        };
        assert_eq!(edit.unwrap(), expected);

        // A compaction: table 16 replaces table 9, both in level 0.
        let edit = Edit::decode(&bytes(
            "0900031104a109060009670010ac33240000000000000000000000000000000000000004ffffffffffff\
             ffff010000000000000024fffb0a7ebb86e811ab3f4c62c0660fdf77465d8fffffffffffffffff010000\
             000000000000000505bddd96d8060605c4dd96d8060d01010c1031fffcbbed797a805b66d8b56d7a0cdb\
             0f02f00801c80102",
        ))
        .unwrap();
        assert_eq!((edit.family, edit.log_number), (2, None));
        assert_eq!(edit.deleted, [(0, 9)]);
        let [(0, file)] = &edit.added[..] else {
            panic!("{edit:?}")
        };
        assert_eq!((file.number, file.size), (16, 6572));
        assert_eq!(
            file.smallest_user()[..20],
            [[0; 19].as_slice(), &[4]].concat()
        );
        assert_eq!(file.largest_user().len(), 28);
    }

    #[test]
    fn skips_what_may_be_ignored_and_refuses_the_rest() {
        let refused = |hex: &str| match Edit::decode(&bytes(hex)) {
            Err(Fault::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        };
        // Sizes of logs, and a tag of the future with the bit for ignorable ones.
        let ignored = "8740 04 07 02 05 01  e441 02 abcd  0207";
        let edit = Edit::decode(&bytes(ignored)).unwrap();
        assert_eq!(
            edit,
            Edit {
                log_number: Some(7),
                ..Edit::default()
            }
        );
        assert_eq!(refused("ac02 00 e807"), "manifest records with tag 1000");
        assert_eq!(refused("9003"), "blob files (kBlobFileAddition)");
        assert_eq!(refused("8440"), "sizes of logs (kWalAddition)");
        assert_eq!(refused("0905"), "a previous log (kPrevLogNumber)");
        let file = "67 00 07 09 08 0000000000000000 08 0000000000000000 00 00";
        assert_eq!(
            refused(&format!("{file} 41 01 01 01")),
            "tables in other directories (db_paths)"
        );
        assert_eq!(refused(&format!("{file} 42 00 01")), "files with field 66");
        assert!(Edit::decode(&bytes(&format!("{file} 22 00 01"))).is_ok());
    }
}
