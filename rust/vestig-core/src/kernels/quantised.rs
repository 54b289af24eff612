//! 8-bit codes of vectors with a proven error bound: a cheap pass that stays exact.
//!
//! A row m (a unit vector, or zero) is stored as codes c ∈ {−127 … 127}ᵈ, a scale s and the error
//! e ≥ ‖m − s·c‖. The query q is coded as 16-bit integers with scale t and error f ≥ ‖q − t·k‖.
//! The approximate cosine is a = s·t·(c·k), an exact integer dot product times two scales.
//!
//! **Bound.** q·m − (tk)·(sc) = q·(m − sc) + (q − tk)·sc, so by Cauchy–Schwarz
//!
//! |q·m − (tk)·(sc)| ≤ ‖q‖·e + f·(‖m‖ + e).
//!
//! Two roundings come on top: the float32 dot product differs from q·m by at most
//! (⌈d/64⌉ + 7)·2⁻²⁴·1.0001·‖q‖·‖m‖ (see `dot`), and `a` is computed in float32 by four
//! roundings of 2⁻²⁴ each (integer to float, t to float32, s·t, product). With ‖m‖ ≤ 1 + 2⁻²⁰
//! both together stay below (⌈d/64⌉ + 16)·2⁻²⁴·1.1·max(1, ‖q‖). [`QuantisedQuery::bound`] is that
//! sum, inflated by 10⁻⁶ of itself for its own roundings. Clamping to [−1, 1] brings no value
//! farther from another, so the bound holds for cosines if both its ends are clamped as well.
//!
//! **Integers.** |k| ≤ min(32639, (2³¹ − 1)/(128·d)), so no sum of products leaves 32 bits and
//! every instruction level computes the same integer. 32639 = 127·256 + 127 is the largest value
//! whose high and low byte are both signed bytes.

use super::dispatch::{self, Level};
use super::dot::{LANES, padded};
use super::lanes::{ROUND, largest_magnitude};

/// Rows per call of an integer kernel.
pub(crate) const BLOCK: usize = 16;
/// Rows from which the 8-bit pass is worth its bookkeeping.
pub const STAGED_ROWS: usize = 2048;

/// Largest magnitude of a row's code.
const CODE_MAX: f32 = 127.0;

/// Codes of one row.
///
/// `codes.len()` ≥ `row.len()`; codes behind the row become 0. Returns (scale, error): the
/// largest magnitude / 127 in float32, codes rounded half to even, and an upper bound of
/// ‖row − scale·codes‖. A zero row, or one too small to scale, gets scale 0. Values are finite.
pub fn quantise_row(row: &[f32], codes: &mut [i8]) -> (f32, f32) {
    debug_assert!(codes.len() >= row.len());
    codes.fill(0);
    let scale = largest_magnitude(row) / CODE_MAX;
    let usable = scale.is_normal();
    if usable {
        for (code, &x) in codes.iter_mut().zip(row) {
            let rounded = (x / scale).clamp(-CODE_MAX, CODE_MAX) + ROUND;
            *code = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i8;
        }
    }
    let mut squares = 0.0f64;
    for (row, codes) in row.chunks(LANES).zip(codes.chunks(LANES)) {
        // In lanes up to the sum, which is taken in order.
        let mut errors = [0.0f64; LANES];
        for ((error, &x), &code) in errors.iter_mut().zip(row).zip(codes) {
            let missed = f64::from(x) - f64::from(scale) * f64::from(code);
            *error = missed * missed;
        }
        squares = errors[..row.len()].iter().fold(squares, |sum, x| sum + x);
    }
    (if usable { scale } else { 0.0 }, round_up(squares.sqrt()))
}

/// The next float32 at or above `x`, with room for the float64 roundings that made `x`.
pub(super) fn round_up(x: f64) -> f32 {
    if x == 0.0 {
        return 0.0;
    }
    let inflated = x * (1.0 + 1e-9);
    let rounded = inflated as f32;
    if f64::from(rounded) < inflated {
        rounded.next_up()
    } else {
        rounded
    }
}

/// 64 codes of a query: whole, and as high and low byte (code = 256·high + low, both signed).
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    pub(crate) codes: [i16; LANES],
    pub(crate) high: [i8; LANES],
    pub(crate) low: [i8; LANES],
}

impl Line {
    const ZERO: Self = Self {
        codes: [0; LANES],
        high: [0; LANES],
        low: [0; LANES],
    };
}

