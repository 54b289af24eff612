//! Who mentions an entity, and how many do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::EligibleGraph;
use crate::kernels::bits::{Bits, has};
use crate::kernels::entity_walk::{PUSHES_MAX, Ranks, THRESHOLD, entity_walk};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::segment::{EXTRA, MENTIONS, MentionCounts, SOURCE_MASK, Segment, cached, kind_of};

/// The row is an entity of the namespace that holds.
const ENTITY: u32 = 1 << 31;

/// In a cell of `Degrees`: counting ended there, because that was enough.
const OR_MORE: u32 = 1 << 31;

/// How many eligible memories of all parts mention each entity row, by part, kept for the next
/// query over the same rows: that number + 1, or 0 where nobody has counted.
pub(super) struct Degrees(Vec<Vec<AtomicU32>>);

impl Degrees {
    fn of(graph: &EligibleGraph<'_>) -> Arc<Self> {
        let parts = 0..graph.eligible.len();
        let segments: Vec<&Segment> = parts.map(|part| graph.segment(part as u32)).collect();
        let eligible: Vec<&Bits> = graph.eligible.iter().collect();
        cached(&segments, &eligible, || {
            let entities = |segment: &&Segment| segment.memory_rows()..segment.rows();
            let open = |segment| entities(segment).map(|_| AtomicU32::new(0)).collect();
            Self(segments.iter().map(open).collect())
        })
    }

    fn cell(&self, part: usize, entity: usize) -> &AtomicU32 {
        &self.0[part][entity]
    }
}

