//! A safe wrapper of the functions of libmdbx that reading needs.
//!
//! The safe interface of `signet-libmdbx` cannot pass `MDBX_VALIDATION`. Without that flag
//! libmdbx trusts the pages that it maps: a flipped bit in `mdbx.dat` can read beyond a page
//! or abort the process (measured: within 30 random flips, in 4 of 4 runs). With the flag,
//! every page is checked before use, and damage is an error.

#![expect(unsafe_code, reason = "calls into C; each has its argument below")]

pub(super) use signet_mdbx_sys as ffi;
use std::{
    cell::RefCell,
    ffi::{CStr, c_int},
    fs::File,
    io,
    marker::PhantomData,
    mem::ManuallyDrop,
    os::{fd::FromRawFd, unix::fs::FileExt},
    ptr::{self, NonNull},
    sync::Arc,
};

/// An error code of libmdbx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub(super) c_int);

impl Code {
    /// The message of libmdbx or of the system.
    pub(super) fn text(self) -> String {
        // SAFETY: it has no preconditions.
        let text = unsafe { ffi::mdbx_liberr2str(self.0) };
        if text.is_null() {
            return io::Error::from_raw_os_error(self.0).to_string();
        }
        // SAFETY: a text that is not null is static, and ends with a zero byte.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }
}

/// The handle of a named table within one environment.
pub(super) type Handle = ffi::MDBX_dbi;

/// An environment opened read-only; closed when dropped.
#[derive(Debug)]
pub(super) struct Environment {
    env: NonNull<ffi::MDBX_env>,
}

// SAFETY: an `MDBX_env` may be used by several threads at once (mdbx.h, "The
// environment handle ... can be used by multiple threads"); closing is done
// by the last owner.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Environment {
    /// Opens the environment in directory `path`.
    pub(super) fn open(path: &CStr, tables_max: u64, readers_max: u64) -> Result<Self, Code> {
        // In debug builds, assertions of libmdbx abort on a damaged page before its
        // validation reports it. Release builds have no assertions.
        // SAFETY: sets global settings without a logger. The caller holds the lock of the
        // registry, so no other environment is being opened.
        unsafe { ffi::mdbx_setup_debug(ffi::MDBX_LOG_FATAL, ffi::MDBX_DBG_NONE, None) };
        let mut env = ptr::null_mut();
        // SAFETY: `env` is a valid place for the result.
        check(unsafe { ffi::mdbx_env_create(&mut env) })?;
        let env = Self {
            env: NonNull::new(env).ok_or(Code(ffi::MDBX_PROBLEM))?,
        };
        let ptr = env.env.as_ptr();
        // SAFETY: `ptr` was created above and not opened yet.
        check(unsafe { ffi::mdbx_env_set_option(ptr, ffi::MDBX_opt_max_db, tables_max) })?;
        // SAFETY: as above.
        check(unsafe { ffi::mdbx_env_set_option(ptr, ffi::MDBX_opt_max_readers, readers_max) })?;
        // `NOSTICKYTHREADS`: transactions belong to no thread and may be sent.
        let flags = ffi::MDBX_RDONLY
            | ffi::MDBX_NORDAHEAD
            | ffi::MDBX_NOSTICKYTHREADS
            | ffi::MDBX_VALIDATION;
        // SAFETY: `path` ends with a NUL; on failure the environment must still be
        // closed, which dropping `env` does.
        check(unsafe { ffi::mdbx_env_open(ptr, path.as_ptr(), flags, 0o644) })?;
        Ok(env)
    }

