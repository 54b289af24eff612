//! The walks alone, without a query's scan: what a bench measures.

use super::net::Net;
use super::types::Traversal;
use crate::eligible::{Filter, eligible};
use crate::kernels::trace::TraceParams;
use crate::kernels::walk::walk;
use crate::segment::Id;
use crate::snapshot::{Snapshot, count};

/// Walks over one snapshot.
pub struct Steps<'a>(Net<'a>);

impl<'a> Steps<'a> {
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
        Self(Net::new(snapshot, filter, bits, total, (trace, query_time)))
    }

    fn numbers(&self, ids: impl Iterator<Item = Id>) -> Vec<u32> {
        ids.filter_map(|id| Some(self.0.number(self.0.locate(&id)?)))
            .collect()
    }

    /// R-10 from these memories: (admitted, drawn).
    pub fn walk(&mut self, starts: &[Id], seed: u64, traversal: &Traversal) -> (usize, usize) {
        let starts = self.numbers(starts.iter().copied());
        self.0.set_max_entity_degree(traversal.max_entity_degree);
        let cap = traversal.max_nodes.max(starts.len());
        let (walked, drawn) = walk(&mut self.0, &starts, seed, &traversal.params(cap));
        (walked.len(), drawn)
    }

    /// Q-04 from these memories with their L₁, and these entities: (memories reached, pushes).
    pub fn walk_entities(&mut self, starts: &[(Id, f64)], entities: &[Id]) -> (usize, usize) {
        let numbers = self.numbers(starts.iter().map(|(id, _)| *id));
        let levels = starts.iter().map(|(_, level)| *level);
        let starts: Vec<(u32, f64)> = numbers.into_iter().zip(levels).collect();
        let entities = self.numbers(entities.iter().copied());
        let ranks = self.0.entity_walk(&starts, &entities);
        (ranks.memories.len(), ranks.pushes)
    }
}
