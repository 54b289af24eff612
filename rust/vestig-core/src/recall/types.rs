//! What recall is asked and what it answers.

use crate::kernels::trace::{TraceFactors, TraceParams};
use crate::segment::Id;

/// Eligible rows from which the 8-bit pass is worth its bookkeeping.
pub const STAGED_ROWS: usize = 2048;
/// Fewest rows that a thread is started for.
const THREAD_ROWS: usize = 8192;
/// Where the final score starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// max(0, cosine).
    Semantic,
    /// 1 / (1 + e^−L).
    Linear,
    /// The cosine as it is.
    Cosine,
}

/// Weights of one origin; None = switched off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Added always.
    pub bias: f64,
    /// Of the normalised cosine.
    pub cosine: Option<f64>,
    /// Of the normalised lexical score.
    pub lexical: Option<f64>,
}

/// How scores are made.
#[derive(Debug, Clone)]
pub struct Ranking {
    ///
    pub base: Base,
    /// Per code of OriginType.
    pub weights: [Weights; 4],
    /// T-07 … T-11.
    pub trace: TraceParams,
    /// 0 = no TraceRank at all.
    pub tracerank_power: f64,
    /// Direct candidates; None = all.
    pub pool: Option<usize>,
    /// Most results.
    pub limit: usize,
    /// Only results with at least this final score.
    pub min_score: Option<f64>,
    /// µs.
    pub query_time: i64,
}

/// One result with every number that made its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Memory.
    pub id: Id,
    ///
    pub final_score: f64,
    /// Cosine; 0 without a vector.
    pub cosine: f64,
    /// S.
    pub start_score: f64,
    /// Before TraceRank.
    pub base: f64,
    /// Code.
    pub origin: u8,
    /// Has a vector.
    pub embedded: bool,
    /// By the maximum over the eligible.
    pub cosine_normalised: f64,
    /// Raw and normalised; None = unavailable.
    pub lexical: Option<(f64, f64)>,
    /// Positions in `Scan::terms`.
    pub matched_terms: Vec<usize>,
    /// From outside the pool.
    pub filled: bool,
    /// T-11.
    pub trace: TraceFactors,
    /// Code.
    pub stability: u8,
}

/// Result of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Distinct query terms by first position.
    pub terms: Vec<String>,
    /// Memories of the namespace.
    pub stored: usize,
    /// Those that pass the filter.
    pub eligible: usize,
    /// Results cut by `min_score`.
    pub below_min_score: usize,
    /// Eligible ones without a vector.
    pub unembedded: usize,
    /// Over the eligible.
    pub cosine_max: Option<f64>,
    /// Over the eligible.
    pub lexical_max: Option<f64>,
}

/// A query: a vector of the store's dimensions, and its index terms.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// As given, not yet a unit vector; None = no similarity.
    pub vector: Option<Vec<f32>>,
    /// In order, repeats allowed; None = no lexical signal.
    pub terms: Option<Vec<String>>,
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
    /// What pays on today's processors.
    #[must_use]
    pub fn threads(threads: usize) -> Self {
        Self {
            threads,
            staged_rows: STAGED_ROWS,
            thread_rows: THREAD_ROWS,
        }
    }
}
