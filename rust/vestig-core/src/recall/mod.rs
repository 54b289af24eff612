//! Recall: one query over one snapshot, every kernel in one pass.
//!
//! Computed are: of every eligible row the exact cosine, the signals and S; the best by S; what the
//! walk reaches from them; all of these by final score. Above `STAGED_ROWS` rows the same result is
//! found from 8-bit bounds: every signal but the cosine is known before, and every number of S is
//! monotone in the cosine, operation by operation, also after rounding. So S of an upper bound is
//! an upper bound of S, and only rows that can reach the pool are scored exactly.
//!
//! # Glossary
//!
//! * *Part*: a segment of the snapshot, with the rows of it that no later version masks. *Row*: one
//!   memory of a part. *Eligible*: passes the filter.
//! * *Turn*: an eligible memory at its place in its session; numbered over all parts, session after
//!   session. *Position*: turns of one sequence number, the parts of a long text. *Neighbour*: a
//!   turn one position before or after.
//! * *Signal*: one number of a memory for the query, as computed. *Sparse* signals are held for the
//!   few rows that have any.
//! * *Content term*: a term of the query that says what it is about; the other words are function
//!   words, frame the question, or name a time that an eligible memory meets.
//! * *S_query*: cosine with the content, mixed with that of the nearest stored question. *S_meta*:
//!   weighted mean of the metadata signals (keyword, temporal, entity, recency). *S*, start score:
//!   what orders candidates; S_query blended with S_meta, or L.
//! * *L*, linear score: bias + Σ weight · signal. *L₁*: what every eligible row has. *L₂*: L₁ with
//!   the entity walk, pairs and titles, which start from the best by L₁. *Late pool*: the best by
//!   L₂, whose word pieces are compared; the others have the least that this adds to one of them.
//! * *Candidate*: a row with its exact S. *Start node*: one of the best by S, where the *walk* along
//!   the links begins. *Pool*: direct candidates and what the walk reached.
//! * *Base*: what the final score starts from. *Path score*: signal of the walk, 1 for direct
//!   candidates. *TraceRank*: multiplier of reinforcement, connectivity and age. *Final score*: base
//!   · path score · TraceRank. *Filled*: added in order of S because the pool was too small.
//!   *Watched*: wanted with all numbers although it is not among the results.

mod allocator_hint;
mod analysed_query;
mod asked;
mod candidates;
pub mod confidence;
mod eligible_graph;
mod hits;
mod late_interaction;
mod metadata_signals;
mod pairs;
mod ranker;
mod ranking;
mod result;
mod score_table;
mod scorer;
mod segment_columns;
mod signal;
mod sittings;
mod text_signals;
mod text_values;
mod titles;
mod topic;
mod turn_index;
mod walks;
mod window_words;

pub use self::analysed_query::{Query, QueryParts};
pub use self::asked::{Asked, asked};
use self::candidates::{Candidate, candidates};
use self::eligible_graph::EligibleGraph;
use self::ranker::Ranker;
pub use self::ranking::{Base, Effort, KINDS, Pool, Ranking, Selection, Traversal, Weights};
pub use self::result::{Hit, Path, PathStep, PoolMeans, Scan};
use self::score_table::ScoreTable;
use self::scorer::Scorer;
use self::segment_columns::{
    CosineQuery, SegmentColumns, TermStatistics, apply_min_similarity, cosines_of_many,
    fill_cosines, fill_words, score_stored_questions, unembedded,
};
pub use self::signal::{BIAS, BySignal, METADATA, SEMANTIC, Signal, Term};
pub use self::topic::TopicPieces;
pub use self::walks::Walks;
use crate::kernels::bits::{count, set_bits};
use crate::kernels::dot::unit;
use crate::kernels::entity_walk::{Mentions as _, mentions_max};
use crate::kernels::quantised::QuantisedQuery;
use crate::query::filter::{Filter, eligible};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::snapshot::Snapshot;

/// Queries whose cosines are held at the same time.
const QUERIES_AT_ONCE: usize = 32;
/// Position of document in OriginType.
const DOCUMENT: u8 = 2;
/// Memories that the entity walk starts from.
const WALK_STARTS: usize = 4;

/// One query over one snapshot.
#[must_use]
pub fn recall(
    snapshot: &Snapshot,
    query: &Query,
    filter: &Filter,
    ranking: &Ranking,
    selection: &Selection,
    effort: Effort,
) -> Scan {
    let request = Request {
        snapshot,
        filter,
        ranking,
        selection,
        effort,
    };
    let parts = eligible_parts(snapshot, filter);
    let vector = QueryVector::new(&request, query, &parts.0);
    request.scan(query, &vector, parts, None)
}

