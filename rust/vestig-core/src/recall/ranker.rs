//! From candidates and walked memories to the results, by final score.

use std::cell::OnceCell;
use std::cmp::Ordering;

use super::analysed_query::Query;
use super::candidates::{Candidate, by_start, ranks};
use super::eligible_graph::EligibleGraph;
use super::hits::WordNumbers;
use super::ranking::{Base, Pool, Ranking, Selection};
use super::result::Scan;
use super::score_table::ScoreTable;
use crate::kernels::math;
use crate::kernels::top_k::{descending, top_k};
use crate::kernels::tracerank::TraceFactors;
use crate::kernels::walk::{Walked, walk};
use crate::query::graph::Node;
use crate::segment::KIND_SUMMARY;

/// A memory of the pool, or one that fills it up.
#[derive(Clone)]
pub(super) struct PoolEntry {
    pub(super) candidate: Candidate,
    /// The value that the final score starts from.
    pub(super) base: f64,
    pub(super) factors: TraceFactors,
    pub(super) final_score: f64,
    pub(super) direct: bool,
    pub(super) filled: bool,
    /// Position in the walk.
    pub(super) walked: Option<u32>,
    /// Rank by S, as far as it is known.
    pub(super) start_rank: Option<usize>,
    pub(super) pool_rank: Option<usize>,
}

fn by_final(a: &PoolEntry, b: &PoolEntry) -> Ordering {
    descending(a.final_score, b.final_score)
        .then(descending(a.candidate.cosine, b.candidate.cosine))
        .then(a.candidate.id.cmp(&b.candidate.id))
}

/// Where the base is linear: logistics that rounding made equal are told apart by L.
fn by_final_and_level(a: &PoolEntry, b: &PoolEntry) -> Ordering {
    descending(a.final_score, b.final_score).then(by_start(&a.candidate, &b.candidate))
}

/// Everything a call ranks with.
pub(super) struct Ranker<'a, 'b> {
    pub(super) ranking: &'a Ranking,
    pub(super) table: &'b ScoreTable<'a>,
    pub(super) graph: EligibleGraph<'a>,
    pub(super) query: &'b Query,
    selection: &'b Selection,
    /// By part, looked up for its first result.
    pub(super) words: Vec<OnceCell<WordNumbers>>,
    pub(super) walk: Vec<Walked>,
    pub(super) starts: Vec<Candidate>,
}

impl<'a, 'b> Ranker<'a, 'b> {
    pub(super) fn new(
        ranking: &'a Ranking,
        table: &'b ScoreTable<'a>,
        graph: EligibleGraph<'a>,
        query: &'b Query,
        selection: &'b Selection,
    ) -> Self {
        Self {
            ranking,
            table,
            graph,
            query,
            selection,
            words: (0..table.parts.len()).map(|_| OnceCell::new()).collect(),
            walk: Vec::new(),
            starts: Vec::new(),
        }
    }

    pub(super) fn node(&self, candidate: &Candidate) -> Node {
        Node {
            part: candidate.part as u32,
            row: candidate.row as u32,
        }
    }

    fn candidate(&self, node: Node) -> Candidate {
        let (part, row) = (node.part as usize, node.row as usize);
        Candidate::of(self.table, part, row)
    }

    fn base(&self, candidate: &Candidate) -> f64 {
        let columns = &self.table.parts[candidate.part];
        let summary = columns.segment.attributes(candidate.row).kind == KIND_SUMMARY;
        let scored = (candidate.cosine, candidate.start);
        self.table
            .scorer
            .base(columns, candidate.row, scored, summary)
    }

    /// Walks from the best candidates.
    fn traverse(&mut self, candidates: &[Candidate]) {
        let ranking = self.ranking;
        let Some(traversal) = &ranking.walk else {
            return;
        };
        self.starts = candidates[..ranking.start_limit.min(candidates.len())].to_vec();
        let starts: Vec<u32> = self
            .starts
            .iter()
            .map(|start| self.graph.number(self.node(start)))
            .collect();
        let cap = traversal
            .max_nodes
            .max(self.selection.shown)
            .max(starts.len());
        let params = traversal.params(cap);
        self.graph
            .set_max_entity_degree(traversal.max_entity_degree);
        self.walk = walk(&mut self.graph, &starts, self.query.seed, &params).0;
    }

