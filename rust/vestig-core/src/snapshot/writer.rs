//! The only file writes: a new name, fsync, read-only, then a renamed manifest and a synced
//! folder, under a kernel lock (FORMAT.md, "Crashes"); packed weights in the same way.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::segment::format::{
    Manifest, SegmentEntry, encode_manifest, header_crc, segment_generation, segment_name,
};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest";
const MANIFEST_NEW: &str = "manifest.new";
const LOCK: &str = "lock";
const MERGING: &str = "merging";
/// A new segment is synced in steps of this size: a commit of another thread whose own sync has to
/// wait for this one waits for one step.
const SYNC_BYTES: usize = 8 << 20;
/// Bytes that are given to the file at once, few enough to stay near the processor.
const WRITE_BYTES: usize = 128 << 10;
const DAMAGED: &str = ".damaged-";

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opens a file to write it, which its owner may read and write whatever the umask.
fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = private(options.write(true)).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o600 != 0o600 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Opens a file to read it; a symbolic link in its place is an error, its target is not touched.
pub fn open_file(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().read(true)).open(path)
}

/// Makes the folder with those above it, for its owner only, whatever the umask.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
    {
        make_folder(above)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // another process was first
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
        #[cfg(unix)]
        Ok(()) => {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
        }
        #[cfg(not(unix))]
        Ok(()) => Ok(()),
    }
}

/// Held while files of the folder are written or judged; the kernel drops it with the process.
pub struct Lock(File);

