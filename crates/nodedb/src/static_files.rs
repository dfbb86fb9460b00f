//! The static files of a directory, as listed by one snapshot.

use crate::{Error, Result, conf::Segment, escape::escaped, jar::Jar};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// The jars of all segments, ascending in each segment.
#[derive(Debug, Default)]
pub(crate) struct StaticFiles {
    by_segment: [Vec<Arc<Jar>>; Segment::ALL.len()],
    /// Jars with rows, by their first block (headers) or transaction.
    rows: [Vec<(u64, Arc<Jar>)>; Segment::ALL.len()],
    /// Escaped names of files of other versions, e.g. `static_file_blockmeta_0_499999`.
    pub(crate) unknown: Vec<String>,
}

impl StaticFiles {
    pub(crate) fn jars(&self, segment: Segment) -> &[Arc<Jar>] {
        &self.by_segment[segment as usize]
    }

    /// Returns whether no file was changed, replaced or deleted since it was listed.
    pub(crate) fn are_current(&self) -> bool {
        self.by_segment.iter().flatten().all(|jar| jar.is_current())
    }

    /// Returns the jar with the row of a block (headers) or transaction (other segments), and
    /// the row.
    pub(crate) fn find(&self, segment: Segment, number: u64) -> Option<(&Arc<Jar>, u64)> {
        let jars = &self.rows[segment as usize];
        let after = jars.partition_point(|(first, _)| *first <= number);
        let (_, jar) = &jars[after.checked_sub(1)?];
        jar.row_of(number).map(|row| (jar, row))
    }

    /// Returns the change-set jar that includes a block.
    pub(crate) fn find_block(&self, segment: Segment, block: u64) -> Option<&Arc<Jar>> {
        let jars = &self.by_segment[segment as usize];
        let after = jars.partition_point(|jar| jar.conf.expected_blocks.first <= block);
        let jar = jars.get(after.checked_sub(1)?)?;
        jar.conf.blocks?.contains(block).then_some(jar)
    }
}

/// A cache of full jars between snapshots: their `.conf` is not read again while the files
/// are the same.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    jars: Mutex<HashMap<OsString, Arc<Jar>>>,
}

impl Sealed {
    /// Lists a directory. Incomplete jars are left out: the node is creating or deleting
    /// them.
    pub(crate) fn list(&self, dir: &Path) -> Result<StaticFiles> {
        let mut files = StaticFiles::default();
        let entries = fs::read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
        let mut sealed = self.jars.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = HashMap::new();
        for entry in entries {
            let name = entry
                .map_err(|error| Error::io("list", dir, error))?
                .file_name();
            let Some(text) = name.to_str() else { continue };
            let Some((segment, _)) = Segment::of_file(text) else {
                if text.starts_with("static_file_") && !text.contains('.') {
                    files.unknown.push(escaped(text));
                }
                continue;
            };
            let jar = match sealed.remove(&name) {
                Some(jar) if jar.is_current() => jar,
                _ => match Jar::load(&dir.join(&name), segment) {
                    Ok(Some(jar)) => Arc::new(jar),
                    Ok(None) => continue,
                    // Scans do not need change sets, so the other files stay usable. Their
                    // format differs in `edge` builds of reth 1.10.
                    Err(Error::Corrupt { .. }) if segment.is_change_set() => {
                        files.unknown.push(text.to_owned());
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            if jar.conf.is_sealed() {
                kept.insert(name, Arc::clone(&jar));
            }
            files.by_segment[segment as usize].push(jar);
        }
        *sealed = kept;
        for (jars, rows) in files.by_segment.iter_mut().zip(&mut files.rows) {
            jars.sort_by_key(|jar| {
                (
                    jar.conf.expected_blocks.first,
                    jar.conf.expected_blocks.last,
                )
            });
            rows.extend(
                jars.iter()
                    .filter_map(|jar| Some((jar.row_range()?.first, Arc::clone(jar)))),
            );
            rows.sort_by_key(|(first, _)| *first);
        }
        files.unknown.sort();
        Ok(files)
    }
}
