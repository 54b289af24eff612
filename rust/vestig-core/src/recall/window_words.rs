//! BM25 over a memory with its neighbours as one field: term at a time over turns.
//!
//! Frequencies and lengths are summed over the window in whole units of the least weight, so that
//! no layout can change a bit; the mean length is that of the windows. A term is as rare as it is
//! among memories: where all of a store was noted within the hour, every window holds every term.

use std::ops::{AddAssign, Mul};

use super::turn_index::{NONE, TurnIndex};
use crate::kernels::lexical::{self, norm};
use crate::segment::Segment;
use crate::segment::format::Section;

/// Weights of a window by distance, in units of a quarter.
const SHAPE: [u32; 3] = [4, 2, 1];
/// A term that one of so many memories holds is counted in all windows.
const DENSE_SHARE: usize = 8;

/// Memories that hold a term: (turn, frequency).
pub(super) type TurnPostings = Vec<(u32, u32)>;

impl TurnIndex {
    /// Length norms of the windows in quarters, by turn.
    fn window_norms(&self, segments: &[&Segment]) -> &[f64] {
        self.window_norms.get_or_init(|| {
            let mut own = vec![0_u32; self.len()];
            for (part, segment) in segments.iter().enumerate() {
                let lengths = segment.column::<u32>(Section::Lengths);
                for (turn, length) in self.turns(part).iter().zip(lengths) {
                    if *turn != NONE {
                        own[*turn as usize] = *length;
                    }
                }
            }
            let mut lengths = vec![0_u32; self.len()];
            if self.single() {
                self.spread_all(&own, &mut lengths);
            } else {
                for (turn, length) in own.iter().enumerate().filter(|(_, length)| **length > 0) {
                    self.spread(turn, SHAPE, |at, weight| {
                        lengths[at] = lengths[at].saturating_add(weight * length);
                    });
                }
            }
            let total: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
            let mean = lexical::mean(total, self.len() as u64);
            // tf / (tf + norm) stays the same when both are counted in units.
            let unit = f64::from(SHAPE[0]);
            let norms = lengths.iter().map(|length| unit * norm(mean, *length));
            norms.collect()
        })
    }

    /// Calls `sink` with the turns in whose window a memory lies, and its weight there.
    #[inline]
    fn spread(&self, turn: usize, shape: [u32; 3], mut sink: impl FnMut(usize, u32)) {
        sink(turn, shape[0]);
        let (before, after) = self.reach(turn);
        for (distance, weight) in (1..).zip(shape.into_iter().skip(1)) {
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

    /// Like `spread`, of every turn where no text is split: `out` holds what lies in each window.
    fn spread_all<N>(&self, own: &[N], out: &mut [N])
    where
        N: Copy + From<u8> + AddAssign + Mul<Output = N> + PartialEq,
    {
        fn add<N: Copy + AddAssign + Mul<Output = N>>(out: &mut [N], values: &[N], weight: N) {
            let pairs = out.iter_mut().zip(values);
            pairs.for_each(|(out, n)| *out += weight * *n);
        }
        let [weight, beside @ ..] = SHAPE.map(|weight| N::from(weight as u8));
        for (out, n) in out.iter_mut().zip(own) {
            *out = weight * *n;
        }
        for session in self.each_session() {
            let (own, out) = (&own[session.clone()], &mut out[session]);
            for (distance, weight) in (1..).zip(beside) {
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

/// BM25 of each window by turn; `terms`: by term, its number in each segment, and `idfs`.
pub(super) fn score_windows(
    index: &TurnIndex,
    segments: &[&Segment],
    terms: &[Vec<Option<u32>>],
    idfs: &[f64],
) -> Vec<f64> {
    let mut windows = Windows {
        index,
        norms: index.window_norms(segments),
        scores: vec![0.0; index.len()],
    };
    let mut holders = TurnPostings::new();
    let mut sparse = SparseCounts::default();
    let mut dense = DenseCounts::default();
    for (numbers, idf) in terms.iter().zip(idfs) {
        index.holders(segments, numbers, &mut holders);
        if index.single() && holders.len() * DENSE_SHARE >= index.len() {
            windows.add_dense(&holders, *idf, &mut dense);
        } else {
            windows.add_sparse(&holders, *idf, &mut sparse);
        }
    }
    windows.scores
}

/// How often a term stands in the window of each turn, in quarters, all 0 between two terms; the turns
/// that have any.
#[derive(Default)]
struct SparseCounts {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

/// By turn; `own` is all 0 between two terms. A word counts up to 127 times in a text, so what lies in
/// a window fits 16 bits.
#[derive(Default)]
struct DenseCounts {
    own: Vec<u16>,
    frequencies: Vec<u16>,
}

struct Windows<'a> {
    index: &'a TurnIndex,
    /// By turn.
    norms: &'a [f64],
    scores: Vec<f64>,
}

impl Windows<'_> {
    /// Adds a term that few windows hold.
    fn add_sparse(&mut self, holders: &TurnPostings, idf: f64, of: &mut SparseCounts) {
        let SparseCounts { counts, touched } = of;
        counts.resize(self.index.len(), 0);
        for (turn, tf) in holders {
            self.index.spread(*turn as usize, SHAPE, |at, weight| {
                let count = &mut counts[at];
                if *count == 0 {
                    touched.push(at as u32);
                }
                *count = count.saturating_add(weight * tf);
            });
        }
        for turn in touched.drain(..) {
            let turn = turn as usize;
            let tf = f64::from(std::mem::take(&mut counts[turn]));
            self.scores[turn] += idf * (tf / (tf + self.norms[turn]));
        }
    }

    /// Adds a term that many windows hold, where no text is split.
    fn add_dense(&mut self, holders: &TurnPostings, idf: f64, of: &mut DenseCounts) {
        let DenseCounts { own, frequencies } = of;
        own.resize(self.index.len(), 0);
        frequencies.resize(self.index.len(), 0);
        for (turn, tf) in holders {
            own[*turn as usize] = *tf as u16;
        }
        self.index.spread_all(own, frequencies);
        // Adding 0 changes no bit: scores are never below 0.
        for ((score, tf), norm) in self.scores.iter_mut().zip(&*frequencies).zip(self.norms) {
            let tf = f64::from(*tf);
            *score += idf * (tf / (tf + norm));
        }
        for (turn, _) in holders {
            own[*turn as usize] = 0;
        }
    }
}
