//! The graph as the walk reads it, and the result of the walk.

use crate::kernels::rng::Name;

/// Absent: no edge, no entity, no parent.
pub const NONE: u32 = u32::MAX;

/// A step to a neighbour: one RELATED edge, or two MENTIONS edges over an entity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// The neighbour.
    pub node: u32,
    /// The entity in between; `NONE` = RELATED.
    pub entity: u32,
    /// Memories that mention the entity; 0 for RELATED.
    pub degree: u32,
    /// Weight, or the product of both confidences.
    pub weight: f64,
    /// The edge, or the first of two.
    pub edge: u64,
    /// The second of two.
    pub second: u64,
}

impl Hop {
    /// A RELATED edge.
    #[must_use]
    pub fn related(node: u32, weight: f64, edge: u64) -> Self {
        Self {
            node,
            entity: NONE,
            degree: 0,
            weight,
            edge,
            second: u64::MAX,
        }
    }

    /// Returns whether it leads over an entity.
    #[must_use]
    pub fn mentions(&self) -> bool {
        self.entity != NONE
    }

    pub(super) fn hops(&self) -> u32 {
        if self.mentions() { 2 } else { 1 }
    }
}

/// A graph to walk: eligible memories and edges known at K only.
pub trait Links {
    /// Nodes are numbers below this.
    fn nodes(&self) -> usize;
    /// Calls `sink` with the RELATED edges of a memory, in both directions, by weight descending,
    /// then id of the neighbour and of the edge, until it returns false; with each of several edges
    /// between two memories. At most `most` neighbours are used.
    fn related(&mut self, node: u32, most: usize, sink: impl FnMut(Hop) -> bool);
    /// Adds every memory → entity → other memory over entities of few enough mentions, any order.
    fn mentions(&mut self, node: u32, out: &mut Vec<Hop>);
    /// Prefetches what the walk reads of a memory that it may expand later; with `near`, next.
    fn prefetch(&self, _node: u32, _near: bool) {}
    /// TraceRank of a memory.
    fn tracerank(&mut self, node: u32) -> f64;
    /// Id of a memory or entity.
    fn id(&self, node: u32) -> [u8; 16];
    /// Id of an edge.
    fn edge_id(&self, edge: u64) -> [u8; 16];

    /// Id of a memory, which the random number is made from.
    fn start_name(&self, node: u32) -> Name {
        Name::of("mem", &self.id(node))
    }

    /// Id of an edge, which the random number is made from.
    fn edge_name(&self, edge: u64) -> Name {
        Name::of("edge", &self.edge_id(edge))
    }
}

/// Settings of the traversal.
#[derive(Debug, Clone, PartialEq)]
pub struct WalkParams {
    /// None: probabilistic. Else chosen when p ≥ this and p > 0.
    pub threshold: Option<f64>,
    /// `order: dfs`.
    pub depth_first: bool,
    /// Most admitted nodes, starts included.
    pub cap: usize,
    /// Factor of p.
    pub exploration: f64,
    /// Factor of the signal per step.
    pub decay: f64,
    /// θ of `normalize_weights`; None = weights as they are.
    pub theta: Option<f64>,
    /// Walk RELATED.
    pub related: bool,
    /// Walk MENTIONS.
    pub mentions: bool,
    /// Weaker signals are not offered.
    pub min_signal: f64,
    /// None = no bound.
    pub max_hops: Option<u32>,
    /// True if TraceRank is a factor of p.
    pub use_tracerank: bool,
    /// Neighbours per node and edge type.
    pub max_edges: usize,
}

/// An admitted node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walked {
    /// The memory.
    pub node: u32,
    /// Rank of the start it was reached from.
    pub start: u32,
    /// Signal of the path from the start, 1 at a start.
    pub signal: f64,
    /// 0 for a start.
    pub hops: u32,
    /// Position of the node it was reached from; `NONE` for a start.
    pub parent: u32,
    /// How it was reached; None for a start.
    pub step: Option<Step>,
}

/// A step that was taken, with its chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The step to it.
    pub hop: Hop,
    /// Probability that the step is taken, in [0, 1].
    pub p: f64,
    /// The number drawn; None where none was.
    pub u: Option<f64>,
}
