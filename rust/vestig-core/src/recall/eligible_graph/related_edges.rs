//! RELATED edges of a memory, strongest first.

use std::cmp::Ordering;

use super::{EligibleGraph, handle};
use crate::kernels::bits::has;
use crate::kernels::top_k::descending;
use crate::kernels::walk::{Hop, Links};
use crate::query::graph::Node;
use crate::segment::map::fetch;
use crate::segment::{EXTRA, RelatedEnd, SOURCE_MASK, unpack};

/// Position in the RELATED edges of a node in one part, and the next one to an eligible memory.
pub(super) struct RelatedCursor<'a> {
    part: u32,
    /// Row of the node there; its own edges count only where it lives.
    row: u32,
    own: bool,
    rest: std::slice::Iter<'a, RelatedEnd>,
    next: Option<Hop>,
}

const NO_ROW: u32 = u32::MAX;

impl<'a> EligibleGraph<'a> {
    /// Calls `sink` with the RELATED edges of a memory, strongest first, until it returns
    /// false. `most`: how many it takes.
    pub(super) fn each_related(&mut self, node: Node, most: usize, sink: impl FnMut(Hop) -> bool) {
        let mut cursors = std::mem::take(&mut self.cursors);
        cursors.clear();
        self.merge_related(&mut cursors, node, most, sink);
        self.cursors = cursors;
    }

    fn merge_related(
        &self,
        cursors: &mut Vec<RelatedCursor<'a>>,
        node: Node,
        most: usize,
        mut sink: impl FnMut(Hop) -> bool,
    ) {
        for part in 0..self.columns.len() {
            let (related, row) = self.graph.related_in(part, node);
            if related.is_empty() {
                continue;
            }
            self.fetch_related(part, &related[..most.min(related.len())]);
            let mut line = RelatedCursor {
                part: part as u32,
                row: row.map_or(NO_ROW, |row| row as u32),
                own: part == node.part as usize,
                rest: related.iter(),
                next: None,
            };
            line.next = self.next_related(&mut line);
            cursors.push(line);
        }
        while let Some(at) = self.first(cursors) {
            let line = &mut cursors[at];
            let Some(hop) = line.next else { return };
            if !sink(hop) {
                return;
            }
            line.next = self.next_related(line);
        }
    }

    fn first(&self, cursors: &[RelatedCursor<'a>]) -> Option<usize> {
        if let [only] = cursors {
            return only.next.is_some().then_some(0);
        }
        let key = |at: &usize| cursors[*at].next;
        let known = (0..cursors.len()).filter(|at| cursors[*at].next.is_some());
        known.min_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) => self.by_strength(&a, &b),
            _ => Ordering::Equal,
        })
    }

    fn by_strength(&self, a: &Hop, b: &Hop) -> Ordering {
        descending(a.weight, b.weight)
            .then_with(|| self.id(a.node).cmp(&self.id(b.node)))
            .then_with(|| self.edge_id(a.edge).cmp(&self.edge_id(b.edge)))
    }

    /// Prefetches what is read of these edges: records and rows lie far apart in memory.
    #[inline]
    fn fetch_related(&self, part: usize, related: &[RelatedEnd]) {
        let columns = &self.columns[part];
        for [other, number] in related {
            fetch(columns.records, *number as usize);
            columns.fetch_row(*other as usize);
        }
    }

    /// The next way of a line that is known and leads to an eligible memory.
    #[inline]
    fn next_related(&self, line: &mut RelatedCursor<'a>) -> Option<Hop> {
        let columns = &self.columns[line.part as usize];
        let eligible = &self.eligible[line.part as usize];
        for [other, number] in line.rest.by_ref() {
            let row = *other as usize;
            let here = row < columns.ids.len() && has(eligible, row);
            let (_, weight, _, start) = unpack(&columns.records[*number as usize]);
            let leaves = start & SOURCE_MASK == line.row;
            // The edges of a masked version are no edges, those of its twin count.
            if leaves && !line.own || !here && !leaves {
                continue;
            }
            if (start & EXTRA != 0 || self.filter.past)
                && !self.holds_at(line.part, *number as usize)
            {
                continue;
            }
            let node = if here {
                self.offsets[line.part as usize] + other
            } else {
                let (part, behind) = (line.part as usize, row.checked_sub(columns.ids.len()));
                let end = match behind {
                    Some(other) => self.graph.end_of_other(part, other),
                    None => {
                        let edge = self.segment(line.part).edge(*number as usize);
                        self.graph.end(part, &edge)
                    }
                };
                match end.filter(|end| self.is_eligible(*end)) {
                    Some(end) => self.number(end),
                    None => continue,
                }
            };
            return Some(Hop::related(node, weight, handle(line.part, *number)));
        }
        None
    }
}
