//! S, L and the base of a row from what is known of it.
//!
//! S = rest + factor · S_query, where *rest* is what does not depend on the cosine, for every base:
//! of L the terms before the cosine, of a blend the share of the metadata. What few rows have is
//! added behind. Every operation is monotone in the cosine, after rounding too: bounds of the cosine
//! give bounds of S.

use super::analysed_query::Query;
use super::ranking::{Base, KINDS, Ranking, Weights, kind};
use super::segment_columns::{SegmentColumns, SparseRow};
use super::signal::Signal;
use crate::kernels::dot::{cosine, dot};
use crate::kernels::{math, metadata};
use crate::segment::Segment;
use crate::segment::format::Section;

fn cosine_of(vector: &[f32], segment: &Segment, row: usize) -> f64 {
    if vector.is_empty() {
        0.0
    } else {
        cosine(dot(vector, segment.vector(row)))
    }
}

/// The parts of scores besides the row's own numbers.
pub(super) struct Scorer<'a> {
    pub(super) ranking: &'a Ranking,
    /// Unit vectors in whole lanes, empty = none: the query's own, and what memories are compared
    /// with.
    own: Vec<f32>,
    pub(super) vector: Vec<f32>,
    /// Of L; all 0 where the base is not linear.
    pub(super) weights: [Weights; KINDS],
    /// The factor of S_query in S.
    pub(super) factors: [f64; KINDS],
    /// True if each metadata signal is available and weighs something.
    pub(super) metadata: [bool; 4],
    /// Share of S_meta in S for this query; 0 where no metadata signal is available.
    pub(super) alpha: f64,
    /// The value that L of a row has in the place of the late terms where its word pieces are not
    /// compared: the least that these add to a row of the pool, so that no row passes one that is.
    pub(super) outside: f64,
    /// false: S is the content cosine. The entity walk starts by L₁ all the same.
    pub(super) start_enabled: bool,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        ranking: &'a Ranking,
        query: &Query,
        (own, vector): (Vec<f32>, Vec<f32>),
    ) -> Self {
        let linear = ranking.base == Base::Linear;
        let given = [
            !query.keywords.is_empty(),
            !query.windows.is_empty(),
            !query.entities.is_empty(),
            true,
        ];
        let blends = !linear && ranking.start_enabled && ranking.alpha > 0.0;
        let used = |at: usize| blends && given[at] && ranking.meta_weights[at] > 0.0;
        let metadata: [bool; 4] = std::array::from_fn(used);
        let alpha = if metadata.contains(&true) {
            ranking.alpha
        } else {
            0.0
        };
        let weights = if linear {
            ranking.weights
        } else {
            [Weights::default(); KINDS]
        };
        Self {
            ranking,
            own,
            vector,
            factors: weights.map(|weights| {
                if linear {
                    weights.signals[Signal::Topic]
                } else {
                    1.0 - alpha
                }
            }),
            weights,
            metadata,
            alpha,
            outside: 0.0,
            start_enabled: ranking.start_enabled,
        }
    }

    pub(super) fn exact(&self, segment: &Segment, row: usize) -> f64 {
        cosine_of(&self.vector, segment, row)
    }

    /// Cosine with the query's own vector.
    pub(super) fn similarity(&self, segment: &Segment, row: usize) -> f64 {
        cosine_of(&self.own, segment, row)
    }

    /// S_query: the cosine of the content, mixed with that of the nearest stored question.
    #[inline]
    pub(super) fn semantic(&self, content: f64, question: Option<(u32, f64)>) -> f64 {
        let weights = (self.ranking.content_weight, self.ranking.question_weight);
        metadata::semantic(content, question.map(|(_, cosine)| cosine), weights)
    }

    /// The place of a row's weights.
    #[inline]
    pub(super) fn kind(columns: &SegmentColumns<'_>, row: usize) -> usize {
        kind(&columns.segment.column::<[u8; 8]>(Section::Attributes)[row])
    }

    /// S where it is not the plain cosine.
    #[inline]
    fn level(&self, columns: &SegmentColumns<'_>, row: usize, semantic: f64) -> f64 {
        let kind = Self::kind(columns, row);
        let level = columns.rest[row] + self.factors[kind] * semantic;
        match columns.sparse_row(row) {
            None => level + self.outside,
            Some(sparse) => self.with_sparse(level, kind, sparse),
        }
    }

    fn with_sparse(&self, level: f64, kind: usize, sparse: &SparseRow) -> f64 {
        let mut level = level;
        for (signal, value) in Signal::SPARSE.into_iter().zip(sparse.values) {
            if !sparse.pooled && signal == Signal::Rerank {
                level += self.outside;
            }
            level += self.weights[kind].signals[signal] * value;
        }
        level
    }

    /// S of a row of these columns with that content cosine: what orders the pool, the starts and
    /// what fills.
    #[inline]
    pub(super) fn start(&self, columns: &SegmentColumns<'_>, row: usize, content: f64) -> f64 {
        if !self.start_enabled {
            return content;
        }
        let semantic = self.semantic(content, columns.question(row));
        self.level(columns, row, semantic)
    }

    /// Bounds of S from those of the content cosine.
    #[inline]
    pub(super) fn bounds(&self, columns: &SegmentColumns<'_>, row: usize) -> (f64, f64) {
        let (low, high) = columns.content_bounds(row);
        let falls = self.start_enabled && self.factors[Self::kind(columns, row)] < 0.0;
        let (low, high) = if falls { (high, low) } else { (low, high) };
        (
            self.start(columns, row, low),
            self.start(columns, row, high),
        )
    }

    /// S_meta of a row; None where it has no part in S.
    pub(super) fn metadata(&self, columns: &SegmentColumns<'_>, row: usize) -> Option<f64> {
        if self.alpha == 0.0 {
            return None;
        }
        let values = self.metadata_values(columns, row);
        metadata::metadata(values, self.ranking.meta_weights, self.alpha).0
    }

    /// Raw metadata signals of a row; None = not available, or it weighs nothing.
    pub(super) fn metadata_values(
        &self,
        columns: &SegmentColumns<'_>,
        row: usize,
    ) -> [Option<f64>; 4] {
        let value = |at: usize| columns.metadata[at].get(row).copied().unwrap_or(0.0);
        std::array::from_fn(|at| self.metadata[at].then(|| value(at)))
    }

    /// Returns what the final score starts from, the summary's prior included, of a row with this
    /// cosine and S.
    pub(super) fn base(
        &self,
        columns: &SegmentColumns<'_>,
        row: usize,
        (content, start): (f64, f64),
        summary: bool,
    ) -> f64 {
        let prior = |score: f64| {
            if summary {
                score + self.ranking.summary_prior
            } else {
                score
            }
        };
        let semantic = self.semantic(content, columns.question(row));
        match self.ranking.base {
            Base::Semantic => prior(semantic).max(0.0),
            Base::Blend => prior(start).max(0.0),
            Base::Linear if self.start_enabled => math::logistic(prior(start)),
            Base::Linear => math::logistic(prior(self.level(columns, row, semantic))),
            Base::Cosine => content,
        }
    }
}
