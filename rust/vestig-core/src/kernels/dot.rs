//! Exact float32 dot products, defined to the bit (B-16).
//!
//! A dot product has 64 lanes. Lane j adds the products of elements j, j+64, … in that order,
//! each product rounded before it is added (never fused); the lanes then fold by halves (lane j
//! gains lane j+32, then j+16, +8, +4, +2, +1). Missing elements of the last block count as
//! zeros. The lane loop is written once, here, and compiled once per instruction level by
//! [`super::dispatch`], so every level gives the same bits.
//!
//! Error against the real number: at most (⌈d/64⌉ + 7) · 2⁻²⁴ · 1.0001 · Σ|xᵢyᵢ| (d rounded
//! additions and one multiplication per element along one path of the tree; no overflow).

use super::dispatch::{self, Level};

/// Lanes of a dot product; rows are padded with zeros to a multiple of this.
pub const LANES: usize = 64;

/// Length of a stored row of `dimensions` values: the next multiple of [`LANES`].
pub const fn padded(dimensions: usize) -> usize {
    dimensions.div_ceil(LANES) * LANES
}

/// The lane loop of one pair. Both slices count to the length of the shorter one.
#[inline(always)]
pub(crate) fn dot_lanes(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    for (a, b) in xs.iter().zip(ys) {
        for j in 0..LANES {
            lanes[j] += a[j] * b[j];
        }
    }
    if !x_rest.is_empty() || !y_rest.is_empty() {
        // A lane is never −0 (it starts at +0), so leaving it out equals adding 0 · 0.
        for (j, (a, b)) in x_rest.iter().zip(y_rest).enumerate() {
            lanes[j] += a * b;
        }
    }
    fold(&lanes)
}

/// Folds 64 lanes by halves.
#[inline(always)]
fn fold(lanes: &[f32; LANES]) -> f32 {
    let mut sums = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for j in 0..half {
            sums[j] += sums[j + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The lane loop over consecutive rows: `out[i]` = dot(query, rows[i·stride ..][..query.len()]).
#[inline(always)]
pub(crate) fn dot_rows_lanes(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    for (row, value) in rows.chunks_exact(stride).zip(out) {
        *value = dot_lanes(query, row);
    }
}

/// Dot product of two vectors of one length, by the best level of this machine.
///
/// Lengths must be equal; in release builds the shorter one counts.
#[inline]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    debug_assert_eq!(x.len(), y.len());
    dispatch::dot(Level::best(), x, y)
}

/// [`dot`] by a named level; the same bits as any other.
#[inline]
pub fn dot_with(level: Level, x: &[f32], y: &[f32]) -> f32 {
    debug_assert_eq!(x.len(), y.len());
    dispatch::dot(level, x, y)
}

/// Dot products of `query` with `out.len()` consecutive rows.
///
/// `rows` holds rows of `stride` values (values behind `query.len()` are ignored; with padded
/// rows pass a padded query, that is fastest). `rows.len()` ≥ `out.len() · stride`, `stride` ≥
/// `query.len()`; surplus rows are not read.
#[inline]
pub fn dot_rows(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    dot_rows_with(Level::best(), query, rows, stride, out);
}

/// [`dot_rows`] by a named level.
pub fn dot_rows_with(level: Level, query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    debug_assert!(stride >= query.len() && stride > 0);
    debug_assert!(rows.len() >= out.len() * stride);
    if stride == 0 {
        out.fill(0.0);
        return;
    }
    dispatch::dot_rows(level, query, rows, stride, out);
}

/// unit(v): `out[i]` = f32(f64(vᵢ) / √s), s = the float64 sum of squares in index order.
///
/// A zero vector stays zero. `out` may be longer than `v` (padding): the rest becomes 0.
pub fn unit(v: &[f32], out: &mut [f32]) {
    debug_assert!(out.len() >= v.len());
    let squares: f64 = v.iter().fold(0.0, |sum, &x| sum + f64::from(x) * f64::from(x));
    let norm = squares.sqrt();
    out.fill(0.0);
    if norm > 0.0 {
        for (o, &x) in out.iter_mut().zip(v) {
            *o = (f64::from(x) / norm) as f32;
        }
    }
}

/// Cosine of two unit vectors from their dot product: the float64 value clamped to [−1, 1].
#[inline]
pub fn cosine(dot: f32) -> f64 {
    f64::from(dot).clamp(-1.0, 1.0)
}
