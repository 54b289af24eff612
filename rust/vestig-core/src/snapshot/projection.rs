//! The shared state of one store's projection: many readers, one writer at a time.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use super::merged_rows::MergedRows;
use super::{load, writer};
use crate::error::{CoreError, Result};
use crate::kernels::bits::set_bits;
use crate::segment::Id;
use crate::segment::columns::kept::KeptRows;
use crate::segment::format::{Identity, Manifest, SegmentEntry};
use crate::segment::image::Image;
use crate::snapshot::load::{Prepared, Reusable};
use crate::snapshot::merge_plan::{entries, first_written};
use crate::snapshot::spill::HELD_BYTES_MAX;
use crate::snapshot::tail::{Analysed, NewRow, Revision};
use crate::snapshot::{Part, Snapshot};
use crate::words::Stems;

/// Longest model name that a header holds.
const MODEL_MAX: usize = 1024;

/// Segments, manifest and tail of one store. All methods take `&self` and may run in parallel;
/// a reader keeps the snapshot it began with.
pub struct Projection {
    pub(crate) folder: Option<PathBuf>,
    read_only: bool,
    pub(crate) identity: Arc<Identity>,
    current: RwLock<Arc<Snapshot>>,
    /// Lock of the writer that makes the next snapshot; true after `reset`, until the next publication.
    writing: Mutex<bool>,
    /// The segments that a merge made, until a snapshot holds it.
    pub(crate) prepared: Mutex<Option<Prepared>>,
    /// Files of the tail.
    spilled: Mutex<Vec<writer::Draft>>,
    /// Number of requests to stop merging.
    pub(crate) stops: AtomicU64,
    discarded: Option<String>,
}

impl Projection {
    /// `folder` None = memory only. Damage is moved aside and reported by `discarded`.
    pub fn open(folder: Option<PathBuf>, identity: Identity, read_only: bool) -> Result<Self> {
        if identity.dimensions == 0 || identity.dimensions > 8192 {
            let found = identity.dimensions;
            return Err(CoreError::Invalid(format!(
                "expected 1 to 8192 dimensions, got {found}"
            )));
        }
        if identity.model.len() > MODEL_MAX {
            return Err(CoreError::Invalid(format!(
                "expected a model name of at most {MODEL_MAX} bytes"
            )));
        }
        let identity = Arc::new(identity);
        let (mut snapshot, mut discarded) = (Snapshot::empty(Arc::clone(&identity)), None);
        if let Some(folder) = &folder {
            if !read_only {
                writer::make_folder(folder)?;
            }
            (snapshot, discarded) = open_folder(folder, &identity, read_only)?;
        }
        let current = RwLock::new(Arc::new(snapshot));
        Ok(Self {
            folder,
            read_only,
            identity,
            current,
            writing: Mutex::new(false),
            prepared: Mutex::new(None),
            spilled: Mutex::default(),
            stops: AtomicU64::new(0),
            discarded,
        })
    }

    /// Why files were not used at open; None when they were, or when there were none.
    #[must_use]
    pub fn discarded(&self) -> Option<&str> {
        self.discarded.as_deref()
    }

    /// Store, model and analyser that its files belong to.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The state now; it never changes.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state now; `Moved` unless it is that of this seq.
    pub fn snapshot_at(&self, seq: u64) -> Result<Arc<Snapshot>> {
        let snapshot = self.snapshot();
        if snapshot.applied_seq == seq {
            Ok(snapshot)
        } else {
            Err(CoreError::Moved)
        }
    }

