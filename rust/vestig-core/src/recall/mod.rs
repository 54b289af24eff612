//! Recall: one query over one snapshot, every kernel in one pass.
//!
//! What is computed: of every eligible row the exact cosine, the signals and S; the best by S; what
//! the walk reaches from them; all of these by final score. Above `STAGED_ROWS` rows the same
//! result is found from 8-bit bounds: every signal but the cosine is known before, and every number
//! of S is monotone in the cosine, operation by operation, also after rounding. So S of an upper
//! bound is an upper bound of S, and only rows that can reach the pool are scored exactly.
//!
//! # Glossary
//!
//! * *Part*: a segment of the snapshot, with the rows of it that no later version masks. *Row*: one
//!   memory of a part. *Eligible*: passes the filter. *Origin*: where a memory came from (a chat of
//!   people, a chat with an agent, a document, a note); weights depend on it.
//! * *Turn*: an eligible memory at its place in its session; numbered over all parts, session after
//!   session. *Position*: turns of one sequence number, the parts of a long text. *Neighbour*: a
//!   turn up to three positions before or after. *Window*: a turn with its neighbours as one text.
//! * *Signal*: one number of a memory for the query. *Raw*: as computed. *Normalised*: divided as
//!   [`Normaliser`] says. *Dense* signals have a column with a value for every row, *sparse* ones a
//!   list of the few rows that have any, others are held by turn.
//! * *Content term*: a term of the query that says what it is about; the other words are function
//!   words, frame the question, or name a time that an eligible memory meets.
//! * *S_query*: cosine with the content, mixed with that of the nearest stored question. *S_meta*:
//!   weighted mean of the metadata signals (keyword, temporal, entity, recency). *S*, start score:
//!   what orders candidates; S_query blended with S_meta, or L.
//! * *L*, linear score: bias + Σ weight · normalised signal. *L₁*: without the entity walk, pairs,
//!   titles, late interaction and rerank, which are computed from its best memories. *L₂*: L₁ with
//!   the first three of these; its best of each origin are *chosen*. *Candidate weights*: those of
//!   L₁ and L₂. *Level*: of a chosen memory, the sum of all terms, late interaction among them, by
//!   weights of its own; of another, L₂. *Group*: eligible rows that are scored with the same
//!   statistics, all of them or those of one origin. *Origin evidence*: what the best memories of
//!   an origin say of its chance to hold the answer; it puts the levels of several origins on one
//!   scale. *L* adds rerank.
//! * *Candidate*: a row with its exact S. *Start node*: one of the best by S, where the *walk* along
//!   the links begins. *Pool*: direct candidates and what the walk reached.
//! * *Base*: what the final score starts from. *Path score*: signal of the walk, 1 for direct
//!   candidates. *TraceRank*: multiplier of reinforcement, connectivity and age. *Final score*: base
//!   · path score · TraceRank. *Filled*: added in order of S because the pool was too small.
//!   *Watched*: wanted with all numbers although it is not among the results.

mod allocator_hint;
mod analysed_query;
mod candidates;
mod chosen_rows;
pub mod confidence;
mod content_signals;
mod eligible_graph;
mod evidence;
mod hits;
mod keyword_votes;
mod late_interaction;
mod levels;
mod metadata_signals;
mod neighbour_vectors;
mod pairs;
mod question_words;
mod ranker;
mod ranking;
mod result;
mod row_groups;
mod score_bounds;
mod score_table;
mod scorer;
mod segment_columns;
mod signal;
mod sittings;
mod text_flags;
mod text_signals;
mod titles;
mod topic;
mod turn_columns;
mod turn_index;
mod turn_signals;
mod walks;
mod window_words;

