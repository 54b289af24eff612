//! What happened to a row.

use std::ops::Range;

use super::Segment;
use crate::segment::format::Section;

/// One entry of the event log as ranking needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// Position in EventType.
    pub kind: u8,
    /// µs since the epoch.
    pub occurred: i64,
    /// µs since the epoch.
    pub recorded: i64,
    /// Ledger transaction.
    pub seq: i64,
    /// Row number inside it.
    pub row: i64,
}

impl Segment {
    /// Events of a row.
    pub fn events(&self, row: usize) -> impl Iterator<Item = EventRow> + '_ {
        let offsets = self.column::<u32>(Section::EventOffsets);
        self.events_at(offsets[row] as usize..offsets[row + 1] as usize)
    }

    /// Events by their numbers.
    #[inline]
    pub(crate) fn events_at(&self, range: Range<usize>) -> impl Iterator<Item = EventRow> + '_ {
        let kinds = &self.column::<u8>(Section::EventTypes)[range.clone()];
        let [occurred, recorded, seqs, rows] = [
            Section::EventOccurred,
            Section::EventRecorded,
            Section::EventSeq,
            Section::EventRow,
        ]
        .map(|section| &self.column::<i64>(section)[range.clone()]);
        (0..kinds.len()).map(move |i| EventRow {
            kind: kinds[i],
            occurred: occurred[i],
            recorded: recorded[i],
            seq: seqs[i],
            row: rows[i],
        })
    }
}
