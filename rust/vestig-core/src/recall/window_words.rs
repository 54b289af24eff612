//! BM25 over a memory with its neighbours as one field: term at a time over turns.
//!
//! Frequencies and lengths are summed over the window in whole units of the least weight, so that
//! no layout can change a bit; N, df and mean length are those of the windows.

use std::ops::{AddAssign, Mul};

use super::text_flags::each_row;
use super::turn_index::{NONE, TurnIndex};
use crate::kernels::lexical::{self, norm};
use crate::segment::Segment;
use crate::segment::format::Section;

/// Weights of a window by distance, in its units.
pub(super) type Shape = [u32; 3];

/// Words, soft, wide.
pub(super) const SHAPES: [Shape; 3] = [[1, 1, 0], [4, 2, 1], [1, 1, 1]];

/// Of the windows of one shape.
pub(super) struct WindowNorms {
    /// Length norm in its units, by turn.
    norms: Vec<f64>,
}

/// Memories that hold a term: (turn, frequency).
pub(super) type TurnPostings = Vec<(u32, u32)>;

impl TurnIndex {
    pub(super) fn window(&self, shape: usize, segments: &[&Segment]) -> &WindowNorms {
        self.derived.windows[shape].get_or_init(|| {
            let mut own = vec![0_u32; self.len()];
            each_row(self, segments, |turn, _, segment, row| {
                own[turn] = segment.column::<u32>(Section::Lengths)[row];
            });
            let mut lengths = vec![0_u32; self.len()];
            if self.single() {
                self.spread_all(&own, SHAPES[shape], &mut lengths);
            } else {
                for (turn, length) in own.iter().enumerate().filter(|(_, length)| **length > 0) {
                    self.spread(turn, SHAPES[shape], |at, weight| {
                        lengths[at] = lengths[at].saturating_add(weight * length);
                    });
                }
            }
            let total: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
            let mean = lexical::mean(total, self.len() as u64);
            // tf / (tf + norm) stays the same when both are counted in units.
            let unit = f64::from(SHAPES[shape][0]);
            let norms = lengths.iter().map(|length| unit * norm(mean, *length));
            WindowNorms {
                norms: norms.collect(),
            }
        })
    }

    /// Calls `sink` with the turns in whose window a memory lies, and its weight there.
    #[inline]
    pub(super) fn spread(&self, turn: usize, shape: Shape, mut sink: impl FnMut(usize, u32)) {
        sink(turn, shape[0]);
        let (before, after) = self.reach(turn);
        let weights = || {
            (1..)
                .zip(shape.into_iter().skip(1))
                .filter(|(_, weight)| *weight > 0)
        };
        for (distance, weight) in weights() {
            if self.single() {
                if distance <= before {
                    sink(turn - distance, weight);
                }
                if distance <= after {
                    sink(turn + distance, weight);
                }
                continue;
            }
            let near = self.beside(turn, -(distance as isize));
            let far = self.beside(turn, distance as isize);
            near.chain(far).for_each(|at| sink(at, weight));
        }
    }

    /// As `spread`, of every turn where no text is split: `out` holds what lies in each window.
    pub(super) fn spread_all<N>(&self, own: &[N], shape: Shape, out: &mut [N])
    where
        N: Copy + From<u8> + AddAssign + Mul<Output = N> + PartialEq,
    {
        fn add<N: Copy + AddAssign + Mul<Output = N>>(out: &mut [N], values: &[N], weight: N) {
            let pairs = out.iter_mut().zip(values);
            pairs.for_each(|(out, n)| *out += weight * *n);
        }
        let [weight, beside @ ..] = shape.map(|weight| N::from(weight as u8));
        for (out, n) in out.iter_mut().zip(own) {
            *out = weight * *n;
        }
        for session in self.sessions_in(0..self.len()) {
            let (own, out) = (&own[session.clone()], &mut out[session]);
            for (distance, weight) in (1..)
                .zip(beside)
                .filter(|(_, weight)| *weight != N::from(0))
            {
                if distance < own.len() {
                    let inner = own.len() - distance;
                    add(&mut out[distance..], &own[..inner], weight);
                    add(&mut out[..inner], &own[distance..], weight);
                }
            }
        }
    }

    /// Eligible memories that hold a term; `numbers`: of the term in each segment.
    fn holders(&self, segments: &[&Segment], numbers: &[Option<u32>], out: &mut TurnPostings) {
        out.clear();
        for (part, (segment, number)) in segments.iter().zip(numbers).enumerate() {
            let Some(number) = number else {
                continue;
            };
            let turns = self.turns(part);
            let (rows, counts) = segment.postings(*number as usize);
            for (row, count) in rows.iter().zip(counts) {
                // Postings of entities lie behind the memories.
                if let Some(turn) = turns.get(*row as usize).filter(|turn| **turn != NONE) {
                    out.push((*turn, lexical::frequency(*count)));
                }
            }
        }
    }
}

