//! Bounds of L by turn, by the candidate weights: signals summed up in any order, with slack for
//! the roundings.
//!
//! One pass over blocks of turns, so that the sums of a block stay near the processor while every
//! signal is added.

use super::neighbour_vectors::Bounds;
use super::scorer::Scorer;
use super::signal::Signal;
use super::text_flags::{LENGTHS, TextFlags, flag};
use super::turn_index::TurnIndex;

/// Far above the roundings of a sum of signals, each of at most some operations of 2⁻⁵³.
pub(super) const SLACK: f64 = 1e-12;
/// Turns that are summed up at once.
const BLOCK: usize = 1024;

/// Raw values by turn.
pub(super) enum TurnValues<'a> {
    Column(&'a [f64]),
    /// Of the memory so many positions behind (before: negative); 0 outside the session.
    Neighbour(&'a [f64], isize),
    /// Of the memory before, where this one answers it.
    Reply(&'a [f64]),
    /// By number, the last one for every larger number; the numbers by turn.
    Table(Vec<f64>, &'a [u32]),
    /// By length of the text; the lengths by turn.
    Lengths(&'a [f64; LENGTHS], &'a [u16]),
    Each(Box<dyn Fn(usize) -> f64 + 'a>),
}

/// What a signal adds to L, by origin and unit of its values.
struct WeightedValues<'a> {
    factors: [f64; 4],
    values: TurnValues<'a>,
}

/// Sums by turn.
pub(super) struct ScoreBounds<'a> {
    scorer: &'a Scorer<'a>,
    index: &'a TurnIndex,
    text_flags: &'a TextFlags,
    /// The only origin, if there is but one.
    origin: Option<usize>,
    of_code: Vec<f64>,
    weighted: Vec<WeightedValues<'a>>,
    /// Largest sum of the signals' sizes.
    size: f64,
}

impl<'a> ScoreBounds<'a> {
    pub(super) fn new(
        scorer: &'a Scorer<'a>,
        index: &'a TurnIndex,
        text_flags: &'a TextFlags,
    ) -> Self {
        let mut origins = (0..4).filter(|origin| scorer.origins[*origin]);
        let first = origins.next();
        Self {
            scorer,
            index,
            text_flags,
            origin: first.filter(|_| origins.next().is_none()),
            of_code: vec![0.0; flag::CODES],
            weighted: Vec::new(),
            size: 0.0,
        }
    }

    /// 1 / maximum.
    pub(super) fn inverse(&self, signal: Signal) -> f64 {
        match self.scorer.maxima[signal] {
            Some(most) if most > 0.0 => 1.0 / most,
            _ => 0.0,
        }
    }

    /// By origin: weight / maximum.
    fn factors(&self, signal: Signal) -> [f64; 4] {
        let inverse = self.inverse(signal);
        let weights = &self.scorer.ranking.candidate_weights;
        let of = |origin: usize| weights[origin].signals[signal].unwrap_or(0.0) * inverse;
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

    /// Adds the biases and the signals that follow from the codes of the texts.
    pub(super) fn add_text_flags<const N: usize>(
        &mut self,
        values: impl Fn(u16) -> [(Signal, f64); N],
    ) {
        for code in &self.text_flags.distinct_codes {
            let weights = &self.scorer.ranking.candidate_weights[usize::from(code & flag::ORIGIN)];
            let (mut sum, mut size) = (weights.bias, weights.bias.abs());
            for (signal, value) in values(*code) {
                let share = weights.signals[signal].unwrap_or(0.0) * self.inverse(signal) * value;
                sum += share;
                size += share.abs();
            }
            self.of_code[usize::from(*code)] += sum;
            self.size = self.size.max(size);
        }
    }

    /// Adds a signal: `unit` times the value is the raw one. Values are at most 1 / (unit · maximum)
    /// in size, but for those of cosines.
    pub(super) fn add(&mut self, signal: Signal, unit: f64, values: TurnValues<'a>) {
        if !self.scorer.counts(signal) {
            return;
        }
        let factors = self.factors(signal).map(|factor| factor * unit);
        let most = self.scorer.maxima[signal].unwrap_or(0.0) / unit.max(f64::MIN_POSITIVE);
        self.grow(factors, most.max(1.0));
        self.weighted.push(WeightedValues { factors, values });
    }

    /// Ends with the signals that are known by their bounds, at most 1 in size.
    pub(super) fn into_bounds(mut self, signals: &[(Signal, Option<&Bounds>)]) -> Bounds {
        let mut known = Vec::new();
        for (signal, bounds) in signals {
            if let Some(bounds) = bounds.filter(|_| self.scorer.counts(*signal)) {
                let factors = self.factors(*signal);
                self.grow(factors, 1.0);
                known.push((factors, bounds));
            }
        }
        let (turns, slack) = (self.index.len(), self.size * SLACK);
        let mut low = Vec::with_capacity(turns);
        let mut high = Vec::with_capacity(turns);
        let mut sums = [0.0; BLOCK];
        for start in (0..turns).step_by(BLOCK) {
            let end = (start + BLOCK).min(turns);
            let sums = &mut sums[..end - start];
            self.sum(start, sums);
            low.extend(sums.iter().map(|sum| sum - slack));
            high.extend(sums.iter().map(|sum| sum + slack));
            for (factors, bounds) in &known {
                let (low, high) = (&mut low[start..], &mut high[start..]);
                let near = bounds.low[start..end].iter().zip(&bounds.high[start..end]);
                let sums = low.iter_mut().zip(high).zip(near);
                if let Some(origin) = self.origin {
                    let factor = factors[origin];
                    for ((low, high), (least, most)) in sums {
                        let (a, b) = (factor * least, factor * most);
                        *low += if a < b { a } else { b };
                        *high += if a < b { b } else { a };
                    }
                    continue;
                }
                for (((low, high), (least, most)), code) in
                    sums.zip(&self.text_flags.codes[start..])
                {
                    let factor = factors[usize::from(code & flag::ORIGIN)];
                    let (a, b) = (factor * least, factor * most);
                    *low += a.min(b);
                    *high += a.max(b);
                }
            }
        }
        Bounds { low, high }
    }

    /// Everything but the bounds, of the turns from `start` on.
    fn sum(&self, start: usize, sums: &mut [f64]) {
        let end = start + sums.len();
        for (sum, code) in sums.iter_mut().zip(&self.text_flags.codes[start..end]) {
            *sum = self.of_code[usize::from(*code) % flag::CODES];
        }
        for share in &self.weighted {
            match &share.values {
                TurnValues::Column(values) => {
                    self.accumulate(share, start, sums, &values[start..end])
                }
                TurnValues::Neighbour(values, offset) => {
                    for (turns, near) in self.index.pairs(start..end, *offset) {
                        let sums = &mut sums[turns.start - start..turns.end - start];
                        self.accumulate(share, turns.start, sums, &values[near]);
                    }
                }
                TurnValues::Reply(values) => {
                    for (at, sum) in sums.iter_mut().enumerate() {
                        let code = self.text_flags.codes[start + at];
                        if code & flag::REPLIES != 0 {
                            let factor = share.factors[usize::from(code & flag::ORIGIN)];
                            *sum += factor * values[start + at - 1];
                        }
                    }
                }
                TurnValues::Table(table, numbers) => {
                    let last = table.len() - 1;
                    let value = |at: usize| table[(numbers[start + at] as usize).min(last)];
                    self.accumulate_each(share, start, sums, value);
                }
                TurnValues::Lengths(table, lengths) => {
                    let value = |at: usize| table[usize::from(lengths[start + at]) % LENGTHS];
                    self.accumulate_each(share, start, sums, value);
                }
                TurnValues::Each(value) => {
                    self.accumulate_each(share, start, sums, |at| value(start + at))
                }
            }
        }
    }

    /// Adds the values of the turns from `start` on.
    #[inline]
    fn accumulate(
        &self,
        share: &WeightedValues<'_>,
        start: usize,
        sums: &mut [f64],
        values: &[f64],
    ) {
        let values = &values[..sums.len()];
        self.accumulate_each(share, start, sums, |at| values[at]);
    }

    /// As `accumulate`; `value` gets the distance from `start`.
    #[inline]
    fn accumulate_each(
        &self,
        share: &WeightedValues<'_>,
        start: usize,
        sums: &mut [f64],
        value: impl Fn(usize) -> f64,
    ) {
        if let Some(origin) = self.origin {
            let factor = share.factors[origin];
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += factor * value(at);
            }
            return;
        }
        let codes = &self.text_flags.codes[start..];
        for (at, (sum, code)) in sums.iter_mut().zip(codes).enumerate() {
            *sum += share.factors[usize::from(code & flag::ORIGIN)] * value(at);
        }
    }
}
