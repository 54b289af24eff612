//! Filters to a bitmap of rows, before any ranking and any cut.

use std::collections::{HashMap, HashSet};

use crate::kernels::bits::{Bits, count, first_rows, has, set_bits};
use crate::segment::format::Section;
use crate::segment::{
    EventRow, Id, MENTIONS, NO_SEQUENCE, NO_STRING, NO_TIME, STATUS_ACTIVE, Segment, event_code,
};
use crate::snapshot::{Part, Snapshot};

const STATUS_SUPERSEDED: u8 = 1;
const STATUS_ARCHIVED: u8 = 3;
const REINFORCING: [u8; 2] = [event_code("REINFORCE_EXACT"), event_code("REINFORCE_NEAR")];
const UPDATE: u8 = event_code("UPDATE");

/// Conditions on rows; None = no restriction, an empty list = nothing passes. Authors, tags,
/// sources and actors are compared without case, scopes and sessions with it; composed and
/// decomposed characters are one in all of them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only rows of this one.
    pub namespace: String,
    /// K, µs: what the store knew at this time is what counts.
    pub known_at: i64,
    /// True if K was given.
    pub past: bool,
    /// V, µs: only what was true in the world at this time; None = no restriction.
    pub valid_at: Option<i64>,
    /// µs: a superseded memory that ends later is current still; None = none is.
    pub asked_at: Option<i64>,
    /// None inside the list = memories without scope.
    pub scopes: Option<Vec<Option<String>>>,
    /// Codes of Kind.
    pub kinds: Option<Vec<u8>>,
    /// Any of them, or all with `tags_all`.
    pub tags: Option<Vec<String>>,
    /// See `tags`.
    pub tags_all: bool,
    /// Any of the sources of its events.
    pub sources: Option<Vec<String>>,
    /// Any of those that stored or reinforced it.
    pub actors: Option<Vec<String>>,
    /// Any of these authors.
    pub authors: Option<Vec<String>>,
    /// Any of these roles.
    pub roles: Option<Vec<String>>,
    /// Any of these session ids.
    pub session_ids: Option<Vec<String>>,
    /// None of these authors.
    pub exclude_authors: Vec<String>,
    /// None of these session ids.
    pub exclude_session_ids: Vec<String>,
    /// None of these tags.
    pub exclude_tags: Vec<String>,
    /// None of these sources of its events.
    pub exclude_sources: Vec<String>,
    /// Codes of OriginType.
    pub origin_types: Option<Vec<u8>>,
    /// t_valid, or a time at which the text was stated again, ≥ this, µs.
    pub since: Option<i64>,
    /// t_valid, or a time at which the text was stated again, <, µs.
    pub until: Option<i64>,
    /// t_created ≥, µs.
    pub created_since: Option<i64>,
    /// t_created <, µs.
    pub created_until: Option<i64>,
    /// Superseded and deprecated ones too.
    pub include_expired: bool,
    /// Archived ones too.
    pub include_archived: bool,
    /// Only these.
    pub ids: Option<Vec<Id>>,
    /// Not these.
    pub exclude_ids: Option<Vec<Id>>,
    /// Un-boosted cosine ≥ this (rounded to float32); applied by the scan.
    pub min_similarity: Option<f64>,
    /// With an unexpired MENTIONS edge to one of these.
    pub entities: Option<Vec<Id>>,
    /// `t_invalid` as known at K, µs.
    pub ends: HashMap<Id, Option<i64>>,
}

impl Filter {
    /// When edges and entities must hold, µs: K if it was given, else after everything.
    #[must_use]
    pub fn graph_time(&self) -> i64 {
        if self.past {
            self.known_at
        } else {
            NO_TIME - 1
        }
    }

    fn travels(&self) -> bool {
        self.past || self.valid_at.is_some()
    }

    fn status_passes(&self, status: u8) -> bool {
        match status {
            STATUS_ACTIVE => true,
            STATUS_ARCHIVED => self.include_archived,
            // In time travel t_expired decides, not today's status.
            _ => self.include_expired || self.travels(),
        }
    }
}

/// Keeps the bits of rows for which the condition holds.
fn keep(bits: &mut [u64], rows: usize, condition: impl Fn(usize) -> bool) {
    for (i, word) in bits.iter_mut().enumerate() {
        if *word == 0 {
            continue;
        }
        let first = i * 64;
        let mut mask = 0;
        for row in first..rows.min(first + 64) {
            mask |= u64::from(condition(row)) << (row - first);
        }
        *word &= mask;
    }
}

