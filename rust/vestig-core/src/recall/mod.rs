//! Recall: the only caller of the kernels, fused over one snapshot.
//!
//! Definition: every eligible row's exact cosine, lexical score and S, the best by S, then
//! by final score. Above `STAGED_ROWS` rows the same result is found from 8-bit bounds: every
//! number of S is monotone in the cosine, operation by operation, also after rounding, so S of an
//! upper bound is an upper bound of S, and only rows that can reach the pool are scored exactly.

mod candidates;
mod fields;
mod types;

use std::cmp::Ordering;

use self::candidates::candidates;
use self::fields::{Field, Similarity, drop_dissimilar, measure, score_words, unembedded};
pub use self::types::{Base, Effort, Hit, Query, Ranking, STAGED_ROWS, Scan, Weights};
use crate::eligible::{Filter, eligible};
use crate::format::Section;
use crate::kernels::dot::{cosine, dot, unit};
use crate::kernels::math;
use crate::kernels::quantised::QuantisedQuery;
use crate::kernels::select::{descending, top_k};
use crate::kernels::trace::{Stability, TraceEvent, TraceFactors, TraceSubject, tracerank};
use crate::segment::{Id, Segment};
use crate::snapshot::{Snapshot, count};

/// Above the roundings of a float32 sum of a cosine and its bound.
const SLACK: f32 = 1e-6;
/// Position of SUMMARY in Kind.
const KIND_SUMMARY: u8 = 1;

#[derive(Debug, Clone, Copy)]
struct Candidate {
    field: usize,
    row: usize,
    id: Id,
    cosine: f64,
    start: f64,
}

fn by_start(a: &Candidate, b: &Candidate) -> Ordering {
    descending(a.start, b.start)
        .then(descending(a.cosine, b.cosine))
        .then(a.id.cmp(&b.id))
}

/// What S is made of besides the row's own numbers.
struct Scorer<'a> {
    ranking: &'a Ranking,
    /// Unit query, whole lanes; empty = none.
    vector: Vec<f32>,
    cosine_max: f64,
    /// None = the lexical term is absent.
    lexical_max: Option<f64>,
}

impl Scorer<'_> {
    fn exact(&self, segment: &Segment, row: usize) -> f64 {
        if self.vector.is_empty() {
            0.0
        } else {
            cosine(dot(&self.vector, segment.vector(row)))
        }
    }

    fn normalised(value: f64, most: f64) -> f64 {
        if most > 0.0 { value / most } else { 0.0 }
    }

    /// S of a row with that cosine.
    #[inline]
    fn start(&self, weights: &Weights, cosine: f64, lexical: f64) -> f64 {
        if self.ranking.base != Base::Linear {
            return cosine;
        }
        let mut sum = weights.bias;
        if let Some(weight) = weights.cosine {
            sum += weight * Self::normalised(cosine, self.cosine_max);
        }
        if let (Some(weight), Some(most)) = (weights.lexical, self.lexical_max) {
            sum += weight * Self::normalised(lexical, most);
        }
        sum
    }

    /// Bounds of S from bounds of the cosine.
    #[inline]
    fn bounds(&self, weights: &Weights, (low, high): (f64, f64), lexical: f64) -> (f64, f64) {
        let falls = self.ranking.base == Base::Linear && weights.cosine.is_some_and(|w| w < 0.0);
        let (low, high) = if falls { (high, low) } else { (low, high) };
        (
            self.start(weights, low, lexical),
            self.start(weights, high, lexical),
        )
    }
}

/// One query over one snapshot.
#[must_use]
pub fn recall(
    snapshot: &Snapshot,
    query: &Query,
    filter: &Filter,
    ranking: &Ranking,
    effort: Effort,
) -> Scan {
    let mut scan = Scan::default();
    let mut vector = Vec::new();
    if let Some(given) = &query.vector {
        vector.resize(snapshot.identity.lanes(), 0.0);
        unit(given, &mut vector);
    }
    let mut fields: Vec<Field<'_>> = Vec::new();
    for part in &snapshot.parts {
        let (bits, stored) = eligible(part, filter);
        scan.stored += stored;
        if bits.iter().any(|word| *word != 0) {
            fields.push(Field {
                segment: &part.segment,
                eligible: bits,
                similarity: Similarity {
                    values: Vec::new(),
                    errors: None,
                },
                lexical: Vec::new(),
            });
        }
    }
    let rows: usize = fields.iter().map(|field| count(&field.eligible)).sum();
    let staged = rows >= effort.staged_rows
        && filter.min_similarity.is_none()
        && wanted(ranking) < rows
        && !vector.is_empty();
    let quantised = staged.then(|| QuantisedQuery::new(&vector));
    if !vector.is_empty() {
        for field in &mut fields {
            measure(field, &vector, quantised.as_ref(), effort);
        }
    }
    if let Some(least) = filter.min_similarity {
        fields
            .iter_mut()
            .for_each(|field| drop_dissimilar(field, least));
    }
    scan.eligible = fields.iter().map(|field| count(&field.eligible)).sum();
    scan.unembedded = fields.iter().map(unembedded).sum();
    scan.terms = distinct(query.terms.as_deref().unwrap_or_default());
    let available = query.terms.is_some() && !scan.terms.is_empty() && scan.eligible > 0;
    let lexical_max = available.then(|| score_words(&mut fields, &scan.terms, scan.eligible));
    let mut scorer = Scorer {
        ranking,
        vector,
        cosine_max: 0.0,
        lexical_max,
    };
    if !scorer.vector.is_empty() && scan.eligible > 0 {
        scorer.cosine_max = largest_cosine(&fields, &scorer);
        scan.cosine_max = Some(scorer.cosine_max);
    }
    scan.lexical_max = lexical_max;
    let best = candidates(&fields, &scorer, wanted(ranking));
    rank(&mut scan, &fields, &scorer, filter, best);
    scan
}

