//! Entities by the names that titles are compared with.

use super::EligibleGraph;
use crate::query::graph::Node;
use crate::segment::MENTIONS;

impl EligibleGraph<'_> {
    /// Entities that a memory mentions, each once.
    pub(in crate::recall) fn entities_of(&self, memory: Node) -> Vec<Node> {
        let mut found = Vec::new();
        self.each_target(memory, MENTIONS, |_, end| {
            if !found.contains(&end) && self.is_entity(end) {
                found.push(end);
            }
        });
        found
    }

    /// The normal form of an entity's canonical name.
    pub(in crate::recall) fn normal_name(&self, entity: Node) -> Option<&str> {
        let segment = self.segment(entity.part);
        if !self.is_entity(entity) {
            return None;
        }
        let [norm, _] = segment.names(entity.row as usize).first()?;
        segment.string(*norm)
    }
}