/// Like `keep`, by the values of a column and without a branch for each row.
fn keep_values<T: Copy>(bits: &mut [u64], column: &[T], condition: impl Fn(usize, T) -> bool) {
    for (i, (word, values)) in bits.iter_mut().zip(column.chunks(64)).enumerate() {
        if *word == 0 {
            continue;
        }
        let values = values.iter().enumerate();
        let mask = values.fold(0, |mask, (at, value)| {
            mask | u64::from(condition(i * 64 + at, *value)) << at
        });
        *word &= mask;
    }
}

/// Numbers of all stored spellings of these names.
fn names(segment: &Segment, texts: &[String]) -> Vec<u32> {
    let spellings = texts.iter().flat_map(|text| segment.spellings(text));
    spellings.copied().collect()
}

/// Numbers of all stored compositions of these texts, whose case counts.
fn cased(segment: &Segment, texts: &[String]) -> Vec<u32> {
    let found = texts.iter().flat_map(|text| segment.compositions(text));
    found.collect()
}

/// Rows of a part that pass, and how many rows its namespace has; `min_similarity` is left to
/// the scan.
#[must_use]
pub fn eligible(part: &Part, filter: &Filter) -> (Bits, usize) {
    let segment = part.segment.as_ref();
    let rows = segment.memory_rows();
    let mut bits = part.live.as_ref().clone();
    first_rows(&mut bits, rows);
    let Some(namespace) = segment.string_number(&filter.namespace) else {
        return (vec![0; bits.len()], 0);
    };
    let namespaces = &segment.column::<u32>(Section::Namespace)[..rows];
    keep_values(&mut bits, namespaces, |_, own| own == namespace);
    let stored = count(&bits);
    keep_codes(&mut bits, segment, filter);
    keep_texts(&mut bits, segment, filter);
    keep_lists(&mut bits, segment, filter);
    keep_times(&mut bits, segment, filter);
    if let Some(entities) = &filter.entities {
        let mentioning = mentioning(segment, entities, filter.known_at);
        bits.iter_mut()
            .zip(mentioning)
            .for_each(|(word, wanted)| *word &= wanted);
    }
    if let Some(ids) = &filter.ids {
        let mut wanted = vec![0; bits.len()];
        ids.iter()
            .filter_map(|id| segment.find(id))
            .for_each(|r| wanted[r / 64] |= 1 << (r % 64));
        bits.iter_mut()
            .zip(wanted)
            .for_each(|(word, wanted)| *word &= wanted);
    }
    for row in filter
        .exclude_ids
        .iter()
        .flatten()
        .filter_map(|id| segment.find(id))
    {
        bits[row / 64] &= !(1 << (row % 64));
    }
    (bits, stored)
}

fn keep_codes(bits: &mut [u64], segment: &Segment, filter: &Filter) {
    let passes = |codes: &Option<Vec<u8>>, code: u8| {
        codes.as_ref().is_none_or(|codes| codes.contains(&code))
    };
    let kinds: [bool; 4] = std::array::from_fn(|code| passes(&filter.kinds, code as u8));
    let origins: [bool; 4] = std::array::from_fn(|code| passes(&filter.origin_types, code as u8));
    let statuses: [bool; 4] = std::array::from_fn(|code| filter.status_passes(code as u8));
    let attributes = &segment.column::<[u8; 8]>(Section::Attributes)[..segment.memory_rows()];
    let announced = Announced::new(segment, filter);
    keep_values(bits, attributes, |row, a| {
        kinds[usize::from(a[0] & 3)]
            & (statuses[usize::from(a[1] & 3)] || announced.holds_until_then(row))
            & origins[usize::from(a[2] & 3)]
    });
}

fn keep_texts(bits: &mut [u64], segment: &Segment, filter: &Filter) {
    let rows = segment.memory_rows();
    if let Some(scopes) = &filter.scopes {
        let named: Vec<String> = scopes.iter().flatten().cloned().collect();
        let mut wanted = cased(segment, &named);
        if scopes.contains(&None) {
            wanted.push(NO_STRING);
        }
        let column = segment.column::<u32>(Section::Scope);
        keep(bits, rows, |row| wanted.contains(&column[row]));
    }
    if let Some(roles) = &filter.roles {
        let numbers = roles.iter().filter_map(|role| segment.string_number(role));
        let wanted: Vec<u32> = numbers.collect();
        let column = segment.column::<u32>(Section::Role);
        keep(bits, rows, |row| wanted.contains(&column[row]));
    }
    let authors = segment.column::<u32>(Section::Author);
    if let Some(texts) = &filter.authors {
        let wanted = names(segment, texts);
        keep(bits, rows, |row| wanted.contains(&authors[row]));
    }
    let sessions = segment.column::<u32>(Section::Session);
    if let Some(texts) = &filter.session_ids {
        let wanted = cased(segment, texts);
        keep(bits, rows, |row| wanted.contains(&sessions[row]));
    }
    if !filter.exclude_authors.is_empty() {
        let excluded = names(segment, &filter.exclude_authors);
        keep(bits, rows, |row| !excluded.contains(&authors[row]));
    }
    if !filter.exclude_session_ids.is_empty() {
        let excluded = cased(segment, &filter.exclude_session_ids);
        keep(bits, rows, |row| !excluded.contains(&sessions[row]));
    }
}

