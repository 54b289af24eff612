//! The names that rules find in a text joined with those that the store knows.

use std::collections::HashMap;
use std::ops::Range;

use super::analysed::{first_word, may_be_opener};
use super::forms::{cased, normal};
use super::text::stripped;
use super::{AnalysedText, Kind, Name, NameRules, without_overlaps};

/// A run of words of a text that is a name of an entity.
#[derive(Debug, Clone)]
pub struct Known {
    /// First word.
    pub first: usize,
    /// Number of words.
    pub count: usize,
    /// The name as stored.
    pub stored: String,
    /// Whose name.
    pub entity: Entity,
}

/// An entity; the oldest has the least `order`.
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its id.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// Its canonical name.
    pub name: String,
    /// Its place among all, by age.
    pub order: (u64, String),
}

/// A name in a text: as written there, or as stored where the entity is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// The name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// 0-1.
    pub confidence: f64,
    /// Code points of the text; None for a title beside it.
    pub span: Option<(usize, usize)>,
    /// As written.
    pub evidence: String,
    /// The entity that is meant; None for a name new to the store.
    pub entity: Option<String>,
}

/// How known names count.
pub struct Context<'a> {
    /// True if a word occurs in lower case.
    pub is_common: &'a dyn Fn(&str) -> bool,
    /// The text is a query, in which capitals matter less.
    pub query: bool,
    /// Known names only resolve names that the rules find.
    pub rules_only: bool,
}

/// A span that is a known name. `span` None = the title; `as_stored`: in equal capitals; `opens`:
/// the capital may be that of a sentence.
struct Match<'a> {
    span: Option<(usize, usize)>,
    count: usize,
    norm: String,
    entity: &'a Entity,
    as_stored: bool,
    opens: bool,
}

struct Found {
    name: String,
    start: usize,
    end: usize,
    kind: String,
    confidence: f64,
}

/// Code points of the text; None = the title.
type Span = Option<(usize, usize)>;
type ByNorm<'a> = HashMap<String, Vec<&'a Entity>>;

const UNTYPED: &str = "UNTYPED";

