//! Which eligible memories stand beside each other in their sessions (Q-11 … ).
//!
//! A session is (namespace, scope, session id). The position of a memory is the rank of its
//! sequence among those of the eligible memories of the session; memories of one sequence, the
//! parts of a long text, share it. Every eligible memory has a slot: session by session in order
//! of position, parts by (seq, id), then those that have no session or sequence.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::text_flags::Derived;
use crate::kernels::bits::{Bits, has, set_bits};
use crate::segment::format::Section;
use crate::segment::{Conversations, Segment, SessionKey, cached};

/// No slot, no place.
pub(super) const NONE: u32 = u32::MAX;
/// Positions that are counted on each side.
const REACH: usize = 3;

/// Slots of the eligible memories.
pub(crate) struct Places {
    /// Rows before every part, and all rows.
    offsets: Vec<u32>,
    /// By row over all parts.
    slots: Vec<u32>,
    /// By slot: row over all parts.
    rows: Vec<u32>,
    /// By slot: place in the conversations of its segment; `NONE` = not known.
    order: Vec<u32>,
    /// By slot; empty = every position has one memory, and its number is that of the slot.
    positions: Vec<u32>,
    /// By position: its first slot; one more. Empty as above.
    first: Vec<u32>,
    /// By position: how many of the session come before and, in the upper half, after, at most 3.
    reach: Vec<u8>,
    /// By session: its first slot.
    sessions: Vec<u32>,
    /// Slots that are in sessions.
    in_sessions: usize,
    pub(super) derived: Derived,
}

impl Places {
    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Of an eligible row.
    #[inline]
    pub(super) fn slot(&self, part: usize, row: usize) -> usize {
        self.slots[self.offsets[part] as usize + row] as usize
    }

    /// Number of parts.
    pub(super) fn parts(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Slots of the rows of a part, `NONE` for ineligible ones.
    pub(super) fn slots(&self, part: usize) -> &[u32] {
        &self.slots[self.offsets[part] as usize..self.offsets[part + 1] as usize]
    }

    /// (part, row).
    #[inline]
    pub(super) fn row(&self, slot: usize) -> (usize, usize) {
        let row = self.rows[slot];
        let part = self.offsets.partition_point(|first| *first <= row) - 1;
        (part, (row - self.offsets[part]) as usize)
    }

    /// Row of a slot whose part is known.
    #[inline]
    pub(super) fn row_of(&self, part: usize, slot: usize) -> usize {
        (self.rows[slot] - self.offsets[part]) as usize
    }

    /// Whether no text is split: then slots of neighbours are neighbours.
    #[inline]
    pub(super) fn single(&self) -> bool {
        self.positions.is_empty()
    }

    #[inline]
    fn position(&self, slot: usize) -> usize {
        self.positions.get(slot).map_or(slot, |at| *at as usize)
    }

    /// Positions of the session before and after that of a slot, at most 3 each.
    #[inline]
    pub(super) fn reach(&self, slot: usize) -> (usize, usize) {
        let reach = usize::from(self.reach[self.position(slot)]);
        (reach & 15, reach >> 4)
    }

    /// Whether the session has a position so many behind (before: negative), at most 3.
    #[inline]
    pub(super) fn reaches(&self, slot: usize, offset: isize) -> bool {
        let (before, after) = self.reach(slot);
        if offset < 0 {
            before >= offset.unsigned_abs()
        } else {
            after >= offset.unsigned_abs()
        }
    }

    /// Slots that stand so many positions behind (before: negative), at most 3; none outside.
    #[inline]
    pub(super) fn beside(&self, slot: usize, offset: isize) -> Range<usize> {
        if !self.reaches(slot, offset) {
            return 0..0;
        }
        let at = self.position(slot).wrapping_add_signed(offset);
        if self.single() {
            at..at + 1
        } else {
            self.first[at] as usize..self.first[at + 1] as usize
        }
    }

    /// Extents in slots of the sessions that have slots in this range, ascending.
    pub(super) fn sessions_in(&self, slots: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let end = slots.end.min(self.in_sessions) as u32;
        let first = self
            .sessions
            .partition_point(|first| *first as usize <= slots.start);
        let own = &self.sessions[first.saturating_sub(1)..];
        let nexts = own.iter().skip(1).copied();
        own.iter()
            .take_while(move |first| **first < end)
            .zip(nexts.chain([self.in_sessions as u32]))
            .map(|(first, next)| *first as usize..next as usize)
    }

    /// Whether it is the first of its session.
    pub(super) fn is_first(&self, slot: usize) -> bool {
        slot < self.in_sessions && self.reach(slot).0 == 0
    }

    /// Place in the conversations of the segment, unless the session lies in several ones.
    pub(super) fn order(&self, slot: usize) -> Option<usize> {
        let order = self.order.get(slot).copied().unwrap_or(NONE);
        (order != NONE).then_some(order as usize)
    }

    fn find(segments: &[&Segment], eligible: &[&Bits]) -> Self {
        let mut builder = Builder::new(segments, eligible);
        builder.add_sessions();
        builder.add_others();
        builder.places
    }
}

/// Slots of these rows, one bitmap a segment.
pub(super) fn places(segments: &[&Segment], eligible: &[&Bits]) -> Arc<Places> {
    cached(segments, eligible, || Places::find(segments, eligible))
}

struct Builder<'a> {
    segments: &'a [&'a Segment],
    eligible: &'a [&'a Bits],
    places: Places,
    split: bool,
}

