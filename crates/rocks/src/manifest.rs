//! The set of files, replayed from the manifest (`db/version_edit_handler.cc`).

use crate::{
    bytes::split_internal,
    edit::{Edit, FileMeta},
    error::{Decoded, Fault, Result},
    record::Records,
    source::Source,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
    sync::Arc,
};

/// The only order of keys that is read.
const BYTEWISE: &str = "leveldb.BytewiseComparator";

/// The tables of a column family by level. Level 0 has files that overlap; in each of the others
/// they are sorted and do not overlap.
pub(crate) type Levels = Vec<Vec<Arc<FileMeta>>>;

#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    comparator: String,
    /// Logs with a lower number have no rows that are not in tables.
    pub(crate) log_number: u64,
    files: BTreeMap<u32, BTreeMap<u64, Arc<FileMeta>>>,
    /// From `files`, until these change.
    levels: Option<Arc<Levels>>,
}

impl Family {
    fn new(name: String, comparator: String) -> Self {
        Self {
            name,
            comparator,
            log_number: 0,
            files: BTreeMap::new(),
            levels: None,
        }
    }

    /// The tables in the order in which they are read.
    pub(crate) fn levels(&mut self) -> Decoded<Arc<Levels>> {
        if let Some(levels) = &self.levels {
            return Ok(Arc::clone(levels));
        }
        if self.comparator != BYTEWISE {
            return Err(Fault::unsupported(format!(
                "column family {} with comparator {}",
                self.name, self.comparator
            )));
        }
        let mut levels = Levels::new();
        for (level, files) in &self.files {
            let mut files: Vec<_> = files.values().map(Arc::clone).collect();
            // Not before: the comparator defines the order of keys.
            if files
                .iter()
                .any(|file| file.smallest_user() > file.largest_user())
            {
                return Err(Fault::damaged(format!("keys of a table of level {level}")));
            }
            if *level == 0 {
                levels.extend(files.into_iter().rev().map(|file| vec![file]));
                continue;
            }
            files.sort_by(|a, b| internal_order(&a.smallest).cmp(&internal_order(&b.smallest)));
            let overlap = |pair: &[Arc<FileMeta>]| {
                internal_order(&pair[0].largest) >= internal_order(&pair[1].smallest)
            };
            if files.windows(2).any(overlap) {
                return Err(Fault::damaged(format!("tables of level {level} overlap")));
            }
            levels.push(files);
        }
        Ok(Arc::clone(self.levels.insert(Arc::new(levels))))
    }
}

/// Internal keys are ordered by key, and the newest of each first.
pub(crate) fn internal_order(key: &[u8]) -> (&[u8], Reverse<u64>) {
    let (user, packed) = split_internal(key).unwrap_or((key, 0));
    (user, Reverse(packed))
}

#[derive(Debug)]
pub(crate) struct Manifest {
    records: Records,
    /// By number.
    pub(crate) families: BTreeMap<u32, Family>,
    /// Logs with a lower number are obsolete.
    pub(crate) min_log_number: u64,
    /// Edits of an atomic group whose last one was not read yet.
    group: Vec<Edit>,
}

impl Manifest {
    pub(crate) fn new() -> Self {
        let default = Family::new("default".into(), BYTEWISE.into());
        Self {
            records: Records::default(),
            families: BTreeMap::from([(0, default)]),
            min_log_number: 0,
            group: Vec::new(),
        }
    }

    /// Applies the edits that were not read yet. Returns whether there were any. After an
    /// error, begin again.
    pub(crate) fn read(&mut self, source: &dyn Source, path: &Path) -> Result<bool> {
        let mut records = std::mem::take(&mut self.records);
        let mut any = false;
        // The end may be in the middle of a record: its change is not in force.
        records.read(source, path, |record| {
            any = true;
            self.add(Edit::decode(record)?)
        })?;
        self.records = records;
        Ok(any)
    }

    /// The bytes that were read.
    pub(crate) const fn offset(&self) -> u64 {
        self.records.offset()
    }

