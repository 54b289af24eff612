//! Recall: the only caller of the kernels, fused over one snapshot.
//!
//! Definition: every eligible row's exact cosine, lexical score and S, the best by S, then
//! by final score. Above `STAGED_ROWS` rows the same result is found from 8-bit bounds: every
//! number of S is monotone in the cosine, operation by operation, also after rounding, so S of an
//! upper bound is an upper bound of S, and only rows that can reach the pool are scored exactly.

use std::cmp::Ordering;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::eligible::{Filter, eligible};
use crate::format::Section;
use crate::kernels::dot::{cosine, dot, dot_rows, unit};
use crate::kernels::lexical::{self, Norms};
use crate::kernels::math;
use crate::kernels::quantised::{QuantisedQuery, approx_rows};
use crate::kernels::select::{descending, top_k};
use crate::kernels::trace::{
    Stability, TraceEvent, TraceFactors, TraceParams, TraceSubject, tracerank,
};
use crate::segment::{Id, Segment};
use crate::snapshot::{Bits, Snapshot, count, has, set_bits};

/// Eligible rows from which the 8-bit pass is worth its bookkeeping.
pub const STAGED_ROWS: usize = 2048;
/// Fewest rows that a thread is started for.
const THREAD_ROWS: usize = 8192;
/// Above the roundings of a float32 sum of a cosine and its bound.
const SLACK: f32 = 1e-6;
/// Position of SUMMARY in Kind.
const KIND_SUMMARY: u8 = 1;

/// Where the final score starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// max(0, cosine).
    Semantic,
    /// 1 / (1 + e^−L).
    Linear,
    /// The cosine as it is.
    Cosine,
}

/// Weights of one origin; None = switched off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Added always.
    pub bias: f64,
    /// Of the normalised cosine.
    pub cosine: Option<f64>,
    /// Of the normalised lexical score.
    pub lexical: Option<f64>,
}

/// How scores are made.
#[derive(Debug, Clone)]
pub struct Ranking {
    ///
    pub base: Base,
    /// Per code of OriginType.
    pub weights: [Weights; 4],
    /// T-07 … T-11.
    pub trace: TraceParams,
    /// 0 = no TraceRank at all.
    pub tracerank_power: f64,
    /// Direct candidates; None = all.
    pub pool: Option<usize>,
    /// Most results.
    pub limit: usize,
    /// Only results with at least this final score.
    pub min_score: Option<f64>,
    /// µs.
    pub query_time: i64,
}

/// One result with every number that made its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Memory.
    pub id: Id,
    ///
    pub final_score: f64,
    /// Cosine; 0 without a vector.
    pub cosine: f64,
    /// S.
    pub start_score: f64,
    /// Before TraceRank.
    pub base: f64,
    /// Code.
    pub origin: u8,
    /// Has a vector.
    pub embedded: bool,
    /// By the maximum over the eligible.
    pub cosine_normalised: f64,
    /// Raw and normalised; None = unavailable.
    pub lexical: Option<(f64, f64)>,
    /// Positions in `Scan::terms`.
    pub matched_terms: Vec<usize>,
    /// From outside the pool.
    pub filled: bool,
    /// T-11.
    pub trace: TraceFactors,
    /// Code.
    pub stability: u8,
}

/// Result of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Distinct query terms by first position.
    pub terms: Vec<String>,
    /// Memories of the namespace.
    pub stored: usize,
    /// Those that pass the filter.
    pub eligible: usize,
    /// Results cut by `min_score`.
    pub below_min_score: usize,
    /// Eligible ones without a vector.
    pub unembedded: usize,
    /// Over the eligible.
    pub cosine_max: Option<f64>,
    /// Over the eligible.
    pub lexical_max: Option<f64>,
}

/// A query: a vector of the store's dimensions, and its index terms.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// As given, not yet a unit vector; None = no similarity.
    pub vector: Option<Vec<f32>>,
    /// In order, repeats allowed; None = no lexical signal.
    pub terms: Option<Vec<String>>,
}

/// How the scan is done; never changes a bit of the result.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// At least 1.
    pub threads: usize,
    /// Eligible rows from which bounds are used.
    pub staged_rows: usize,
    /// Fewest rows of a segment that a thread is started for.
    pub thread_rows: usize,
}

impl Effort {
    /// What pays on today's processors.
    #[must_use]
    pub fn threads(threads: usize) -> Self {
        Self {
            threads,
            staged_rows: STAGED_ROWS,
            thread_rows: THREAD_ROWS,
        }
    }
}

/// Cosines of a part's rows: exact dots, or approximations with the query that made them.
struct Similarity<'a> {
    values: Vec<f32>,
    errors: Option<(&'a [f32], &'a QuantisedQuery)>,
}

impl Similarity<'_> {
    /// Bounds of a row's cosine; equal when it is exact.
    #[inline]
    fn bounds(&self, row: usize) -> (f64, f64) {
        let Some(value) = self.values.get(row) else {
            return (0.0, 0.0);
        };
        match self.errors {
            None => (cosine(*value), cosine(*value)),
            Some((errors, query)) => {
                let (value, bound) = (f64::from(*value), f64::from(query.bound(errors[row])));
                (
                    (value - bound).clamp(-1.0, 1.0),
                    (value + bound).clamp(-1.0, 1.0),
                )
            }
        }
    }
}

