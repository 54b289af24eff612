//! How scores are made, which configuration decides, and what of the ranked memories a call wants.

use super::signal::{BySignal, Signal};
use crate::kernels::tracerank::TraceParams;
use crate::kernels::walk::WalkParams;
use crate::segment::Id;

/// Rows from which bounds of the cosines come first: fewer are read whole in less time.
const STAGED_ROWS: usize = 512;
/// Fewest rows that a thread is started for.
const THREAD_ROWS: usize = 8192;

/// Position of chat_peer in OriginType.
const CHAT_PEER: u8 = 0;

/// Where the final score starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// max(0, S_query).
    Semantic,
    /// max(0, S).
    Blend,
    /// 1 / (1 + e^−L).
    Linear,
    /// The cosine as it is.
    Cosine,
}

/// Weights of the terms of L.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Weights {
    /// Added always.
    pub bias: f64,
    /// 0 = switched off.
    pub signals: BySignal<f64>,
}

impl Weights {
    /// By the names of signals; other names are passed over.
    #[must_use]
    pub fn of(bias: f64, terms: &[(&str, f64)]) -> Self {
        let mut weights = Self {
            bias,
            ..Self::default()
        };
        for (name, weight) in terms {
            if let Some(signal) = Signal::named(name) {
                weights.signals[signal] = *weight;
            }
        }
        weights
    }
}

/// Kinds of memories with weights of their own.
pub const KINDS: usize = 2;

/// The place of a memory's weights: people's chats, whose lines answer each other, then all else.
#[inline]
pub(super) fn kind(attributes: &[u8; 8]) -> usize {
    usize::from(attributes[2] & 3 != CHAT_PEER)
}

/// How many direct candidates there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Every eligible memory.
    All,
    /// The start nodes.
    Starts,
    /// The best by S.
    Best(usize),
}

/// How the graph is walked from the start nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Traversal {
    /// Follows edges with p ≥ `threshold`; otherwise each edge with probability p.
    pub deterministic: bool,
    /// Of the deterministic mode.
    pub threshold: f64,
    /// `order: dfs`.
    pub depth_first: bool,
    /// Most admitted nodes; the limit and the starts always fit.
    pub max_nodes: usize,
    /// Factor of p.
    pub exploration_factor: f64,
    /// Factor of the signal per step.
    pub signal_decay: f64,
    /// w′ in p.
    pub normalize_weights: bool,
    /// RELATED threshold.
    pub theta: f64,
    /// Walk memory → entity → memory.
    pub mentions: bool,
    /// Walk RELATED.
    pub related: bool,
    /// Weaker signals are not offered.
    pub min_signal: f64,
    /// None = no bound.
    pub max_hops: Option<u32>,
    /// Entities with more mentions are not walked.
    pub max_entity_degree: usize,
    /// TraceRank as a factor of p.
    pub use_tracerank: bool,
    /// Neighbours per node and edge type.
    pub max_edges: usize,
}

impl Traversal {
    pub(super) fn params(&self, cap: usize) -> WalkParams {
        WalkParams {
            threshold: self.deterministic.then_some(self.threshold),
            depth_first: self.depth_first,
            cap,
            exploration: self.exploration_factor,
            decay: self.signal_decay,
            theta: self.normalize_weights.then_some(self.theta),
            related: self.related,
            mentions: self.mentions,
            min_signal: self.min_signal,
            max_hops: self.max_hops,
            use_tracerank: self.use_tracerank,
            max_edges: self.max_edges,
        }
    }
}

/// How scores are made.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The value that the final score starts from.
    pub base: Base,
    /// Of L, of people's chats and of all else; read where the base is linear.
    pub weights: [Weights; KINDS],
    /// Settings of TraceRank.
    pub trace: TraceParams,
    /// 0 = no TraceRank at all.
    pub tracerank_power: f64,
    /// Where the base is linear, TraceRank's factor lies within e^(±bound/2): a memory never passes
    /// one whose base is more than e^bound times its own. None = no bound.
    pub tracerank_bound: Option<f64>,
    /// Of the path score.
    pub path_power: f64,
    /// Share of the start's base that a walked memory keeps per signal; 0 = off. Where the base is
    /// linear, walked memories compete only with a share above 0.
    pub association: f64,
    /// Share of the metadata signals in S; only for the bases semantic and blend.
    pub alpha: f64,
    /// keyword, temporal, entity, recency.
    pub meta_weights: [f64; 4],
    /// `weighted` instead of `jaccard`.
    pub keyword_weighted: bool,
    /// `weighted` instead of `overlap`.
    pub entity_weighted: bool,
    /// E-folding time, days.
    pub recency_tau_days: f64,
    /// Width that a window open at one end counts as, days.
    pub open_scale_days: f64,
    /// Weight of the content's cosine in S_query.
    pub content_weight: f64,
    /// Weight of the nearest stored question's cosine in S_query.
    pub question_weight: f64,
    /// True if stored questions count.
    pub stored_questions: bool,
    /// false: S = content cosine.
    pub start_enabled: bool,
    /// Number of start nodes.
    pub start_limit: usize,
    /// None = no traversal.
    pub walk: Option<Traversal>,
    /// Added to a summary's base inside the max.
    pub summary_prior: f64,
    /// Memories that a pooled summary covers join as direct candidates.
    pub expand_summaries: bool,
    /// How many of the best memories are compared by their word pieces.
    pub late_pool: usize,
    /// True if notes of one sitting are neighbours.
    pub sittings: bool,
}

impl Ranking {
    /// Returns whether a signal of L can change anything.
    pub(super) fn weighs(&self, signal: Signal) -> bool {
        self.base == Base::Linear && self.weights.iter().any(|own| own.signals[signal] != 0.0)
    }

    /// Returns whether memories that the walk reached are ranked with the others. Those that are
    /// not come in a list of their own.
    #[must_use]
    pub fn mixes_walked(&self) -> bool {
        self.base != Base::Linear || self.association > 0.0
    }

    /// A plain ranking by this base: no traversal, no metadata signals, no TraceRank.
    #[must_use]
    pub fn plain(base: Base, trace: TraceParams) -> Self {
        Self {
            base,
            weights: [Weights::default(); KINDS],
            trace,
            tracerank_power: 0.0,
            tracerank_bound: None,
            path_power: 1.0,
            association: 0.0,
            alpha: 0.0,
            meta_weights: [0.0; 4],
            keyword_weighted: false,
            entity_weighted: false,
            recency_tau_days: 30.0,
            open_scale_days: 30.0,
            content_weight: 0.4,
            question_weight: 0.6,
            stored_questions: true,
            start_enabled: true,
            start_limit: 5,
            walk: None,
            summary_prior: 0.0,
            expand_summaries: false,
            late_pool: 128,
            sittings: true,
        }
    }
}

/// The part of the ranked memories that is returned.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Most results.
    pub limit: usize,
    /// How many of them the caller shows, at most: the walk may admit as many.
    pub shown: usize,
    /// Direct candidates.
    pub pool: Pool,
    /// Memories whose rows are wanted even when they are not among the results.
    pub watch: Vec<Id>,
}

impl Selection {
    /// The best so many of every eligible memory.
    #[must_use]
    pub fn best(limit: usize) -> Self {
        Self {
            limit,
            shown: limit,
            pool: Pool::All,
            watch: Vec::new(),
        }
    }
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
    /// Returns what pays on today's processors.
    #[must_use]
    pub fn threads(threads: usize) -> Self {
        Self {
            threads,
            staged_rows: STAGED_ROWS,
            thread_rows: THREAD_ROWS,
        }
    }
}
