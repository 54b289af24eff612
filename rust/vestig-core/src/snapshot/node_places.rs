//! Where the nodes of one part lie in the others, looked up once for a snapshot.
//!
//! Memories of many segments mention the same entities, so walks ask for the same few nodes at
//! every query, and each look-up is a search by id in every segment.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Part;
use crate::kernels::bits::has;
use crate::segment::Id;
use crate::segment::format::Section;

/// Nothing was looked up yet; nothing was found; else what was found + `FOUND`.
const OPEN: u32 = 0;
const NOTHING: u32 = 1;
const FOUND: u32 = 2;

/// The places that were looked up so far. A copy of a snapshot begins anew, for its parts may be
/// changed.
#[derive(Default)]
pub(super) struct NodePlaces(OnceLock<Places>);

impl Clone for NodePlaces {
    fn clone(&self) -> Self {
        Self::default()
    }
}

struct Places {
    /// Rows before every part.
    rows_before: Vec<u32>,
    /// Entity rows before every part.
    entities_before: Vec<u32>,
    /// By part and place among its other ids, the number of the row that counts.
    ends: Vec<Vec<AtomicU32>>,
    /// By part and entity, its place in the lists by node.
    entities: Vec<Vec<AtomicU32>>,
}

fn open(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(OPEN)).collect()
}

/// The value of a cell, looked up at first.
fn known(cell: &AtomicU32, find: impl FnOnce() -> Option<usize>) -> Option<usize> {
    match cell.load(Ordering::Relaxed) {
        OPEN => {
            let found = find();
            let value = found.map_or(NOTHING, |place| place as u32 + FOUND);
            cell.store(value, Ordering::Relaxed);
            found
        }
        NOTHING => None,
        place => Some((place - FOUND) as usize),
    }
}

impl Places {
    fn of(parts: &[Part]) -> Self {
        let before = |count: fn(&Part) -> usize| {
            let mut sum = 0;
            let mut before = vec![0];
            for part in parts {
                sum += count(part) as u32;
                before.push(sum);
            }
            before
        };
        let rows_before = before(|part| part.segment.rows());
        let entities_before = before(|part| part.segment.rows() - part.segment.memory_rows());
        let entities = entities_before.last().map_or(0, |count| *count as usize);
        Self {
            ends: parts
                .iter()
                .map(|part| open(part.segment.column::<Id>(Section::OtherIds).len()))
                .collect(),
            entities: parts.iter().map(|_| open(entities)).collect(),
            rows_before,
            entities_before,
        }
    }
}

impl NodePlaces {
    fn of(&self, parts: &[Part]) -> &Places {
        self.0.get_or_init(|| Places::of(parts))
    }

    /// Part and row of the version that counts of a part's other id.
    pub(super) fn end(&self, parts: &[Part], part: usize, other: usize) -> Option<(usize, usize)> {
        let places = self.of(parts);
        let number = known(&places.ends[part][other], || {
            let id = parts[part].segment.column::<Id>(Section::OtherIds)[other];
            let (part, row) = locate(parts, &id)?;
            Some(places.rows_before[part] as usize + row)
        })?;
        let before = &places.rows_before;
        let part = before.partition_point(|first| *first as usize <= number) - 1;
        Some((part, number - before[part] as usize))
    }

    /// The place of a node in the lists by node of another part.
    pub(super) fn place(
        &self,
        parts: &[Part],
        part: usize,
        (of, row): (usize, usize),
    ) -> Option<usize> {
        let holder = &parts[of].segment;
        let find = || {
            let (segment, id) = (&parts[part].segment, &holder.ids()[row]);
            segment.place(segment.find(id), id)
        };
        let Some(entity) = row.checked_sub(holder.memory_rows()) else {
            return find();
        };
        let places = self.of(parts);
        let entity = places.entities_before[of] as usize + entity;
        known(&places.entities[part][entity], find)
    }
}

/// Part and row of the version that counts of a memory or entity.
pub(super) fn locate(parts: &[Part], id: &Id) -> Option<(usize, usize)> {
    let held = parts.iter().enumerate().rev();
    held.filter_map(|(part, held)| Some((part, held, held.segment.find(id)?)))
        .find(|(_, held, row)| has(&held.live, *row))
        .map(|(part, _, row)| (part, row))
}
