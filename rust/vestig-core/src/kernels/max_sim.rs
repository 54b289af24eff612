//! MaxSim over one-bit codes: for each word piece of a query the most similar one of a memory.
//!
//! The similarity of a query's piece and a memory's is step · (scale · D), D the integer
//! Σ code_i · sign_i, at most 1,792 in size. A scale has eleven binary digits as D has, so their
//! product is exact in float32; a maximum of exact numbers has no order, so every level gives equal
//! bits.

use super::dispatch::{self, Level};
use super::lanes::largest;
use super::piece_codes::{CODE_BITS, Pieces, QUERY_MAX, QueryCode, QueryPieces, from_half};

/// Bits of a code of a query, as a number from −8 to 7.
pub(crate) const PLANES: usize = 4;
/// Codes of a memory that are compared at once.
pub(crate) const ROWS: usize = 16;
/// Sums of four bits are stored with this added, so that none is below 0.
pub(crate) const SHIFT: u8 = 4 * QUERY_MAX.unsigned_abs();
/// Groups of four bits in a code.
pub(crate) const NIBBLES: usize = CODE_BITS / 4;

/// A code of a query in the forms that levels read.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Token {
    /// Σ code_i · sign_i over bits 4j … 4j + 3 by the value of these bits, plus [`SHIFT`]. Bytes n
    /// and n + 16 of a code, of which j counts the lower and then the upper half, stand side by
    /// side: 4n is low nibbles, 4n + 2 high ones.
    pub(crate) sums: [[u8; 16]; NIBBLES],
    /// The code in two's complement: bit i of plane k is bit k of code i.
    pub(crate) planes: [[u64; CODE_BITS / 64]; PLANES],
    /// Σ code_i.
    pub(crate) total: i32,
}

impl Token {
    fn of(code: &QueryCode) -> Self {
        let mut token = Self {
            sums: [[0; 16]; NIBBLES],
            planes: [[0; CODE_BITS / 64]; PLANES],
            total: code.iter().map(|value| i32::from(*value)).sum(),
        };
        for (bit, value) in code.iter().enumerate() {
            for (k, plane) in token.planes.iter_mut().enumerate() {
                plane[bit / 64] |= u64::from(value.cast_unsigned() >> k & 1) << (bit % 64);
            }
        }
        for (nibble, four) in code.as_chunks::<4>().0.iter().enumerate() {
            let (byte, high) = (nibble / 2, nibble % 2);
            let place = 4 * (byte % 16) + 2 * high + byte / 16;
            for (bits, sum) in token.sums[place].iter_mut().enumerate() {
                let signed = four.iter().enumerate().map(|(i, value)| {
                    let set = bits >> i & 1 == 1;
                    if set { *value } else { -value }
                });
                *sum = (signed.sum::<i8>() + SHIFT.cast_signed()).cast_unsigned();
            }
        }
        token
    }
}

/// For every code of a memory's block the largest scale · D so far of one word piece of a query.
pub(crate) type Lanes = [f32; ROWS];

/// Word pieces of a query.
pub struct Tokens {
    tokens: Vec<Token>,
    steps: Vec<f64>,
    /// By token, of the memory that is compared.
    lanes: Vec<Lanes>,
}

impl Tokens {
    /// Those whose places are kept, in their order.
    #[must_use]
    pub fn new(query: &QueryPieces, keep: impl Fn(usize) -> bool) -> Self {
        let pieces = query.codes().iter().zip(query.steps()).enumerate();
        let kept = pieces.filter(|(place, _)| keep(*place));
        let (tokens, steps): (Vec<Token>, Vec<f64>) = kept
            .map(|(_, (code, step))| (Token::of(code), *step))
            .unzip();
        Self {
            lanes: vec![[0.0; ROWS]; tokens.len()],
            tokens,
            steps,
        }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// For each token the largest similarity with one of these pieces, appended to `out`; nothing
    /// when there are none.
    pub fn best(&mut self, pieces: Pieces<'_>, out: &mut Vec<f64>) {
        self.best_with(Level::best(), pieces, out);
    }

    /// [`Tokens::best`] by a named level.
    pub fn best_with(&mut self, level: Level, pieces: Pieces<'_>, out: &mut Vec<f64>) {
        if pieces.signs.is_empty() {
            return;
        }
        self.lanes.fill([f32::NEG_INFINITY; ROWS]);
        dispatch::most(level, &self.tokens, pieces, &mut self.lanes);
        let most = self.lanes.iter().zip(&self.steps).map(|(lanes, step)| {
            // 0 of either sign becomes 0.
            step * f64::from(largest(*lanes)) + 0.0
        });
        out.extend(most);
    }
}

/// Raises the lanes of each token to scale · D of the codes of every block, in portable code.
#[inline(always)]
pub(crate) fn most_lanes(tokens: &[Token], pieces: Pieces<'_>, lanes: &mut [Lanes]) {
    for (signs, scales) in pieces.signs.chunks(ROWS).zip(pieces.scales.chunks(ROWS)) {
        let (mut rows, mut values) = ([[0; CODE_BITS / 64]; ROWS], [0.0; ROWS]);
        for (row, signs) in rows.iter_mut().zip(signs) {
            for (word, eight) in row.iter_mut().zip(signs.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*eight);
            }
        }
        for (value, scale) in values.iter_mut().zip(scales) {
            *value = from_half(*scale) as f32;
        }
        for (token, lanes) in tokens.iter().zip(&mut *lanes) {
            let block = rows.iter().zip(&values).take(signs.len());
            for (most, (row, scale)) in lanes.iter_mut().zip(block) {
                let value = scale * dot_of(token, row) as f32;
                if value > *most {
                    *most = value;
                }
            }
        }
    }
}

