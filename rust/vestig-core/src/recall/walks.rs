//! The walks alone, without a query's scan: what a bench measures.

use super::eligible_graph::EligibleGraph;
use super::ranking::Traversal;
use crate::kernels::bits::count;
use crate::kernels::tracerank::TraceParams;
use crate::kernels::walk::walk;
use crate::query::filter::{Filter, eligible};
use crate::segment::Id;
use crate::snapshot::Snapshot;

/// Walks over one snapshot.
pub struct Walks<'a>(EligibleGraph<'a>);

impl<'a> Walks<'a> {
    /// Finds what is eligible.
    #[must_use]
    pub fn new(
        snapshot: &'a Snapshot,
        filter: &'a Filter,
        trace: &'a TraceParams,
        query_time: i64,
    ) -> Self {
        let of = |part| eligible(part, filter).0;
        let bits: Vec<_> = snapshot.parts.iter().map(of).collect();
        let total = bits.iter().map(|bits| count(bits)).sum();
        Self(EligibleGraph::new(
            snapshot,
            filter,
            bits,
            total,
            (trace, query_time),
        ))
    }

    /// Where these memories and entities are; unknown ones are left out.
    #[must_use]
    pub fn nodes(&self, ids: &[Id]) -> Vec<u32> {
        let found = |id| Some(self.0.number(self.0.locate(id)?));
        ids.iter().filter_map(found).collect()
    }

    /// The traversal from these memories: (nodes admitted, random numbers drawn).
    pub fn walk(&mut self, starts: &[u32], seed: u64, traversal: &Traversal) -> (usize, usize) {
        self.0.set_max_entity_degree(traversal.max_entity_degree);
        let cap = traversal.max_nodes.max(starts.len());
        let (walked, drawn) = walk(&mut self.0, starts, seed, &traversal.params(cap));
        (walked.len(), drawn)
    }

    /// The entity walk from these memories with their L₁, and these entities: (memories reached,
    /// pushes).
    pub fn walk_entities(&mut self, starts: &[(u32, f64)], entities: &[u32]) -> (usize, usize) {
        let ranks = self.0.entity_walk(starts, entities);
        (ranks.memories.len(), ranks.pushes)
    }
}
