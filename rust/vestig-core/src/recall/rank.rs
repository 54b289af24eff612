//! From candidates and walked memories to results.

use std::cmp::Ordering;

use super::candidates::{Candidate, by_start, ranks};
use super::fields::Field;
use super::net::{KIND_SUMMARY, Net};
use super::scorer::{Scorer, Scores};
use super::types::{Base, Hit, Path, PathStep, Pool, Query, Ranking, Scan};
use crate::graph::Node;
use crate::kernels::math;
use crate::kernels::select::{descending, top_k};
use crate::kernels::trace::TraceFactors;
use crate::kernels::walk::{Links, NONE, WalkParams, Walked, walk};
use crate::segment::{Id, Segment};

/// Codes of the edge types of a path.
const MENTIONS: u8 = crate::segment::MENTIONS;
const RELATED: u8 = crate::segment::RELATED;

/// A memory of the pool, or one that fills it up.
#[derive(Clone)]
struct Entry {
    candidate: Candidate,
    scores: Scores,
    factors: TraceFactors,
    final_score: f64,
    direct: bool,
    filled: bool,
    /// Position in the walk.
    walked: Option<u32>,
    /// Rank by S, as far as it is known.
    start_rank: Option<usize>,
    pool_rank: Option<usize>,
}

fn by_final(a: &Entry, b: &Entry) -> Ordering {
    descending(a.final_score, b.final_score)
        .then(descending(a.candidate.cosine, b.candidate.cosine))
        .then(a.candidate.id.cmp(&b.candidate.id))
}

/// Everything a call ranks with.
pub(super) struct Ranker<'a, 'b> {
    pub(super) fields: &'b [Field<'a>],
    pub(super) scorer: &'b Scorer<'a>,
    pub(super) net: Net<'a>,
    pub(super) query: &'b Query,
    walk: Vec<Walked>,
    starts: Vec<Candidate>,
}