impl AnalysedText {
    /// Names in order of position, without overlaps; that of the title last.
    #[must_use]
    pub fn resolve(
        &self,
        rules: &NameRules,
        hits: &[Known],
        context: &Context<'_>,
    ) -> Vec<Mention> {
        let matches = self.matches(hits);
        let mut by_norm: ByNorm<'_> = HashMap::new();
        for found in &matches {
            by_norm
                .entry(found.norm.clone())
                .or_default()
                .push(found.entity);
        }
        let mut found = self.without_openers(rules, context);
        let mut spans: Vec<(Span, Vec<&Match<'_>>)> = Vec::new();
        let meant = matches.iter().filter(|one| one.is_meant(context));
        for one in meant.filter(|_| !context.rules_only) {
            match spans.iter_mut().find(|(span, _)| *span == one.span) {
                Some((_, group)) => group.push(one),
                None => spans.push((one.span, vec![one])),
            }
        }
        let types: HashMap<(usize, usize), String> = found
            .iter()
            .map(|name| ((name.start, name.end), name.kind.clone()))
            .collect();
        let mut chosen: HashMap<(usize, usize), &Entity> = HashMap::new();
        for (span, group) in &spans {
            let Some((start, end)) = *span else { continue };
            let entity = meant_by(group, types.get(&(start, end)).map_or(UNTYPED, |kind| kind));
            chosen.insert((start, end), entity);
            let kind = entity.kind.clone();
            let name = self.text.slice(start..end);
            found.push(Found {
                name,
                start,
                end,
                kind,
                confidence: 1.0,
            });
        }
        let named = without_overlaps(found, |one| (one.start, one.end, one.confidence));
        let mut mentions: Vec<Mention> = named
            .into_iter()
            .map(|one| {
                let span = (one.start, one.end);
                let entity = chosen.get(&span).copied().filter(|_| one.is_known());
                mentioned(&one, Some(span), entity, &by_norm)
            })
            .collect();
        if let Some(title) = &self.title {
            let group = spans.iter().find(|(span, _)| span.is_none());
            mentions.push(titled(
                title,
                group.map(|(_, group)| group.as_slice()),
                &by_norm,
            ));
        }
        mentions
    }

    /// The places among the hits that the whole text names, in any capitals.
    #[must_use]
    pub fn named_by_whole<'a>(&self, hits: &'a [Known]) -> Vec<&'a Entity> {
        let text = self.text();
        if stripped(&text).is_empty() {
            return Vec::new();
        }
        let norm = normal(&text);
        let matches = self.matches(hits).into_iter();
        matches
            .filter(|one| one.norm == norm)
            .map(|one| one.entity)
            .collect()
    }

    /// Returns what a kind is called in the store.
    fn type_of(&self, kind: Kind) -> String {
        match &self.types {
            None => kind.name().to_owned(),
            Some(types) => types.get(kind.name()).map_or(UNTYPED, |own| own).to_owned(),
        }
    }

    fn matches<'a>(&self, hits: &'a [Known]) -> Vec<Match<'a>> {
        hits.iter().filter_map(|hit| self.matched(hit)).collect()
    }

    fn matched<'a>(&self, hit: &'a Known) -> Option<Match<'a>> {
        let norm = normal(&hit.stored);
        // a name such as "Wendy's" holds what is left out of words
        let owned = norm.ends_with("'s");
        let span = *self.spans.get(hit.first)?;
        let last = hit.first + hit.count.checked_sub(1)?;
        let (span, written) = match span {
            Some((start, _)) => {
                let (_, end) = (*self.spans.get(last)?)?;
                let end = end + 2 * usize::from(owned && self.is_possessive(end));
                (Some((start, end)), self.text.slice(start..end))
            }
            None => {
                let whole = Some(hit.first) == self.title_start && last + 1 == self.words.len();
                (None, self.title.clone().filter(|_| whole)?)
            }
        };
        if stripped(&written).is_empty() {
            return None;
        }
        let mut as_stored = written == hit.stored;
        if !as_stored {
            // words on both sides of a dash or quotation mark are no name, but for a title's own
            if span.is_some() && normal(&written) != norm {
                return None;
            }
            as_stored = cased(&written) == cased(&hit.stored);
        }
        let opens = as_stored
            && hit.count == 1
            && span.is_some_and(|(start, end)| may_be_opener(&self.text, start, end));
        Some(Match {
            span,
            count: hit.count,
            norm,
            entity: &hit.entity,
            as_stored,
            opens,
        })
    }

    /// Returns whether an `'s` stands here.
    fn is_possessive(&self, at: usize) -> bool {
        matches!(self.text.char(at), Some('\'' | '’')) && self.text.holds(at + 1, 's')
    }

    /// Names of the rules; a capital that only begins a sentence is no part of one.
    fn without_openers(&self, rules: &NameRules, context: &Context<'_>) -> Vec<Found> {
        let mut kept = Vec::new();
        for name in &self.names {
            let common = name.opens && (context.is_common)(&first_word(&name.name));
            let rest = common
                .then(|| rules.without_first(&self.text, name))
                .flatten();
            match rest {
                Some(rest) => {
                    kept.extend(
                        rest.iter()
                            .map(|one| Found::of(one, one.kind.name().to_owned())),
                    );
                }
                None => kept.push(Found::of(name, self.type_of(name.kind))),
            }
        }
        kept
    }
}

impl Found {
    fn of(name: &Name, kind: String) -> Self {
        let Range { start, end } = name.start..name.end;
        Self {
            name: name.name.clone(),
            start,
            end,
            kind,
            confidence: name.confidence,
        }
    }

    /// Returns whether it is a known name: no rule is as sure.
    fn is_known(&self) -> bool {
        self.confidence >= 1.0
    }
}

impl Match<'_> {
    fn is_meant(&self, context: &Context<'_>) -> bool {
        if self.as_stored {
            return context.query || !(self.opens && (context.is_common)(&self.norm));
        }
        context.query && (self.count > 1 || !(context.is_common)(&self.norm))
    }
}

