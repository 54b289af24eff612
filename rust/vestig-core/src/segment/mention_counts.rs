//! Mentions of every entity row, cached with the segment for the last sets of eligible rows.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{NO_STRING, Segment};
use crate::segment::format::Section;

/// Sets of rows that are remembered: those of four origins under two namespaces or filters in turn.
const SETS_MAX: usize = 8;

/// One number per entity row, true for one set of rows.
pub(crate) struct MentionCounts {
    rows: Vec<u64>,
    namespace: u32,
    counts: OnceLock<Vec<u32>>,
}

impl MentionCounts {
    /// Counts once.
    pub(crate) fn fill(&self, count: impl FnOnce() -> Vec<u32>) {
        self.counts.get_or_init(count);
    }

    /// Of the entity row so many rows after the memories; None before `fill`.
    #[inline]
    pub(crate) fn of_entity(&self, at: usize) -> Option<u32> {
        self.counts.get().map(|counts| counts[at])
    }
}

/// Latest first.
#[derive(Default)]
pub(super) struct MentionCache(Mutex<Vec<Arc<MentionCounts>>>);

impl Segment {
    /// The place for the counts of these rows and this namespace (number of its string), from the
    /// second request on: counting every entity is worth it only then.
    pub(crate) fn mention_counts(
        &self,
        rows: &[u64],
        namespace: Option<u32>,
    ) -> Option<Arc<MentionCounts>> {
        let namespace = namespace.unwrap_or(NO_STRING);
        let mut cached = (self.counts.0.lock()).unwrap_or_else(PoisonError::into_inner);
        let found = cached
            .iter()
            .position(|one| one.namespace == namespace && one.rows == rows);
        if let Some(at) = found {
            cached[..=at].rotate_right(1);
            return cached.first().cloned();
        }
        let made = MentionCounts {
            rows: rows.to_vec(),
            namespace,
            counts: OnceLock::new(),
        };
        cached.truncate(SETS_MAX - 1);
        cached.insert(0, Arc::new(made));
        None
    }

    /// Returns whether memories and entities each ascend by (seq, id), as they are built.
    pub(crate) fn rows_ascend(&self) -> bool {
        *self.ascend.get_or_init(|| {
            let (seqs, ids) = (self.column::<i64>(Section::Seq), self.ids());
            (1..self.rows()).all(|row| {
                row == self.memory_rows || (seqs[row - 1], &ids[row - 1]) < (seqs[row], &ids[row])
            })
        })
    }
}
