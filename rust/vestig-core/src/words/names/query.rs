//! The entities that the names in a query mean.

use std::collections::{HashMap, HashSet};

use super::forms::normal;
use super::{AnalysedText, Context, Entity, Known, Mention, NameRules};

/// The entities that the names in a query mean.
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
        let mut having: HashMap<String, Vec<&Entity>> = HashMap::new();
        let mut by_id: HashMap<&str, &Entity> = HashMap::new();
        for hit in hits {
            let named = having.entry(normal(&hit.stored)).or_default();
            if !named.iter().any(|known| known.id == hit.entity.id) {
                named.push(&hit.entity);
            }
            by_id.insert(&hit.entity.id, &hit.entity);
        }
        for named in having.values_mut() {
            named.sort_by(|one, other| one.order.cmp(&other.order));
        }
        let mut seen = HashSet::new();
        let mut found = QueryNames {
            entities: Vec::new(),
            unknown: Vec::new(),
        };
        for name in self.resolve(rules, hits, &context) {
            let meant = having.get(&normal(&name.evidence)).into_iter().flatten();
            let resolved = name.entity.as_deref().and_then(|id| by_id.get(id));
            let mut all = meant.chain(resolved).peekable();
            if all.peek().is_none() {
                found.unknown.push(name);
                continue;
            }
            let fresh = all.filter(|entity| seen.insert(entity.id.as_str()));
            found.entities.extend(fresh);
        }
        found
    }
}
