//! The graph of the eligible memories, as the kernels that walk ask for it.
//!
//! A node is numbered over all parts: the rows before its part, plus its row.

mod kernels;
mod mentions;
mod titles;

use std::sync::Arc;

use crate::eligible::Filter;
use crate::format::Section;
use crate::graph::{Graph, Node};
use crate::kernels::trace::{
    Stability, TraceEvent, TraceFactors, TraceParams, TraceSubject, tracerank,
};
use crate::segment::{
    EDGE_KINDS, EXTRA, EdgeRow, Id, KIND_ENTITY, KIND_SHIFT, KIND_SUMMARY, MENTIONS, MentionCounts,
    RELATED, Record, STATUS_ACTIVE, SUMMARIZES, Segment, unpack,
};
use crate::snapshot::{Bits, Snapshot, has};

/// Records read ahead: as many as wait for memory at the same time, and some.
const AHEAD: usize = 32;

/// What a walk sees of a snapshot.
pub(super) struct Net<'a> {
    snapshot: &'a Snapshot,
    graph: Graph<'a>,
    filter: &'a Filter,
    known_at: i64,
    /// Number of the namespace in every part.
    namespaces: Vec<Option<u32>>,
    /// Eligible rows of every part.
    eligible: Vec<Bits>,
    eligible_total: usize,
    /// Rows before every part, and all rows.
    offsets: Vec<u32>,
    trace: &'a TraceParams,
    query_time: i64,
    max_entity_degree: usize,
    scratch: Vec<TraceEvent>,
    mentioning: Vec<(u32, u64, f64)>,
    /// Of every part; None = not counted.
    counts: Vec<Option<Arc<MentionCounts>>>,
    /// Node numbers ascend by (seq, id).
    ordered: bool,
}

impl<'a> Net<'a> {
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
            offsets,
            trace,
            query_time,
            max_entity_degree: usize::MAX,
            scratch: Vec::new(),
            mentioning: Vec::new(),
            counts: vec![None; snapshot.parts.len()],
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
        if EDGE_KINDS[(start >> KIND_SHIFT & 3) as usize] != kind {
            return None;
        }
        if start & EXTRA == 0 && !self.filter.past {
            return Some(segment.plain_edge(number));
        }
        Some(segment.edge(number)).filter(|edge| self.graph.known(edge))
    }

    /// Every known edge of a type that starts at a node and whose end counts.
    fn each_outgoing(&self, node: Node, kind: u8, mut sink: impl FnMut(u32, &EdgeRow, Node)) {
        let segment = self.segment(node.part);
        for number in segment.edges(node.row as usize) {
            let Some(edge) = self.known_edge(segment, number, kind) else {
                continue;
            };
            if let Some(end) = self.graph.end(node.part as usize, &edge) {
                sink(number as u32, &edge, end);
            }
        }
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
        self.each_outgoing(memory, MENTIONS, |_, _, end| {
            if self.is_entity(end) {
                found.push(self.graph.id(end));
            }
        });
        found
    }

    /// Eligible memories that a summary covers, ascending.
    pub(super) fn covered(&self, summary: Node) -> Vec<Node> {
        let mut found = Vec::new();
        self.each_outgoing(summary, SUMMARIZES, |_, _, end| {
            if self.is_eligible(end) {
                found.push(end);
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// T-10: distinct active memories with a RELATED edge to this one.
    fn connections(&self, node: Node) -> u64 {
        let (mut count, mut last) = (0, None);
        self.each_incoming(node, RELATED, |part, _, edge| {
            let source = Some((part, edge.source));
            if source != last && self.is_active(part, edge.source) {
                count += 1;
                last = source;
            }
            true
        });
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

    /// T-07 … T-11 of a memory; summaries have none.
    pub(super) fn factors(&mut self, node: Node) -> TraceFactors {
        let segment = self.segment(node.part);
        let row = node.row as usize;
        let attributes = segment.attributes(row);
        if attributes.kind == KIND_SUMMARY || !self.trace.enabled {
            return TraceFactors::NONE;
        }
        let subject = TraceSubject {
            valid_from_us: segment.column::<i64>(Section::Valid)[row],
            stability: Stability::from_code(attributes.stability).unwrap_or(Stability::Unknown),
            connectivity_n: if self.trace.connectivity_enabled {
                self.connections(node)
            } else {
                0
            },
        };
        let filter = self.filter;
        let known = segment
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