pub use self::analysed_query::{Query, QueryParts};
use self::candidates::{Candidate, candidates};
use self::eligible_graph::EligibleGraph;
use self::evidence::CommonWords;
pub use self::evidence::Evidence;
pub use self::keyword_votes::{WantedTerm, keyword_votes};
pub use self::levels::{Levels, LevelsRequest, levels};
pub use self::question_words::{Postings, QuestionWords};
use self::ranker::Ranker;
pub use self::ranking::{
    Base, Effort, EvidenceWeights, Pool, Ranking, Selection, Traversal, Weights,
};
pub use self::result::{Hit, Path, PathStep, Scan, Scoring};
use self::row_groups::{RowGroup, RowGroups};
use self::scorer::Scorer;
use self::segment_columns::{
    CosineQuery, SegmentColumns, TermStatistics, apply_min_similarity, cosines_of_many,
    fill_cosines, fill_lexical, score_stored_questions, unembedded,
};
pub use self::signal::{BySignal, Normaliser, Signal, question_kind};
pub use self::topic::TopicPieces;
use self::turn_signals::TurnSignals;
pub use self::walks::Walks;
use crate::kernels::bits::{count, has};
use crate::kernels::dot::{cosine, unit};
use crate::kernels::quantised::QuantisedQuery;
use crate::query::filter::{Filter, eligible};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::snapshot::Snapshot;

/// Above the roundings of a float32 sum of a cosine and its bound.
const SLACK: f32 = 1e-6;
/// Queries whose cosines are held at the same time.
const QUERIES_AT_ONCE: usize = 32;
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
    let vector = QueryVector::new(query, snapshot);
    let request = Request {
        snapshot,
        filter,
        ranking,
        selection,
        effort,
    };
    request.scan(query, &vector, None)
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
        let vectors: Vec<QueryVector> = some
            .iter()
            .map(|query| QueryVector::new(query, snapshot))
            .collect();
        let known = request.cosines(&vectors);
        for ((query, vector), known) in some.iter().zip(&vectors).zip(known) {
            scans.push(request.scan(query, vector, Some(known)));
        }
    }
    scans
}

/// idf of each of these terms over the memories that a filter lets through, as a query without a
/// vector has them.
#[must_use]
pub fn idfs(snapshot: &Snapshot, terms: &[String], filter: &Filter) -> Vec<f64> {
    let mut parts = eligible_parts(snapshot, filter, &mut Scan::default());
    leave_out_unlike(&mut parts, filter);
    segment_columns::idfs(&parts, terms, eligible_rows(&parts))
}

