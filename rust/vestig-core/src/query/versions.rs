//! Which of a few memories state anew what another one of them states.
//!
//! Two short texts are versions of one statement where they say much of the same in both directions:
//! a list that holds the words of many facts is no version of any of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::OnceLock;

use crate::kernels::bits::{Bits, count};
use crate::kernels::dot::{cosine, dot};
use crate::kernels::lexical::{document_frequency, idf};
use crate::query::filter::{Filter, eligible};
use crate::segment::format::Section;
use crate::segment::{Id, Segment};
use crate::snapshot::{Part, Snapshot};
use crate::words::{self, flag};

/// From when on a later text counts as a version of an earlier one.
struct Bounds {
    /// Half of the cosine and half of the shared idf, at least.
    link_min: f64,
    /// How far below the earlier one, by L, it may lie.
    behind_max: f64,
    /// Which part of the query's idf it may lack that the earlier one holds.
    lack_max: f64,
    /// It has a number where the earlier one has one.
    keeps_number: bool,
}

const PLAIN: Bounds = Bounds {
    link_min: 0.4,
    behind_max: 2.0,
    lack_max: 0.0,
    keeps_number: true,
};
/// Of a query with a word of the present: who asks for the latest is shown the latest.
const OF_PRESENT: Bounds = Bounds {
    link_min: 0.3,
    behind_max: 3.0,
    lack_max: 0.3,
    keeps_number: false,
};
/// A text of more code points states several things.
const LENGTH_MAX: u32 = 250;
/// Sums of idf that differ by less are equal.
const COVER_STEP: f64 = 1e-9;

/// A memory that may be a version of another one.
struct Statement<'a> {
    segment: &'a Segment,
    row: usize,
    scope: Option<&'a str>,
    /// Since when it holds, the transaction that stored it, its place in its session.
    order: (i64, i64, i64),
    /// Content terms of title and text, each with its idf.
    terms: BTreeMap<&'a str, f64>,
    /// Sum of the idf of the query's content terms that it holds.
    cover: f64,
    /// One of the terms has a digit.
    has_number: bool,
}

/// Groups of memories that are versions of one statement: places among `rows`, the newest first. A
/// memory stands in one group at most, and what passes the filter no more in none.
///
/// The best memory that is in no group yet gathers the later versions of it among those behind it.
/// One joins that holds since a later time (or was stored later, or stands behind it in its session,
/// where that is equal), shares its scope, holds as much of the query, has a number where it has one,
/// lies at most 2 below it by L and is linked with it: ½ cosine + ½ shared idf as a part of that of the
/// text with more ≥ 0.4. Where the query has a word of the present, it may lack 0.3 of the query's idf
/// and a number, lie 3 below, and be linked by 0.3. Texts of more than 250 code points, questions and
/// what does not hold yet join none.
///
/// `rows`: with L, best first. `content`: content terms of the query. `of_present`: it has a word of
/// the present. `at`: when it is asked, µs.
#[must_use]
pub fn versions(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[(Id, f64)],
    content: &[String],
    of_present: bool,
    at: i64,
) -> Vec<Vec<usize>> {
    let bounds = if of_present { OF_PRESENT } else { PLAIN };
    let rarity = Rarity::new(snapshot, filter);
    let content: BTreeSet<&str> = content.iter().map(String::as_str).collect();
    let content: Vec<(&str, f64)> = content
        .into_iter()
        .map(|term| (term, rarity.idf(term)))
        .collect();
    let lack_max = bounds.lack_max * content.iter().map(|(_, idf)| idf).sum::<f64>();
    let found: Vec<Option<Statement<'_>>> = rows
        .iter()
        .map(|(id, _)| statement(snapshot, &rarity, &content, id))
        .map(|found| found.filter(|one| one.order.0 <= at))
        .collect();
    let mut grouped = vec![false; rows.len()];
    let mut groups = Vec::new();
    for (at, older) in found.iter().enumerate() {
        let Some(older) = older.as_ref().filter(|_| !grouped[at]) else {
            continue;
        };
        let joins = |place: &usize| {
            let newer = found[*place].as_ref();
            !grouped[*place]
                && rows[at].1 - rows[*place].1 <= bounds.behind_max
                && newer.is_some_and(|newer| states_anew(newer, older, &bounds, lack_max))
        };
        let mut group: Vec<usize> = (at + 1..rows.len()).filter(joins).collect();
        if group.is_empty() {
            continue;
        }
        group.push(at);
        group.sort_by_key(|place| std::cmp::Reverse(found[*place].as_ref().map(|one| one.order)));
        group.iter().for_each(|place| grouped[*place] = true);
        groups.push(group);
    }
    groups
}

