//! Results with every number that made their rank.

use super::candidates::Candidate;
use super::ranker::{PoolEntry, Ranker};
use super::ranking::Base;
use super::result::{Hit, Path, PathStep, PoolMeans, Scan};
use super::scorer::Scorer;
use super::signal::{BySignal, Signal};
use crate::kernels::walk::{Links, NONE};
use crate::segment::{Id, MENTIONS, RELATED, Segment};

impl Ranker<'_, '_> {
    fn path(&self, at: u32) -> Path {
        let last = self.walk[at as usize];
        let mut steps = Vec::new();
        let mut walked = last;
        while let Some(step) = walked.step {
            let memory = self.graph.id(walked.node);
            let (nodes, edges) = if step.hop.mentions() {
                let entity = self.graph.id(step.hop.entity);
                let edges = [step.hop.edge, step.hop.second];
                (
                    vec![(MENTIONS, entity), (MENTIONS, memory)],
                    edges.map(|edge| self.graph.edge_id(edge)).to_vec(),
                )
            } else {
                let edge = self.graph.edge_id(step.hop.edge);
                (vec![(RELATED, memory)], vec![edge])
            };
            steps.push(PathStep {
                nodes,
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

    pub(super) fn hit(&self, scan: &Scan, entry: PoolEntry) -> Hit {
        let (candidate, ranking) = (&entry.candidate, self.ranking);
        let row = candidate.row;
        let columns = &self.table.parts[candidate.part];
        let (scorer, segment) = (&self.table.scorer, columns.segment);
        let attributes = segment.attributes(row);
        let question = columns.question(row);
        let semantic = scorer.semantic(candidate.cosine, question);
        let words = self.words[candidate.part]
            .get_or_init(|| WordNumbers::of(segment, &scan.terms, &self.query.keywords));
        let uses_alpha = ranking.start_enabled && ranking.base != Base::Linear;
        Hit {
            id: candidate.id,
            final_score: entry.final_score,
            cosine: scorer.similarity(segment, row),
            semantic,
            start_score: candidate.start,
            weights: Scorer::kind(columns, row),
            constant: scorer.weights[Scorer::kind(columns, row)].bias + self.outside(candidate),
            base: entry.base,
            origin: attributes.origin,
            kind: attributes.kind,
            embedded: attributes.embedded,
            signals: self.table.signals(candidate.part, row, semantic),
            metadata_values: scorer.metadata_values(columns, row),
            question,
            metadata: scorer.metadata(columns, row),
            alpha: uses_alpha.then_some(scorer.alpha),
            matched_terms: matched_terms(segment, row, &words.terms),
            matched_keywords: matched_keywords(segment, row, &words.keywords),
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

    /// Returns what the memories of the pool have on average.
    pub(super) fn pool_means(&self, pool: &[PoolEntry]) -> PoolMeans {
        let linear = self.ranking.base == Base::Linear;
        let mut means = PoolMeans::default();
        for PoolEntry { candidate, .. } in pool {
            let columns = &self.table.parts[candidate.part];
            let (row, scorer) = (candidate.row, &self.table.scorer);
            let semantic = scorer.semantic(candidate.cosine, columns.question(row));
            means.semantic += semantic;
            if !linear {
                let values = scorer.metadata_values(columns, row);
                for (sum, value) in means.metadata.iter_mut().zip(values) {
                    *sum += value.unwrap_or(0.0);
                }
                continue;
            }
            let weights = &scorer.weights[Scorer::kind(columns, row)];
            means.bias += weights.bias;
            for (signal, value) in self.table.signals(candidate.part, row, semantic).iter() {
                means.signals[signal] += weights.signals[signal] * value.unwrap_or(0.0);
            }
            means.signals[Signal::Late] += self.outside(candidate);
        }
        let share = 1.0 / pool.len().max(1) as f64;
        means.bias *= share;
        means.semantic *= share;
        means.metadata = means.metadata.map(|sum| sum * share);
        let mut signals = BySignal::default();
        for (signal, sum) in means.signals.iter() {
            signals[signal] = sum * share;
        }
        means.signals = signals;
        means
    }

    /// Returns the least that word pieces add to a memory of the late pool, for one that is not in
    /// it; else 0.
    fn outside(&self, candidate: &Candidate) -> f64 {
        match self.table.parts[candidate.part].sparse_row(candidate.row) {
            Some(sparse) if sparse.pooled => 0.0,
            _ => self.table.scorer.outside,
        }
    }

    fn matched_entities(&self, candidate: &Candidate) -> Vec<Id> {
        if self.query.entities.is_empty() {
            return Vec::new();
        }
        let own = self.graph.mentioned(self.node(candidate));
        let ids = self.query.entities.iter().map(|(id, _)| *id);
        ids.filter(|id| own.contains(id)).collect()
    }
}

/// Numbers of the query's words in one segment; None = no row has it.
pub(super) struct WordNumbers {
    terms: Vec<Option<u32>>,
    keywords: Vec<Option<u32>>,
}

impl WordNumbers {
    fn of(segment: &Segment, terms: &[String], keywords: &[String]) -> Self {
        let term = |term: &String| segment.term_number(term);
        let keyword = |keyword: &String| segment.string_number(keyword);
        Self {
            terms: terms.iter().map(term).collect(),
            keywords: keywords.iter().map(keyword).collect(),
        }
    }
}

/// Places of those that a test finds.
fn places(numbers: &[Option<u32>], holds: impl Fn(u32) -> bool) -> Vec<usize> {
    let held = |at: &usize| numbers[*at].is_some_and(&holds);
    (0..numbers.len()).filter(held).collect()
}

fn matched_terms(segment: &Segment, row: usize, terms: &[Option<u32>]) -> Vec<usize> {
    places(terms, |number| {
        let rows = segment.postings(number as usize).0;
        rows.binary_search(&(row as u32)).is_ok()
    })
}

fn matched_keywords(segment: &Segment, row: usize, keywords: &[Option<u32>]) -> Vec<usize> {
    let own = segment.keywords(row);
    places(keywords, |number| own.contains(&number))
}