impl EligibleGraph<'_> {
    /// Personalised PageRank from these memories with their L₁, best first, and these entities.
    pub(in crate::recall) fn entity_walk(
        &mut self,
        starts: &[(u32, f64)],
        entities: &[u32],
    ) -> Ranks {
        if !self.filter.past && self.counts.iter().any(Option::is_none) {
            self.counts = (0..self.counts.len()).map(|at| self.counted(at)).collect();
        }
        if !self.filter.past && self.degrees.is_none() && self.eligible.len() > 1 {
            self.degrees = Some(Degrees::of(self));
        }
        self.ordered = self.is_ordered();
        entity_walk(self, starts, entities, THRESHOLD, PUSHES_MAX)
    }

    /// Mentions by the eligible memories of a part, once they were eligible together before.
    fn counted(&self, part: usize) -> Option<Arc<MentionCounts>> {
        let segment = self.segment(part as u32);
        let counts = segment.mention_counts(&self.eligible[part], self.namespaces[part])?;
        counts.fill(|| self.count_all(part));
        Some(counts)
    }

    fn count_all(&self, part: usize) -> Vec<u32> {
        let segment = self.segment(part as u32);
        (segment.memory_rows()..segment.rows())
            .map(|row| {
                let mut count = 0;
                self.each_start_in(part, row, |_| {
                    count += 1;
                    true
                });
                let (part, row) = (part as u32, row as u32);
                let flag = if self.holds(Node { part, row }) {
                    ENTITY
                } else {
                    0
                };
                count | flag
            })
            .collect()
    }

    /// Cached count of a row of a part; None where nothing is cached.
    #[inline]
    fn counted_mentions(&self, part: usize, row: usize) -> Option<u32> {
        let counts = self.counts[part].as_ref()?;
        let at = row.checked_sub(self.segment(part as u32).memory_rows())?;
        counts.of_entity(at)
    }

    /// An entity of the namespace that is not expired at K.
    #[inline]
    pub(in crate::recall) fn is_entity(&self, node: Node) -> bool {
        match self.counted_mentions(node.part as usize, node.row as usize) {
            Some(count) => count & ENTITY != 0,
            None => self.holds(node),
        }
    }

    /// Eligible memories of a part that mention an entity row of it, ascending; false ends it, and
    /// is returned.
    fn each_start_in(&self, part: usize, row: usize, mut sink: impl FnMut(usize) -> bool) -> bool {
        let segment = self.segment(part as u32);
        let eligible = &self.eligible[part];
        let mut last = usize::MAX;
        for (at, start) in segment.incoming_starts(row).iter().enumerate() {
            let source = (start & SOURCE_MASK) as usize;
            if source == last || !has(eligible, source) || kind_of(*start) != MENTIONS {
                continue;
            }
            let plain = start & EXTRA == 0 && !self.filter.past;
            let number = || segment.incoming(row)[at] as usize;
            if plain || self.known_edge(segment, number(), MENTIONS).is_some() {
                last = source;
                if !sink(source) {
                    return false;
                }
            }
        }
        true
    }

    /// Like `each_start_in`, for an entity that the segment of the part may not hold.
    fn each_start_of(
        &self,
        part: usize,
        entity: Node,
        mut sink: impl FnMut(usize) -> bool,
    ) -> bool {
        let segment = self.segment(part as u32);
        let Some(place) = self.graph.place_in(part, entity) else {
            return true;
        };
        if (segment.memory_rows()..segment.rows()).contains(&place) {
            return self.each_start_in(part, place, sink);
        }
        let mut last = usize::MAX;
        for number in segment.incoming(place) {
            let edge = self.known_edge(segment, *number as usize, MENTIONS);
            let Some(source) = edge.map(|edge| edge.source) else {
                continue;
            };
            if source != last && has(&self.eligible[part], source) {
                last = source;
                if !sink(source) {
                    return false;
                }
            }
        }
        true
    }

    /// Numbers of the distinct eligible memories that mention an entity.
    pub(super) fn starts_of(&self, entity: Node, out: &mut Vec<u32>) {
        for part in 0..self.eligible.len() {
            let before = self.offsets[part];
            self.each_start_of(part, entity, |row| {
                out.push(before + row as u32);
                true
            });
        }
    }

    /// Number of eligible memories that mention an entity; anything above `most` if it is larger.
    pub(in crate::recall) fn mentions_of(&self, entity: Node, most: usize) -> usize {
        let (part, row) = (entity.part as usize, entity.row as usize);
        let at = row.checked_sub(self.segment(entity.part).memory_rows());
        let Some((degrees, at)) = self.degrees.as_ref().zip(at) else {
            return self.count_mentions(entity, most);
        };
        let cell = degrees.cell(part, at);
        let known = cell.load(Ordering::Relaxed);
        let count = (known & !OR_MORE).wrapping_sub(1) as usize;
        if known != 0 && (known & OR_MORE == 0 || count > most) {
            return count;
        }
        let count = self.count_mentions(entity, most);
        let more = if count > most { OR_MORE } else { 0 };
        cell.store((count as u32 + 1) | more, Ordering::Relaxed);
        count
    }

    fn count_mentions(&self, entity: Node, most: usize) -> usize {
        let mut count = 0;
        for part in 0..self.eligible.len() {
            let place = self.graph.place_in(part, entity);
            let rows = self.segment(part as u32).rows();
            let row = place.filter(|place| *place < rows);
            if let Some(known) = row.and_then(|row| self.counted_mentions(part, row)) {
                count += (known & !ENTITY) as usize;
                continue;
            }
            let all = self.each_start_of(part, entity, |_| {
                count += 1;
                count <= most
            });
            if !all {
                break;
            }
        }
        count
    }

    /// Returns whether node numbers ascend by (seq, id), memories and entities each for themselves.
    fn is_ordered(&self) -> bool {
        let segments = || (0..self.eligible.len()).map(|part| self.segment(part as u32));
        let apart = |range: fn(&Segment) -> std::ops::Range<usize>| {
            let mut last = None;
            segments().all(|segment| {
                let rows = range(segment);
                let key = |row: usize| {
                    let seq = segment.column::<i64>(Section::Seq)[row];
                    (seq, segment.ids()[row])
                };
                let after = rows.is_empty() || last < Some(key(rows.start));
                if !rows.is_empty() {
                    last = Some(key(rows.end - 1));
                }
                after
            })
        };
        segments().all(Segment::rows_ascend)
            && apart(|segment| 0..segment.memory_rows())
            && apart(|segment| segment.memory_rows()..segment.rows())
    }
}
