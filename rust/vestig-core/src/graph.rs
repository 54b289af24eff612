//! The graph of a snapshot: nodes are rows, edges are read where they start and where they end.

use crate::segment::{EdgeRow, Id, Segment, Target};
use crate::snapshot::{Part, Snapshot, has};

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
    /// Code of EdgeType.
    pub kind: u8,
    /// Finite, at least 0.
    pub weight: f64,
    /// None = null.
    pub confidence: Option<f64>,
}

/// Edges of a snapshot as known at one time: created at K or before, not expired by then.
pub struct Graph<'a> {
    parts: &'a [Part],
    known_at: i64,
}

impl<'a> Graph<'a> {
    /// `known_at`: K of T-13 in µs; the far future for "now".
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, known_at: i64) -> Self {
        Self {
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
        self.parts
            .iter()
            .enumerate()
            .rev()
            .find_map(|(part, held)| {
                let row = held.segment.find(id)?;
                has(&held.live, row).then(|| Node::new(part, row))
            })
    }

    fn known(&self, edge: &EdgeRow) -> bool {
        edge.created <= self.known_at && self.known_at < edge.expired
    }

    fn end(&self, part: usize, edge: &EdgeRow) -> Option<Node> {
        match edge.target {
            Target::Row(row) if has(&self.parts[part].live, row) => Some(Node::new(part, row)),
            Target::Row(row) => self.locate(&self.parts[part].segment.ids()[row]),
            Target::Other(id) => self.locate(&id),
        }
    }

    /// Adds the other ends of all edges of these types (bit = code) at a node, in both directions,
    /// in no particular order. A pair with several edges comes several times.
    pub fn neighbours(&self, node: Node, kinds: u16, out: &mut Vec<Neighbour>) {
        self.outgoing(node, kinds, out);
        self.incoming(node, kinds, out);
    }

    fn wanted(&self, edge: &EdgeRow, kinds: u16) -> bool {
        kinds >> edge.kind & 1 == 1 && self.known(edge)
    }

    /// As `neighbours`, only edges that start here.
    pub fn outgoing(&self, node: Node, kinds: u16, out: &mut Vec<Neighbour>) {
        let part = node.part as usize;
        let segment = self.parts[part].segment.as_ref();
        for number in segment.edges(node.row as usize) {
            let edge = segment.edge(number);
            if !self.wanted(&edge, kinds) {
                continue;
            }
            if let Some(end) = self.end(part, &edge) {
                out.push(neighbour(&edge, end, self.id(end)));
            }
        }
    }

    /// As `neighbours`, only edges that end here.
    pub fn incoming(&self, node: Node, kinds: u16, out: &mut Vec<Neighbour>) {
        let id = self.id(node);
        for (part, held) in self.parts.iter().enumerate() {
            let segment = held.segment.as_ref();
            let row = if part == node.part as usize {
                Some(node.row as usize)
            } else {
                segment.find(&id)
            };
            let numbers = match row {
                Some(row) => segment.incoming(row),
                None => segment.incoming_other(&id),
            };
            for number in numbers {
                let edge = segment.edge(*number as usize);
                if has(&held.live, edge.source) && self.wanted(&edge, kinds) {
                    let start = Node::new(part, edge.source);
                    out.push(neighbour(&edge, start, segment.ids()[edge.source]));
                }
            }
        }
    }
}

fn neighbour(edge: &EdgeRow, node: Node, id: Id) -> Neighbour {
    Neighbour {
        node,
        id,
        edge: edge.id,
        kind: edge.kind,
        weight: edge.weight,
        confidence: edge.confidence,
    }
}
