//! Recall: the only caller of the kernels, fused over one snapshot.
//!
//! Definition: every eligible row's exact cosine, signals and S, the best by S, what
//! the traversal reaches from them, then all by final score. Above `STAGED_ROWS` rows the
//! same result is found from 8-bit bounds: every term but the cosine is known before, and every
//! number of S is monotone in the cosine, operation by operation, also after rounding, so S of an
//! upper bound is an upper bound of S, and only rows that can reach the pool are scored exactly.

mod allocator_hint;
mod candidates;
mod eligible_graph;
mod hits;
mod late_interaction;
mod metadata_signals;
mod neighbour_vectors;
mod pair_and_title;
mod question_words;
mod ranker;
mod score_bounds;
mod score_table;
mod scorer;
mod segment_columns;
mod signal;
mod text_flags;
mod text_signals;
mod turn_columns;
mod turn_index;
mod turn_signals;
mod types;
mod walks;
mod window_words;

use self::candidates::{Candidate, candidates};
use self::eligible_graph::EligibleGraph;
pub use self::question_words::{Postings, QuestionWords};
use self::ranker::Ranker;
use self::score_table::ScoreTable;
use self::scorer::{Scorer, weighs};
use self::segment_columns::{
    SegmentColumns, TermStatistics, apply_min_similarity, fill_cosines, fill_lexical,
    score_stored_questions, unembedded,
};
pub use self::signal::{BySignal, Normaliser, Signal, question_kind};
use self::turn_signals::TurnSignals;
pub use self::types::{
    Base, Effort, Hit, Path, PathStep, Pool, Query, Ranking, Scan, Traversal, Weights,
};
pub use self::walks::Walks;
use crate::kernels::bits::count;
use crate::kernels::dot::{cosine, unit};
use crate::kernels::quantised::QuantisedQuery;
use crate::query::filter::{Filter, eligible};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::snapshot::Snapshot;

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
    let mut parts: Vec<SegmentColumns<'_>> = Vec::new();
    for part in &snapshot.parts {
        let (bits, stored) = eligible(part, filter);
        scan.stored += stored;
        parts.push(SegmentColumns::new(&part.segment, bits));
    }
    let rows: usize = parts.iter().map(|columns| count(&columns.eligible)).sum();
    allocator_hint::hint(rows);
    let mut origins = origins_of(&parts);
    let staged = rows >= effort.staged_rows
        && filter.min_similarity.is_none()
        && wanted(ranking, false) < rows
        && !vector.is_empty()
        && !turn_signals::by_cosines(ranking, origins);
    let quantised = staged.then(|| QuantisedQuery::new(&vector));
    if !vector.is_empty() {
        for columns in parts.iter_mut().filter(|columns| columns.any_eligible) {
            fill_cosines(columns, &vector, quantised.as_ref(), effort);
        }
    }
    if let Some(least) = filter.min_similarity {
        parts
            .iter_mut()
            .for_each(|columns| apply_min_similarity(columns, least));
        origins = origins_of(&parts);
    }
    scan.eligible = parts.iter().map(|columns| count(&columns.eligible)).sum();
    scan.unembedded = parts.iter().map(unembedded).sum();
    if ranking.hyde && !vector.is_empty() {
        for columns in parts.iter_mut().filter(|columns| columns.any_eligible) {
            score_stored_questions(columns, &vector);
        }
    }
    scan.terms = query.terms.clone().unwrap_or_default();
    scan.keywords = query.keywords.clone();
    let mut scorer = Scorer::new(ranking, query, vector, origins);
    let bits = parts
        .iter()
        .map(|columns| columns.eligible.clone())
        .collect();
    let pace = (&ranking.trace, ranking.query_time);
    let mut graph = EligibleGraph::new(snapshot, filter, bits, scan.eligible, pace);
    let mut table = ScoreTable {
        parts,
        signals: None,
    };
    let words = fill_terms(&mut table.parts, &mut scorer, &graph, query, scan.eligible);
    if scan.eligible > 0 {
        if turn_signals::wanted(&scorer) {
            table.signals = Some(TurnSignals::new(&table.parts, &mut scorer, query));
        }
        fill_graph(&mut table, &mut scorer, &mut graph, query, &words);
        late_interaction::fill(&mut table, &mut scorer, query, scan.eligible);
        fill_rerank(&mut table, &mut scorer, &graph, query);
    }
    let asked = table.parts.iter().any(|columns| !columns.sparse.is_empty());
    let best = candidates(
        &table,
        &scorer,
        wanted(ranking, asked || scorer.alpha > 0.0),
    );
    scan.maxima = scorer.maxima;
    scan.idfs = words.idfs;
    Ranker::new(&table, &scorer, graph, query).rank(&mut scan, &best);
    scan
}

