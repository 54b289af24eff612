//! The eligible memories in the order of their sessions: each is a turn with neighbours.
//!
//! A session is (namespace, scope, session id), or a sitting of notes. The position of a memory is the rank of its
//! sequence among those of the eligible memories of the session; memories of one sequence, the
//! parts of a long text, share it. Every eligible memory has a turn: session by session in order
//! of position, parts by (seq, id), then sitting by sitting, then those that are alone.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::segment_columns::SegmentColumns;
use super::sittings::Sittings;
use crate::kernels::bits::{Bits, has, set_bits};
use crate::kernels::dates::{year_of, year_of_window};
use crate::segment::format::Section;
use crate::segment::{Segment, SessionKey, SessionRows, cached};

/// No turn, no place.
pub(super) const NONE: u32 = u32::MAX;
/// Positions that are counted on each side.
const REACH: usize = 2;

/// Turns of the eligible memories.
pub(crate) struct TurnIndex {
    /// Rows before every part, and all rows.
    offsets: Vec<u32>,
    /// By row over all parts.
    turns: Vec<u32>,
    /// By turn: row over all parts.
    rows: Vec<u32>,
    /// By turn; empty = every position has one memory, and its number is that of the turn.
    positions: Vec<u32>,
    /// By position: its first turn; one more. Empty as above.
    first: Vec<u32>,
    /// By position: how many of the session come before and, in the upper half, after, at most 2.
    reach: Vec<u8>,
    /// By session: its first turn.
    sessions: Vec<u32>,
    /// Turns that are in sessions.
    in_sessions: usize,
    /// Years in which a memory is valid or that it states, at first use.
    years: OnceLock<Vec<i64>>,
    /// Of windows, at first use.
    pub(super) window_norms: OnceLock<Vec<f64>>,
}

impl TurnIndex {
    /// Number of turns.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether no text is split: then turns of neighbours are neighbours.
    #[inline]
    pub(super) fn single(&self) -> bool {
        self.positions.is_empty()
    }

    /// Turns of the rows of a part, `NONE` for ineligible ones.
    pub(super) fn turns(&self, part: usize) -> &[u32] {
        &self.turns[self.offsets[part] as usize..self.offsets[part + 1] as usize]
    }

    /// Of an eligible row.
    #[inline]
    pub(super) fn turn(&self, part: usize, row: usize) -> usize {
        self.turns[self.offsets[part] as usize + row] as usize
    }

    /// (part, row).
    #[inline]
    pub(super) fn row(&self, turn: usize) -> (usize, usize) {
        let row = self.rows[turn];
        let part = self.offsets.partition_point(|first| *first <= row) - 1;
        (part, (row - self.offsets[part]) as usize)
    }

    #[inline]
    fn position(&self, turn: usize) -> usize {
        self.positions.get(turn).map_or(turn, |at| *at as usize)
    }

    /// Positions of the session before and after that of a turn, at most 2 each.
    #[inline]
    pub(super) fn reach(&self, turn: usize) -> (usize, usize) {
        let reach = usize::from(self.reach[self.position(turn)]);
        (reach & 15, reach >> 4)
    }

    /// Turns that stand so many positions behind (before: negative), at most 2; none outside the
    /// session.
    #[inline]
    pub(super) fn beside(&self, turn: usize, offset: isize) -> Range<usize> {
        let (before, after) = self.reach(turn);
        let there = if offset < 0 { before } else { after };
        if there < offset.unsigned_abs() {
            return 0..0;
        }
        let at = self.position(turn).wrapping_add_signed(offset);
        if self.single() {
            at..at + 1
        } else {
            self.first[at] as usize..self.first[at + 1] as usize
        }
    }

    /// Extents in turns of the sessions.
    pub(super) fn each_session(&self) -> impl Iterator<Item = Range<usize>> {
        let nexts = self.sessions.iter().skip(1).copied();
        let nexts = nexts.chain([self.in_sessions as u32]);
        let extents = self.sessions.iter().copied().zip(nexts);
        extents.map(|(first, next)| first as usize..next as usize)
    }

    /// Years in which an eligible memory has `t_valid`, or of which its text states a day or a month,
    /// ascending.
    pub(super) fn years(&self, parts: &[SegmentColumns<'_>]) -> &[i64] {
        self.years.get_or_init(|| {
            let valid = |columns: &SegmentColumns<'_>| -> Vec<i64> {
                let valid = columns.segment.column::<i64>(Section::Valid);
                let rows = set_bits(&columns.eligible);
                let mut years = Vec::new();
                for row in rows {
                    years.push(year_of(valid[row]));
                    let stated = columns.segment.windows(row);
                    years.extend(stated.filter_map(year_of_window));
                }
                years.sort_unstable();
                years.dedup();
                years
            };
            let mut years: Vec<i64> = parts.iter().flat_map(valid).collect();
            years.sort_unstable();
            years.dedup();
            years
        })
    }

