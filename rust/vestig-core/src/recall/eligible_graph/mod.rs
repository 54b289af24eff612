//! The graph of the eligible memories and the entities of their namespace, as the walks read it.
//!
//! A node is numbered over all parts: the rows before its part, plus its row.

mod graph_columns;
mod mentions;
mod related_edges;
mod titles;
mod walk_access;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::kernels::bits::{Bits, has};
use crate::kernels::tracerank::{TraceEvent, TraceFactors, TraceParams, TraceSubject, tracerank};
use crate::query::filter::Filter;
use crate::query::graph::{Graph, Node};
use crate::segment::format::Section;
use crate::segment::{
    EXTRA, EdgeRow, Id, KIND_ENTITY, KIND_SUMMARY, MENTIONS, MentionCounts, RELATED, Record,
    STATUS_ACTIVE, SUMMARIZES, Segment, kind_of, unpack,
};
use crate::snapshot::Snapshot;
use graph_columns::Columns;
use mentions::Degrees;
use related_edges::RelatedCursor;

/// Records read ahead: as many as wait for memory at the same time, and some.
const AHEAD: usize = 32;

/// Nodes are eligible memories and unexpired entities, edges are those known at K.
pub(super) struct EligibleGraph<'a> {
    snapshot: &'a Snapshot,
    graph: Graph<'a>,
    filter: &'a Filter,
    known_at: i64,
    /// Number of the namespace in every part.
    namespaces: Vec<Option<u32>>,
    /// Eligible rows of every part.
    eligible: Vec<Bits>,
    eligible_total: usize,
    /// Of every part.
    columns: Vec<Columns<'a>>,
    /// Rows before every part, and all rows.
    offsets: Vec<u32>,
    trace: &'a TraceParams,
    query_time: i64,
    max_entity_degree: usize,
    scratch: Vec<TraceEvent>,
    mentioning: Vec<(u32, u64, f64)>,
    cursors: Vec<RelatedCursor<'a>>,
    /// Of every part; None = not counted.
    counts: Vec<Option<Arc<MentionCounts>>>,
    /// None = not kept for these rows.
    degrees: Option<Arc<Degrees>>,
    /// Node numbers ascend by (seq, id).
    ordered: bool,
}

