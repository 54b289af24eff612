//! Exact float32 dot products, defined to the bit.
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
    let common = x.len().min(y.len());
    let (xs, x_rest) = x[..common].as_chunks::<LANES>();
    let (ys, y_rest) = y[..common].as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for (a, b) in xs.iter().zip(ys) {
        add_products(&mut lanes, a, b);
    }
    if !x_rest.is_empty() {
        // Copied into zeros, so that the lanes are only ever indexed as whole blocks and stay in
        // registers.
        let (mut a, mut b) = ([0.0f32; LANES], [0.0f32; LANES]);
        a[..x_rest.len()].copy_from_slice(x_rest);
        b[..y_rest.len()].copy_from_slice(y_rest);
        add_products(&mut lanes, &a, &b);
    }
    fold(&lanes)
}

/// One block: every lane gains one product, rounded before it is added.
#[inline(always)]
fn add_products(lanes: &mut [f32; LANES], a: &[f32; LANES], b: &[f32; LANES]) {
    for j in 0..LANES {
        lanes[j] += a[j] * b[j];
    }
}

/// Folds 64 lanes by halves.
#[inline(always)]
fn fold(lanes: &[f32; LANES]) -> f32 {
    let lanes: [f32; 32] = halve(lanes);
    let lanes: [f32; 16] = halve(&lanes);
    let lanes: [f32; 8] = halve(&lanes);
    let lanes: [f32; 4] = halve(&lanes);
    let [a, b]: [f32; 2] = halve(&lanes);
    a + b
}

/// Lane j gains lane j + H. N = 2·H.
#[inline(always)]
fn halve<const N: usize, const H: usize>(lanes: &[f32; N]) -> [f32; H] {
    std::array::from_fn(|j| lanes[j] + lanes[j + H])
}