    /// The page size of the data file in bytes.
    pub(super) fn page_size(&self) -> Result<u32, Code> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut info: ffi::MDBX_envinfo = unsafe { std::mem::zeroed() };
        // SAFETY: the environment is open; no transaction is needed; `info` has the size
        // that is passed.
        check(unsafe {
            ffi::mdbx_env_info_ex(
                self.env.as_ptr(),
                ptr::null(),
                &mut info,
                size_of::<ffi::MDBX_envinfo>(),
            )
        })?;
        Ok(info.mi_dxb_pagesize)
    }

    /// Reads bytes of the data file through the descriptor of libmdbx. A descriptor of our
    /// own would, when it is closed, release the locks that this process has on the file.
    pub(super) fn read_file(&self, into: &mut [u8], position: u64) -> io::Result<()> {
        let mut descriptor = -1;
        // SAFETY: the environment is open, and `descriptor` is a valid place.
        check(unsafe { ffi::mdbx_env_get_fd(self.env.as_ptr(), &mut descriptor) })
            .map_err(|_| io::ErrorKind::Unsupported)?;
        // SAFETY: libmdbx keeps the descriptor open as long as the environment, which is
        // borrowed here; `ManuallyDrop` does not close it.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
        file.read_exact_at(into, position)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: the last owner; transactions hold an `Arc` and are gone.
        unsafe { ffi::mdbx_env_close_ex(self.env.as_ptr(), true) };
    }
}

/// A read transaction; ended when dropped.
#[derive(Debug)]
pub(super) struct ReadTxn {
    txn: NonNull<ffi::MDBX_txn>,
    /// A cursor for each table that was read. It keeps its position, so the next key of an
    /// ascending run is found in the same page. A search from the root would validate every
    /// page on the way again (measured: a third of a whole scan).
    kept: RefCell<Vec<(Handle, NonNull<ffi::MDBX_cursor>)>>,
    _env: Arc<Environment>,
}

// SAFETY: with `NOSTICKYTHREADS` a read transaction is not bound to a thread. It is not
// `Sync` because of `NonNull`, so one thread uses it at a time.
unsafe impl Send for ReadTxn {}

impl ReadTxn {
    pub(super) fn begin(env: Arc<Environment>) -> Result<Self, Code> {
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open, and lives as long as `_env`.
        check(unsafe {
            ffi::mdbx_txn_begin_ex(
                env.env.as_ptr(),
                ptr::null_mut(),
                ffi::MDBX_TXN_RDONLY,
                &mut txn,
                ptr::null_mut(),
            )
        })?;
        Ok(Self {
            txn: NonNull::new(txn).ok_or(Code(ffi::MDBX_PROBLEM))?,
            kept: RefCell::default(),
            _env: env,
        })
    }

    /// Returns the number of the commit that it sees.
    pub(super) fn id(&self) -> u64 {
        // SAFETY: the transaction is alive.
        unsafe { ffi::mdbx_txn_id(self.txn.as_ptr()) }
    }

