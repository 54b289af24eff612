//! Recall: the only caller of the kernels, fused over one snapshot.
//!
//! Definition: every eligible row's exact cosine, signals and S, the best by S, what
//! the traversal reaches from them, then all by final score. Above `STAGED_ROWS` rows the
//! same result is found from 8-bit bounds: every term but the cosine is known before, and every
//! number of S is monotone in the cosine, operation by operation, also after rounding, so S of an
//! upper bound is an upper bound of S, and only rows that can reach the pool are scored exactly.

mod candidates;
mod fields;
mod hits;
mod net;
mod rank;
mod scorer;
mod steps;
mod terms;
mod types;

use self::candidates::{Candidate, candidates};
use self::fields::{Field, ask, drop_dissimilar, measure, score_words, unembedded};
use self::net::Net;
use self::rank::Ranker;
use self::scorer::Scorer;
pub use self::steps::Steps;
use self::types::term;
pub use self::types::{
    Base, Effort, Hit, Path, PathStep, Pool, Query, Ranking, SIGNALS, STAGED_ROWS, Scan, TERMS,
    Traversal, Weights,
};
use crate::eligible::{Filter, eligible};
use crate::graph::Node;
use crate::kernels::dot::{cosine, unit};
use crate::kernels::quantised::QuantisedQuery;
use crate::snapshot::{Snapshot, count};

