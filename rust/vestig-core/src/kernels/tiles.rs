//! Many vectors against many rows, both as 8-bit codes with a proven error bound.
//!
//! The bound is that of `quantised` with the codes of a probe in the place of the query's 16-bit
//! ones: with q ≈ t·k, f ≥ ‖q − t·k‖ and m ≈ s·c, e ≥ ‖m − s·c‖,
//! |q·m − (tk)·(sc)| ≤ ‖q‖·e + f·(‖m‖ + e), plus the same roundings. Coarser than one query's pass
//! (about 0.015 at 384 dimensions), but a probe costs half as much, and eight share each load of a
//! row. |c·k| ≤ 127² · 8192 fits 32 bits, so every level computes the same integers.

use super::dispatch::{self, Level};
use super::dot::{LANES, padded};
use super::quantised::{quantise_row, round_up};

/// Probes that share the load of a row.
pub(crate) const WIDE: usize = 8;

/// A unit vector (or zero) as codes.
#[derive(Clone, Debug)]
pub struct Probe {
    codes: Vec<i8>,
    /// The same codes in 16 bits.
    wide: Vec<[i16; 16]>,
    sum: i32,
    scale: f32,
    /// At least the distance between the vector and what its codes stand for.
    error: f32,
    base: f32,
    slope: f32,
}

impl Probe {
    /// Codes of d values, at most 8192.
    #[must_use]
    pub fn new(vector: &[f32]) -> Self {
        let mut codes = vec![0; padded(vector.len())];
        let (scale, error) = quantise_row(vector, &mut codes);
        let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let (norm, own_error) = (squares.sqrt(), error);
        let error = f64::from(own_error);
        let steps = (codes.len() / LANES + 16) as f64;
        let rounding = steps * f64::from(f32::EPSILON) / 2.0 * 1.1 * norm.max(1.0);
        let unit = 1.0 + f64::from(f32::EPSILON) * 8.0;
        Self {
            sum: codes.iter().map(|code| i32::from(*code)).sum(),
            wide: codes
                .as_chunks()
                .0
                .iter()
                .map(|line| line.map(i16::from))
                .collect(),
            codes,
            scale,
            error: own_error,
            base: round_up((error * unit + rounding) * (1.0 + 1e-6)),
            slope: round_up((norm + error) * (1.0 + 1e-6)),
        }
    }

    /// Upper bound of |cosine − approximation| for a row whose stored error is `error`.
    #[inline]
    #[must_use]
    pub fn bound(&self, error: f32) -> f32 {
        self.base + self.slope * error
    }

    /// The approximate cosine of an integer product with a row of that scale.
    #[inline]
    #[must_use]
    pub fn value(&self, dot: i32, scale: f32) -> f32 {
        dot as f32 * (scale * self.scale)
    }

    pub(crate) fn codes(&self) -> &[i8] {
        &self.codes
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    pub(crate) fn error(&self) -> f32 {
        self.error
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn wide(&self) -> &[[i16; 16]] {
        &self.wide
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn sum(&self) -> i32 {
        self.sum
    }
}

/// Integer products of each probe with each row: `out[p · rows + r]`.
pub fn products(probes: &[&Probe], codes: &[i8], out: &mut [i32]) {
    products_with(Level::best(), probes, codes, out);
}

/// [`products`] by a named level.
pub fn products_with(level: Level, probes: &[&Probe], codes: &[i8], out: &mut [i32]) {
    let Some(stride) = probes.first().map(|probe| probe.codes.len()) else {
        return;
    };
    if stride == 0 {
        out.fill(0);
        return;
    }
    let rows = codes.len() / stride;
    debug_assert!(out.len() >= rows * probes.len());
    let (wide, rest) = probes.as_chunks::<WIDE>();
    let (many, few) = out.split_at_mut(wide.len() * WIDE * rows);
    for (probes, out) in wide.iter().zip(many.chunks_mut(WIDE * rows)) {
        dispatch::tile(level, probes, codes, out);
    }
    for (probe, out) in rest.iter().zip(few.chunks_mut(rows)) {
        dispatch::tile(level, &[*probe], codes, out);
    }
}

/// The products in portable code.
#[inline(always)]
pub(crate) fn tile_lanes<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
    let stride = probes[0].codes.len();
    let rows = codes.len() / stride;
    for (r, row) in codes.chunks_exact(stride).enumerate() {
        for (p, probe) in probes.iter().enumerate() {
            let (a, _) = row.as_chunks::<LANES>();
            let (b, _) = probe.codes.as_chunks::<LANES>();
            out[p * rows + r] = a.iter().zip(b).map(|(a, b)| line(a, b)).sum();
        }
    }
}

#[inline(always)]
fn line(a: &[i8; LANES], b: &[i8; LANES]) -> i32 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::dot::{dot, unit};
    use proptest::prelude::*;

    fn vectors() -> impl Strategy<Value = (usize, Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        (1_usize..150).prop_flat_map(|d| {
            let vector = prop::collection::vec(-1.0_f32..1.0, d);
            let many = prop::collection::vec(vector, 1..20);
            (Just(d), many.clone(), many)
        })
    }

    proptest! {
        #[test]
        fn every_level_has_the_same_products_inside_the_bound((d, probes, rows) in vectors()) {
            let made = |given: &[Vec<f32>]| -> Vec<Vec<f32>> {
                given.iter().map(|vector| {
                    let mut out = vec![0.0; padded(d)];
                    unit(vector, &mut out);
                    out
                }).collect()
            };
            let (probes, rows) = (made(&probes), made(&rows));
            let (mut codes, mut sizes) = (Vec::new(), Vec::new());
            for row in &rows {
                let mut own = vec![0; padded(d)];
                sizes.push(quantise_row(row, &mut own));
                codes.extend(own);
            }
            let coded: Vec<Probe> = probes.iter().map(|probe| Probe::new(probe)).collect();
            let refs: Vec<&Probe> = coded.iter().collect();
            let mut wanted = vec![0; probes.len() * rows.len()];
            products_with(Level::PORTABLE, &refs, &codes, &mut wanted);
            for level in Level::available() {
                let mut found = vec![0; wanted.len()];
                products_with(level, &refs, &codes, &mut found);
                prop_assert_eq!(&found, &wanted, "{}", level.name());
            }
            for (p, probe) in probes.iter().enumerate() {
                for (r, row) in rows.iter().enumerate() {
                    let value = coded[p].value(wanted[p * rows.len() + r], sizes[r].0);
                    let error = (f64::from(value) - f64::from(dot(probe, row))).abs();
                    prop_assert!(error <= f64::from(coded[p].bound(sizes[r].1)));
                }
            }
        }
    }
}