/// Σ code_i · sign_i = 2 · Σ over set bits − Σ over all.
#[inline(always)]
fn dot_of(token: &Token, row: &[u64; CODE_BITS / 64]) -> i32 {
    let common = |plane: &[u64; CODE_BITS / 64]| {
        let ones = plane.iter().zip(row).map(|(a, b)| (a & b).count_ones());
        ones.sum::<u32>().cast_signed()
    };
    let [ones, twos, fours, minus_eights] = token.planes.each_ref().map(common);
    2 * (ones + 2 * twos + 4 * fours - 8 * minus_eights) - token.total
}

#[cfg(test)]
mod tests {
    use super::super::piece_codes::Signs;
    use super::*;
    use proptest::prelude::*;

    /// Codes and scales of some pieces.
    fn pieces(most: usize) -> impl Strategy<Value = (Vec<Signs>, Vec<u16>)> {
        let signs = prop_oneof![6 => any::<Signs>(), 1 => Just([0; 32]), 1 => Just([255; 32])];
        let scale = prop_oneof![8 => 0x1C00_u16..0x2C01, 1 => Just(0_u16), 1 => 0_u16..0x7C00];
        let piece = (signs, scale);
        prop::collection::vec(piece, 0..most).prop_map(|made| made.into_iter().unzip())
    }

    fn asked(most: usize) -> impl Strategy<Value = QueryPieces> {
        let whole = |code| prop::collection::vec(code, CODE_BITS);
        let code = prop_oneof![6 => whole((-7_i8..=7).boxed()), 1 => whole(Just(7_i8).boxed()),
            1 => whole(Just(-7_i8).boxed()), 1 => whole(Just(0_i8).boxed())];
        let step = prop_oneof![8 => 0.0_f64..0.1, 1 => Just(0.0_f64), 1 => 0.0_f64..1e300];
        prop::collection::vec((code, step), 1..most).prop_map(|made| {
            let (codes, steps): (Vec<Vec<i8>>, Vec<f64>) = made.into_iter().unzip();
            let codes = codes.iter().map(|code| code.as_slice().try_into().unwrap());
            QueryPieces::new(vec![0; steps.len()], codes.collect(), steps).unwrap()
        })
    }

    fn sign(signs: &Signs, bit: usize) -> i32 {
        if signs[bit / 8] >> (bit % 8) & 1 == 1 {
            1
        } else {
            -1
        }
    }

    fn by_definition(query: &QueryPieces, memory: Pieces<'_>) -> Vec<f64> {
        let best = |(code, step): (&QueryCode, &f64)| {
            let similar = memory
                .signs
                .iter()
                .zip(memory.scales)
                .map(|(signs, scale)| {
                    let terms = code.iter().enumerate();
                    let dot: i32 = terms.map(|(i, q)| i32::from(*q) * sign(signs, i)).sum();
                    step * (from_half(*scale) * f64::from(dot))
                });
            similar.fold(f64::NEG_INFINITY, f64::max) + 0.0
        };
        query.codes().iter().zip(query.steps()).map(best).collect()
    }

    proptest! {
        #[test]
        fn every_level_gives_the_bits_of_the_definition(
            query in asked(20), memory in pieces(50),
        ) {
            let held = Pieces { ids: &[], signs: &memory.0, scales: &memory.1 };
            let mut tokens = Tokens::new(&query, |_| true);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            for level in Level::available() {
                let mut found = vec![1.0];
                tokens.best_with(level, held, &mut found);
                if memory.0.is_empty() {
                    prop_assert_eq!(found, [1.0]);
                    continue;
                }
                let wanted = by_definition(&query, held);
                prop_assert_eq!(bits(&found[1..]), bits(&wanted), "{}", level.name());
            }
        }
    }

    #[test]
    fn extreme_codes_do_not_overflow() {
        for (code, signs, wanted) in [(7, 255, 1792.0), (-7, 255, -1792.0), (-7, 0, 1792.0)] {
            let query = QueryPieces::new(vec![0], vec![[code; CODE_BITS]], vec![1.0]).unwrap();
            let pieces = Pieces {
                ids: &[],
                signs: &[[signs; 32]],
                scales: &[0x3C00],
            };
            for level in Level::available() {
                let mut found = Vec::new();
                Tokens::new(&query, |_| true).best_with(level, pieces, &mut found);
                assert_eq!(found, [wanted], "{}", level.name());
            }
        }
    }
}
