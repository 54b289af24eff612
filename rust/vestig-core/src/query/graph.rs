//! The graph of a snapshot: nodes are rows, edges are read where they start and where they end.

use crate::kernels::bits::has;
use crate::segment::{EdgeRow, Id, RelatedEnd, Segment, Target};
use crate::snapshot::{Part, Snapshot};

/// A live row of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Position in `Snapshot::parts`.
    pub part: u32,
    /// Row of its segment.
    pub row: u32,
}

impl Node {
    fn new(part: usize, row: usize) -> Self {
        Self {
            part: part as u32,
            row: row as u32,
        }
    }
}

/// The other end of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Where it is.
    pub node: Node,
    /// Its id.
    pub id: Id,
    /// The edge between.
    pub edge: Id,
}

/// Edges of a snapshot as known at one time: created at K or before, not expired by then.
pub struct Graph<'a> {
    snapshot: &'a Snapshot,
    parts: &'a [Part],
    known_at: i64,
}

impl<'a> Graph<'a> {
    /// `known_at`: K in µs, see the filter; the far future for "now".
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, known_at: i64) -> Self {
        Self {
            snapshot,
            parts: &snapshot.parts,
            known_at,
        }
    }

    /// The segment of a node.
    #[must_use]
    pub fn segment(&self, node: Node) -> &'a Segment {
        &self.parts[node.part as usize].segment
    }

    /// Id of a node.
    #[must_use]
    pub fn id(&self, node: Node) -> Id {
        self.segment(node).ids()[node.row as usize]
    }

    /// Where the version that counts of a memory or entity is.
    #[must_use]
    pub fn locate(&self, id: &Id) -> Option<Node> {
        let (part, row) = self.snapshot.locate(id)?;
        Some(Node::new(part, row))
    }

    /// Like `locate`, of the id at this place among the other ids of a part.
    #[inline]
    pub(crate) fn end_of_other(&self, part: usize, other: usize) -> Option<Node> {
        let (part, row) = self.snapshot.end(part, other)?;
        Some(Node::new(part, row))
    }

    /// Returns whether an edge counts.
    #[inline]
    pub(crate) fn known(&self, edge: &EdgeRow) -> bool {
        edge.known(self.known_at)
    }

    /// Where an edge of a part ends, if that row counts.
    #[inline]
    pub(crate) fn end(&self, part: usize, edge: &EdgeRow) -> Option<Node> {
        match edge.target {
            Target::Row(row) if has(&self.parts[part].live, row) => Some(Node::new(part, row)),
            Target::Row(row) => self.locate(&self.parts[part].segment.ids()[row]),
            Target::Other(id) => self.locate(&id),
        }
    }

    /// The place of a node in the lists by node of a part: its row there, where an older version of
    /// it may lie, or one behind all rows.
    #[inline]
    pub(crate) fn place_in(&self, part: usize, node: Node) -> Option<usize> {
        let (of, row) = (node.part as usize, node.row as usize);
        if part == of {
            return Some(row);
        }
        self.snapshot.place_in(part, (of, row))
    }

    /// Numbers of the edges of a part but RELATED that end at a node, masked starts included.
    #[inline]
    pub(crate) fn incoming_in(&self, part: usize, node: Node) -> &'a [u32] {
        let place = self.place_in(part, node);
        place.map_or(&[], |place| self.parts[part].segment.incoming(place))
    }

    /// RELATED edges of a part with an end at a node, those of masked rows included, and the row of
    /// the node there.
    #[inline]
    pub(crate) fn related_in(&self, part: usize, node: Node) -> (&'a [RelatedEnd], Option<usize>) {
        let segment = &self.parts[part].segment;
        let Some(place) = self.place_in(part, node) else {
            return (&[], None);
        };
        (
            segment.related_of(place),
            (place < segment.rows()).then_some(place),
        )
    }

    /// Adds the other ends of all edges at a node, in both directions, in no particular order. A
    /// neighbour with several edges is added several times.
    pub fn neighbours(&self, node: Node, out: &mut Vec<Neighbour>) {
        let mut add = |edge: &EdgeRow, node: Node| {
            out.push(Neighbour {
                node,
                id: self.id(node),
                edge: edge.id,
            });
        };
        let (part, segment) = (node.part as usize, self.segment(node));
        let outgoing = segment.edges(node.row as usize).map(|n| segment.edge(n));
        for edge in outgoing.filter(|edge| self.known(edge)) {
            if let Some(end) = self.end(part, &edge) {
                add(&edge, end);
            }
        }
        for (part, held) in self.parts.iter().enumerate() {
            let (related, row) = self.related_in(part, node);
            // What starts at the node is above; an edge to itself comes from both ends.
            let comes = |edge: &EdgeRow| {
                Some(edge.source) != row || edge.target == Target::Row(edge.source)
            };
            let related =
                (related.iter().map(|end| held.segment.edge(end[1] as usize))).filter(comes);
            let others = (self.incoming_in(part, node).iter())
                .map(|number| held.segment.edge(*number as usize));
            for edge in others.chain(related) {
                if has(&held.live, edge.source) && self.known(&edge) {
                    add(&edge, Node::new(part, edge.source));
                }
            }
        }
    }
}