    /// Opens a table; `None` if it does not exist. Handles are valid as long as the
    /// environment. libmdbx locks its list of handles, so threads can open them at once.
    pub(super) fn table(&self, name: &CStr) -> Result<Option<Handle>, Code> {
        let mut handle = 0;
        // SAFETY: the transaction is alive, `name` ends with a NUL.
        let code = unsafe {
            ffi::mdbx_dbi_open(
                self.txn.as_ptr(),
                name.as_ptr(),
                ffi::MDBX_DB_DEFAULTS,
                &mut handle,
            )
        };
        Ok(found(code)?.then_some(handle))
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self, table: Handle) -> Result<u64, Code> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut stat: ffi::MDBX_stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` has the size that is passed.
        check(unsafe {
            ffi::mdbx_dbi_stat(
                self.txn.as_ptr(),
                table,
                &mut stat,
                size_of::<ffi::MDBX_stat>(),
            )
        })?;
        Ok(stat.ms_entries)
    }

    /// Returns the value of a key. It is in the mapped file, in pages that the node does not
    /// change while this transaction is alive.
    pub(super) fn get(&self, table: Handle, key: &[u8]) -> Result<Option<&[u8]>, Code> {
        let cursor = self.kept_cursor(table)?;
        let mut key = outgoing(key);
        let mut value = outgoing(&[]);
        // SAFETY: the cursor belongs to this transaction, which is alive; both
        // places are valid; `MDBX_SET` reads the key and does not write through it.
        let code =
            unsafe { ffi::mdbx_cursor_get(cursor.as_ptr(), &mut key, &mut value, ffi::MDBX_SET) };
        // SAFETY: on success `value` points into the mapping, as argued above.
        Ok(found(code)?.then(|| unsafe { incoming(&value) }))
    }

    /// Returns the first row with a key >= `key`.
    pub(super) fn seek(&self, table: Handle, key: &[u8]) -> Result<Option<Row<'_>>, Code> {
        let cursor = self.kept_cursor(table)?;
        let mut key = outgoing(key);
        let mut value = outgoing(&[]);
        // SAFETY: as in `get`; `MDBX_SET_RANGE` reads the key, and replaces it on success.
        let code = unsafe {
            ffi::mdbx_cursor_get(cursor.as_ptr(), &mut key, &mut value, ffi::MDBX_SET_RANGE)
        };
        // SAFETY: on success both point into the mapping.
        Ok(found(code)?.then(|| unsafe { (incoming(&key), incoming(&value)) }))
    }

    /// Returns the first value of `key` that is >= `subkey`, from a table with duplicates.
    pub(super) fn seek_duplicate(
        &self,
        table: Handle,
        key: &[u8],
        subkey: &[u8],
    ) -> Result<Option<&[u8]>, Code> {
        let cursor = self.kept_cursor(table)?;
        let mut key = outgoing(key);
        let mut value = outgoing(subkey);
        // SAFETY: as in `get`; `MDBX_GET_BOTH_RANGE` reads key and value, and replaces the
        // value on success. A table without duplicates is an error.
        let code = unsafe {
            ffi::mdbx_cursor_get(
                cursor.as_ptr(),
                &mut key,
                &mut value,
                ffi::MDBX_GET_BOTH_RANGE,
            )
        };
        // SAFETY: on success `value` points into the mapping.
        Ok(found(code)?.then(|| unsafe { incoming(&value) }))
    }

    #[inline]
    fn kept_cursor(&self, table: Handle) -> Result<NonNull<ffi::MDBX_cursor>, Code> {
        let mut kept = self.kept.borrow_mut();
        if let Some((_, cursor)) = kept.iter().find(|(of, _)| *of == table) {
            return Ok(*cursor);
        }
        let cursor = self.open_cursor(table)?;
        kept.push((table, cursor));
        Ok(cursor)
    }

    fn open_cursor(&self, table: Handle) -> Result<NonNull<ffi::MDBX_cursor>, Code> {
        let mut cursor = ptr::null_mut();
        // SAFETY: the transaction is alive.
        check(unsafe { ffi::mdbx_cursor_open(self.txn.as_ptr(), table, &mut cursor) })?;
        NonNull::new(cursor).ok_or(Code(ffi::MDBX_PROBLEM))
    }

    pub(super) fn cursor(&self, table: Handle) -> Result<Cursor<'_>, Code> {
        Ok(Cursor {
            cursor: self.open_cursor(table)?,
            _txn: PhantomData,
        })
    }
}

impl Drop for ReadTxn {
    fn drop(&mut self) {
        for (_, cursor) in self.kept.get_mut().drain(..) {
            // SAFETY: opened by `kept_cursor`, never returned to callers, closed once.
            unsafe { ffi::mdbx_cursor_close(cursor.as_ptr()) };
        }
        // SAFETY: alive until here; other cursors borrow from it and are gone.
        unsafe { ffi::mdbx_txn_abort(self.txn.as_ptr()) };
    }
}

/// The number of rows that [`Cursor::rows`] reads at most.
const ROWS_AT_ONCE: usize = 64;

/// The key and the value of a row.
pub(crate) type Row<'txn> = (&'txn [u8], &'txn [u8]);

/// A position in a table.
#[derive(Debug)]
pub(super) struct Cursor<'txn> {
    cursor: NonNull<ffi::MDBX_cursor>,
    _txn: PhantomData<&'txn ReadTxn>,
}

impl<'txn> Cursor<'txn> {
    pub(super) fn first(&mut self) -> Result<Option<Row<'txn>>, Code> {
        self.get(ffi::MDBX_FIRST, &[])
    }

    pub(super) fn last(&mut self) -> Result<Option<Row<'txn>>, Code> {
        self.get(ffi::MDBX_LAST, &[])
    }

    pub(super) fn next(&mut self) -> Result<Option<Row<'txn>>, Code> {
        self.get(ffi::MDBX_NEXT, &[])
    }

    /// Returns the first row with a key >= `key`.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<Option<Row<'txn>>, Code> {
        self.get(ffi::MDBX_SET_RANGE, key)
    }

    /// Appends the current row and those after it, up to `ROWS_AT_ONCE`, and moves past
    /// them: one call instead of one per row. Appends nothing after the last row, or before
    /// a [`Self::seek`].
    pub(super) fn rows(&mut self, into: &mut Vec<Row<'txn>>) -> Result<(), Code> {
        let mut pairs = [outgoing(&[]); 2 * ROWS_AT_ONCE];
        let mut count = 0;
        // SAFETY: the cursor lives within its transaction, and `pairs` has the length that
        // is passed. libmdbx refuses tables with duplicates.
        let code = unsafe {
            ffi::mdbx_cursor_get_batch(
                self.cursor.as_ptr(),
                &mut count,
                pairs.as_mut_ptr(),
                pairs.len(),
                ffi::MDBX_NEXT,
            )
        };
        // "True" means that these are the last rows of the table.
        found(code)?;
        for [key, value] in pairs[..count.min(2 * ROWS_AT_ONCE)].as_chunks().0 {
            // SAFETY: libmdbx has set `count` items; see `ReadTxn::get`.
            into.push(unsafe { (incoming(key), incoming(value)) });
        }
        Ok(())
    }

    fn get(
        &mut self,
        operation: ffi::MDBX_cursor_op,
        key: &[u8],
    ) -> Result<Option<Row<'txn>>, Code> {
        let mut key = outgoing(key);
        let mut value = outgoing(&[]);
        // SAFETY: the cursor lives within its transaction; both places are valid.
        let code =
            unsafe { ffi::mdbx_cursor_get(self.cursor.as_ptr(), &mut key, &mut value, operation) };
        if !found(code)? {
            return Ok(None);
        }
        // SAFETY: on success both point into the mapping (see `ReadTxn::get`);
        // the four operations above always replace the key.
        Ok(Some(unsafe { (incoming(&key), incoming(&value)) }))
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: opened by `ReadTxn::cursor`, and closed once.
        unsafe { ffi::mdbx_cursor_close(self.cursor.as_ptr()) };
    }
}

const fn check(code: c_int) -> Result<(), Code> {
    match code {
        ffi::MDBX_SUCCESS | ffi::MDBX_RESULT_TRUE => Ok(()),
        other => Err(Code(other)),
    }
}

/// Returns whether there is a row.
const fn found(code: c_int) -> Result<bool, Code> {
    match code {
        ffi::MDBX_NOTFOUND | ffi::MDBX_ENODATA => Ok(false),
        ffi::MDBX_SUCCESS | ffi::MDBX_RESULT_TRUE => Ok(true),
        other => Err(Code(other)),
    }
}

/// Passes bytes to libmdbx.
const fn outgoing(bytes: &[u8]) -> ffi::MDBX_val {
    ffi::MDBX_val {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

/// Returns the bytes that libmdbx points to.
///
/// # Safety
///
/// The bytes must stay valid and unchanged for `'a`.
unsafe fn incoming<'a>(value: &ffi::MDBX_val) -> &'a [u8] {
    if value.iov_len == 0 {
        return &[];
    }
    debug_assert!(!value.iov_base.is_null());
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(value.iov_base.cast(), value.iov_len) }
}
