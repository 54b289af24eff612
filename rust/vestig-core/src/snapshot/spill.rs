//! A tail that is too large to be held, as when all rows are read again: it goes to files that no
//! manifest names. A process that dies leaves the published files as they were, and the new ones
//! to the next sweep.

use std::sync::Arc;

use super::merged_rows::MergedRows;
use crate::error::Result;
use crate::segment::image::Image;
use crate::snapshot::load;
use crate::snapshot::projection::Projection;
use crate::snapshot::writer;
use crate::snapshot::{Part, Snapshot};

/// A tail that takes more than this goes to files; no tail of commits comes near.
pub(crate) const HELD_BYTES_MAX: u64 = 64 << 20;

impl Projection {
    /// Moves the held part of the tail to a file if it takes at least `bytes`; bytes written. No
    /// result changes. The file goes with the next publication.
    pub fn spill(&self, bytes: u64) -> Result<u64> {
        let writing = self.writing();
        let spilled = self.spill_tail(bytes);
        drop(writing);
        spilled
    }

    /// Like `spill`; the caller holds `writing`.
    pub(crate) fn spill_tail(&self, bytes: u64) -> Result<u64> {
        let Some(folder) = self.writable() else {
            return Ok(0);
        };
        let held = self.snapshot();
        let first = first_held(&held);
        let parts = &held.parts[first..];
        let size: usize = parts.iter().map(|part| part.segment.image().len()).sum();
        if parts.iter().all(|part| part.live_rows == 0) || (size as u64) < bytes {
            return Ok(0);
        }
        let mut draft = {
            let _lock = writer::Lock::exclusive(folder)?;
            let newest = writer::newest_generation(folder)?;
            writer::Draft::create(folder, newest.max(held.generation) + 1)?
        };
        let rows = MergedRows::of(parts);
        let written = draft.fill(&|| false, |out| {
            Image::of(&self.identity, &rows).write(out, true)
        })?;
        let Some(entry) = written else { return Ok(0) };
        let segment = load::map(draft.path(), &self.identity, &entry)?;
        let mut snapshot = held.as_ref().clone();
        // What the held rows mask is masked already.
        snapshot.parts.truncate(first);
        snapshot.parts.push(Part::whole(Arc::new(segment)));
        self.spilled().push(draft);
        self.replace(snapshot);
        Ok(entry.bytes)
    }
}

/// First part behind the published and the spilled ones.
fn first_held(snapshot: &Snapshot) -> usize {
    let tail = snapshot.parts[snapshot.published..].iter();
    snapshot.published
        + tail
            .take_while(|part| part.segment.name().is_some())
            .count()
}
