//! The vector of a memory with its neighbours: cosine with unit(previous + own + next).
//!
//! The sum goes in that order in float32, parts of a split text by (seq, id), so no layout can
//! change a bit. It is made for the memories that can reach the pool; for the others the cosines
//! of the three and the length of their sum give bounds.

use std::cell::RefCell;
use std::collections::HashMap;

use super::sessions::Places;
use crate::kernels::dot::{cosine, dot, unit};
use crate::segment::Segment;

/// Above the errors of a length made of float32 dot products, from `SHORT` on.
const LENGTH_SLACK: f64 = 1e-4;
/// Sums that are shorter point anywhere.
const SHORT: f64 = 0.1;
/// Above the roundings of float32 sums and their dot product.
const SLACK: f64 = 2e-6;

/// Bounds of a value by slot.
#[derive(Clone)]
pub(super) struct Bounds {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

fn vector<'a>(places: &Places, segments: &[&'a Segment], slot: usize) -> &'a [f32] {
    let (part, row) = places.row(slot);
    segments[part].vector(row)
}

/// Slots whose vectors are summed up.
fn around(places: &Places, slot: usize) -> impl Iterator<Item = usize> {
    let (before, after) = (places.beside(slot, -1), places.beside(slot, 1));
    before.chain(std::iter::once(slot)).chain(after)
}

impl Places {
    /// Lengths of the sums, nearly.
    fn norms(&self, segments: &[&Segment]) -> &[f32] {
        let find = || (0..self.len()).map(|slot| self.sum_length(segments, slot));
        self.derived.norms.get_or_init(|| find().collect())
    }

    /// Infinite where there is no vector: then the value is 0.
    fn sum_length(&self, segments: &[&Segment], slot: usize) -> f32 {
        let (mut squares, mut embedded) = (0.0, false);
        for a in around(self, slot) {
            let (part, row) = self.row(a);
            if segments[part].attributes(row).embedded {
                embedded = true;
                squares += 1.0;
                for b in around(self, slot).take_while(|b| *b != a) {
                    squares += 2.0 * self.pair(segments, b, a);
                }
            }
        }
        if embedded {
            squares.max(0.0).sqrt()
        } else {
            f32::INFINITY
        }
    }

    /// Dot product of the vectors of two slots.
    fn pair(&self, segments: &[&Segment], a: usize, b: usize) -> f32 {
        if let (Some(first), Some(second)) = (self.order(a), self.order(b))
            && let Some(step @ 1..=2) = second.checked_sub(first)
        {
            return segments[self.row(a).0].near_dots()[step - 1][first];
        }
        let of = |slot| vector(self, segments, slot);
        dot(of(a), of(b))
    }
}

/// Bounds of every slot from those of the cosines.
pub(super) fn bounds(places: &Places, segments: &[&Segment], cosines: &Bounds) -> Bounds {
    let norms = places.norms(segments);
    let sum = |of: &[f64], slot: usize| {
        if places.single() {
            let (before, after) = places.reach(slot);
            let mut sum = of[slot];
            if before > 0 {
                sum += of[slot - 1];
            }
            if after > 0 {
                sum += of[slot + 1];
            }
            return sum;
        }
        around(places, slot).map(|at| of[at]).sum()
    };
    let bound = |slot: usize, of: &[f64], sign: f64| {
        let norm = f64::from(norms[slot]);
        if norm < SHORT {
            return sign;
        }
        let sum = sum(of, slot) * sign;
        let by = if sum > 0.0 {
            norm - LENGTH_SLACK
        } else {
            norm + LENGTH_SLACK
        };
        sign * (sum / by + SLACK).min(1.0)
    };
    let all = |of: &[f64], sign| {
        (0..places.len())
            .map(|slot| bound(slot, of, sign))
            .collect()
    };
    Bounds {
        low: all(&cosines.low, -1.0),
        high: all(&cosines.high, 1.0),
    }
}

/// Exact values, each made once.
pub(super) struct Context<'a> {
    vector: Vec<f32>,
    segments: Vec<&'a Segment>,
    known: RefCell<HashMap<usize, f64>>,
}

impl<'a> Context<'a> {
    /// `vector`: unit query, whole lanes.
    pub(super) fn new(segments: &[&'a Segment], vector: &[f32]) -> Self {
        Self {
            vector: vector.to_vec(),
            segments: segments.to_vec(),
            known: RefCell::default(),
        }
    }

    pub(super) fn of(&self, places: &Places, slot: usize) -> f64 {
        let find = || {
            let mut sum = vec![0.0; self.vector.len()];
            for at in around(places, slot) {
                let own = vector(places, &self.segments, at);
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            let mut near = vec![0.0; sum.len()];
            unit(&sum, &mut near);
            cosine(dot(&self.vector, &near))
        };
        *self.known.borrow_mut().entry(slot).or_insert_with(find)
    }

    /// The largest value.
    pub(super) fn most(&self, places: &Places, bounds: &Bounds) -> f64 {
        let least = bounds.low.iter().copied().fold(-1.0, f64::max);
        let can = |slot: &usize| bounds.high[*slot] >= least;
        let values = (0..places.len())
            .filter(can)
            .map(|slot| self.of(places, slot));
        values.fold(-1.0, f64::max)
    }
}
