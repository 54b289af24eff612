//! Rows of 384 or 1536 values: 14-bit codes and layer norms.

use super::{HIDDEN, Norm};
use crate::kernels::lanes::{ROUND, largest_magnitude};

/// Largest code of an activation: 14 bit with their sign.
pub const CODE_MAX: f32 = 8191.0;
const LANES: usize = 64;

/// 14-bit codes of rows of `width` values, and the scale of each row.
///
/// scale = max|x| / 8191; code = x / scale, rounded half to even. A row of zeros has scale 0.
#[inline(always)]
pub(super) fn quantise(values: &[f32], width: usize, codes: &mut [i16], scales: &mut [f32]) {
    let rows = values
        .chunks_exact(width)
        .zip(codes.chunks_exact_mut(width));
    for ((values, codes), scale) in rows.zip(scales) {
        *scale = largest_magnitude(values) / CODE_MAX;
        if *scale == 0.0 {
            codes.fill(0);
            continue;
        }
        for (code, value) in codes.iter_mut().zip(values) {
            let value = value / *scale;
            // A scale below the smallest normal number has few bits: the bound keeps sums exact.
            let value = if value > -CODE_MAX { value } else { -CODE_MAX };
            let value = if value < CODE_MAX { value } else { CODE_MAX };
            *code = (value + ROUND).to_bits() as i16;
        }
    }
}

/// Adds `terms` to `rows` where there are any, then norms each row: sums in 64 lanes, folded by
/// halves.
#[inline(always)]
pub(super) fn add_norm(rows: &mut [[f32; HIDDEN]], terms: &[[f32; HIDDEN]], norm: &Norm<'_>) {
    for (row, terms) in rows.iter_mut().zip(terms) {
        for (value, term) in row.iter_mut().zip(terms) {
            *value += term;
        }
        norm_row(row, norm);
    }
}

/// (x − mean) · (1 / √(variance + 10⁻¹²)) · weight + bias.
#[inline(always)]
pub(super) fn norm_row(row: &mut [f32; HIDDEN], norm: &Norm<'_>) {
    let mean = fold(lane_sums(row, |x| x)) / HIDDEN as f32;
    for value in row.iter_mut() {
        *value -= mean;
    }
    let variance = fold(lane_sums(row, |x| x * x)) / HIDDEN as f32;
    let factor = 1.0 / (variance + 1e-12).sqrt();
    for ((value, weight), bias) in row.iter_mut().zip(norm.weight).zip(norm.bias) {
        *value = *value * factor * weight + bias;
    }
}

/// Lane j adds what `of` makes of values j, j+64, ….
#[inline(always)]
fn lane_sums(row: &[f32; HIDDEN], of: impl Fn(f32) -> f32) -> [f32; LANES] {
    let mut lanes = [0.0; LANES];
    for block in row.as_chunks::<LANES>().0 {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += of(*value);
        }
    }
    lanes
}

/// Folds lanes by halves: lane j gains lane j + half, until one is left.
#[inline(always)]
pub(super) fn fold<const N: usize>(mut lanes: [f32; N]) -> f32 {
    let mut half = N / 2;
    while half > 0 {
        for j in 0..half {
            lanes[j] += lanes[j + half];
        }
        half /= 2;
    }
    lanes[0]
}
