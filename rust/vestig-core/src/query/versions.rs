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
use crate::segment::{Id, NO_TIME, Segment};
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
const ANSWERS_MIN: f64 = 0.3;
const ANSWERS_ALIKE_MIN: f64 = -0.2;
/// A model speaks against it below this logit; of two that say the same in like words, below the
/// second one.
const READS_MIN: f64 = 0.0;
const READS_ALIKE_MIN: f64 = -1.5;
/// Texts that are less alike than the first and share less than the second are about different
/// things, whatever a model reads in them.
const ALIKE_MIN: f64 = 0.15;
const SHARED_MIN: f64 = 0.05;
/// A text of more code points states several things.
const LENGTH_MAX: u32 = 250;
/// Times that are less apart are one moment.
const MOMENT_US: u64 = 1_000_000;
/// Sums of idf that differ by less are equal.
const COVER_STEP: f64 = 1e-9;

/// The order of two statements, of which the greater one is later: the first difference decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    confirmed: bool,
    /// It holds when the query is asked: it has begun, and it has not ended.
    holds: bool,
    /// Since when it holds, or when it was said last that it does, µs.
    since: i64,
    /// The transaction that stored that.
    seq: i64,
    /// Its place in its session.
    sequence: i64,
}

/// A memory that may be a version of another one.
struct Statement<'a> {
    segment: &'a Segment,
    row: usize,
    scope: Option<&'a str>,
    session: Option<&'a str>,
    author: Option<&'a str>,
    order: Order,
    /// Content terms of title and text, each with its idf; only few of the best are compared by them.
    terms: OnceCell<BTreeMap<&'a str, f64>>,
    /// Sum of the idf of the query's content terms that it holds.
    cover: f64,
    /// It is so long that it states several things.
    states_several: bool,
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
        reads_as_answer && self.order.confirmed && !other.order.confirmed
    }

    /// It is later, or holds and the other one does not, and is of the same scope.
    fn follows(&self, older: &Self) -> bool {
        self.order > older.order && self.scope == older.scope && !self.came_with(older)
    }

    /// Each has an author, who is another one.
    fn has_other_author(&self, other: &Self) -> bool {
        self.author
            .zip(other.author)
            .is_some_and(|(own, other)| own != other)
    }

    /// One transaction stored both, they hold since one moment, and they are no turns of one session:
    /// the order of the rows of a file says nothing.
    fn came_with(&self, other: &Self) -> bool {
        let of_one_session = self.session.is_some() && self.session == other.session;
        let apart = self.order.since.abs_diff(other.order.since);
        let at_once = self.order.seq == other.order.seq && apart < MOMENT_US;
        at_once && self.order.holds == other.order.holds && !of_one_session
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
    /// When it was said last that it holds, µs, and the transaction that stored this, where it was
    /// said again.
    pub said_again: Option<(i64, i64)>,
}

/// A query for which memories are compared.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Content terms of the query.
    pub content: &'a [String],
    /// It has a word of the present.
    pub of_present: bool,
    /// There may be memories among what is found that do not hold yet.
    pub announced: bool,
    /// When it is asked, µs.
    pub at: i64,
}

/// Numbers that tell if the later of two memories that a model read together takes the place of the
/// earlier one:
///
/// * `reads`: the model's logit that it does;
/// * `alike`: cosine of both;
/// * `others_alike`: mean cosine of the other pairs of memories that a judge read, with `OTHERS` of
///   `OTHERS_ALIKE` more: texts of one subject and shape are all alike;
/// * `shared`: shared idf, as a part of that of the text with more;
/// * `answers`: the logit by which the later one answers the query;
/// * `other_author`: 1 where both have an author, and not the same.
pub const SIGNALS: [&str; 6] = [
    "reads",
    "alike",
    "others_alike",
    "shared",
    "answers",
    "other_author",
];
/// Values of [`SIGNALS`], in their order.
pub type Signals = [f64; SIGNALS.len()];

/// Pairs that count beside those that were read, and their cosine.
const OTHERS: f64 = 3.0;
const OTHERS_ALIKE: f64 = 0.4;

/// From which sum on the later of two memories that a model read takes the place of the earlier one.
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
        of_one_thing(signals) && sum >= self.least
    }
}

/// The two texts of these signals may be about one thing.
fn of_one_thing(&[_, alike, _, shared, ..]: &Signals) -> bool {
    alike >= ALIKE_MIN || shared >= SHARED_MIN
}

