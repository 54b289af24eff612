//! MaxSim over token vectors: for each token of a query the most similar one of a memory.
//!
//! The similarity of two tokens is the integer product c·k of their codes times both scales, in
//! float64. |c·k| ≤ 127² · 64 has 21 bits and a scale 24, so (c·k)·s is exact and each similarity is
//! rounded once, however it is grouped: the largest (c·k)·s of a memory times the query's scale is
//! the largest similarity. Integers and a maximum have no order, so every level gives equal bits.

use super::dispatch::{self, Level};
use crate::kernels::token_vectors::{PIECE_LANES, Pieces};

/// Tokens of a query that share the load of a row.
pub(crate) const TOKENS: usize = 16;

/// Codes of [`TOKENS`] tokens, laid out for rows that are read from left to right.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Block {
    /// By four codes of a row: the same four of each token.
    pub(crate) fours: [[i8; 4 * TOKENS]; PIECE_LANES / 4],
    /// By two codes of a row: the same two of each token.
    pub(crate) twos: [[i16; 2 * TOKENS]; PIECE_LANES / 2],
    /// By token; no more than there are.
    pub(crate) codes: Vec<[i16; PIECE_LANES]>,
    /// 128 · Σ codes of each token.
    pub(crate) shifts: [i32; TOKENS],
}

/// The tokens of a query.
pub struct Tokens {
    blocks: Vec<Block>,
    scales: Vec<f64>,
}

impl Tokens {
    /// In their order.
    #[must_use]
    pub fn new(query: Pieces<'_>) -> Self {
        let (rows, _) = query.codes.as_chunks::<PIECE_LANES>();
        let block = |rows: &[[i8; PIECE_LANES]]| {
            let mut block = Block {
                fours: [[0; 4 * TOKENS]; PIECE_LANES / 4],
                twos: [[0; 2 * TOKENS]; PIECE_LANES / 2],
                codes: rows.iter().map(|row| row.map(i16::from)).collect(),
                shifts: [0; TOKENS],
            };
            for (t, row) in rows.iter().enumerate() {
                for (i, code) in row.iter().enumerate() {
                    block.fours[i / 4][4 * t + i % 4] = *code;
                    block.twos[i / 2][2 * t + i % 2] = i16::from(*code);
                    block.shifts[t] += 128 * i32::from(*code);
                }
            }
            block
        };
        Self {
            blocks: rows.chunks(TOKENS).map(block).collect(),
            scales: query.scales.iter().map(|scale| f64::from(*scale)).collect(),
        }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.scales.len()
    }

    /// For each token the largest similarity with one of these pieces, appended to `out`; nothing
    /// when there are none.
    pub fn best(&self, pieces: Pieces<'_>, out: &mut Vec<f64>) {
        self.best_with(Level::best(), pieces, out);
    }

    /// [`Tokens::best`] by a named level.
    pub fn best_with(&self, level: Level, pieces: Pieces<'_>, out: &mut Vec<f64>) {
        let (rows, _) = pieces.codes.as_chunks::<PIECE_LANES>();
        if rows.is_empty() {
            return;
        }
        for (block, scales) in self.blocks.iter().zip(self.scales.chunks(TOKENS)) {
            let mut most = [f64::NEG_INFINITY; TOKENS];
            dispatch::most(level, block, rows, pieces.scales, &mut most);
            out.extend(scales.iter().zip(most).map(|(scale, most)| scale * most));
        }
    }
}

/// Raises `most` to the largest (c·k)·s of each token, in portable code.
#[inline(always)]
pub(crate) fn most_lanes(
    block: &Block,
    rows: &[[i8; PIECE_LANES]],
    scales: &[f32],
    most: &mut [f64; TOKENS],
) {
    for (row, scale) in rows.iter().zip(scales) {
        let scale = f64::from(*scale);
        for (most, token) in most.iter_mut().zip(&block.codes) {
            let pairs = row.iter().zip(token);
            let dot: i32 = pairs.map(|(c, k)| i32::from(*c) * i32::from(*k)).sum();
            let value = f64::from(dot) * scale;
            if value > *most {
                *most = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (codes, scales) of some pieces.
    fn pieces(most: usize) -> impl Strategy<Value = (Vec<i8>, Vec<f32>)> {
        let scale = prop_oneof![8 => 0.0_f32..0.01, 1 => Just(0.0_f32), 1 => 0.0_f32..1e30];
        (0..most).prop_flat_map(move |n| {
            let code = prop_oneof![6 => -127_i8..=127, 1 => Just(-127_i8), 1 => Just(127_i8)];
            let codes = prop::collection::vec(code, n * PIECE_LANES);
            (codes, prop::collection::vec(scale.clone(), n))
        })
    }

    /// (c·k · query's scale) · the piece's, in this order of multiplications.
    fn by_definition(query: Pieces<'_>, memory: Pieces<'_>) -> Vec<f64> {
        let rows = |of: Pieces<'_>| of.codes.as_chunks::<PIECE_LANES>().0.to_vec();
        let best = |(token, scale): (&[i8; PIECE_LANES], &f32)| {
            let similar = rows(memory)
                .into_iter()
                .zip(memory.scales)
                .map(|(row, own)| {
                    let pairs = row.iter().zip(token);
                    let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                    f64::from(dot) * f64::from(*scale) * f64::from(*own)
                });
            similar.fold(f64::NEG_INFINITY, f64::max)
        };
        rows(query).iter().zip(query.scales).map(best).collect()
    }

    proptest! {
        #[test]
        fn every_level_gives_the_bits_of_the_definition(query in pieces(40), memory in pieces(50)) {
            let asked = Pieces { ids: &[], codes: &query.0, scales: &query.1 };
            let held = Pieces { ids: &[], codes: &memory.0, scales: &memory.1 };
            let tokens = Tokens::new(asked);
            prop_assert_eq!(tokens.count(), asked.scales.len());
            let mut portable = Vec::new();
            tokens.best_with(Level::PORTABLE, held, &mut portable);
            if held.scales.is_empty() {
                prop_assert!(portable.is_empty());
                return Ok(());
            }
            // -0 and 0 are one number.
            prop_assert_eq!(&portable, &by_definition(asked, held));
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            for level in Level::available() {
                let mut found = Vec::new();
                tokens.best_with(level, held, &mut found);
                prop_assert_eq!(bits(&found), bits(&portable), "{}", level.name());
            }
        }
    }

    #[test]
    fn extreme_codes_do_not_overflow() {
        for (own, theirs) in [(127_i8, 127_i8), (-127, 127), (-127, -127)] {
            let (a, b) = ([own; PIECE_LANES], [theirs; PIECE_LANES]);
            let of = |codes| Pieces {
                ids: &[],
                codes,
                scales: &[1.0],
            };
            for level in Level::available() {
                let mut found = Vec::new();
                Tokens::new(of(&a)).best_with(level, of(&b), &mut found);
                let wanted = f64::from(i32::from(own) * i32::from(theirs) * 64);
                assert_eq!(found, [wanted], "{}", level.name());
            }
        }
    }
}