impl Lock {
    /// Waits for the lock.
    pub fn exclusive(folder: &Path) -> io::Result<Self> {
        let file = Self::file(folder, LOCK)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// The turn to merge, which one process or thread has at a time; None when another has it and
    /// `wait` is false.
    pub fn merging(folder: &Path, wait: bool) -> io::Result<Option<Self>> {
        let file = Self::file(folder, MERGING)?;
        if wait {
            file.lock()?;
            return Ok(Some(Self(file)));
        }
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn file(folder: &Path, name: &str) -> io::Result<File> {
        open_own(
            OpenOptions::new().create(true).truncate(false),
            &folder.join(name),
        )
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing unlocks as well, so a failure here changes nothing.
        let _ = self.0.unlock();
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Highest generation that any file of the folder names.
pub fn newest_generation(folder: &Path) -> io::Result<u64> {
    let mut newest = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let plain = name
            .split_once(DAMAGED)
            .map_or(name.as_ref(), |(plain, _)| plain);
        newest = newest.max(segment_generation(plain).unwrap_or(0));
    }
    Ok(newest)
}

/// A segment file that no manifest names yet. Its shared lock keeps sweeps of other processes
/// away; dropped before `keep`, it is removed.
pub struct Draft {
    file: File,
    path: PathBuf,
    name: String,
    kept: bool,
}

impl Draft {
    /// An empty file under a new name. The caller holds the exclusive lock, so no
    /// sweep comes between the file and its lock.
    pub fn create(folder: &Path, generation: u64) -> io::Result<Self> {
        loop {
            let random = std::collections::hash_map::RandomState::new()
                .build_hasher()
                .finish();
            let name = segment_name(generation, random);
            let path = folder.join(&name);
            let file = match open_own(OpenOptions::new().create_new(true), &path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            let draft = Self {
                file,
                path,
                name,
                kept: false,
            };
            draft.file.lock_shared()?;
            return Ok(draft);
        }
    }

    /// Writes an image durably and makes the file read-only; None when `stop` returned true. `write`
    /// puts zeros in the place of the header, which it returns and which is written last.
    pub fn fill(
        &mut self,
        stop: &dyn Fn() -> bool,
        write: impl FnOnce(&mut dyn Write) -> io::Result<Vec<u8>>,
    ) -> io::Result<Option<SegmentEntry>> {
        let mut out = SyncedWriter {
            file: &self.file,
            waiting: Vec::with_capacity(WRITE_BYTES),
            unsynced: 0,
            bytes: 0,
            stop,
            stopped: false,
        };
        let written = write(&mut out).and_then(|header| out.rest().map(|()| header));
        let header = match written {
            Err(_) if out.stopped => return Ok(None),
            other => other?,
        };
        let bytes = out.bytes;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        let mut permissions = self.file.metadata()?.permissions();
        permissions.set_readonly(true);
        self.file.set_permissions(permissions)?;
        self.file.sync_all()?;
        Ok(Some(SegmentEntry {
            name: self.name.clone(),
            bytes,
            crc: header_crc(&header).map_err(io::Error::other)?,
        }))
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on a manifest may name it.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody knows the name; a leftover would only take space.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Bytes on their way to a file, synced in steps.
struct SyncedWriter<'a> {
    file: &'a File,
    waiting: Vec<u8>,
    /// Of them in the file since it was synced.
    unsynced: usize,
    bytes: u64,
    stop: &'a dyn Fn() -> bool,
    stopped: bool,
}

impl SyncedWriter<'_> {
    fn rest(&mut self) -> io::Result<()> {
        self.stopped |= (self.stop)();
        if self.stopped {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        self.file.write_all(&self.waiting)?;
        self.bytes += self.waiting.len() as u64;
        self.unsynced += self.waiting.len();
        self.waiting.clear();
        Ok(())
    }
}

impl Write for SyncedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(WRITE_BYTES - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..taken]);
        if self.waiting.len() == WRITE_BYTES {
            self.rest()?;
        }
        if self.unsynced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes an image under a new name, durably, and makes it read-only.
pub fn write_segment(
    folder: &Path,
    generation: u64,
    write: impl FnOnce(&mut dyn Write) -> io::Result<Vec<u8>>,
) -> io::Result<SegmentEntry> {
    let mut draft = Draft::create(folder, generation)?;
    let entry = draft.fill(&|| false, write)?;
    draft.keep();
    entry.ok_or_else(|| ErrorKind::Interrupted.into())
}

/// Makes a manifest the current one, durably. Bytes written.
pub fn write_manifest(folder: &Path, manifest: &Manifest) -> io::Result<u64> {
    let bytes = encode_manifest(manifest);
    let new = folder.join(MANIFEST_NEW);
    let mut file = open_own(OpenOptions::new().create(true).truncate(true), &new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    // Segments are named by the manifest: their folder entries must be durable before it is.
    sync_folder(folder)?;
    fs::rename(&new, folder.join(MANIFEST))?;
    sync_folder(folder)?;
    Ok(bytes.len() as u64)
}

/// Gives a file these bytes, durably and for its owner only; whoever reads its name finds the file
/// of before or the whole new one. False when another process is just writing it: that one is left
/// to do so.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let beside = |end: &str| {
        let mut name = name.to_os_string();
        name.push(end);
        folder.join(name)
    };
    make_folder(folder)?;
    let lock = open_own(
        OpenOptions::new().create(true).truncate(false),
        &beside(".lock"),
    )?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let new = beside(".new");
    // One of a process that was killed, or a link: nothing that stands there is written through.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = open_own(OpenOptions::new().create_new(true), &new)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if let Err(error) = written {
        // The cause is reported; a leftover would only take space.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    sync_folder(folder)?;
    Ok(true)
}

/// Removes segments that no manifest names any more and that nobody reads; how many stay
/// because of readers, for a later sweep. A file that cannot be removed is only space.
pub fn sweep(folder: &Path, manifest: &Manifest) -> io::Result<usize> {
    let named: HashSet<&str> = manifest.segments.iter().map(|s| s.name.as_str()).collect();
    let mut read = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if segment_generation(name).is_none() || named.contains(name) {
            continue;
        }
        let path = folder.join(name);
        match open_file(&path).map(|file| (file.try_lock().is_ok(), file)) {
            // The lock is held until the name is gone: whoever opened the file meanwhile sees
            // that it has none.
            Ok((true, _file)) => {
                let _ = fs::remove_file(&path);
            }
            Ok((false, _)) => read += 1,
            Err(_) => {
                let _ = fs::remove_file(&path);
            }
        }
    }
    Ok(read)
}

/// Renames the manifest and every segment to `<name>.damaged-<n>`; n is new.
pub fn move_aside(folder: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    let mut number = 1_u64;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some((_, used)) = name.split_once(DAMAGED) {
            number = number.max(used.parse::<u64>().unwrap_or(0).saturating_add(1));
        } else if name == MANIFEST || segment_generation(name).is_some() {
            names.push(name.to_owned());
        }
    }
    // The manifest first: segments without one are leftovers, never a store.
    names.sort();
    for name in names {
        fs::rename(
            folder.join(&name),
            folder.join(format!("{name}{DAMAGED}{number}")),
        )?;
    }
    sync_folder(folder)
}
