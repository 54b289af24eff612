//! The events of a row.

use std::ops::Range;

use super::Segment;
use crate::segment::format::Section;

/// Names of the types of events, as the ledger writes them; a name's position is its code.
pub const EVENT_TYPES: [&str; 14] = [
    "ADD",
    "IMPORT",
    "REINFORCE_EXACT",
    "REINFORCE_NEAR",
    "DEPRECATE",
    "SUPERSEDE",
    "ARCHIVE",
    "UNARCHIVE",
    "PIN",
    "UNPIN",
    "UPDATE",
    "ENTITY_EXTRACTED",
    "SUMMARY_CREATED",
    "CONFIRM",
];

/// The code of a type of events; only for names in [`EVENT_TYPES`].
#[must_use]
pub const fn event_code(name: &str) -> u8 {
    let mut code = 0;
    while code < EVENT_TYPES.len() {
        if equal(EVENT_TYPES[code].as_bytes(), name.as_bytes()) {
            return code as u8;
        }
        code += 1;
    }
    panic!("expected the name of a type of events")
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// One entry of the event log as ranking needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// Position in [`EVENT_TYPES`].
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
