//! The only file writes: a new name, fsync, read-only, then a renamed manifest and a synced
//! folder, under a kernel lock (docs/format.md, "Crashes").

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::format::{
    Manifest, SegmentEntry, encode_manifest, header_crc, segment_generation, segment_name,
};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest";
const MANIFEST_NEW: &str = "manifest.new";
const LOCK: &str = "lock";
const DAMAGED: &str = ".damaged-";

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Makes the folder, for its owner only.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Held while files of the folder are written or judged; the kernel drops it with the process.
pub struct Lock(File);

impl Lock {
    /// Waits for the lock.
    pub fn exclusive(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file =
            private(options.write(true).create(true).truncate(false)).open(folder.join(LOCK))?;
        file.lock()?;
        Ok(Self(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing unlocks as well; a failure here has no one to tell.
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

/// Writes a sealed image under a name nobody knows yet, durably, and makes it read-only.
pub fn write_segment(folder: &Path, generation: u64, image: &[u8]) -> io::Result<SegmentEntry> {
    let crc = header_crc(image).map_err(io::Error::other)?;
    loop {
        let random = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        let name = segment_name(generation, random);
        let path = folder.join(&name);
        let mut options = OpenOptions::new();
        let mut file = match private(options.write(true).create_new(true)).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            other => other?,
        };
        let written = fill(&mut file, image);
        if let Err(error) = written {
            // Nobody knows the name; a leftover would only take space.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        return Ok(SegmentEntry {
            name,
            bytes: image.len() as u64,
            crc,
        });
    }
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    file.set_permissions(permissions)?;
    file.sync_all()
}

/// Makes a manifest the current one, durably. Bytes written.
pub fn write_manifest(folder: &Path, manifest: &Manifest) -> io::Result<u64> {
    let bytes = encode_manifest(manifest);
    let new = folder.join(MANIFEST_NEW);
    let mut options = OpenOptions::new();
    let mut file = private(options.write(true).create(true).truncate(true)).open(&new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    // Segments are named by the manifest: their folder entries must be durable before it is.
    sync_folder(folder)?;
    fs::rename(&new, folder.join(MANIFEST))?;
    sync_folder(folder)?;
    Ok(bytes.len() as u64)
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
        match File::open(&path).and_then(|file| Ok((file.try_lock().is_ok(), file))) {
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