/// What the queries of one call have in common.
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
        cosines: Option<Vec<Vec<f32>>>,
    ) -> Scan {
        let scored = ScoredQuery::new(*self, (query, vector), cosines);
        let mut scan = scored.scan;
        Ranker::new(
            self.ranking,
            &scored.groups,
            scored.graph,
            query,
            self.selection,
        )
        .rank(&mut scan, &scored.best);
        scan
    }

    /// Whether bounds of the cosines come first.
    fn bounded(&self, vector: &QueryVector, rows: usize) -> bool {
        rows >= self.effort.staged_rows
            && self.filter.min_similarity.is_none()
            && candidate_count(self.ranking, self.selection, false) < rows
            && !vector.unit.is_empty()
    }

    /// By query and part, what `fill_cosines` would compute; rows are read once for all queries.
    fn cosines(&self, vectors: &[QueryVector]) -> Vec<Vec<Vec<f32>>> {
        let parts = eligible_parts(self.snapshot, self.filter, &mut Scan::default());
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

/// The unit vector of a query, and its 8-bit codes.
struct QueryVector {
    unit: Vec<f32>,
    quantised: QuantisedQuery,
}

impl QueryVector {
    fn new(query: &Query, snapshot: &Snapshot) -> Self {
        let unit = unit_vector(query, snapshot);
        Self {
            quantised: QuantisedQuery::new(&unit),
            unit,
        }
    }
}

/// A query with the numbers of every eligible row.
struct ScoredQuery<'a> {
    groups: RowGroups<'a>,
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
            ..Scan::default()
        };
        let mut parts = eligible_parts(snapshot, filter, &mut scan);
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
        leave_out_unlike(&mut parts, filter);
        scan.eligible = eligible_rows(&parts);
        scan.unembedded = parts.iter().map(unembedded).sum();
        if ranking.stored_questions && !vector.unit.is_empty() {
            for columns in parts.iter_mut().filter(|columns| columns.any_eligible) {
                score_stored_questions(columns, &vector.unit);
            }
        }
        let origins = origins_of(&parts);
        let scorer = Scorer::new(ranking, query, vector.unit.clone(), origins, effort);
        let eligible = parts.iter().map(|columns| columns.eligible.clone());
        let trace = (&ranking.trace, query.query_time);
        let graph = EligibleGraph::new(snapshot, filter, eligible.collect(), scan.eligible, trace);
        let terms = query.terms.as_deref().unwrap_or_default();
        let common =
            evidence::counts(&scorer).then(|| CommonWords::new(&mut parts, terms, scan.eligible));
        let mut scored = Self {
            groups: RowGroups::new(parts, scorer),
            graph,
            scan,
            best: Vec::new(),
        };
        scored.fill(request, query, common);
        let groups = &scored.groups;
        let sparse = |columns: &SegmentColumns<'_>| !columns.sparse.is_empty();
        let any =
            |group: &RowGroup<'_>| group.scorer.alpha > 0.0 || group.table.parts.iter().any(sparse);
        let mixed = groups.all().iter().any(any);
        scored.best = candidates(groups.all(), candidate_count(ranking, selection, mixed));
        scored.scan.scorings = groups.all().iter().map(RowGroup::scoring).collect();
        scored.scan.scoring_of = groups.of_origin;
        scored
    }

    /// Everything but the cosine: signals, normalisers and bounds; the idf of each term. `common`:
    /// where every origin is a group.
    fn fill(&mut self, request: Request<'a>, query: &Query, common: Option<CommonWords>) {
        let (groups, graph) = (&mut self.groups, &mut self.graph);
        if let Some(common) = common {
            let trace = (&request.ranking.trace, query.query_time);
            for group in groups.all_mut() {
                let rows = group.eligible();
                let eligible = rows.iter().map(|rows| count(rows)).sum();
                let (snapshot, filter) = (request.snapshot, request.filter);
                let mut graph = EligibleGraph::new(snapshot, filter, rows, eligible, trace);
                fill_group(group, &mut graph, query, eligible);
            }
            evidence::fill(groups, &common);
            self.scan.idfs = common.idfs;
        } else {
            // One group: all eligible rows.
            for group in groups.all_mut() {
                fill_group(group, graph, query, self.scan.eligible);
                self.scan.idfs.clone_from(&group.idfs);
            }
        }
        if self.scan.eligible > 0 {
            fill_rerank(groups, graph, query);
        }
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

/// The columns of every part, with nothing but the rows that pass the filter.
fn eligible_parts<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    scan: &mut Scan,
) -> Vec<SegmentColumns<'a>> {
    let mut parts = Vec::with_capacity(snapshot.parts.len());
    for part in &snapshot.parts {
        let (bits, stored) = eligible(part, filter);
        scan.stored += stored;
        parts.push(SegmentColumns::new(part, bits));
    }
    parts
}