/// Each entity once, in order.
fn distinct<'a>(entities: impl Iterator<Item = &'a Entity>) -> Vec<&'a Entity> {
    let mut found: Vec<&Entity> = Vec::new();
    for entity in entities {
        if !found.iter().any(|one| one.id == entity.id) {
            found.push(entity);
        }
    }
    found
}

/// The entity that a name means: the one of the type that the rules give, else the only typed one,
/// else the untyped one, else the oldest.
fn meant_by<'a>(group: &[&Match<'a>], kind: &str) -> &'a Entity {
    let first = group[0];
    let entities = distinct(group.iter().map(|one| one.entity));
    let of = |typed: bool| -> Vec<&'a Entity> {
        let fits = |one: &&Entity| (one.kind != UNTYPED) == typed;
        entities.iter().copied().filter(fits).collect()
    };
    let mut chosen: Vec<&Entity> = entities
        .iter()
        .copied()
        .filter(|one| one.kind == kind && kind != UNTYPED)
        .collect();
    if chosen.is_empty() {
        chosen = of(true);
        if chosen.len() != 1 {
            let untyped = of(false);
            if !untyped.is_empty() {
                chosen = untyped;
            }
        }
    }
    first_of(&chosen, &first.norm).unwrap_or(first.entity)
}

/// The one whose canonical name it is, else the oldest.
fn first_of<'a>(entities: &[&'a Entity], norm: &str) -> Option<&'a Entity> {
    if let [only] = entities {
        return Some(only);
    }
    let rank = |entity: &&Entity| (normal(&entity.name) != norm, entity.order.clone());
    entities.iter().copied().min_by_key(rank)
}

/// The entity that a name of this type means, among those that have it: one of its type, rather by
/// its canonical name than by an alias; an untyped name takes the type of the only typed one.
#[must_use]
pub fn entity_named<'a>(
    entities: impl Iterator<Item = &'a Entity>,
    name: &str,
    kind: &str,
) -> Option<&'a Entity> {
    let all = distinct(entities);
    let mut same: Vec<&Entity> = all.iter().copied().filter(|one| one.kind == kind).collect();
    if kind == UNTYPED {
        let typed: Vec<&Entity> = all
            .iter()
            .copied()
            .filter(|one| one.kind != UNTYPED)
            .collect();
        if typed.len() == 1 {
            same = typed;
        }
    }
    if same.is_empty() {
        None
    } else {
        first_of(&same, &normal(name))
    }
}

/// A name of the rules that an entity of its type has in other capitals means that entity.
fn mentioned(
    found: &Found,
    span: Option<(usize, usize)>,
    entity: Option<&Entity>,
    by_norm: &ByNorm<'_>,
) -> Mention {
    let by_name = || {
        let group = by_norm.get(&normal(&found.name))?;
        entity_named(group.iter().copied(), &found.name, &found.kind)
    };
    let entity = entity.or_else(by_name);
    Mention {
        name: entity.map_or_else(|| cased(&found.name), |one| one.name.clone()),
        kind: entity.map_or(&found.kind, |one| &one.kind).clone(),
        confidence: found.confidence,
        span,
        evidence: found.name.clone(),
        entity: entity.map(|one| one.id.clone()),
    }
}

fn titled(title: &str, group: Option<&[&Match<'_>]>, by_norm: &ByNorm<'_>) -> Mention {
    let found = Found {
        name: title.to_owned(),
        start: 0,
        end: 0,
        kind: UNTYPED.to_owned(),
        confidence: 0.95,
    };
    let own = mentioned(&found, None, None, by_norm);
    let Some(group) = group.filter(|group| !group.is_empty()) else {
        return own;
    };
    let entity = meant_by(group, UNTYPED);
    Mention {
        name: entity.name.clone(),
        kind: entity.kind.clone(),
        entity: Some(entity.id.clone()),
        confidence: 1.0,
        ..own
    }
}
