//! Whether the eligible memories answer a query at all: features of one scan, and logistics of them
//! that were fitted offline.
//!
//! One tells whether the question belongs to these memories, another whether what it asks for is
//! among them: questions about other people look unlike all others, questions whose answer is
//! missing look much like those that have one. Confidence is a logistic of the logit of their
//! product.

use super::result::{Hit, Scoring};
use super::signal::{BySignal, Signal};
use crate::kernels::math::{ln, logistic};
use crate::words::{ContentTerm, terms};

/// So many of the best rows are read, whatever the limit of the call.
pub const ROWS_READ: usize = 10;
/// Origin types, then `SEVERAL`.
pub const KIND_COUNT: usize = 5;
/// The best rows are of several origins.
const SEVERAL: usize = 4;

/// Of the best direct rows: `cosine` is the largest one, `cover` the largest share of the idf of the
/// query's content terms that one of them holds, `together` that which they hold together, `absent`
/// that which no eligible memory of their origins holds, `names` the largest share of the query's
/// entities that one of them mentions, `missing` the share of its names that are missing: entities
/// beyond that share, and names of no entity with a word that no eligible memory of these origins
/// holds; without names, `absent`. `words` is the best lexical score of eligible memories as a share
/// of the query's idf, `level` the largest L, `lead` and `margin` how far it is above the second and
/// the fifth, `size` the logarithm of the number of eligible memories. idf and largest values of a
/// memory are those that it is scored with; where the best rows are of several origins, the largest
/// counts, and the least of `absent`.
pub const BASIC_FEATURES: [&str; 11] = [
    "cosine", "cover", "together", "absent", "names", "missing", "words", "level", "lead",
    "margin", "size",
];
/// Where the best rows are of several origins: of those of the first one's own.
pub const OWN_FEATURES: [&str; 3] = ["first.cosine", "own.lead", "own.margin"];
/// Signals whose largest raw value over the eligible memories is a feature where they are weighed.
pub const SIGNAL_FEATURES: [Signal; 5] = [
    Signal::ContextVector,
    Signal::LateW1Idf,
    Signal::Topic,
    Signal::TopicLexical,
    Signal::Bigram,
];

const OWN_START: usize = BASIC_FEATURES.len();
/// Place of the first of `SIGNAL_FEATURES`.
pub const SIGNALS_START: usize = OWN_START + OWN_FEATURES.len();
/// Number of the features.
pub const FEATURE_COUNT: usize = SIGNALS_START + SIGNAL_FEATURES.len();

/// Sizes beyond these say no more than they: no larger store was part of the fit.
const SIZE_RANGE: (usize, usize) = (20, 10_000);
/// How near a probability comes to 0 and 1 where its logit is taken.
const LOGIT_MARGIN: f64 = 1e-6;

/// The place of a feature by its name.
#[must_use]
pub fn feature(name: &str) -> Option<usize> {
    (0..FEATURE_COUNT).find(|place| feature_name(*place) == name)
}

/// The name of the feature at a place below `FEATURE_COUNT`; a signal's is `most.` and its own.
#[must_use]
pub fn feature_name(place: usize) -> String {
    let mut plain = BASIC_FEATURES.iter().chain(&OWN_FEATURES);
    match plain.nth(place) {
        Some(name) => (*name).to_owned(),
        None => format!("most.{}", SIGNAL_FEATURES[place - SIGNALS_START].name()),
    }
}

/// What counts of one of the best rows.
#[derive(Debug, Clone, Copy)]
pub struct BestRow<'a> {
    /// None without a vector.
    pub cosine: Option<f64>,
    /// Logistic of L.
    pub base: f64,
    /// Code of OriginType.
    pub origin: u8,
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
            cosine: hit.embedded.then_some(hit.cosine),
            base: hit.base,
            origin: hit.origin,
            direct: hit.direct,
            matched_terms: &hit.matched_terms,
            named: hit.matched_entities.len(),
        }
    }
}