impl<'a> EligibleGraph<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        filter: &'a Filter,
        eligible: Vec<Bits>,
        eligible_total: usize,
        (trace, query_time): (&'a TraceParams, i64),
    ) -> Self {
        let known_at = filter.graph_time();
        let mut offsets = vec![0];
        for part in &snapshot.parts {
            let before = offsets.last().copied().unwrap_or(0);
            offsets.push(before + part.segment.rows() as u32);
        }
        Self {
            graph: Graph::new(snapshot, known_at),
            snapshot,
            filter,
            known_at,
            namespaces: snapshot
                .parts
                .iter()
                .map(|part| part.segment.string_number(&filter.namespace))
                .collect(),
            eligible,
            eligible_total,
            columns: snapshot.parts.iter().map(Columns::of).collect(),
            offsets,
            trace,
            query_time,
            max_entity_degree: usize::MAX,
            scratch: Vec::new(),
            mentioning: Vec::new(),
            cursors: Vec::new(),
            counts: vec![None; snapshot.parts.len()],
            degrees: None,
            ordered: false,
        }
    }

    pub(super) fn set_max_entity_degree(&mut self, most: usize) {
        self.max_entity_degree = most;
    }

    pub(super) fn number(&self, node: Node) -> u32 {
        self.offsets[node.part as usize] + node.row
    }

    pub(super) fn node(&self, number: u32) -> Node {
        let part = self.offsets.partition_point(|first| *first <= number) - 1;
        Node {
            part: part as u32,
            row: number - self.offsets[part],
        }
    }

    pub(super) fn segment(&self, part: u32) -> &'a Segment {
        &self.snapshot.parts[part as usize].segment
    }

    pub(super) fn is_eligible(&self, node: Node) -> bool {
        has(&self.eligible[node.part as usize], node.row as usize)
    }

    pub(super) fn locate(&self, id: &Id) -> Option<Node> {
        self.graph.locate(id)
    }

    /// See `is_entity`, from the columns.
    fn holds(&self, node: Node) -> bool {
        let segment = self.segment(node.part);
        let row = node.row as usize;
        if row < segment.memory_rows() || segment.attributes(row).kind != KIND_ENTITY {
            return false;
        }
        let namespace = segment.column::<u32>(Section::Namespace)[row];
        self.namespaces[node.part as usize] == Some(namespace) && segment.known(row, self.known_at)
    }

    /// Every known edge of a type that ends at a node: (part, number, edge), starts ascending in
    /// each part; false ends it.
    fn each_incoming(
        &self,
        node: Node,
        kind: u8,
        mut sink: impl FnMut(u32, u32, &EdgeRow) -> bool,
    ) {
        for (part, held) in self.snapshot.parts.iter().enumerate() {
            let segment = held.segment.as_ref();
            let numbers = self.graph.incoming_in(part, node);
            read_ahead(segment, numbers);
            for number in numbers {
                let edge = self.known_edge(segment, *number as usize, kind);
                if edge.is_some_and(|edge| !sink(part as u32, *number, &edge)) {
                    return;
                }
            }
        }
    }

    /// An edge if it has this type and is known. Without time travel every plain edge is, and its
    /// start row need not be looked at.
    #[inline]
    fn known_edge(&self, segment: &Segment, number: usize, kind: u8) -> Option<EdgeRow> {
        let start = unpack(&segment.column::<Record>(Section::Edges)[number]).3;
        if kind_of(start) != kind {
            return None;
        }
        if start & EXTRA == 0 && !self.filter.past {
            return Some(segment.plain_edge(number));
        }
        Some(segment.edge(number)).filter(|edge| self.graph.known(edge))
    }

    /// Number and end of every known edge of a type that starts at a node and whose end counts.
    #[inline]
    fn each_target(&self, node: Node, kind: u8, mut sink: impl FnMut(usize, Node)) {
        let (part, columns) = (node.part, &self.columns[node.part as usize]);
        for number in columns.edges(node.row as usize) {
            let (_, _, end, start) = unpack(&columns.records[number]);
            match kind_of(start).cmp(&kind) {
                Ordering::Less => continue,
                Ordering::Equal => {}
                Ordering::Greater => return, // they stand by type
            }
            if (start & EXTRA != 0 || self.filter.past) && !self.holds_at(part, number) {
                continue;
            }
            let row = end as usize;
            if row < columns.ids.len() && has(columns.live, row) {
                sink(number, Node { part, row: end });
                continue;
            }
            let end = match row.checked_sub(columns.ids.len()) {
                Some(other) => self.graph.end_of_other(part as usize, other),
                None => self.graph.locate(&columns.ids[row]),
            };
            if let Some(end) = end {
                sink(number, end);
            }
        }
    }

    fn holds_at(&self, part: u32, number: usize) -> bool {
        self.graph.known(&self.segment(part).edge(number))
    }

    /// (memory, confidence) of every eligible memory that mentions an entity, memories ascending
    /// within each part, one of several edges after the other.
    pub(super) fn each_mention(&self, entity: Node, mut sink: impl FnMut(Node, f64)) {
        self.each_incoming(entity, MENTIONS, |part, _, edge| {
            if has(&self.eligible[part as usize], edge.source) {
                let row = edge.source as u32;
                sink(Node { part, row }, edge.confidence.unwrap_or(1.0));
            }
            true
        });
    }

    /// Entities that a memory mentions.
    pub(super) fn mentioned(&self, memory: Node) -> Vec<Id> {
        let mut found = Vec::new();
        self.each_target(memory, MENTIONS, |_, end| {
            if self.is_entity(end) {
                found.push(self.graph.id(end));
            }
        });
        found
    }

    /// Eligible memories that a summary covers, ascending.
    pub(super) fn summarised_by(&self, summary: Node) -> Vec<Node> {
        let mut found = Vec::new();
        self.each_target(summary, SUMMARIZES, |_, end| {
            if self.is_eligible(end) {
                found.push(end);
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Distinct active memories with a RELATED edge to this one.
    fn connections(&self, node: Node) -> u64 {
        let mut count = 0;
        let mut sources: Vec<usize> = Vec::new();
        for part in 0..self.columns.len() {
            let segment = self.segment(part as u32);
            let (related, row) = self.graph.related_in(part, node);
            sources.clear();
            for [other, number] in related {
                let edge = self.known_edge(segment, *number as usize, RELATED);
                let comes =
                    |edge: &EdgeRow| Some(edge.source) != row || row == Some(*other as usize);
                sources.extend(edge.filter(comes).map(|edge| edge.source));
            }
            sources.sort_unstable();
            sources.dedup();
            let active = sources
                .iter()
                .filter(|row| self.is_active(part as u32, **row));
            count += active.count() as u64;
        }
        count
    }

    fn is_active(&self, part: u32, row: usize) -> bool {
        let held = &self.snapshot.parts[part as usize];
        let segment = held.segment.as_ref();
        let current = if self.filter.past {
            segment.known(row, self.known_at)
        } else {
            segment.attributes(row).status == STATUS_ACTIVE
        };
        current && has(&held.live, row)
    }

    /// TraceRank of a memory; summaries have none.
    pub(super) fn factors(&mut self, node: Node) -> TraceFactors {
        let columns = &self.columns[node.part as usize];
        let row = node.row as usize;
        let (kind, stability) = columns.kind_and_stability(row);
        if kind == KIND_SUMMARY || !self.trace.enabled {
            return TraceFactors::NONE;
        }
        let ages = self.trace.ages(stability);
        let subject = TraceSubject {
            // What does not age is as if it began now.
            valid_from_us: if ages {
                columns.valid[row]
            } else {
                self.query_time
            },
            stability,
            connectivity_n: if self.trace.connectivity_enabled {
                self.connections(node)
            } else {
                0
            },
        };
        let filter = self.filter;
        let known = columns
            .events(row)
            .filter(|event| !filter.past || event.recorded <= filter.known_at)
            .map(|e| TraceEvent {
                kind: e.kind,
                occurred_us: e.occurred,
                seq: e.seq,
                row: e.row,
            });
        tracerank(
            &mut self.scratch,
            known,
            self.query_time,
            subject,
            self.trace,
        )
    }

    /// Eligible memories that mention an entity: (number, edge, confidence), and how many; nothing
    /// when they are more than `most`.
    fn collect(&self, entity: Node, most: usize, out: &mut Vec<(u32, u64, f64)>) -> usize {
        out.clear();
        let (mut count, mut last) = (0, None);
        self.each_incoming(entity, MENTIONS, |part, number, edge| {
            let source = (part, edge.source);
            if has(&self.eligible[part as usize], edge.source) {
                count += usize::from(last != Some(source));
                last = Some(source);
                let node = self.offsets[part as usize] + edge.source as u32;
                out.push((node, handle(part, number), edge.confidence.unwrap_or(1.0)));
            }
            count <= most
        });
        if count > most {
            out.clear();
        }
        count
    }
}

/// Asks memory for the first of these records at once, for they lie far apart.
fn read_ahead(segment: &Segment, numbers: &[u32]) {
    let records = segment.column::<Record>(Section::Edges);
    let ahead = numbers.iter().take(AHEAD);
    std::hint::black_box(ahead.fold(0, |sum, number| sum ^ records[*number as usize][31]));
}

fn handle(part: u32, number: u32) -> u64 {
    u64::from(part) << 32 | u64::from(number)
}

#[cfg(test)]
mod tests;
