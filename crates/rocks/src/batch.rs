//! A write batch, a record of the log (`db/write_batch.cc`).

use crate::{
    bytes::Input,
    error::{Decoded, Fault},
};

/// A change of one row, or of a range of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    Put {
        key: &'a [u8],
        value: &'a [u8],
    },
    /// Also of a row that was written only once.
    Delete {
        key: &'a [u8],
    },
    /// `end` is exclusive.
    DeleteRange {
        begin: &'a [u8],
        end: &'a [u8],
    },
    /// A kind that is not read, with its name.
    Other(&'static str),
}

/// Calls a function with each change, its column family and sequence number.
pub(crate) fn decode<'a>(
    batch: &'a [u8],
    mut each: impl FnMut(u32, u64, Change<'a>) -> Decoded<()>,
) -> Decoded<()> {
    let mut input = Input(batch);
    let header = input.fixed64().zip(input.fixed32());
    let (first, count) = header.ok_or_else(|| Fault::damaged("a batch without header"))?;
    let mut found = 0;
    while !input.is_empty() {
        if let Some((family, change)) = change(&mut input)? {
            let sequence = first.checked_add(u64::from(found));
            let sequence = sequence.filter(|sequence| *sequence < 1 << 56);
            let sequence = sequence.ok_or_else(|| Fault::damaged("a sequence number"))?;
            each(family, sequence, change)?;
            found += 1;
            if found > count {
                break;
            }
        }
    }
    if found != count {
        return Err(Fault::damaged(format!(
            "a batch of {count} changes has {found}"
        )));
    }
    Ok(())
}

fn change<'a>(input: &mut Input<'a>) -> Decoded<Option<(u32, Change<'a>)>> {
    let short = || Fault::damaged("a change of a batch is cut off");
    let tag = input.byte().ok_or_else(short)?;
    let family = match tag {
        4..=6 | 8 | 0xe | 0x10 | 0x17 | 0x19 => input.varint32().ok_or_else(short)?,
        _ => 0,
    };
    let mut string = || input.prefixed().ok_or_else(short);
    let change = match tag {
        0 | 4 | 7 | 8 => Change::Delete { key: string()? },
        1 | 5 => Change::Put {
            key: string()?,
            value: string()?,
        },
        0xe | 0xf => Change::DeleteRange {
            begin: string()?,
            end: string()?,
        },
        2 | 6 | 0x10 | 0x11 | 0x16 | 0x17 | 0x18 | 0x19 => {
            string()?;
            string()?;
            Change::Other(match tag {
                2 | 6 => "kTypeMerge",
                0x10 | 0x11 => "kTypeBlobIndex",
                0x16 | 0x17 => "kTypeWideColumnEntity",
                _ => "kTypeValuePreferredSeqno",
            })
        }
        // Data for replicas.
        3 => {
            string()?;
            return Ok(None);
        }
        // The end of a transaction without two-phase commit.
        0xd => return Ok(None),
        9..=0xc | 0x12 | 0x13 | 0x15 => {
            return Err(Fault::unsupported(
                "two-phase commit (kTypeBeginPrepareXID)",
            ));
        }
        other => return Err(Fault::unsupported(format!("changes of type {other}"))),
    };
    Ok(Some((family, change)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(count: u8, rest: &[u8]) -> Decoded<Vec<(u32, u64, String)>> {
        let batch = [&[9, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0][..], rest].concat();
        let mut found = Vec::new();
        decode(&batch, |family, sequence, change| {
            found.push((family, sequence, format!("{change:?}")));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn decodes_every_kind() {
        let batch = b"\x01\x01k\x01v\x03\x02hi\x05\x07\x01k\x00\x0d\x08\x02\x01s\x0f\x01a\x01b\x10\x04\x01k\x02bb";
        let found = changes(5, batch).unwrap();
        let expected = [
            (0, 9, "Put { key: [107], value: [118] }"),
            (7, 10, "Put { key: [107], value: [] }"),
            (2, 11, "Delete { key: [115] }"),
            (0, 12, "DeleteRange { begin: [97], end: [98] }"),
            (4, 13, "Other(\"kTypeBlobIndex\")"),
        ];
        assert_eq!(found, expected.map(|(a, b, c)| (a, b, c.to_owned())));
    }

    #[test]
    fn refuses_by_name() {
        let refused = |count, rest| changes(count, rest).unwrap_err();
        assert_eq!(
            refused(2, b"\x01\x01k\x01v"),
            Fault::damaged("a batch of 2 changes has 1")
        );
        assert_eq!(
            refused(0, b"\x01\x01k\x01v"),
            Fault::damaged("a batch of 0 changes has 1")
        );
        assert_eq!(
            refused(1, b"\x01\x01k\x02v"),
            Fault::damaged("a change of a batch is cut off")
        );
        assert_eq!(
            refused(0, b"\x09"),
            Fault::unsupported("two-phase commit (kTypeBeginPrepareXID)")
        );
        assert_eq!(
            refused(1, b"\x7e"),
            Fault::unsupported("changes of type 126")
        );
        assert!(decode(b"short", |_, _, _| Ok(())).is_err());
    }
}