/// Several queries over one snapshot, with their arrays read once for all: result by result as
/// [`recall`] gives it.
#[must_use]
pub fn recall_many(
    snapshot: &Snapshot,
    queries: &[Query],
    filter: &Filter,
    ranking: &Ranking,
    selection: &Selection,
    effort: Effort,
) -> Vec<Scan> {
    let request = Request {
        snapshot,
        filter,
        ranking,
        selection,
        effort,
    };
    let mut scans = Vec::with_capacity(queries.len());
    for some in queries.chunks(QUERIES_AT_ONCE) {
        let (parts, _) = eligible_parts(snapshot, filter);
        let vectors: Vec<QueryVector> = some
            .iter()
            .map(|query| QueryVector::new(&request, query, &parts))
            .collect();
        let known = request.cosines(&vectors);
        for ((query, vector), known) in some.iter().zip(&vectors).zip(known) {
            let parts = eligible_parts(snapshot, filter);
            scans.push(request.scan(query, vector, parts, Some(known)));
        }
    }
    scans
}

/// idf of each of these terms over the memories that a filter lets through, as a query without a
/// vector has them.
#[must_use]
pub fn idfs(snapshot: &Snapshot, terms: &[String], filter: &Filter) -> Vec<f64> {
    let (mut parts, _) = eligible_parts(snapshot, filter);
    leave_out_unlike(&mut parts, filter, &[]);
    segment_columns::idfs(&parts, terms, eligible_rows(&parts))
}

/// The part that the queries of one call have in common.
#[derive(Clone, Copy)]
struct Request<'a> {
    snapshot: &'a Snapshot,
    filter: &'a Filter,
    ranking: &'a Ranking,
    selection: &'a Selection,
    effort: Effort,
}

impl<'a> Request<'a> {
    /// `cosines`: as `cosines` made them; None = they are made here.
    fn scan(
        &self,
        query: &'a Query,
        vector: &'a QueryVector,
        parts: (Vec<SegmentColumns<'a>>, usize),
        cosines: Option<Vec<Vec<f32>>>,
    ) -> Scan {
        let scored = ScoredQuery::new(*self, (query, vector), parts, cosines);
        let mut scan = scored.scan;
        Ranker::new(
            self.ranking,
            &scored.table,
            scored.graph,
            query,
            self.selection,
        )
        .rank(&mut scan, &scored.best);
        scan
    }

    /// Returns whether bounds of the cosines come first.
    fn bounded(&self, vector: &QueryVector, rows: usize) -> bool {
        rows >= self.effort.staged_rows
            && self.filter.min_similarity.is_none()
            && candidate_count(self.ranking, self.selection, false) < rows
            && !vector.unit.is_empty()
    }

    /// By query and part, what `fill_cosines` would compute; rows are read once for all queries.
    fn cosines(&self, vectors: &[QueryVector]) -> Vec<Vec<Vec<f32>>> {
        let (parts, _) = eligible_parts(self.snapshot, self.filter);
        let rows = eligible_rows(&parts);
        let units: Vec<CosineQuery<'_>> = vectors
            .iter()
            .map(|vector| CosineQuery {
                unit: &vector.unit,
                quantised: self.bounded(vector, rows).then_some(&vector.quantised),
            })
            .collect();
        let mut found: Vec<Vec<Vec<f32>>> = vec![Vec::with_capacity(parts.len()); vectors.len()];
        for columns in &parts {
            let of_part = cosines_of_many(columns, &units);
            for (own, values) in found.iter_mut().zip(of_part) {
                own.push(values);
            }
        }
        found
    }
}

/// Unit vectors of a query in whole lanes; empty = it has none.
struct QueryVector {
    /// Its own.
    own: Vec<f32>,
    /// The vector that memories are compared with: its topic where L is ranked by, else its own.
    unit: Vec<f32>,
    /// 8-bit codes of that.
    quantised: QuantisedQuery,
}

impl QueryVector {
    /// `parts`: the eligible rows.
    fn new(request: &Request<'_>, query: &Query, parts: &[SegmentColumns<'_>]) -> Self {
        let own = unit_vector(query, request.snapshot);
        let compares = !own.is_empty() && request.ranking.weighs(Signal::Topic);
        let topic = (compares && query.topic.is_some()).then(|| {
            let terms = query.terms.as_deref().unwrap_or_default();
            let idfs = segment_columns::idfs(parts, terms, eligible_rows(parts));
            let dated = query.content.iter().any(|one| one.in_time);
            let met = dated && text_signals::meets_dates(parts, query, request.ranking.sittings);
            topic::vector_of(query, &idfs, met, own.len())
        });
        let unit = topic.flatten().unwrap_or_else(|| own.clone());
        Self {
            quantised: QuantisedQuery::new(&unit),
            unit,
            own,
        }
    }
}