/// What memories of one origin are scored with.
#[derive(Debug, Clone, Copy)]
pub struct Statistics<'a> {
    /// Largest raw values; None = unavailable or not computed.
    pub maxima: &'a BySignal<Option<f64>>,
    /// Of each term of the scan.
    pub idfs: &'a [f64],
    /// How many eligible memories of the origin hold each term of the scan.
    pub document_frequencies: &'a [u64],
}

impl<'a> Statistics<'a> {
    /// Those of a scan.
    #[must_use]
    pub fn of(scoring: &'a Scoring) -> Self {
        Self {
            maxima: &scoring.maxima,
            idfs: &scoring.idfs,
            document_frequencies: &scoring.document_frequencies,
        }
    }
}

/// What of the query and the scan counts beside rows and statistics.
#[derive(Debug, Clone, Copy)]
pub struct ConfidenceInput<'a> {
    /// Distinct terms of the query.
    pub terms: &'a [String],
    /// Those of an expression of time are no content where a memory of the first row's origin meets
    /// a date of the query.
    pub content_terms: &'a [ContentTerm],
    /// Number of entities that the query names.
    pub entity_count: usize,
    /// Names in the query that no entity has.
    pub unknown_names: &'a [String],
    /// Number of eligible memories.
    pub eligible: usize,
}

/// The features of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Code of the OriginType of the best rows, or 4 for several.
    pub kind: usize,
    /// By place; None = not computed.
    pub values: [Option<f64>; FEATURE_COUNT],
}