/// A query as 16-bit codes, ready for [`approx_rows`].
#[derive(Clone, Debug)]
pub struct QuantisedQuery {
    lines: Vec<Line>,
    // read by the levels of x86 alone
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    sum: i32,
    scale: f32,
    base: f32,
    slope: f32,
}

impl QuantisedQuery {
    /// Codes of a query of d values (a unit vector as made by `dot::unit`, or zero; at most 8192
    /// values), padded to a multiple of 64.
    pub fn new(query: &[f32]) -> Self {
        let stride = padded(query.len());
        let products = 128 * stride.max(1) as i64;
        let limit = 32639.min(i64::from(i32::MAX) / products) as f64;
        let scale = f64::from(largest_magnitude(query)) / limit;
        let mut lines = vec![Line::ZERO; stride / LANES];
        let (mut squares, mut missed, mut sum) = (0.0f64, 0.0f64, 0i32);
        for (line, values) in lines.iter_mut().zip(query.chunks(LANES)) {
            for (j, &x) in values.iter().enumerate() {
                let x = f64::from(x);
                let wanted = if scale > 0.0 { x / scale } else { 0.0 };
                let code = wanted.round_ties_even().clamp(-limit, limit) as i16;
                line.codes[j] = code;
                line.low[j] = code as i8;
                line.high[j] = ((i32::from(code) - i32::from(code as i8)) >> 8) as i8;
                let error = x - scale * f64::from(code);
                squares += x * x;
                missed += error * error;
                sum += i32::from(code);
            }
        }
        let (norm, missed) = (squares.sqrt(), missed.sqrt());
        let steps = (stride / LANES + 16) as f64;
        let rounding = steps * f64::from(f32::EPSILON) / 2.0 * 1.1 * norm.max(1.0);
        let unit = 1.0 + f64::from(f32::EPSILON) * 8.0;
        Self {
            lines,
            sum,
            scale: scale as f32,
            base: round_up((missed * unit + rounding) * (1.0 + 1e-6)),
            slope: round_up((norm + missed) * (1.0 + 1e-6)),
        }
    }

    /// Length of a row of codes: the dimensions rounded up to a multiple of 64.
    pub fn stride(&self) -> usize {
        self.lines.len() * LANES
    }