fn keep_lists(bits: &mut [u64], segment: &Segment, filter: &Filter) {
    let rows = segment.memory_rows();
    let tags = |row| segment.list(Section::TagOffsets, Section::Tags, row);
    let sources = |row| segment.list(Section::SourceOffsets, Section::Sources, row);
    let actors = |row| segment.list(Section::ActorOffsets, Section::Actors, row);
    let among = |list: &[u32], wanted: &[u32]| list.iter().any(|n| wanted.contains(n));
    match &filter.tags {
        Some(texts) if filter.tags_all => {
            let each: Vec<&[u32]> = texts.iter().map(|tag| segment.spellings(tag)).collect();
            keep(bits, rows, |row| {
                each.iter().all(|wanted| among(tags(row), wanted))
            });
        }
        Some(texts) => {
            let wanted = names(segment, texts);
            keep(bits, rows, |row| among(tags(row), &wanted));
        }
        None => {}
    }
    if let Some(texts) = &filter.sources {
        let wanted = names(segment, texts);
        keep(bits, rows, |row| among(sources(row), &wanted));
    }
    if let Some(texts) = &filter.actors {
        let wanted = names(segment, texts);
        keep(bits, rows, |row| among(actors(row), &wanted));
    }
    if !filter.exclude_tags.is_empty() {
        let excluded = names(segment, &filter.exclude_tags);
        keep(bits, rows, |row| !among(tags(row), &excluded));
    }
    if !filter.exclude_sources.is_empty() {
        let excluded = names(segment, &filter.exclude_sources);
        keep(bits, rows, |row| !among(sources(row), &excluded));
    }
}

/// Ends of superseded memories, which may be to come: until then they are current.
struct Announced<'a> {
    attributes: &'a [[u8; 8]],
    valid: &'a [i64],
    invalid: &'a [i64],
    ids: &'a [Id],
    ends: &'a HashMap<Id, Option<i64>>,
    asked_at: Option<i64>,
}

impl<'a> Announced<'a> {
    fn new(segment: &'a Segment, filter: &'a Filter) -> Self {
        Self {
            attributes: segment.column(Section::Attributes),
            valid: segment.column(Section::Valid),
            invalid: segment.column(Section::Invalid),
            ids: segment.ids(),
            ends: &filter.ends,
            asked_at: filter.asked_at,
        }
    }

    /// Returns whether a row is superseded, and holds until its successor begins.
    fn holds_until_then(&self, row: usize) -> bool {
        let Some(asked_at) = self.asked_at else {
            return false;
        };
        if self.attributes[row][1] & 3 != STATUS_SUPERSEDED {
            return false;
        }
        let known = self.ends.get(&self.ids[row]);
        let end = known.map_or(self.invalid[row], |end| end.unwrap_or(NO_TIME));
        end != NO_TIME && end > self.valid[row] && end > asked_at
    }
}

/// When the texts of memories were stated.
struct Statements<'a> {
    segment: &'a Segment,
    valid: &'a [i64],
    sessions: &'a [u32],
    sequences: &'a [i64],
    offsets: &'a [u32],
    known_at: i64,
}

impl<'a> Statements<'a> {
    fn new(segment: &'a Segment, known_at: i64) -> Self {
        Self {
            segment,
            valid: segment.column(Section::Valid),
            sessions: segment.column(Section::Session),
            sequences: segment.column(Section::Sequence),
            offsets: segment.column(Section::EventOffsets),
            known_at,
        }
    }

    /// Events of a row as known at K. None of a row with one event, which stored it, nor of a turn
    /// at a place of its own: what says the same elsewhere is another turn.
    fn events(&self, row: usize) -> impl Iterator<Item = EventRow> + use<'a> {
        let alone = self.offsets[row + 1] - self.offsets[row] < 2;
        let placed = self.sessions[row] != NO_STRING && self.sequences[row] != NO_SEQUENCE;
        let known_at = self.known_at;
        (!alone && !placed)
            .then(|| self.segment.events(row))
            .into_iter()
            .flatten()
            .filter(move |event| event.recorded <= known_at)
    }

    /// Returns whether the text was stated at a time that passes: when its fact began, or again.
    fn any(&self, row: usize, passes: impl Fn(i64) -> bool) -> bool {
        passes(self.valid[row])
            || self
                .events(row)
                .any(|event| REINFORCING.contains(&event.kind) && passes(event.occurred))
    }

    /// Returns whether the fact holds at a time: stated before and not ended, or stated again
    /// behind its end. An end that was set later than that stands, and so does that of an expired
    /// memory.
    fn hold(&self, row: usize, at: i64, end: i64, live: bool) -> bool {
        let mut begun = self.valid[row] <= at;
        if begun && at < end {
            return true;
        }
        let mut again = false;
        for event in self.events(row) {
            if event.kind == UPDATE {
                again = false;
            } else if REINFORCING.contains(&event.kind) && event.occurred <= at {
                begun = true;
                again |= live && event.occurred >= end;
            }
        }
        begun && at < end || again
    }
}