/// A query with the numbers of every eligible row.
struct ScoredQuery<'a> {
    table: ScoreTable<'a>,
    graph: EligibleGraph<'a>,
    /// Counts and what rows are scored with, no results.
    scan: Scan,
    /// The best by S.
    best: Vec<Candidate>,
}

impl<'a> ScoredQuery<'a> {
    fn new(
        request: Request<'a>,
        (query, vector): (&'a Query, &'a QueryVector),
        (mut parts, stored): (Vec<SegmentColumns<'a>>, usize),
        cosines: Option<Vec<Vec<f32>>>,
    ) -> Self {
        let Request {
            snapshot,
            filter,
            ranking,
            selection,
            effort,
        } = request;
        let mut scan = Scan {
            terms: query.terms.clone().unwrap_or_default(),
            keywords: query.keywords.clone(),
            stored,
            ..Scan::default()
        };
        let rows = eligible_rows(&parts);
        allocator_hint::hint(rows);
        if !vector.unit.is_empty() {
            let of = CosineQuery {
                unit: &vector.unit,
                quantised: request.bounded(vector, rows).then_some(&vector.quantised),
            };
            let mut known = cosines.into_iter().flatten();
            for columns in &mut parts {
                let known = known.next();
                if columns.any_eligible {
                    fill_cosines(columns, of, known, effort);
                }
            }
        }
        leave_out_unlike(&mut parts, filter, &vector.own);
        scan.eligible = eligible_rows(&parts);
        scan.unembedded = parts.iter().map(unembedded).sum();
        if ranking.stored_questions && !vector.unit.is_empty() {
            for columns in parts.iter_mut().filter(|columns| columns.any_eligible) {
                score_stored_questions(columns, &vector.unit);
            }
        }
        let scorer = Scorer::new(ranking, query, (vector.own.clone(), vector.unit.clone()));
        let eligible = parts.iter().map(|columns| columns.eligible.clone());
        let trace = (&ranking.trace, query.query_time);
        let graph = EligibleGraph::new(snapshot, filter, eligible.collect(), scan.eligible, trace);
        let mut scored = Self {
            table: ScoreTable::new(parts, scorer),
            graph,
            scan,
            best: Vec::new(),
        };
        scored.fill(query);
        let table = &scored.table;
        let sparse = |columns: &SegmentColumns<'_>| !columns.sparse.is_empty();
        let mixed = table.scorer.alpha > 0.0 || table.parts.iter().any(sparse);
        scored.best = candidates(table, candidate_count(ranking, selection, mixed));
        scored
    }

    /// Everything but the cosine, and the statistics of the terms.
    fn fill(&mut self, query: &Query) {
        let (table, graph, scan) = (&mut self.table, &mut self.graph, &mut self.scan);
        let terms = query.terms.as_deref().unwrap_or_default();
        let statistics = fill_words(&mut table.parts, terms, scan.eligible);
        if scan.eligible > 0 {
            let used = (table.scorer.ranking, table.scorer.metadata);
            metadata_signals::fill(&mut table.parts, graph, query, used, scan.eligible);
            table.known[Signal::Topic] = !table.scorer.vector.is_empty();
            scan.dates_met = text_signals::fill_dates(table, query);
            text_signals::fill_replies(table);
            text_signals::fill_words_window(table, &statistics);
            text_signals::fill_persons(table, query);
        }
        text_signals::fill_rest(table);
        if scan.eligible > 0 {
            fill_graph(table, graph, query, &statistics);
            late_interaction::fill(table, query, (scan.eligible, scan.dates_met));
            fill_rerank(table, graph, query);
        }
        scan.idfs = statistics.idfs;
        scan.document_frequencies = statistics.document_frequencies;
    }
}

/// The query's vector with length 1 and whole lanes; empty = it has none.
fn unit_vector(query: &Query, snapshot: &Snapshot) -> Vec<f32> {
    let Some(given) = &query.vector else {
        return Vec::new();
    };
    let mut vector = vec![0.0; snapshot.identity.lanes()];
    unit(given, &mut vector);
    vector
}

/// The columns of every part, with nothing but the rows that pass the filter; and how many memories
/// the namespace has.
fn eligible_parts<'a>(snapshot: &'a Snapshot, filter: &Filter) -> (Vec<SegmentColumns<'a>>, usize) {
    let mut parts = Vec::with_capacity(snapshot.parts.len());
    let mut stored = 0;
    for part in &snapshot.parts {
        let (bits, own) = eligible(part, filter);
        stored += own;
        parts.push(SegmentColumns::new(part, bits));
    }
    (parts, stored)
}

