//! Features that tell whether the eligible memories answer a query at all: features of the best
//! rows of one scan. Each is an absolute value, so that memories that have nothing to do with the
//! query change none of them.

use super::result::Hit;
use super::signal::Signal;
use crate::kernels::lexical::idf;
use crate::words::{ContentTerm, terms};

/// So many of the best rows are read, whatever the limit of the call.
pub const ROWS_READ: usize = 10;

/// Of the best direct rows: the largest `late` and `topic`; the largest share of the idf of the query's
/// content terms that one of them holds (`cover`), that which no eligible memory holds (`absent`); the
/// largest share of the query's names that one of them mentions (`names`).
pub const FEATURES: [&str; 5] = ["late", "topic", "cover", "absent", "names"];

/// idf are those of a store of at least so many memories, so that a few more of them change no share.
const MEMORIES_MIN: usize = 1000;

/// The values of one of the best rows that count.
#[derive(Debug, Clone, Copy)]
pub struct BestRow<'a> {
    /// Raw value of `late`; 0 where word pieces are not compared.
    pub late: f64,
    /// Raw value of `topic`; 0 without a vector.
    pub topic: f64,
    /// A direct candidate: one that the walk reached is ranked by its start, not by its own L.
    pub direct: bool,
    /// Places of terms of the scan.
    pub matched_terms: &'a [usize],
    /// Entities of the query that it mentions.
    pub named: usize,
}

impl<'a> BestRow<'a> {
    /// Of a row of a scan.
    #[must_use]
    pub fn of(hit: &'a Hit) -> Self {
        Self {
            late: hit.signals[Signal::Late].unwrap_or(0.0),
            topic: hit.signals[Signal::Topic].unwrap_or(0.0),
            direct: hit.direct,
            matched_terms: &hit.matched_terms,
            named: hit.matched_entities.len(),
        }
    }
}

/// The values of the query and the scan that count beside the rows.
#[derive(Debug, Clone, Copy)]
pub struct ConfidenceInput<'a> {
    /// Distinct terms of the query.
    pub terms: &'a [String],
    /// How many eligible memories hold each of them.
    pub document_frequencies: &'a [u64],
    /// Number of eligible memories.
    pub eligible: usize,
    /// Those that say what the query is about.
    pub content_terms: &'a [ContentTerm],
    /// True if an eligible memory meets a date of the query: then the words of the date are no
    /// content.
    pub dates_met: bool,
    /// Number of entities that the query names.
    pub entity_count: usize,
    /// Names in the query that no entity has.
    pub unknown_names: &'a [String],
}

/// The features of the best rows of a scan, best first, in the order of [`FEATURES`].
#[must_use]
pub fn features(rows: &[BestRow<'_>], input: &ConfidenceInput<'_>) -> [f64; FEATURES.len()] {
    let rows = &rows[..rows.len().min(ROWS_READ)];
    let direct: Vec<BestRow<'_>> = rows.iter().copied().filter(|row| row.direct).collect();
    let rows = if direct.is_empty() { rows } else { &direct };
    let most = |value: fn(&BestRow<'_>) -> f64| rows.iter().map(value).reduce(f64::max);
    let weights = content_idfs(input);
    let coverage = Coverage::of(rows, input, &weights);
    [
        most(|row| row.late).unwrap_or(0.0),
        most(|row| row.topic).unwrap_or(0.0),
        coverage.by_one,
        coverage.absent,
        names(rows, input),
    ]
}

/// Of each term of the query its idf where it is content, else 0.
fn content_idfs(input: &ConfidenceInput<'_>) -> Vec<f64> {
    let is_content = |term: &String| {
        let mut own = input.content_terms.iter().filter(|one| one.term == *term);
        own.any(|one| one.counts(input.dates_met))
    };
    let total = input.eligible.max(MEMORIES_MIN) as u64;
    let terms = input.terms.iter().zip(input.document_frequencies);
    let weight = |(term, holding): (&String, &u64)| match is_content(term) {
        true => idf(total, *holding),
        false => 0.0,
    };
    terms.map(weight).collect()
}

/// The largest share of the query's names that one row mentions; names of no entity count where a word
/// of them is in no eligible memory. 1 without names.
fn names(rows: &[BestRow<'_>], input: &ConfidenceInput<'_>) -> f64 {
    let absent = input
        .unknown_names
        .iter()
        .filter(|name| is_absent(name, input));
    let all = input.entity_count + absent.count();
    if all == 0 {
        return 1.0;
    }
    let named = rows.iter().map(|row| row.named).max().unwrap_or(0);
    named as f64 / all as f64
}

/// Returns whether a name holds a word that is in no eligible memory.
#[must_use]
pub fn is_absent(name: &str, input: &ConfidenceInput<'_>) -> bool {
    let absent = |word: &String| {
        let place = input.terms.iter().position(|term| term == word);
        place.is_some_and(|at| input.document_frequencies.get(at) == Some(&0))
    };
    terms(name, None).iter().any(absent)
}

/// Shares of the idf of the content terms.
struct Coverage {
    /// The largest that one row holds.
    by_one: f64,
    /// The share that no eligible memory holds; without content terms 1 where none holds any term.
    absent: f64,
}

impl Coverage {
    fn of(rows: &[BestRow<'_>], input: &ConfidenceInput<'_>, weights: &[f64]) -> Self {
        let whole: f64 = weights.iter().sum();
        if whole <= 0.0 {
            let held = input
                .document_frequencies
                .iter()
                .any(|holding| *holding > 0);
            return Self {
                by_one: 0.0,
                absent: if held { 0.0 } else { 1.0 },
            };
        }
        let mut by_one = 0.0_f64;
        for row in rows {
            let mut own = 0.0;
            for at in row.matched_terms.iter().filter(|at| **at < weights.len()) {
                own += weights[*at];
            }
            by_one = by_one.max(own / whole);
        }
        let sum = |chosen: &mut dyn Iterator<Item = bool>| -> f64 {
            let weights = weights.iter().zip(chosen).filter(|(_, chosen)| *chosen);
            weights.map(|(weight, _)| weight).sum::<f64>() / whole
        };
        let frequencies = input.document_frequencies.iter();
        Self {
            by_one,
            absent: sum(&mut frequencies.map(|frequency| *frequency == 0)),
        }
    }
}
