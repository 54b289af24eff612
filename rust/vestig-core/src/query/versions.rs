//! How a few memories follow each other in time, and how much two of them say of the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use crate::kernels::bits::{Bits, count, set_bits};
use crate::kernels::dot::{cosine, dot};
use crate::kernels::lexical::{document_frequency, idf};
use crate::query::filter::{Filter, eligible};
use crate::segment::format::Section;
use crate::segment::{Id, Segment};
use crate::snapshot::Snapshot;
use crate::words::{self, flag};

/// How much later a memory must hold than one that it follows, µs.
const APART_US: i64 = 3_600_000_000;
/// A likeness up to this says nothing.
const CHANCE: f64 = 0.2;

/// Of memories that are eligible, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Versions {
    /// Since when each holds, µs; the earliest time where it is unknown.
    pub valid: Vec<i64>,
    /// Share of the eligible memories that hold since an earlier time.
    pub recency: Vec<f64>,
    /// By memory and memory, how surely the first one is a later word on what the second one says, 0
    /// to 1: 0 where it does not hold an hour later.
    pub follows: Vec<Vec<f64>>,
}

/// The measures by which pairs are judged.
struct Found<'a> {
    segment: &'a Segment,
    row: usize,
    valid: i64,
    scope: Option<&'a str>,
    /// Distinct content terms of title and text, ascending, each with its idf.
    terms: Vec<(&'a str, f64)>,
    /// One of them has a digit.
    has_number: bool,
    /// The text ends with a question mark.
    asks: bool,
}

/// Stems of the words that frame a question.
fn frame_terms() -> &'static HashSet<String> {
    static TERMS: OnceLock<HashSet<String>> = OnceLock::new();
    TERMS.get_or_init(|| {
        words::frame_words()
            .flat_map(|word| words::terms(word, None))
            .collect()
    })
}

/// Of memories that pass the filter; one that does not follows nothing.
#[must_use]
pub fn versions(snapshot: &Snapshot, filter: &Filter, ids: &[Id]) -> Versions {
    let parts: Vec<(&Segment, Bits)> = snapshot
        .parts
        .iter()
        .map(|part| (part.segment.as_ref(), eligible(part, filter).0))
        .collect();
    let total: usize = parts.iter().map(|(_, bits)| count(bits)).sum();
    let found: Vec<Option<Found<'_>>> = ids
        .iter()
        .map(|id| found(snapshot, &parts, total, id))
        .collect();
    let follows = |one: &Option<Found<'_>>| -> Vec<f64> {
        let of = |other: &Option<Found<'_>>| match (one, other) {
            (Some(one), Some(other)) => strength(one, other),
            _ => 0.0,
        };
        found.iter().map(of).collect()
    };
    let valid = |one: &Option<Found<'_>>| one.as_ref().map_or(i64::MIN, |one| one.valid);
    Versions {
        valid: found.iter().map(valid).collect(),
        recency: recency(&parts, total, &found),
        follows: found.iter().map(follows).collect(),
    }
}

fn found<'a>(
    snapshot: &'a Snapshot,
    parts: &[(&Segment, Bits)],
    total: usize,
    id: &Id,
) -> Option<Found<'a>> {
    let (segment, row) = snapshot.find(id)?;
    let author = segment.string(segment.column::<u32>(Section::Author)[row]);
    let own = author.map_or(0, words::content_length);
    let numbers = segment.text_terms(row).skip(own);
    let mut terms: BTreeMap<&str, f64> = BTreeMap::new();
    for number in numbers {
        let term = segment.term(number as usize);
        if terms.contains_key(term) || frame_terms().contains(term) {
            continue;
        }
        let holding = parts.iter().map(|(segment, bits)| {
            let number = segment.term_number(term);
            number.map_or(0, |number| {
                document_frequency(segment.postings(number as usize).0, Some(bits))
            })
        });
        terms.insert(term, idf(total as u64, holding.sum()));
    }
    Some(Found {
        segment,
        row,
        valid: segment.column::<i64>(Section::Valid)[row],
        scope: segment.string(segment.column::<u32>(Section::Scope)[row]),
        asks: segment.features(row) & flag::QUESTION != 0,
        has_number: terms.keys().any(|term| term.chars().any(char::is_numeric)),
        terms: terms.into_iter().collect(),
    })
}

/// Shared idf as a part of that of the one that has less.
fn overlap(one: &Found<'_>, other: &Found<'_>) -> f64 {
    let sum = |terms: &[(&str, f64)]| terms.iter().map(|(_, idf)| idf).sum::<f64>();
    let least = sum(&one.terms).min(sum(&other.terms));
    if least <= 0.0 {
        return 0.0;
    }
    let held = |term: &&(&str, f64)| {
        let at = other.terms.binary_search_by_key(&term.0, |(term, _)| *term);
        at.is_ok()
    };
    one.terms
        .iter()
        .filter(held)
        .map(|(_, idf)| idf)
        .sum::<f64>()
        / least
}

fn strength(one: &Found<'_>, other: &Found<'_>) -> f64 {
    let later = one.valid.saturating_sub(other.valid) > APART_US;
    // A question says nothing that could be newer.
    if one.asks {
        return 0.0;
    }
    // What was said with a number is not said anew without one: that is a word on something else.
    if one.scope != other.scope || !later || (other.has_number && !one.has_number) {
        return 0.0;
    }
    let vectors = (one.segment.vector(one.row), other.segment.vector(other.row));
    let alike = 0.5 * cosine(dot(vectors.0, vectors.1)) + 0.5 * overlap(one, other);
    ((alike - CHANCE) / (1.0 - CHANCE)).max(0.0)
}

fn recency(parts: &[(&Segment, Bits)], total: usize, found: &[Option<Found<'_>>]) -> Vec<f64> {
    let mut times: Vec<i64> = found.iter().flatten().map(|one| one.valid).collect();
    times.sort_unstable();
    times.dedup();
    // By time: how many of the eligible hold since a time between the one before it and it.
    let mut counts = vec![0_usize; times.len() + 1];
    for (segment, bits) in parts {
        let valid = segment.column::<i64>(Section::Valid);
        for row in set_bits(bits) {
            counts[times.partition_point(|time| *time <= valid[row])] += 1;
        }
    }
    let share = |one: &Option<Found<'_>>| {
        let Some(one) = one else { return 0.0 };
        let at = times.partition_point(|time| *time < one.valid);
        counts[..=at].iter().sum::<usize>() as f64 / total.max(1) as f64
    };
    found.iter().map(share).collect()
}