impl<'a> Builder<'a> {
    fn new(segments: &'a [&'a Segment], eligible: &'a [&'a Bits]) -> Self {
        let mut offsets = vec![0];
        for segment in segments {
            let before = offsets.last().copied().unwrap_or(0);
            offsets.push(before + segment.memory_rows() as u32);
        }
        let rows = offsets.last().copied().unwrap_or(0) as usize;
        Self {
            segments,
            eligible,
            places: Places {
                offsets,
                slots: vec![NONE; rows],
                rows: Vec::with_capacity(rows),
                order: Vec::with_capacity(rows),
                positions: Vec::new(),
                first: Vec::new(),
                reach: Vec::with_capacity(rows),
                sessions: Vec::new(),
                in_sessions: 0,
                derived: Derived::default(),
            },
            split: false,
        }
    }

    /// Number of positions so far.
    fn count(&self) -> usize {
        if self.split {
            self.places.first.len()
        } else {
            self.places.rows.len()
        }
    }

    fn add(&mut self, part: usize, row: u32, order: u32, new_position: bool) {
        let places = &mut self.places;
        let (slot, row) = (places.rows.len() as u32, places.offsets[part] + row);
        if !new_position && !self.split {
            // Until now every slot was a position.
            self.split = true;
            places.positions = (0..slot).collect();
            places.first = (0..slot).collect();
        }
        places.slots[row as usize] = slot;
        places.rows.push(row);
        places.order.push(order);
        if self.split {
            if new_position {
                places.first.push(slot);
            }
            places.positions.push(places.first.len() as u32 - 1);
        }
    }

    /// Ends a session whose positions start at this one.
    fn close(&mut self, start: usize) {
        let count = self.count() - start;
        if count > 0 {
            let slot = self.places.first.get(start).copied();
            self.places.sessions.push(slot.unwrap_or(start as u32));
        }
        let reach = (0..count).map(|at| {
            let (before, after) = (at.min(REACH), (count - 1 - at).min(REACH));
            (before | after << 4) as u8
        });
        self.places.reach.extend(reach);
    }

    fn add_sessions(&mut self) {
        let talks: Vec<&Conversations> = self.segments.iter().map(|s| s.conversations()).collect();
        let mut shared = shared(&talks);
        let mut spread: Vec<Vec<Option<SessionKey>>> = vec![Vec::new(); talks.len()];
        for (key, held) in &shared {
            for (part, session) in held {
                let spread = &mut spread[*part];
                spread.resize(talks[*part].sessions.len(), None);
                spread[*session as usize] = Some(*key);
            }
        }
        for (part, talk) in talks.iter().enumerate() {
            let sequences = self.segments[part].column::<i64>(Section::Sequence);
            for (number, session) in talk.sessions.iter().enumerate() {
                let start = self.count();
                if let Some(key) = spread[part].get(number).copied().flatten() {
                    if let Some(held) = shared.remove(&key) {
                        self.add_spread(&talks, &held);
                        self.close(start);
                    }
                    continue;
                }
                let mut last = None;
                for order in session.clone() {
                    let row = talk.rows[order as usize];
                    if has(self.eligible[part], row as usize) {
                        let sequence = Some(sequences[row as usize]);
                        self.add(part, row, order, sequence != last);
                        last = sequence;
                    }
                }
                self.close(start);
            }
        }
        self.places.in_sessions = self.places.rows.len();
    }

    /// A session that lies in several segments.
    fn add_spread(&mut self, talks: &[&Conversations], held: &[(usize, u32)]) {
        let mut rows = Vec::new();
        for (part, session) in held {
            let (segment, talk) = (self.segments[*part], talks[*part]);
            let sequences = segment.column::<i64>(Section::Sequence);
            let seqs = segment.column::<i64>(Section::Seq);
            let extent = talk.sessions[*session as usize].clone();
            for row in &talk.rows[extent.start as usize..extent.end as usize] {
                let at = *row as usize;
                if has(self.eligible[*part], at) {
                    rows.push((sequences[at], seqs[at], segment.ids()[at], *part, *row));
                }
            }
        }
        rows.sort_unstable();
        let mut last = None;
        for (sequence, _, _, part, row) in rows {
            self.add(part, row, NONE, Some(sequence) != last);
            last = Some(sequence);
        }
    }

    fn add_others(&mut self) {
        for part in 0..self.segments.len() {
            for row in set_bits(self.eligible[part]) {
                let at = self.places.offsets[part] as usize + row;
                if self.places.slots[at] == NONE {
                    self.add(part, row as u32, NONE, true);
                    self.places.reach.push(0);
                }
            }
        }
        let places = &mut self.places;
        if self.split {
            places.first.push(places.rows.len() as u32);
        }
    }
}

