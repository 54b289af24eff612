//! S, L and the base from the raw values of a row.

use super::analysed_query::Query;
use super::evidence::Evidence;
use super::ranking::{Base, Effort, Ranking, Weights};
use super::segment_columns::SparseRow;
use super::signal::{BySignal, Signal};
use crate::kernels::dot::{cosine, dot};
use crate::kernels::{math, metadata};
use crate::segment::Segment;

/// What is known of a row beside its cosine.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSignals {
    /// Nearest question and its cosine.
    pub(super) question: Option<(u32, f64)>,
    /// Raw values; that of the cosine is not used.
    pub(super) raw: BySignal<f64>,
    /// The level of a row that the candidate weights chose.
    pub(super) chosen: Option<f64>,
}

impl RowSignals {
    pub(super) const NOTHING: Self = Self {
        question: None,
        raw: BySignal::of(0.0),
        chosen: None,
    };
}

/// The scores of a row before its path and TraceRank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scores {
    /// S_query, in [−1, 1].
    pub(super) semantic: f64,
    /// What the final score starts from, the summary's prior included.
    pub(super) base: f64,
    /// S_meta, in [0, 1]; None = no metadata signal is available or α is 0.
    pub(super) metadata: Option<f64>,
}

/// What scores are made of besides the row's own numbers.
pub(super) struct Scorer<'a> {
    pub(super) ranking: &'a Ranking,
    /// Unit query, whole lanes; empty = none.
    pub(super) vector: Vec<f32>,
    /// Largest raw value over the eligible; None = unavailable or not needed.
    pub(super) maxima: BySignal<Option<f64>>,
    /// Whether any eligible row has it, by code of OriginType.
    pub(super) origins: [bool; 4],
    /// Whether the query has what keyword, temporal, entity and recency compare.
    given: [bool; 4],
    /// Whether each of these is available and weighs something.
    pub(super) metadata: [bool; 4],
    /// Share of S_meta in S for this query; 0 where no metadata signal is available.
    pub(super) alpha: f64,
    /// Of the only origin whose rows are scored; None = L counts as it is.
    pub(super) evidence: Option<Evidence>,
    /// By code of OriginType: added to L of rows that were not chosen, at most 0. Rows that stand
    /// before others by the candidate weights stand before them in the end too.
    pub(super) not_chosen: [f64; 4],
    /// false: S is the content cosine. The entity walk starts by L₁ all the same.
    pub(super) start_enabled: bool,
    pub(super) effort: Effort,
}