/// Which of these memories state anew what a memory states, or are stated anew by it: places among
/// `others`, the newest first. As in [`versions`] where no query weighs.
///
/// `filter`: among what words are rare. `at`: when it is asked, µs.
#[must_use]
pub fn versions_of(
    snapshot: &Snapshot,
    filter: &Filter,
    id: &Id,
    others: &[Id],
    at: i64,
) -> Vec<usize> {
    let rarity = Rarity::new(snapshot, filter);
    let found = |id| statement(snapshot, &rarity, &[], id).filter(|one| one.order.0 <= at);
    let Some(own) = found(id) else {
        return Vec::new();
    };
    let anew = |one: &Statement<'_>| {
        states_anew(one, &own, &PLAIN, 0.0) || states_anew(&own, one, &PLAIN, 0.0)
    };
    let mut versions: Vec<((i64, i64, i64), usize)> = others
        .iter()
        .enumerate()
        .filter_map(|(place, id)| Some((found(id).filter(anew)?.order, place)))
        .collect();
    versions.sort_by_key(|&(order, _)| std::cmp::Reverse(order));
    versions.into_iter().map(|(_, place)| place).collect()
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

/// How rare terms are among the memories that a filter lets through.
pub(crate) struct Rarity<'a> {
    parts: Vec<(&'a Segment, Bits)>,
    total: u64,
}

impl<'a> Rarity<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, filter: &Filter) -> Self {
        let eligible_of = |part: &'a Part| (part.segment.as_ref(), eligible(part, filter).0);
        let parts: Vec<(&Segment, Bits)> = snapshot.parts.iter().map(eligible_of).collect();
        let total = parts.iter().map(|(_, bits)| count(bits) as u64).sum();
        Self { parts, total }
    }

    /// idf of a term.
    pub(crate) fn idf(&self, term: &str) -> f64 {
        let holding = self.parts.iter().map(|(segment, bits)| {
            let number = segment.term_number(term);
            number.map_or(0, |number| {
                document_frequency(segment.postings(number as usize).0, Some(bits))
            })
        });
        idf(self.total, holding.sum())
    }

    /// Content terms of a row's title and text, each with its idf.
    pub(crate) fn content(&self, segment: &'a Segment, row: usize) -> BTreeMap<&'a str, f64> {
        let author = segment.string(segment.column::<u32>(Section::Author)[row]);
        let own = author.map_or(0, words::content_length);
        let mut terms = BTreeMap::new();
        for number in segment.text_terms(row).skip(own) {
            let term = segment.term(number as usize);
            if !terms.contains_key(term) && !frame_terms().contains(term) {
                terms.insert(term, self.idf(term));
            }
        }
        terms
    }
}

/// Shared idf as a part of that of the text with more.
pub(crate) fn overlap(one: &BTreeMap<&str, f64>, other: &BTreeMap<&str, f64>) -> f64 {
    let sum = |terms: &BTreeMap<&str, f64>| terms.values().sum::<f64>();
    let most = sum(one).max(sum(other));
    let shared = one.iter().filter(|(term, _)| other.contains_key(*term));
    if most > 0.0 {
        shared.map(|(_, idf)| idf).sum::<f64>() / most
    } else {
        0.0
    }
}

fn statement<'a>(
    snapshot: &'a Snapshot,
    rarity: &Rarity<'a>,
    content: &[(&str, f64)],
    id: &Id,
) -> Option<Statement<'a>> {
    let (segment, row) = snapshot.find(id)?;
    let features = segment.features(row);
    if features & flag::LENGTH > LENGTH_MAX || features & (flag::QUESTION | flag::ASKS) != 0 {
        return None;
    }
    let held: HashSet<&str> = segment
        .text_terms(row)
        .map(|number| segment.term(number as usize))
        .collect();
    let terms = rarity.content(segment, row);
    let covered = content.iter().filter(|(term, _)| held.contains(term));
    let at = |section| segment.column::<i64>(section)[row];
    Some(Statement {
        segment,
        row,
        scope: segment.string(segment.column::<u32>(Section::Scope)[row]),
        order: (at(Section::Valid), at(Section::Seq), at(Section::Sequence)),
        has_number: terms.keys().any(|term| term.chars().any(char::is_numeric)),
        terms,
        cover: covered.map(|(_, idf)| idf).sum(),
    })
}

/// `lack_max`: the idf of the query that the newer one may lack.
fn states_anew(
    newer: &Statement<'_>,
    older: &Statement<'_>,
    bounds: &Bounds,
    lack_max: f64,
) -> bool {
    newer.order > older.order
        && newer.scope == older.scope
        && newer.cover >= older.cover - lack_max - COVER_STEP
        && (newer.has_number || !older.has_number || !bounds.keeps_number)
        && link(newer, older) >= bounds.link_min
}

/// How much two texts say of the same, 0 to 1: ½ cosine + ½ overlap.
fn link(one: &Statement<'_>, other: &Statement<'_>) -> f64 {
    let vectors = (one.segment.vector(one.row), other.segment.vector(other.row));
    0.5 * cosine(dot(vectors.0, vectors.1)) + 0.5 * overlap(&one.terms, &other.terms)
}
