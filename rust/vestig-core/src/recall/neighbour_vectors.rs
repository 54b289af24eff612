//! The vector of a memory with its neighbours: cosine with unit(previous + own + next).
//!
//! The sum goes in that order in float32, parts of a split text by (seq, id), so no layout can
//! change a bit. It is made for the memories that can reach the pool; for the others the cosines
//! of the three and the length of their sum give bounds.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::turn_index::TurnIndex;
use crate::kernels::bits::has;
use crate::kernels::dot::{cosine, dot, dot_unit, lengths, unit_by};
use crate::kernels::number_map::NumberMap;
use crate::segment::Segment;

/// Above the errors of a length made of float32 dot products, from `SHORT` on.
const LENGTH_SLACK: f64 = 1e-4;
/// Sums that are shorter point anywhere.
const SHORT: f64 = 0.1;
/// Above the roundings of float32 sums and their dot product.
const SLACK: f64 = 2e-6;

/// Bounds of a value by turn.
#[derive(Clone)]
pub(super) struct Bounds {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

fn vector<'a>(index: &TurnIndex, segments: &[&'a Segment], turn: usize) -> &'a [f32] {
    let (part, row) = index.row(turn);
    segments[part].vector(row)
}

/// Turns whose vectors are summed up.
fn around(index: &TurnIndex, turn: usize) -> impl Iterator<Item = usize> {
    let (before, after) = (index.beside(turn, -1), index.beside(turn, 1));
    before.chain(std::iter::once(turn)).chain(after)
}

impl TurnIndex {
    /// Lengths of the sums, nearly.
    fn norms(&self, segments: &[&Segment]) -> &[f32] {
        self.derived.norms.get_or_init(|| {
            let mut norms = Vec::with_capacity(self.len());
            for session in self.sessions_in(0..self.len()) {
                if !self.add_run(segments, &session, &mut norms) {
                    norms.extend(session.map(|turn| self.sum_length(segments, turn)));
                }
            }
            norms.extend((norms.len()..self.len()).map(|turn| self.sum_length(segments, turn)));
            norms
        })
    }

    /// As `sum_length` of every turn of a session, where all of them follow each other in the
    /// session rows of one segment; false elsewhere.
    fn add_run(&self, segments: &[&Segment], session: &Range<usize>, norms: &mut Vec<f32>) -> bool {
        let (first, last) = (session.start, session.end - 1);
        let (Some(begin), Some(end)) = (self.order(first), self.order(last)) else {
            return false;
        };
        let (part, _) = self.row(first);
        let segment = segments[part];
        let embedded = |turn: usize| has(segment.embedded(), self.row_of(part, turn));
        if !self.single() || end - begin != last - first || !session.clone().all(embedded) {
            return false;
        }
        let [next, second] = segment.near_dots();
        let next = &next[begin..end];
        let length = |squares: f32| squares.max(0.0).sqrt();
        let [early, .., late] = next else {
            norms.extend(next.iter().flat_map(|near| [length(2.0 + 2.0 * near); 2]));
            if next.is_empty() {
                norms.push(1.0);
            }
            return true;
        };
        norms.push(length(2.0 + 2.0 * early));
        let inner = next.iter().zip(&second[begin..end - 1]).zip(&next[1..]);
        norms.extend(inner.map(|((a, b), c)| length(3.0 + 2.0 * (a + b + c))));
        norms.push(length(2.0 + 2.0 * late));
        true
    }

