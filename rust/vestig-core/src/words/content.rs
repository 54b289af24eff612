//! Content terms of a query: those that say what it is about.

use std::collections::HashSet;

use super::lower_case::lower_case;
use super::placed_terms;

/// An index term of a query that says what it is about: its word is neither a function word nor one
/// that only frames the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentTerm {
    /// One of the query's index terms.
    pub term: String,
    /// First code point of its word.
    pub start: usize,
    /// Code point behind the last one.
    pub end: usize,
    /// Its word stands inside an expression of time; it is no content where an eligible memory
    /// meets a date of the query.
    pub in_time: bool,
}

impl ContentTerm {
    /// Returns whether it is content. `dates_met`: an eligible memory meets a date of the query.
    #[must_use]
    pub fn counts(&self, dates_met: bool) -> bool {
        !(dates_met && self.in_time)
    }
}

/// The content terms of a text in order, repeats kept. An identifier gives its whole and its parts,
/// each judged by itself.
///
/// `left_out`: lower-cased words that are no content; `times`: expressions of time, code points
/// [start, end).
#[must_use]
pub fn content_terms(
    text: &str,
    times: &[(usize, usize)],
    left_out: &HashSet<String>,
) -> Vec<ContentTerm> {
    let in_time = |start, end| times.iter().any(|(from, to)| *from <= start && end <= *to);
    let terms = placed_terms(text).into_iter();
    let content = terms.filter(|one| !left_out.contains(&lower_case(one.word)));
    content
        .map(|one| ContentTerm {
            in_time: in_time(one.start, one.end),
            term: one.term,
            start: one.start,
            end: one.end,
        })
        .collect()
}