fn keep_times(bits: &mut [u64], segment: &Segment, filter: &Filter) {
    let rows = segment.memory_rows();
    let created = segment.column::<i64>(Section::Created);
    let statements = Statements::new(segment, filter.known_at);
    let within = |time: i64, from: Option<i64>, to: Option<i64>| {
        from.is_none_or(|from| time >= from) && to.is_none_or(|to| time < to)
    };
    if filter.since.is_some() || filter.until.is_some() {
        keep(bits, rows, |row| {
            statements.any(row, |time| within(time, filter.since, filter.until))
        });
    }
    if filter.created_since.is_some() || filter.created_until.is_some() {
        keep(bits, rows, |row| {
            within(created[row], filter.created_since, filter.created_until)
        });
    }
    if !filter.travels() {
        return;
    }
    let ids = segment.ids();
    let invalid = segment.column::<i64>(Section::Invalid);
    let expired = segment.column::<i64>(Section::Expired);
    let announced = Announced::new(segment, filter);
    keep(bits, rows, |row| {
        let live = expired[row] > filter.known_at;
        let current = live || filter.include_expired || announced.holds_until_then(row);
        let known = created[row] <= filter.known_at;
        let Some(at) = filter.valid_at else {
            return known && current;
        };
        let end = filter
            .ends
            .get(&ids[row])
            .map_or(invalid[row], |end| end.unwrap_or(NO_TIME));
        known && (current || end != NO_TIME) && statements.hold(row, at, end, live)
    });
}

/// Rows with an edge of type MENTIONS, known at K, to one of these entities.
fn mentioning(segment: &Segment, entities: &[Id], known_at: i64) -> Bits {
    let mut bits = vec![0; segment.rows().div_ceil(64)];
    for id in entities {
        for number in segment.incoming_at(segment.find(id), id) {
            let edge = segment.edge(*number as usize);
            if edge.kind == MENTIONS && edge.known(known_at) {
                bits[edge.source / 64] |= 1 << (edge.source % 64);
            }
        }
    }
    bits
}

/// Entities of a part that are of the namespace and not expired at K; `ids` and `exclude_ids` hold
/// for them too.
#[must_use]
pub fn eligible_entities(part: &Part, filter: &Filter) -> Bits {
    let segment = part.segment.as_ref();
    let mut bits = vec![0; part.live.len()];
    let Some(namespace) = segment.string_number(&filter.namespace) else {
        return bits;
    };
    let known_at = filter.graph_time();
    let namespaces = segment.column::<u32>(Section::Namespace);
    let set = |ids: &Option<Vec<Id>>| ids.as_ref().map(|ids| ids.iter().copied().collect());
    let wanted: Option<HashSet<Id>> = set(&filter.ids);
    let excluded: Option<HashSet<Id>> = set(&filter.exclude_ids);
    for row in segment.memory_rows()..segment.rows() {
        let id = &segment.ids()[row];
        let passes = namespaces[row] == namespace
            && has(&part.live, row)
            && segment.known(row, known_at)
            && wanted.as_ref().is_none_or(|ids| ids.contains(id))
            && !excluded.as_ref().is_some_and(|ids| ids.contains(id));
        if passes {
            bits[row / 64] |= 1 << (row % 64);
        }
    }
    bits
}

/// Ids of the memories that a filter lets through, ascending.
#[must_use]
pub fn eligible_ids(snapshot: &Snapshot, filter: &Filter) -> Vec<Id> {
    let ids = |part: &Part| {
        let (bits, _) = eligible(part, filter);
        let found = set_bits(&bits).map(|row| part.segment.ids()[row]);
        found.collect::<Vec<Id>>()
    };
    let mut found: Vec<Id> = snapshot.parts.iter().flat_map(ids).collect();
    found.sort_unstable();
    found
}

/// How many memories a filter lets through.
#[must_use]
pub fn eligible_count(snapshot: &Snapshot, filter: &Filter) -> usize {
    let parts = snapshot.parts.iter();
    parts.map(|part| count(&eligible(part, filter).0)).sum()
}
