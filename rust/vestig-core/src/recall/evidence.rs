//! Origin evidence: what the best memories of an origin have in common puts the levels of several
//! origins on one scale. It is constant within an origin and a query, so that no order inside one
//! origin depends on it.

use super::candidates::candidates;
use super::ranking::{Base, EvidenceWeights};
use super::row_groups::RowGroups;
use super::scorer::{Scorer, origin};
use super::segment_columns::{SegmentColumns, fill_lexical};
use super::signal::Signal;
use crate::kernels::bits::set_bits;

/// Memories of an origin whose mean level counts.
const BEST: usize = 5;

/// Of one origin for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Factor of the level.
    pub scale: f64,
    /// Added to it: the constant, then weight · value of each of the following, in their order.
    pub sum: f64,
    /// Largest cosine of the origin ÷ that of all eligible memories; 0 where it is unavailable.
    pub cosine: f64,
    /// The same of the lexical score with idf and lengths of all eligible memories.
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

/// Whether L of several origins is put on one scale: rows of several are eligible, and one of them has
/// weights for it.
pub(super) fn counts(scorer: &Scorer<'_>) -> bool {
    let given = scorer.ranking.evidence;
    let present = (0..given.len()).filter(|origin| scorer.origins[*origin]);
    let weighed = |of: usize| given[of] != EvidenceWeights::NEUTRAL;
    scorer.ranking.base == Base::Linear
        && present.clone().count() > 1
        && present.clone().any(weighed)
}

/// Words of the query by the statistics of all eligible rows: idf and lengths of one origin alone do
/// not say in which origin a word is at home.
pub(super) struct CommonWords {
    /// idf of each term.
    pub(super) idfs: Vec<f64>,
    /// By code of OriginType, the largest lexical score.
    largest: [f64; 4],
}

impl CommonWords {
    pub(super) fn new(parts: &mut [SegmentColumns<'_>], terms: &[String], eligible: usize) -> Self {
        let idfs = fill_lexical(parts, terms, eligible).idfs;
        let mut largest = [0.0_f64; 4];
        for columns in parts.iter().filter(|columns| !columns.lexical.is_empty()) {
            for row in set_bits(&columns.eligible) {
                let of = origin(columns.segment, row);
                largest[of] = largest[of].max(columns.lexical(row));
            }
        }
        Self { idfs, largest }
    }
}

/// Puts L of every origin on one scale.
pub(super) fn fill(groups: &mut RowGroups<'_>, words: &CommonWords) {
    let cosines = groups
        .all()
        .iter()
        .map(|group| group.scorer.maxima[Signal::Cosine]);
    let largest_cosine = cosines.flatten().fold(-1.0, f64::max);
    let largest_lexical = words.largest.into_iter().fold(0.0, f64::max);
    for (own, group) in groups.by_origin_mut() {
        let best = group.by_level(|group| candidates(std::slice::from_ref(group), BEST));
        let levels: Vec<f64> = best.iter().map(|one| one.start).collect();
        let cosine = group.scorer.maxima[Signal::Cosine]
            .map_or(0.0, |most| Scorer::normalised(most, largest_cosine));
        let lexical = Scorer::normalised(words.largest[own], largest_lexical);
        let weights = &group.scorer.ranking.evidence[own];
        let evidence = Evidence::new(weights, cosine, lexical, &levels);
        if let Some(signals) = &mut group.table.signals {
            signals.apply(&evidence);
        }
        group.scorer.evidence = Some(evidence);
    }
}
