//! The topic of a query, one vector for what its content words mean, and the cosine of memories with
//! it.

use super::analysed_query::Query;
use super::neighbour_vectors::Bounds;
use super::ranking::Effort;
use super::scorer::Scorer;
use super::segment_columns::{CosineQuery, SegmentColumns, TermStatistics, cosines};
use super::turn_index::{NONE, TurnIndex};
use crate::kernels::dot::{cosine, dot};
use crate::kernels::quantised::QuantisedQuery;
use crate::segment::Segment;

/// Hidden states of the word pieces of a query, from the run of the model that gave its vector.
#[derive(Debug, Clone, Default)]
pub struct TopicPieces {
    /// By piece, each as long as a vector.
    pub states: Vec<f32>,
    /// By piece, the content terms of the word that it belongs to, as places in `Query::content`;
    /// none for special pieces, punctuation and words that are no content.
    pub terms: Vec<Vec<u32>>,
}

/// Cosines of the eligible memories with the topic.
pub(super) struct Topic {
    /// Unit, whole lanes.
    vector: Vec<f32>,
    /// Whether it is the query's own vector.
    pub(super) of_query: bool,
    /// By turn; equal where the cosine is exact.
    pub(super) bounds: Bounds,
}

impl Topic {
    /// The query has a vector. `dates_met`: an eligible memory meets a date of the query.
    /// `cosines`: those with the query.
    pub(super) fn new(
        parts: &[SegmentColumns<'_>],
        index: &TurnIndex,
        scorer: &Scorer<'_>,
        query: &Query,
        (statistics, dates_met): (&TermStatistics, bool),
        cosines: &Bounds,
    ) -> Self {
        match vector_of(query, statistics, dates_met, scorer.vector.len()) {
            Some(vector) => Self {
                bounds: bounds_of(&vector, parts, index, scorer.effort),
                of_query: false,
                vector,
            },
            None => Self {
                bounds: cosines.clone(),
                of_query: true,
                vector: scorer.vector.clone(),
            },
        }
    }

    /// Of one turn, exact.
    pub(super) fn of(&self, index: &TurnIndex, segments: &[&Segment], turn: usize) -> f64 {
        let (low, high) = (self.bounds.low[turn], self.bounds.high[turn]);
        if low == high {
            return low;
        }
        let (part, row) = index.row(turn);
        cosine(dot(&self.vector, segments[part].vector(row)))
    }

    /// The largest value.
    pub(super) fn most(&self, index: &TurnIndex, segments: &[&Segment]) -> f64 {
        let least = self.bounds.low.iter().copied().fold(-1.0, f64::max);
        let can = |turn: &usize| self.bounds.high[*turn] >= least;
        let values = (0..index.len())
            .filter(can)
            .map(|turn| self.of(index, segments, turn));
        values.fold(-1.0, f64::max)
    }
}

/// Bounds of the cosines of the eligible memories with a unit vector.
fn bounds_of(
    vector: &[f32],
    parts: &[SegmentColumns<'_>],
    index: &TurnIndex,
    effort: Effort,
) -> Bounds {
    let quantised = QuantisedQuery::new(vector);
    let (mut low, mut high) = (vec![0.0; index.len()], vec![0.0; index.len()]);
    for (part, columns) in parts.iter().enumerate() {
        if !columns.any_eligible {
            continue;
        }
        let bounded = columns.similarity.errors.map(|(errors, _)| errors);
        let of = CosineQuery {
            unit: vector,
            quantised: bounded.is_some().then_some(&quantised),
        };
        let values = cosines(columns, of, effort);
        for (row, turn) in index.turns(part).iter().enumerate() {
            if *turn == NONE {
                continue;
            }
            let error = bounded.map_or(0.0, |errors| quantised.bound(errors[row]));
            let (value, error) = (f64::from(values[row]), f64::from(error));
            low[*turn as usize] = (value - error).clamp(-1.0, 1.0);
            high[*turn as usize] = (value + error).clamp(-1.0, 1.0);
        }
    }
    Bounds { low, high }
}

/// unit(Σ weight · state), in whole lanes: a piece weighs as much as the rarest content term of its
/// word. None where no piece weighs anything.
fn vector_of(
    query: &Query,
    statistics: &TermStatistics,
    dates_met: bool,
    lanes: usize,
) -> Option<Vec<f32>> {
    let pieces = query
        .topic
        .as_ref()
        .filter(|pieces| !pieces.terms.is_empty())?;
    let weights = query.content_weights(&statistics.idfs, dates_met);
    let dimensions = pieces.states.len() / pieces.terms.len();
    let mut sums = vec![0.0_f64; dimensions];
    let states = pieces.states.chunks_exact(dimensions.max(1));
    for (state, terms) in states.zip(&pieces.terms) {
        let own = terms.iter().map(|term| weights[*term as usize]);
        let weight = own.fold(0.0, f64::max);
        if weight > 0.0 {
            for (sum, value) in sums.iter_mut().zip(state) {
                *sum += weight * f64::from(*value);
            }
        }
    }
    let squares = sums.iter().fold(0.0, |total, sum| total + sum * sum);
    let length = squares.sqrt();
    if length == 0.0 {
        return None;
    }
    let mut vector = vec![0.0; lanes];
    for (out, sum) in vector.iter_mut().zip(&sums) {
        *out = (sum / length) as f32;
    }
    Some(vector)
}