    fn entry(&mut self, candidate: Candidate, direct: bool, filled: bool) -> PoolEntry {
        let node = self.graph.number(self.node(&candidate));
        let walked = self
            .walk
            .iter()
            .position(|w| w.node == node)
            .map(|at| at as u32);
        let mut entry = PoolEntry {
            candidate,
            base: self.base(&candidate),
            factors: TraceFactors::NONE,
            final_score: 0.0,
            direct,
            filled,
            walked,
            start_rank: None,
            pool_rank: None,
        };
        entry.factors = self.graph.factors(self.node(&candidate));
        entry.final_score = self.final_score(&entry);
        entry
    }

    pub(super) fn start_base(&self, walked: &Walked) -> f64 {
        self.base(&self.starts[walked.start as usize])
    }

    /// The signal by which a memory is in the pool; None = it is direct or fills up.
    pub(super) fn reached(&self, entry: &PoolEntry) -> Option<&Walked> {
        match entry.walked {
            Some(at) if !entry.direct && !entry.filled => Some(&self.walk[at as usize]),
            _ => None,
        }
    }

    fn final_score(&self, entry: &PoolEntry) -> f64 {
        let ranking = self.ranking;
        let base = entry.base;
        let mut score = base;
        if let Some(walked) = self.reached(entry) {
            score = base * power(walked.signal, ranking.path_power);
            if ranking.association > 0.0 {
                let linked = ranking.association * walked.signal * self.start_base(walked);
                score = score.max(linked);
            }
        }
        if ranking.tracerank_power == 0.0 {
            return score;
        }
        let mut factor = power(entry.factors.clipped, ranking.tracerank_power);
        if let Some(bound) = ranking
            .tracerank_bound
            .filter(|_| ranking.base == Base::Linear)
        {
            factor = factor.clamp(math::exp(-bound / 2.0), math::exp(bound / 2.0));
        }
        score * factor
    }

    /// The pool: direct candidates, what the walk reached, what pooled summaries cover.
    fn pool(&mut self, candidates: &[Candidate]) -> Vec<PoolEntry> {
        let ranking = self.ranking;
        let count = match self.selection.pool {
            Pool::All => candidates.len(),
            Pool::Starts => ranking.start_limit,
            Pool::Best(count) => count,
        };
        let mut pool: Vec<PoolEntry> = Vec::new();
        for (rank, candidate) in candidates.iter().take(count).enumerate() {
            let mut entry = self.entry(*candidate, true, false);
            entry.start_rank = Some(rank);
            pool.push(entry);
        }
        let mut pooled: Vec<u32> = pool
            .iter()
            .map(|entry| self.graph.number(self.node(&entry.candidate)))
            .collect();
        pooled.sort_unstable();
        let mixed = if ranking.mixes_walked() {
            &self.walk[..]
        } else {
            &[]
        };
        let reached: Vec<u32> = mixed.iter().map(|walked| walked.node).collect();
        for number in reached {
            if pooled.binary_search(&number).is_err() {
                let candidate = self.candidate(self.graph.node(number));
                pool.push(self.entry(candidate, false, false));
            }
        }
        if ranking.expand_summaries {
            self.expand(&mut pool);
        }
        pool
    }

    fn expand(&mut self, pool: &mut Vec<PoolEntry>) {
        let mut covered: Vec<Node> = Vec::new();
        for entry in pool.iter() {
            let segment = self.table.parts[entry.candidate.part].segment;
            if segment.attributes(entry.candidate.row).kind == KIND_SUMMARY {
                covered.extend(self.graph.summarised_by(self.node(&entry.candidate)));
            }
        }
        covered.sort_unstable();
        covered.dedup();
        for node in covered {
            let place = pool
                .iter()
                .position(|entry| self.node(&entry.candidate) == node);
            match place {
                Some(at) if pool[at].direct => {}
                Some(at) => pool[at] = self.entry(pool[at].candidate, true, false),
                None => {
                    let candidate = self.candidate(node);
                    pool.push(self.entry(candidate, true, false));
                }
            }
        }
    }