/// The features of the best rows of a scan, best first; None where there are none, or words or
/// meaning were not compared.
///
/// `statistics`: by code of OriginType.
#[must_use]
pub fn features(
    rows: &[BestRow<'_>],
    statistics: [Statistics<'_>; 4],
    input: &ConfidenceInput<'_>,
) -> Option<Features> {
    let rows = &rows[..rows.len().min(ROWS_READ)];
    let first = rows.first()?;
    let dates_met = statistics_of(&statistics, first.origin).maxima[Signal::Date];
    let dates_met = dates_met.unwrap_or(0.0) > 0.0;
    let direct: Vec<BestRow<'_>> = rows.iter().copied().filter(|row| row.direct).collect();
    let rows = if direct.is_empty() { rows } else { &direct };
    let cosine = rows.iter().filter_map(|row| row.cosine).reduce(f64::max)?;
    let mut origins: Vec<u8> = rows.iter().map(|row| row.origin).collect();
    origins.sort_unstable();
    origins.dedup();

    let (words, signals) = largest_values(&origins, &statistics);
    let of_origin = |origin: &u8| {
        let best = rows.iter().filter(|row| row.origin == *origin);
        Coverage::of(best, statistics_of(&statistics, *origin), input, dates_met)
    };
    let coverage = origins.iter().map(of_origin).reduce(Coverage::merged)?;
    let named = rows.iter().map(|row| row.named).max().unwrap_or(0);
    let (level, lead, margin) = leads(rows.iter());
    let size = input.eligible.clamp(SIZE_RANGE.0, SIZE_RANGE.1);
    let basic = [
        cosine,
        coverage.by_one,
        coverage.by_all,
        coverage.absent,
        named as f64 / (input.entity_count as f64).max(1.0),
        missing(named, &origins, &statistics, input).unwrap_or(coverage.absent),
        words?,
        level,
        lead,
        margin,
        ln(size as f64),
    ];
    let mut values = [None; FEATURE_COUNT];
    values[..OWN_START].copy_from_slice(&basic.map(Some));
    values[SIGNALS_START..].copy_from_slice(&signals);
    let best = rows[0];
    if let [origin] = origins[..] {
        return Some(Features {
            kind: usize::from(origin),
            values,
        });
    }
    let (_, lead, margin) = leads(rows.iter().filter(|row| row.origin == best.origin));
    let own = [best.cosine.unwrap_or(0.0), lead, margin];
    values[OWN_START..SIGNALS_START].copy_from_slice(&own.map(Some));
    Some(Features {
        kind: SEVERAL,
        values,
    })
}

fn statistics_of<'s, 'a>(statistics: &'s [Statistics<'a>; 4], origin: u8) -> &'s Statistics<'a> {
    &statistics[usize::from(origin & 3)]
}

/// The best lexical score of these origins as a share of the idf of all terms, and the largest raw
/// values of `SIGNAL_FEATURES`, of which a sum of idf counts as a share of all that the query has.
fn largest_values(
    origins: &[u8],
    statistics: &[Statistics<'_>; 4],
) -> (Option<f64>, [Option<f64>; SIGNAL_FEATURES.len()]) {
    let larger = |most: Option<f64>, value: Option<f64>| match (most, value) {
        (Some(most), Some(value)) => Some(most.max(value)),
        (most, value) => most.or(value),
    };
    let (mut words, mut signals) = (None, [None; SIGNAL_FEATURES.len()]);
    for origin in origins {
        let own = statistics_of(statistics, *origin);
        let whole: f64 = own.idfs.iter().sum();
        let share = if whole > 0.0 { 1.0 / whole } else { 0.0 };
        words = larger(
            words,
            own.maxima[Signal::Lexical].map(|value| value * share),
        );
        for (most, signal) in signals.iter_mut().zip(SIGNAL_FEATURES) {
            let unit = if signal == Signal::TopicLexical {
                share
            } else {
                1.0
            };
            *most = larger(*most, own.maxima[signal].map(|value| value * unit));
        }
    }
    (words, signals)
}

/// The share of the query's names that are missing; None without names. `named`: the most entities
/// of the query that one row mentions.
fn missing(
    named: usize,
    origins: &[u8],
    statistics: &[Statistics<'_>; 4],
    input: &ConfidenceInput<'_>,
) -> Option<f64> {
    if input.entity_count + input.unknown_names.len() == 0 {
        return None;
    }
    let entities = input.entity_count as f64;
    let absent = absent_names(origins, statistics, input) as f64;
    Some((entities - named as f64 + absent) / (entities + absent).max(1.0))
}

/// The largest L of some rows, and how far it is above the second and the fifth, or the last of
/// fewer.
fn leads<'a>(rows: impl Iterator<Item = &'a BestRow<'a>>) -> (f64, f64, f64) {
    let mut bases: Vec<f64> = rows.map(|row| row.base).collect();
    bases.sort_unstable_by(|a, b| b.total_cmp(a));
    let at = |place: usize| {
        bases
            .get(place)
            .or(bases.last())
            .map_or(0.0, |base| linear_score(*base))
    };
    let first = at(0);
    (first, first - at(1), first - at(4))
}

/// How many of the names that no entity has hold a word that is in no memory of these origins.
fn absent_names(
    origins: &[u8],
    statistics: &[Statistics<'_>; 4],
    input: &ConfidenceInput<'_>,
) -> usize {
    let absent = |word: &String| {
        let place = input.terms.iter().position(|term| term == word);
        let frequency = |at: usize, origin: &u8| {
            let own = statistics_of(statistics, *origin);
            own.document_frequencies.get(at).copied()
        };
        place.is_some_and(|at| {
            origins
                .iter()
                .all(|origin| frequency(at, origin) == Some(0))
        })
    };
    let of_name = |name: &&String| terms(name, None).iter().any(absent);
    input.unknown_names.iter().filter(of_name).count()
}

/// Shares of the idf of the content terms; 0 without any.
#[derive(Default)]
struct Coverage {
    /// The largest that one row holds.
    by_one: f64,
    /// What the rows hold together.
    by_all: f64,
    /// What no eligible memory of the origin holds.
    absent: f64,
}

impl Coverage {
    fn of<'a>(
        rows: impl Iterator<Item = &'a BestRow<'a>>,
        statistics: &Statistics<'_>,
        input: &ConfidenceInput<'_>,
        dates_met: bool,
    ) -> Self {
        let is_content = |term: &String| {
            let mut own = input.content_terms.iter().filter(|one| one.term == *term);
            own.any(|one| one.counts(dates_met))
        };
        let weight = |(term, idf): (&String, &f64)| if is_content(term) { *idf } else { 0.0 };
        let terms = input.terms.iter().zip(statistics.idfs);
        let weights: Vec<f64> = terms.map(weight).collect();
        let whole: f64 = weights.iter().sum();
        if whole <= 0.0 {
            return Self::default();
        }
        let mut coverage = Self::default();
        let mut together = vec![false; weights.len()];
        for row in rows {
            let mut own = 0.0;
            for at in row.matched_terms.iter().filter(|at| **at < weights.len()) {
                own += weights[*at];
                together[*at] = true;
            }
            coverage.by_one = coverage.by_one.max(own / whole);
        }
        let sum = |chosen: &mut dyn Iterator<Item = bool>| -> f64 {
            let weights = weights.iter().zip(chosen).filter(|(_, chosen)| *chosen);
            weights.map(|(weight, _)| weight).sum::<f64>() / whole
        };
        let frequencies = statistics.document_frequencies.iter();
        coverage.by_all = sum(&mut together.iter().copied());
        coverage.absent = sum(&mut frequencies.map(|frequency| *frequency == 0));
        coverage
    }

    /// Of two origins.
    fn merged(self, other: Self) -> Self {
        Self {
            by_one: self.by_one.max(other.by_one),
            by_all: self.by_all.max(other.by_all),
            absent: self.absent.min(other.absent),
        }
    }
}

/// L from its logistic, finite also where that was rounded to 0 or 1.
#[must_use]
pub fn linear_score(base: f64) -> f64 {
    let inside = base.clamp(5e-324, 1.0 - f64::EPSILON / 2.0);
    ln(inside) - libm::log1p(-inside)
}

/// ln of the odds of a probability, as near to 0 and 1 as 10⁻⁶ and no nearer.
#[must_use]
pub fn logit(probability: f64) -> f64 {
    let inside = probability.clamp(LOGIT_MARGIN, 1.0 - LOGIT_MARGIN);
    ln(inside / (1.0 - inside))
}

/// A logistic of features.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// What the sum ends with.
    pub bias: f64,
    /// Places of features, each with its weight, in the order of the sum.
    pub weights: Vec<(usize, f64)>,
}

impl Logistic {
    /// None where a feature was not computed.
    fn of(&self, values: &[Option<f64>; FEATURE_COUNT]) -> Option<f64> {
        let mut sum = 0.0;
        for (place, weight) in &self.weights {
            sum += weight * values[*place]?;
        }
        Some(logistic(sum + self.bias))
    }
}

/// Two logistics, and scale and constant of the logistic of the logit of their product.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Whether the question belongs to these memories.
    pub belongs: Logistic,
    /// Whether what it asks for is among them.
    pub answered: Logistic,
    /// Factor of the logit.
    pub scale: f64,
    /// Added to it.
    pub constant: f64,
}

