//! Sittings: notes that were written one after the other.
//!
//! Notes without session of one namespace, scope, author and source, in the order of the ledger: each
//! whose `t_valid` is at most an hour away from that of the one before belongs to the same sitting.
//! Who sits together is a property of all stored notes, so no filter changes it; it follows from the
//! rows that count alone, so every layout of segments gives the same.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::kernels::bits::{Bits, has};
use crate::segment::format::Section;
use crate::segment::{NoteRows, Segment, SessionKey, cached};

/// Largest distance between two notes that follow each other in a sitting, µs.
const APART_MAX_US: u64 = 3_600_000_000;

/// Sittings of more than one note.
pub(crate) struct Sittings {
    /// (part, row), sitting by sitting in the order of the ledger.
    rows: Vec<(u32, u32)>,
    /// Extents in `rows`.
    extents: Vec<Range<u32>>,
}

impl Sittings {
    /// Of these segments, with the rows that count in each; kept for the next call.
    pub(crate) fn of(segments: &[&Segment], live: &[&Bits]) -> Arc<Self> {
        cached(segments, live, || Self::find(segments, live))
    }

    /// The notes of each sitting, (part, row).
    pub(crate) fn each(&self) -> impl Iterator<Item = &[(u32, u32)]> {
        let extent = |extent: &Range<u32>| extent.start as usize..extent.end as usize;
        self.extents.iter().map(move |own| &self.rows[extent(own)])
    }

    fn find(segments: &[&Segment], live: &[&Bits]) -> Self {
        let notes: Vec<&NoteRows> = segments.iter().map(|segment| segment.note_rows()).collect();
        let mut found = Self {
            rows: Vec::new(),
            extents: Vec::new(),
        };
        let mut group = Vec::new();
        for held in groups(&notes) {
            group.clear();
            for (part, extent) in &held {
                let rows = &notes[*part].rows[extent.start as usize..extent.end as usize];
                let counting = rows.iter().filter(|row| has(live[*part], **row as usize));
                group.extend(counting.map(|row| (*part as u32, *row)));
            }
            if held.len() > 1 {
                // Parts are sorted already: they are merged.
                group.sort_by_cached_key(|(part, row)| {
                    segments[*part as usize].note_place(*row as usize)
                });
            }
            found.split(segments, &group);
        }
        found
    }

    /// Adds the sittings of a group in the order of the ledger.
    fn split(&mut self, segments: &[&Segment], group: &[(u32, u32)]) {
        let valid = |(part, row): &(u32, u32)| {
            segments[*part as usize].column::<i64>(Section::Valid)[*row as usize]
        };
        let near = |a: &(u32, u32), b: &(u32, u32)| valid(a).abs_diff(valid(b)) <= APART_MAX_US;
        for sitting in group.chunk_by(near).filter(|sitting| sitting.len() > 1) {
            let start = self.rows.len() as u32;
            self.rows.extend_from_slice(sitting);
            self.extents.push(start..self.rows.len() as u32);
        }
    }
}

/// Parts and extents of each group that any of the parts has, in the order of first sight.
fn groups(notes: &[&NoteRows]) -> Vec<Vec<(usize, Range<u32>)>> {
    let mut found: Vec<Vec<(usize, Range<u32>)>> = Vec::new();
    let mut numbers: HashMap<SessionKey, usize> = HashMap::new();
    for (part, notes) in notes.iter().enumerate() {
        for (key, extent) in &notes.groups {
            let number = *numbers.entry(*key).or_insert(found.len());
            if number == found.len() {
                found.push(Vec::new());
            }
            found[number].push((part, extent.clone()));
        }
    }
    found
}