/// Leaves out the rows below the least similarity of a filter, where it has one.
fn leave_out_unlike(parts: &mut [SegmentColumns<'_>], filter: &Filter) {
    if let Some(least) = filter.min_similarity {
        for columns in parts {
            apply_min_similarity(columns, least);
        }
    }
}

fn eligible_rows(parts: &[SegmentColumns<'_>]) -> usize {
    parts.iter().map(|columns| count(&columns.eligible)).sum()
}

/// What is known of the rows of a group by themselves. `graph`: of these rows.
fn fill_group(
    group: &mut RowGroup<'_>,
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    eligible: usize,
) {
    let RowGroup { table, scorer, .. } = group;
    let statistics = fill_terms(&mut table.parts, scorer, graph, query, eligible);
    if eligible > 0 {
        if turn_signals::any_weighed(scorer) {
            table.signals = Some(TurnSignals::new(&table.parts, scorer, query, &statistics));
        }
        fill_graph(group, graph, query, &statistics);
        chosen_rows::fill(group, query, eligible);
    }
    group.idfs = statistics.idfs;
    group.document_frequencies = statistics.document_frequencies;
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

/// The signals that are computed from the best memories by L₁.
fn fill_graph(
    group: &mut RowGroup<'_>,
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    statistics: &TermStatistics,
) {
    let [walk, pair, gain, title] = [
        Signal::EntityWalk,
        Signal::PairPair,
        Signal::PairGain,
        Signal::Title,
    ]
    .map(|signal| group.scorer.weighs(signal));
    if !(walk || pair || gain || title) {
        return;
    }
    let count = pairs::STARTS.max(WALK_STARTS);
    let best = group.by_level(|group| candidates(std::slice::from_ref(group), count));
    let node = |c: &Candidate| Node {
        part: c.part as u32,
        row: c.row as u32,
    };
    let best: Vec<(Node, f64)> = best.iter().map(|c| (node(c), c.start)).collect();
    let starts = &best[..best.len().min(pairs::STARTS)];
    let RowGroup { table, scorer, .. } = group;
    let parts = &mut table.parts;
    if walk {
        let best = &best[..best.len().min(WALK_STARTS)];
        let largest = metadata_signals::walk_entities(parts, graph, query, best);
        scorer.maxima[Signal::EntityWalk] = Some(largest);
    }
    if (pair || gain) && !statistics.idfs.is_empty() {
        let largest = pairs::pairs(parts, graph, statistics, starts);
        scorer.maxima[Signal::PairPair] = pair.then_some(largest[0]);
        scorer.maxima[Signal::PairGain] = gain.then_some(largest[1]);
    }
    if title {
        let largest = titles::fill(parts, graph, query, starts);
        scorer.maxima[Signal::Title] = Some(largest);
    }
}

/// The scores of a cross-encoder for the best memories; without them the signal is unavailable.
fn fill_rerank(groups: &mut RowGroups<'_>, graph: &EligibleGraph<'_>, query: &Query) {
    let weighs = |group: &RowGroup<'_>| group.scorer.weighs(Signal::Rerank);
    let weighed = groups.all().iter().any(weighs);
    let Some(scores) = query.rerank_scores.as_ref().filter(|_| weighed) else {
        return;
    };
    let found = scores.iter().filter_map(|(id, score)| {
        let node = graph.locate(id).filter(|node| graph.is_eligible(*node))?;
        Some((node, *score))
    });
    let found: Vec<(Node, f64)> = found.collect();
    let most = found
        .iter()
        .fold(0.0, |most, (_, score)| f64::max(most, *score));
    for group in groups.all_mut() {
        let holds = |node: &Node| {
            let columns = &group.table.parts[node.part as usize];
            has(&columns.eligible, node.row as usize)
        };
        let own = found
            .iter()
            .copied()
            .filter(|(node, _)| holds(node))
            .collect();
        metadata_signals::fill_sparse(&mut group.table.parts, Signal::Rerank, own);
        group.scorer.maxima[Signal::Rerank] = Some(most);
    }
}

/// Lexical and metadata signals, and the normalisers of these and of the cosine.
fn fill_terms(
    parts: &mut [SegmentColumns<'_>],
    scorer: &mut Scorer<'_>,
    graph: &EligibleGraph<'_>,
    query: &Query,
    eligible: usize,
) -> TermStatistics {
    let ranking = scorer.ranking;
    let terms = query.terms.as_deref().unwrap_or_default();
    let statistics = fill_lexical(parts, terms, eligible);
    if eligible == 0 {
        return statistics;
    }
    if !scorer.vector.is_empty() {
        scorer.maxima[Signal::Cosine] = Some(largest_semantic(parts, scorer));
    }
    if !terms.is_empty() {
        scorer.maxima[Signal::Lexical] = Some(statistics.largest);
    }
    for (signal, used) in Signal::METADATA.into_iter().zip(scorer.metadata) {
        if !used {
            continue;
        }
        let largest = match signal {
            Signal::Keyword => {
                let weighted = ranking.keyword_weighted;
                metadata_signals::keyword(parts, &query.keywords, weighted, eligible)
            }
            Signal::Temporal => metadata_signals::temporal(parts, query, ranking),
            Signal::Entity => {
                metadata_signals::entity(parts, graph, query, ranking.entity_weighted)
            }
            _ => metadata_signals::recency(parts, query, ranking),
        };
        if ranking.base == Base::Linear {
            scorer.maxima[signal] = Some(largest);
        }
    }
    if scorer.alpha > 0.0 {
        for columns in parts {
            columns.screened = false;
        }
    }
    statistics
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