/// Two memories that a model read together.
#[derive(Debug, Clone, Copy)]
pub struct ReadPair {
    /// Place of the earlier one.
    pub older: usize,
    /// Place of the later one.
    pub newer: usize,
    /// The logit that the later one takes its place.
    pub reads: f64,
}

/// Groups of memories that are versions of one statement: places among `rows`, the newest first. A
/// memory stands in one group at most, and what passes the filter no more in none.
///
/// The best memory that is in no group yet gathers the later versions of it among those behind it,
/// and where it was said again, those in like words that it is a later version of.
/// Of two that a model read together ([`version_pairs`]) the later one joins by the weighted sum of
/// [`SIGNALS`], unless the model speaks against it or they are hardly alike and share next to nothing
/// (cosine below 0.15, shared idf below 0.05). Any other, and one against which it speaks but
/// little, joins that holds since a later time or was said again later, or holds where the best one has ended (or was stored later, or stands behind it in its
/// session, where that is equal; what one transaction stored for one moment is not later than what came
/// with it, but for turns of one session), shares its scope, has a number where it has one, and says the same in
/// like words: it holds as much of the query, lies at most 2 below it by L and is linked with it, half
/// the cosine and half the shared idf, as a part of that of the text with more, being 0.4 together.
/// Where the query has a word of the present, it may lack 0.3 of the query's idf and a number, lie 3
/// below, and be linked by 0.3. Where a judge read both, it reads as an answer too. Texts of more than
/// 250 code points are compared by a model alone, questions not at all, and what does not hold yet
/// only where that is announced: what holds stands before it.
///
/// `rows`: best first. `read`: pairs of them that a model read.
#[must_use]
pub fn versions(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[Found],
    question: &Question<'_>,
    read: &[ReadPair],
    weights: &Weights,
) -> Vec<Vec<usize>> {
    let rarity = Rarity::new(snapshot, filter);
    let rule = Rule::of(&rarity, question);
    let found = statements(
        snapshot,
        rows,
        &rule.content,
        question.at,
        question.announced,
    );
    let others = Others::of(&found);
    let read: HashMap<_, _> = read
        .iter()
        .map(|pair| ((pair.older, pair.newer), pair.reads))
        .collect();
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
            let judged_alike = older.answers.is_some()
                && newer.answers.is_some()
                && older.order.confirmed == newer.order.confirmed;
            let in_like_words = || {
                (!judged_alike || newer.answers >= Some(ANSWERS_ALIKE_MIN))
                    && rows[at].level - rows[*place].level <= rule.bounds.behind_max
                    && rule.follows_in_like_words(newer, older)
            };
            // the day since when it holds does not show that it is the newer one
            if rows[at].said_again.is_some() && rule.follows_in_like_words(older, newer) {
                return true;
            }
            match read.get(&(at, *place)) {
                Some(reads) => {
                    *reads >= READS_MIN
                        && weights.pass(&rule.signals(&others, newer, older, *reads))
                        || *reads >= READS_ALIKE_MIN && in_like_words()
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

/// Pairs of memories that a judge read of which the one behind is the later one, of the same scope and
/// as much confirmed: (place of the earlier one, place of the later one), those next to the top first.
///
/// `at`: when it is asked, µs.
#[must_use]
pub fn version_pairs(snapshot: &Snapshot, rows: &[Found], at: i64) -> Vec<(usize, usize)> {
    let found = statements(snapshot, rows, &[], at, false);
    let read = |place: usize| found[place].as_ref().filter(|one| one.answers.is_some());
    let mut pairs: Vec<_> = (0..rows.len())
        .flat_map(|older| (older + 1..rows.len()).map(move |newer| (older, newer)))
        .filter(|&(older, newer)| {
            read(older).zip(read(newer)).is_some_and(|(older, newer)| {
                newer.follows(older) && newer.order.confirmed == older.order.confirmed
            })
        })
        .collect();
    pairs.sort_by_key(|(older, newer)| (older + newer, *older));
    pairs
}

/// [`SIGNALS`] of each of the pairs that a model read, unless it speaks against them or they are
/// hardly alike: (place of the earlier one, place of the later one, signals). Weights are learned from them.
#[must_use]
pub fn version_signals(
    snapshot: &Snapshot,
    filter: &Filter,
    rows: &[Found],
    read: &[ReadPair],
    at: i64,
) -> Vec<(usize, usize, Signals)> {
    let rarity = Rarity::new(snapshot, filter);
    let rule = Rule::of_texts(&rarity);
    let found = statements(snapshot, rows, &[], at, false);
    let others = Others::of(&found);
    let signals = |pair: &ReadPair| {
        let [older, newer] = [pair.older, pair.newer].map(|place| found.get(place)?.as_ref());
        let signals = rule.signals(&others, newer?, older?, pair.reads);
        of_one_thing(&signals).then_some((pair.older, pair.newer, signals))
    };
    let read = read.iter().filter(|pair| pair.reads >= READS_MIN);
    read.filter_map(signals).collect()
}

/// The memories of rows that state something, without those that do not hold yet, unless
/// `announced`.
fn statements<'a>(
    snapshot: &'a Snapshot,
    rows: &[Found],
    content: &[(&str, f64)],
    at: i64,
    announced: bool,
) -> Vec<Option<Statement<'a>>> {
    rows.iter()
        .map(|row| {
            let mut found = statement(snapshot, content, &row.id, at)?;
            found.answers = row.answers;
            found.order.confirmed = !row.unconfirmed;
            if let Some((since, seq)) = row.said_again.filter(|said| said.0 > found.order.since) {
                (found.order.since, found.order.seq) = (since, seq);
            }
            (announced || found.order.since <= at).then_some(found)
        })
        .collect()
}

/// How alike the memories that a judge read are.
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
    let found = |id| statement(snapshot, &[], id, at).filter(|one| one.order.since <= at);
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
    id: &Id,
    asked_at: i64,
) -> Option<Statement<'a>> {
    let (segment, row) = snapshot.find(id)?;
    let features = segment.features(row);
    if features & (flag::QUESTION | flag::ASKS) != 0 {
        return None;
    }
    let held: HashSet<&str> = segment
        .text_terms(row)
        .map(|number| segment.term(number as usize))
        .collect();
    let covered = content.iter().filter(|(term, _)| held.contains(term));
    let at = |section| segment.column::<i64>(section)[row];
    let ended = at(Section::Invalid);
    Some(Statement {
        segment,
        row,
        scope: segment.string(segment.column::<u32>(Section::Scope)[row]),
        session: segment.string(segment.column::<u32>(Section::Session)[row]),
        author: segment.string(segment.column::<u32>(Section::Author)[row]),
        order: Order {
            confirmed: true,
            holds: at(Section::Valid) <= asked_at && (ended == NO_TIME || asked_at < ended),
            since: at(Section::Valid),
            seq: at(Section::Seq),
            sequence: at(Section::Sequence),
        },
        has_number: terms(segment, row).any(|term| term.chars().any(char::is_numeric)),
        terms: OnceCell::new(),
        cover: covered.map(|(_, idf)| idf).sum(),
        states_several: features & flag::LENGTH > LENGTH_MAX,
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
        }
    }

    /// Of texts alone, which no query weighs.
    fn of_texts(rarity: &'r Rarity<'a>) -> Self {
        Self {
            rarity,
            bounds: PLAIN,
            content: Vec::new(),
            asked: 0.0,
        }
    }

    /// It is later, of the same scope, and has a number where the other one has one; neither states
    /// several things.
    fn may_follow(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.follows(older)
            && !(newer.states_several || older.states_several)
            && (newer.has_number || !older.has_number || !self.bounds.keeps_number)
    }

    /// [`SIGNALS`] of two memories that a model read.
    fn signals(
        &self,
        others: &Others,
        newer: &Statement<'a>,
        older: &Statement<'a>,
        reads: f64,
    ) -> Signals {
        let alike = alike(newer, older);
        [
            reads,
            alike,
            others.mean_without(alike),
            self.shared(newer, older),
            newer.answers.unwrap_or_default(),
            f64::from(newer.has_other_author(older)),
        ]
    }

    /// It answers the query where a model states the other one, and both say something of the same.
    fn answers_instead(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.scope == older.scope
            && !(newer.states_several || older.states_several)
            && self.link(newer, older) >= OF_PRESENT.link_min
    }

    /// It holds as much of the query.
    fn says_as_much(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        newer.cover >= older.cover - self.asked * self.bounds.lack_max - COVER_STEP
    }

    /// It is later, holds as much of the query, and says the same in like words.
    fn follows_in_like_words(&self, newer: &Statement<'a>, older: &Statement<'a>) -> bool {
        self.may_follow(newer, older)
            && self.says_as_much(newer, older)
            && self.link(newer, older) >= self.bounds.link_min
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
