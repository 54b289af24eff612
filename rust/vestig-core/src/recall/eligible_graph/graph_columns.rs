//! The columns that a walk reads of every neighbour, found once.

use std::ops::Range;

use crate::kernels::tracerank::Stability;
use crate::segment::format::Section;
use crate::segment::map::fetch;
use crate::segment::{EventRow, Id, Record, RelatedEnd, Segment};
use crate::snapshot::Part;

/// RELATED entries in a cache line, and lines that those of most memories take.
const ENTRIES_A_LINE: usize = 8;
const ENTRY_LINES: usize = 3;
/// Edge records in a cache line.
const RECORDS_A_LINE: usize = 2;

/// Of one part.
pub(super) struct Columns<'a> {
    segment: &'a Segment,
    pub(super) live: &'a [u64],
    pub(super) records: &'a [Record],
    pub(super) ids: &'a [Id],
    pub(super) valid: &'a [i64],
    edge_offsets: &'a [u32],
    incoming_offsets: &'a [u32],
    related_offsets: &'a [u32],
    related: &'a [RelatedEnd],
    attributes: &'a [[u8; 8]],
    event_offsets: &'a [u32],
}

impl<'a> Columns<'a> {
    pub(super) fn of(part: &'a Part) -> Self {
        let segment = part.segment.as_ref();
        Self {
            segment,
            live: &part.live,
            records: segment.column(Section::Edges),
            ids: segment.ids(),
            valid: segment.column(Section::Valid),
            edge_offsets: segment.column(Section::EdgeOffsets),
            incoming_offsets: segment.column(Section::IncomingOffsets),
            related_offsets: segment.column(Section::RelatedOffsets),
            related: segment.column(Section::Related),
            attributes: segment.column(Section::Attributes),
            event_offsets: segment.column(Section::EventOffsets),
        }
    }

    /// See `Segment::edges`.
    #[inline]
    pub(super) fn edges(&self, row: usize) -> Range<usize> {
        self.edge_offsets[row] as usize..self.edge_offsets[row + 1] as usize
    }

    #[inline]
    pub(super) fn kind_and_stability(&self, row: usize) -> (u8, Stability) {
        let [kind, _, _, stability, ..] = self.attributes[row];
        let stability = Stability::from_code(stability).unwrap_or(Stability::Unknown);
        (kind, stability)
    }

    #[inline]
    pub(super) fn events(&self, row: usize) -> impl Iterator<Item = EventRow> + use<'a> {
        let range = self.event_offsets[row] as usize..self.event_offsets[row + 1] as usize;
        self.segment.events_at(range)
    }

    /// Prefetches where the RELATED edges of a row begin; with `near`, the first of them.
    #[inline]
    pub(super) fn fetch_related_of(&self, row: usize, near: bool) {
        if near {
            let first = self.related_offsets[row] as usize;
            for line in 0..ENTRY_LINES {
                fetch(self.related, first + line * ENTRIES_A_LINE);
            }
        } else {
            fetch(self.related_offsets, row);
        }
    }

    /// Like `fetch_related_of`, for the edges of a memory or those that end at an entity.
    #[inline]
    pub(super) fn fetch_mentions(&self, row: usize, near: bool) {
        let memory = row < self.segment.memory_rows();
        match (memory, near) {
            (true, false) => fetch(self.edge_offsets, row),
            (false, false) => fetch(self.incoming_offsets, row),
            (true, true) => {
                let first = self.edge_offsets[row] as usize;
                fetch(self.records, first);
                fetch(self.records, first + RECORDS_A_LINE);
            }
            (false, true) => self.segment.fetch_starts(row),
        }
    }

    /// Prefetches what TraceRank reads of a row.
    #[inline]
    pub(super) fn fetch_row(&self, row: usize) {
        fetch(self.attributes, row);
        fetch(self.event_offsets, row);
    }
}