/// Sessions that lie in several segments: (part, number of the session).
fn shared(talks: &[&Conversations]) -> HashMap<SessionKey, Vec<(usize, u32)>> {
    let mut found: HashMap<SessionKey, Vec<(usize, u32)>> = HashMap::new();
    for (later, talk) in talks.iter().enumerate() {
        for (earlier, other) in talks[..later].iter().enumerate() {
            each_common(&talk.keys, &other.keys, |key, own, others| {
                let held = found.entry(key).or_default();
                for at in [(earlier, others), (later, own)] {
                    if !held.contains(&at) {
                        held.push(at);
                    }
                }
            });
        }
    }
    found
}

/// Keys that both ascending lists have, each with its value there.
fn each_common(
    a: &[(SessionKey, u32)],
    b: &[(SessionKey, u32)],
    mut sink: impl FnMut(SessionKey, u32, u32),
) {
    let swapped = a.len() > b.len();
    let (few, mut many) = if swapped { (b, a) } else { (a, b) };
    for (key, value) in few {
        // Doubling steps: two long lists are read once, a short one searches the long one.
        let mut step = 1;
        while step < many.len() && many[step].0 < *key {
            step *= 2;
        }
        let near = &many[..many.len().min(step + 1)];
        many = &many[near.partition_point(|(other, _)| other < key)..];
        if let Some((other, found)) = many.first()
            && other == key
        {
            let (own, others) = if swapped {
                (found, value)
            } else {
                (value, found)
            };
            sink(*key, *own, *others);
        }
    }
}
