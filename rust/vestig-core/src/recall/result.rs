//! The answer of a recall: the memories found, each with every number that made its rank.

use super::signal::BySignal;
use crate::kernels::tracerank::TraceFactors;
use crate::segment::Id;

/// One step of the walk on the path to a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct PathStep {
    /// (type code, id) of what the step adds to the path: the memory, before it the entity.
    pub nodes: Vec<(u8, Id)>,
    /// The edge, or both edges.
    pub edges: Vec<Id>,
    /// Weight, or the product of both confidences.
    pub weight: f64,
    /// Probability that the step is taken, in [0, 1].
    pub p: f64,
    /// The number drawn; None where none was.
    pub u: Option<f64>,
}

/// How the traversal reached a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The start node.
    pub start: Id,
    /// Its base.
    pub start_base: f64,
    /// Product of the decay and the edges' shares along the path.
    pub signal: f64,
    /// From the start on; empty for a start.
    pub steps: Vec<PathStep>,
}

/// One memory with every number that made its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Id of the memory.
    pub id: Id,
    /// Base · path score · TraceRank, each to its power.
    pub final_score: f64,
    /// Content cosine; 0 without a vector.
    pub cosine: f64,
    /// S_query: cosine with the content, mixed with that of the nearest stored question.
    pub semantic: f64,
    /// S, or L where the base is linear.
    pub start_score: f64,
    /// Place of its weights in `Ranking::weights`.
    pub weights: usize,
    /// The value that L begins with where the base is linear: the bias, and for a memory whose word
    /// pieces were not compared the least that they add to one of the pool.
    pub constant: f64,
    /// Before path and TraceRank.
    pub base: f64,
    /// Code of OriginType.
    pub origin: u8,
    /// Code of Kind.
    pub kind: u8,
    /// Has a vector.
    pub embedded: bool,
    /// Raw values of the terms of L; None = unavailable or not computed.
    pub signals: BySignal<Option<f64>>,
    /// Raw values of `METADATA`; None = it has no part in S.
    pub metadata_values: [Option<f64>; 4],
    /// The nearest stored question and its cosine.
    pub question: Option<(u32, f64)>,
    /// S_meta: weighted mean of the metadata signals; None where it has no part in S.
    pub metadata: Option<f64>,
    /// α as it was used; None where it has no part.
    pub alpha: Option<f64>,
    /// Positions in `Scan::terms`.
    pub matched_terms: Vec<usize>,
    /// Positions in `Scan::keywords`.
    pub matched_keywords: Vec<usize>,
    /// Entities of the query that the memory mentions.
    pub matched_entities: Vec<Id>,
    /// From outside the pool.
    pub filled: bool,
    /// A direct candidate: path score 1.
    pub direct: bool,
    /// Rank by S from 0; None: not among the best and not watched.
    pub start_rank: Option<usize>,
    /// Rank by final score in the pool from 0; None = not in the pool.
    pub pool_rank: Option<usize>,
    /// None = the traversal did not come by.
    pub path: Option<Path>,
    /// 1 for direct candidates and filled ones, else the signal.
    pub path_score: f64,
    /// TraceRank and what made it.
    pub trace: TraceFactors,
    /// Code of Stability.
    pub stability: u8,
}

/// Means over the memories of the pool, which the values of one of them are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoolMeans {
    /// The bias of L; 0 where the base is not linear.
    pub bias: f64,
    /// Weight · value of each term of L, as the sum of it has them: of a memory whose word pieces
    /// were not compared, the least that they add. 0 where the base is not linear.
    pub signals: BySignal<f64>,
    /// S_query.
    pub semantic: f64,
    /// Raw values of `METADATA`; 0 where they have no part in S.
    pub metadata: [f64; 4],
}

/// Result of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Eligible ones of `Ranking::watch` that are not among the hits, in its order.
    pub watched: Vec<Hit>,
    /// Memories that the traversal reached, where walked memories are not ranked with the others:
    /// by signal · base of the start, then by id. Some may be among the hits too.
    pub associated: Vec<Hit>,
    /// Distinct query terms by first position.
    pub terms: Vec<String>,
    /// Distinct query keywords by first position.
    pub keywords: Vec<String>,
    /// Memories of the namespace.
    pub stored: usize,
    /// Those that pass the filter.
    pub eligible: usize,
    /// Memories that the traversal admitted beyond its starts.
    pub walked: usize,
    /// Eligible ones without a vector.
    pub unembedded: usize,
    /// idf of each of `terms` over the eligible.
    pub idfs: Vec<f64>,
    /// How many eligible memories hold each of `terms`.
    pub document_frequencies: Vec<u64>,
    /// True if an eligible memory meets a date of the query.
    pub dates_met: bool,
    /// Of direct candidates and what the walk reached.
    pub pool_means: PoolMeans,
}
