//! Bounds of L by slot: terms summed up in any order, with slack for the roundings.

use super::context::Bounds;
use super::facts::{Facts, fact};
use super::scorer::Scorer;

/// Far above the roundings of a sum of terms, each of at most some operations of 2⁻⁵³.
pub(super) const SLACK: f64 = 1e-12;

/// Sums by slot.
pub(super) struct Level<'a> {
    scorer: &'a Scorer<'a>,
    facts: &'a Facts,
    /// Origins that occur.
    origins: Vec<usize>,
    sums: Vec<f64>,
    /// Largest sum of the terms' sizes.
    size: f64,
}

impl<'a> Level<'a> {
    /// The biases.
    pub(super) fn new(scorer: &'a Scorer<'a>, facts: &'a Facts) -> Self {
        let origins = (0..4).filter(|origin| scorer.origins[*origin]).collect();
        Self {
            scorer,
            facts,
            origins,
            sums: vec![0.0; facts.codes.len()],
            size: 0.0,
        }
    }

    /// 1 / maximum.
    pub(super) fn inverse(&self, term: usize) -> f64 {
        match self.scorer.maxima[term] {
            Some(most) if most > 0.0 => 1.0 / most,
            _ => 0.0,
        }
    }

    /// Whether a term has values and changes anything.
    pub(super) fn weighs(&self, term: usize) -> bool {
        self.scorer.weighs(term) && self.inverse(term) > 0.0
    }

    /// By origin: weight / maximum.
    fn factors(&self, term: usize) -> [f64; 4] {
        let inverse = self.inverse(term);
        let weights = &self.scorer.ranking.weights;
        let of = |origin: usize| weights[origin].terms[term].unwrap_or(0.0) * inverse;
        std::array::from_fn(|origin| {
            if self.scorer.origins[origin] {
                of(origin)
            } else {
                0.0
            }
        })
    }

    fn grow(&mut self, factors: [f64; 4], most: f64) {
        let largest = factors.into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        self.size += largest * most;
    }

    /// Adds the biases and the terms that follow from the codes of the texts.
    pub(super) fn add_kinds<const N: usize>(&mut self, values: impl Fn(u16) -> [(usize, f64); N]) {
        let mut table = vec![0.0; 1 << 13];
        for kind in &self.facts.kinds {
            let weights = &self.scorer.ranking.weights[usize::from(kind & fact::ORIGIN)];
            let (mut sum, mut size) = (weights.bias, weights.bias.abs());
            for (term, value) in values(*kind) {
                let share = weights.terms[term].unwrap_or(0.0) * self.inverse(term) * value;
                sum += share;
                size += share.abs();
            }
            table[usize::from(*kind)] = sum;
            self.size = self.size.max(size);
        }
        for (sum, code) in self.sums.iter_mut().zip(&self.facts.codes) {
            *sum += table[usize::from(*code)];
        }
    }

    /// Adds a term: `unit` times the value is the raw one. Values are at most 1 / (unit · maximum)
    /// in size, but for those of cosines.
    pub(super) fn add(&mut self, term: usize, unit: f64, value: impl Fn(usize) -> f64) {
        if !self.weighs(term) {
            return;
        }
        let factors = self.factors(term).map(|factor| factor * unit);
        let most = self.scorer.maxima[term].unwrap_or(0.0) / unit.max(f64::MIN_POSITIVE);
        self.grow(factors, most.max(1.0));
        if let [origin] = self.origins[..] {
            let factor = factors[origin];
            for (slot, sum) in self.sums.iter_mut().enumerate() {
                *sum += factor * value(slot);
            }
            return;
        }
        for (slot, sum) in self.sums.iter_mut().enumerate() {
            let origin = self.facts.codes[slot] & fact::ORIGIN;
            *sum += factors[usize::from(origin)] * value(slot);
        }
    }

    /// Ends with the terms that are known by their bounds, at most 1 in size.
    pub(super) fn into_bounds(mut self, terms: &[(usize, Option<&Bounds>)]) -> Bounds {
        let mut known = Vec::new();
        for (term, bounds) in terms {
            if let Some(bounds) = bounds.filter(|_| self.weighs(*term)) {
                let factors = self.factors(*term);
                self.grow(factors, 1.0);
                known.push((factors, bounds));
            }
        }
        let slack = self.size * SLACK;
        let mut low = self.sums;
        let mut high = low.clone();
        low.iter_mut().for_each(|sum| *sum -= slack);
        high.iter_mut().for_each(|sum| *sum += slack);
        for (factors, bounds) in known {
            for (slot, code) in self.facts.codes.iter().enumerate() {
                let factor = factors[usize::from(code & fact::ORIGIN)];
                let (a, b) = (factor * bounds.low[slot], factor * bounds.high[slot]);
                low[slot] += a.min(b);
                high[slot] += a.max(b);
            }
        }
        Bounds { low, high }
    }
}