impl Table {
    fn confidence(&self, values: &[Option<f64>; FEATURE_COUNT]) -> Option<f64> {
        let both = self.belongs.of(values)? * self.answered.of(values)?;
        Some(logistic(self.constant + self.scale * logit(both)))
    }
}

/// By kind, tables of which the first counts whose features are all there.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables(pub [Vec<Table>; KIND_COUNT]);

impl Tables {
    /// The probability that the memories answer the query; None where no table of the kind has its
    /// features.
    #[must_use]
    pub fn confidence(&self, of: &Features) -> Option<f64> {
        let tables = &self.0[of.kind];
        tables.iter().find_map(|table| table.confidence(&of.values))
    }
}

/// The probability that memories with these final scores are part of the answer:
/// 1 / (1 + e^−(a + b · ln(final) + c · g)), g the logit of the confidence; 0 for a final score of 0.
#[must_use]
pub fn scores(finals: &[f64], confidence: f64, (a, b, c): (f64, f64, f64)) -> Vec<f64> {
    let certain = c * logit(confidence);
    let score = |last: &f64| {
        if *last > 0.0 {
            logistic(a + b * ln(*last) + certain)
        } else {
            0.0
        }
    };
    finals.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_finite_and_give_their_logistic_again() {
        for base in [0.0, 1.0, 5e-324, 1.0 - f64::EPSILON / 2.0] {
            assert!(linear_score(base).is_finite());
        }
        for base in [0.001, 0.5, 0.75] {
            assert!((logistic(linear_score(base)) - base).abs() < 1e-12);
        }
    }
}
