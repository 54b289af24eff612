//! Stored questions that are like a query, and the turns that answer them.
//!
//! A question states nothing: who asked before is no evidence for an answer, however alike the words
//! are. What was said next may be.

use std::collections::{BTreeMap, BTreeSet};

use super::analysed_query::Query;
use super::segment_columns::SegmentColumns;
use super::turn_index::TurnIndex;
use super::{eligible_parts, unit_vector};
use crate::kernels::bits::set_bits;
use crate::kernels::dot::{cosine, dot};
use crate::query::filter::Filter;
use crate::query::versions::{Rarity, overlap};
use crate::segment::format::Section;
use crate::segment::{Id, NO_STRING, Segment};
use crate::snapshot::Snapshot;
use crate::words::{self, Stance, flag, stance};

/// ½ cosine + ½ overlap from which on a question is like the query.
const LIKE_MIN: f64 = 0.3;
/// A query with fewer content terms that has no form of a question searches for a word.
const TERMS_MIN: usize = 2;
/// How many turns behind a question may answer it.
const ANSWER_WITHIN: isize = 2;

/// A stored question that is like the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The memory.
    pub id: Id,
    /// The turn that answers it.
    pub answer: Option<Id>,
}

/// The eligible memories that ask what the query asks, the latest first.
///
/// Alike are those of which ½ cosine + ½ shared idf, as a part of that of the text with more, is at
/// least 0.3; and what a user said before in the query's own words. A question is answered by the
/// first of the two turns behind it in its session that somebody else states something in; a question
/// of the same author between them asks for something else. A query with fewer than two content terms
/// that has not the form of a question asks nothing.
#[must_use]
pub fn asked(snapshot: &Snapshot, query: &Query, filter: &Filter, seated: bool) -> Vec<Asked> {
    let terms: BTreeSet<&str> = query.content.iter().map(|one| one.term.as_str()).collect();
    let text = query.names_text.as_deref();
    if terms.len() < TERMS_MIN && text.map(stance) != Some(Stance::Asks) {
        return Vec::new();
    }
    let rarity = Rarity::new(snapshot, filter);
    let terms: BTreeMap<&str, f64> = (terms.into_iter())
        .map(|term| (term, rarity.idf(term)))
        .collect();
    let own = unit_vector(query, snapshot);
    let (parts, _) = eligible_parts(snapshot, filter);
    let whole = text.map(words::content_of);
    let whole: BTreeSet<&str> = whole.iter().flatten().map(String::as_str).collect();
    let mut found: Vec<(i64, i64, i64, Asked)> = Vec::new();
    for (part, columns) in parts.iter().enumerate() {
        let segment = columns.segment;
        let features = segment.column::<u32>(Section::Features);
        let roles = segment.column::<u32>(Section::Role);
        let sessions = segment.column::<u32>(Section::Session);
        // A text has one number among those of a segment.
        let user = segment.string_number("user");
        for row in set_bits(&columns.eligible) {
            let asks = features[row] & flag::ASKS != 0;
            let said = sessions[row] != NO_STRING && user == Some(roles[row]);
            if !asks && !said {
                continue;
            }
            let alike = || {
                let near = match own.is_empty() {
                    true => 0.0,
                    false => cosine(dot(&own, segment.vector(row))),
                };
                let shared = || overlap(&terms, &rarity.content(segment, row));
                0.5 * near + 0.5 * shared() >= LIKE_MIN
            };
            if !(said && has_words(segment, row, &whole) || asks && alike()) {
                continue;
            }
            let at = |section| segment.column::<i64>(section)[row];
            let answer = (asks && sessions[row] != NO_STRING)
                .then(|| answer(&parts, (part, row), seated))
                .flatten();
            let id = segment.column::<Id>(Section::Ids)[row];
            found.push((
                at(Section::Valid),
                at(Section::Seq),
                at(Section::Sequence),
                Asked { id, answer },
            ));
        }
    }
    found.sort_by_key(|(valid, seq, sequence, one)| (*valid, *seq, *sequence, one.id));
    found.into_iter().rev().map(|(.., one)| one).collect()
}

/// Returns whether title and text have these index terms and no others.
fn has_words(segment: &Segment, row: usize, whole: &BTreeSet<&str>) -> bool {
    let author = segment.string(segment.column::<u32>(Section::Author)[row]);
    let own = author.map_or(0, words::content_length);
    let numbers = segment.text_terms(row).skip(own);
    let terms: BTreeSet<&str> = numbers.map(|n| segment.term(n as usize)).collect();
    !terms.is_empty() && terms == *whole
}

/// The turn that answers a question of a session.
fn answer(parts: &[SegmentColumns<'_>], (part, row): (usize, usize), seated: bool) -> Option<Id> {
    let index = TurnIndex::of_parts(parts, seated);
    let author = |part: usize, row: usize| {
        let segment = parts[part].segment;
        [Section::Author, Section::Role].map(|at| segment.string(segment.column::<u32>(at)[row]))
    };
    for offset in 1..=ANSWER_WITHIN {
        for turn in index.beside(index.turn(part, row), offset) {
            let (there, at) = index.row(turn);
            let segment = parts[there].segment;
            let features = segment.features(at);
            if features & flag::ASKS != 0 && author(there, at) == author(part, row) {
                return None;
            }
            let others = author(there, at) != author(part, row);
            if features & (flag::ASKS | flag::EMPTY) == 0 && others {
                return Some(segment.column::<Id>(Section::Ids)[at]);
            }
        }
    }
    None
}
