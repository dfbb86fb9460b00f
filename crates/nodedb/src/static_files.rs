//! The static files of a directory, as listed by one snapshot.

use crate::{
    Error, Result,
    conf::Segment,
    escape::escaped,
    jar::{Identity, Jar},
};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
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

    /// The jars of all segments.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Jar>> {
        self.by_segment.iter().flatten()
    }

    /// Returns whether no file was changed, replaced or deleted since it was listed.
    pub(crate) fn are_current(&self) -> bool {
        self.all().all(|jar| jar.is_current())
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

/// A listing of a directory is kept if the directory last changed at least this long before
/// it. Two changes within one tick of the file system's clock have the same
/// time, so a listing between them would look current. A tick is at most 10 ms.
const SETTLED: Duration = Duration::from_secs(1);

/// A directory at one moment. Each new, replaced or deleted file changes it. reth replaces
/// the `.conf` of a jar when it commits rows or truncates them (`NippyJar::freeze_config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DirectoryState {
    identity: Identity,
    modified: SystemTime,
}

impl DirectoryState {
    fn of(dir: &Path) -> Result<Self> {
        let state = fs::metadata(dir).and_then(|metadata| {
            Ok(Self {
                identity: Identity::of(&metadata),
                modified: metadata.modified()?,
            })
        });
        state.map_err(|error| Error::io("list", dir, error))
    }

    /// Whether a change after `now` would give it another time.
    fn is_settled(&self, now: SystemTime) -> bool {
        now.duration_since(self.modified)
            .is_ok_and(|age| age >= SETTLED)
    }
}

/// The jars of the last listing. A `.conf` is not read again while its files are the same, and
/// a directory is not listed again while it is unchanged.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    jars: Mutex<HashMap<OsString, Arc<Jar>>>,
    last: Mutex<Option<(DirectoryState, Arc<StaticFiles>)>>,
}

impl Sealed {
    /// Lists a directory, or returns the last listing if the directory is unchanged since then.
    pub(crate) fn list(&self, dir: &Path) -> Result<Arc<StaticFiles>> {
        // Both before the listing: a change during it gives the directory another time.
        let now = SystemTime::now();
        let state = DirectoryState::of(dir)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((listed, files)) = &*last
            && *listed == state
        {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(self.read(dir)?);
        *last = state.is_settled(now).then(|| (state, Arc::clone(&files)));
        Ok(files)
    }

    /// Makes the next call list the directory, whatever its state is.
    pub(crate) fn forget_listing(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Lists a directory. Incomplete jars are left out: the node is creating or deleting
    /// them.
    fn read(&self, dir: &Path) -> Result<StaticFiles> {
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
                    Err(Error::Corrupt { what, .. }) if segment.is_change_set() => {
                        files.unknown.push(format!("{text} ({what})"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Sets the time of the last change of a directory.
    fn age(dir: &Path, age: Duration) {
        let file = File::open(dir).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_listing_is_kept_until_the_directory_changes() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = Sealed::default();
        age(dir.path(), Duration::from_secs(60));
        let first = sealed.list(dir.path()).unwrap();
        assert!(Arc::ptr_eq(&first, &sealed.list(dir.path()).unwrap()));

        fs::write(dir.path().join("static_file_new_0_9"), []).unwrap();
        let second = sealed.list(dir.path()).unwrap();
        assert_eq!(second.unknown, ["static_file_new_0_9"]);

        age(dir.path(), Duration::from_secs(60));
        let third = sealed.list(dir.path()).unwrap();
        assert!(Arc::ptr_eq(&third, &sealed.list(dir.path()).unwrap()));
        sealed.forget_listing();
        assert!(!Arc::ptr_eq(&third, &sealed.list(dir.path()).unwrap()));
    }

    #[test]
    fn a_listing_of_a_directory_that_just_changed_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = Sealed::default();
        // A later change could have the same time.
        for modified in [Duration::ZERO, Duration::from_millis(500)] {
            age(dir.path(), modified);
            let first = sealed.list(dir.path()).unwrap();
            assert!(!Arc::ptr_eq(&first, &sealed.list(dir.path()).unwrap()));
        }
        // The clock was set back.
        let file = File::open(dir.path()).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
        let first = sealed.list(dir.path()).unwrap();
        assert!(!Arc::ptr_eq(&first, &sealed.list(dir.path()).unwrap()));
    }
}
