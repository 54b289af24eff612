//! Which of a few memories state anew what another one of them states.
//!
//! Two short texts are versions of one statement where they say much of the same in both directions:
//! a list that holds the words of many facts is no version of any of them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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
/// Of a later text that reads as an answer to the query, whatever else holds.
const READ_BEHIND_MAX: f64 = 3.0;
const READ_LACK_MAX: f64 = 0.3;
/// A text of more code points states several things.
const LENGTH_MAX: u32 = 250;
/// Sums of idf that differ by less are equal.
const COVER_STEP: f64 = 1e-9;

/// A memory that may be a version of another one.
struct Statement<'a> {
    segment: &'a Segment,
    row: usize,
    scope: Option<&'a str>,
    /// It is confirmed; since when it holds, the transaction that stored it, its place in its session.
    order: (bool, i64, i64, i64),
    /// Content terms of title and text, each with its idf; only few of the best are compared by them.
    terms: OnceCell<BTreeMap<&'a str, f64>>,
    /// Sum of the idf of the query's content terms that it holds.
    cover: f64,
    /// One of its terms has a digit.
    has_number: bool,
    /// A judge that read it with the query says that it answers it.
    reads_as_answer: bool,
}

impl Statement<'_> {
    /// It reads as an answer and is confirmed, and the other is not: it stands before that however
    /// far below it lies.
    fn answers_for(&self, other: &Self) -> bool {
        self.reads_as_answer && self.order.0 && !other.order.0
    }
}

/// A memory that a query found.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Of the memory.
    pub id: Id,
    /// L, with what a judge adds.
    pub level: f64,
    /// A judge that read it with the query says that it answers it.
    pub reads_as_answer: bool,
    /// An assistant or a tool stated it, and no user confirmed it.
    pub unconfirmed: bool,
}

/// Groups of memories that are versions of one statement: places among `rows`, the newest first. A
/// memory stands in one group at most, and what passes the filter no more in none.
///
/// The best memory that is in no group yet gathers the later versions of it among those behind it.
/// One joins that holds since a later time (or was stored later, or stands behind it in its session,
/// where that is equal), shares its scope, holds as much of the query, has a number where it has one,
/// lies at most 2 below it by L and is linked with it: ½ cosine + ½ shared idf as a part of that of the
/// text with more ≥ 0.4. Where the query has a word of the present, it may lack 0.3 of the query's idf
/// and a number, lie 3 below, and be linked by 0.3; one that reads as an answer may lack as much and lie
/// as far below. Texts of more than 250 code points, questions and what does not hold yet join none.
///
/// `rows`: best first. `content`: content terms of the query. `of_present`: it has a word of
/// the present. `at`: when it is asked, µs.
#[must_use]
pub fn versions(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[Found],
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
    let rule = Rule {
        rarity: &rarity,
        question: content.iter().map(|(_, idf)| idf).sum(),
        bounds,
    };
    let found: Vec<Option<Statement<'_>>> = rows
        .iter()
        .map(|row| {
            let mut found = statement(snapshot, &content, &row.id)?;
            found.reads_as_answer = row.reads_as_answer;
            found.order.0 = !row.unconfirmed;
            (found.order.1 <= at).then_some(found)
        })
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
                && newer.is_some_and(|newer| {
                    rows[at].level - rows[*place].level <= rule.behind_max(newer, older)
                        && rule.states_anew(newer, older)
                })
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
    let found = |id| statement(snapshot, &[], id).filter(|one| one.order.1 <= at);
    let Some(own) = found(id) else {
        return Vec::new();
    };
    let rule = Rule {
        rarity: &rarity,
        bounds: PLAIN,
        question: 0.0,
    };
    let mut versions = Vec::new();
    for (place, id) in others.iter().enumerate() {
        let Some(one) = found(id) else { continue };
        if rule.states_anew(&one, &own) || rule.states_anew(&own, &one) {
            versions.push((one.order, place));
        }
    }
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
    /// The eligible rows of each segment; None where all of its memories are.
    parts: Vec<(&'a Segment, Option<Bits>)>,
    total: u64,
    /// Of the terms of rows, as far as they were made.
    known: RefCell<HashMap<&'a str, f64>>,
}

impl<'a> Rarity<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, filter: &Filter) -> Self {
        let mut total = 0;
        let eligible_of = |part: &'a Part| {
            let (segment, bits) = (part.segment.as_ref(), eligible(part, filter).0);
            let rows = count(&bits);
            total += rows as u64;
            (segment, (rows < segment.memory_rows()).then_some(bits))
        };
        let parts = snapshot.parts.iter().map(eligible_of).collect();
        Self {
            parts,
            total,
            known: RefCell::default(),
        }
    }

    /// idf of a term.
    pub(crate) fn idf(&self, term: &str) -> f64 {
        self.idf_by(|segment| segment.term_number(term))
    }

    /// idf of a term by its number in each segment.
    fn idf_by(&self, number_in: impl Fn(&Segment) -> Option<u32>) -> f64 {
        let holding = self.parts.iter().map(|(segment, bits)| {
            number_in(segment).map_or(0, |number| {
                document_frequency(segment.postings(number as usize).0, bits.as_deref())
            })
        });
        idf(self.total, holding.sum())
    }

    /// Content terms of a row's title and text, each with its idf.
    pub(crate) fn content(&self, segment: &'a Segment, row: usize) -> BTreeMap<&'a str, f64> {
        let mut found = BTreeMap::new();
        let mut known = self.known.borrow_mut();
        for number in term_numbers(segment, row) {
            let term = segment.term(number as usize);
            if frame_terms().contains(term) {
                continue;
            }
            let idf = || {
                self.idf_by(|other| match std::ptr::eq(other, segment) {
                    true => Some(number),
                    false => other.term_number(term),
                })
            };
            let idf = || *known.entry(term).or_insert_with(idf);
            found.entry(term).or_insert_with(idf);
        }
        found
    }
}