/// Scores by turn of the windows of the wanted shapes; `terms`: by term, its number in each segment.
pub(super) fn score_windows(
    index: &TurnIndex,
    segments: &[&Segment],
    terms: &[Vec<Option<u32>>],
    wanted: [bool; SHAPES.len()],
) -> [Vec<f64>; SHAPES.len()] {
    let size = |wanted: bool| if wanted { index.len() } else { 0 };
    let scores = wanted.map(|wanted| vec![0.0; size(wanted)]);
    let norms = std::array::from_fn(|shape| {
        let wanted = wanted[shape].then(|| index.window(shape, segments));
        wanted.map(|window| window.norms.as_slice())
    });
    let mut windows = Windows {
        index,
        norms,
        scores,
    };
    let mut holders = TurnPostings::new();
    let mut sparse = SparseCounts::default();
    let mut dense = DenseCounts::default();
    for numbers in terms {
        index.holders(segments, numbers, &mut holders);
        if index.single() && holders.len() * DENSE_SHARE >= index.len() {
            windows.add_dense(&holders, &mut dense);
        } else {
            windows.add_sparse(&holders, &mut sparse);
        }
    }
    windows.scores
}

/// A term that one of so many memories holds is counted in all windows.
const DENSE_SHARE: usize = 8;

/// How often a term stands in a memory, in those beside it, and in those two positions away.
type Counts = [u32; 3];

/// By turn, all 0 between two terms; the turns that have any, and how often the term stands in the
/// window of each shape there.
#[derive(Default)]
struct SparseCounts {
    counts: Vec<Counts>,
    touched: Vec<u32>,
    found: Vec<[u32; SHAPES.len()]>,
}

/// By turn; `own` is all 0 between two terms. A word counts up to 127 times in a text, so what lies in
/// a window fits 16 bits.
#[derive(Default)]
struct DenseCounts {
    own: Vec<u16>,
    frequencies: Vec<u16>,
}

/// The windows of the wanted shapes.
struct Windows<'a> {
    index: &'a TurnIndex,
    /// By shape and turn; None = not wanted.
    norms: [Option<&'a [f64]>; SHAPES.len()],
    scores: [Vec<f64>; SHAPES.len()],
}

impl Windows<'_> {
    /// Adds a term that few windows hold.
    fn add_sparse(&mut self, holders: &TurnPostings, of: &mut SparseCounts) {
        let SparseCounts {
            counts,
            touched,
            found,
        } = of;
        counts.resize(self.index.len(), Counts::default());
        for (turn, tf) in holders {
            // Every distance as its own weight.
            self.index
                .spread(*turn as usize, [1, 2, 3], |at, distance| {
                    let counts = &mut counts[at];
                    if *counts == Counts::default() {
                        touched.push(at as u32);
                    }
                    let count = &mut counts[distance as usize - 1];
                    *count = count.saturating_add(*tf);
                });
        }
        let frequency = |shape: Shape, counts: Counts| {
            let weighted = shape.into_iter().zip(counts);
            weighted.fold(0_u32, |sum, (weight, n)| {
                sum.saturating_add(weight.saturating_mul(n))
            })
        };
        let mut holding = [0_u64; SHAPES.len()];
        found.extend(touched.iter().map(|turn| {
            let counts = std::mem::take(&mut counts[*turn as usize]);
            let of_shapes = SHAPES.map(|shape| frequency(shape, counts));
            for (holding, tf) in holding.iter_mut().zip(of_shapes) {
                *holding += u64::from(tf > 0);
            }
            of_shapes
        }));
        let idfs = holding.map(|holding| lexical::idf(self.index.len() as u64, holding));
        for (shape, norms) in self.norms.iter().enumerate() {
            let Some(norms) = norms else { continue };
            let (idf, scores) = (idfs[shape], &mut self.scores[shape]);
            for (turn, tf) in touched.iter().zip(&*found) {
                // Adding 0 changes no bit: scores are never below 0.
                let tf = f64::from(tf[shape]);
                scores[*turn as usize] += idf * (tf / (tf + norms[*turn as usize]));
            }
        }
        touched.clear();
        found.clear();
    }

    /// Adds a term that many windows hold, where no text is split.
    fn add_dense(&mut self, holders: &TurnPostings, of: &mut DenseCounts) {
        let DenseCounts { own, frequencies } = of;
        own.resize(self.index.len(), 0);
        frequencies.resize(self.index.len(), 0);
        for (turn, tf) in holders {
            own[*turn as usize] = *tf as u16;
        }
        let shapes = SHAPES.into_iter().zip(self.norms).zip(&mut self.scores);
        for ((shape, norms), scores) in shapes {
            let Some(norms) = norms else { continue };
            self.index.spread_all(own, shape, frequencies);
            let holding: u32 = frequencies.iter().map(|tf| u32::from(*tf > 0)).sum();
            let idf = lexical::idf(self.index.len() as u64, u64::from(holding));
            // Adding 0 changes no bit, as above.
            for ((score, tf), norm) in scores.iter_mut().zip(&*frequencies).zip(norms) {
                let tf = f64::from(*tf);
                *score += idf * (tf / (tf + norm));
            }
        }
        for (turn, _) in holders {
            own[*turn as usize] = 0;
        }
    }
}
