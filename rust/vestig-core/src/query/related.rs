//! RELATED of memories that are stored already, as their commits found them.

use std::collections::HashMap;
use std::ops::Range;

use crate::kernels::bits::{Bits, set_bits};
use crate::kernels::dot::dot;
use crate::kernels::tiles::Probe;
use crate::query::filter::{Filter, eligible};
use crate::query::row_blocks::{Search, pass, with_vectors};
use crate::query::similar::{Best, Limits, Neighbours};
use crate::segment::format::Section;
use crate::segment::{EventRow, Id, KIND_MEMORY, Segment, event_code};
use crate::snapshot::Snapshot;

const EXPIRING: [u8; 2] = [event_code("DEPRECATE"), event_code("SUPERSEDE")];
const ARCHIVE: u8 = event_code("ARCHIVE");
const UNARCHIVE: u8 = event_code("UNARCHIVE");
/// Position of no memory.
const NOWHERE: u32 = u32::MAX;

/// When something was recorded: the clock, and the ledger where the clock stood.
type Moment = (i64, i64, i64);

fn moment(event: &EventRow) -> Moment {
    (event.recorded, event.seq, event.row)
}

struct Memory {
    part: usize,
    row: usize,
    stored_at: Moment,
}

/// The MEMORY rows of a namespace in the order of their commits.
struct CommitOrder<'a> {
    parts: Vec<(&'a Segment, Bits)>,
    memories: Vec<Memory>,
    /// Position by part and row.
    positions: Vec<Vec<u32>>,
}

impl<'a> CommitOrder<'a> {
    fn of(snapshot: &'a Snapshot, namespace: &str) -> Self {
        let filter = Filter {
            namespace: namespace.to_owned(),
            kinds: Some(vec![KIND_MEMORY]),
            include_archived: true,
            include_expired: true,
            ..Filter::default()
        };
        let mut keyed: Vec<((i64, i64, Id), Memory)> = Vec::new();
        let mut parts = Vec::new();
        for (part, held) in snapshot.parts.iter().enumerate() {
            let segment = held.segment.as_ref();
            let bits = eligible(held, &filter).0;
            for row in set_bits(&bits) {
                let seq = segment.column::<i64>(Section::Seq)[row];
                let created = segment.column::<i64>(Section::Created)[row];
                // A memory begins with the event that stored it; within one transaction these
                // stand in the order of the items.
                let first = segment.events(row).next();
                let stored_at = first.map_or((created, seq, i64::MIN), |event| moment(&event));
                let key = (seq, stored_at.2, segment.ids()[row]);
                keyed.push((
                    key,
                    Memory {
                        part,
                        row,
                        stored_at,
                    },
                ));
            }
            parts.push(with_vectors(segment, bits));
        }
        keyed.sort_unstable_by_key(|(key, _)| *key);
        let all = snapshot.parts.iter();
        let mut positions: Vec<Vec<u32>> =
            all.map(|part| vec![NOWHERE; part.segment.rows()]).collect();
        for (position, (_, memory)) in keyed.iter().enumerate() {
            positions[memory.part][memory.row] = position as u32;
        }
        Self {
            parts,
            memories: keyed.into_iter().map(|(_, memory)| memory).collect(),
            positions,
        }
    }
}

/// Returns whether a memory was active at that moment, by what its events say.
fn active(segment: &Segment, row: usize, at: Moment) -> bool {
    let mut active = true;
    for event in segment.events(row).filter(|event| moment(event) < at) {
        match event.kind {
            ARCHIVE => active = false,
            UNARCHIVE => active = true,
            kind if EXPIRING.contains(&kind) => return false,
            _ => {}
        }
    }
    active
}

/// Number of the text of each memory whose text another one has too.
pub type Texts = HashMap<Id, u32>;

struct EarlierSearch<'a> {
    order: &'a CommitOrder<'a>,
    position: u32,
    stored_at: Moment,
    vector: &'a [f32],
    texts: &'a Texts,
    text: Option<u32>,
    best: Best,
}

impl Search for EarlierSearch<'_> {
    fn floor(&self) -> f64 {
        self.best.floor()
    }

    fn concerns(&self, part: usize, rows: Range<usize>) -> bool {
        let positions = &self.order.positions[part][rows];
        positions.iter().any(|position| *position < self.position)
    }

    fn offer(&mut self, part: usize, row: usize) {
        if self.order.positions[part][row] >= self.position {
            return;
        }
        let segment = self.order.parts[part].0;
        let id = segment.ids()[row];
        let same_text = self.text.is_some() && self.texts.get(&id).copied() == self.text;
        if !same_text && active(segment, row, self.stored_at) {
            self.best.offer(id, dot(self.vector, segment.vector(row)));
        }
    }
}

/// For the memories of a namespace at these positions, in the order of their commits: the best
/// that were stored earlier and active when each was stored, but for those of its own text. Without
/// a vector there are none.
#[must_use]
pub fn related(
    snapshot: &Snapshot,
    namespace: &str,
    positions: Range<usize>,
    limits: Limits,
    texts: &Texts,
    threads: usize,
) -> Vec<(Id, Neighbours)> {
    let order = CommitOrder::of(snapshot, namespace);
    let positions =
        positions.start.min(order.memories.len())..positions.end.min(order.memories.len());
    let mut found: Vec<(Id, Neighbours)> = Vec::with_capacity(positions.len());
    let (mut places, mut searches) = (Vec::new(), Vec::new());
    for position in positions {
        let memory = &order.memories[position];
        let segment = order.parts[memory.part].0;
        found.push((segment.ids()[memory.row], Vec::new()));
        if limits.top == 0 || !segment.attributes(memory.row).embedded {
            continue;
        }
        let vector = segment.vector(memory.row);
        places.push(found.len() - 1);
        let search = EarlierSearch {
            order: &order,
            position: position as u32,
            stored_at: memory.stored_at,
            vector,
            texts,
            text: texts.get(&segment.ids()[memory.row]).copied(),
            best: Best::new(limits),
        };
        searches.push((Probe::new(vector), search));
    }
    pass(&order.parts, &mut searches, threads);
    for (place, (_, search)) in places.into_iter().zip(searches) {
        found[place].1 = search.best.into_found();
    }
    found
}