/// How many rows in order of S decide the result.
fn wanted(ranking: &Ranking) -> usize {
    match ranking.pool {
        Some(pool) => pool.max(ranking.limit),
        // Without TraceRank final and S put rows into the same order, ties included.
        None if ranking.tracerank_power == 0.0 && ranking.base != Base::Linear => ranking.limit,
        None => usize::MAX,
    }
}

fn distinct(terms: &[String]) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for term in terms {
        if !seen.contains(term) {
            seen.push(term.clone());
        }
    }
    seen
}

/// The exact largest cosine over the eligible rows.
fn largest_cosine(fields: &[Field<'_>], scorer: &Scorer<'_>) -> f64 {
    let mut least = f32::NEG_INFINITY;
    for field in fields {
        let values = field.similarity.values.iter();
        least = match field.similarity.errors {
            None => values.fold(least, |most, value| most.max(*value)),
            Some((errors, query)) => values.zip(errors).fold(least, |most, (value, error)| {
                most.max(value - query.bound(*error))
            }),
        };
    }
    if fields.iter().all(|field| field.similarity.errors.is_none()) {
        return cosine(least);
    }
    let mut most = -1.0_f64;
    let least = least - SLACK;
    for field in fields {
        let Some((errors, query)) = field.similarity.errors else {
            continue;
        };
        for (row, (value, error)) in field.similarity.values.iter().zip(errors).enumerate() {
            if value + query.bound(*error) + SLACK >= least {
                most = most.max(scorer.exact(field.segment, row));
            }
        }
    }
    most
}

/// Final scores of the pool, its best `limit`, filled up by S.
fn rank(
    scan: &mut Scan,
    fields: &[Field<'_>],
    scorer: &Scorer<'_>,
    filter: &Filter,
    candidates: Vec<Candidate>,
) {
    let ranking = scorer.ranking;
    let pool = ranking.pool.unwrap_or(usize::MAX).min(candidates.len());
    let mut scratch = Vec::new();
    let mut score = |candidate: &Candidate| {
        let factors = factors(&mut scratch, fields, candidate, ranking, filter);
        (final_score(ranking, candidate, factors.clipped), factors)
    };
    let mut direct: Vec<_> = candidates[..pool].iter().map(|c| (*c, score(c))).collect();
    top_k(&mut direct, ranking.limit, |(a, (x, _)), (b, (y, _))| {
        descending(x.1, y.1)
            .then(descending(a.cosine, b.cosine))
            .then(a.id.cmp(&b.id))
    });
    let missing = ranking.limit - direct.len().min(ranking.limit);
    let direct_count = direct.len();
    direct.extend(
        candidates[pool..]
            .iter()
            .take(missing)
            .map(|c| (*c, score(c))),
    );
    for (i, (candidate, ((base, final_score), trace))) in direct.into_iter().enumerate() {
        if ranking.min_score.is_some_and(|least| final_score < least) {
            scan.below_min_score += 1;
            continue;
        }
        let field = &fields[candidate.field];
        let attributes = field.segment.attributes(candidate.row);
        let raw = field.lexical(candidate.row);
        let lexical = scorer
            .lexical_max
            .map(|most| (raw, Scorer::normalised(raw, most)));
        scan.hits.push(Hit {
            id: candidate.id,
            final_score,
            cosine: candidate.cosine,
            start_score: candidate.start,
            base,
            origin: attributes.origin,
            embedded: attributes.embedded,
            cosine_normalised: Scorer::normalised(candidate.cosine, scorer.cosine_max),
            lexical,
            matched_terms: matched(field.segment, candidate.row, &scan.terms),
            filled: i >= direct_count,
            trace,
            stability: attributes.stability,
        });
    }
}

/// (base, final) of R-12 at path 1.
fn final_score(ranking: &Ranking, candidate: &Candidate, boost: f64) -> (f64, f64) {
    let base = match ranking.base {
        Base::Semantic => candidate.cosine.max(0.0),
        Base::Linear => math::logistic(candidate.start),
        Base::Cosine => candidate.cosine,
    };
    let power = ranking.tracerank_power;
    if power == 0.0 {
        (base, base)
    } else if power == 1.0 {
        (base, base * boost)
    } else {
        (base, base * math::pow(boost, power))
    }
}

fn factors(
    scratch: &mut Vec<TraceEvent>,
    fields: &[Field<'_>],
    candidate: &Candidate,
    ranking: &Ranking,
    filter: &Filter,
) -> TraceFactors {
    let segment = fields[candidate.field].segment;
    let attributes = segment.attributes(candidate.row);
    if attributes.kind == KIND_SUMMARY {
        return TraceFactors::NONE;
    }
    let known = segment
        .events(candidate.row)
        .filter(|event| !filter.past || event.recorded <= filter.known_at)
        .map(|e| TraceEvent {
            kind: e.kind,
            occurred_us: e.occurred,
            seq: e.seq,
            row: e.row,
        });
    let subject = TraceSubject {
        valid_from_us: segment.column::<i64>(Section::Valid)[candidate.row],
        stability: Stability::from_code(attributes.stability).unwrap_or(Stability::Unknown),
        connectivity_n: 0,
    };
    tracerank(scratch, known, ranking.query_time, subject, &ranking.trace)
}

fn matched(segment: &Segment, row: usize, terms: &[String]) -> Vec<usize> {
    let holds = |term: &String| {
        segment.term_number(term).is_some_and(|number| {
            let rows = segment.postings(number as usize).0;
            rows.binary_search(&(row as u32)).is_ok()
        })
    };
    (0..terms.len()).filter(|i| holds(&terms[*i])).collect()
}