    /// Upper bound of |cosine − approximation| for a row whose stored error is `error`.
    ///
    /// `cosine` is `dot::cosine(dot(query, row))`; clamp the ends of the interval to [−1, 1]
    /// before comparing them with it.
    #[inline]
    pub fn bound(&self, error: f32) -> f32 {
        self.base + self.slope * error
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn sum(&self) -> i32 {
        self.sum
    }
}

/// Integer dot products of up to [`BLOCK`] rows of codes, in portable code.
#[inline(always)]
pub(crate) fn dots_lanes(query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
    for (row, value) in codes.chunks_exact(query.stride()).zip(out) {
        let (blocks, _) = row.as_chunks::<LANES>();
        let pairs = blocks.iter().zip(query.lines());
        *value = pairs
            .map(|(block, line)| products(block, &line.codes))
            .sum();
    }
}

/// Σ c·k over one line.
#[inline(always)]
fn products(codes: &[i8; LANES], query: &[i16; LANES]) -> i32 {
    codes
        .iter()
        .zip(query)
        .map(|(&c, &k)| i32::from(c) * i32::from(k))
        .sum()
}

/// Approximate cosines of `out.len()` consecutive rows of codes.
///
/// `codes` holds rows of [`QuantisedQuery::stride`] codes, `scales` one scale per row. Each
/// result differs from the exact cosine by at most [`QuantisedQuery::bound`] of the row's error;
/// every level, thread count and split into calls gives the same bits.
pub fn approx_rows(query: &QuantisedQuery, codes: &[i8], scales: &[f32], out: &mut [f32]) {
    approx_rows_with(Level::best(), query, codes, scales, out);
}

/// [`approx_rows`] by a named level.
pub fn approx_rows_with(
    level: Level,
    query: &QuantisedQuery,
    codes: &[i8],
    scales: &[f32],
    out: &mut [f32],
) {
    let stride = query.stride();
    debug_assert!(codes.len() >= out.len() * stride && scales.len() >= out.len());
    if stride == 0 {
        out.fill(0.0);
        return;
    }
    let blocks = codes.chunks(BLOCK * stride).zip(scales.chunks(BLOCK));
    for ((block, scales), out) in blocks.zip(out.chunks_mut(BLOCK)) {
        let mut dots = [0i32; BLOCK];
        dispatch::dots(level, query, &block[..out.len() * stride], &mut dots);
        for ((value, &dot), &scale) in out.iter_mut().zip(&dots).zip(scales) {
            *value = dot as f32 * (scale * query.scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dot::{cosine, dot, unit};
    use super::*;
    use proptest::prelude::*;

    fn unit_of(values: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; padded(values.len())];
        unit(values, &mut out);
        out
    }

    /// Vectors of normal-like, one-hot-like and constant shape.
    fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<Vec<f32>>)> {
        (1usize..500).prop_flat_map(|d| {
            let value = prop_oneof![8 => -1.0f32..1.0, 1 => Just(0.0f32), 1 => -1e3f32..1e3];
            let vector = prop::collection::vec(value, d);
            (vector.clone(), prop::collection::vec(vector, 1..20))
        })
    }

    fn coded(rows: &[Vec<f32>]) -> (Vec<i8>, Vec<f32>, Vec<f32>) {
        let (mut codes, mut scales, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let mut own = vec![0i8; row.len()];
            let (scale, error) = quantise_row(row, &mut own);
            codes.extend(own);
            scales.push(scale);
            errors.push(error);
        }
        (codes, scales, errors)
    }

    #[test]
    fn zero_rows_and_queries_are_exact() {
        let zero = vec![0.0; 64];
        let (codes, scales, errors) = coded(std::slice::from_ref(&zero));
        assert_eq!((scales[0], errors[0]), (0.0, 0.0));
        let mut out = [1.0];
        approx_rows(&QuantisedQuery::new(&zero), &codes, &scales, &mut out);
        assert_eq!(out, [0.0]);
    }

    #[test]
    fn the_bound_is_tight_enough_to_be_useful() {
        let row = unit_of(
            &(0..384)
                .map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0)
                .collect::<Vec<_>>(),
        );
        let (_, _, errors) = coded(std::slice::from_ref(&row));
        assert!(QuantisedQuery::new(&row).bound(errors[0]) < 0.01);
    }

    #[test]
    fn extreme_codes_do_not_overflow() {
        for d in [64usize, 384, 4096, 8192] {
            let query = QuantisedQuery::new(&vec![1.0; d]);
            for code in [-128i8, 127] {
                let codes = vec![code; d];
                let whole = query.lines().iter().flat_map(|line| line.codes);
                let wanted: i64 = whole.map(|k| i64::from(k) * i64::from(code)).sum();
                for level in Level::available() {
                    let mut out = [0i32; BLOCK];
                    dispatch::dots(level, &query, &codes, &mut out);
                    assert_eq!(i64::from(out[0]), wanted, "{} d {d}", level.name());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_exact_cosine_lies_within_the_bound((query, rows) in vectors()) {
            let query = unit_of(&query);
            let rows: Vec<_> = rows.iter().map(|row| unit_of(row)).collect();
            let (codes, scales, errors) = coded(&rows);
            let coded = QuantisedQuery::new(&query);
            let mut first: Option<Vec<u32>> = None;
            for level in Level::available() {
                let mut out = vec![0.0; rows.len()];
                approx_rows_with(level, &coded, &codes, &scales, &mut out);
                for ((row, &approx), &error) in rows.iter().zip(&out).zip(&errors) {
                    let exact = cosine(dot(&query, row));
                    let bound = f64::from(coded.bound(error));
                    let low = (f64::from(approx) - bound).clamp(-1.0, 1.0);
                    let high = (f64::from(approx) + bound).clamp(-1.0, 1.0);
                    prop_assert!(low <= exact && exact <= high, "{exact} {approx} {bound}");
                }
                let bits: Vec<u32> = out.iter().map(|value| value.to_bits()).collect();
                prop_assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits);
            }
        }

        #[test]
        fn the_stored_error_covers_the_row((_, rows) in vectors()) {
            let rows: Vec<_> = rows.iter().map(|row| unit_of(row)).collect();
            let (codes, scales, errors) = coded(&rows);
            let stride = rows[0].len();
            for (i, row) in rows.iter().enumerate() {
                let own = &codes[i * stride..(i + 1) * stride];
                let missed: f64 = row.iter().zip(own).map(|(&x, &c)| {
                    (f64::from(x) - f64::from(scales[i]) * f64::from(c)).powi(2)
                }).sum();
                prop_assert!(missed.sqrt() <= f64::from(errors[i]));
            }
        }
    }
}
