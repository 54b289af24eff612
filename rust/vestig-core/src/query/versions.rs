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
/// A memory reads as an answer from this logit on; one that says the same as an earlier one in like
/// words, already from the second on.
const ANSWERS_MIN: f64 = 1.0;
const ANSWERS_ALIKE_MIN: f64 = 0.0;
/// A text holds few of the query's content terms where it holds at most one of so many: it answers
/// without repeating what is asked about.
const FEW_TERMS_OF: usize = 3;
/// A text states several things that holds so much of what an earlier one holds, by idf, and is so
/// many times as much.
const SEVERAL_HELD: f64 = 0.9;
const SEVERAL_MORE: f64 = 3.0;
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
    /// The query's content terms that it holds: the sum of their idf, and their number.
    cover: f64,
    held: usize,
    /// Which of the query's names it holds.
    names: Vec<bool>,
    /// One of its terms has a digit.
    has_number: bool,
    /// The logit by which it answers the query, of a judge that read both.
    answers: Option<f64>,
}

impl Statement<'_> {
    /// It reads as an answer and is confirmed, and the other is not: it stands before that however
    /// far below it lies.
    fn answers_for(&self, other: &Self) -> bool {
        let reads_as_answer = self.answers.is_some_and(|logit| logit >= ANSWERS_MIN);
        reads_as_answer && self.order.0 && !other.order.0
    }
}

/// A memory that a query found.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Of the memory.
    pub id: Id,
    /// L, with what a judge adds.
    pub level: f64,
    /// The logit by which it answers the query, of a judge that read both.
    pub answers: Option<f64>,
    /// An assistant or a tool stated it, and no user confirmed it.
    pub unconfirmed: bool,
}

/// Numbers that tell if the later of two texts that a judge read takes the place of the earlier one:
///
/// * `alike`: cosine of both;
/// * `others_alike`: mean cosine of the other pairs of texts that were read, with `OTHERS` of
///   `OTHERS_ALIKE` more: texts of one subject and shape are all alike;
/// * `shared`: shared idf, as a part of that of the text with more;
/// * `answers`: the logit by which the later one answers the query;
/// * `days`: ln(1 + days) between the times since when they hold;
/// * `numbers`: both have a number;
/// * `of_present`: the query has a word of the present.
pub const SIGNALS: [&str; 7] = [
    "alike",
    "others_alike",
    "shared",
    "answers",
    "days",
    "numbers",
    "of_present",
];
/// Values of [`SIGNALS`], in their order.
pub type Signals = [f64; SIGNALS.len()];

/// Pairs that count beside those that were read, and their cosine.
const OTHERS: f64 = 3.0;
const OTHERS_ALIKE: f64 = 0.4;
const US_OF_DAY: f64 = 86_400e6;

/// From which sum on the later of two texts that a judge read takes the place of the earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// Of each of [`SIGNALS`].
    pub weights: Signals,
    /// The least weighted sum.
    pub least: f64,
}

impl Weights {
    fn pass(&self, signals: &Signals) -> bool {
        let sum: f64 = self.weights.iter().zip(signals).map(|(w, x)| w * x).sum();
        sum >= self.least
    }
}

/// A query for which memories are compared.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Content terms of the query.
    pub content: &'a [String],
    /// Those among them that are names.
    pub names: &'a [String],
    /// It has a word of the present.
    pub of_present: bool,
    /// When it is asked, µs.
    pub at: i64,
}