    /// Final scores of the pool, its best `limit`, filled up by S.
    pub(super) fn rank(mut self, scan: &mut Scan, candidates: &[Candidate]) {
        self.traverse(candidates);
        scan.walked = self.walk.iter().filter(|walked| walked.hops > 0).count();
        let mut pool = self.pool(candidates);
        scan.pool_means = self.pool_means(&pool);
        let mut rest = Vec::new();
        let order = if self.ranking.base == Base::Linear {
            by_final_and_level
        } else {
            by_final
        };
        if self.selection.watch.is_empty() {
            top_k(&mut pool, self.selection.limit, order);
        } else {
            pool.sort_unstable_by(order);
            rest = pool.split_off(self.selection.limit.min(pool.len()));
        }
        for (rank, entry) in pool.iter_mut().chain(&mut rest).enumerate() {
            entry.pool_rank = Some(rank);
        }
        let mut shown = pool;
        if shown.len() < self.selection.limit {
            self.fill(&mut shown, candidates);
        }
        let mut watched = self.watched(&shown, rest);
        self.find_ranks(&mut shown, &mut watched, candidates);
        if !self.ranking.mixes_walked() {
            let associated = self.associated().into_iter();
            scan.associated = associated.map(|entry| self.hit(scan, entry)).collect();
        }
        scan.hits = shown
            .into_iter()
            .map(|entry| self.hit(scan, entry))
            .collect();
        scan.watched = watched
            .into_iter()
            .map(|entry| self.hit(scan, entry))
            .collect();
    }

    /// Returns what the walk reached, by signal · base of the start.
    fn associated(&mut self) -> Vec<PoolEntry> {
        let reached = self.walk.iter().filter(|walked| walked.hops > 0);
        let strength = |walked: &Walked| walked.signal * self.start_base(walked);
        let mut found: Vec<(f64, Candidate)> = reached
            .map(|walked| {
                (
                    strength(walked),
                    self.candidate(self.graph.node(walked.node)),
                )
            })
            .collect();
        found.sort_unstable_by(|(a, one), (b, other)| {
            descending(*a, *b).then(one.id.cmp(&other.id))
        });
        found
            .into_iter()
            .map(|(_, candidate)| self.entry(candidate, false, false))
            .collect()
    }

    fn fill(&mut self, shown: &mut Vec<PoolEntry>, candidates: &[Candidate]) {
        let pooled: Vec<Node> = shown.iter().map(|e| self.node(&e.candidate)).collect();
        for (rank, candidate) in candidates.iter().enumerate() {
            if shown.len() >= self.selection.limit {
                return;
            }
            if !pooled.contains(&self.node(candidate)) {
                let mut entry = self.entry(*candidate, false, true);
                entry.start_rank = Some(rank);
                shown.push(entry);
            }
        }
    }

    fn watched(&mut self, returned: &[PoolEntry], mut rest: Vec<PoolEntry>) -> Vec<PoolEntry> {
        let mut found = Vec::new();
        for id in &self.selection.watch {
            let is = |entry: &PoolEntry| entry.candidate.id == *id;
            let Some(node) = self.graph.locate(id) else {
                continue;
            };
            if !self.graph.is_eligible(node) || returned.iter().chain(&found).any(is) {
                continue;
            }
            let entry = match rest.iter().position(is) {
                Some(at) => rest.swap_remove(at),
                None => {
                    let candidate = self.candidate(node);
                    self.entry(candidate, false, false)
                }
            };
            found.push(entry);
        }
        found
    }

    /// Ranks by S outside the candidates, counted only for watched memories.
    fn find_ranks(
        &self,
        returned: &mut [PoolEntry],
        watched: &mut [PoolEntry],
        candidates: &[Candidate],
    ) {
        let mut open: Vec<&mut PoolEntry> = Vec::new();
        for entry in returned.iter_mut().chain(watched) {
            if entry.start_rank.is_some() {
                continue;
            }
            let same = |other: &Candidate| by_start(other, &entry.candidate);
            match candidates.binary_search_by(same) {
                Ok(rank) => entry.start_rank = Some(rank),
                Err(_) => open.push(entry),
            }
        }
        if self.selection.watch.is_empty() || open.is_empty() {
            return;
        }
        let targets: Vec<Candidate> = open.iter().map(|entry| entry.candidate).collect();
        let found = ranks(self.table, &targets);
        for (entry, rank) in open.into_iter().zip(found) {
            entry.start_rank = Some(rank);
        }
    }
}

/// x to the power y; exactly x for y = 1.
fn power(x: f64, y: f64) -> f64 {
    if y == 1.0 { x } else { math::pow(x, y) }
}