/// Numbers of the index terms of a row's title and text.
fn term_numbers(segment: &Segment, row: usize) -> impl Iterator<Item = u32> {
    let author = segment.string(segment.column::<u32>(Section::Author)[row]);
    let own = author.map_or(0, words::content_length);
    segment.text_terms(row).skip(own)
}

/// Index terms of a row's title and text.
fn terms(segment: &Segment, row: usize) -> impl Iterator<Item = &str> {
    term_numbers(segment, row).map(|number| segment.term(number as usize))
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
    let covered = content.iter().filter(|(term, _)| held.contains(term));
    let at = |section| segment.column::<i64>(section)[row];
    Some(Statement {
        segment,
        row,
        scope: segment.string(segment.column::<u32>(Section::Scope)[row]),
        order: (
            true,
            at(Section::Valid),
            at(Section::Seq),
            at(Section::Sequence),
        ),
        has_number: terms(segment, row).any(|term| term.chars().any(char::is_numeric)),
        terms: OnceCell::new(),
        cover: covered.map(|(_, idf)| idf).sum(),
        reads_as_answer: false,
    })
}

/// The rule by which a later text is a version of an earlier one.
struct Rule<'r, 'a> {
    rarity: &'r Rarity<'a>,
    bounds: Bounds,
    /// Sum of the idf of the query's content terms.
    question: f64,
}

impl<'a> Rule<'_, 'a> {
    /// How far below the earlier one, by L, the later one may lie.
    fn behind_max(&self, newer: &Statement<'a>, older: &Statement<'a>) -> f64 {
        if newer.answers_for(older) {
            f64::INFINITY
        } else if newer.reads_as_answer {
            self.bounds.behind_max.max(READ_BEHIND_MAX)
        } else {
            self.bounds.behind_max
        }
    }

    /// The idf of the query that the later one may lack.
    fn lack_max(&self, newer: &Statement<'a>) -> f64 {
        let share = if newer.reads_as_answer {
            self.bounds.lack_max.max(READ_LACK_MAX)
        } else {
            self.bounds.lack_max
        };
        self.question * share
    }

    fn states_anew(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        if newer.answers_for(older) {
            return newer.scope == older.scope && self.link(newer, older) >= OF_PRESENT.link_min;
        }
        newer.order > older.order
            && newer.scope == older.scope
            && newer.cover >= older.cover - self.lack_max(newer) - COVER_STEP
            && (newer.has_number || !older.has_number || !self.bounds.keeps_number)
            && self.link(newer, older) >= self.bounds.link_min
    }

    /// How much two texts say of the same, 0 to 1: ½ cosine + ½ overlap.
    fn link(&self, one: &Statement<'a>, other: &Statement<'a>) -> f64 {
        let vectors = (one.segment.vector(one.row), other.segment.vector(other.row));
        let [terms, others] = [one, other].map(|of| {
            of.terms
                .get_or_init(|| self.rarity.content(of.segment, of.row))
        });
        0.5 * cosine(dot(vectors.0, vectors.1)) + 0.5 * overlap(terms, others)
    }
}