/// Place of the row's weights in [`Ranking::weights`].
pub(super) fn origin(segment: &Segment, row: usize) -> usize {
    usize::from(segment.attributes(row).origin & 3)
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        ranking: &'a Ranking,
        query: &Query,
        vector: Vec<f32>,
        origins: [bool; 4],
        effort: Effort,
    ) -> Self {
        let given = [
            !query.keywords.is_empty(),
            !query.windows.is_empty(),
            !query.entities.is_empty(),
            true,
        ];
        let scorer = Self {
            ranking,
            vector,
            maxima: BySignal::of(None),
            origins,
            given,
            metadata: [false; 4],
            alpha: 0.0,
            evidence: None,
            not_chosen: [0.0; 4],
            start_enabled: ranking.start_enabled,
            effort,
        };
        scorer.of_origins(origins)
    }

    /// The same for rows of some of the origins, before anything is known of them.
    pub(super) fn of_origins(&self, origins: [bool; 4]) -> Self {
        let ranking = self.ranking;
        let mut scorer = Self {
            vector: self.vector.clone(),
            origins,
            ..*self
        };
        for (i, given) in self.given.into_iter().enumerate() {
            let weighs = if ranking.base == Base::Linear {
                scorer.weighs(Signal::METADATA[i])
            } else {
                ranking.start_enabled && ranking.alpha > 0.0 && ranking.meta_weights[i] > 0.0
            };
            scorer.metadata[i] = given && weighs;
        }
        if ranking.base != Base::Linear && scorer.metadata.contains(&true) {
            scorer.alpha = ranking.alpha;
        }
        scorer
    }

    /// Weights of a row of this origin.
    #[inline]
    fn weights(&self, origin: usize, chosen: bool) -> &'a Weights {
        if chosen {
            &self.ranking.weights[origin]
        } else {
            &self.ranking.candidate_weights[origin]
        }
    }

    /// What L of a row of this origin begins with.
    #[inline]
    pub(super) fn constant(&self, origin: usize, chosen: bool) -> f64 {
        let bias = self.weights(origin, chosen).bias;
        if chosen {
            bias
        } else {
            bias + self.not_chosen[origin]
        }
    }

    /// Whether a signal of L can change anything for rows of the origins that occur.
    pub(super) fn weighs(&self, signal: Signal) -> bool {
        let any = |of: &[Weights; 4]| {
            let mut weights = of.iter().zip(self.origins);
            weights.any(|(weights, occurs)| occurs && weights.weigh(signal))
        };
        let ranking = self.ranking;
        ranking.base == Base::Linear && (any(&ranking.weights) || any(&ranking.candidate_weights))
    }

    /// Whether a signal of L changes anything: it weighs something, and a row has it.
    pub(super) fn counts(&self, signal: Signal) -> bool {
        self.maxima[signal] > Some(0.0) && self.weighs(signal)
    }

    pub(super) fn exact(&self, segment: &Segment, row: usize) -> f64 {
        if self.vector.is_empty() {
            0.0
        } else {
            cosine(dot(&self.vector, segment.vector(row)))
        }
    }

    pub(super) fn normalised(value: f64, most: f64) -> f64 {
        if most > 0.0 { value / most } else { 0.0 }
    }

    /// S_query: the cosine of the content, mixed with that of the nearest stored question.
    #[inline]
    pub(super) fn semantic(&self, content: f64, row_signals: &RowSignals) -> f64 {
        self.semantic_of(content, row_signals.question)
    }

    #[inline]
    pub(super) fn semantic_of(&self, content: f64, question: Option<(u32, f64)>) -> f64 {
        let weights = (self.ranking.content_weight, self.ranking.question_weight);
        metadata::semantic(content, question.map(|(_, cosine)| cosine), weights)
    }

    /// What the signals that few rows have add to L of a row that was not chosen, and the sum of
    /// their sizes.
    pub(super) fn sparse_share(&self, origin: usize, sparse: &SparseRow) -> (f64, f64) {
        let weights = self.weights(origin, false);
        let scale = self.evidence.map_or(1.0, |evidence| evidence.scale);
        let (mut sum, mut size) = (0.0, 0.0);
        for (signal, raw) in Signal::SPARSE.into_iter().zip(sparse.values) {
            if let (Some(weight), Some(most)) = (weights.signals[signal], self.maxima[signal]) {
                let mut share = weight * Self::normalised(raw, most);
                if signal != Signal::Rerank {
                    share *= scale;
                }
                sum += share;
                size += share.abs();
            }
        }
        (sum, size)
    }

    /// L of the origin: that of a chosen row, or the sum by the candidate weights.
    #[inline]
    pub(super) fn level(&self, origin: usize, semantic: f64, row_signals: &RowSignals) -> f64 {
        match row_signals.chosen {
            Some(level) => level,
            None => self.sum(origin, false, semantic, row_signals),
        }
    }

    /// The constant and weight · normalised value of each signal but `rerank`, summed in their order.
    #[inline]
    pub(super) fn sum(
        &self,
        origin: usize,
        chosen: bool,
        semantic: f64,
        row_signals: &RowSignals,
    ) -> f64 {
        let weights = self.weights(origin, chosen);
        let mut sum = self.constant(origin, chosen);
        let before = &weights.signals.values()[..Signal::Rerank as usize];
        for (signal, weight) in Signal::ALL.into_iter().zip(before) {
            if let (Some(weight), Some(most)) = (weight, self.maxima[signal]) {
                let raw = if signal == Signal::Cosine {
                    semantic
                } else {
                    row_signals.raw[signal]
                };
                sum += weight * Self::normalised(raw, most);
            }
        }
        sum
    }

    /// L: that of the origin on the scale of all origins, then `rerank`.
    #[inline]
    fn linear(&self, origin: usize, semantic: f64, row_signals: &RowSignals) -> f64 {
        let level = self.level(origin, semantic, row_signals);
        self.of_level(
            origin,
            level,
            row_signals.chosen.is_some(),
            row_signals.raw[Signal::Rerank],
        )
    }

    /// L of a level: on the scale of all origins, then `rerank`.
    #[inline]
    pub(super) fn of_level(&self, origin: usize, level: f64, chosen: bool, rerank: f64) -> f64 {
        let mut sum = level;
        if let Some(evidence) = &self.evidence {
            sum = evidence.apply(sum);
        }
        let weight = self.weights(origin, chosen).signals[Signal::Rerank];
        if let (Some(weight), Some(most)) = (weight, self.maxima[Signal::Rerank]) {
            sum += weight * Self::normalised(rerank, most);
        }
        sum
    }

    fn metadata(&self, row_signals: &RowSignals) -> Option<f64> {
        if self.alpha == 0.0 {
            return None;
        }
        let value = |i: usize| self.metadata[i].then_some(row_signals.raw[Signal::METADATA[i]]);
        let values = std::array::from_fn(value);
        metadata::metadata(values, self.ranking.meta_weights, self.alpha).0
    }

    /// S of a row with that cosine: what orders the pool, the starts and what fills.
    #[inline]
    pub(super) fn start(&self, origin: usize, content: f64, row_signals: &RowSignals) -> f64 {
        if !self.start_enabled {
            return content;
        }
        let semantic = self.semantic(content, row_signals);
        match self.ranking.base {
            Base::Linear => self.linear(origin, semantic, row_signals),
            _ => metadata::blend(self.metadata(row_signals), semantic, self.alpha),
        }
    }

    /// Every operation of S is monotone in the cosine, after rounding too: bounds give bounds.
    #[inline]
    pub(super) fn bounds(
        &self,
        origin: usize,
        (low, high): (f64, f64),
        row_signals: &RowSignals,
    ) -> (f64, f64) {
        let falls = self.start_enabled
            && self.ranking.base == Base::Linear
            && row_signals.chosen.is_none()
            && self.weights(origin, false).signals[Signal::Cosine].is_some_and(|w| w < 0.0);
        let (low, high) = if falls { (high, low) } else { (low, high) };
        (
            self.start(origin, low, row_signals),
            self.start(origin, high, row_signals),
        )
    }

    /// Of a row with this cosine and S; `row_signals` is called only where S does not say it all.
    pub(super) fn scores(
        &self,
        origin: usize,
        (content, start): (f64, f64),
        question: Option<(u32, f64)>,
        row_signals: impl Fn() -> RowSignals,
        summary: bool,
    ) -> Scores {
        let semantic = self.semantic_of(content, question);
        let prior = |score: f64| {
            if summary {
                score + self.ranking.summary_prior
            } else {
                score
            }
        };
        let base = match self.ranking.base {
            Base::Semantic => prior(semantic).max(0.0),
            Base::Blend => prior(start).max(0.0),
            Base::Linear if self.start_enabled => math::logistic(prior(start)),
            Base::Linear => math::logistic(prior(self.linear(origin, semantic, &row_signals()))),
            Base::Cosine => content,
        };
        Scores {
            semantic,
            base,
            metadata: if self.alpha == 0.0 {
                None
            } else {
                self.metadata(&row_signals())
            },
        }
    }

    /// (raw, normalised) of every signal; None = unavailable or not computed.
    pub(super) fn signals(
        &self,
        semantic: f64,
        row_signals: &RowSignals,
    ) -> BySignal<(Option<f64>, Option<f64>)> {
        BySignal::from_fn(|signal| {
            let raw = if signal == Signal::Cosine {
                semantic
            } else {
                row_signals.raw[signal]
            };
            match self.maxima[signal] {
                Some(most) => (Some(raw), Some(Self::normalised(raw, most))),
                None => {
                    let place = Signal::METADATA.iter().position(|of| *of == signal);
                    let in_metadata = self.ranking.base != Base::Linear
                        && place.is_some_and(|at| self.metadata[at]);
                    (in_metadata.then_some(raw), None)
                }
            }
        })
    }
}