/// Leaves out the rows below the least similarity of a filter with the vector of the query, where it
/// has one.
fn leave_out_unlike(parts: &mut [SegmentColumns<'_>], filter: &Filter, own: &[f32]) {
    if let Some(least) = filter.min_similarity {
        for columns in parts {
            apply_min_similarity(columns, own, least);
        }
    }
}

fn eligible_rows(parts: &[SegmentColumns<'_>]) -> usize {
    parts.iter().map(|columns| count(&columns.eligible)).sum()
}

/// The signals that are computed from the best memories by L₁.
fn fill_graph(
    table: &mut ScoreTable<'_>,
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    statistics: &TermStatistics,
) {
    let weighed = [Signal::EntityWalk, Signal::Pair, Signal::Title]
        .map(|signal| table.scorer.ranking.weighs(signal));
    let [walk, pair, title] = weighed;
    if !weighed.contains(&true) || !any_documents(&table.parts) || !names_one(graph, query) {
        return;
    }
    let count = pairs::STARTS.max(WALK_STARTS);
    let best = table.by_level(|table| candidates(table, count));
    let node = |c: &Candidate| Node {
        part: c.part as u32,
        row: c.row as u32,
    };
    let best: Vec<(Node, f64)> = best.iter().map(|c| (node(c), c.start)).collect();
    let starts = &best[..best.len().min(pairs::STARTS)];
    let origin = |node: &Node| {
        let segment = table.parts[node.part as usize].segment;
        segment.attributes(node.row as usize).origin
    };
    // Where few of the best are documents, what documents say of each other says little.
    let documents = starts.iter().filter(|(node, _)| origin(node) == DOCUMENT);
    let share = documents.count() as f64 / starts.len().max(1) as f64;
    let (parts, known) = (&mut table.parts, &mut table.known);
    if walk {
        let best = &best[..best.len().min(WALK_STARTS)];
        metadata_signals::walk_entities(parts, graph, query, best, share);
        known[Signal::EntityWalk] = true;
    }
    if pair && !statistics.idfs.is_empty() {
        pairs::fill(parts, graph, statistics, starts, share);
        known[Signal::Pair] = true;
    }
    if title {
        titles::fill(parts, graph, query, starts, share);
        known[Signal::Title] = true;
    }
}

/// Returns whether the query names an entity that few of the eligible memories mention. Without one
/// a question is rather answered by one passage, from which names lead away.
fn names_one(graph: &EligibleGraph<'_>, query: &Query) -> bool {
    let most = mentions_max(graph.memories_total());
    query.entities.iter().any(|(id, _)| {
        let node = graph.locate(id).filter(|node| graph.is_entity(*node));
        node.is_some_and(|node| (1..=most).contains(&graph.mentions_of(node, most)))
    })
}

/// Returns whether a document is eligible: names lead from passage to passage, elsewhere they say
/// nothing.
fn any_documents(parts: &[SegmentColumns<'_>]) -> bool {
    parts.iter().any(|columns| {
        let attributes = columns.segment.column::<[u8; 8]>(Section::Attributes);
        set_bits(&columns.eligible).any(|row| attributes[row][2] & 3 == DOCUMENT)
    })
}

/// The scores of a cross-encoder for the best memories; without them the signal is unavailable.
fn fill_rerank(table: &mut ScoreTable<'_>, graph: &EligibleGraph<'_>, query: &Query) {
    let weighed = table.scorer.ranking.weighs(Signal::Rerank);
    let Some(scores) = query.rerank_scores.as_ref().filter(|_| weighed) else {
        return;
    };
    let found = scores.iter().filter_map(|(id, score)| {
        let node = graph.locate(id).filter(|node| graph.is_eligible(*node))?;
        Some((node, *score))
    });
    let mut found: Vec<(Node, f64)> = found.collect();
    // A cross-encoder has a scale of its own: its largest score counts 1.
    let most = found.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    if most > 0.0 {
        found.iter_mut().for_each(|(_, score)| *score /= most);
    }
    metadata_signals::fill_sparse(&mut table.parts, Signal::Rerank, found);
    table.known[Signal::Rerank] = true;
}

/// How many of the best by S decide the result. `mixed`: S holds more than the cosine.
fn candidate_count(ranking: &Ranking, selection: &Selection, mixed: bool) -> usize {
    let starts = if ranking.walk.is_some() || selection.pool == Pool::Starts {
        ranking.start_limit
    } else {
        0
    };
    match selection.pool {
        Pool::Best(pool) => pool.max(selection.limit).max(starts),
        Pool::Starts => starts.max(selection.limit),
        // Then final and S put rows into the same order, ties included.
        Pool::All
            if ranking.tracerank_power == 0.0
                && ranking.summary_prior == 0.0
                && ranking.walk.is_none()
                && selection.watch.is_empty()
                && !mixed
                && matches!(ranking.base, Base::Semantic | Base::Cosine) =>
        {
            selection.limit
        }
        Pool::All => usize::MAX,
    }
}