    /// Of the eligible rows; kept for the next query that asks for the same. `seated`: with the
    /// sittings of notes.
    pub(super) fn of_parts(parts: &[SegmentColumns<'_>], seated: bool) -> Arc<Self> {
        let mut segments: Vec<&Segment> = parts.iter().map(|columns| columns.segment).collect();
        let mut rows: Vec<&Bits> = parts.iter().map(|columns| &columns.eligible).collect();
        if !seated {
            return cached(&segments, &rows, || Self::find(&segments, &rows, None));
        }
        // Who sits together follows from all notes, whether they are eligible or not.
        let (count, live) = (parts.len(), parts.iter().map(|columns| columns.live));
        rows.extend(live);
        segments.extend_from_within(..);
        cached(&segments, &rows, || {
            let (segments, (eligible, live)) = (&segments[..count], rows.split_at(count));
            let sittings = Sittings::of(segments, live);
            Self::find(segments, eligible, Some(&sittings))
        })
    }

    fn find(segments: &[&Segment], eligible: &[&Bits], sittings: Option<&Sittings>) -> Self {
        let mut builder = Builder::new(segments, eligible);
        builder.add_sessions();
        if let Some(sittings) = sittings {
            builder.add_sittings(sittings);
        }
        builder.index.in_sessions = builder.index.rows.len();
        builder.add_others();
        builder.index
    }
}

struct Builder<'a> {
    segments: &'a [&'a Segment],
    eligible: &'a [&'a Bits],
    index: TurnIndex,
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
            index: TurnIndex {
                offsets,
                turns: vec![NONE; rows],
                rows: Vec::with_capacity(rows),
                positions: Vec::new(),
                first: Vec::new(),
                reach: Vec::with_capacity(rows),
                sessions: Vec::new(),
                in_sessions: 0,
                years: OnceLock::new(),
                window_norms: OnceLock::new(),
            },
            split: false,
        }
    }

    /// Number of positions so far.
    fn count(&self) -> usize {
        if self.split {
            self.index.first.len()
        } else {
            self.index.rows.len()
        }
    }

    fn add(&mut self, part: usize, row: u32, new_position: bool) {
        let index = &mut self.index;
        let (turn, row) = (index.rows.len() as u32, index.offsets[part] + row);
        if !new_position && !self.split {
            // Until now every turn was a position.
            self.split = true;
            index.positions = (0..turn).collect();
            index.first = (0..turn).collect();
        }
        index.turns[row as usize] = turn;
        index.rows.push(row);
        if self.split {
            if new_position {
                index.first.push(turn);
            }
            index.positions.push(index.first.len() as u32 - 1);
        }
    }

    /// Ends a session whose positions start at this one.
    fn close(&mut self, start: usize) {
        let count = self.count() - start;
        if count > 0 {
            let turn = self.index.first.get(start).copied();
            self.index.sessions.push(turn.unwrap_or(start as u32));
        }
        let reach = (0..count).map(|at| {
            let (before, after) = (at.min(REACH), (count - 1 - at).min(REACH));
            (before | after << 4) as u8
        });
        self.index.reach.extend(reach);
    }

    fn add_sessions(&mut self) {
        let session_rows: Vec<&SessionRows> =
            self.segments.iter().map(|s| s.session_rows()).collect();
        let mut shared = shared(&session_rows);
        let mut spread: Vec<Vec<Option<SessionKey>>> = vec![Vec::new(); session_rows.len()];
        for (key, held) in &shared {
            for (part, session) in held {
                let spread = &mut spread[*part];
                spread.resize(session_rows[*part].sessions.len(), None);
                spread[*session as usize] = Some(*key);
            }
        }
        for (part, rows_of) in session_rows.iter().enumerate() {
            let sequences = self.segments[part].column::<i64>(Section::Sequence);
            for (number, session) in rows_of.sessions.iter().enumerate() {
                let start = self.count();
                if let Some(key) = spread[part].get(number).copied().flatten() {
                    if let Some(held) = shared.remove(&key) {
                        self.add_spread(&session_rows, &held);
                        self.close(start);
                    }
                    continue;
                }
                let mut last = None;
                for order in session.clone() {
                    let row = rows_of.rows[order as usize];
                    if has(self.eligible[part], row as usize) {
                        let sequence = Some(sequences[row as usize]);
                        self.add(part, row, sequence != last);
                        last = sequence;
                    }
                }
                self.close(start);
            }
        }
    }

    /// Each eligible note of a sitting has a position.
    fn add_sittings(&mut self, sittings: &Sittings) {
        for sitting in sittings.each() {
            let start = self.count();
            for (part, row) in sitting {
                let part = *part as usize;
                if has(self.eligible[part], *row as usize) {
                    self.add(part, *row, true);
                }
            }
            self.close(start);
        }
    }

    /// A session that lies in several segments.
    fn add_spread(&mut self, session_rows: &[&SessionRows], held: &[(usize, u32)]) {
        let mut rows = Vec::new();
        for (part, session) in held {
            let (segment, rows_of) = (self.segments[*part], session_rows[*part]);
            let sequences = segment.column::<i64>(Section::Sequence);
            let seqs = segment.column::<i64>(Section::Seq);
            let extent = rows_of.sessions[*session as usize].clone();
            for row in &rows_of.rows[extent.start as usize..extent.end as usize] {
                let at = *row as usize;
                if has(self.eligible[*part], at) {
                    rows.push((sequences[at], seqs[at], segment.ids()[at], *part, *row));
                }
            }
        }
        rows.sort_unstable();
        let mut last = None;
        for (sequence, _, _, part, row) in rows {
            self.add(part, row, Some(sequence) != last);
            last = Some(sequence);
        }
    }

    fn add_others(&mut self) {
        for part in 0..self.segments.len() {
            for row in set_bits(self.eligible[part]) {
                let at = self.index.offsets[part] as usize + row;
                if self.index.turns[at] == NONE {
                    self.add(part, row as u32, true);
                    self.index.reach.push(0);
                }
            }
        }
        let index = &mut self.index;
        if self.split {
            index.first.push(index.rows.len() as u32);
        }
    }
}

/// Sessions that lie in several segments: (part, number of the session).
fn shared(session_rows: &[&SessionRows]) -> HashMap<SessionKey, Vec<(usize, u32)>> {
    let mut found: HashMap<SessionKey, Vec<(usize, u32)>> = HashMap::new();
    for (later, rows_of) in session_rows.iter().enumerate() {
        for (earlier, other) in session_rows[..later].iter().enumerate() {
            each_common(&rows_of.keys, &other.keys, |key, own, others| {
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