/// Groups of memories that are versions of one statement: places among `rows`, the newest first. A
/// memory stands in one group at most, and what passes the filter no more in none.
///
/// The best memory that is in no group yet gathers the later versions of it among those behind it.
/// One joins that holds since a later time (or was stored later, or stands behind it in its session,
/// where that is equal), shares its scope, has a number where it has one, and says the same in like
/// words: it holds as much of the query, lies at most 2 below it by L and is linked with it, half the
/// cosine and half the shared idf, as a part of that of the text with more, being 0.4 together. Where
/// the query has a word of the present, it may lack 0.3 of the query's idf and a number, lie 3 below,
/// and be linked by 0.3. Of two that a judge read, the later one reads as an answer too; or it joins by
/// the weighted sum of [`SIGNALS`], if it holds as much of the query, the same names of it, or at most
/// a third of its content terms. Texts of more than 250 code points, questions and what does not hold
/// yet join none.
///
/// `rows`: best first.
#[must_use]
pub fn versions(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[Found],
    question: &Question<'_>,
    weights: &Weights,
) -> Vec<Vec<usize>> {
    let rarity = Rarity::new(snapshot, filter);
    let rule = Rule::of(&rarity, question);
    let found = rule.statements(snapshot, rows, question);
    let others = Others::of(&found);
    let mut grouped = vec![false; rows.len()];
    let mut groups = Vec::new();
    for (at, older) in found.iter().enumerate() {
        let Some(older) = older.as_ref().filter(|_| !grouped[at]) else {
            continue;
        };
        let joins = |place: &usize| {
            let Some(newer) = found[*place].as_ref().filter(|_| !grouped[*place]) else {
                return false;
            };
            if newer.answers_for(older) {
                return rule.answers_instead(newer, older);
            }
            if !rule.may_follow(newer, older) {
                return false;
            }
            let in_like_words = || {
                rows[at].level - rows[*place].level <= rule.bounds.behind_max
                    && rule.says_as_much(newer, older)
                    && rule.link(newer, older) >= rule.bounds.link_min
            };
            match rule.signals(&others, newer, older) {
                Some(signals) => {
                    rule.may_replace(newer, older) && weights.pass(&signals)
                        || newer.answers >= Some(ANSWERS_ALIKE_MIN) && in_like_words()
                }
                None => in_like_words(),
            }
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

/// [`SIGNALS`] of each pair of memories that a judge read of which the one behind may take the place
/// of the one before: (place of the earlier, place of the later, signals). Weights are learned from
/// them.
#[must_use]
pub fn version_signals(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[Found],
    question: &Question<'_>,
) -> Vec<(usize, usize, Signals)> {
    let rarity = Rarity::new(snapshot, filter);
    let rule = Rule::of(&rarity, question);
    let found = rule.statements(snapshot, rows, question);
    let others = Others::of(&found);
    let mut pairs = Vec::new();
    for (at, older) in found.iter().enumerate() {
        for (place, newer) in found.iter().enumerate().skip(at + 1) {
            let (Some(older), Some(newer)) = (older, newer) else {
                continue;
            };
            let signals = rule.signals(&others, newer, older);
            let may = rule.may_follow(newer, older) && rule.may_replace(newer, older);
            if let Some(signals) = signals.filter(|_| may) {
                pairs.push((at, place, signals));
            }
        }
    }
    pairs
}

/// How alike the texts that a judge read are.
struct Others {
    /// Sum of the cosines of all pairs, and their number.
    sum: f64,
    pairs: f64,
}

impl Others {
    fn of(found: &[Option<Statement<'_>>]) -> Self {
        let read = || found.iter().flatten().filter(|one| one.answers.is_some());
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (at, one) in read().enumerate() {
            for other in read().skip(at + 1) {
                sum += alike(one, other);
                pairs += 1.0;
            }
        }
        Self { sum, pairs }
    }

    /// Mean cosine of all pairs but one of this cosine, with those of `OTHERS`.
    fn mean_without(&self, alike: f64) -> f64 {
        (self.sum - alike + OTHERS * OTHERS_ALIKE) / (self.pairs - 1.0 + OTHERS)
    }
}

/// Cosine of two texts.
fn alike(one: &Statement<'_>, other: &Statement<'_>) -> f64 {
    cosine(dot(
        one.segment.vector(one.row),
        other.segment.vector(other.row),
    ))
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
    let found = |id| statement(snapshot, &[], &[], id).filter(|one| one.order.1 <= at);
    let Some(own) = found(id) else {
        return Vec::new();
    };
    let rule = Rule::of_texts(&rarity);
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
    names: &[String],
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
    let covered = || content.iter().filter(|(term, _)| held.contains(term));
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
        cover: covered().map(|(_, idf)| idf).sum(),
        held: covered().count(),
        names: names
            .iter()
            .map(|name| held.contains(name.as_str()))
            .collect(),
        answers: None,
    })
}

/// The rule by which a later text is a version of an earlier one.
struct Rule<'r, 'a> {
    rarity: &'r Rarity<'a>,
    bounds: Bounds,
    /// The query's content terms, each once, with their idf, and the sum of these.
    content: Vec<(&'r str, f64)>,
    asked: f64,
    of_present: bool,
}

impl<'r, 'a> Rule<'r, 'a> {
    fn of(rarity: &'r Rarity<'a>, question: &Question<'r>) -> Self {
        let content: BTreeSet<&str> = question.content.iter().map(String::as_str).collect();
        let content: Vec<(&str, f64)> = content
            .into_iter()
            .map(|term| (term, rarity.idf(term)))
            .collect();
        Self {
            rarity,
            bounds: if question.of_present {
                OF_PRESENT
            } else {
                PLAIN
            },
            asked: content.iter().map(|(_, idf)| idf).sum(),
            content,
            of_present: question.of_present,
        }
    }

    /// Of texts alone, which no query weighs.
    fn of_texts(rarity: &'r Rarity<'a>) -> Self {
        Self {
            rarity,
            bounds: PLAIN,
            content: Vec::new(),
            asked: 0.0,
            of_present: false,
        }
    }

    /// The memories of rows that hold already and may be versions.
    fn statements(
        &self,
        snapshot: &'a Snapshot,
        rows: &[Found],
        question: &Question<'_>,
    ) -> Vec<Option<Statement<'a>>> {
        rows.iter()
            .map(|row| {
                let mut found = statement(snapshot, &self.content, question.names, &row.id)?;
                found.answers = row.answers;
                found.order.0 = !row.unconfirmed;
                (found.order.1 <= question.at).then_some(found)
            })
            .collect()
    }

    /// It is later, of the same scope, and has a number where the other one has one.
    fn may_follow(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.order > older.order
            && newer.scope == older.scope
            && (newer.has_number || !older.has_number || !self.bounds.keeps_number)
    }

    /// [`SIGNALS`] of two texts; None where a judge did not read both, or only one of them is confirmed.
    fn signals(
        &self,
        others: &Others,
        newer: &Statement<'a>,
        older: &Statement<'a>,
    ) -> Option<Signals> {
        older.answers?;
        if newer.order.0 != older.order.0 {
            return None;
        }
        let alike = alike(newer, older);
        let apart_us = (newer.order.1 - older.order.1).max(0) as f64;
        Some([
            alike,
            others.mean_without(alike),
            self.shared(newer, older),
            newer.answers?,
            (apart_us / US_OF_DAY).ln_1p(),
            f64::from(older.has_number && newer.has_number),
            f64::from(self.of_present),
        ])
    }

    /// It answers the query where a model states the other one, and both say something of the same.
    fn answers_instead(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.scope == older.scope && self.link(newer, older) >= OF_PRESENT.link_min
    }

    /// It holds as much of the query.
    fn says_as_much(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.cover >= older.cover - self.asked * self.bounds.lack_max - COVER_STEP
    }

    /// It may say of now what the other one said.
    fn may_replace(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        self.is_about_the_same(newer, older) && !self.holds_several(newer, older)
    }

    /// It holds as much of the query, or all of its names that the other one holds, or so little that
    /// what it is about stands elsewhere, as in an answer of a few words. What else holds a part of the
    /// query but not all is about another case.
    fn is_about_the_same(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        let names = || {
            let mut each = older.names.iter().zip(&newer.names);
            older.names.contains(&true) && each.all(|(older, newer)| *newer || !older)
        };
        self.says_as_much(newer, older)
            || newer.held * FEW_TERMS_OF <= self.content.len()
            || names()
    }

    /// It holds nearly all that the other one holds, and much more: several facts, none of them anew.
    fn holds_several(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        let [newer, older] = [newer, older].map(|one| self.terms(one));
        let sum = |terms: &BTreeMap<&str, f64>| terms.values().sum::<f64>();
        let held = older.iter().filter(|(term, _)| newer.contains_key(*term));
        let held: f64 = held.map(|(_, idf)| idf).sum();
        held >= SEVERAL_HELD * sum(older) && sum(newer) >= SEVERAL_MORE * sum(older)
    }

    /// Without a query: it is later and linked with the other one.
    fn states_anew(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        self.may_follow(newer, older) && self.link(newer, older) >= self.bounds.link_min
    }

    /// How much two texts say of the same, 0 to 1: ½ cosine + ½ overlap.
    fn link(&self, one: &Statement<'a>, other: &Statement<'a>) -> f64 {
        0.5 * alike(one, other) + 0.5 * self.shared(one, other)
    }

    /// [`overlap`] of their content terms.
    fn shared(&self, one: &Statement<'a>, other: &Statement<'a>) -> f64 {
        overlap(self.terms(one), self.terms(other))
    }

    fn terms<'s>(&self, of: &'s Statement<'a>) -> &'s BTreeMap<&'a str, f64> {
        of.terms
            .get_or_init(|| self.rarity.content(of.segment, of.row))
    }
}