/// Above the roundings of a float32 sum of a cosine and its bound.
const SLACK: f32 = 1e-6;
/// Memories that the entity walk starts from.
const WALK_STARTS: usize = 4;

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
    let query = &distinct_parts(query);
    let mut vector = Vec::new();
    if let Some(given) = &query.vector {
        vector.resize(snapshot.identity.lanes(), 0.0);
        unit(given, &mut vector);
    }
    let mut fields: Vec<Field<'_>> = Vec::new();
    for part in &snapshot.parts {
        let (bits, stored) = eligible(part, filter);
        scan.stored += stored;
        fields.push(Field::new(&part.segment, bits));
    }
    let rows: usize = fields.iter().map(|field| count(&field.eligible)).sum();
    let staged = rows >= effort.staged_rows
        && filter.min_similarity.is_none()
        && wanted(ranking, false) < rows
        && !vector.is_empty();
    let quantised = staged.then(|| QuantisedQuery::new(&vector));
    if !vector.is_empty() {
        for field in fields.iter_mut().filter(|field| field.any) {
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
    if ranking.hyde && !vector.is_empty() {
        for field in fields.iter_mut().filter(|field| field.any) {
            ask(field, &vector);
        }
    }
    scan.terms = query.terms.clone().unwrap_or_default();
    scan.keywords = query.keywords.clone();
    let mut scorer = Scorer::new(ranking, query, vector);
    let bits = fields.iter().map(|field| field.eligible.clone()).collect();
    let pace = (&ranking.trace, ranking.query_time);
    let mut net = Net::new(snapshot, filter, bits, scan.eligible, pace);
    if scan.eligible > 0 {
        fill_terms(&mut fields, &mut scorer, &net, query, scan.eligible);
        if scorer.weighs(term::ENTITY_WALK) {
            scorer.start_enabled = true;
            let best = candidates(&fields, &scorer, WALK_STARTS);
            scorer.start_enabled = ranking.start_enabled;
            let node = |c: &Candidate| Node {
                part: c.field as u32,
                row: c.row as u32,
            };
            let best: Vec<(Node, f64)> = best.iter().map(|c| (node(c), c.start)).collect();
            let most = terms::walk_entities(&mut fields, &mut net, query, &best);
            scorer.maxima[term::ENTITY_WALK] = Some(most);
        }
    }
    let asked = fields.iter().any(|field| !field.special.is_empty());
    let best = candidates(
        &fields,
        &scorer,
        wanted(ranking, asked || scorer.alpha > 0.0),
    );
    scan.maxima = scorer.maxima;
    Ranker::new(&fields, &scorer, net, query).rank(&mut scan, &best);
    scan
}

/// The terms that are known before the cosine decides, and the normalisers.
fn fill_terms(
    fields: &mut [Field<'_>],
    scorer: &mut Scorer<'_>,
    net: &Net<'_>,
    query: &Query,
    eligible: usize,
) {
    let ranking = scorer.ranking;
    if !scorer.vector.is_empty() {
        scorer.maxima[term::COSINE] = Some(largest_semantic(fields, scorer));
    }
    if let Some(words) = query.terms.as_ref().filter(|words| !words.is_empty()) {
        scorer.maxima[term::LEXICAL] = Some(score_words(fields, words, eligible));
    }
    let [keyword, temporal, entity, recency] = scorer.metadata;
    let weighted = (ranking.keyword_weighted, ranking.entity_weighted);
    let mut maxima = [None; 4];
    if keyword {
        maxima[0] = Some(terms::keyword(
            fields,
            &query.keywords,
            weighted.0,
            eligible,
        ));
    }
    if temporal {
        maxima[1] = Some(terms::temporal(fields, query, ranking));
    }
    if entity {
        maxima[2] = Some(terms::entity(fields, net, query, weighted.1));
    }
    if recency {
        maxima[3] = Some(terms::recency(fields, ranking));
    }
    if ranking.base == Base::Linear {
        scorer.maxima[term::KEYWORD..=term::RECENCY].copy_from_slice(&maxima);
    }
    if scorer.alpha > 0.0 {
        fields.iter_mut().for_each(|field| field.screened = false);
    }
}

/// How many rows in order of S decide the result. `mixed`: S holds more than the cosine.
fn wanted(ranking: &Ranking, mixed: bool) -> usize {
    let starts = if ranking.walk.is_some() || ranking.pool == Pool::Starts {
        ranking.start_top_k
    } else {
        0
    };
    match ranking.pool {
        Pool::Best(pool) => pool.max(ranking.limit).max(starts),
        Pool::Starts => starts.max(ranking.limit),
        // Then final and S put rows into the same order, ties included.
        Pool::All
            if ranking.tracerank_power == 0.0
                && ranking.summary_prior == 0.0
                && ranking.walk.is_none()
                && ranking.watch.is_empty()
                && !mixed
                && matches!(ranking.base, Base::Semantic | Base::Cosine) =>
        {
            ranking.limit
        }
        Pool::All => usize::MAX,
    }
}

/// Terms, keywords and entities once each, by first position; an entity with its best score.
fn distinct_parts(query: &Query) -> Query {
    fn once(texts: &[String]) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        for text in texts {
            if !seen.contains(text) {
                seen.push(text.clone());
            }
        }
        seen
    }
    let mut entities: Vec<([u8; 16], f64)> = Vec::new();
    for (id, score) in &query.entities {
        match entities.iter_mut().find(|(known, _)| known == id) {
            Some((_, most)) => *most = most.max(*score),
            None => entities.push((*id, *score)),
        }
    }
    Query {
        vector: query.vector.clone(),
        terms: query.terms.as_deref().map(once),
        keywords: once(&query.keywords),
        windows: query.windows.clone(),
        entities,
        seed: query.seed,
    }
}

/// The exact largest S_query over the eligible rows.
fn largest_semantic(fields: &[Field<'_>], scorer: &Scorer<'_>) -> f64 {
    let mut most = largest_cosine(fields, scorer);
    for field in fields {
        for special in field.special.iter().filter(|s| s.question.is_some()) {
            let known = field.known(special.row as usize);
            most = most.max(scorer.semantic(special.content, &known));
        }
    }
    most
}

/// The exact largest cosine over the eligible rows without questions; −1 if there are none.
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
    let exact = fields.iter().all(|field| field.similarity.errors.is_none());
    if exact || least == f32::NEG_INFINITY {
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
