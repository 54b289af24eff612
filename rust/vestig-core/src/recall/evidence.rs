//! Origin evidence: what the best memories of an origin have in common puts the levels of several
//! origins on one scale. It is constant within an origin and a query, so that no order inside one
//! origin depends on it.

use super::candidates::candidates_by_origin;
use super::ranking::{Base, EvidenceWeights};
use super::score_table::ScoreTable;
use super::scorer::{Scorer, origin};
use super::signal::Signal;
use crate::kernels::bits::set_bits;

/// Memories of an origin whose mean level counts.
const BEST: usize = 5;

/// Of one origin for one query; all 0 but the scale where no memory of it is eligible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Factor of the level.
    pub scale: f64,
    /// Added to it: the constant, then weight · value of each of the following, in their order.
    pub sum: f64,
    /// Largest normalised cosine of the origin; 0 where it is unavailable.
    pub cosine: f64,
    /// Largest normalised lexical score of the origin; 0 where it is unavailable.
    pub lexical: f64,
    /// Largest level of the origin.
    pub best: f64,
    /// Mean of the five largest levels of the origin, or of all where there are fewer.
    pub mean: f64,
}

impl Evidence {
    /// L of a level, without rerank.
    #[inline]
    pub(super) fn apply(&self, level: f64) -> f64 {
        self.scale * level + self.sum
    }

    /// The level with nothing but this added.
    pub(super) fn added(sum: f64) -> Self {
        Self {
            sum,
            ..Self::new(&EvidenceWeights::NEUTRAL, 0.0, 0.0, &[])
        }
    }

    fn new(weights: &EvidenceWeights, cosine: f64, lexical: f64, levels: &[f64]) -> Self {
        let best = levels.first().copied().unwrap_or(0.0);
        let mean = levels.iter().sum::<f64>() / levels.len().max(1) as f64;
        let mut sum = weights.constant;
        for (weight, value) in [
            (weights.cosine, cosine),
            (weights.lexical, lexical),
            (weights.best, best),
            (weights.mean, mean),
        ] {
            sum += weight * value;
        }
        Self {
            scale: weights.scale,
            sum,
            cosine,
            lexical,
            best,
            mean,
        }
    }
}

/// Puts L of several eligible origins on one scale, where any of them has weights for it.
pub(super) fn fill(table: &mut ScoreTable<'_>, scorer: &mut Scorer<'_>) {
    let given = scorer.ranking.evidence;
    let present = (0..given.len()).filter(|origin| scorer.origins[*origin]);
    let neutral = |of: usize| given[of] == EvidenceWeights::NEUTRAL;
    if scorer.ranking.base != Base::Linear
        || present.clone().count() < 2
        || present.clone().all(neutral)
    {
        return;
    }
    let enabled = std::mem::replace(&mut scorer.start_enabled, true);
    let best = candidates_by_origin(table, scorer, BEST);
    scorer.start_enabled = enabled;
    let cosines = largest_semantics(table, scorer);
    let words = largest_lexicals(table);
    let share = |signal: Signal, raw: f64| {
        let most = scorer.maxima[signal];
        most.map_or(0.0, |most| Scorer::normalised(raw, most))
    };
    let evidence = std::array::from_fn(|origin| {
        let levels: Vec<f64> = best[origin].iter().map(|one| one.start).collect();
        if levels.is_empty() {
            return Evidence::new(&EvidenceWeights::NEUTRAL, 0.0, 0.0, &[]);
        }
        let cosine = share(Signal::Cosine, cosines[origin]);
        let lexical = share(Signal::Lexical, words[origin]);
        Evidence::new(&given[origin], cosine, lexical, &levels)
    });
    if let Some(signals) = &mut table.signals {
        signals.apply(&evidence);
    }
    scorer.evidence = Some(evidence);
}

/// By origin, the exact largest S_query of its eligible rows; −1 if there are none.
fn largest_semantics(table: &ScoreTable<'_>, scorer: &Scorer<'_>) -> [f64; 4] {
    let mut most = [-1.0_f64; 4];
    if scorer.vector.is_empty() {
        return most;
    }
    let mut open = Vec::new();
    for (part, columns) in table.parts.iter().enumerate() {
        for row in set_bits(&columns.eligible) {
            let of = origin(columns, row);
            let question = columns.sparse_row(row).filter(|one| one.question.is_some());
            if let Some(one) = question {
                most[of] = most[of].max(scorer.semantic_of(one.content, one.question));
                continue;
            }
            let (low, high) = columns.similarity.bounds(row);
            most[of] = most[of].max(low);
            if low < high && high >= most[of] {
                open.push((part, row, high));
            }
        }
    }
    // A lower bound stands for a row until its own number is known, which is no smaller.
    for (part, row, high) in open {
        let columns = &table.parts[part];
        let of = origin(columns, row);
        if high >= most[of] {
            most[of] = most[of].max(scorer.exact(columns.segment, row));
        }
    }
    most
}

/// By origin, the largest lexical score of its eligible rows.
fn largest_lexicals(table: &ScoreTable<'_>) -> [f64; 4] {
    let mut most = [0.0_f64; 4];
    for columns in &table.parts {
        for row in set_bits(&columns.eligible) {
            let of = origin(columns, row);
            most[of] = most[of].max(columns.lexical(row));
        }
    }
    most
}