impl Similarity<'_> {
    /// The upper (sign 1) or lower (sign −1) bound, not clamped.
    #[inline]
    fn edge(&self, row: usize, sign: f64) -> f64 {
        let Some(value) = self.values.get(row) else {
            return 0.0;
        };
        let value = f64::from(*value);
        match self.errors {
            None => value,
            Some((errors, query)) => value + sign * f64::from(query.bound(errors[row])),
        }
    }
}

/// One segment during a call.
struct Field<'a> {
    segment: &'a Segment,
    eligible: Bits,
    similarity: Similarity<'a>,
    /// Raw lexical score by row; empty = all 0.
    lexical: Vec<f64>,
}

impl Field<'_> {
    fn lexical(&self, row: usize) -> f64 {
        self.lexical.get(row).copied().unwrap_or(0.0)
    }
}

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
    let candidates = candidates(&fields, &scorer, wanted(ranking));
    rank(&mut scan, &fields, &scorer, filter, candidates);
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

fn unembedded(field: &Field<'_>) -> usize {
    let words = field.eligible.iter().zip(field.segment.embedded());
    words
        .map(|(eligible, embedded)| (eligible & !embedded).count_ones() as usize)
        .sum()
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

/// Cosines of all eligible rows of a segment: exact, or by 8-bit codes.
fn measure<'a>(
    field: &mut Field<'a>,
    vector: &[f32],
    quantised: Option<&'a QuantisedQuery>,
    effort: Effort,
) {
    let segment = field.segment;
    let (rows, lanes) = (segment.rows(), segment.lanes());
    let mut values = vec![0.0_f32; rows];
    let vectors = segment.column::<f32>(Section::Vectors);
    let codes = segment.column::<i8>(Section::Codes);
    let scales = segment.column::<f32>(Section::Scales);
    let sparse = count(&field.eligible) < rows / 8;
    let part = |first: usize, out: &mut [f32]| match quantised {
        _ if sparse && quantised.is_none() => {}
        Some(query) => approx_rows(query, &codes[first * lanes..], &scales[first..], out),
        None => dot_rows(vector, &vectors[first * lanes..], lanes, out),
    };
    let share = rows
        .div_ceil(effort.threads.max(1))
        .max(effort.thread_rows.max(1));
    if share >= rows {
        part(0, &mut values);
    } else {
        std::thread::scope(|scope| {
            for (i, out) in values.chunks_mut(share).enumerate() {
                let part = &part;
                scope.spawn(move || part(i * share, out));
            }
        });
    }
    if sparse && quantised.is_none() {
        for row in set_bits(&field.eligible) {
            values[row] = dot(vector, segment.vector(row));
        }
    }
    let errors = quantised.map(|query| (segment.column::<f32>(Section::Bounds), query));
    poison(&mut values, &field.eligible);
    field.similarity = Similarity { values, errors };
}

/// Ineligible rows get a value below every cosine, so that scans need not look at the bits.
fn poison(values: &mut [f32], eligible: &[u64]) {
    for (values, word) in values.chunks_mut(64).zip(eligible) {
        if *word == u64::MAX {
            continue;
        }
        for (i, value) in values.iter_mut().enumerate() {
            if word >> i & 1 == 0 {
                *value = f32::NEG_INFINITY;
            }
        }
    }
}

/// B-16: the threshold is rounded to float32 before comparing.
fn drop_dissimilar(field: &mut Field<'_>, least: f64) {
    let least = f64::from(least as f32);
    let below: Vec<usize> = set_bits(&field.eligible)
        .filter(|row| field.similarity.bounds(*row).0 < least)
        .collect();
    for row in below {
        field.eligible[row / 64] &= !(1 << (row % 64));
    }
    poison(&mut field.similarity.values, &field.eligible);
}

