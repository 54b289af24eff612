//! BM25 over a memory with its neighbours as one field: term at a time over turns.
//!
//! Frequencies and lengths are summed over the window in whole units of the least weight, so that
//! no layout can change a bit; N, df and mean length are those of the windows.

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
    pub(super) fn spread_all(&self, own: &[u32], shape: Shape, out: &mut [u32]) {
        fn add(out: &mut [u32], values: &[u32], weight: u32) {
            if weight == 1 {
                out.iter_mut().zip(values).for_each(|(out, n)| *out += n);
            } else {
                out.iter_mut()
                    .zip(values)
                    .for_each(|(out, n)| *out += weight * n);
            }
        }
        out.copy_from_slice(own);
        if shape[0] != 1 {
            out.iter_mut().for_each(|n| *n *= shape[0]);
        }
        for session in self.sessions_in(0..self.len()) {
            let (own, out) = (&own[session.clone()], &mut out[session]);
            for (distance, weight) in (1..).zip(shape.into_iter().skip(1)) {
                if weight > 0 && distance < own.len() {
                    let inner = own.len() - distance;
                    add(&mut out[distance..], &own[..inner], weight);
                    add(&mut out[..inner], &own[distance..], weight);
                }
            }
        }
    }

    /// Eligible memories that hold a term.
    pub(super) fn holders(&self, segments: &[&Segment], term: &str, out: &mut TurnPostings) {
        out.clear();
        for (part, segment) in segments.iter().enumerate() {
            let Some(number) = segment.term_number(term) else {
                continue;
            };
            let turns = self.turns(part);
            let (rows, counts) = segment.postings(number as usize);
            for (row, count) in rows.iter().zip(counts) {
                // Postings of entities lie behind the memories.
                if let Some(turn) = turns.get(*row as usize).filter(|turn| **turn != NONE) {
                    out.push((*turn, lexical::frequency(*count)));
                }
            }
        }
    }
}

/// Scores by turn of the windows of the wanted shapes.
pub(super) fn score_windows(
    index: &TurnIndex,
    segments: &[&Segment],
    terms: &[String],
    wanted: [bool; SHAPES.len()],
) -> [Vec<f64>; SHAPES.len()] {
    let size = |wanted: bool| if wanted { index.len() } else { 0 };
    let mut scores = wanted.map(|wanted| vec![0.0; size(wanted)]);
    let mut holders = TurnPostings::new();
    let mut frequencies = vec![0_u32; index.len()];
    let mut touched = Vec::new();
    let mut own = Vec::new();
    for term in terms {
        index.holders(segments, term, &mut holders);
        for (shape, scores) in scores.iter_mut().enumerate().filter(|(at, _)| wanted[*at]) {
            let window = index.window(shape, segments);
            if holders.len() * 16 < index.len() {
                add_sparse(index, &holders, shape, &mut frequencies, &mut touched);
                let idf = lexical::idf(index.len() as u64, touched.len() as u64);
                for turn in touched.drain(..) {
                    let turn = turn as usize;
                    let tf = f64::from(std::mem::take(&mut frequencies[turn]));
                    scores[turn] += idf * (tf / (tf + window.norms[turn]));
                }
            } else {
                if index.single() {
                    own.resize(index.len(), 0);
                    for (turn, tf) in &holders {
                        own[*turn as usize] = *tf;
                    }
                    index.spread_all(&own, SHAPES[shape], &mut frequencies);
                    for (turn, _) in &holders {
                        own[*turn as usize] = 0;
                    }
                } else {
                    for (turn, tf) in &holders {
                        index.spread(*turn as usize, SHAPES[shape], |at, weight| {
                            frequencies[at] = frequencies[at].saturating_add(weight * tf);
                        });
                    }
                }
                let holding: u32 = frequencies.iter().map(|tf| u32::from(*tf > 0)).sum();
                let idf = lexical::idf(index.len() as u64, u64::from(holding));
                // Adding 0 changes no bit: scores are never below 0.
                for ((score, tf), norm) in
                    scores.iter_mut().zip(&mut frequencies).zip(&window.norms)
                {
                    // Words of a window are far fewer than 2³¹, and signed numbers convert faster.
                    let tf = f64::from(std::mem::take(tf).cast_signed());
                    *score += idf * (tf / (tf + norm));
                }
            }
        }
    }
    scores
}

/// As `spread` for a term that few windows hold; adds these windows to `touched`.
fn add_sparse(
    index: &TurnIndex,
    holders: &TurnPostings,
    shape: usize,
    frequencies: &mut [u32],
    touched: &mut Vec<u32>,
) {
    for (turn, tf) in holders {
        index.spread(*turn as usize, SHAPES[shape], |at, weight| {
            if frequencies[at] == 0 {
                touched.push(at as u32);
            }
            frequencies[at] = frequencies[at].saturating_add(weight * tf);
        });
    }
}