    /// Infinite where there is no vector: then the value is 0.
    fn sum_length(&self, segments: &[&Segment], turn: usize) -> f32 {
        let (mut squares, mut embedded) = (0.0, false);
        for a in around(self, turn) {
            let (part, row) = self.row(a);
            if segments[part].attributes(row).embedded {
                embedded = true;
                squares += 1.0;
                for b in around(self, turn).take_while(|b| *b != a) {
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

    /// Dot product of the vectors of two turns.
    fn pair(&self, segments: &[&Segment], a: usize, b: usize) -> f32 {
        if let (Some(first), Some(second)) = (self.order(a), self.order(b))
            && let Some(step @ 1..=2) = second.checked_sub(first)
        {
            return segments[self.row(a).0].near_dots()[step - 1][first];
        }
        let of = |turn| vector(self, segments, turn);
        dot(of(a), of(b))
    }
}

/// Bounds of every turn from those of the cosines.
pub(super) fn bounds(index: &TurnIndex, segments: &[&Segment], cosines: &Bounds) -> Bounds {
    let norms = index.norms(segments);
    let least = sums(index, &cosines.low);
    let most = sums(index, &cosines.high);
    let of = |(sum, norm): (f64, &f32)| {
        let norm = f64::from(*norm);
        if norm < SHORT { 1.0 } else { over(sum, norm) }
    };
    let low = least.into_iter().map(|sum| -sum).zip(norms).map(of);
    Bounds {
        low: low.map(|value| -value).collect(),
        high: most.into_iter().zip(norms).map(of).collect(),
    }
}

/// Of each turn with those beside it.
fn sums(index: &TurnIndex, values: &[f64]) -> Vec<f64> {
    if !index.single() {
        let turns = 0..index.len();
        return turns
            .map(|turn| around(index, turn).map(|at| values[at]).sum())
            .collect();
    }
    let mut sums = Vec::with_capacity(values.len());
    for session in index.sessions_in(0..index.len()) {
        let own = &values[session];
        let [first, inner @ .., last] = own else {
            sums.extend(own);
            continue;
        };
        sums.push(first + own[1]);
        let pairs = own.iter().zip(inner).zip(&own[2..]);
        sums.extend(pairs.map(|((before, own), behind)| before + own + behind));
        sums.push(own[own.len() - 2] + last);
    }
    sums.extend(&values[sums.len()..]);
    sums
}

/// A sum of cosines divided by a length, rounded up.
#[inline]
fn over(sum: f64, norm: f64) -> f64 {
    let by = if sum > 0.0 {
        norm - LENGTH_SLACK
    } else {
        norm + LENGTH_SLACK
    };
    (sum / by + SLACK).min(1.0)
}

/// Turns whose values are made together.
pub(super) const TOGETHER: usize = 4;

/// The unit vector of a turn with its neighbours, for several queries.
pub(super) struct NeighbourUnit {
    index: Arc<TurnIndex>,
    turn: usize,
    unit: Vec<f32>,
}

impl NeighbourUnit {
    /// Of at most `TOGETHER` turns, each of an index.
    pub(super) fn of(segments: &[&Segment], turns: Vec<(Arc<TurnIndex>, usize)>) -> Vec<Self> {
        let sums: Vec<Vec<f32>> = turns
            .iter()
            .map(|(index, turn)| {
                let mut sum = vec![0.0; vector(index, segments, *turn).len()];
                sum_around(index, segments, *turn, &mut sum);
                sum
            })
            .collect();
        let of: [&[f32]; TOGETHER] =
            std::array::from_fn(|at| sums[at.min(sums.len() - 1)].as_slice());
        let made = turns.into_iter().zip(&sums).zip(lengths(of));
        let made = made.map(|(((index, turn), sum), length)| {
            let mut unit = vec![0.0; sum.len()];
            unit_by(sum, length, &mut unit);
            Self { index, turn, unit }
        });
        made.collect()
    }

    /// Whether it is one of the turns of this index.
    pub(super) fn is_of(&self, index: &Arc<TurnIndex>) -> bool {
        Arc::ptr_eq(&self.index, index)
    }
}

/// The sum of the vectors of a turn and its neighbours, one after the other from 0 on; where no text
/// is split there are at most three, which are added in one pass.
fn sum_around(index: &TurnIndex, segments: &[&Segment], turn: usize, sum: &mut [f32]) {
    let mut near = around(index, turn).map(|at| vector(index, segments, at));
    match [near.next(), near.next(), near.next()] {
        [Some(first), Some(second), Some(third)] => {
            let three = first.iter().zip(second).zip(third);
            for (sum, ((first, second), third)) in sum.iter_mut().zip(three) {
                *sum = 0.0 + first + second + third;
            }
        }
        [Some(first), Some(second), None] => {
            for (sum, (first, second)) in sum.iter_mut().zip(first.iter().zip(second)) {
                *sum = 0.0 + first + second;
            }
        }
        [first, ..] => {
            for (sum, first) in sum.iter_mut().zip(first.into_iter().flatten()) {
                *sum = 0.0 + first;
            }
        }
    }
    for own in near {
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
}

/// Exact values, each made once.
pub(super) struct NeighbourVectors<'a> {
    vector: Vec<f32>,
    segments: Vec<&'a Segment>,
    /// By turn.
    known: RefCell<NumberMap<f64>>,
    /// Sums, for the next ones again.
    sums: RefCell<[Vec<f32>; TOGETHER]>,
}

impl<'a> NeighbourVectors<'a> {
    /// `vector`: unit query, whole lanes.
    pub(super) fn new(segments: &[&'a Segment], vector: &[f32]) -> Self {
        Self {
            vector: vector.to_vec(),
            segments: segments.to_vec(),
            known: RefCell::default(),
            sums: RefCell::new(std::array::from_fn(|_| vec![0.0; vector.len()])),
        }
    }

    pub(super) fn of(&self, index: &TurnIndex, turn: usize) -> f64 {
        let find = || self.find(index, [turn])[0];
        let mut known = self.known.borrow_mut();
        *known.entry(turn as u32).or_insert_with(find)
    }

    /// Makes the values of distinct turns that are asked for next.
    pub(super) fn make(&self, index: &TurnIndex, turns: impl Iterator<Item = usize>) {
        let mut known = self.known.borrow_mut();
        let open = |turn: &usize| !known.contains_key(&(*turn as u32));
        let open: Vec<usize> = turns.filter(open).collect();
        let (chunks, rest) = open.as_chunks::<TOGETHER>();
        for turns in chunks {
            let numbers = turns.map(|turn| turn as u32);
            known.extend(numbers.into_iter().zip(self.find(index, *turns)));
        }
        for turn in rest {
            known.insert(*turn as u32, self.find(index, [*turn])[0]);
        }
    }

    /// Makes the values of distinct turns from unit vectors that several queries share.
    pub(super) fn reuse<'u>(&self, units: impl Iterator<Item = &'u NeighbourUnit>) {
        let mut known = self.known.borrow_mut();
        known.reserve(units.size_hint().1.unwrap_or_default());
        for near in units {
            let value = || cosine(dot(&self.vector, &near.unit));
            known.entry(near.turn as u32).or_insert_with(value);
        }
    }

    fn find<const N: usize>(&self, index: &TurnIndex, turns: [usize; N]) -> [f64; N] {
        let sums = &mut *self.sums.borrow_mut();
        for (sum, turn) in sums.iter_mut().zip(turns) {
            sum_around(index, &self.segments, turn, sum);
        }
        let sums: [&[f32]; N] = std::array::from_fn(|at| sums[at].as_slice());
        let lengths = lengths(sums);
        std::array::from_fn(|at| cosine(dot_unit(&self.vector, sums[at], lengths[at])))
    }

    /// The largest value.
    pub(super) fn most(&self, index: &TurnIndex, bounds: &Bounds) -> f64 {
        let least = bounds.low.iter().copied().fold(-1.0, f64::max);
        let can = |turn: &usize| bounds.high[*turn] >= least;
        let turns: Vec<usize> = (0..index.len()).filter(can).collect();
        self.make(index, turns.iter().copied());
        let values = turns.into_iter().map(|turn| self.of(index, turn));
        values.fold(-1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text_flags::each_row;
    use super::super::turn_index::TurnIndex;
    use super::*;
    use crate::kernels::dot::unit;
    use crate::segment::format::Identity;
    use crate::snapshot::projection::Projection;
    use crate::snapshot::tail::NewRow;

    const D: usize = 24;

    /// Numbers in [-1, 1).
    fn vector(state: &mut u64) -> Vec<f32> {
        let mut next = || {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (*state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..D).map(|_| next()).collect()
    }

    /// Sessions of three, in two parts; in every fourth one the vectors nearly cancel out.
    fn projection(rng: &mut u64) -> Projection {
        let identity = Identity {
            store_uuid: [1; 16],
            dimensions: D as u32,
            model: "m".into(),
            analyser: "a".into(),
        };
        let projection = Projection::open(None, identity, false).unwrap();
        let mut rows: Vec<NewRow> = Vec::new();
        for n in 0..240_u8 {
            let mut own = vector(rng);
            let before = rows.last().and_then(|row| row.embedding.as_ref());
            if let Some(before) = before.filter(|_| n % 12 == 1) {
                let opposite = |(own, before): (&f32, &f32)| own * 0.02 - before;
                own = own.iter().zip(before).map(opposite).collect();
            }
            rows.push(NewRow {
                id: [n; 16],
                seq: i64::from(n),
                wseq: i64::from(n),
                namespace: "default".into(),
                embedding: (n % 12 != 2 && n % 17 != 3).then_some(own),
                session: Some(format!("{}", n / 3)),
                sequence: Some(i64::from(n)),
                ..NewRow::default()
            });
        }
        for part in rows.chunks(121) {
            let upto = part.last().map_or(0, |row| row.wseq as u64);
            projection.apply(part, upto, [0; 32]).unwrap();
        }
        projection
    }

    #[test]
    fn bounds_contain_the_exact_cosine_with_neighbours() {
        let mut rng = 7;
        let projection = projection(&mut rng);
        let snapshot = projection.snapshot();
        let parts = || snapshot.parts.iter();
        let segments: Vec<&Segment> = parts().map(|part| part.segment.as_ref()).collect();
        let eligible: Vec<_> = parts().map(|part| part.live.as_ref()).collect();
        let index = TurnIndex::of(&segments, &eligible);
        assert_eq!(index.len(), 240);
        let mut short = 0;
        for _ in 0..20 {
            let mut query = vec![0.0; segments[0].lanes()];
            unit(&vector(&mut rng), &mut query);
            let mut cosines = vec![0.0; index.len()];
            each_row(&index, &segments, |turn, _, segment, row| {
                cosines[turn] = cosine(dot(&query, segment.vector(row)));
            });
            let cosines = Bounds {
                low: cosines.clone(),
                high: cosines,
            };
            let Bounds { low, high } = bounds(&index, &segments, &cosines);
            let context = NeighbourVectors::new(&segments, &query);
            for turn in 0..index.len() {
                let value = context.of(&index, turn);
                assert!(low[turn] <= value && value <= high[turn], "{turn}: {value}");
                short += usize::from(high[turn] - low[turn] == 2.0);
            }
        }
        assert!(short > 0, "no sum is short");
    }
}