    fn add(&mut self, edit: Edit) -> Decoded<()> {
        let expected = self.group.last().and_then(|last| last.group);
        match (expected, edit.group) {
            (None, None) => return self.apply(edit),
            (Some(expected), Some(group)) if expected.checked_sub(1) != Some(group) => {
                return Err(Fault::damaged("an atomic group with a gap"));
            }
            (Some(_), None) => return Err(Fault::damaged("an atomic group without end")),
            (_, Some(_)) => {}
        }
        let complete = edit.group == Some(0);
        self.group.push(edit);
        if complete {
            for edit in std::mem::take(&mut self.group) {
                self.apply(edit)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, edit: Edit) -> Decoded<()> {
        if let Some(number) = edit.min_log_number {
            self.min_log_number = self.min_log_number.max(number);
        }
        if let Some(name) = edit.add {
            let comparator = edit.comparator.clone().unwrap_or_else(|| BYTEWISE.into());
            match self.families.entry(edit.family) {
                Entry::Vacant(vacant) => drop(vacant.insert(Family::new(name, comparator))),
                Entry::Occupied(_) => {
                    return Err(Fault::damaged(format!(
                        "column family {name} exists already"
                    )));
                }
            }
        }
        if edit.drop {
            return match self.families.remove(&edit.family) {
                Some(_) => Ok(()),
                None => Err(unknown(edit.family)),
            };
        }
        let Some(family) = self.families.get_mut(&edit.family) else {
            return Err(unknown(edit.family));
        };
        if let Some(comparator) = edit.comparator {
            family.comparator = comparator;
        }
        if let Some(number) = edit.log_number {
            family.log_number = family.log_number.max(number);
        }
        for (level, number) in edit.deleted {
            family.levels = None;
            let files = family.files.get_mut(&level);
            if files.and_then(|files| files.remove(&number)).is_none() {
                return Err(Fault::damaged(format!(
                    "table {number} of level {level} is removed, but was not there"
                )));
            }
        }
        for (level, file) in edit.added {
            family.levels = None;
            let number = file.number;
            let files = family.files.entry(level).or_default();
            if files.insert(number, file).is_some() {
                return Err(Fault::damaged(format!("table {number} is added twice")));
            }
        }
        Ok(())
    }
}

#[cold]
fn unknown(family: u32) -> Fault {
    Fault::damaged(format!("column family {family} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64, smallest: &[u8], largest: &[u8]) -> Arc<FileMeta> {
        let internal = |key: &[u8]| [key, &[1; 8]].concat();
        Arc::new(FileMeta {
            number,
            size: 1,
            smallest: internal(smallest),
            largest: internal(largest),
        })
    }

    fn numbers(manifest: &mut Manifest) -> Vec<Vec<u64>> {
        let levels = manifest.families.get_mut(&0).unwrap().levels().unwrap();
        let level = |files: &Vec<Arc<FileMeta>>| files.iter().map(|file| file.number).collect();
        levels.iter().map(level).collect()
    }

    #[test]
    fn groups_are_applied_together() {
        let mut manifest = Manifest::new();
        let edit = |group, level, file| Edit {
            added: vec![(level, file)],
            group,
            ..Edit::default()
        };
        manifest.add(edit(None, 0, file(1, b"a", b"z"))).unwrap();
        manifest.add(edit(Some(1), 0, file(2, b"b", b"c"))).unwrap();
        assert_eq!(numbers(&mut manifest), [[1]]);
        manifest.add(edit(Some(0), 1, file(3, b"x", b"y"))).unwrap();
        assert_eq!(numbers(&mut manifest), [[2], [1], [3]]);
        manifest.add(edit(None, 1, file(4, b"a", b"b"))).unwrap();
        assert_eq!(numbers(&mut manifest), [vec![2], vec![1], vec![4, 3]]);
        // A move to another level.
        let moved = Edit {
            deleted: vec![(0, 1)],
            added: vec![(2, file(1, b"a", b"z"))],
            ..Edit::default()
        };
        manifest.add(moved).unwrap();
        assert_eq!(numbers(&mut manifest), [vec![2], vec![4, 3], vec![1]]);
        manifest.add(edit(Some(5), 0, file(5, b"b", b"c"))).unwrap();
        let gap = manifest.add(edit(Some(3), 0, file(6, b"b", b"c")));
        assert_eq!(gap, Err(Fault::damaged("an atomic group with a gap")));
    }

    #[test]
    fn refuses_what_cannot_be() {
        let mut manifest = Manifest::new();
        let overlap = Edit {
            added: vec![(1, file(1, b"a", b"m")), (1, file(2, b"k", b"z"))],
            ..Edit::default()
        };
        manifest.add(overlap).unwrap();
        let family = manifest.families.get_mut(&0).unwrap();
        assert_eq!(
            family.levels().unwrap_err(),
            Fault::damaged("tables of level 1 overlap")
        );
        let gone = Edit {
            deleted: vec![(2, 1)],
            ..Edit::default()
        };
        assert!(manifest.add(gone).is_err());
        let other = Edit {
            family: 3,
            add: Some("reverse".into()),
            comparator: Some("rocksdb.ReverseBytewiseComparator".into()),
            ..Edit::default()
        };
        manifest.add(other).unwrap();
        let levels = manifest.families.get_mut(&3).unwrap().levels();
        assert!(matches!(levels, Err(Fault::Unsupported(what)) if what.contains("Reverse")));
        manifest
            .add(Edit {
                family: 3,
                drop: true,
                ..Edit::default()
            })
            .unwrap();
        let dropped = manifest.add(Edit {
            family: 3,
            ..Edit::default()
        });
        assert_eq!(dropped, Err(unknown(3)));
    }
}
