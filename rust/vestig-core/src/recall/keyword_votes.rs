//! Memories by words alone, for several queries; a word that no memory has stands for those that are
//! written almost like it.

use std::collections::BTreeSet;

use super::segment_columns::{SegmentColumns, fill_words};
use super::{eligible_parts, eligible_rows};
use crate::kernels::bits::{count, set_bits};
use crate::kernels::lexical::document_frequency;
use crate::kernels::top_k::{descending, top_k};
use crate::query::filter::Filter;
use crate::segment::Id;
use crate::snapshot::Snapshot;

/// An index term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedTerm {
    /// As the analyser writes it.
    pub term: String,
    /// Where no eligible memory has it, it stands for the terms that are so many insertions,
    /// deletions and replacements of characters away; 0 = for none.
    pub edits: usize,
}

/// Of each query the eligible memories that share a term with it: (id, score by words), best first,
/// ties by id.
#[must_use]
pub fn keyword_votes(
    snapshot: &Snapshot,
    queries: &[Vec<WantedTerm>],
    filter: &Filter,
    limit: usize,
) -> Vec<Vec<(Id, f64)>> {
    let (mut parts, _) = eligible_parts(snapshot, filter);
    let rows = eligible_rows(&parts);
    let mut votes = Vec::with_capacity(queries.len());
    for query in queries {
        let mut terms: Vec<String> = Vec::new();
        for wanted in query {
            for term in standing_for(&parts, wanted) {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        for columns in &mut parts {
            columns.words.clear();
        }
        fill_words(&mut parts, &terms, rows);
        votes.push(best(&parts, limit));
    }
    votes
}

fn best(parts: &[SegmentColumns<'_>], limit: usize) -> Vec<(Id, f64)> {
    let mut found = Vec::new();
    for columns in parts.iter().filter(|columns| !columns.words.is_empty()) {
        let scored = set_bits(&columns.eligible).filter(|row| columns.words[*row] > 0.0);
        found.extend(scored.map(|row| (columns.segment.ids()[row], columns.words[row])));
    }
    top_k(&mut found, limit, |a, b| {
        descending(a.1, b.1).then(a.0.cmp(&b.0))
    });
    found
}

/// The term itself where an eligible memory has it, else those near it.
fn standing_for(parts: &[SegmentColumns<'_>], wanted: &WantedTerm) -> Vec<String> {
    let held = |columns: &SegmentColumns<'_>| {
        let number = columns.segment.term_number(&wanted.term);
        number.is_some_and(|number| is_held(columns, number as usize))
    };
    if wanted.edits == 0 || parts.iter().any(held) {
        return vec![wanted.term.clone()];
    }
    let letters: Vec<char> = wanted.term.chars().collect();
    let mut near = BTreeSet::new();
    for columns in parts.iter().filter(|columns| columns.any_eligible) {
        for number in 0..columns.segment.term_count() {
            let term = columns.segment.term(number);
            if within(&letters, term, wanted.edits) && is_held(columns, number) {
                near.insert(term.to_owned());
            }
        }
    }
    near.into_iter().collect()
}

/// Returns whether an eligible memory has a term of its segment.
fn is_held(columns: &SegmentColumns<'_>, number: usize) -> bool {
    let whole = count(&columns.eligible) == columns.segment.memory_rows();
    let bits = (!whole).then_some(columns.eligible.as_slice());
    document_frequency(columns.segment.postings(number).0, bits) > 0
}

/// Returns whether a text is at most so many insertions, deletions and replacements away.
fn within(letters: &[char], text: &str, edits: usize) -> bool {
    let most = letters.len() + edits;
    // a character has at most four bytes
    if text.len() + edits < letters.len() || text.len() > 4 * most {
        return false;
    }
    let other: Vec<char> = text.chars().take(most + 1).collect();
    if other.len().abs_diff(letters.len()) > edits {
        return false;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in letters.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != candidate);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
        if row.iter().all(|distance| *distance > edits) {
            return false;
        }
    }
    row[other.len()] <= edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(a: &[char], b: &[char]) -> usize {
        match (a.split_first(), b.split_first()) {
            (None, _) => b.len(),
            (_, None) => a.len(),
            (Some((x, a_rest)), Some((y, b_rest))) if x == y => distance(a_rest, b_rest),
            (Some((_, a_rest)), Some((_, b_rest))) => {
                1 + distance(a_rest, b_rest)
                    .min(distance(a, b_rest))
                    .min(distance(a_rest, b))
            }
        }
    }

    proptest! {
        #[test]
        fn within_is_the_edit_distance(a in "[abü]{0,5}", b in "[abü]{0,5}", edits in 0usize..3) {
            let letters: Vec<char> = a.chars().collect();
            let other: Vec<char> = b.chars().collect();
            prop_assert_eq!(within(&letters, &b, edits), distance(&letters, &other) <= edits);
        }
    }
}