    pub(crate) fn replace(&self, snapshot: Snapshot) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }

    /// The folder, if this process may write to it.
    pub(crate) fn writable(&self) -> Option<&PathBuf> {
        self.folder.as_ref().filter(|_| !self.read_only)
    }

    pub(crate) fn prepared(&self) -> MutexGuard<'_, Option<Prepared>> {
        // Set and taken whole.
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn spilled(&self) -> MutexGuard<'_, Vec<writer::Draft>> {
        self.spilled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn writing(&self) -> MutexGuard<'_, bool> {
        // A panic between two snapshots leaves the former one whole.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One stat of the manifest; maps a newer set. False when nothing changed, or when another
    /// thread of this process is just changing it.
    pub fn refresh(&self) -> Result<bool> {
        let Some(folder) = &self.folder else {
            return Ok(false);
        };
        if load::stamp(folder)? == self.snapshot().stamp {
            return Ok(false);
        }
        let guard = match self.writing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        // After a reset the files are what was given up; the next publication replaces them.
        if *guard {
            return Ok(false);
        }
        self.adopt(folder, u64::MAX)
    }

    /// Takes over what is published if it is neither older than the current snapshot nor newer than
    /// `newest`. The caller holds `writing`.
    pub(crate) fn adopt(&self, folder: &Path, newest: u64) -> Result<bool> {
        let old = self.snapshot();
        let prepared = self.prepared().clone();
        let reusable = Reusable {
            held: &old,
            prepared: prepared.as_ref(),
        };
        let Some(mut new) = load::load(folder, &self.identity, &reusable)? else {
            return Ok(false);
        };
        if new.stamp == old.stamp || new.upto_seq > newest {
            return Ok(false);
        }
        // A map that no snapshot needs would keep its file.
        *self.prepared() = None;
        if new.upto_seq < old.upto_seq {
            // Going back would forget rows that the caller has already seen.
            let mut kept = old.as_ref().clone();
            kept.stamp = new.stamp;
            kept.generation = kept.generation.max(new.generation);
            self.replace(kept);
            return Ok(false);
        }
        new.adopt_tail(&old);
        self.replace(new);
        Ok(true)
    }

    /// Row versions into the tail, all or none. Of two versions of one id the last one counts.
    pub fn apply(&self, rows: &[NewRow], upto_seq: u64, chain_head: [u8; 32]) -> Result<()> {
        self.apply_all(rows, &[], &[], upto_seq, chain_head)
    }

    /// Like `apply`, after masking every version of the forgotten memories up to the transaction
    /// that forgot them; with memories of which little is other and that are not in `rows`.
    pub fn apply_all(
        &self,
        rows: &[NewRow],
        revisions: &[Revision],
        removals: &[(Id, u64)],
        upto_seq: u64,
        chain_head: [u8; 32],
    ) -> Result<()> {
        let guard = self.writing();
        let held = self.snapshot();
        let mut snapshot = held.as_ref().clone();
        if upto_seq < snapshot.applied_seq {
            let stands = snapshot.applied_seq;
            return Err(CoreError::Invalid(format!(
                "expected a seq of at least {stands}, got {upto_seq}"
            )));
        }
        let mut last = std::collections::HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            last.insert(row.id, i);
        }
        let newest = rows
            .iter()
            .enumerate()
            .filter(|(i, row)| last.get(&row.id) == Some(i));
        let mut stems = match rows {
            [] | [_] => Stems::of_one_text(),
            _ => Stems::of_many_texts(),
        };
        let analysed = newest
            .map(|(_, row)| Analysed::new(row, &self.identity, &mut stems))
            .collect::<Result<Vec<Analysed<'_>>>>()?;
        let mut versions: Vec<_> = analysed.iter().map(Analysed::version).collect();
        for revision in revisions {
            versions.push(revision.version(&held)?);
        }
        snapshot.remove(removals);
        snapshot
            .append(&versions)
            .map_err(|damage| CoreError::Invalid(damage.0))?;
        snapshot.applied_seq = upto_seq;
        snapshot.chain_head = chain_head;
        self.replace(snapshot);
        // An error of the disk is reported by the publication; until then memory serves as well.
        let _ = self.spill_tail(HELD_BYTES_MAX);
        drop(guard);
        Ok(())
    }

    /// Lets go of every map and of the tail: what is read now was given up.
    pub fn close(&self) {
        let _writing = self.writing();
        *self.prepared() = None;
        self.replace(Snapshot::empty(Arc::clone(&self.identity)));
        self.spilled().clear();
    }

    /// Empty; what is on disk is replaced by the next publication.
    pub fn reset(&self) {
        let mut replaced = self.writing();
        let old = self.snapshot();
        let mut empty = Snapshot::empty(Arc::clone(&self.identity));
        // The files there are given up: only a newer manifest is read again.
        let folder = self.folder.as_deref();
        empty.stamp = folder.and_then(|folder| load::stamp(folder).ok().flatten());
        empty.generation = old.generation;
        *replaced = self.folder.is_some() && !self.read_only;
        *self.prepared() = None;
        self.replace(empty);
        self.spilled().clear();
    }

    /// The tail to a segment (`compact`: everything to one; also what holds a forgotten memory) and
    /// a manifest, durably. Bytes written; 0 when there was nothing to do or another process was
    /// newer. `Moved` when another process published since `reset`: what it published may lack a
    /// memory that this one still holds, so it is taken over by the next `refresh` instead.
    pub fn publish(&self, compact: bool) -> Result<u64> {
        let Some(folder) = self.writable() else {
            return Ok(0);
        };
        let mut replaced = self.writing();
        let lock = writer::Lock::exclusive(folder)?;
        // A damaged set is replaced as a whole by what this process holds.
        let mut whole = *replaced;
        if whole && load::stamp(folder)? != self.snapshot().stamp {
            *replaced = false;
            return Err(CoreError::Moved);
        }
        if !whole {
            match self.adopt(folder, u64::MAX) {
                Err(CoreError::Damaged { .. }) => {
                    writer::move_aside(folder)?;
                    whole = true;
                }
                other => drop(other?),
            }
        }
        let held = self.snapshot();
        let manifest = match load::manifest(folder) {
            Err(CoreError::Damaged { .. }) => None,
            other => other?,
        };
        // A folder has a manifest from its first publication on, also of an empty store.
        whole |= manifest.is_none();
        let named = manifest.map_or_else(Vec::new, |manifest| manifest.segments);
        let entries = entries(&held, &named);
        whole |= entries.is_none();
        let first = if whole || compact {
            0
        } else {
            first_written(&held)
        };
        let masked = held
            .parts
            .iter()
            .any(|part| part.live_rows < part.segment.rows());
        let useless = !masked && held.parts.len() <= 1;
        let unchanged = held.tail_rows() == 0 && held.applied_seq == held.upto_seq;
        if !whole && unchanged && (!compact || useless) {
            return Ok(0);
        }
        let kept = entries.unwrap_or_default().into_iter().take(first);
        *self.prepared() = None;
        let (bytes, manifest) = self.write(folder, &held, first, kept.collect())?;
        *replaced = false;
        // This process lets go of the old files first.
        drop(held);
        self.spilled().clear();
        writer::sweep(folder, &manifest)?;
        drop(lock);
        Ok(bytes)
    }

    /// Writes parts from `first` on as one segment behind the `kept` ones, those of these anew that
    /// hold a forgotten memory, and the manifest.
    fn write(
        &self,
        folder: &Path,
        held: &Snapshot,
        first: usize,
        kept: Vec<SegmentEntry>,
    ) -> Result<(u64, Manifest)> {
        let generation = held.generation.max(writer::newest_generation(folder)?) + 1;
        let mut segments = Vec::with_capacity(first + 1);
        let mut bytes = 0;
        let mut add = |parts: &[Part], segments: &mut Vec<SegmentEntry>| -> Result<()> {
            if parts.iter().any(|part| part.live_rows > 0) {
                let entry = writer::write_segment(folder, generation, |out| match parts {
                    [part] => {
                        let rows = KeptRows::of(&part.segment, set_bits(&part.live).collect());
                        Image::of(&self.identity, &rows).write(out, true)
                    }
                    _ => Image::of(&self.identity, &MergedRows::of(parts)).write(out, true),
                })?;
                bytes += entry.bytes;
                segments.push(entry);
            }
            Ok(())
        };
        for (part, entry) in held.parts.iter().zip(kept) {
            if held.holds_removed(part) {
                add(std::slice::from_ref(part), &mut segments)?;
            } else {
                segments.push(entry);
            }
        }
        add(&held.parts[first..], &mut segments)?;
        let manifest = Manifest {
            generation,
            upto_seq: held.applied_seq,
            head: held.chain_head,
            store_uuid: self.identity.store_uuid,
            segments,
        };
        bytes += writer::write_manifest(folder, &manifest)?;
        let reusable = Reusable {
            held,
            prepared: None,
        };
        if let Some(new) = load::load(folder, &self.identity, &reusable)? {
            self.replace(new);
        }
        Ok((bytes, manifest))
    }

    /// Removes segments that no manifest names; how many stay because somebody reads them.
    pub fn sweep(&self) -> Result<usize> {
        let Some(folder) = self.writable() else {
            return Ok(0);
        };
        let _lock = writer::Lock::exclusive(folder)?;
        match load::manifest(folder)? {
            Some(manifest) => Ok(writer::sweep(folder, &manifest)?),
            None => Ok(0),
        }
    }
}

fn open_folder(
    folder: &Path,
    identity: &Arc<Identity>,
    read_only: bool,
) -> Result<(Snapshot, Option<String>)> {
    let mut empty = Snapshot::empty(Arc::clone(identity));
    let none = Snapshot::empty(Arc::clone(identity));
    let reusable = Reusable {
        held: &none,
        prepared: None,
    };
    let first = load::load(folder, identity, &reusable);
    let Err(CoreError::Damaged { .. }) = &first else {
        return Ok((first?.unwrap_or(empty), None));
    };
    if read_only {
        let reason = first.err().map(|error| error.to_string());
        empty.stamp = load::stamp(folder)?;
        return Ok((empty, reason));
    }
    // Busy is not damaged: the verdict is given under the lock, where nobody writes.
    let lock = writer::Lock::exclusive(folder)?;
    let verdict = load::load(folder, identity, &reusable);
    let Err(CoreError::Damaged { .. }) = &verdict else {
        return Ok((verdict?.unwrap_or(empty), None));
    };
    if let Ok(Some(manifest)) = load::manifest(folder) {
        empty.generation = manifest.generation;
    }
    writer::move_aside(folder)?;
    drop(lock);
    Ok((empty, verdict.err().map(|error| error.to_string())))
}
