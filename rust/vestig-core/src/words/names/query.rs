//! The entities that the names in a query mean.

use super::forms::normal;
use super::{AnalysedText, Context, Entity, Known, Mention, NameRules};

/// What the names in a query mean.
#[derive(Debug, Clone)]
pub struct QueryNames<'a> {
    /// Entities, each once, by the position of the name.
    pub entities: Vec<&'a Entity>,
    /// Names that no entity has.
    pub unknown: Vec<Mention>,
}

impl AnalysedText {
    /// The entities that a query names. A name that several entities have means all of them: the
    /// query says no type, and that matches every type.
    ///
    /// `is_common`: whether a word occurs in lower case.
    #[must_use]
    pub fn named_in_query<'a>(
        &self,
        rules: &NameRules,
        hits: &'a [Known],
        is_common: &dyn Fn(&str) -> bool,
    ) -> QueryNames<'a> {
        let context = Context {
            is_common,
            query: true,
            rules_only: false,
        };
        let norms: Vec<String> = hits.iter().map(|hit| normal(&hit.stored)).collect();
        let mut found = QueryNames {
            entities: Vec::new(),
            unknown: Vec::new(),
        };
        for name in self.resolve(rules, hits, &context) {
            let norm = normal(&name.evidence);
            let having = hits.iter().zip(&norms).filter(|(_, own)| **own == norm);
            let mut meant: Vec<&Entity> = having.map(|(hit, _)| &hit.entity).collect();
            if meant.is_empty() && name.entity.is_none() {
                found.unknown.push(name);
                continue;
            }
            meant.sort_by(|one, other| one.order.cmp(&other.order));
            let resolved = name.entity.as_ref();
            let resolved = hits
                .iter()
                .map(|hit| &hit.entity)
                .find(|entity| Some(&entity.id) == resolved);
            for entity in meant.into_iter().chain(resolved) {
                if !found.entities.iter().any(|known| known.id == entity.id) {
                    found.entities.push(entity);
                }
            }
        }
        found
    }
}
