//! Many segments to few. Readers, commits and publications go on meanwhile: what is merged never
//! changes, the work is done beside it, and only the swap of the manifest takes the lock.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::merged_rows::MergedRows;
use super::{merge_plan, writer};
use crate::error::{CoreError, Result};
use crate::segment::image::Image;
use crate::snapshot::load::{self, Prepared};
use crate::snapshot::projection::Projection;
use crate::snapshot::{Part, Snapshot};

/// Bounds of a merge.
#[derive(Debug, Clone, Copy)]
pub struct MergeGoal {
    /// No more segments than this shall stay.
    pub max_segments: usize,
    /// No more than this is read.
    pub max_bytes: u64,
    /// True if to wait for a merge of another thread or process; otherwise nothing is done.
    pub wait: bool,
}

impl Projection {
    /// Makes one segment of several, once; bytes written. 0 when few enough are there, when
    /// somebody else merges, or when what was to be merged has been replaced meanwhile (then the
    /// new file is removed). No result changes by a bit.
    pub fn merge(&self, goal: MergeGoal) -> Result<u64> {
        match self.merge_once(goal) {
            Ok(0) => Ok(0),
            // The inputs are let go of by now.
            Ok(bytes) => self.sweep().map(|_| bytes),
            Err(error) => {
                *self.prepared() = None;
                Err(error)
            }
        }
    }

    fn merge_once(&self, goal: MergeGoal) -> Result<u64> {
        let Some(folder) = self.writable() else {
            return Ok(0);
        };
        let stops = self.stops.load(Ordering::Relaxed);
        let Some(_turn) = writer::Lock::merging(folder, goal.wait)? else {
            return Ok(0);
        };
        let held = self.snapshot();
        let Some(range) = merge_plan::merged(&held, goal.max_segments, goal.max_bytes) else {
            return Ok(0);
        };
        let inputs = masked_by_published(&held, range.start)[..range.len()].to_vec();
        let beside = held.parts[..held.published].iter();
        let names = beside.filter_map(|part| part.segment.name().map(str::to_owned));
        let beside = Arc::new(names.collect());
        drop(held);
        let stop = || self.stops.load(Ordering::Relaxed) != stops || !self.holds(&inputs);
        if inputs.iter().all(|part| part.live_rows == 0) {
            return self.swap(&inputs, None, &stop);
        }
        let mut draft = {
            let _lock = writer::Lock::exclusive(folder)?;
            let generation = load::manifest(folder)?.map_or(0, |manifest| manifest.generation);
            writer::Draft::create(
                folder,
                writer::newest_generation(folder)?.max(generation) + 1,
            )?
        };
        let rows = MergedRows::of(&inputs);
        let write = |out: &mut dyn Write| Image::of(&self.identity, &rows).write(out, true);
        let Some(entry) = draft.fill(&stop, write)? else {
            return Ok(0);
        };
        drop(rows);
        let segment = Arc::new(load::map(draft.path(), &self.identity, &entry)?);
        let part = Part::whole(segment);
        let new = NewSegment {
            draft,
            entry,
            prepared: Prepared { part, beside },
        };
        self.swap(&inputs, Some(new), &stop)
    }

    /// Makes merges that run now end soon, without a result.
    pub fn stop_merging(&self) {
        self.stops.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether all of these are published, as far as this process knows.
    fn holds(&self, inputs: &[Part]) -> bool {
        let snapshot = self.snapshot();
        let names: Vec<_> = snapshot.parts[..snapshot.published]
            .iter()
            .map(|part| part.segment.name())
            .collect();
        let wanted: Vec<_> = inputs.iter().map(|part| part.segment.name()).collect();
        names.windows(wanted.len()).any(|names| names == wanted)
    }

    /// A manifest with the new segment in the place of the inputs, if all of them are still named.
    fn swap(
        &self,
        inputs: &[Part],
        new: Option<NewSegment>,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let Some(folder) = self.writable() else {
            return Ok(0);
        };
        let lock = writer::Lock::exclusive(folder)?;
        // Damage of the manifest is for those who read it to judge.
        let manifest = match load::manifest(folder) {
            Err(CoreError::Damaged { .. }) => None,
            other => other?,
        };
        let Some(mut manifest) = manifest.filter(|_| !stop()) else {
            return Ok(0);
        };
        let found = manifest.segments.windows(inputs.len()).position(|named| {
            let mut pairs = named.iter().zip(inputs);
            pairs.all(|(entry, part)| merge_plan::names(entry, part))
        });
        let Some(at) = found else {
            return Ok(0);
        };
        let newest = writer::newest_generation(folder)?;
        manifest.generation = manifest.generation.max(newest) + 1;
        let mut bytes = 0;
        let replaced = at..at + inputs.len();
        match new {
            None => drop(manifest.segments.drain(replaced)),
            Some(new) => {
                bytes += new.entry.bytes;
                manifest.segments.splice(replaced, [new.entry]);
                *self.prepared() = Some(new.prepared);
                // Also when the manifest fails halfway: it may name the file by then.
                new.draft.keep();
            }
        }
        bytes += writer::write_manifest(folder, &manifest)?;
        // Whoever holds `writing` may wait for this lock.
        drop(lock);
        let replaced = self.writing();
        if *replaced {
            *self.prepared() = None;
        } else {
            // Only the files change here: which transactions are shown is for the caller of
            // `refresh` to decide.
            let stands = self.snapshot().applied_seq;
            self.adopt(folder, stands)?;
        }
        drop(replaced);
        Ok(bytes)
    }
}

/// A merged segment that no manifest names yet.
struct NewSegment {
    draft: writer::Draft,
    entry: crate::segment::format::SegmentEntry,
    prepared: Prepared,
}

/// Published parts from `first` on, masked by published ones alone: a version in the tail is not
/// known to those who read the manifest, and what it masks they may still need.
fn masked_by_published(held: &Snapshot, first: usize) -> Vec<Part> {
    let mut masked: Vec<Part> = Vec::new();
    for part in &held.parts[first..held.published] {
        let part = Part::whole(Arc::clone(&part.segment));
        for older in &mut masked {
            *older = older.masked_by(&part);
        }
        masked.push(part);
    }
    masked
}