/// Fills in the lexical scores; the largest one over the eligible rows, at least 0.
fn score_words(fields: &mut [Field<'_>], terms: &[String], eligible: usize) -> f64 {
    let whole: Vec<bool> = fields
        .iter()
        .map(|field| count(&field.eligible) == field.segment.rows())
        .collect();
    let total: u64 = fields.iter().map(total_length).sum();
    let norms = Norms::new(total, eligible as u64);
    for term in terms {
        let numbers: Vec<Option<u32>> = fields
            .iter()
            .map(|field| field.segment.term_number(term))
            .collect();
        let mut holding = 0;
        for ((field, number), whole) in fields.iter().zip(&numbers).zip(&whole) {
            if let Some(number) = number {
                let bits = (!whole).then_some(field.eligible.as_slice());
                let rows = field.segment.postings(*number as usize).0;
                holding += lexical::document_frequency(rows, bits);
            }
        }
        let idf = lexical::idf(eligible as u64, holding);
        for ((field, number), whole) in fields.iter_mut().zip(&numbers).zip(&whole) {
            let Some(number) = number else { continue };
            if field.lexical.is_empty() {
                field.lexical = vec![0.0; field.segment.rows()];
            }
            let bits = (!whole).then_some(field.eligible.as_slice());
            let lengths = field.segment.column::<u32>(Section::Lengths);
            let postings = field.segment.postings(*number as usize);
            lexical::accumulate(&mut field.lexical, idf, postings, lengths, bits, &norms);
        }
    }
    fields
        .iter()
        .flat_map(|field| &field.lexical)
        .fold(0.0, |most, score| f64::max(most, *score))
}

fn total_length(field: &Field<'_>) -> u64 {
    let lengths = field.segment.column::<u32>(Section::Lengths);
    field
        .eligible
        .iter()
        .zip(lengths.chunks(64))
        .map(|(word, lengths)| match *word {
            0 => 0,
            u64::MAX => lengths.iter().map(|n| u64::from(*n)).sum(),
            word => {
                let counted = |(i, n): (usize, &u32)| u64::from(*n) * (word >> i & 1);
                lengths.iter().enumerate().map(counted).sum::<u64>()
            }
        })
        .sum()
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

/// A float that sorts by `total_cmp`.
#[derive(PartialEq)]
struct Total(f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A cheap upper bound of S without divisions: most rows end here.
struct Screen {
    /// Per origin: constant, factor of the cosine, factor of the lexical score, sign of the error.
    factors: [(f64, f64, f64, f64); 4],
    slack: f64,
}

impl Screen {
    fn new(scorer: &Scorer<'_>) -> Self {
        let inverse = |most: f64| if most > 0.0 { 1.0 / most } else { 0.0 };
        let linear = scorer.ranking.base == Base::Linear;
        let mut slack = 0.0_f64;
        let factors = scorer.ranking.weights.map(|weights| {
            if !linear {
                return (0.0, 1.0, 0.0, 1.0);
            }
            let factor = weights.cosine.unwrap_or(0.0) * inverse(scorer.cosine_max);
            let words = scorer.lexical_max.map_or(0.0, inverse) * weights.lexical.unwrap_or(0.0);
            // Far above the roundings of both forms: each term has at most four of 2⁻⁵³.
            let lexical_most = scorer.lexical_max.unwrap_or(0.0);
            let size = weights.bias.abs() + factor.abs() + (words * lexical_most).abs();
            slack = slack.max(size * 1e-12);
            (
                weights.bias,
                factor,
                words,
                if factor < 0.0 { -1.0 } else { 1.0 },
            )
        });
        Self { factors, slack }
    }
}

/// The best `k` rows by S, best first, with exact numbers.
///
/// One pass: a row whose upper bound stays below the k-th best lower bound so far is out.
fn candidates(fields: &[Field<'_>], scorer: &Scorer<'_>, k: usize) -> Vec<Candidate> {
    let screen = Screen::new(scorer);
    let mut lowers: BinaryHeap<Reverse<Total>> = BinaryHeap::new();
    let mut threshold = f64::NEG_INFINITY;
    let mut possible: Vec<(usize, usize, f64)> = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let attributes = field.segment.column::<[u8; 8]>(Section::Attributes);
        for (row, codes) in attributes.iter().enumerate() {
            let origin = usize::from(codes[2] & 3);
            let (constant, factor, words, sign) = screen.factors[origin];
            let lexical = field.lexical(row);
            let edge = field.similarity.edge(row, sign);
            if constant + factor * edge + words * lexical + screen.slack < threshold
                || !has(&field.eligible, row)
            {
                continue;
            }
            let bounds = field.similarity.bounds(row);
            let (low, high) = scorer.bounds(&scorer.ranking.weights[origin], bounds, lexical);
            if high < threshold {
                continue;
            }
            possible.push((i, row, high));
            lowers.push(Reverse(Total(low)));
            if lowers.len() > k {
                lowers.pop();
            }
            if lowers.len() == k {
                threshold = lowers.peek().map_or(threshold, |least| least.0.0);
            }
        }
    }
    possible.retain(|(_, _, high)| *high >= threshold);
    let exact = |(i, row, _): (usize, usize, f64)| {
        let field = &fields[i];
        let cosine = match field.similarity.errors {
            None => field.similarity.bounds(row).0,
            Some(_) => scorer.exact(field.segment, row),
        };
        let weights =
            &scorer.ranking.weights[usize::from(field.segment.attributes(row).origin & 3)];
        let start = scorer.start(weights, cosine, field.lexical(row));
        Candidate {
            field: i,
            row,
            id: field.segment.ids()[row],
            cosine,
            start,
        }
    };
    let mut found: Vec<Candidate> = possible.into_iter().map(exact).collect();
    top_k(&mut found, k, by_start);
    found
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

/// Whether a row of the snapshot would be found under this filter; for tests of eligibility.
#[must_use]
pub fn is_eligible(snapshot: &Snapshot, filter: &Filter, id: &Id) -> bool {
    snapshot.parts.iter().any(|part| {
        let bits = eligible(part, filter).0;
        part.segment.find(id).is_some_and(|row| has(&bits, row))
    })
}