/// Origins of the eligible rows.
fn origins_of(parts: &[SegmentColumns<'_>]) -> [bool; 4] {
    let mut found = 0_u8;
    for columns in parts.iter().filter(|columns| columns.any_eligible) {
        let attributes = columns.segment.column::<[u8; 8]>(Section::Attributes);
        for (word, codes) in columns.eligible.iter().zip(attributes.chunks(64)) {
            if found == 15 || *word == 0 {
                continue;
            }
            for (i, codes) in codes.iter().enumerate() {
                found |= (word >> i & 1) as u8 * (1 << (codes[2] & 3));
            }
        }
    }
    std::array::from_fn(|origin| found >> origin & 1 == 1)
}

/// Terms that are made from the best by L₁.
fn fill_graph(
    table: &mut ScoreTable<'_>,
    scorer: &mut Scorer<'_>,
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    words: &TermStatistics,
) {
    let made = [
        Signal::EntityWalk,
        Signal::PairPair,
        Signal::PairGain,
        Signal::Title,
    ];
    if !made.into_iter().any(|term| scorer.weighs(term)) {
        return;
    }
    let enabled = std::mem::replace(&mut scorer.start_enabled, true);
    let best = candidates(table, scorer, pair_and_title::STARTS.max(WALK_STARTS));
    scorer.start_enabled = enabled;
    let node = |c: &Candidate| Node {
        part: c.part as u32,
        row: c.row as u32,
    };
    let best: Vec<(Node, f64)> = best.iter().map(|c| (node(c), c.start)).collect();
    let starts = &best[..best.len().min(pair_and_title::STARTS)];
    let parts = &mut table.parts;
    let maxima = &mut scorer.maxima;
    let mut found = Vec::new();
    let weighs = made.map(|term| weighs(scorer.ranking, scorer.origins, term));
    if weighs[0] {
        let best = &best[..best.len().min(WALK_STARTS)];
        let most = metadata_signals::walk_entities(parts, graph, query, best);
        found.push((Signal::EntityWalk, most));
    }
    if (weighs[1] || weighs[2]) && !words.idfs.is_empty() {
        let most = pair_and_title::pairs(parts, graph, query, words, starts);
        found.extend(
            [(Signal::PairPair, most[0]), (Signal::PairGain, most[1])]
                .into_iter()
                .zip(&weighs[1..])
                .filter(|(_, weighs)| **weighs)
                .map(|(found, _)| found),
        );
    }
    if weighs[3] {
        found.push((
            Signal::Title,
            pair_and_title::titles(parts, graph, query, starts),
        ));
    }
    for (term, most) in found {
        maxima[term] = Some(most);
    }
}

/// The scores of a cross-encoder for the best memories; without them the signal is unavailable.
fn fill_rerank(
    table: &mut ScoreTable<'_>,
    scorer: &mut Scorer<'_>,
    graph: &EligibleGraph<'_>,
    query: &Query,
) {
    let weighs = scorer.weighs(Signal::Rerank);
    let Some(said) = query.reranked.as_ref().filter(|_| weighs) else {
        return;
    };
    let found = said.iter().filter_map(|(id, score)| {
        let node = graph.locate(id).filter(|node| graph.is_eligible(*node))?;
        Some((node, *score))
    });
    let most = metadata_signals::fill_sparse(&mut table.parts, Signal::Rerank, found.collect());
    scorer.maxima[Signal::Rerank] = Some(most);
}

/// The terms that are known before the cosine decides, and the normalisers.
fn fill_terms(
    parts: &mut [SegmentColumns<'_>],
    scorer: &mut Scorer<'_>,
    graph: &EligibleGraph<'_>,
    query: &Query,
    eligible: usize,
) -> TermStatistics {
    let ranking = scorer.ranking;
    let terms = query.terms.as_deref().unwrap_or_default();
    let words = fill_lexical(parts, terms, eligible);
    if eligible == 0 {
        return words;
    }
    if !scorer.vector.is_empty() {
        scorer.maxima[Signal::Cosine] = Some(largest_semantic(parts, scorer));
    }
    if !terms.is_empty() {
        scorer.maxima[Signal::Lexical] = Some(words.most);
    }
    let [keyword, temporal, entity, recency] = scorer.metadata;
    let weighted = (ranking.keyword_weighted, ranking.entity_weighted);
    let mut maxima = [None; 4];
    if keyword {
        maxima[0] = Some(metadata_signals::keyword(
            parts,
            &query.keywords,
            weighted.0,
            eligible,
        ));
    }
    if temporal {
        maxima[1] = Some(metadata_signals::temporal(parts, query, ranking));
    }
    if entity {
        maxima[2] = Some(metadata_signals::entity(parts, graph, query, weighted.1));
    }
    if recency {
        maxima[3] = Some(metadata_signals::recency(parts, ranking));
    }
    if ranking.base == Base::Linear {
        for (signal, most) in Signal::METADATA.into_iter().zip(maxima) {
            scorer.maxima[signal] = most;
        }
    }
    if scorer.alpha > 0.0 {
        parts
            .iter_mut()
            .for_each(|columns| columns.screened = false);
    }
    words
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
        terms: query.terms.as_deref().map(once),
        keywords: once(&query.keywords),
        entities,
        ..query.clone()
    }
}

/// The exact largest S_query over the eligible rows.
fn largest_semantic(parts: &[SegmentColumns<'_>], scorer: &Scorer<'_>) -> f64 {
    let mut most = largest_cosine(parts, scorer);
    for columns in parts {
        for sparse in columns.sparse.iter().filter(|s| s.question.is_some()) {
            let row_signals = columns.row_signals(sparse.row as usize);
            most = most.max(scorer.semantic(sparse.content, &row_signals));
        }
    }
    most
}

/// The exact largest cosine over the eligible rows without questions; −1 if there are none.
fn largest_cosine(parts: &[SegmentColumns<'_>], scorer: &Scorer<'_>) -> f64 {
    let mut least = f32::NEG_INFINITY;
    for columns in parts {
        let values = columns.similarity.values.iter();
        least = match columns.similarity.errors {
            None => values.fold(least, |most, value| most.max(*value)),
            Some((errors, query)) => values.zip(errors).fold(least, |most, (value, error)| {
                most.max(value - query.bound(*error))
            }),
        };
    }
    let exact = parts
        .iter()
        .all(|columns| columns.similarity.errors.is_none());
    if exact || least == f32::NEG_INFINITY {
        return cosine(least);
    }
    let mut most = -1.0_f64;
    let least = least - SLACK;
    for columns in parts {
        let Some((errors, query)) = columns.similarity.errors else {
            continue;
        };
        for (row, (value, error)) in columns.similarity.values.iter().zip(errors).enumerate() {
            if value + query.bound(*error) + SLACK >= least {
                most = most.max(scorer.exact(columns.segment, row));
            }
        }
    }
    most
}
