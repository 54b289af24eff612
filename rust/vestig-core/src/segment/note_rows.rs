//! Notes of one segment that can belong to one sitting, computed at first use.

use std::ops::Range;

use super::{NO_STRING, Segment, SessionKey};
use crate::segment::format::Section;

/// Position of note in OriginType.
const NOTE: u8 = 3;

/// Where a note stands among those of its group: transaction, row number of its first event in the
/// ledger, id.
pub(crate) type NotePlace = (i64, i64, [u8; 16]);

/// Memory rows whose origin is note and that have no session.
pub(crate) struct NoteRows {
    /// Group by group, in each in the order of the ledger.
    pub(crate) rows: Vec<u32>,
    /// Extents in `rows` of the groups, by key ascending. A group has one namespace, scope, author and
    /// source.
    pub(crate) groups: Vec<(SessionKey, Range<u32>)>,
}

impl Segment {
    /// In the order of the ledger: rows of a segment that were written by one transaction are ordered
    /// by their ids, which are random.
    pub(crate) fn note_place(&self, row: usize) -> NotePlace {
        let first = self.events(row).next().map_or(0, |event| event.row);
        (
            self.column::<i64>(Section::Seq)[row],
            first,
            self.ids()[row],
        )
    }

    pub(crate) fn note_rows(&self) -> &NoteRows {
        self.sessions.notes.get_or_init(|| self.find_note_rows())
    }

    fn find_note_rows(&self) -> NoteRows {
        let namespaces = self.column::<u32>(Section::Namespace);
        let scopes = self.column::<u32>(Section::Scope);
        let authors = self.column::<u32>(Section::Author);
        let sources = self.column::<i64>(Section::SourceRow);
        let sessions = self.column::<u32>(Section::Session);
        let attributes = self.column::<[u8; 8]>(Section::Attributes);
        let key = |row: u32| {
            let row = row as usize;
            (namespaces[row], scopes[row], authors[row], sources[row])
        };
        let note = |row: &u32| {
            let row = *row as usize;
            attributes[row][2] == NOTE && sessions[row] == NO_STRING
        };
        let mut rows: Vec<u32> = (0..self.memory_rows as u32).filter(note).collect();
        rows.sort_by_cached_key(|row| (key(*row), self.note_place(*row as usize)));
        let mut groups: Vec<(SessionKey, Range<u32>)> = Vec::new();
        let mut start = 0;
        for group in rows.chunk_by(|a, b| key(*a) == key(*b)) {
            let end = start + group.len() as u32;
            let (namespace, scope, author, source) = key(group[0]);
            let key = self.hashed_key([namespace, scope, author], &source.to_le_bytes());
            groups.push((key, start..end));
            start = end;
        }
        groups.sort_unstable_by_key(|(key, _)| *key);
        NoteRows { rows, groups }
    }
}