impl<'a, 'b> Ranker<'a, 'b> {
    pub(super) fn new(
        fields: &'b [Field<'a>],
        scorer: &'b Scorer<'a>,
        net: Net<'a>,
        query: &'b Query,
    ) -> Self {
        Self {
            fields,
            scorer,
            net,
            query,
            walk: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn ranking(&self) -> &'a Ranking {
        self.scorer.ranking
    }

    fn node(&self, candidate: &Candidate) -> Node {
        Node {
            part: candidate.field as u32,
            row: candidate.row as u32,
        }
    }

    fn candidate(&self, node: Node) -> Candidate {
        Candidate::of(
            self.fields,
            self.scorer,
            node.part as usize,
            node.row as usize,
        )
    }

    fn scores(&self, candidate: &Candidate) -> Scores {
        let field = &self.fields[candidate.field];
        let summary = field.segment.attributes(candidate.row).kind == KIND_SUMMARY;
        let weights = self.scorer.weights(field, candidate.row);
        let known = field.known(candidate.row);
        self.scorer
            .scores(weights, candidate.cosine, &known, summary)
    }

    /// Walks from the best candidates.
    fn traverse(&mut self, candidates: &[Candidate]) {
        let ranking = self.ranking();
        let Some(traversal) = &ranking.walk else {
            return;
        };
        self.starts = candidates[..ranking.start_top_k.min(candidates.len())].to_vec();
        let starts: Vec<u32> = self
            .starts
            .iter()
            .map(|start| self.net.number(self.node(start)))
            .collect();
        let params = WalkParams {
            threshold: traversal.deterministic.then_some(traversal.threshold),
            depth_first: traversal.depth_first,
            cap: traversal.max_nodes.max(ranking.limit).max(starts.len()),
            exploration: traversal.exploration_factor,
            decay: traversal.signal_decay,
            theta: traversal.normalize_weights.then_some(traversal.theta),
            related: traversal.related,
            mentions: traversal.mentions,
            min_signal: traversal.min_signal,
            max_hops: traversal.max_hops,
            boosts: traversal.use_tracerank,
            max_edges: traversal.max_edges,
        };
        self.net.set_max_entity_degree(traversal.max_entity_degree);
        self.walk = walk(&mut self.net, &starts, self.query.seed, &params);
    }

    fn entry(&mut self, candidate: Candidate, direct: bool, filled: bool) -> Entry {
        let node = self.net.number(self.node(&candidate));
        let walked = self
            .walk
            .iter()
            .position(|w| w.node == node)
            .map(|at| at as u32);
        let mut entry = Entry {
            candidate,
            scores: self.scores(&candidate),
            factors: TraceFactors::NONE,
            final_score: 0.0,
            direct,
            filled,
            walked,
            start_rank: None,
            pool_rank: None,
        };
        entry.factors = self.net.factors(self.node(&candidate));
        entry.final_score = self.final_score(&entry);
        entry
    }

    fn start_base(&self, walked: &Walked) -> f64 {
        self.scores(&self.starts[walked.start as usize]).base
    }

    /// The signal by which a memory is in the pool; None = it is direct or fills up.
    fn reached(&self, entry: &Entry) -> Option<&Walked> {
        match entry.walked {
            Some(at) if !entry.direct && !entry.filled => Some(&self.walk[at as usize]),
            _ => None,
        }
    }

    fn final_score(&self, entry: &Entry) -> f64 {
        let ranking = self.ranking();
        let base = entry.scores.base;
        let mut score = base;
        if let Some(walked) = self.reached(entry) {
            score = base * power(walked.signal, ranking.path_power);
            if ranking.association > 0.0 {
                let linked = ranking.association * walked.signal * self.start_base(walked);
                score = score.max(linked);
            }
        }
        if ranking.tracerank_power == 0.0 {
            score
        } else {
            score * power(entry.factors.clipped, ranking.tracerank_power)
        }
    }

    /// The pool: direct candidates, what the walk reached, what pooled summaries cover.
    fn pool(&mut self, candidates: &[Candidate]) -> Vec<Entry> {
        let ranking = self.ranking();
        let count = match ranking.pool {
            Pool::All => candidates.len(),
            Pool::Starts => ranking.start_top_k,
            Pool::Best(count) => count,
        };
        let mut pool: Vec<Entry> = Vec::new();
        for (rank, candidate) in candidates.iter().take(count).enumerate() {
            let mut entry = self.entry(*candidate, true, false);
            entry.start_rank = Some(rank);
            pool.push(entry);
        }
        let mut pooled: Vec<u32> = pool
            .iter()
            .map(|entry| self.net.number(self.node(&entry.candidate)))
            .collect();
        pooled.sort_unstable();
        let reached: Vec<u32> = self.walk.iter().map(|walked| walked.node).collect();
        for number in reached {
            if pooled.binary_search(&number).is_err() {
                let candidate = self.candidate(self.net.node(number));
                pool.push(self.entry(candidate, false, false));
            }
        }
        if ranking.expand_summaries {
            self.expand(&mut pool);
        }
        pool
    }

    fn expand(&mut self, pool: &mut Vec<Entry>) {
        let mut covered: Vec<Node> = Vec::new();
        for entry in pool.iter() {
            let segment = self.fields[entry.candidate.field].segment;
            if segment.attributes(entry.candidate.row).kind == KIND_SUMMARY {
                covered.extend(self.net.covered(self.node(&entry.candidate)));
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
        let ranking = self.ranking();
        self.traverse(candidates);
        scan.walked = self.walk.iter().filter(|walked| walked.hops > 0).count();
        let mut pool = self.pool(candidates);
        let mut rest = Vec::new();
        if ranking.watch.is_empty() {
            top_k(&mut pool, ranking.limit, by_final);
        } else {
            pool.sort_unstable_by(by_final);
            rest = pool.split_off(ranking.limit.min(pool.len()));
        }
        for (rank, entry) in pool.iter_mut().chain(&mut rest).enumerate() {
            entry.pool_rank = Some(rank);
        }
        let mut shown = pool;
        if shown.len() < ranking.limit {
            self.fill(&mut shown, candidates);
        }
        let least = ranking.min_score;
        let (mut returned, below): (Vec<Entry>, Vec<Entry>) = shown
            .into_iter()
            .partition(|entry| least.is_none_or(|least| entry.final_score >= least));
        scan.below_min_score = below.len();
        let mut watched = self.watched(&returned, below, rest);
        self.find_ranks(&mut returned, &mut watched, candidates);
        scan.hits = returned
            .into_iter()
            .map(|entry| self.hit(scan, entry))
            .collect();
        scan.watched = watched
            .into_iter()
            .map(|entry| self.hit(scan, entry))
            .collect();
    }

    fn fill(&mut self, shown: &mut Vec<Entry>, candidates: &[Candidate]) {
        let pooled: Vec<Node> = shown.iter().map(|e| self.node(&e.candidate)).collect();
        for (rank, candidate) in candidates.iter().enumerate() {
            if shown.len() >= self.ranking().limit {
                return;
            }
            if !pooled.contains(&self.node(candidate)) {
                let mut entry = self.entry(*candidate, false, true);
                entry.start_rank = Some(rank);
                shown.push(entry);
            }
        }
    }

    fn watched(&mut self, returned: &[Entry], below: Vec<Entry>, rest: Vec<Entry>) -> Vec<Entry> {
        let ranking = self.ranking();
        let mut known: Vec<Entry> = below;
        known.extend(rest);
        let mut found = Vec::new();
        for id in &ranking.watch {
            let is = |entry: &Entry| entry.candidate.id == *id;
            let Some(node) = self.net.locate(id) else {
                continue;
            };
            if !self.net.is_eligible(node) || returned.iter().chain(&found).any(is) {
                continue;
            }
            let entry = match known.iter().position(is) {
                Some(at) => known.swap_remove(at),
                None => {
                    let candidate = self.candidate(node);
                    self.entry(candidate, false, false)
                }
            };
            found.push(entry);
        }
        found
    }

    /// Ranks by S that the candidates do not tell, counted only when somebody watches.
    fn find_ranks(&self, returned: &mut [Entry], watched: &mut [Entry], candidates: &[Candidate]) {
        let mut open: Vec<&mut Entry> = Vec::new();
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
        if self.ranking().watch.is_empty() || open.is_empty() {
            return;
        }
        let targets: Vec<Candidate> = open.iter().map(|entry| entry.candidate).collect();
        let found = ranks(self.fields, self.scorer, &targets);
        for (entry, rank) in open.into_iter().zip(found) {
            entry.start_rank = Some(rank);
        }
    }

    fn path(&self, at: u32) -> Path {
        let last = self.walk[at as usize];
        let mut steps = Vec::new();
        let mut walked = last;
        while let Some(step) = walked.step {
            let memory = self.net.id(walked.node);
            let (places, edges) = if step.hop.mentions() {
                let entity = self.net.id(step.hop.entity);
                let edges = [step.hop.edge, step.hop.second];
                (
                    vec![(MENTIONS, entity), (MENTIONS, memory)],
                    edges.map(|edge| self.net.edge_id(edge)).to_vec(),
                )
            } else {
                let edge = self.net.edge_id(step.hop.edge);
                (vec![(RELATED, memory)], vec![edge])
            };
            steps.push(PathStep {
                places,
                edges,
                weight: step.hop.weight,
                p: step.p,
                u: step.u,
            });
            if walked.parent == NONE {
                break;
            }
            walked = self.walk[walked.parent as usize];
        }
        steps.reverse();
        Path {
            start: self.starts[last.start as usize].id,
            start_base: self.start_base(&last),
            signal: last.signal,
            steps,
        }
    }

    fn hit(&self, scan: &Scan, entry: Entry) -> Hit {
        let (candidate, ranking) = (&entry.candidate, self.ranking());
        let field = &self.fields[candidate.field];
        let (segment, row) = (field.segment, candidate.row);
        let attributes = segment.attributes(row);
        let known = field.known(row);
        let uses_alpha = ranking.start_enabled && ranking.base != Base::Linear;
        Hit {
            id: candidate.id,
            final_score: entry.final_score,
            cosine: candidate.cosine,
            semantic: entry.scores.semantic,
            start_score: candidate.start,
            base: entry.scores.base,
            origin: attributes.origin,
            kind: attributes.kind,
            embedded: attributes.embedded,
            signals: self.scorer.signals(entry.scores.semantic, &known),
            question: known.question,
            metadata: entry.scores.metadata,
            alpha: uses_alpha.then_some(self.scorer.alpha),
            matched_terms: matched_terms(segment, row, &scan.terms),
            matched_keywords: matched_keywords(segment, row, &self.query.keywords),
            matched_entities: self.matched_entities(candidate),
            filled: entry.filled,
            direct: entry.direct,
            start_rank: entry.start_rank,
            pool_rank: entry.pool_rank,
            path_score: self.reached(&entry).map_or(1.0, |walked| walked.signal),
            path: entry.walked.map(|at| self.path(at)),
            trace: entry.factors,
            stability: attributes.stability,
        }
    }

    fn matched_entities(&self, candidate: &Candidate) -> Vec<Id> {
        if self.query.entities.is_empty() {
            return Vec::new();
        }
        let own = self.net.mentioned(self.node(candidate));
        let ids = self.query.entities.iter().map(|(id, _)| *id);
        ids.filter(|id| own.contains(id)).collect()
    }
}

/// x to the power y; exactly x for y = 1.
fn power(x: f64, y: f64) -> f64 {
    if y == 1.0 { x } else { math::pow(x, y) }
}

fn matched_terms(segment: &Segment, row: usize, terms: &[String]) -> Vec<usize> {
    let holds = |term: &String| {
        segment.term_number(term).is_some_and(|number| {
            let rows = segment.postings(number as usize).0;
            rows.binary_search(&(row as u32)).is_ok()
        })
    };
    (0..terms.len()).filter(|i| holds(&terms[*i])).collect()
}

fn matched_keywords(segment: &Segment, row: usize, keywords: &[String]) -> Vec<usize> {
    let own = segment.keywords(row);
    let holds = |keyword: &String| {
        segment
            .string_number(keyword)
            .is_some_and(|n| own.contains(&n))
    };
    (0..keywords.len())
        .filter(|i| holds(&keywords[*i]))
        .collect()
}