/// The lane loop over consecutive rows: `out[i]` = dot(query, rows[i·stride ..][..query.len()]).
/// `prefetch` is called with each row before it is read.
#[inline(always)]
pub(crate) fn dot_rows_lanes(
    query: &[f32],
    rows: &[f32],
    stride: usize,
    out: &mut [f32],
    prefetch: impl Fn(&[f32]),
) {
    for (row, value) in rows.chunks_exact(stride).zip(out) {
        prefetch(row);
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

/// The lane loop of [`dot_unit`].
#[inline(always)]
pub(crate) fn dot_unit_lanes(query: &[f32], v: &[f32], length: f64) -> f32 {
    let common = query.len().min(v.len());
    let (xs, x_rest) = query[..common].as_chunks::<LANES>();
    let (vs, v_rest) = v[..common].as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    let mut add = |x: &[f32; LANES], v: &[f32; LANES]| {
        let near = v.map(|value| (f64::from(value) / length) as f32);
        add_products(&mut lanes, x, &near);
    };
    for (x, v) in xs.iter().zip(vs) {
        add(x, v);
    }
    if !x_rest.is_empty() {
        let (mut x, mut v) = ([0.0f32; LANES], [0.0f32; LANES]);
        x[..x_rest.len()].copy_from_slice(x_rest);
        v[..v_rest.len()].copy_from_slice(v_rest);
        add(&x, &v);
    }
    fold(&lanes)
}

/// dot(query, unit(v)) of a vector whose length [`lengths`] gave, by the best level of this machine.
/// 0 for a vector of length 0.
#[inline]
pub fn dot_unit(query: &[f32], v: &[f32], length: f64) -> f32 {
    dot_unit_with(Level::best(), query, v, length)
}

/// [`dot_unit`] by a named level; the same bits as any other.
pub fn dot_unit_with(level: Level, query: &[f32], v: &[f32], length: f64) -> f32 {
    debug_assert_eq!(query.len(), v.len());
    if length > 0.0 {
        dispatch::dot_unit(level, query, v, length)
    } else {
        0.0
    }
}

/// √ of the float64 sum of squares in index order of each of these vectors, which are equally long.
/// The additions of one vector wait for each other, so several vectors take the time of one.
pub fn lengths<const N: usize>(vectors: [&[f32]; N]) -> [f64; N] {
    let count = vectors.iter().map(|v| v.len()).min().unwrap_or(0);
    let vectors = vectors.map(|v| &v[..count]);
    let mut sums = [0.0_f64; N];
    for i in 0..count {
        for (sum, v) in sums.iter_mut().zip(&vectors) {
            *sum += f64::from(v[i]) * f64::from(v[i]);
        }
    }
    sums.map(f64::sqrt)
}

/// unit(v): `out[i]` = f32(f64(vᵢ) / √s), s = the float64 sum of squares in index order.
///
/// A zero vector stays zero. `out` may be longer than `v` (padding): the rest becomes 0.
pub fn unit(v: &[f32], out: &mut [f32]) {
    let [norm] = lengths([v]);
    unit_by(v, norm, out);
}

/// [`unit`] of a vector whose length [`lengths`] gave.
pub fn unit_by(v: &[f32], norm: f64, out: &mut [f32]) {
    debug_assert!(out.len() >= v.len());
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

/// A threshold on a cosine as it is compared: rounded to float32.
#[inline]
pub fn threshold(value: f64) -> f64 {
    f64::from(value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, written down naively: padded rows, 64 lanes, fold by halves.
    fn defined(x: &[f32], y: &[f32]) -> f32 {
        let mut lanes = vec![0.0f32; LANES];
        for i in 0..padded(x.len()) {
            let (a, b) = (x.get(i).unwrap_or(&0.0), y.get(i).unwrap_or(&0.0));
            let product = std::hint::black_box(a * b);
            lanes[i % LANES] += product;
        }
        while lanes.len() > 1 {
            let half = lanes.len() / 2;
            lanes = (0..half).map(|j| lanes[j] + lanes[j + half]).collect();
        }
        lanes[0]
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (0usize..300).prop_flat_map(|d| {
            let value = prop_oneof![-1.0f32..1.0, -1e-30f32..1e-30, -1e6f32..1e6];
            (
                prop::collection::vec(value.clone(), d),
                prop::collection::vec(value, d),
            )
        })
    }

    #[test]
    fn golden_bits_at_every_level() {
        let x: Vec<f32> = (0..384).map(|i| 1.0 / (i + 1) as f32).collect();
        let y: Vec<f32> = (0..384).map(|i| 1.0 / (i % 31 + 1) as f32).collect();
        for level in Level::available() {
            assert_eq!(
                dot_with(level, &x, &y).to_bits(),
                0x3ffc_f650,
                "{}",
                level.name()
            );
        }
    }

    #[test]
    fn empty_and_zero_vectors() {
        assert_eq!(dot(&[], &[]), 0.0);
        let mut out = [7.0; 64];
        unit(&[0.0; 5], &mut out);
        assert_eq!(out, [0.0; 64]);
        assert_eq!(cosine(1.000_000_1), 1.0);
        assert_eq!(cosine(-1.5), -1.0);
    }

    proptest! {
        #[test]
        fn every_level_has_the_bits_of_the_definition((x, y) in pair()) {
            let wanted = defined(&x, &y).to_bits();
            for level in Level::available() {
                prop_assert_eq!(dot_with(level, &x, &y).to_bits(), wanted, "{}", level.name());
            }
        }

        #[test]
        fn padding_and_rows_change_no_bit((x, y) in pair(), copies in 1usize..5) {
            let stride = padded(x.len()).max(LANES);
            let mut rows = vec![0.0; stride * copies];
            for row in rows.chunks_mut(stride) {
                row[..y.len()].copy_from_slice(&y);
            }
            let mut query = x.clone();
            query.resize(stride, 0.0);
            for level in Level::available() {
                for query in [&x, &query] {
                    let mut out = vec![0.0; copies];
                    dot_rows_with(level, query, &rows, stride, &mut out);
                    for value in out {
                        prop_assert_eq!(value.to_bits(), dot(&x, &y).to_bits());
                    }
                }
            }
        }

        #[test]
        fn the_stated_error_bound_holds((x, y) in pair()) {
            let products = || x.iter().zip(&y).map(|(a, b)| f64::from(*a) * f64::from(*b));
            let (exact, size): (f64, f64) = (products().sum(), products().map(f64::abs).sum());
            let steps = (x.len().div_ceil(LANES) + 7) as f64;
            let bound = steps * 2f64.powi(-24) * 1.0001 * size + 1e-40;
            prop_assert!((f64::from(dot(&x, &y)) - exact).abs() <= bound);
        }

        #[test]
        fn a_dot_with_a_vector_made_unit_has_the_bits_of_both_steps((x, y) in pair()) {
            let mut near = vec![0.0; y.len()];
            unit(&y, &mut near);
            let wanted = defined(&x, &near).to_bits();
            let [length, other, same] = lengths([&y, &x, &y]);
            prop_assert_eq!([lengths([&x])[0], length], [other, same]);
            for level in Level::available() {
                let found = dot_unit_with(level, &x, &y, length).to_bits();
                prop_assert_eq!(found, wanted, "{}", level.name());
            }
        }

        #[test]
        fn unit_has_length_one((x, _) in pair()) {
            let mut out = vec![0.0; padded(x.len())];
            unit(&x, &mut out);
            let squares: f64 = out.iter().map(|v| f64::from(*v).powi(2)).sum();
            prop_assert!(x.iter().all(|v| *v == 0.0) || (squares.sqrt() - 1.0).abs() < 1e-6);
        }
    }
}
