//! Who mentions an entity, and how many do.

use std::sync::Arc;

use super::EligibleGraph;
use crate::kernels::bits::has;
use crate::kernels::entity_walk::{PUSHES_MAX, Ranks, THRESHOLD, entity_walk};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::segment::{EXTRA, MENTIONS, MentionCounts, SOURCE_MASK, Segment, kind_of};

/// The row is an entity of the namespace that holds.
const ENTITY: u32 = 1 << 31;

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

    /// As `each_start_in`, for an entity that the segment of the part may not hold.
    fn each_start_of(
        &self,
        part: usize,
        entity: Node,
        mut sink: impl FnMut(usize) -> bool,
    ) -> bool {
        let segment = self.segment(part as u32);
        let row = self.graph.row_in(part, entity);
        if let Some(row) = row.filter(|row| *row >= segment.memory_rows()) {
            return self.each_start_in(part, row, sink);
        }
        let mut last = usize::MAX;
        for number in segment.incoming_at(None, &self.graph.id(entity)) {
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
    pub(super) fn mentions_of(&self, entity: Node, most: usize) -> usize {
        let mut count = 0;
        for part in 0..self.eligible.len() {
            let known = match self.graph.row_in(part, entity) {
                Some(row) => self.counted_mentions(part, row),
                None => None,
            };
            if let Some(known) = known {
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

    /// Whether node numbers ascend by (seq, id), memories and entities each for themselves.
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
